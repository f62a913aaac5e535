"""Turns single bits of what counts in encrypted files whose session has ended, and in a keybag: a reader that shares no code
with the daemon refuses each of them. Files of two blocks are of two classes; those of the third have index pages and holes.
Also refused are entries, sectors and pages that change places, within a file and between two that have the same class.

flips.py BASE STEP: every STEPth bit of each structure, beginning anywhere
"""

import ctypes
import os
import sys

from vault import Vault, libc, require, seeded, watch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sealed_reader

PAGE, SECTOR = 4096, 512
# Of the large file: in page 0, at the ends of its first two index pages, in the middle, and at the end.
SPREAD = [0, 7, 23, 24, 71, 72, 300, 301, 618]
# Of a file that is a hole but for these: in the first segment, and in the second, which has a key of its own.
FAR = [0, 16385]
# Each beside another one of its class.
SMALL = {"a/file": "a/other", "a/other": "a/file", "c/file": "c/other", "c/other": "c/file"}


def read(path, keys, sessions, blocks=None):
    """The content of some blocks, or of all, and the reason why there is none."""
    try:
        file = sealed_reader.SealedFile(path, keys, sessions)
        with file.file:
            if blocks is not None:
                return b"".join(file.block(block) for block in blocks), file.cut() or ""
            parts = list(sealed_reader.contents(file))
            refusals = [refusal for _, _, refusal in parts if refusal] + [file.cut() or ""]
            return b"".join(data for _, data, _ in parts), "".join(refusals)
    except sealed_reader.Refused as reason:
        return b"", str(reason)


def make_small(vault, dice, name):
    """Both halves of a pair are in use, and both slots."""
    content = dice.randbytes(PAGE + 1000)
    with open(f"{vault.path}/{name}", "wb") as file:
        file.write(content)
        os.fsync(file.fileno())
        os.pwrite(file.fileno(), content[:PAGE], 0)
    return content


def make_large(vault, dice):
    """With blocks far from each other, of which some were written twice, and one became a hole."""
    content = bytearray((SPREAD[-1] + 1) * PAGE - 77)
    with open(f"{vault.path}/b/large", "wb", buffering=0) as file:
        for block in [*SPREAD, 25]:
            os.pwrite(file.fileno(), dice.randbytes(PAGE), block * PAGE)
        os.fsync(file.fileno())
        for block in SPREAD:
            data = dice.randbytes(PAGE if block < SPREAD[-1] else PAGE - 77)
            if block % 2 or block == SPREAD[-1]:
                os.ftruncate(file.fileno(), len(content))
            os.pwrite(file.fileno(), data, block * PAGE)
            content[block * PAGE : block * PAGE + len(data)] = data
        require(libc.fallocate(file.fileno(), 3, ctypes.c_long(25 * PAGE), ctypes.c_long(PAGE)) == 0, "punch")
        os.fsync(file.fileno())
    return bytes(content)


def make_far(vault, dice):
    """Both slots are in use, and both entries of each block."""
    content = bytearray((FAR[-1] + 1) * PAGE - 77)
    with open(f"{vault.path}/b/far", "wb", buffering=0) as file:
        for _ in range(2):
            for block in FAR:
                data = dice.randbytes(PAGE if block < FAR[-1] else PAGE - 77)
                os.pwrite(file.fileno(), data, block * PAGE)
                content[block * PAGE : block * PAGE + len(data)] = data
            os.fsync(file.fileno())
    return bytes(content)


