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
from vault import Vault, require, watch

COPIES = 400


def canary():
    """Bytes that are nowhere else; a file is made of copies, so that any 63 bytes of it show."""
    return os.urandom(32)


def regions(process):
    with open(f"/proc/{process}/maps") as maps:
        for line in maps:
            words = line.split()
            if "r" in words[1] and words[-1] not in ("[vvar]", "[vsyscall]", "[vvar_vclock]"):
                start, end = (int(number, 16) for number in words[0].split("-"))
                yield start, end


def found(process, needles):
    """The names of those that are somewhere in the memory of a process."""
    names, size = set(), 256 << 10
    zeros = bytes(size)
    with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
        for start, end in regions(process):
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
                    names |= {name for name, needle in needles.items() if needle in piece}
                if at + len(piece) >= end:
                    break
                at += max(len(piece) - 64, 1)
    return names


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
    return {"secret": secret, "slot key": wrapping, "master key": master}, classes, volume


def file_key(path, classes, volume):
    """Of a file of class A."""
    with open(path, "rb") as file:
        head = file.read(512)
    wrapping = reader.expand(classes["class key 1"], b"EAR1/wrap" + volume + head[48:64])
    key = reader.opened(wrapping, head[104:116], head[116:164], b"EAR1/filekey" + head[:104])
    require(key is not None, f"{path} has no key")
    return {
        "file key": key,
        "header key": reader.expand(key, b"EAR1/hdr" + head[48:64]),
        "segment key": reader.expand(key, b"EAR1/data" + head[48:64] + reader.u64(0)),
        "wrapping key of a file": wrapping,
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
    _, classes, volume = keys(vault)
    paths = [f"{vault.path}/a/load{number}" for number in range(12)]
    needles = {}
    for path in paths:
        with open(path, "wb") as file:
            file.write(b"x" * 5000)
        of_file = file_key(path.replace(vault.path, vault.upper), classes, volume)
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


def main():
    rounds = int(sys.argv[2])
    guard = watch(120 + rounds)
    options = sys.argv[3] if len(sys.argv) > 3 else ""
    with Vault(sys.argv[1], options) as vault:
        daemon = vault.daemon
        names = ["written", "kept", "in part", "mapped", "appended", "direct"]
        words = {name: canary() for name in names}
        never, classes, volume = keys(vault)
        kept = used(f"{vault.path}/a", words)
        of_file = file_key(f"{vault.upper}/a/kept", classes, volume)
        plain = canary()
        write_plain(vault, plain)

        # The search finds what is there: in this process, and in the daemon.
        require(found(os.getpid(), words) == set(words), "the search does not find what is here")
        unlocked = found(daemon, never | classes | of_file | words | {"plain": plain})
        print(f"unlocked: {sorted(unlocked)}")
        require({"class key 1", "class key 2", "class key 3"} <= unlocked, "the search does not find the class keys")
        require({"header key", "file key"} & unlocked, "the search does not find the key of an open file")
        if "passthrough=off" in options:
            # A request that comes before the last one is quite over may have to wait, and then none of it stays.
            for _ in range(100):
                if "plain" in unlocked:
                    break
                write_plain(vault, plain)
                unlocked |= found(daemon, {"plain": plain})
            require("plain" in unlocked, "the search does not find what a plain file has")
        require(not unlocked & set(never), f"while unlocked: {sorted(unlocked & set(never))}")

        locked = vault.lock(check=False)
        require(locked.returncode == 0, f"lock: {locked.stderr}")
        left = found(daemon, never | classes | of_file | words)
        print(f"locked: {sorted(left)}")
        require(left <= {"class key 3"}, f"after lock: {sorted(left)}")
        vault.lock("--all")
        left = found(daemon, never | classes | of_file | words)
        require(not left, f"after lock --all: {sorted(left)}")
        vault.unlock()
        require(os.pread(kept[0], 32, 10_000) is not None, "read again")
        # The same from the beginning, with files that were opened under another key.
        vault.lock("--now", "--all", check=False)
        left = found(daemon, never | classes | of_file | words)
        require(not left, f"after lock --now: {sorted(left)}")
        for item in kept:
            item.close() if isinstance(item, mmap.mmap) else os.close(item)
        vault.unlock()
        under_load(vault, rounds)
    guard.cancel()


if __name__ == "__main__":
    main()
