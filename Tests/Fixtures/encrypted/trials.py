"""Changes of a file that crashes.py interrupts, and which contents may be found afterwards."""

import os
import random

from vault import Failure

SIZES = [10, 4096, 5000, 100_000, 300_000]
BLOCK = 4096
CLASSES = "abc"


def path_in(base, kind, name):
    """Names of files in directories of several classes do not collide."""
    return f"{base}/{kind}/{name}.{kind}"


class History:
    """What requests make of a file, block by block: of a request that is under way each block is there or is not yet."""

    def __init__(self, data):
        self.data, self.count = bytearray(data), 0
        self.sizes = [(0, len(data))]
        self.versions = [[(0, self.block(number))] for number in range(self.blocks)]

    @property
    def blocks(self):
        return (len(self.data) + BLOCK - 1) // BLOCK

    def block(self, number):
        return bytes(self.data[number * BLOCK : (number + 1) * BLOCK]).ljust(BLOCK, b"\0")

    def note(self, first, end):
        """One request more, which has changed some blocks."""
        self.count += 1
        old, new = self.sizes[-1][1], len(self.data)
        # The kernel may bring a write in pieces, which end where blocks do.
        self.sizes += [(self.count, size) for size in range(old // BLOCK * BLOCK + BLOCK, new, BLOCK)]
        if new != old:
            self.sizes.append((self.count, new))
        for number in range(first, end):
            while len(self.versions) <= number:
                self.versions.append([(0, bytes(BLOCK))])
            self.versions[number].append((self.count, self.block(number)))

    def write(self, at, piece):
        self.data[at : at + len(piece)] = piece
        self.note(at // BLOCK, (at + len(piece) + BLOCK - 1) // BLOCK)

    def cut(self, size):
        end = self.blocks
        del self.data[size:]
        self.note(size // BLOCK, end)

    def spans(self, versions, matches):
        """Between which requests it can have ended, by one block or by the size."""
        ends = [when for when, _ in versions[1:]] + [self.count]
        return [(when, end) for (when, value), end in zip(versions, ends) if matches(value)]

    def check(self, got):
        """That the requests up to one of them are done, and none of those behind it."""
        possible = self.spans(self.sizes, lambda size: size == len(got))
        if not possible:
            raise Failure(f"{len(got)} bytes, not {[size for _, size in self.sizes]}")
        for number in range((len(got) + BLOCK - 1) // BLOCK):
            found = got[number * BLOCK : (number + 1) * BLOCK]
            spans = self.spans(self.versions[number], lambda block: block[: len(found)] == found)
            if not spans:
                raise Failure(f"block {number} is none of its {len(self.versions[number])} versions")
            both = ((max(a, c), min(b, d)) for a, b in possible for c, d in spans)
            possible = [span for span in both if span[0] <= span[1]]
            if not possible:
                raise Failure(f"block {number} is of another request than those before it")


class FileTrial:
    """One file: a synced state, and changes on top of it that are not."""

    kind = None

    def __init__(self, vault, seed):
        self.base = vault.path
        self.random = random.Random(seed)
        self.history = None

    def prepare(self):
        """Brings one state to the disk, and chooses the changes."""
        r = self.random
        self.path = path_in(self.base, r.choice(CLASSES), f"{self.kind}{r.randrange(4)}")
        self.old = r.randbytes(r.choice(SIZES))
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | r.choice([0, os.O_TRUNC]), 0o644)
        os.ftruncate(self.file, len(self.old))
        os.pwrite(self.file, self.old, 0)
        os.fsync(self.file)
        self.history = History(self.old)
        self.change()

    def forget(self):
        os.close(self.file)

    def begin_anew(self):
        self.history = None

    def check(self):
        if self.history is None:
            return
        with open(self.path, "rb") as file:
            self.history.check(file.read())


class Overwrite(FileTrial):
    kind = "overwrite"

    def change(self):
        data, self.pieces = bytearray(self.old), []
        for _ in range(self.random.randrange(1, 30)):
            at = self.random.randrange(len(data))
            piece = self.random.randbytes(min(self.random.choice([5, 4096, 20_000]), len(data) - at))
            data[at : at + len(piece)] = piece
        at = 0
        while at < len(data):
            end = min(len(data), at + self.random.choice([100, 4096, 9999, 50_000]))
            self.pieces.append((at, data[at:end]))
            self.history.write(at, data[at:end])
            at = end

    def work(self):
        for at, piece in self.pieces:
            os.pwrite(self.file, piece, at)


class Append(FileTrial):
    kind = "append"

    def change(self):
        self.more = self.random.randbytes(self.random.choice([5, 4096, 70_000]))
        self.history.write(len(self.old), self.more)

    def work(self):
        os.pwrite(self.file, self.more, len(self.old))


class Truncate(FileTrial):
    kind = "truncate"

    def change(self):
        self.size = self.random.randrange(len(self.old))
        self.history.cut(self.size)

    def work(self):
        os.ftruncate(self.file, self.size)


class Rename(FileTrial):
    kind = "rename"

    def change(self):
        self.new = self.random.randbytes(self.random.choice(SIZES))

    def work(self):
        aside = self.path + ".new"
        file = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.write(file, self.new)
        os.close(file)
        os.rename(aside, self.path)

    def check(self):
        if self.history is None:
            return
        with open(self.path, "rb") as file:
            if file.read() not in (self.old, self.new):
                raise Failure("neither the old nor the new file")