class Flipped:
    """One file, and a copy of it that is changed in place and back.

    `blocks`: those that are read where all are meant.
    """

    def __init__(self, vault, name, content, keys, sessions, base, blocks=None):
        self.name, self.content, self.keys, self.sessions, self.blocks = name, content, keys, sessions, blocks
        path = f"{vault.upper}/{name}"
        self.stored = sealed_reader.contents_of(path)
        self.copy, self.tried = f"{base}/{name.replace('/', '-')}", 0
        with open(self.copy, "wb") as file:
            file.write(self.stored)
        self.file = os.open(self.copy, os.O_RDWR)
        found, reason = read(self.copy, keys, sessions)
        require(found == content and not reason, f"{name} as it is: {reason}")
        opened = sealed_reader.SealedFile(path, keys, sessions)
        with opened.file:
            require(not opened.doubtful, f"{name}: the session has not ended")
            self.structures(opened)

    def structures(self, file):
        """What counts: where it lies, and which blocks are read through it; None: all."""
        self.live = {"slot 0": (range(2 * SECTOR, 3 * SECTOR), []), "slot 1": (range(3 * SECTOR, 4 * SECTOR), [])}
        blocks = range((len(self.content) + PAGE - 1) // PAGE)
        for block in blocks:
            page, offset = sealed_reader.sector_of(block)
            start = page * PAGE + offset
            entries = file.entries(block)
            # Behind the end of the backing file there is none.
            if any(self.stored[start : start + SECTOR]):
                self.live[f"index sector of block {block - block % 6}"] = (range(start, start + SECTOR), [block - block % 6])
            # The newest version of each block is the one that counts; what is older is nobody's.
            if entries and sealed_reader.number(entries[0], 38, 2) == 0:
                start = sealed_reader.number(entries[0], 32, 6) * PAGE
                self.live[f"block {block}"] = (range(start, start + PAGE), [block])

    def refused(self, changes, blocks, sentence):
        """That each of the bits makes the file one that is refused."""
        for byte, bit in changes:
            os.pwrite(self.file, bytes([self.stored[byte] ^ 1 << bit]), byte)
        found, reason = read(self.copy, self.keys, self.sessions, self.blocks if blocks is None else blocks)
        if blocks is None and self.blocks is None and not reason:
            sentence += f"; {'the same' if found == self.content else 'other'} content"
        require(reason, f"{self.name}, {sentence}: not refused")
        for byte, _ in changes:
            os.pwrite(self.file, self.stored[byte : byte + 1], byte)
        self.tried += 1

    def flip(self, dice, step):
        for name, (span, blocks) in self.live.items():
            for index, number in enumerate(range(dice.randrange(step), len(span) * 8, step)):
                byte, bit = span[number // 8], number % 8
                # The whole file, as anybody reads it, and for most bits only what is read through them.
                self.refused([(byte, bit)], None if index == 0 else blocks, f"{name}, byte {byte}, bit {bit}")
        # The static sector has a copy; what is behind the wrapped key is reserved.
        for number in range(dice.randrange(step), 164 * 8, step):
            byte, bit = number // 8, number % 8
            self.refused([(byte, bit), (SECTOR + byte, bit)], [], f"both static sectors, byte {byte}, bit {bit}")

    def cut(self, step):
        pages = len(self.stored) // PAGE
        # From the end on, so each cut finds what it leaves.
        for left in sorted({*range(pages - 1, 0, -max(1, step // 20)), 1}, reverse=True):
            os.ftruncate(self.file, left * PAGE)
            # A file that was emptied is one of the things nobody notices (docs/SECURITY.md).
            require(read(self.copy, self.keys, self.sessions, self.blocks)[1], f"{self.name}, cut to {left} of {pages} pages: not refused")
            self.tried += 1

    def put(self, pieces, blocks, sentence):
        """That the file is refused with other bytes at some places."""
        for at, data in pieces:
            os.pwrite(self.file, data, at)
        reason = read(self.copy, self.keys, self.sessions, blocks)[1]
        for at, data in pieces:
            os.pwrite(self.file, self.stored[at : at + len(data)], at)
        require(reason, f"{self.name}, {sentence}: not refused")
        self.tried += 1

    def exchange_entries(self):
        """Entries of a sector, and pairs of them, that change places."""
        for name, (span, blocks) in self.live.items():
            if not name.startswith("index"):
                continue
            for size in (40, 80):
                entries = [(at, self.stored[at : at + size]) for at in range(span[0], span[0] + 480, size)]
                for index, (at, entry) in enumerate(entries):
                    for place, other in entries[index + 1 :]:
                        if entry != other:
                            self.put([(at, other), (place, entry)], blocks, f"{name}, bytes {at} and {place} exchanged")

    def take(self, other):
        """What another file has in the same place: in one structure, in page 0, or in all of the index."""
        whole = {"both static sectors": range(2 * SECTOR), "page 0": range(PAGE)}
        for name, span in (whole | {name: span for name, (span, _) in self.live.items()}).items():
            there = other.live[name][0] if name in other.live else span
            data = other.stored[there[0] : there[-1] + 1]
            require(len(data) == len(span) and data != self.stored[span[0] : span[-1] + 1], f"{other.name} has no other {name}")
            self.put([(span[0], data)], None, f"{name} of {other.name}")
        # With everything that leads to its page.
        for name, (span, blocks) in self.live.items():
            if name.startswith("index"):
                pages = [(self.live[f"block {block}"][0][0], other.live[f"block {block}"][0]) for block in blocks]
                moved = [(at, other.stored[there[0] : there[-1] + 1]) for at, there in pages]
                self.put([(span[0], other.stored[span[0] : span[-1] + 1]), *moved], None, f"{name} and its pages of {other.name}")

    def exchange(self):
        """Structures that are moved are refused at each of both ends."""
        spans = [(name, span, blocks) for name, (span, blocks) in self.live.items()]
        for name, span, blocks in spans:
            for other, another, _ in spans:
                if name == other or len(span) != len(another) or self.stored[span[0] : span[-1] + 1] == self.stored[another[0] : another[-1] + 1]:
                    continue
                # Two slots are told apart by what is in them.
                if name.startswith("slot") and other.startswith("slot"):
                    continue
                with open(self.copy, "r+b") as file:
                    file.seek(span[0])
                    file.write(self.stored[another[0] : another[-1] + 1])
                    file.flush()
                    reason = read(self.copy, self.keys, self.sessions, blocks)[1]
                    file.seek(span[0])
                    file.write(self.stored[span[0] : span[-1] + 1])
                require(reason, f"{self.name}, {other} in place of {name}: not refused")
                self.tried += 1


def main():
    guard = watch(3000)
    base, step = sys.argv[1], int(sys.argv[2])
    _, dice = seeded("flips")
    with Vault(base) as vault:
        contents = {name: make_small(vault, dice, name) for name in SMALL}
        contents |= {"b/large": make_large(vault, dice), "b/far": make_far(vault, dice)}
    own = f"{vault.upper}/.varve"
    whole = {name: sealed_reader.contents_of(f"{own}/{name}") for name in ("keybag", "sessions")}
    keyfile = sealed_reader.contents_of(vault.key)
    keys = sealed_reader.Keys(keyfile, b"", whole["keybag"])
    sessions = sealed_reader.Sessions(whole["sessions"], keys)
    tried, kinds = 0, set()
    # All of a file that ends in the second segment is read once.
    some = {"b/far": FAR}
    files = {name: Flipped(vault, name, content, keys, sessions, base, some.get(name)) for name, content in contents.items()}
    for name, file in files.items():
        kinds |= {f"{name} {kind}" for kind in file.live}
        if not name.endswith("other"):
            file.flip(dice, step if name in SMALL else step * 5 // 2 if step > 1 else 1)
            file.exchange()
            file.exchange_entries()
        if name in SMALL:
            file.take(files[SMALL[name]])
        file.cut(step)
        os.close(file.file)
        tried += file.tried
        print(f"{name}: {len(file.live)} structures, {file.tried} changes, each refused")
    for name, block in [("b/large", block) for block in SPREAD] + [("b/far", block) for block in FAR]:
        require(f"{name} block {block}" in kinds, f"block {block} of {name} is not there")
    bag = whole["keybag"]
    for number in range(dice.randrange(step), len(bag) * 8, step):
        changed = bytearray(bag)
        changed[number // 8] ^= 1 << number % 8
        try:
            sealed_reader.Keys(keyfile, b"", bytes(changed))
        except sealed_reader.Refused:
            tried += 1
        else:
            require(False, f"keybag, bit {number}: not refused")
    print(f"{tried} changes, each refused")
    guard.cancel()


if __name__ == "__main__":
    main()
