"""Writes files of every shape in every class through a mount, and reads the backing files with a reader that shares no code
with the daemon: while they are open and synced, after an unmount, and after the daemon was killed.

shapes.py BASE
"""

import ctypes
import mmap
import os
import signal
import sys

from vault import CLASSES, Vault, libc, require, seeded, watch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sealed_reader

BLOCK = 4096
# What page 0 has the index of, what the first index page has, and a segment, which has one key.
INDEX, NEXT_INDEX, SEGMENT = 24 * BLOCK, 72 * BLOCK, 64 << 20
KEEP_SIZE, PUNCH, ZERO = 1, 2, 16


class Shape:
    """An open file, and what is in it: size and blocks, without those that are zeros."""

    def __init__(self, path, dice):
        self.path, self.dice, self.size, self.blocks = path, dice, 0, {}
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)

    def put(self, at, data):
        """Notes what is in the file from now on."""
        self.size = max(self.size, at + len(data))
        for block in range(at // BLOCK, (at + len(data) + BLOCK - 1) // BLOCK):
            start = block * BLOCK
            old = self.blocks.get(block, bytes(BLOCK))
            first, end = max(at, start), min(at + len(data), start + BLOCK)
            self.blocks[block] = old[: first - start] + data[first - at : end - at] + old[end - start :]

    def write(self, at, count):
        data = self.dice.randbytes(count)
        require(os.pwrite(self.file, data, at) == count, f"{self.path}: a short write")
        self.put(at, data)

    def append(self, count):
        data = self.dice.randbytes(count)
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(file, data)
        os.close(file)
        self.put(self.size, data)

    def map(self, at, count):
        data = self.dice.randbytes(count)
        with mmap.mmap(self.file, self.size) as memory:
            memory[at : at + count] = data
            memory.flush()
        self.put(at, data)

    def direct(self, at, count):
        data = self.dice.randbytes(count)
        file = os.open(self.path, os.O_WRONLY | os.O_DIRECT)
        with mmap.mmap(-1, count) as buffer:
            buffer[:] = data
            require(os.pwritev(file, [buffer], at) == count, f"{self.path}: a short write")
        os.close(file)
        self.put(at, data)

    def cut(self, size):
        os.ftruncate(self.file, size)
        self.blocks = {block: data for block, data in self.blocks.items() if block * BLOCK < size}
        if size % BLOCK and size // BLOCK in self.blocks:
            self.blocks[size // BLOCK] = self.blocks[size // BLOCK][: size % BLOCK].ljust(BLOCK, b"\0")
        self.size = size

    def give(self, mode, at, count):
        failed = libc.fallocate(self.file, mode, ctypes.c_long(at), ctypes.c_long(count))
        require(failed == 0, f"{self.path}: fallocate {mode}")
        if mode & (PUNCH | ZERO):
            size = self.size
            self.put(at, bytes(max(0, min(count, size - at))))
        elif not mode & KEEP_SIZE:
            self.size = max(self.size, at + count)

    def sync(self):
        os.fsync(self.file)

    def block(self, number):
        return self.blocks.get(number, bytes(BLOCK))[: self.size - number * BLOCK]


def sized(size):
    def make(file):
        if size:
            # Only the end of a large one.
            start = 0 if size <= NEXT_INDEX + BLOCK else size - 3 * BLOCK
            file.write(start, size - start)

    return make


def holes(file):
    for at in (0, 5 * BLOCK + 100, INDEX - 10, NEXT_INDEX + 200, 10 * NEXT_INDEX + 3):
        file.write(at, 20)
    file.cut(12 * NEXT_INDEX)


def segments(file):
    """Both sides of the border of two keys, and of the next one."""
    for border in (SEGMENT, 2 * SEGMENT):
        file.write(border - BLOCK - 7, 2 * BLOCK)


def rewritten(file):
    """Both entries of a pair are in use, in page 0 and in an index page; then there is a third version."""
    for _ in range(3):
        file.write(0, INDEX + 5 * BLOCK)
        file.sync()
    file.write(100, 5)
    file.write(INDEX + 100, 2 * BLOCK)


def truncated(file):
    file.write(0, 2 * NEXT_INDEX)
    for size in (NEXT_INDEX + 1, NEXT_INDEX, INDEX + BLOCK + 17, INDEX + 1, INDEX, 5 * BLOCK, 3 * BLOCK - 1):
        file.cut(size)
        if size % 2:
            file.sync()


def cut_and_grown(file):
    """What was cut off does not come back."""
    file.write(0, NEXT_INDEX + 10 * BLOCK)
    file.sync()
    file.cut(7 * BLOCK + 9)
    file.cut(NEXT_INDEX + 5)
    file.write(INDEX + 8, 3)
    file.cut(2 * NEXT_INDEX)


def emptied(file):
    """Another key."""
    file.write(0, 9 * BLOCK)
    file.sync()
    file.cut(0)
    file.write(2 * BLOCK, 10)


def appended(file):
    for _ in range(40):
        file.append(file.dice.choice([1, 100, BLOCK, 5000]))


def punched(file):
    file.write(0, NEXT_INDEX + 10 * BLOCK)
    file.sync()
    file.give(PUNCH | KEEP_SIZE, 3 * BLOCK + 5, 4 * BLOCK)
    file.give(PUNCH | KEEP_SIZE, INDEX - BLOCK, 9 * BLOCK)
    file.give(ZERO, NEXT_INDEX - 100, 2 * BLOCK)
    file.sync()
    file.write(4 * BLOCK, 10)
    file.give(PUNCH | KEEP_SIZE, NEXT_INDEX + BLOCK, 1 << 20)


def allocated(file):
    file.give(0, 0, INDEX + 5000)
    file.write(BLOCK, 10)
    file.give(KEEP_SIZE, 0, NEXT_INDEX)


def mapped(file):
    file.cut(NEXT_INDEX + 1000)
    file.map(INDEX - 500, 1000)
    file.map(NEXT_INDEX, 1000)
    file.direct(2 * BLOCK, 3 * BLOCK)


SHAPES = {
    f"size {size + more}": sized(size + more)
    for size in (1, BLOCK, INDEX, NEXT_INDEX, SEGMENT)
    for more in (-1, 0, 1)
} | {work.__name__: work for work in (holes, segments, rewritten, truncated, cut_and_grown, emptied, appended, punched, allocated, mapped)}


def touch(file):
    """One more change, somewhere."""
    if file.size:
        file.write(file.dice.randrange(file.size), file.dice.choice([1, BLOCK, 9000]))
    else:
        file.write(0, 5)
    file.sync()


def compare(vault, files, when, mayDoubt):
    """Each backing file, as the reader reads it."""
    own, stored = f"{vault.upper}/.varve", sealed_reader.contents_of
    keys = sealed_reader.Keys(stored(vault.key), b"", stored(f"{own}/keybag"))
    sessions = sealed_reader.Sessions(stored(f"{own}/sessions"), keys)
    require(sessions.last > 0, f"{when}: no session log")
    for shape in files:
        path = shape.path.replace(vault.path, vault.upper)
        label = f"{shape.path}, {when}"
        try:
            file = sealed_reader.SealedFile(path, keys, sessions)
        except sealed_reader.Refused as reason:
            require(False, f"{label}: {reason}")
        with file.file:
            require(file.size == shape.size, f"{label}: {file.size} bytes, not {shape.size}")
            require(file.cut() is None, f"{label}: {file.cut()}")
            require(mayDoubt or not file.size or not file.doubtful, f"{label}: the session has not ended")
            for at, data, refusal in sealed_reader.contents(file):
                require(refusal is None, f"{label}: {refusal}")
                require(data == shape.block(at // BLOCK), f"{label}: block {at // BLOCK} differs")


def main():
    guard = watch(300)
    _, dice = seeded("shapes")
    with Vault(sys.argv[1]) as vault:
        files = []
        for kind in CLASSES:
            for name, work in SHAPES.items():
                file = Shape(f"{vault.path}/{kind}/{name}", dice)
                work(file)
                file.sync()
                files.append(file)
        compare(vault, files, "open", True)
        for file in files:
            os.close(file.file)
        vault.unmount()
        compare(vault, files, "unmounted", False)
        # Then with a daemon that is killed, and with one that goes on where that one stopped.
        for end in ("killed", "unmounted again"):
            vault.mount()
            for file in files:
                file.file = os.open(file.path, os.O_RDWR)
                touch(file)
            compare(vault, files, f"open, before it is {end}", True)
            daemon = vault.daemon
            if end == "killed":
                os.kill(daemon, signal.SIGKILL)
            for file in files:
                os.close(file.file)
            vault.take_away(daemon) if end == "killed" else vault.unmount()
            compare(vault, files, end, end == "killed")
        vault.mount()
        for file in files:
            with open(file.path, "rb") as again:
                for block in file.blocks:
                    again.seek(block * BLOCK)
                    require(again.read(BLOCK) == file.block(block), f"{file.path}, mounted: block {block} differs")
    print(f"{len(files)} files, read 6 times each")
    guard.cancel()


if __name__ == "__main__":
    main()
