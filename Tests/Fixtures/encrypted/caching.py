"""Whatever the kernel keeps of encrypted files is what they hold: caching.py BASE ROUNDS [OPTIONS]"""

import mmap
import os
import sys
import threading
import time

from vault import Vault, error_of, require, run, seeded, watch


def flag(vault, path, word):
    run(os.environ["VARVE"], "chflags", word, path)


def difference(got, want):
    """Where the two begin to differ, and what stands there."""
    at = next((at for at in range(max(len(got), len(want))) if got[at : at + 1] != want[at : at + 1]), None)
    return None if at is None else (at, len(got), len(want), got[at : at + 40], want[at : at + 40])


def spread(path, data):
    with open(path, "wb") as file:
        file.write(data)


def growing(vault, rounds, random):
    """A file that may only grow: each reader has each line as soon as it was written, and never anything else."""
    for number in range(rounds):
        path = f"{vault.path}/{'abc'[number % 3]}/log"
        spread(path, b"begin\n")
        # A reader from before the flag keeps pages; those who come later may not.
        early = os.open(path, os.O_RDONLY)
        require(os.pread(early, 100, 0) == b"begin\n", "the beginning")
        early_writer = os.open(path, os.O_RDWR | os.O_APPEND) if number % 2 else -1
        flag(vault, path, "uappnd")
        writer = os.open(path, os.O_WRONLY | os.O_APPEND)
        late = os.open(path, os.O_RDONLY)
        want, stop, wrong = bytearray(b"begin\n"), threading.Event(), []

        def follow(reader):
            at = 0
            while not stop.is_set() or at < len(want):
                got = os.pread(reader, 4096, at)
                if got != bytes(want[at : at + len(got)]):
                    wrong.append((at, got[:60], bytes(want[at : at + 60])))
                    return
                at += len(got)

        readers = [threading.Thread(target=follow, args=[reader]) for reader in (early, late)]
        for reader in readers:
            reader.start()
        for line in range(200):
            text = b"line %d %s\n" % (line, b"x" * random.randrange(200))
            want += text
            target = early_writer if early_writer >= 0 and line % 3 == 0 else writer
            require(os.write(target, text) == len(text), "a short write")
        stop.set()
        for reader in readers:
            reader.join()
        require(not wrong, f"a reader has {wrong}")
        with mmap.mmap(late, len(want), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as memory:
            require(memory[:] == bytes(want), "a mapping differs")
        if early_writer >= 0:
            # With O_APPEND all writes go to the end, wherever they are meant to go.
            require(os.pwrite(early_writer, b"X", 0) == 1, "a write to the end")
            want += b"X"
        for descriptor in {early, late, writer, early_writer} - {-1}:
            os.close(descriptor)
        with open(path, "rb") as file:
            different = difference(file.read(), bytes(want))
        require(different is None, f"the file differs in the end: {different}")
        flag(vault, path, "nouappnd")
        with open(path, "r+b") as file:
            file.write(b"BEGIN")
        with open(path, "rb") as file:
            require(file.read(6) == b"BEGIN\n", "a write after the flag was taken")
        os.unlink(path)


def mapped(vault):
    """What is refused to a handle from before the flag is seen by nobody."""
    path = f"{vault.path}/a/mapped"
    data = bytes(range(256)) * 64
    spread(path, data)
    file = os.open(path, os.O_RDWR)
    memory = mmap.mmap(file, len(data))
    require(memory[:] == data, "a mapping")
    flag(vault, path, "uappnd")
    late = os.open(path, os.O_RDWR | os.O_APPEND)
    require(error_of(lambda: os.pwrite(file, b"wrong", 4096)) == "EPERM", "a write in the middle")
    memory[5000:5005] = b"wrong"
    require(error_of(memory.flush) is not None, "a refused page is said to be written")
    memory.close()
    os.close(file)
    os.close(late)
    run("sync")
    with open(f"{vault.upper}/a/mapped", "rb"), open(path, "rb") as file:
        require(file.read() == data, "somebody wrote what was refused")
    late = os.open(path, os.O_RDWR | os.O_APPEND)
    require(error_of(lambda: mmap.mmap(late, len(data))) in ("ENODEV", "EACCES"), "a mapping that could be written")
    os.close(late)
    flag(vault, path, "nouappnd")
    with open(path, "rb") as file:
        require(file.read() == data, "after the flag was taken")


def behind(vault):
    """A backing file that was put back behind the mount counts from the next open."""
    path, stored = f"{vault.path}/a/behind", f"{vault.upper}/a/behind"
    for size in (100, 300_000):
        spread(path, b"1" * size)
        run("sync")
        with open(stored, "rb") as file:
            old = file.read()
        spread(path, b"2" * (size // 2))
        with open(path, "rb") as file:
            require(file.read() == b"2" * (size // 2), "the second version")
        # The last close is heard of after it has returned.
        while vault.status()["handles"] > 1:
            time.sleep(0.01)
        time.sleep(0.1)
        with open(stored, "r+b") as file:
            file.write(old)
            file.truncate(len(old))
        with open(path, "rb") as file:
            got = file.read()
        require(got == b"1" * size, f"{len(got)} bytes of {got[:1]} after an older version was put back")
        require(os.stat(path).st_size == size, "the size afterwards")


def turned(vault):
    """Pages from before a change of class, to plain and back, are what the file holds."""
    path = f"{vault.path}/a/turned"
    spread(path, b"first" * 3000)
    for word, text in (("none", b"plain" * 4000), ("complete", b"again" * 2000), ("none", b"once more" * 10)):
        with open(path, "rb") as file:
            file.read()
        run(os.environ["VARVE"], "protect", word, path)
        with open(path, "r+b") as file:
            file.write(text)
            file.truncate(len(text))
        with open(path, "rb") as file:
            require(file.read() == text, f"after {word}")
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
            require(memory[:] == text, f"a mapping after {word}")


def kept(vault):
    """Pages stay from open to open, also after a write: nothing is read twice."""

    def reads():
        return vault.status()["requests"].get("read", 0)

    path = f"{vault.path}/a/kept"
    spread(path, b"k" * 100_000)
    with open(path, "rb") as file:
        file.read()
    # To ask is a read of its own.
    asking = -reads() + reads()
    before = reads()
    for turn in range(5):
        with open(path, "r+b") as file:
            file.write(b"%d" % turn)
        with open(path, "rb") as file:
            require(file.read() == b"%d" % turn + b"k" * 99_999, "what was written")
    return reads() - before - asking


def main():
    rounds = int(sys.argv[2])
    options = sys.argv[3] if len(sys.argv) > 3 else ""
    _, random = seeded("caching")
    timer = watch(600)
    with Vault(sys.argv[1], options) as vault:
        kernel = vault.status()["kernel"]
        isExplicit = kernel.get("explicit_inval_data") == "on"
        require(isExplicit == (kernel.get("auto_inval_data") != "on"), f"{kernel}")
        growing(vault, rounds, random)
        mapped(vault)
        behind(vault)
        turned(vault)
        # Whoever has the machine drop its caches meanwhile takes these pages as well.
        again = min(kept(vault) for _ in range(3))
        require(again == 0 if isExplicit and not options else True, f"{again} reads of what was there")
    timer.cancel()
    print(f"{rounds} rounds, {'told' if isExplicit else 'by times'}")


if __name__ == "__main__":
    main()
