"""Looks for keys and plaintext in the memory of a daemon, unlocked and locked: memory.py BASE ROUNDS [OPTIONS]

The keys are derived by the reader beside this directory, which shares no code with the daemon. That the search can find
something is seen from the class keys before the lock, and from a plain file.
"""

import errno
import mmap
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import sealed_reader as reader
from vault import CLASS, CLASSES, VARVE, Vault, require, run, watch

COPIES = 400


def canary():
    """Bytes that are nowhere else; a file is made of copies, so that any 63 bytes of it show."""
    return os.urandom(32)


def regions(process):
    """The readable mappings of a process, with the flags of each."""
    with open(f"/proc/{process}/smaps") as maps:
        for line in maps:
            words = line.split()
            if words[0] == "VmFlags:":
                if "r" in access and name not in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                    yield start, end, set(words[1:])
            elif not words[0].endswith(":"):
                start, end = (int(number, 16) for number in words[0].split("-"))
                access, name = words[1], words[-1]


def places(process, needles):
    """Those that are somewhere in the memory of a process, with the flags of each mapping that has them."""
    names, size = {}, 256 << 10
    zeros = bytes(size)
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for start, end, flags in regions(process):
            at = start
            while at < end:
                try:
                    memory.seek(at)
                    piece = memory.read(min(size, end - at))
                except (OSError, ValueError):
                    break
                if not piece:
                    break
                # Most of it was never touched.
                if piece != zeros[: len(piece)]:
                    for name, needle in needles.items():
                        if needle in piece:
                            names.setdefault(name, []).append(flags)
                if at + len(piece) >= end:
                    break
                at += max(len(piece) - 64, 1)
    return names


def found(process, needles):
    """The names of those that are somewhere in the memory of a process."""
    return set(places(process, needles))


def require_locked_memory(process, needles):
    """That keys are nowhere but in memory that is neither written to swap nor to a core."""
    for name, mappings in places(process, needles).items():
        for flags in mappings:
            require({"lo", "dd"} <= flags, f"{name} lies in memory with the flags {sorted(flags)}")


def slot_keys(vault, keyfile):
    """The secret of a keyfile, and the keys that it has with each keyslot."""
    with open(keyfile, "rb") as file, open(f"{vault.upper}/.varve/keybag", "rb") as bag:
        secret, bag = reader.secret_of(file.read(), None), bag.read()
    label = b"EAR1/kek" + bag[16:32]
    slots = (bag[at : at + 128] for at in range(128, len(bag), 128))
    wrapping = {f"slot key {number} of {keyfile}": reader.hkdf(secret, slot[24:56], label) for number, slot in enumerate(slots)}
    return {f"secret of {keyfile}": secret} | wrapping


def administered(vault, never, verbs=("check", "unlock", "add", "export", "remove")):
    """Nothing that opens the volume stays after its keyslots are read and changed, nor after a wrong keyfile."""
    second, wrong = f"{vault.base}/second", f"{vault.base}/wrong"
    with_key = ["--with", vault.key]
    for keyfile in (second, wrong):
        if not os.path.exists(keyfile):
            run(VARVE, "key", "create", keyfile)
    steps = [
        (0, ["key", "slot", "add", vault.path, second, *with_key]),
        (0, ["key", "check", second, vault.path]),
        (1, ["key", "check", wrong, vault.path]),
        (1, ["unlock", vault.path, wrong]),
        (1, ["key", "slot", "add", vault.path, wrong, "--with", wrong]),
        (0, ["key", "export", *with_key, vault.path, f"{vault.base}/exported"]),
        (0, ["key", "slot", "remove", *with_key, vault.path, second]),
    ]
    for status, words in steps:
        if not set(verbs) & set(words):
            continue
        needles = never | slot_keys(vault, second) | slot_keys(vault, wrong)
        ran = run(VARVE, *words, check=False)
        require((ran.returncode != 0) == status, f"{words}: {ran.returncode} {ran.stdout}{ran.stderr}")
        needles |= slot_keys(vault, second) | slot_keys(vault, wrong)
        left = found(vault.daemon, needles)
        require(not left, f"after {words}: {sorted(left)}")
    if "export" in verbs:
        os.unlink(f"{vault.base}/exported")


