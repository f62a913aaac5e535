"""Changes of class, killed: each file is as it was or done, with all that is known of it, and what says that it is encrypted
has no plaintext below.

conversions.py BASE ROUNDS STEP: ROUNDS kills at any moment while a tree changes its class; and a kill at every STEPth call by
which the daemon changes something, between all classes. Files that somebody uses are refused, and stay as they are.
"""

import fcntl
import mmap
import os
import signal
import struct
import subprocess
import sys
import time

from traced import killed_daemon
from vault import CLASS, CLASSES, VARVE, Failure, Vault, class_of, error_of, require, run, seeded, stored, watch

CANARY = b"thirty-two bytes that nobody has\n"
SIZES = [0, 10, 4096, 100_000, 3_000_000]
# Not listed: lists with the mode, and flags.
DOORS = ["system.nfs4_acl", "system.varve.flags", "security.capability"]
# The right to bind low ports, for whoever runs the file.
CAPABILITY = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
GETFLAGS, ENCRYPTED, NODUMP = 0x80086601, 0x800, 0x40


def state(path):
    """All of a file that no change of class may touch, and the time of its last change."""
    status = os.lstat(path)
    with open(path, "rb") as file:
        data = file.read()
        flags = struct.unpack("<q", fcntl.ioctl(file, GETFLAGS, bytes(8)))[0] & 0xFFFFFFFF
    attributes = {}
    for name in {*DOORS, *os.listxattr(path)}:
        try:
            attributes[name] = os.getxattr(path, name)
        except OSError:
            attributes[name] = None
    known = {name: getattr(status, f"st_{name}") for name in ("ino", "nlink", "mode", "uid", "gid", "size", "mtime_ns")}
    return data, known | attributes | {"flags": flags & ~ENCRYPTED}


def difference(found, expected):
    """The first thing that differs, or None."""
    for name in sorted({*found[1], *expected[1]}):
        one, other = found[1].get(name), expected[1].get(name)
        if one != other:
            return f"{name} is {one}, not {other}"
    return None if found[0] == expected[0] else f"{len(found[0])} bytes differ from {len(expected[0])}"


