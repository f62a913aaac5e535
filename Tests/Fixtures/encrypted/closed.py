"""Writes that wait in a queue of the daemon when their class is locked are refused then, and leave its memory: closed.py BASE

On a file system of its own, which is frozen: the workers hang at files of a class that stays open, all for one user, and
what that user writes to files of the class that is locked waits behind them.
"""

import os
import signal
import sys
import threading
import time

from memory import canary, found
from queued import other_user
from vault import Vault, become, end_with_parent, error_of, require, run, watch

# More than there are workers, however many hang.
HANGING = 120
WAITING = 20
# Whole blocks, so that nothing is put together elsewhere; little enough to lie where freed memory is used again.
SIZE = 16 * 4096


def written(path):
    with open(path, "wb") as file:
        file.write(b"old " * (SIZE // 4))


def opened(path):
    """Open, with nothing that the kernel has to ask before the first write; nothing of the content is changed."""
    file = os.open(path, os.O_RDWR)
    os.posix_fallocate(file, 0, 1)
    return file


def user_writes(hanging, waiting, waves, go):
    """A child that writes as one user; of each wave the errors of its writes to what is locked come through the pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    become(1234)
    end_with_parent()
    errors = [None] * len(waiting)

    def put(place, file, word):
        errors[place] = error_of(lambda: os.pwrite(file, word * (SIZE // 32), 0))

    hung = [threading.Thread(target=os.pwrite, args=(file, b"new " * (SIZE // 4), 0)) for file in hanging]
    os.read(go, 1)
    for thread in hung:
        thread.start()
    time.sleep(1)
    for words in waves:
        threads = [threading.Thread(target=put, args=(place, *item)) for place, item in enumerate(zip(waiting, words))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os.write(writing, " ".join(str(error) for error in errors).encode())
        os.read(go, 1)
    for thread in hung:
        thread.join()
    os._exit(0)


def told(errors):
    """What the writes of a wave were told, as soon as all were."""
    return os.read(errors, 10_000).decode().split()


def main():
    base = sys.argv[1]
    guard = watch(120)
    with Vault(base, "threads=2") as vault:
        hanging = [f"{vault.path}/c/{number}" for number in range(HANGING)]
        waiting = [f"{vault.path}/a/{number}" for number in range(WAITING)]
        for path in hanging + waiting:
            written(path)
        # From here on nothing of them has been changed, so that a lock writes nothing.
        vault.unmount()
        vault.mount()
        written(f"{vault.path}/c/first")
        waves = [[canary() for _ in waiting] for _ in range(2)]
        needles, late = (dict(zip(waiting, words)) for words in waves)
        files = [[opened(path) for path in paths] for paths in (hanging, waiting)]
        daemon, (go, start) = vault.daemon, os.pipe()
        child, errors = user_writes(*files, waves, go)
        run("fsfreeze", "-f", base)
        other = other_user(vault.path)
        thaw = threading.Timer(60, lambda: run("fsfreeze", "-u", base, check=False))
        thaw.start()
        try:
            os.write(start, b"x")
            end = time.monotonic() + 20
            while set(found(daemon, needles)) != set(waiting):
                require(time.monotonic() < end, f"not all writes wait in a queue: {len(found(daemon, needles))}")
                time.sleep(0.05)
            started = time.monotonic()
            locked = vault.lock(check=False)
            took = time.monotonic() - started
            left = found(daemon, needles)
            # What they are told comes while the disk still hangs; so does that of those who come now.
            said = told(errors) if not left else []
            os.write(start, b"x")
            said += told(errors) if not left else []
            left |= found(daemon, late)
            answered = time.monotonic() - started
            os.write(start, b"x")
        finally:
            thaw.cancel()
            run("fsfreeze", "-u", base, check=False)
            os.kill(other, signal.SIGKILL)
            os.waitpid(other, 0)
        require(locked.returncode == 0, f"the lock says {locked.returncode} {locked.stdout}{locked.stderr}")
        require(not left, f"{len(waiting)} writes waited, of which {len(left)} are still in memory after a lock")
        require(said == ["ENOKEY"] * WAITING * 2, f"the writes said {said}")
        require(took < 5, f"the lock took {took:.1f} s")
        require(answered < 20, f"a write that came after the lock was answered {answered:.0f} s after it had begun")
        require(os.waitpid(child, 0)[1] == 0, "the user failed")
        vault.unlock()
        for file in files[0]:
            require(os.pread(file, SIZE, 0) == b"new " * (SIZE // 4), "a write that hung is not what is read")
            os.close(file)
        for file in files[1]:
            require(os.pread(file, SIZE, 0) == b"old " * (SIZE // 4), "a refused write was done")
            os.close(file)
    guard.cancel()


if __name__ == "__main__":
    main()