def keys(vault):
    """What must not be in memory, derived from keyfile and keybag."""
    with open(vault.key, "rb") as file:
        secret = reader.secret_of(file.read(), None)
    with open(f"{vault.upper}/.varve/keybag", "rb") as file:
        bag = file.read()
    volume = bag[16:32]
    slot = bag[128:256]
    wrapping = reader.hkdf(secret, slot[24:56], b"EAR1/kek" + volume)
    master = reader.opened(wrapping, slot[56:68], slot[68:116], b"EAR1/slot" + volume + slot[:56])
    require(master is not None, "the keybag does not open")
    classes = {
        f"class key {number}": reader.expand(master, b"EAR1/class" + volume + reader.u32(number) + reader.u32(1))
        for number in (1, 2, 3)
    }
    sessions = {"session key": reader.expand(master, b"EAR1/sessions" + volume)}
    return {"secret": secret, "slot key": wrapping, "master key": master}, classes, sessions


def file_key(vault, path):
    """The keys of a file, by their names."""
    with open(vault.key, "rb") as keyfile, open(f"{vault.upper}/.varve/keybag", "rb") as bag:
        keys = reader.Keys(keyfile.read(), b"", bag.read())
    file = reader.SealedFile(path, keys, reader.Sessions(b"", keys))
    with file.file:
        head = file.at(0, 512)
    return {
        "file key": file.key,
        "header key": file.seals,
        "segment key": reader.expand(file.key, b"EAR1/data" + file.id + reader.u64(0)),
        "wrapping key of a file": keys.wrapping(head[14], head[72:104], file.id),
    }


