"""Locks and unlocks a volume again and again, under writers, readers, those who map, and those who sync.

cycles.py BASE CYCLES [OPTIONS]: nothing hangs, no byte is wrong, and no error is another one than ENOKEY.
"""

import ctypes
import errno
import mmap
import os
import random
import signal
import sys
import time

from vault import Failure, Vault, libc, seeded, watch

SIZE = 200_000
PAGES = 16


class Board:
    """Memory that all processes share: whether to stop, and what each has done."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4096)

    @property
    def stops(self):
        return self.memory[0] != 0

    def stop(self):
        self.memory[0] = 1

    def count(self, place, refused):
        at = 64 + place * 16 + (8 if refused else 0)
        value = int.from_bytes(self.memory[at : at + 8], "little") + 1
        self.memory[at : at + 8] = value.to_bytes(8, "little")

    def counts(self, place):
        at = 64 + place * 16
        return tuple(int.from_bytes(self.memory[at + k : at + k + 8], "little") for k in (0, 8))


class Worker:
    def __init__(self, vault, board, place, seed):
        self.path = f"{vault.path}/a/{type(self).__name__.lower()}{place}"
        self.board, self.place, self.random = board, place, random.Random(seed)

    def patient(self, work):
        """What a call answers, as soon as it is let; nil when it is time to stop."""
        while not self.board.stops:
            try:
                result = work()
            except OSError as failure:
                if failure.errno != errno.ENOKEY:
                    raise
                self.board.count(self.place, True)
                time.sleep(0.0005)
            else:
                self.board.count(self.place, False)
                return result
        raise StopIteration

    def read(self, file, length, at):
        """As much, however a lock cuts calls short: what was read before it is answered."""
        got = b""
        while len(got) < length:
            piece = self.patient(lambda: os.pread(file, length - len(got), at + len(got)))
            if not piece:
                raise Failure(f"the end at {at + len(got)}")
            got += piece
        return got

    def run(self):
        child = os.fork()
        if child:
            return child
        status = 0
        try:
            self.work()
        except StopIteration:
            pass
        except BaseException as failure:
            print(f"{self.path}: {type(failure).__name__} {failure}", flush=True)
            status = 1
        finally:
            os._exit(status)


class Writer(Worker):
    """Writes and reads one file; a write that was refused has happened or has not, block by block."""

    flags = os.O_RDWR | os.O_CREAT

    def work(self):
        r, model, file = self.random, bytearray(SIZE), None
        file = self.patient(lambda: os.open(self.path, self.flags, 0o644))
        self.patient(lambda: os.ftruncate(file, SIZE))
        while True:
            if r.random() < 0.05:
                old = file
                file = self.patient(lambda: os.open(self.path, self.flags, 0o644))
                os.close(old)
            at, length = r.randrange(SIZE - 9000), r.choice([10, 4096, 9000])
            if r.random() < 0.5:
                got = self.read(file, length, at)
                if got != model[at : at + length]:
                    raise Failure(f"{at}+{length} differs")
                continue
            data = r.randbytes(length)
            # As often as it takes: each time the same bytes.
            written = 0
            while written < length:
                written += self.patient(lambda: os.pwrite(file, data[written:], at + written))
            model[at : at + length] = data


class Syncer(Writer):
    flags = os.O_RDWR | os.O_CREAT | os.O_SYNC


class Reader(Worker):
    """Reads what never changes, opening it anew or not."""

    def work(self):
        data = self.random.randbytes(SIZE)
        file = self.patient(lambda: os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644))
        written = 0
        while written < SIZE:
            written += self.patient(lambda: os.pwrite(file, data[written:], written))
        while True:
            if self.random.random() < 0.5:
                os.close(file)
                file = self.patient(lambda: os.open(self.path, os.O_RDONLY))
            got = self.read(file, SIZE, 0)
            if got != data:
                raise Failure(f"{len(got)} bytes differ")
            if os.stat(self.path).st_size != SIZE:
                raise Failure("another size")
            os.fsync(file)


class Mapper(Worker):
    """Counts in pages of a mapping, until the pages are locked: then it is killed, and another one goes on."""

    def work(self):
        known = mmap.mmap(-1, PAGES * 8)
        file = self.patient(lambda: os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644))
        self.patient(lambda: os.ftruncate(file, PAGES * 4096))
        memory = mmap.mmap(file, PAGES * 4096)
        while not self.board.stops:
            child = os.fork()
            if child == 0:
                # Without a word, and without a core.
                os._exit(self.count_pages(memory, known))
            _, status = os.waitpid(child, 0)
            if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS:
                self.board.count(self.place, True)
                time.sleep(0.0005)
            elif status != 0:
                raise Failure(f"a page went back (status {status})")

    def count_pages(self, memory, known):
        r = random.Random(os.getpid())
        while not self.board.stops:
            page = r.randrange(PAGES)
            at, place = page * 4096 + 100, page * 8
            value = int.from_bytes(memory[at : at + 8], "little")
            last = int.from_bytes(known[place : place + 8], "little")
            if value not in (last, last + 1):
                print(f"page {page}: {value}, not {last}", flush=True)
                return 3
            memory[at : at + 8] = (value + 1).to_bytes(8, "little")
            known[place : place + 8] = (value + 1).to_bytes(8, "little")
            self.board.count(self.place, False)
        return 0


class Maker(Worker):
    """Makes and removes files."""

    def work(self):
        number = 0
        while True:
            path = f"{self.path}-{number}"
            file = self.patient(lambda: os.open(path, os.O_RDWR | os.O_CREAT, 0o644))
            data = self.random.randbytes(5000)
            written = 0
            while written < len(data):
                written += self.patient(lambda: os.pwrite(file, data[written:], written))
            os.close(file)

            back = self.patient(lambda: os.open(path, os.O_RDONLY))
            got = self.read(back, len(data), 0)
            os.close(back)
            if got != data:
                raise Failure(f"{path} differs")
            os.unlink(path)
            number += 1


def main():
    base, cycles = sys.argv[1], int(sys.argv[2])
    seed, dice = seeded("cycles")
    vault = Vault(base, *sys.argv[3:4])
    board = Board()
    kinds = [Writer, Writer, Syncer, Reader, Mapper, Mapper, Maker]
    workers = [kind(vault, board, place, dice.random()) for place, kind in enumerate(kinds)]
    children = [worker.run() for worker in workers]
    worst, complaints = 0, []
    for number in range(cycles):
        guard = watch(60)
        started = time.monotonic()
        locked = vault.lock(check=False)
        worst = max(worst, time.monotonic() - started)
        if locked.returncode:
            complaints.append(f"cycle {number}: lock: {locked.returncode} {locked.stdout}{locked.stderr}")
        time.sleep(dice.choice([0, 0.002, 0.02]))
        vault.unlock()
        time.sleep(dice.choice([0.005, 0.02, 0.05]))
        guard.cancel()
        if complaints:
            break
    board.stop()
    guard = watch(60)
    for child in children:
        if os.waitpid(child, 0)[1] != 0:
            complaints.append("a worker failed")
    guard.cancel()
    for place, worker in enumerate(workers):
        done, refused = board.counts(place)
        print(f"{type(worker).__name__}: {done} done, {refused} refused")
        if done == 0:
            complaints.append("a worker did nothing")
    vault.unmount()
    print(f"{cycles} cycles, the slowest lock {worst:.2f} s")
    raise SystemExit("\n".join(complaints) or 0)


if __name__ == "__main__":
    main()
