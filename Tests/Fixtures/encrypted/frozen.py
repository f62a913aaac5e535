"""A lock beside a disk that hangs: it ends, names what hangs and nothing else, and no byte is lost.

frozen.py BASE: on a file system of its own, which is frozen
"""

import os
import sys
import threading
import time

from vault import Failure, Vault, error_of, require, run, watch

PAGE = 4096


def main():
    guard = watch(240)
    base = sys.argv[1]
    with Vault(base) as vault:
        paths = {name: f"{vault.path}/a/{name}" for name in ("large", "small", "read")}
        for name in ("large", "read"):
            with open(paths[name], "wb") as file:
                file.write(b"old " * (10 * PAGE))
        files = {name: os.open(path, os.O_RDWR | os.O_CREAT, 0o644) for name, path in paths.items()}
        # The last slot of the large one is yet to be written; the small one, which is new, owes nothing but a sync.
        os.pwrite(files["large"], b"new" * PAGE, 30 * PAGE)
        os.pwrite(files["small"], b"new", 0)
        os.fsync(files["small"])
        os.pread(files["read"], 100, 0)
        os.fsync(files["large"])
        run("fsfreeze", "-f", base)
        # Whatever hangs then ends with an error, and does not keep the disk and this program for ever.
        thaw = threading.Timer(90, lambda: run("fsfreeze", "-u", base, check=False))
        thaw.start()
        try:
            started = time.monotonic()
            locked = vault.lock(check=False)
            took = time.monotonic() - started
            said = locked.stdout + locked.stderr
            require(locked.returncode == 1 and "a/large" in said, f"the lock says {locked.returncode} {said}")
            require("a/small" not in said and "a/read" not in said, f"the lock names others: {said}")
            require(took < 40, f"the lock took {took:.0f} s")
            # Whoever opens the one that hangs waits for its disk.
            for name in ("small", "read"):
                path = paths[name]
                require(error_of(lambda: open(path, "rb").close()) == "ENOKEY", f"{name} is not locked")
            vault.unlock()
            require(os.pread(files["small"], 3, 0) == b"new", "the small file is another")
            require(os.pread(files["read"], 4, 0) == b"old ", "the third file is another")
            require(thaw.is_alive(), "something waited for the disk of another file")
        finally:
            thaw.cancel()
            run("fsfreeze", "-u", base, check=False)
        os.fsync(files["large"])
        os.pwrite(files["large"], b"more", 31 * PAGE)
        os.fsync(files["large"])
        for file in files.values():
            os.close(file)
        locked = vault.lock(check=False)
        require(locked.returncode == 0, f"the second lock: {locked.stdout}{locked.stderr}")
        vault.unlock()
        expected = bytearray(b"old " * (10 * PAGE))
        expected[30 * PAGE : 33 * PAGE] = b"new" * PAGE
        expected[31 * PAGE : 31 * PAGE + 4] = b"more"
        with open(paths["large"], "rb") as file:
            if file.read() != expected:
                raise Failure("the large file is another")
        run(os.environ["VARVE"], "verify", "-R", "-q", f"{vault.path}/a")
    guard.cancel()


if __name__ == "__main__":
    main()
