"""A lock on a full disk: what could not be written is told and lost, what was synced stays.

unwritten.py BASE: on a small file system of its own
"""

import json
import mmap
import os
import sys

from vault import Vault, error_of, require, watch

PAGE = 4096
SIZE = 4 << 20


def fill(path):
    """Takes all room there is, to the last page."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    for length in (1 << 20, PAGE):
        while error_of(lambda: os.write(file, b"x" * length)) is None:
            pass
    os.close(file)


def prepare(vault, name):
    """A file with its first page synced, and pages behind it that are dirty in a mapping."""
    path = f"{vault.path}/a/{name}"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(file, SIZE)
    os.pwrite(file, b"s" * PAGE, 0)
    os.fsync(file)
    return file, mmap.mmap(file, SIZE)


def dirty(memory, byte):
    for at in range(PAGE, SIZE, PAGE):
        memory[at : at + PAGE] = byte * PAGE


def told_by_sync(file):
    """The kernel and the volume each tell of a loss once."""
    require(error_of(lambda: os.fsync(file)) is not None, "a sync says nothing of what is lost")
    os.pread(file, 1, 0)
    errors = [error_of(lambda: os.fsync(file)) for _ in range(2)]
    require(errors[1] is None, f"it is told without end: {errors}")


def check(file, allowed):
    """Each page is as it was synced, or one of those that could have come later, and no mixture."""
    require(os.pread(file, PAGE, 0) == b"s" * PAGE, "what was synced is another")
    for at in range(PAGE, SIZE, PAGE):
        require(os.pread(file, PAGE, at) in [byte * PAGE for byte in allowed], f"the page at {at}")


def main():
    guard = watch(240)
    base = sys.argv[1]
    sentence = "what was written to it last could not be brought to the disk, and is lost"
    with Vault(base) as vault:
        calm, calm_memory = prepare(vault, "calm")
        file, memory = prepare(vault, "dirty")

        # There is room: all of it is written, and nothing is told.
        dirty(memory, b"1")
        locked = vault.lock(check=False)
        require(locked.returncode == 0, f"with room: {locked}")
        vault.unlock()
        check(file, [b"1"])

        # A new file, of whose pages there is no room for one.
        lost, lost_memory = prepare(vault, "lost")
        fill(f"{base}/filler")
        dirty(lost_memory, b"2")
        locked = vault.lock(check=False)
        said = locked.stdout + locked.stderr
        require(locked.returncode == 1, f"on a full disk: {locked}")
        require(f"{vault.path}/a/lost: {sentence}" in said, f"it is not told: {said}")
        require("a/calm" not in said and "a/dirty" not in said, f"others are named: {said}")
        os.unlink(f"{base}/filler")
        vault.unlock()
        told_by_sync(lost)
        check(lost, [bytes(1), b"2"])
        check(file, [b"1"])

        # For programs.
        fill(f"{base}/filler")
        dirty(lost_memory, b"3")
        locked = vault.lock("--json", check=False)
        require(locked.returncode == 1, f"with --json: {locked}")
        require(json.loads(locked.stdout)["unwritten"] == ["a/lost"], f"with --json: {locked.stdout}")
        os.unlink(f"{base}/filler")
        vault.unlock()
        told_by_sync(lost)

        # And everything goes on.
        dirty(lost_memory, b"4")
        os.fsync(lost)
        locked = vault.lock(check=False)
        require(locked.returncode == 0, f"with room again: {locked}")
        vault.unlock()
        check(lost, [b"4"])
        for kept in (calm_memory, memory, lost_memory):
            kept.close()
        for kept in (calm, file, lost):
            os.close(kept)
    guard.cancel()


if __name__ == "__main__":
    main()
