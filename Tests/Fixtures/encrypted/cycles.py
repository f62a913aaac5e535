"""Locks and unlocks a volume again and again, in each way, under writers, readers, mappings and syncs in each class.

cycles.py BASE CYCLES [OPTIONS]: nothing hangs, no byte is wrong, and no error is another one than ENOKEY, which nobody
gets whose class stays open. Only `--now` takes something from a mapping, and then that is told, and not for ever.
"""

import errno
import mmap
import os
import random
import signal
import sys
import threading
import time

from vault import Failure, Vault, end_with_parent, run, seeded, watch

SIZE = 200_000
PAGES = 16
WAYS = [[], [], ["--now"], ["--all"], ["--all", "--now"]]
# A lock that takes as long has waited for something that does not end.
PATIENCE = 8


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

    def hurries(self, kind):
        """How many locks with --now have begun or ended that close a class: odd while there is one."""
        return self.turns(1, kind)

    def closings(self, kind):
        """How many locks of a class have begun, and unlocks ended: odd as long as it may be locked."""
        return self.turns(3, kind)

    def turns(self, place, kind):
        at = (place + (kind == "c")) * 8
        return int.from_bytes(self.memory[at : at + 8], "little")

    def turn(self, words, isHurry):
        """A lock begins or ends, or the time does in which all of its classes may be locked."""
        for kind in "ac" if "--all" in words else "a":
            at = ((1 if isHurry else 3) + (kind == "c")) * 8
            self.memory[at : at + 8] = (self.turns(at // 8, "a") + 1).to_bytes(8, "little")

    def counts(self, place):
        at = 64 + place * 16
        return tuple(int.from_bytes(self.memory[at + k : at + k + 8], "little") for k in (0, 8))


class Worker:
    def __init__(self, vault, kind, board, place, seed):
        self.kind = kind
        self.path = f"{vault.path}/{kind}/{type(self).__name__.lower()}{place}"
        self.board, self.place, self.random = board, place, random.Random(seed)

    def patient(self, work, opens=False):
        """What a call answers, as soon as it is let; nil when it is time to stop."""
        while not self.board.stops:
            closings = self.closings
            try:
                result = work()
            except OSError as failure:
                # What is open stays open in class B.
                if failure.errno != errno.ENOKEY or (self.kind == "b" and not opens) or not self.may_be_locked(closings):
                    raise
                self.board.count(self.place, True)
                time.sleep(0.0005)
            else:
                self.board.count(self.place, False)
                return result
        raise StopIteration

    @property
    def hurries(self):
        return self.board.hurries(self.kind)

    @property
    def closings(self):
        return self.board.closings(self.kind)

    def may_be_locked(self, closings):
        """Whether the class may have been locked since a look at the number."""
        return closings % 2 == 1 or self.closings != closings

    def opened(self, flags, path=None):
        return self.patient(lambda: os.open(path or self.path, flags, 0o644), opens=True)

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
        end_with_parent()
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
        file = self.opened(self.flags)
        self.patient(lambda: os.ftruncate(file, SIZE))
        while True:
            if r.random() < 0.05:
                old = file
                file = self.opened(self.flags)
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
        file = self.opened(os.O_RDWR | os.O_CREAT)
        written = 0
        while written < SIZE:
            written += self.patient(lambda: os.pwrite(file, data[written:], written))
        while True:
            if self.random.random() < 0.5:
                os.close(file)
                file = self.opened(os.O_RDONLY)
            got = self.read(file, SIZE, 0)
            if got != data:
                raise Failure(f"{len(got)} bytes differ")
            if os.stat(self.path).st_size != SIZE:
                raise Failure("another size")
            os.fsync(file)


class Mapper(Worker):
    """Counts in pages of a mapping, until the pages are locked: then it is killed, and another one goes on."""

    def work(self):
        # Of each page: what was counted to, what is on the disk, and how many hurried locks there were by then. Then the
        # lock that a sync told of last, and how often: of one that closed the class, and of a hurried one.
        self.known = mmap.mmap(-1, PAGES * 24 + 32)
        file = self.opened(os.O_RDWR | os.O_CREAT)
        self.patient(lambda: os.ftruncate(file, PAGES * 4096))
        memory = mmap.mmap(file, PAGES * 4096)
        while not self.board.stops:
            closings, child = self.closings, os.fork()
            if child == 0:
                end_with_parent()
                # Without a word, and without a core.
                os._exit(self.count_pages(memory))
            _, status = os.waitpid(child, 0)
            isKilled = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS
            if isKilled and self.kind != "b" and self.may_be_locked(closings):
                self.board.count(self.place, True)
                time.sleep(0.0005)
            elif status != 0:
                raise Failure(f"a page went back, or away (status {status})")

    def note(self, page, index, value):
        at = page * 24 + index * 8
        self.known[at : at + 8] = value.to_bytes(8, "little")

    def noted(self, page):
        at = page * 24
        return [int.from_bytes(self.known[at + k : at + k + 8], "little") for k in (0, 8, 16)]

    def count_pages(self, memory):
        r = random.Random(os.getpid())
        while not self.board.stops:
            if r.random() < 0.02 and not self.flushed(memory):
                return 4
            page = r.randrange(PAGES)
            at, hurries = page * 4096 + 100, self.hurries
            value = int.from_bytes(memory[at : at + 8], "little")
            last, kept, then = self.noted(page)
            # Asked again: between the first look and the value there may have been a whole lock and an unlock.
            mayLose = (self.hurries != then or then % 2) and self.kind != "b"
            if not (kept if mayLose else last) <= value <= last + 1:
                print(f"{self.path}, page {page}: {value}, not {last}, of which {kept} is on the disk", flush=True)
                return 3
            # What a hurried lock took stays taken, also if this process is killed at the write below.
            self.note(page, 0, value)
            # The number first: who loses this page later may have lost it to that lock.
            self.note(page, 2, hurries)
            memory[at : at + 8] = (value + 1).to_bytes(8, "little")
            self.note(page, 0, value + 1)
            self.board.count(self.place, False)
        return 0

    def tells_of(self, index, before, now, most):
        """Whether a sync may tell of a lock: as often as it likes while there is one, and afterwards so many times."""
        if before % 2 == 1 or now != before:
            return True
        at = PAGES * 24 + index * 16
        last, count = (int.from_bytes(self.known[at + k : at + k + 8], "little") for k in (0, 8))
        count = count + 1 if last == before else 1
        self.known[at : at + 16] = before.to_bytes(8, "little") + count.to_bytes(8, "little")
        return before > 0 and count <= most

    def flushed(self, memory):
        """Whether a sync says nothing but what a lock makes it say."""
        hurries, closings, last = self.hurries, self.closings, [self.noted(page)[0] for page in range(PAGES)]
        try:
            memory.flush()
        except OSError as failure:
            # The kernel tells later of a write that was refused. Of what a hurried lock took the daemon tells, too.
            isRefused = failure.errno == errno.ENOKEY and self.tells_of(0, closings, self.closings, 1)
            isLost = failure.errno == errno.EIO and self.tells_of(1, hurries, self.hurries, 2)
            if self.kind != "b" and (isRefused or isLost):
                return True
            print(f"{self.path}: a sync says {failure}; locks with --now: {hurries / 2}", flush=True)
            return False
        if self.hurries == hurries and hurries % 2 == 0:
            for page in range(PAGES):
                # What a hurried lock took before is gone back to by whoever counts next.
                if self.noted(page)[2] == hurries:
                    self.note(page, 1, last[page])
        return True


class Maker(Worker):
    """Makes and removes files."""

    def work(self):
        number = 0
        while True:
            path = f"{self.path}-{number}"
            file = self.opened(os.O_RDWR | os.O_CREAT, path)
            data = self.random.randbytes(5000)
            written = 0
            while written < len(data):
                written += self.patient(lambda: os.pwrite(file, data[written:], written))
            os.close(file)

            back = self.opened(os.O_RDONLY, path)
            got = self.read(back, len(data), 0)
            os.close(back)
            if got != data:
                raise Failure(f"{path} differs")
            os.unlink(path)
            number += 1


class Watched:
    """A lock; where it takes long, what the daemon's threads wait for is printed."""

    def __init__(self, daemon):
        self.daemon, self.seconds = daemon, 2.0
        self.timer = threading.Timer(self.seconds, self.show)
        self.timer.daemon = True

    def __enter__(self):
        self.timer.start()
        self.started = time.monotonic()
        return self

    def __exit__(self, *_):
        self.timer.cancel()
        self.took = time.monotonic() - self.started

    def show(self):
        print(f"a lock takes more than {self.seconds:.0f} s", flush=True)
        for thread in sorted(os.listdir(f"/proc/{self.daemon}/task")):
            words = []
            for name in ("comm", "wchan", "stack"):
                try:
                    with open(f"/proc/{self.daemon}/task/{thread}/{name}") as file:
                        words.append(" ".join(file.read().split()))
                except OSError:
                    pass
            print(thread, *words, flush=True)
        if os.environ.get("GDB"):
            print(run("gdb", "-p", str(self.daemon), "-batch", "-ex", "thread apply all bt", check=False).stdout, flush=True)


def main():
    base, cycles = sys.argv[1], int(sys.argv[2])
    seed, dice = seeded("cycles")
    vault = Vault(base, *sys.argv[3:4])
    board = Board()
    kinds = [(kind, name) for name in "abc" for kind in (Writer, Syncer, Reader, Mapper, Maker)]
    workers = [kind(vault, name, board, place, dice.random()) for place, (kind, name) in enumerate(kinds)]
    children = [worker.run() for worker in workers]
    daemon, worst, complaints = vault.daemon, 0, []
    for number in range(cycles):
        guard = watch(90)
        words = WAYS[number] if number < len(WAYS) else dice.choice(WAYS)
        board.turn(words, isHurry=False)
        if "--now" in words:
            board.turn(words, isHurry=True)
        with Watched(daemon) as watched:
            locked = vault.lock(*words, check=False)
        if "--now" in words:
            board.turn(words, isHurry=True)
        worst = max(worst, watched.took)
        said = f"cycle {number}, {words}: {locked.returncode} {locked.stdout}{locked.stderr}"
        lost = [line for line in locked.stderr.splitlines() if "is lost" in line]
        isLoss = "--now" in words and locked.returncode == 1 and lost and all("/mapper" in line for line in lost)
        # Of class B and of what stays open nothing is lost.
        closed = "ac" if "--all" in words else "a"
        if locked.returncode and not (isLoss and all(f"/{line.split('/mapper')[0][-1]}/" in [f"/{c}/" for c in closed] for line in lost)):
            complaints.append(said)
        if any("still in memory" in line or "may still have pages" in line for line in locked.stderr.splitlines()):
            complaints.append(said)
        if watched.took > PATIENCE:
            complaints.append(f"cycle {number}, {words}: {watched.took:.1f} s")
        time.sleep(dice.choice([0, 0.002, 0.02]))
        vault.unlock()
        board.turn(words, isHurry=False)
        time.sleep(dice.choice([0.005, 0.02, 0.05]))
        guard.cancel()
        if complaints:
            break
    board.stop()
    guard = watch(90)
    for child in children:
        if os.waitpid(child, 0)[1] != 0:
            complaints.append("a worker failed")
    guard.cancel()
    for place, worker in enumerate(workers):
        done, refused = board.counts(place)
        print(f"{type(worker).__name__} {worker.kind}: {done} done, {refused} refused")
        if done == 0:
            complaints.append(f"{worker.path} did nothing")
    if not sum(board.counts(place)[1] for place, worker in enumerate(workers) if worker.kind == "a"):
        complaints.append("nobody was refused anything")
    vault.unmount()
    print(f"{cycles} cycles, the slowest lock {worst:.2f} s")
    raise SystemExit("\n".join(complaints) or 0)


if __name__ == "__main__":
    main()
