"""Kills the daemon while a tree changes its class, again and again: each file is as it was or done, and what says that it
is encrypted has no plaintext below.

conversions.py BASE ROUNDS
"""

import os
import signal
import subprocess
import sys
import time

from vault import CLASSES, VARVE, Failure, Vault, require, run, seeded, watch

CANARY = b"thirty-two bytes that nobody has\n"
SIZES = [0, 10, 4096, 100_000, 3_000_000]


def state(path):
    """All of a file that no change of class may touch."""
    status = os.lstat(path)
    with open(path, "rb") as file:
        data = file.read()
    return data, (status.st_ino, status.st_nlink, status.st_mode, status.st_uid, status.st_mtime_ns)


def class_of(path):
    try:
        return os.getxattr(path, "system.varve.class")
    except OSError:
        return b"none"


class Tree:
    """A directory with files of many sizes, one of them with two names and one that nobody may write to."""

    def __init__(self, vault, dice):
        self.vault, self.path, self.below = vault, f"{vault.path}/tree", f"{vault.upper}/tree"
        os.makedirs(f"{self.path}/sub")
        self.names = [f"{'sub/' if number % 3 else ''}{number}" for number in range(12)]
        for number, name in enumerate(self.names):
            size = dice.choice(SIZES) if number else 3_000_000
            with open(f"{self.path}/{name}", "wb") as file:
                file.write((CANARY * (size // len(CANARY) + 1))[:size])
        os.link(f"{self.path}/0", f"{self.path}/sub/linked")
        os.chmod(f"{self.path}/1" if "1" in self.names else f"{self.path}/sub/1", 0o4444)
        self.names.append("sub/linked")
        self.states = {name: state(f"{self.path}/{name}") for name in self.names}

    def check(self, allowed, killed_since=None):
        """Every file is what it was. A kill may catch one between a write below and the restoring of its time."""
        moved = set()
        for name in self.names:
            now, word = state(f"{self.path}/{name}"), class_of(f"{self.path}/{name}")
            inode, *others, modified = now[1]
            if killed_since and modified >= killed_since and now[0] == self.states[name][0]:
                if (inode, *others) == self.states[name][1][:-1] and moved <= {inode}:
                    moved.add(inode)
                    self.states[name] = now
            if now != self.states[name]:
                was = self.states[name][1]
                raise Failure(f"{name}, {word} of {allowed}: {len(now[0])} bytes, {now[1]}, not {was}")
            if word not in allowed:
                raise Failure(f"{name}: is {word}, not one of {allowed}")
            with open(f"{self.below}/{name}", "rb") as file:
                stored = file.read()
            if word != b"none" and CANARY[:16] in stored:
                raise Failure(f"{name}: is {word}, and has plaintext below")
            if word == b"none" and stored != now[0]:
                raise Failure(f"{name}: is plain, and other bytes are below")


def main():
    base, rounds = sys.argv[1], int(sys.argv[2])
    seed, dice = seeded("conversions")
    vault = Vault(base)
    tree = Tree(vault, dice)
    classes = [b"none", *CLASSES.values()]
    allowed, interrupted = {b"none"}, 0
    for number in range(rounds):
        guard = watch(120)
        wanted = dice.choice([word for word in classes if {word} != allowed])
        daemon, begun = vault.daemon, time.time_ns() - 10_000_000
        tool = subprocess.Popen(
            [VARVE, "protect", "-R", wanted, tree.path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(dice.random() * dice.choice([0.02, 0.1, 0.3]))
        os.kill(daemon, signal.SIGKILL)
        interrupted += tool.wait() != 0
        vault.take_away(daemon)
        vault.mount()
        try:
            allowed |= {wanted}
            tree.check(allowed, killed_since=begun)
            # What was begun can be ended.
            if dice.random() < 0.5:
                run(VARVE, "protect", "-R", wanted, tree.path)
                allowed = {wanted}
                tree.check(allowed)
                left = os.listdir(f"{vault.upper}/.varve/work")
                require(not left, f"left over: {left}")
        except Failure as failure:
            raise Failure(f"seed {seed}, round {number}: {failure}")
        guard.cancel()
    vault.unmount()
    require(interrupted, "no change was interrupted")
    print(f"{rounds} rounds, {interrupted} of them interrupted")


if __name__ == "__main__":
    main()