def make(path, size, plain=True):
    """A file with one of everything."""
    with open(path, "wb") as file:
        file.write((CANARY * (size // len(CANARY) + 1))[:size])
    os.chown(path, 1234, 2345)
    os.chmod(path, 0o4754)
    os.setxattr(path, "user.note", b"kept")
    os.setxattr(path, "security.capability", CAPABILITY)
    run(VARVE, "chmod", "+a", "user:1001 allow read,readattr", path)
    run(VARVE, "chmod", "+a", "group:1002 deny write", path)
    run(VARVE, "chflags", "nodump,hidden", path)
    os.utime(path, ns=(10**18 + 5, 10**18 + 7))
    known = state(path)[1]
    require(known["security.capability"] == CAPABILITY and known["mode"] & 0o7777 == 0o4754, f"it is made as {known}")
    require(known["flags"] & NODUMP and b"1001" in known["system.nfs4_acl"], f"it is made as {known}")


def require_apart(name, word, below, data):
    """What says that it is encrypted has no plaintext below."""
    if word != b"none" and CANARY[:16] in below:
        raise Failure(f"{name}: is {word}, and has plaintext below")
    if word == b"none" and below != data:
        raise Failure(f"{name}: is plain, and other bytes are below")


class Tree:
    """A directory with files of many sizes, one of them with two names and one that nobody may write to."""

    def __init__(self, vault, dice):
        self.vault, self.path, self.below = vault, f"{vault.path}/tree", f"{vault.upper}/tree"
        os.makedirs(f"{self.path}/sub")
        self.names = [f"{'sub/' if number % 3 else ''}{number}" for number in range(12)]
        for number, name in enumerate(self.names):
            make(f"{self.path}/{name}", dice.choice(SIZES) if number else 3_000_000)
        os.link(f"{self.path}/0", f"{self.path}/sub/linked")
        os.chmod(f"{self.path}/sub/1", 0o4444)
        self.names.append("sub/linked")
        self.states = {name: state(f"{self.path}/{name}") for name in self.names}
        self.words = {name: b"none" for name in self.names}

    def check(self, allowed):
        """Every file is what it was."""
        for name in self.names:
            now, word = state(f"{self.path}/{name}"), class_of(f"{self.path}/{name}")
            wrong = difference(now, self.states[name])
            if wrong:
                raise Failure(f"{name}, from {self.words[name]} to {word} of {allowed}: {wrong}")
            if word not in allowed:
                raise Failure(f"{name}: is {word}, not one of {allowed}")
            require_apart(name, word, stored(f"{self.below}/{name}"), now[0])
            self.words[name] = word


def killed_trees(vault, seed, dice, rounds):
    tree = Tree(vault, dice)
    classes = [b"none", *CLASSES.values()]
    allowed, interrupted = {b"none"}, 0
    for number in range(rounds):
        guard = watch(120)
        wanted = dice.choice([word for word in classes if {word} != allowed])
        daemon = vault.daemon
        tool = subprocess.Popen(
            [VARVE, "protect", "-R", wanted, tree.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * dice.choice([0.02, 0.1, 0.3]))
        os.kill(daemon, signal.SIGKILL)
        interrupted += tool.wait() != 0
        vault.take_away(daemon)
        vault.mount()
        try:
            allowed |= {wanted}
            tree.check(allowed)
            # What was begun can be ended.
            if dice.random() < 0.5:
                run(VARVE, "protect", "-R", wanted, tree.path)
                allowed = {wanted}
                tree.check(allowed)
                left = os.listdir(f"{vault.upper}/.varve/work")
                require(not left, f"left over: {left}")
        except Failure as failure:
            raise Failure(f"seed {seed}, round {number}: {failure}")
        guard.cancel()
    require(interrupted, "no change was interrupted")
    print(f"{rounds} rounds, {interrupted} of them interrupted")


# Killed at a call


def killed_at_calls(vault, seed, dice, step):
    kills, classes = 0, [b"none", *CLASSES.values()]
    path, below = f"{vault.path}/one", f"{vault.upper}/one"
    for before in classes:
        for wanted in [word for word in classes if word != before]:
            size = dice.choice([10, 150_000])
            last, isKilled = 1 + dice.randrange(step), True
            while isKilled:
                guard = watch(60)
                make(path, size)
                if before != b"none":
                    os.setxattr(path, CLASS, before)
                expected, daemon = state(path), vault.daemon
                isKilled = killed_daemon(daemon, lambda: os.setxattr(path, CLASS, wanted), last)
                vault.take_away(daemon)
                vault.mount()
                now, word = state(path), class_of(path)
                what = f"seed {seed}, {size} bytes, {before} to {wanted}, killed at call {last}: {word}"
                require(word in ((before, wanted) if isKilled else (wanted,)), what)
                require(not difference(now, expected), f"{what}, and {difference(now, expected)}")
                require_apart(what, word, stored(below), now[0])
                left = os.listdir(f"{vault.upper}/.varve/work")
                require(not left, f"{what}, and left over: {left}")
                # What was begun can be ended, and what was not can be begun.
                os.setxattr(path, CLASS, wanted)
                require(not difference(state(path), expected), f"{what}, done again: {difference(state(path), expected)}")
                require_apart(what, wanted, stored(below), expected[0])
                os.unlink(path)
                kills += isKilled
                last += step
                guard.cancel()
    print(f"killed at {kills} calls")


# In use


def in_use(vault):
    """A file that somebody has open or mapped, also below the volume, is refused, and stays as it is."""
    path, below = f"{vault.path}/used", f"{vault.upper}/used"

    def mapped(which, isShared):
        file = os.open(which, os.O_RDWR if isShared else os.O_RDONLY)
        memory = mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ | (mmap.PROT_WRITE if isShared else 0))
        os.close(file)
        return memory.close

    def opened(which, flags):
        file = os.open(which, flags)
        return lambda: os.close(file)

    ways = {
        "open for reading": lambda: opened(path, os.O_RDONLY),
        "open for writing": lambda: opened(path, os.O_WRONLY),
        "mapped for reading, and closed": lambda: mapped(path, False),
        "mapped for writing, and closed": lambda: mapped(path, True),
        "open below for reading": lambda: opened(below, os.O_RDONLY),
        "open below for writing": lambda: opened(below, os.O_RDWR),
        "mapped below, and closed": lambda: mapped(below, False),
    }
    for before, wanted in ((b"none", b"complete"), (b"complete-unless-open", b"none"), (b"until-first-unlock", b"none")):
        make(path, 150_000)
        os.setxattr(path, CLASS, before)
        for name, way in ways.items():
            expected, bytes_below = state(path), stored(below)
            changed = os.stat(below).st_ctime_ns
            end = way()
            try:
                error = error_of(lambda: os.setxattr(path, CLASS, wanted))
                require(error == "EBUSY", f"{name}, {before} to {wanted}: {error}")
                tool = run(VARVE, "protect", wanted.decode(), path, check=False)
                require(tool.returncode == 1, f"{name}, {before} to {wanted}: protect ends with {tool}")
            finally:
                end()
            require(class_of(path) == before, f"{name}: the class is {class_of(path)}")
            wrong = difference(state(path), expected)
            require(not wrong, f"{name}, {before} to {wanted}: {wrong}")
            require(stored(below) == bytes_below, f"{name}: the bytes below are others")
            if "for writing" not in name:
                require(os.stat(below).st_ctime_ns == changed, f"{name}: the file below was changed")
            require(not os.listdir(f"{vault.upper}/.varve/work"), f"{name}: something is left over")
        # And when all are gone, it goes; the kernel tells of a last close later.
        for _ in range(500):
            error = error_of(lambda: os.setxattr(path, CLASS, wanted))
            if error != "EBUSY":
                break
            time.sleep(0.01)
        require(error is None and class_of(path) == wanted, f"nobody has it: {error}")
        require(not difference(state(path), expected), f"nobody has it: {difference(state(path), expected)}")
        os.unlink(path)


def beside_stopped(vault):
    """Who uses a file is looked for, and no daemon of another volume is asked: that one has stopped."""
    other = Vault(f"{vault.base}/other")
    path = f"{vault.path}/used"
    with open(path, "wb") as file:
        file.write(b"x" * 9000)
    with open(f"{other.path}/held", "wb") as elsewhere, open(path, "rb"):
        elsewhere.write(b"x")
        elsewhere.flush()
        daemon = other.daemon
        # What is remembered of its times must be old.
        time.sleep(1.1)
        os.kill(daemon, signal.SIGSTOP)
        try:
            for words in (("protect", "complete"), ("compress",)):
                started = time.monotonic()
                ran = run(VARVE, *words, path, check=False, timeout=30)
                told = f"{words}: {ran.returncode} {ran.stdout}{ran.stderr}"
                require(f"process {os.getpid()} " in ran.stdout + ran.stderr, told)
                require(time.monotonic() - started < 20, f"{words} takes too long")
        finally:
            os.kill(daemon, signal.SIGCONT)
    os.unlink(path)
    other.unmount()


def main():
    base, rounds, step = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    seed, dice = seeded("conversions")
    vault = Vault(base)
    guard = watch(60)
    in_use(vault)
    guard.cancel()
    guard = watch(120)
    beside_stopped(vault)
    guard.cancel()
    killed_at_calls(vault, seed, dice, step)
    killed_trees(vault, seed, dice, rounds)
    vault.unmount()


if __name__ == "__main__":
    main()
