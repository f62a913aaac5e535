"""Writes to encrypted files that are refused stay in no memory of the daemon: refused.py BASE [OPTIONS]"""

import mmap
import os
import sys

from memory import COPIES, canary, found
from vault import VARVE, Vault, error_of, opened, require, run, watch


def refused(vault, why, errors, ways):
    """Tries all ways to write, each with bytes of its own, and looks for them at once."""
    for name, way in ways.items():
        word = canary()
        error = error_of(lambda: way(word * COPIES))
        require(error in errors, f"{why}, {name}: {error}")
        require(found(os.getpid(), {name: word}), "the search does not find what is here")
        require(not found(vault.daemon, {name: word}), f"{why}: what was to be written is in memory, {name}")


def direct(file, data):
    with mmap.mmap(-1, 8192) as buffer:
        buffer[:] = data[:8192]
        os.pwritev(file, [buffer], 0)


def main():
    guard = watch(240)
    options = sys.argv[2] if len(sys.argv) > 2 else ""
    with Vault(sys.argv[1], options) as vault:
        place = f"{vault.path}/a"
        file = opened(f"{place}/file", b"x" * 20_000)
        appending = opened(f"{place}/appending", b"x" * 5000, os.O_APPEND)
        for written in (file, appending):
            os.fsync(written)
        unbuffered = os.open(f"{place}/direct", os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o644)
        ways = {
            "whole blocks": lambda data: os.pwrite(file, data[:8192], 4096),
            "in part": lambda data: os.pwrite(file, data, 77),
            "behind the end": lambda data: os.pwrite(file, data, 50_000),
            "vectors": lambda data: os.pwritev(file, [data[:5000], data[5000:]], 10),
            "synchronous": lambda data: os.pwritev(file, [data], 10, os.RWF_DSYNC),
            "appended": lambda data: os.write(appending, data),
            "direct": lambda data: direct(unbuffered, data),
        }
        for way in ways.values():
            require(error_of(lambda: way(b"y" * 32 * COPIES)) is None, "a write is refused while all is open")

        # The class is locked.
        vault.lock()
        refused(vault, "locked", ("ENOKEY",), ways)
        # What the kernel has of a mapping comes later, and is refused when it may come no more.
        vault.unlock()
        memory, word = mmap.mmap(file, 20_000), canary()
        memory[: 32 * COPIES] = word * COPIES
        locked = vault.lock("--now", check=False)
        require(locked.returncode == 1, f"lock --now: {locked}")
        require(not found(vault.daemon, {"mapped": word}), "lock --now: what a mapping had is in memory")
        vault.unlock()
        memory.close()
        error_of(lambda: os.fsync(file))

        # A flag that came after the open.
        inside = {name: way for name, way in ways.items() if name in ("whole blocks", "in part", "vectors")}
        run(VARVE, "chflags", "uappnd", f"{place}/file")
        refused(vault, "append-only", ("EPERM",), inside)
        run(VARVE, "chflags", "nouappnd", f"{place}/file")
        require(error_of(lambda: ways["in part"](b"z" * 32 * COPIES)) is None, "a write after the flag")

        # A record that nobody can read any more.
        name = "trusted.varve.m"
        record = os.getxattr(f"{vault.upper}/a/file", name)
        os.setxattr(f"{vault.upper}/a/file", name, b"\xff" * len(record))
        error_of(lambda: os.stat(f"{place}/file"))
        error_of(lambda: os.open(f"{place}/file", os.O_RDONLY))
        refused(vault, "a damaged record", ("EIO",), inside)
        os.setxattr(f"{vault.upper}/a/file", name, record)
        for number in (file, appending, unbuffered):
            os.close(number)
    guard.cancel()


if __name__ == "__main__":
    main()
