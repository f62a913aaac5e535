"""How long an unlock and a lock take, of an idle volume and of one with many files in memory, whose pages a lock takes.

durations.py BASE FILES SIZE: so many files of that many bytes; the limits are those of encryption at rest: 100 ms for an
idle volume, 3 s for all files.
"""

import mmap
import os
import resource
import statistics
import sys
import time

from vault import Vault, cached, error_of, require, resident, watch

PAGE = 4096


def seconds(work):
    started = time.monotonic()
    work()
    return time.monotonic() - started


def idle(vault):
    """Medians of the commands as users run them."""
    with open(f"{vault.path}/a/one", "wb") as file:
        file.write(b"x" * 100_000)
    times = {"unlock": [], "lock": []}
    for _ in range(9):
        times["lock"].append(seconds(vault.lock))
        require(error_of(lambda: open(f"{vault.path}/a/one", "rb")) == "ENOKEY", "the lock closes nothing")
        times["unlock"].append(seconds(vault.unlock))
        with open(f"{vault.path}/a/one", "rb") as file:
            require(file.read(1) == b"x", "the unlock opens nothing")
    for name, found in times.items():
        median = statistics.median(found)
        print(f"{name} of an idle volume: {median * 1000:.1f} ms")
        require(median <= 0.1, f"{name} of an idle volume takes {median * 1000:.0f} ms: {found}")


def in_memory(vault, count, size):
    """A lock with many files in memory: before it their pages are there, and afterwards none is."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, count + 1000), most))
    paths = [f"{vault.path}/a/{number}" for number in range(count)]
    data, pages = os.urandom(size), (size + PAGE - 1) // PAGE
    for path in paths:
        with open(path, "wb", buffering=0) as file:
            file.write(data)
    # One of two stays open; of the others the kernel keeps the pages, too.
    files = {path: os.open(path, os.O_RDWR) for path in paths[::2]}
    maps = [mmap.mmap(file, size) for file in files.values()]
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            require(file.read(size) == data, f"{path} differs")
    before = [pages_of(path) for path in paths]
    # cachestat(2) came with Linux 6.5.
    # The kernel may have let go of a few.
    require(None in before or sum(before) * 10 >= count * pages * 9, f"before the lock too few pages are there: {sum(before)}")
    require(sum(map(resident, maps)) * 10 >= len(maps) * pages * 9, "before the lock too few pages are resident")
    took = seconds(vault.lock)
    require(not any(map(resident, maps)), "after the lock there are resident pages")
    left = {path: cached(file) for path, file in files.items()}
    require(not any(left.values()), f"after the lock there are pages of {sum(map(bool, left.values()))} open files")
    vault.unlock()
    # An open takes no page that is right.
    left = {path: pages_of(path) for path in paths}
    require(not any(left.values()), f"after the lock there are pages of {sum(map(bool, left.values()))} files")
    for memory in maps:
        memory.close()
    for path, file in files.items():
        require(os.pread(file, size, 0) == data, f"{path} differs after the lock")
        os.close(file)
    print(f"lock with {count} files of {size} bytes in memory: {took:.2f} s")
    require(took <= 3, f"lock with {count} files of {size} bytes in memory takes {took:.2f} s")


def pages_of(path):
    file = os.open(path, os.O_RDONLY)
    try:
        return cached(file)
    finally:
        os.close(file)


def main():
    base, count, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    guard = watch(600)
    with Vault(base) as vault:
        idle(vault)
        in_memory(vault, count, size)
    guard.cancel()


if __name__ == "__main__":
    main()