def used(directory, words):
    """Uses files in every way, and leaves some of them open."""
    kept = []
    path = f"{directory}/written"
    with open(path, "wb") as file:
        file.write(words["written"] * COPIES)
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        file.read()
    file = os.open(f"{directory}/kept", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(file, words["kept"] * COPIES)
    for at in range(1, 9000, 1000):
        # In the middle of blocks.
        os.pwrite(file, words["in part"], at)
    kept.append(file)
    file = os.open(f"{directory}/mapped", os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(file, 32 * COPIES)
    memory = mmap.mmap(file, 32 * COPIES)
    memory[:] = words["mapped"] * COPIES
    memory.flush()
    memory[:64] = words["mapped"] * 2
    kept += [file, memory]
    file = os.open(f"{directory}/appended", os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    for _ in range(300):
        os.write(file, words["appended"] * 3)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(file, 100_000, 0)
    os.ftruncate(file, 5001)
    kept.append(file)
    file = os.open(f"{directory}/direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o644)
    with mmap.mmap(-1, 128 << 10) as buffer:
        buffer[:] = words["direct"] * (len(buffer) // 32)
        os.pwritev(file, [buffer], 0)
        os.preadv(file, [buffer], 4096)
    kept.append(file)
    target = os.open(f"{directory}/copied", os.O_RDWR | os.O_CREAT, 0o644)
    os.copy_file_range(kept[0], target, 5000, 10, 3)
    kept.append(target)
    return kept


def write_plain(vault, plain):
    with open(f"{vault.path}/plain", "wb") as file:
        file.write(plain * COPIES)


def opening(paths, number):
    """A child that opens, reads and closes files for ever, and tries to open locked ones."""
    child = os.fork()
    if child:
        return child
    dice = random.Random(number)
    while True:
        try:
            file = os.open(dice.choice(paths), os.O_RDWR)
            os.pread(file, 100, 0)
            os.close(file)
        except OSError as failure:
            if failure.errno != errno.ENOKEY:
                os._exit(1)


def under_load(vault, rounds):
    """No key of a file that somebody opens while the volume is being locked stays."""
    paths = [f"{vault.path}/a/load{number}" for number in range(12)]
    needles = {}
    for path in paths:
        with open(path, "wb") as file:
            file.write(b"x" * 5000)
        of_file = file_key(vault, path.replace(vault.path, vault.upper))
        needles[path] = of_file["header key"]
    children = [opening(paths, number) for number in range(4)]
    try:
        for number in range(rounds):
            time.sleep(0.05)
            vault.lock(check=False)
            left = found(vault.daemon, needles)
            require(not left, f"round {number}, under load: {sorted(left)}")
            vault.unlock()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            require(os.waitpid(child, 0)[1] == signal.SIGKILL, "an error other than ENOKEY")


class Used:
    """The directory of one class whose files were used in every way, and some of which are open."""

    names = ["written", "kept", "in part", "mapped", "appended", "direct"]

    def __init__(self, vault, kind):
        self.kind, words = kind, {name: canary() for name in self.names}
        self.kept = used(f"{vault.path}/{kind}", words)
        self.words = {f"{kind}: {name}": word for name, word in words.items()}
        below = f"{vault.upper}/{kind}"
        self.opened = {f"{kind}: {name}": key for name, key in file_key(vault, f"{below}/kept").items()}
        self.closed = {f"{kind}, closed: {name}": key for name, key in file_key(vault, f"{below}/written").items()}

    @property
    def needles(self):
        return self.words | self.opened | self.closed

    def close(self):
        for item in self.kept:
            item.close() if isinstance(item, mmap.mmap) else os.close(item)


def closed_by_its_class(vault, used):
    """A file that gets a class which is locked loses its keys at once, if nobody has it open."""
    path = f"{vault.path}/{used.kind}/written"
    with open(path, "rb") as file:
        file.read()
    require(found(vault.daemon, used.closed), "the search does not find the key of a file that was closed just now")
    os.setxattr(path, CLASS, CLASSES["b"])
    wait_until_gone(vault.daemon, used.closed, "after a file got a class that is locked")


def require_plain_is_found(vault, options, plain, unlocked):
    """That the search finds plaintext in the daemon where there is some."""
    if "passthrough=off" not in options:
        return
    # A request that comes before the last one is quite over may have to wait, and then none of it stays.
    for _ in range(100):
        if "plain" in unlocked:
            break
        write_plain(vault, plain)
        unlocked |= found(vault.daemon, {"plain": plain})
    require("plain" in unlocked, "the search does not find what a plain file has")


def wait_until_gone(daemon, needles, complaint):
    """The kernel tells of a last close later."""
    left = needles
    for _ in range(100):
        left = found(daemon, needles)
        if not left:
            return
        time.sleep(0.02)
    require(False, f"{complaint}: {sorted(left)}")


def main():
    rounds = int(sys.argv[2])
    guard = watch(240 + rounds)
    options = sys.argv[3] if len(sys.argv) > 3 else ""
    with Vault(sys.argv[1], options) as vault:
        daemon = vault.daemon
        never, classes, sessions = keys(vault)
        a, b, c = (Used(vault, kind) for kind in "abc")
        all_of_them = a.needles | b.needles | c.needles
        plain = canary()
        write_plain(vault, plain)

        # The search finds what is there: in this process, and in the daemon.
        require(found(os.getpid(), all_of_them) == set(all_of_them), "the search does not find what is here")
        unlocked = found(daemon, never | classes | all_of_them | {"plain": plain})
        print(f"unlocked: {sorted(unlocked)}")
        require(set(classes) <= unlocked, "the search does not find the class keys")
        for each in (a, b, c):
            require(set(each.opened) & unlocked, f"the search does not find the key of an open file of class {each.kind}")
            wrapping = f"{each.kind}: wrapping key of a file"
            require(wrapping not in unlocked, f"while unlocked: {wrapping}")
        require_plain_is_found(vault, options, plain, unlocked)
        require(not unlocked & set(never), f"while unlocked: {sorted(unlocked & set(never))}")
        of_files = {name: key for each in (a, b, c) for name, key in (each.opened | each.closed).items()}
        require_locked_memory(daemon, classes | of_files | sessions)
        require(found(daemon, sessions), "the search does not find the key of sessions")
        # However requests of the kernel come, these come by the control socket.
        if not options:
            administered(vault, never)

        # Files of class B that are open keep their keys, and class C all of them.
        locked = vault.lock(check=False)
        require(locked.returncode == 0, f"lock: {locked.stderr}")
        left = found(daemon, never | classes | all_of_them)
        print(f"locked: {sorted(left)}")
        stays = {"class key 3", *b.opened, *c.opened, *c.closed}
        require(left <= stays, f"after lock: {sorted(left - stays)}")
        require("class key 3" in left and set(b.opened) & left, "the search does not find what stays")
        require(os.pread(b.kept[0], 32, 10_000) and os.pread(c.kept[0], 32, 10_000), "what stays open is used")
        left = found(daemon, b.words | c.words)
        require(not left, f"what was read while locked: {sorted(left)}")
        # With its last close the key of a class B file goes, and its pages with what is in them.
        b.close()
        wait_until_gone(daemon, b.needles | a.needles | never, "after the last close of class B")
        closed_by_its_class(vault, c)

        vault.lock("--all")
        left = found(daemon, never | classes | all_of_them)
        require(not left, f"after lock --all: {sorted(left)}")
        require_locked_memory(daemon, sessions)
        if not options:
            administered(vault, never | classes | of_files, ["unlock"])
        vault.unlock()
        for each in (a, c):
            require(os.pread(each.kept[0], 32, 10_000), "read again")
        # The same from the beginning, with files that were opened under another key.
        left = found(daemon, never)
        require(not left, f"unlocked again: {sorted(left)}")
        vault.lock("--now", "--all", check=False)
        left = found(daemon, never | classes | all_of_them)
        require(not left, f"after lock --now: {sorted(left)}")
        a.close()
        c.close()
        vault.unlock()
        under_load(vault, rounds)
    guard.cancel()


if __name__ == "__main__":
    main()
