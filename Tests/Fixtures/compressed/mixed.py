"""Random operations on one file that is compressed again and again, held against a model of its bytes.

mixed.py BASE SEEDS STEPS [OPTIONS]
"""

import mmap
import os
import sys

from stage import DOOR, Failure, Soft, Volume, compress, form, require, seeded, zstd
from operations import Trial


class Compressed(Trial):
    deeds = (
        "write read read read cut cut-by-path cut-to-nothing append punch zero allocate map-write map-read "
        "reopen sync copy direct vector compress compress compress expand rename link read-open map-open mode"
    ).split()

    def __init__(self, volume, path, seed):
        self.volume = volume
        super().__init__(path, seed)
        self.random = Soft(seed)
        self.compressions = 0
        # Opened while the file was compressed, and kept.
        self.readers = []

    def step(self):
        r = self.random
        deed = r.choice(self.deeds)
        offset, length = r.randrange(self.largest), r.randrange(1, r.choice([10, 5000, 70000, 300000]))
        self.log.append((deed, offset, length, form(self.path)))
        getattr(self, deed.replace("-", "_"))(offset, length)
        size = os.stat(self.path).st_size
        if size != len(self.model):
            self.fail(f"{deed}: size {size}, not {len(self.model)}")
        for reader, memory in self.readers:
            start = r.randrange(max(1, len(self.model)))
            self.compare(start, start + 5000, os.pread(reader, 5000, start), f"{deed}: a reader")
            if memory and len(memory) <= len(self.model):
                self.compare(0, len(memory), memory[:], f"{deed}: a mapping")

    def leave(self):
        os.close(self.file)
        for reader, memory in self.readers:
            if memory:
                memory.close()
            os.close(reader)
        self.readers = []

    def compress(self, *_):
        self.leave()
        before = os.stat(self.path)
        if compress(self.path, self.random.choice([None, 1, 5])):
            self.compressions += 1
            stored = self.volume.stored(os.path.basename(self.path))
            if zstd(stored) != bytes(self.model):
                self.fail("zstd makes something else of the stored bytes")
            after = os.stat(self.path)
            for name in ("st_ino", "st_mtime_ns", "st_mode", "st_size", "st_nlink"):
                if getattr(before, name) != getattr(after, name):
                    self.fail(f"compress: {name}")
            # Never more; ext4 keeps the block in which it wrote down the many pieces that a file once had.
            if after.st_blocks > before.st_blocks:
                self.fail(f"compress: {before.st_blocks} blocks became {after.st_blocks}")
        # Some readers, and then a writer: it finds the file compressed.
        for _ in range(self.random.randrange(3)):
            self.read_open()
            self.read(self.random.randrange(self.largest), 30000)
        if self.random.random() < 0.3 and self.model:
            self.map_open()
        self.reopen_after()

    def reopen_after(self):
        # Most operations come by this descriptor: it is opened late, so that other ways expand the file, too.
        kind = self.random.choice([os.O_RDWR, os.O_RDWR, None])
        if kind is None:
            self.file = os.open(self.path, os.O_RDONLY)
            self.random.choice([self.cut_by_path, self.cut_to_nothing, self.append])(
                self.random.randrange(self.largest), 100
            )
            os.close(self.file)
        self.file = os.open(self.path, os.O_RDWR)

    def read_open(self, *_):
        self.readers.append((os.open(self.path, os.O_RDONLY), None))

    def read(self, offset, length):
        file = self.readers[-1][0] if self.readers and self.random.random() < 0.7 else None
        own = file if file is not None else os.open(self.path, os.O_RDONLY)
        self.compare(offset, offset + length, os.pread(own, length, offset), "read")
        if file is None:
            os.close(own)

    def map_open(self, *_):
        if not self.model:
            return
        reader = os.open(self.path, os.O_RDONLY)
        self.readers.append((reader, mmap.mmap(reader, len(self.model), prot=mmap.PROT_READ)))

    def cut_model(self, size):
        # A mapping of what is not there any more ends its program.
        for at, (reader, memory) in enumerate(self.readers):
            if memory:
                memory.close()
                self.readers[at] = (reader, None)
        super().cut_model(size)

    def cut_to_nothing(self, *_):
        self.cut_model(0)
        if self.random.random() < 0.5:
            os.close(os.open(self.path, os.O_WRONLY | os.O_TRUNC))
        else:
            os.truncate(self.path, 0)

    def expand(self, *_):
        os.setxattr(self.path, DOOR, b"none")
        require(form(self.path) == "none", "expanded")

    def rename(self, *_):
        other = self.path[:-1] + ("b" if self.path.endswith("a") else "a")
        os.rename(self.path, other)
        self.path = other

    def link(self, *_):
        other = self.path + ".link"
        os.link(self.path, other)
        with open(other, "rb") as file:
            self.compare(0, len(self.model), file.read(), "another name")
        os.unlink(self.path)
        os.rename(other, self.path)

    def mode(self, *_):
        os.chmod(self.path, self.random.choice([0o600, 0o644]))

    def reopen(self, *_):
        os.close(self.file)
        self.file = os.open(self.path, os.O_RDWR)

    def end(self):
        for reader, memory in self.readers:
            if memory:
                memory.close()
            os.close(reader)
        self.readers = []
        super().end()


def main():
    seeds, steps = int(sys.argv[2]), int(sys.argv[3])
    first, _ = seeded("mixed")
    done = 0
    with Volume(sys.argv[1], *sys.argv[4:5]) as volume:
        for seed in range(first, first + seeds):
            trial = Compressed(volume, f"{volume.path}/file-{seed}-a", seed)
            for _ in range(steps):
                trial.step()
            trial.end()
            done += trial.compressions
            os.unlink(trial.path)
    print(f"{seeds} seeds, {steps} steps each, {done} times compressed")
    if done < seeds * steps // 50:
        raise Failure("hardly ever compressed")


if __name__ == "__main__":
    main()
