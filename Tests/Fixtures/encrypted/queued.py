"""Writes to encrypted files that wait in a queue of the daemon leave nothing in its memory: queued.py BASE

On a file system of its own, which is frozen, so that the writes of one user wait for each other.
"""

import os
import signal
import sys
import threading
import time

from memory import canary, found
from vault import Failure, Vault, become, error_of, require, run, watch

WRITERS = 60
# Whole blocks, so that nothing is put together elsewhere; little enough to lie where freed memory is used again.
SIZE = 16 * 4096


def other_user(path):
    """A child that asks for names all the time: who is not alone gets only some of the workers."""
    child = os.fork()
    if child:
        return child
    become(1234)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        error_of(lambda: os.stat(f"{path}/{time.monotonic()}"))
        time.sleep(0.005)
    os._exit(0)


def main():
    base = sys.argv[1]
    with Vault(base, "threads=2") as vault:
        daemon = vault.daemon
        paths = [f"{vault.path}/a/{number}" for number in range(WRITERS)]
        files = [os.open(path, os.O_RDWR | os.O_CREAT, 0o644) for path in paths]
        for file in files:
            os.pwrite(file, b"old " * (SIZE // 4), 0)
        words = [canary() for _ in files]
        needles = dict(zip(paths, words))
        writers = [
            threading.Thread(target=os.pwrite, args=(file, word * (SIZE // 32), 0)) for file, word in zip(files, words)
        ]
        run("fsfreeze", "-f", base)
        # Nothing is waited for while it is frozen, and nothing of the mount is asked for.
        thaw = threading.Timer(20, lambda: run("fsfreeze", "-u", base, check=False))
        thaw.start()
        child = other_user(vault.path)
        try:
            time.sleep(0.3)
            for writer in writers:
                writer.start()
            time.sleep(1)
            waiting = found(daemon, needles)
        finally:
            thaw.cancel()
            run("fsfreeze", "-u", base, check=False)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        guard = watch(60)
        for writer in writers:
            writer.join()
        require(waiting, "no write waited in a queue")
        left = found(daemon, needles)
        require(not left, f"{len(waiting)} writes waited, of which {len(left)} are still in memory")
        for file, word in zip(files, words):
            if os.pread(file, SIZE, 0) != word * (SIZE // 32):
                raise Failure("a write that waited is not what is read")
            os.close(file)
        guard.cancel()


if __name__ == "__main__":
    main()
