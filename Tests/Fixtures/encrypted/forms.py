"""Reads files by a read-only mount while another mount encrypts, decrypts, compresses and expands them.

Whatever form a file has in the moment in which it is opened, its content is read: never the bytes that are stored for it.

forms.py BASE SECONDS OPTIONS
"""

import os
import subprocess
import sys
import threading
import time

from vault import VARVE, Vault, error_of, require, run, seeded, watch

CONTENT = b"".join(b"%08d line of a file\n" % number for number in range(20_000))


def write_same(path):
    """Has a compressed file expanded."""
    file = os.open(path, os.O_RDWR)
    os.pwrite(file, CONTENT[:100], 0)
    os.close(file)


STEPS = {
    "protect": lambda path: run(VARVE, "protect", "-q", "complete", path, check=False).returncode,
    "decrypt": lambda path: run(VARVE, "protect", "-q", "none", path, check=False).returncode,
    "compress": lambda path: run(VARVE, "compress", "-q", path, check=False).returncode,
    "decompress": lambda path: run(VARVE, "decompress", "-q", path, check=False).returncode,
    "expand": lambda path: error_of(lambda: write_same(path)),
}
ROUND = ("protect", "decrypt", "compress", "expand", "compress", "decompress")


class Change(threading.Thread):
    """Goes through all forms until it is told to stop; a step is refused while somebody has the file open."""

    def __init__(self, path):
        super().__init__()
        self.path, self.done, self.counts = path, threading.Event(), dict.fromkeys(STEPS, 0)

    def run(self):
        while not self.done.is_set():
            for step in ROUND:
                if self.done.is_set():
                    return
                for _ in range(20):
                    if not STEPS[step](self.path):
                        self.counts[step] += 1
                        break


def look(path, seconds, dice, mistakes, change):
    """How often it was read; on a slow disk until every form has come about."""
    looks, start = 0, time.monotonic()
    while (past := time.monotonic() - start) < seconds or past < 90 and not all(change.counts.values()):
        try:
            file = os.open(path, os.O_RDONLY)
            try:
                for _ in range(dice.randrange(1, 4)):
                    found = os.pread(file, len(CONTENT) + 1, 0)
                    if found != CONTENT:
                        mistakes.append(f"{len(found)} bytes that are not the content: {found[:40]!r}")
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                    looks += 1
                    time.sleep(dice.random() * 0.01)
            finally:
                os.close(file)
        except OSError as failure:
            mistakes.append(str(failure))
        if mistakes:
            return looks
        time.sleep(dice.random() * 0.02)
    return looks


def hold(vault, second):
    """Who has it open on the mount that only reads is in the way of another form, as on any mount."""
    path = f"{vault.path}/held"
    with open(path, "wb") as file:
        file.write(CONTENT)
    held = os.open(f"{second}/held", os.O_RDONLY)
    for words in (["protect", "-q", "complete"], ["compress", "-q"]):
        run(VARVE, *words, path, check=False)
        with open(f"{vault.upper}/held", "rb") as file:
            require(file.read() == CONTENT, f"{words} replaced what is open on another mount")
    require(os.pread(held, len(CONTENT) + 1, 0) == CONTENT, "it is not read")
    os.close(held)
    run(VARVE, "compress", "-q", path)
    held = os.open(f"{second}/held", os.O_RDONLY)
    # It is expanded for whom it is compressed.
    write_same(path)
    require(os.pread(held, len(CONTENT) + 1, 0) == CONTENT, "it is not read after it was expanded")
    os.close(held)


def main():
    base, seconds, options = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    watch(seconds + 240)
    _, dice = seeded("forms")
    second = f"{base}/second"
    os.mkdir(second)
    with Vault(base, options) as vault:
        with open(f"{vault.path}/f", "wb") as file:
            file.write(CONTENT)
        words = ",".join(filter(None, ["ro", "keyfile=" + vault.key, options]))
        run(VARVE, "mount", "-o", words, vault.upper, second)
        try:
            hold(vault, second)
            change, mistakes = Change(f"{vault.path}/f"), []
            change.start()
            try:
                looks = look(f"{second}/f", seconds, dice, mistakes, change)
            finally:
                change.done.set()
                change.join()
            print(f"looked {looks} times: {change.counts}")
            require(not mistakes, "\n".join(mistakes))
            require(all(change.counts.values()), f"a form never came about: {change.counts}")
            require(looks > 10, "nothing was read")
        finally:
            subprocess.run(["umount", "-l", second], capture_output=True)


main()
