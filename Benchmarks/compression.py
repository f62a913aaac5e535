#!/usr/bin/python3
"""Compressed files against the same files plain, and `varve compress -R` against `zstd -3 -T1`.

compression.py [ROUNDS [DIR...]]

Both volumes lie in a new directory below DIR (in turn: the memory of the machine and a disk) and are mounted with passthrough=off, so that all bytes go
through the daemon. Rounds are interleaved; printed are medians, and what compressed files reach of the speed of plain
ones. Needs root, zstd, and `make build`.
"""

import glob
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

VARVE = os.environ.get(
    "VARVE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".build", "release", "varve")
)
SIZE, FILES, MEGABYTE = 32 << 20, 4, 1 << 20


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def sources():
    """Text that is alike on most machines: C headers and Python sources, until there is enough."""
    for path in sorted(glob.glob("/usr/include/**/*.h", recursive=True) + glob.glob("/usr/lib/python3*/**/*.py", recursive=True)):
        with open(path, "rb") as file:
            yield file.read()


def make(directory):
    data = b"".join(sources())
    while len(data) < SIZE * FILES:
        data += data
    for number in range(FILES):
        with open(f"{directory}/f{number}", "wb") as file:
            file.write(data[number * SIZE : (number + 1) * SIZE])


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def forget(directory):
    for number in range(FILES):
        file = os.open(f"{directory}/f{number}", os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def sequential(directory):
    buffer = bytearray(MEGABYTE)
    for number in range(FILES):
        file = os.open(f"{directory}/f{number}", os.O_RDONLY)
        while os.readv(file, [buffer]):
            pass
        os.close(file)


def scattered(directory, seed):
    choices = random.Random(seed)
    places = [(choices.randrange(FILES), choices.randrange(SIZE // 4096) * 4096) for _ in range(4000)]
    files = [os.open(f"{directory}/f{number}", os.O_RDONLY) for number in range(FILES)]
    for file in files:
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    buffer = bytearray(4096)
    for number, place in places:
        os.preadv(files[number], [buffer], place)
    for file in files:
        os.close(file)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    for place in sys.argv[2:] or ["/dev/shm", os.environ.get("VARVE_TEST_DIRECTORY", "/var/tmp")]:
        print(f"In {place}:")
        measure(rounds, place)


def measure(rounds, place):
    base = tempfile.mkdtemp(prefix="varve-compression-", dir=place)
    mounts = {name: f"{base}/{name}" for name in ("plain", "compressed")}
    try:
        for name, path in mounts.items():
            os.makedirs(f"{base}/{name}-upper")
            os.makedirs(path)
            run(VARVE, "mount", "-o", "passthrough=off", f"{base}/{name}-upper", path)
            make(path)
        time.sleep(0.1)
        run(VARVE, "compress", "-q", "-R", mounts["compressed"])
        stored = sum(os.stat(f"{mounts['compressed']}/f{number}").st_blocks * 512 for number in range(FILES))
        print(f"{SIZE * FILES >> 20} MiB of text, stored in {stored >> 20} MiB; medians of {rounds} interleaved rounds")
        times = {}
        for number in range(rounds):
            for name, path in mounts.items():
                forget(path)
                times.setdefault(("1 MiB reads", name), []).append(timed(lambda: sequential(path)))
                times.setdefault(("1 MiB reads, from pages", name), []).append(timed(lambda: sequential(path)))
                forget(path)
                times.setdefault(("random 4 KiB", name), []).append(timed(lambda: scattered(path, number)))
                times.setdefault(("random 4 KiB, from pages", name), []).append(timed(lambda: scattered(path, number)))
        make_and_compress(base, rounds, times)
        for work in dict.fromkeys(work for work, _ in times):
            pair = [statistics.median(times[key]) for key in times if key[0] == work]
            print(f"{work:28} {pair[0] * 1000:9.1f} ms {pair[1] * 1000:9.1f} ms  {pair[0] / pair[1]:5.2f}")
    finally:
        for path in mounts.values():
            subprocess.run([VARVE, "umount", path], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(base, ignore_errors=True)


def make_and_compress(base, rounds, times):
    """The same files for both; zstd leaves its source, as we leave a work file meanwhile."""
    work, path = f"{base}/zstd", f"{base}/plain"
    os.makedirs(work)
    for _ in range(rounds):
        make(work)
        names = sorted(f"{work}/{name}" for name in os.listdir(work))
        time.sleep(0.1)
        times.setdefault(("compress -R, zstd -3 -T1", "plain"), []).append(
            timed(lambda: run("zstd", "-q", "-3", "-T1", "--rm", *names))
        )
        shutil.rmtree(work)
        os.makedirs(work)
        time.sleep(0.1)
        times.setdefault(("compress -R, zstd -3 -T1", "compressed"), []).append(
            timed(lambda: run(VARVE, "compress", "-q", "-R", path))
        )
        run(VARVE, "decompress", "-q", "-R", path)


if __name__ == "__main__":
    main()
