"""Random operations on one encrypted file, held against a model of its bytes.

operations.py BASE SEEDS STEPS [OPTIONS [USER]]: as root, or as a user who owns the directories
"""

import ctypes
import mmap
import os
import random
import sys

from vault import Failure, Vault, as_user, libc, require, seeded

PUNCH, ZERO, ZERO_KEEP, KEEP = 3, 16, 17, 1


class Trial:
    def __init__(self, path, seed):
        self.path, self.seed = path, seed
        self.random = random.Random(seed)
        self.largest = 1 << self.random.choice([13, 16, 18, 20])
        self.model = bytearray()
        self.log = []
        self.file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)

    def fail(self, sentence):
        tail = "\n".join(map(str, self.log[-30:]))
        raise Failure(f"seed {self.seed}: {sentence}\n{tail}")

    def compare(self, start, end, got, what):
        want = bytes(self.model[start:end])
        if got != want:
            both = zip(got, want)
            at = next((i for i, (a, b) in enumerate(both) if a != b), min(len(got), len(want)))
            self.fail(f"{what} differs at {start + at} (lengths {len(got)}, {len(want)})")

    def grow(self, size):
        if len(self.model) < size:
            self.model.extend(bytes(size - len(self.model)))

    def put(self, offset, data):
        self.grow(offset + len(data))
        self.model[offset : offset + len(data)] = data

    def step(self):
        r = self.random
        deed = r.choice(
            "write write write read read cut cut-by-path append punch zero allocate map-write map-read "
            "reopen sync copy direct synchronous vector".split()
        )
        offset, length = r.randrange(self.largest), r.randrange(1, r.choice([10, 5000, 70000]))
        self.log.append((deed, offset, length))
        getattr(self, deed.replace("-", "_"))(offset, length)
        size = os.fstat(self.file).st_size
        if size != len(self.model):
            self.fail(f"{deed}: size {size}, not {len(self.model)}")

    def write(self, offset, length):
        data = self.random.randbytes(length)
        if os.pwrite(self.file, data, offset) != length:
            self.fail("a short write")
        self.put(offset, data)

    def vector(self, offset, length):
        pieces = [self.random.randbytes(self.random.randrange(1, 3000)) for _ in range(5)]
        if os.pwritev(self.file, pieces, offset) != sum(map(len, pieces)):
            self.fail("a short write")
        self.put(offset, b"".join(pieces))

    def read(self, offset, length):
        self.compare(offset, offset + length, os.pread(self.file, length, offset), "read")

    def cut_by_path(self, size, _):
        os.truncate(self.path, size)
        self.cut_model(size)

    def cut_model(self, size):
        del self.model[size:]
        self.grow(size)

    def cut(self, size, _):
        os.ftruncate(self.file, size)
        self.cut_model(size)

    def append(self, _, length):
        data = self.random.randbytes(length)
        other = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        os.write(other, data)
        os.close(other)
        self.model.extend(data)

    def allocated(self, mode, offset, length):
        if libc.fallocate(self.file, mode, ctypes.c_long(offset), ctypes.c_long(length)) != 0:
            self.fail(f"fallocate {mode}: {os.strerror(ctypes.get_errno())}")

    def clear(self, offset, length):
        end = min(offset + length, len(self.model))
        if offset < end:
            self.model[offset:end] = bytes(end - offset)

    def punch(self, offset, length):
        self.allocated(PUNCH, offset, length)
        self.clear(offset, length)

    def zero(self, offset, length):
        mode = self.random.choice([ZERO, ZERO_KEEP])
        self.allocated(mode, offset, length)
        if mode == ZERO:
            self.grow(offset + length)
        self.clear(offset, length)

    def allocate(self, offset, length):
        mode = self.random.choice([0, KEEP])
        self.allocated(mode, offset, length)
        if mode == 0:
            self.grow(offset + length)

    def mapped(self, length):
        start = self.random.randrange(len(self.model))
        return start, min(len(self.model), start + length)

    def map_write(self, _, length):
        if not self.model:
            return
        start, end = self.mapped(length)
        data = self.random.randbytes(end - start)
        with mmap.mmap(self.file, len(self.model)) as memory:
            memory[start:end] = data
            if self.random.random() < 0.5:
                memory.flush()
        self.put(start, data)

    def map_read(self, _, length):
        if not self.model:
            return
        start, end = self.mapped(length)
        with mmap.mmap(self.file, len(self.model)) as memory:
            self.compare(start, end, memory[start:end], "map")

    def reopen(self, _, __):
        os.close(self.file)
        self.file = os.open(self.path, os.O_RDWR)

    def sync(self, _, length):
        (os.fsync if length % 2 else os.fdatasync)(self.file)

    def copy(self, offset, length):
        if not self.model:
            return
        source = self.random.randrange(len(self.model))
        length = min(length, len(self.model) - source)
        if source < offset + length and offset < source + length:
            return
        got = os.copy_file_range(self.file, self.file, length, source, offset)
        self.put(offset, bytes(self.model[source : source + got]))

    def opened(self, flag, offset, length):
        other = os.open(self.path, os.O_RDWR | flag)
        # A mapping is aligned, as O_DIRECT may want it elsewhere.
        length = (length + 511) & ~511
        offset &= ~511
        with mmap.mmap(-1, length) as buffer:
            buffer[:] = self.random.randbytes(length)
            os.pwritev(other, [buffer], offset)
            self.put(offset, buffer[:])
            got = os.preadv(other, [buffer], offset)
            self.compare(offset, offset + length, buffer[:got], "read again")
        os.close(other)

    def direct(self, offset, length):
        self.opened(os.O_DIRECT, offset, length)

    def synchronous(self, offset, length):
        self.opened(self.random.choice([os.O_SYNC, os.O_DSYNC]), offset, length)

    def end(self):
        size = len(self.model)
        self.compare(0, size, os.pread(self.file, size + 10, 0), "the end")
        os.close(self.file)
        with open(self.path, "rb") as file:
            self.compare(0, size, file.read(), "opened again")


def trials(vault, first, seeds, steps):
    for seed in range(first, first + seeds):
        trial = Trial(f"{vault.path}/{'abc'[seed % 3]}/file", seed)
        for _ in range(steps):
            trial.step()
        trial.end()
        os.unlink(trial.path)


def in_turns(path):
    """Readers that have just gone, whose close is still on its way, and writers."""
    content = b""
    for number in range(150):
        with open(path, "ab"):
            pass
        os.close(os.open(path, os.O_RDONLY))
        file = os.open(path, os.O_RDWR)
        require(os.pread(file, 100, 0) == content, f"what was written the last time, round {number}")
        content = b"%d" % number * 20
        require(os.pwrite(file, content, 0) == len(content), "a short write")
        os.ftruncate(file, len(content))
        os.close(file)
    os.unlink(path)


def main():
    seeds, steps = int(sys.argv[2]), int(sys.argv[3])
    user = int((sys.argv[5:6] or ["0"])[0])
    first, _ = seeded("operations")
    with Vault(sys.argv[1], *sys.argv[4:5]) as vault:
        if user:
            for name in "abc":
                os.chown(f"{vault.path}/{name}", user, user)
                os.chmod(f"{vault.path}/{name}", 0o700)

        def work():
            in_turns(f"{vault.path}/a/turns")
            trials(vault, first, seeds, steps)

        as_user(user, work) if user else work()
    print(f"{seeds} seeds, {steps} steps each, as {user or 'root'}")


if __name__ == "__main__":
    main()
