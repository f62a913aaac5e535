"""Damages single pages of encrypted files behind the mount and reads all around: damage.py BASE [OPTIONS]

Exactly the damaged blocks are errors, however they are read, and no answer before the end of the file is short.
"""

import errno
import mmap
import os
import signal
import sys

from vault import Vault, error_of, require, seeded, watch

BLOCK = 4096
# Of one request of the kernel, and of several, the last block being a part of one.
SHAPES = {"a/one": (32 * BLOCK, [9]), "b/many": (150 * BLOCK + 77, [0, 31, 32, 100, 150]), "c/one": (32 * BLOCK, [31])}


def page_of(block):
    """Where a block lies that was written once, by docs/FORMATS.md."""
    return 1 + block if block < 24 else 26 + 49 * ((block - 24) // 48) + (block - 24) % 48


def damage(path, block):
    file = os.open(path, os.O_RDWR)
    at = page_of(block) * BLOCK + 1234
    byte = os.pread(file, 1, at)
    os.pwrite(file, bytes([byte[0] ^ 4]), at)
    os.close(file)


class Damaged:
    """A file that is read in one way or another."""

    def __init__(self, path, content, blocks):
        self.path, self.content, self.blocks = path, content, blocks

    def opened(self, flags=os.O_RDONLY):
        """Without a page in the cache."""
        file = os.open(self.path, flags)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return file

    def whole(self, first, end):
        """Whether no block between two is damaged."""
        return not any(first <= block < end for block in self.blocks)

    def read_on(self, size):
        """In order, each call for as much: a call ends before a damaged block, and there is an error."""
        file, at, refused = self.opened(), 0, []
        while at < len(self.content):
            want = min(size, len(self.content) - at)
            try:
                got = os.pread(file, size, at)
            except OSError as failure:
                require(failure.errno == errno.EIO and at % BLOCK == 0, f"{self.path}, {at}+{size}: {failure}")
                refused.append(at // BLOCK)
                at += BLOCK
                continue
            require(got == self.content[at : at + len(got)], f"{self.path}, {at}+{size}: other bytes")
            end = at + len(got)
            isAtDamage = end % BLOCK == 0 and end // BLOCK in self.blocks
            require(len(got) == want or isAtDamage, f"{self.path}, {at}+{size}: {len(got)} bytes of {want}")
            at = end
        require(refused == self.blocks, f"{self.path}, {size} bytes at once: {refused} refused, not {self.blocks}")
        require(os.pread(file, size, at) == b"", f"{self.path}: more than its content")
        os.close(file)

    def read_each(self, order, flags=0):
        """Page by page: from the end, too, so that nothing is read ahead."""
        file = self.opened(os.O_RDONLY | flags)
        with mmap.mmap(-1, BLOCK) as buffer:
            for block in order:
                at = block * BLOCK
                want = self.content[at : at + BLOCK]
                refused = error_of(lambda: require(os.preadv(file, [buffer], at) == len(want), f"{self.path}, block {block} is short"))
                require(refused == ("EIO" if block in self.blocks else None), f"{self.path}, block {block}: {refused}")
                require(refused or buffer[: len(want)] == want, f"{self.path}, block {block}: other bytes")
        os.close(file)

    def read_between(self, flags=0):
        """One call for all blocks between two that are damaged, right up to both of them."""
        file = self.opened(os.O_RDONLY | flags)
        ends = [-1, *self.blocks, (len(self.content) + BLOCK - 1) // BLOCK]
        for before, behind in zip(ends, ends[1:]):
            at, end = (before + 1) * BLOCK, min(behind * BLOCK, len(self.content))
            if at >= end:
                continue
            with mmap.mmap(-1, behind * BLOCK - at) as buffer:
                count = os.preadv(file, [buffer], at)
                require(buffer[:count] == self.content[at:end], f"{self.path}, {at}..{end}: {count} bytes, or other ones")
        os.close(file)

    def touch(self):
        """A mapping has every page but the damaged ones."""
        file = self.opened()
        memory = mmap.mmap(file, len(self.content), prot=mmap.PROT_READ)
        for block in range((len(self.content) + BLOCK - 1) // BLOCK):
            at = block * BLOCK
            child = os.fork()
            if child == 0:
                os._exit(0 if memory[at : at + BLOCK] == self.content[at : at + BLOCK] else 1)
            _, status = os.waitpid(child, 0)
            died = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS
            require(died if block in self.blocks else status == 0, f"{self.path}, block {block} of a mapping: {status}")
        memory.close()
        os.close(file)

    def read(self):
        blocks = range((len(self.content) + BLOCK - 1) // BLOCK)
        for size in (128 << 10, 1 << 20, 5000):
            self.read_on(size)
        for flags in (0, os.O_DIRECT):
            self.read_each(blocks, flags)
            self.read_each(reversed(blocks), flags)
            self.read_between(flags)
        self.touch()

    def mend(self):
        """A damaged block that is written as a whole is one again."""
        file = os.open(self.path, os.O_RDWR)
        for block in self.blocks:
            at = block * BLOCK
            os.pwrite(file, self.content[at : at + BLOCK], at)
        os.close(file)
        self.blocks = []
        self.read()


def main():
    guard = watch(120)
    _, dice = seeded("damage")
    with Vault(sys.argv[1], *sys.argv[2:3]) as vault:
        files = []
        for name, (size, blocks) in SHAPES.items():
            file = Damaged(f"{vault.path}/{name}", dice.randbytes(size), blocks)
            with open(file.path, "wb") as out:
                out.write(file.content)
            files.append(file)
        vault.unmount()
        for name, (_, blocks) in SHAPES.items():
            for block in blocks:
                damage(f"{vault.upper}/{name}", block)
        vault.mount()
        for file in files:
            file.read()
            file.mend()
    guard.cancel()


if __name__ == "__main__":
    main()
