"""Rights come before keys: who may not has EACCES or EPERM, who may has ENOKEY: rights.py BASE"""

import os
import sys

from vault import VARVE, Vault, error_of, require, run, watch


def as_user(user, work):
    """The error that a user gets, or None."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        os.write(writer, (error_of(work) or "").encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        answer = answers.read().decode()
    os.waitpid(child, 0)
    return answer or None


def opening(path, flags):
    return lambda: os.close(os.open(path, flags, 0o644))


ALICE, BOB = 1001, 1002


def check(table, complaint):
    """That each is answered so, and `varve why` says the same of it, and whether it is for a right or for a key."""
    for what, user, work, want, *question in table:
        got = as_user(user, work)
        require(got == want, f"{complaint}: {what} by {user}: {got}, not {want}")
        if question:
            why = run(VARVE, "why", "--as", f"{user}:{user}", *question, check=False)
            label = f"{complaint}: why {what} by {user}, which is {want}: {why.returncode} {why.stdout}{why.stderr}"
            require(why.returncode == (1 if want else 0), label)
            require(want is None or f"({want})" in why.stdout, label)
            require(("is locked" in why.stdout) == (want == "ENOKEY"), label)


def made(vault):
    path = f"{vault.path}/a/files"
    os.mkdir(path)
    os.chmod(path, 0o755)
    os.chown(path, ALICE, ALICE)
    for name, mode in (("private", 0o600), ("listed", 0o600), ("growing", 0o644), ("closed", 0o666)):
        with open(f"{path}/{name}", "wb") as file:
            file.write(b"secret " * 100)
        os.chown(f"{path}/{name}", ALICE, ALICE)
        os.chmod(f"{path}/{name}", mode)
    run(VARVE, "chmod", "+a", f"user:{BOB} allow read", f"{path}/listed")
    run(VARVE, "chmod", "+a", f"user:{BOB} deny write", f"{path}/closed")
    run(VARVE, "chflags", "uappnd", f"{path}/growing")
    return path


def table(path, key):
    """Who asks what, and what is answered: `key` where only a key may be missing."""
    read, write, append = os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_APPEND
    return [
        ("read private", ALICE, opening(f"{path}/private", read), key, "read", f"{path}/private"),
        ("read private", BOB, opening(f"{path}/private", read), "EACCES", "read", f"{path}/private"),
        ("read listed", BOB, opening(f"{path}/listed", read), key, "read", f"{path}/listed"),
        ("write listed", BOB, opening(f"{path}/listed", write), "EACCES", "write", f"{path}/listed"),
        ("write closed", BOB, opening(f"{path}/closed", write), "EACCES", "write", f"{path}/closed"),
        ("read closed", BOB, opening(f"{path}/closed", read), key, "read", f"{path}/closed"),
        ("write growing", ALICE, opening(f"{path}/growing", write), "EPERM", "write", f"{path}/growing"),
        ("append to growing", ALICE, opening(f"{path}/growing", append), key, "append", f"{path}/growing"),
        ("cut growing", ALICE, lambda: os.truncate(f"{path}/growing", 3), "EPERM"),
        ("cut private", BOB, lambda: os.truncate(f"{path}/private", 3), "EACCES"),
        ("make", BOB, opening(f"{path}/new", write | os.O_CREAT | os.O_EXCL), "EACCES", "create", f"{path}/new"),
        ("remove", BOB, lambda: os.unlink(f"{path}/private"), "EACCES", "delete", f"{path}/private"),
        ("enter", BOB, lambda: os.rename(f"{path}/listed", f"{path}/../x"), "EACCES"),
        ("ask", BOB, lambda: os.access(f"{path}/private", os.R_OK) or os.stat("/none"), "ENOENT"),
        ("chmod", ALICE, lambda: os.chmod(f"{path}/private", 0o600), None, "chmod", f"{path}/private"),
        ("chmod", BOB, lambda: os.chmod(f"{path}/private", 0o600), "EPERM", "chmod", f"{path}/private"),
    ]


def main():
    guard = watch(60)
    with Vault(sys.argv[1]) as vault:
        path = made(vault)
        check(table(path, None), "unlocked")
        vault.lock()
        check(table(path, "ENOKEY"), "locked")
        making = opening(f"{path}/new", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        check([("make", user, making, "ENOKEY", "create", f"{path}/new") for user in (ALICE, 0)], "locked")

        for user, word in ((ALICE, "class complete is locked"), (BOB, "denied")):
            why = run(VARVE, "why", "--as", f"{user}:{user}", "read", f"{path}/private", check=False)
            require(why.returncode == 1 and word in why.stdout, f"why of {user}: {why.stdout}{why.stderr}")
            require(("locked" in why.stdout) == (user == ALICE), f"why of {user}: {why.stdout}")
        as_user(ALICE, opening(f"{path}/private", os.O_RDONLY))
        last = run(VARVE, "why", "--last", "3", check=False, cwd=vault.path)
        require("locked" in last.stdout, f"why --last: {last.stdout}{last.stderr}")
        vault.unlock()
        why = run(VARVE, "why", "--as", f"{ALICE}:{ALICE}", "read", f"{path}/private", check=False)
        require(why.returncode == 0, f"why after unlock: {why.stdout}")
        # Whoever mounts so says that everything is theirs: lists and modes ask nobody, and keys still count.
        vault.unmount()
        vault.mount(options="noowners")
        check([("read private", BOB, opening(f"{path}/private", os.O_RDONLY), None, "read", f"{path}/private")], "noowners")
        vault.lock()
        check(
            [
                ("read private", BOB, opening(f"{path}/private", os.O_RDONLY), "ENOKEY", "read", f"{path}/private"),
                ("write growing", BOB, opening(f"{path}/growing", os.O_WRONLY), "EPERM", "write", f"{path}/growing"),
            ],
            "noowners, locked",
        )
        # Only root and the owner of the mount unlock and lock.
        ran = run(VARVE, "unlock", vault.path, vault.key, check=False, user=BOB, group=BOB, extra_groups=[])
        require(ran.returncode != 0, "another user unlocks")
    guard.cancel()


if __name__ == "__main__":
    main()
