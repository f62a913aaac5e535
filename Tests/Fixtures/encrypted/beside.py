"""Reads encrypted files by a read-only mount while another mount writes them, and then makes the first one writable.

Every block holds one byte 4096 times, and never zeros: another block is one that nobody wrote.

beside.py BASE SECONDS OPTIONS
"""

import errno
import os
import subprocess
import sys
import threading
import time

from vault import CLASS, CLASSES, VARVE, Vault, error_of, require, run, seeded, watch

BLOCK, COUNT = 4096, 700


def blocks(path, held=None):
    """All blocks of a file, by a handle that was open before or a new one; no page of it stays."""
    file = os.open(path, os.O_RDONLY) if held is None else held
    try:
        found = [os.pread(file, BLOCK, number * BLOCK) for number in range(COUNT)]
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        return found
    finally:
        if held is None:
            os.close(file)


def is_sound(block):
    return len(block) == BLOCK and block[:1] != b"\0" and block == block[:1] * BLOCK


def write_on(path, dice, done):
    file = os.open(path, os.O_RDWR)
    while not done.is_set():
        fill = bytes([dice.randrange(1, 256)]) * BLOCK
        if dice.random() < 0.5:
            os.pwrite(file, fill * COUNT, 0)
        else:
            for _ in range(40):
                first = dice.randrange(COUNT)
                os.pwrite(file, fill * dice.randrange(1, COUNT - first + 1), first * BLOCK)
        if dice.random() < 0.7:
            os.fsync(file)
        elif dice.random() < 0.3:
            # The last slot, and another session of changes.
            os.close(file)
            file = os.open(path, os.O_RDWR)
    os.close(file)


def storm(vault, second, dice, seconds):
    done = threading.Event()
    writer = threading.Thread(target=write_on, args=(f"{vault.path}/a/f", dice, done))
    writer.start()
    looks = 0
    held = os.open(f"{second}/a/f", os.O_RDONLY)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for found in (blocks(f"{second}/a/f"), blocks(None, held)):
                wrong = [number for number, block in enumerate(found) if not is_sound(block)]
                require(not wrong, f"blocks that nobody wrote: {wrong[:9]} of {len(wrong)}")
                looks += 1
            ran = run(VARVE, "verify", f"{second}/a/f", check=False)
            require("blocks: no damage" in ran.stdout or "half written" in ran.stdout, ran.stdout + ran.stderr)
    finally:
        done.set()
        writer.join()
        os.close(held)
    require(blocks(f"{second}/a/f") == blocks(f"{vault.path}/a/f"), "the last state is not seen")
    ran = run(VARVE, "verify", f"{second}/a/f")
    require("no damage" in ran.stdout, ran.stdout)
    status = run(VARVE, "status", "--json", second).stdout
    require('"damagedBlocks": 0' in status and '"lostBlocks": 0' in status, status)
    print(f"looked {looks} times")


