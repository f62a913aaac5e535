"""Rights come before keys: who may not has EACCES or EPERM, who may has ENOKEY: rights.py BASE"""

import ctypes
import os
import sys

from vault import VARVE, Vault, as_user, error_of, libc, opening, require, run, watch


ALICE, BOB = 1001, 1002


def asking(path, mode):
    """Asks whether something may be done; a refusal is an error."""

    def ask():
        if libc.access(path.encode(), mode):
            raise OSError(ctypes.get_errno(), "access")

    return ask


def check(table, complaint):
    """That each is answered so, and `varve why` says the same of it, and whether it is for a right or for a key."""
    for what, user, work, want, *question in table:
        got = error_of(lambda: as_user(user, work))
        require(got == want, f"{complaint}: {what} by {user}: {got}, not {want}")
        why = run(VARVE, "why", "--as", f"{user}:{user}", *question, check=False)
        label = f"{complaint}: why {what} by {user}, which is {want}: {why.returncode} {why.stdout}{why.stderr}"
        require(why.returncode == (1 if want else 0), label)
        require(want is None or f"({want})" in why.stdout, label)
        require(("is locked" in why.stdout) == (want == "ENOKEY"), label)
        require(("its flag" in why.stdout) == (want == "EPERM" and "flag" in what), label)


def made(vault):
    path = f"{vault.path}/a/files"
    os.mkdir(path)
    os.chmod(path, 0o755)
    os.chown(path, ALICE, ALICE)
    for name, mode in (("private", 0o600), ("listed", 0o600), ("growing", 0o644), ("closed", 0o666), ("fixed", 0o666)):
        with open(f"{path}/{name}", "wb") as file:
            file.write(b"secret " * 100)
        os.chown(f"{path}/{name}", ALICE, ALICE)
        os.chmod(f"{path}/{name}", mode)
    run(VARVE, "chmod", "+a", f"user:{BOB} allow read", f"{path}/listed")
    run(VARVE, "chmod", "+a", f"user:{BOB} deny write", f"{path}/closed")
    run(VARVE, "chflags", "uappnd", f"{path}/growing")
    run(VARVE, "chflags", "uchg", f"{path}/fixed")
    return path


def table(path, key):
    """Who asks what, and what is answered: `key` where only a key may be missing."""
    read, write, append = os.O_RDONLY, os.O_WRONLY, os.O_WRONLY | os.O_APPEND
    private, listed, growing, closed, fixed = (f"{path}/{name}" for name in ("private", "listed", "growing", "closed", "fixed"))
    new, above = f"{path}/new", f"{path}/../x"
    return [
        ("read private", ALICE, opening(private), key, "read", private),
        ("read private", BOB, opening(private), "EACCES", "read", private),
        ("read listed", BOB, opening(listed), key, "read", listed),
        ("write listed", BOB, opening(listed, write), "EACCES", "write", listed),
        ("write closed", BOB, opening(closed, write), "EACCES", "write", closed),
        ("read closed", BOB, opening(closed), key, "read", closed),
        ("write growing, which a flag forbids,", ALICE, opening(growing, write), "EPERM", "write", growing),
        ("append to growing", ALICE, opening(growing, append), key, "append", growing),
        ("cut growing, which a flag forbids,", ALICE, lambda: os.truncate(growing, 3), "EPERM", "write", growing),
        ("cut private", ALICE, lambda: os.truncate(private, 700), key, "write", private),
        ("cut private", BOB, lambda: os.truncate(private, 3), "EACCES", "write", private),
        ("read fixed", ALICE, opening(fixed), key, "read", fixed),
        ("write fixed, which a flag forbids,", ALICE, opening(fixed, write), "EPERM", "write", fixed),
        ("write fixed, which a flag forbids,", BOB, opening(fixed, write), "EPERM", "write", fixed),
        ("append to fixed, which a flag forbids,", ALICE, opening(fixed, append), "EPERM", "append", fixed),
        ("cut fixed, which a flag forbids,", ALICE, lambda: os.truncate(fixed, 3), "EPERM", "write", fixed),
        ("chmod fixed, which a flag forbids,", ALICE, lambda: os.chmod(fixed, 0o666), "EPERM", "chmod", fixed),
        ("remove fixed, which a flag forbids,", ALICE, lambda: os.unlink(fixed), "EPERM", "delete", fixed),
        ("rename fixed, which a flag forbids,", ALICE, lambda: os.rename(fixed, new), "EPERM", "rename", fixed, new),
        ("link fixed, which a flag forbids,", ALICE, lambda: os.link(fixed, new), "EPERM", "link", fixed, new),
        ("make", BOB, opening(new, write | os.O_CREAT | os.O_EXCL), "EACCES", "create", new),
        ("remove", BOB, lambda: os.unlink(private), "EACCES", "delete", private),
        ("enter", BOB, lambda: os.rename(listed, above), "EACCES", "rename", listed, above),
        ("ask", BOB, asking(private, os.R_OK), "EACCES", "read", private),
        ("ask", BOB, asking(listed, os.W_OK), "EACCES", "write", listed),
        ("chmod", ALICE, lambda: os.chmod(private, 0o600), None, "chmod", private),
        ("chmod", BOB, lambda: os.chmod(private, 0o600), "EPERM", "chmod", private),
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
        error_of(lambda: as_user(ALICE, opening(f"{path}/private")))
        last = run(VARVE, "why", "--last", "3", check=False, cwd=vault.path)
        require("locked" in last.stdout, f"why --last: {last.stdout}{last.stderr}")
        vault.unlock()
        why = run(VARVE, "why", "--as", f"{ALICE}:{ALICE}", "read", f"{path}/private", check=False)
        require(why.returncode == 0, f"why after unlock: {why.stdout}")
        # Whoever mounts so says that everything is theirs: lists and modes ask nobody, and keys still count.
        vault.unmount()
        vault.mount(options="noowners")
        check([("read private", BOB, opening(f"{path}/private"), None, "read", f"{path}/private")], "noowners")
        vault.lock()
        check(
            [
                ("read private", BOB, opening(f"{path}/private"), "ENOKEY", "read", f"{path}/private"),
                ("write growing, which a flag forbids,", BOB, opening(f"{path}/growing", os.O_WRONLY), "EPERM", "write", f"{path}/growing"),
            ],
            "noowners, locked",
        )
        # Only root and the owner of the mount unlock and lock.
        ran = run(VARVE, "unlock", vault.path, vault.key, check=False, user=BOB, group=BOB, extra_groups=[])
        require(ran.returncode != 0, "another user unlocks")
    guard.cancel()


if __name__ == "__main__":
    main()
