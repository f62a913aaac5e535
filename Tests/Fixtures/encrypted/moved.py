"""Verifies a tree while its files are moved behind the mount: moved.py BASE SECONDS

What was looked up under a name is another file then, or gone: the daemon answers ESTALE.
"""

import os
import random
import shutil
import signal
import sys
import time

from vault import VARVE, Vault, end_with_parent, error_of, libc, require, run, seeded, watch

DIRECTORIES, FILES = 4, 12
CURRENT, EXCHANGE = -100, 2


def make(tree):
    for number in range(DIRECTORIES):
        os.makedirs(f"{tree}/{number}/deep")
        for place in (f"{tree}/{number}", f"{tree}/{number}/deep"):
            for name in range(FILES):
                with open(f"{place}/{name}", "wb") as file:
                    file.write(os.urandom(1 + 5000 * name))


class Mover:
    """Changes names below a directory without a pause."""

    def __init__(self, tree, aside, seed):
        self.tree, self.aside, self.dice = tree, f"{aside}/{seed}", random.Random(seed)

    def directory(self):
        return f"{self.tree}/{self.dice.randrange(DIRECTORIES)}"

    def file(self):
        return f"{self.directory()}/{self.dice.choice(('', 'deep/'))}{self.dice.randrange(FILES)}"

    def exchange(self):
        libc.renameat2(CURRENT, self.file().encode(), CURRENT, self.file().encode(), EXCHANGE)

    def replace(self):
        file = self.file()
        shutil.copy2(file, self.aside)
        os.rename(self.aside, file)

    def move(self):
        one, other = self.file(), f"{self.file()}.{self.aside.rpartition('/')[2]}"
        os.rename(one, other)
        # The directory that it was in may be away itself for a moment.
        while error_of(lambda: os.rename(other, one)):
            pass

    def move_directory(self):
        one = f"{self.directory()}/deep"
        other = self.dice.choice((f"{one}.moved", f"{self.directory()}/elsewhere"))
        os.rename(one, other)
        os.rename(other, one)

    def run(self, ways):
        child = os.fork()
        if child:
            return child
        end_with_parent()
        while True:
            try:
                getattr(self, self.dice.choice(ways))()
            except OSError:
                # The other one moved it away.
                pass


def verify(tree, label, *before):
    """How many files are verified, of which none is damaged and nothing else is told."""
    ran = run(*before, VARVE, "verify", "-R", tree, check=False)
    told = f"{label}: {ran.returncode} {ran.stdout}{ran.stderr}"
    require(ran.returncode == 0 and not ran.stderr and ran.stdout.endswith(": no damage\n"), told)
    require(len(ran.stdout.splitlines()) == 1, told)
    return int(ran.stdout.split()[0].replace(",", ""))


def beside(vault, seed, seconds, ways, count):
    """While names change. `count`: how many files there are under their names all the time, or None."""
    tree = f"{vault.path}/a/tree"
    movers = [Mover(f"{vault.upper}/a/tree", vault.base, seed + number).run(ways) for number in range(2)]
    rounds, end = 0, time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            found = verify(tree, f"beside {ways}")
            require(count in (None, found), f"beside {ways}: {found} files of {count} are verified")
            rounds += 1
    finally:
        for mover in movers:
            os.kill(mover, signal.SIGKILL)
            os.waitpid(mover, 0)
    print(f"{rounds} rounds beside {ways}")


def answered(vault, count):
    """Calls of the program that are answered with ESTALE now and then, and always."""
    if run("strace", "-qq", "-o", "/dev/null", "true", check=False).returncode:
        return
    tree = f"{vault.path}/a/tree"
    for calls, when in (("getxattr", "2+3"), ("statx", "20+7")):
        words = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={calls}:error=ESTALE"]
        words[-1] += f":when={when}"
        found = verify(tree, f"{calls} is ESTALE now and then", *words)
        require(found == count, f"{calls} is ESTALE now and then: {found} files of {count} are verified")
    # The first one asks whether the tree is on a volume at all.
    always = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=getxattr:error=ESTALE:when=2+"]
    ran = run(*always, VARVE, "verify", "-R", tree, check=False)
    told = f"getxattr is always ESTALE: {ran.returncode} {ran.stdout}{ran.stderr}"
    require(ran.returncode == 2 and f"{count - 10} more: Stale file handle (ESTALE)" in ran.stderr, told)
    require("not everything was verified" in ran.stdout, told)


def main():
    seconds = float(sys.argv[2])
    guard = watch(120 + seconds)
    seed, _ = seeded("moved")
    count = DIRECTORIES * FILES * 2
    with Vault(sys.argv[1]) as vault:
        make(f"{vault.path}/a/tree")
        # What is copied was written to its end.
        vault.unmount()
        vault.mount()
        beside(vault, seed, seconds / 2, ["exchange", "replace"], count)
        beside(vault, seed, seconds / 2, ["exchange", "move", "move_directory"], None)
        vault.unmount()
        vault.mount()
        require(verify(f"{vault.path}/a/tree", "afterwards") == count, "files are missing afterwards")
        answered(vault, count)
    guard.cancel()


if __name__ == "__main__":
    main()