def cut_on(path, done):
    content = b"x" * (BLOCK * COUNT)
    while not done.is_set():
        with open(path, "r+b", buffering=0) as file:
            for end in (0, COUNT // 2):
                file.truncate(end * BLOCK)
                for start in range(end * BLOCK, len(content), 1 << 20):
                    os.pwrite(file.fileno(), content[start : start + (1 << 20)], start)
        time.sleep(0.02)


def cuts(vault, second, seconds):
    """Of a file that is cut and written again there is what it has, less, or an error: never zeros."""
    looks, failures = 0, 0
    for name in ("a", "b"):
        path = f"{vault.path}/{name}/cut"
        with open(path, "wb") as file:
            file.write(b"x" * (BLOCK * COUNT))
        done = threading.Event()
        writer = threading.Thread(target=cut_on, args=(path, done))
        writer.start()
        held = os.open(f"{second}/{name}/cut", os.O_RDONLY)
        try:
            end = time.monotonic() + seconds / 2
            while time.monotonic() < end:
                looks += 1
                try:
                    found = os.pread(held, BLOCK * COUNT, 0)
                    require(not found.strip(b"x"), f"zeros at {len(found.rstrip(bytes(1)))} of {len(found)}")
                except OSError as failure:
                    require(failure.errno == errno.EIO, str(failure))
                    failures += 1
        finally:
            done.set()
            writer.join()
            os.close(held)
        with open(f"{second}/{name}/cut", "rb") as file:
            require(file.read() == b"x" * (BLOCK * COUNT), "the last state is not seen")
    print(f"looked {looks} times at what was cut, {failures} errors")
    require(failures < looks / 2, "it can hardly be read")


def sizes(vault, second):
    """A handle that is open sees the file grow and shrink, as one of a plain file does."""
    path = f"{vault.path}/a/size"
    with open(path, "wb") as file:
        file.write(b"a" * 10_000)
    held = os.open(f"{second}/a/size", os.O_RDONLY)
    require(os.pread(held, 20_000, 0) == b"a" * 10_000, "it is not read")
    for content in (b"b" * 300_000, b"c" * 5_000, b"d" * 5_000):
        with open(path, "r+b") as file:
            file.truncate(0 if len(content) < 100_000 else 100)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # As long as a size is remembered of any file.
        time.sleep(1.1)
        require(os.stat(f"{second}/a/size").st_size == len(content), "an old size is shown")
        os.posix_fadvise(held, 0, 0, os.POSIX_FADV_DONTNEED)
        require(os.pread(held, 400_000, 0) == content, "old content is shown")
        with open(f"{second}/a/size", "rb") as file:
            require(file.read() == content, "a new opener sees old content")
    return held


def classes(vault, second):
    """A lock closes what another mount gave another class, also where somebody has it open."""
    path = f"{vault.path}/c/class"
    with open(path, "wb") as file:
        file.write(b"secret")
    held = os.open(f"{second}/c/class", os.O_RDONLY)
    require(os.pread(held, 9, 0) == b"secret", "it is not read")
    os.setxattr(path, CLASS, CLASSES["a"])
    for _ in range(2):
        run(VARVE, "lock", second, check=False)
        require(error_of(lambda: os.pread(held, 9, 0)) == "ENOKEY", "it is read after a lock")
        require(error_of(lambda: os.open(f"{second}/c/class", os.O_RDONLY)) == "ENOKEY", "it is opened")
        run(VARVE, "unlock", second, vault.key)
        require(os.pread(held, 9, 0) == b"secret", "it is not read after an unlock")
    os.close(held)


def take_over(vault, second, held):
    """Who becomes the writer builds on what the other one left, not on what was read before."""
    with open(f"{vault.path}/a/size", "wb") as file:
        file.write(b"e" * 200_000)
    vault.unmount()
    run(VARVE, "remount", "-o", "rw", second)
    # Behind what the other one wrote, whatever size the kernel knew.
    with open(f"{second}/a/size", "ab") as file:
        file.write(b"G" * 5)
    file = os.open(f"{second}/a/size", os.O_RDWR)
    os.pwrite(file, b"F" * 10, 100_000)
    os.fsync(file)
    os.close(file)
    os.close(held)
    wanted = b"e" * 100_000 + b"F" * 10 + b"e" * 99_990 + b"G" * 5
    with open(f"{second}/a/size", "rb") as file:
        require(file.read() == wanted, "something of what the other mount wrote is gone")
    run(VARVE, "umount", second)
    vault.mount()
    with open(f"{vault.path}/a/size", "rb") as file:
        require(file.read() == wanted, "something of what the other mount wrote is gone from the disk")
    ran = run(VARVE, "verify", "-R", vault.path)
    require("no damage" in ran.stdout, ran.stdout)


def main():
    base, seconds, options = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    watch(seconds * 4 + 120)
    _, dice = seeded("beside")
    second = f"{base}/second"
    os.mkdir(second)
    with Vault(base, options) as vault:
        with open(f"{vault.path}/a/f", "wb") as file:
            file.write(b"A" * (BLOCK * COUNT))
        words = ",".join(filter(None, ["ro", "keyfile=" + vault.key, options]))
        run(VARVE, "mount", "-o", words, vault.upper, second)
        try:
            storm(vault, second, dice, seconds)
            cuts(vault, second, seconds)
            classes(vault, second)
            take_over(vault, second, sizes(vault, second))
        finally:
            subprocess.run(["umount", "-l", second], capture_output=True)


main()
