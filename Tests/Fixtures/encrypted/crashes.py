"""Kills the daemon while encrypted files are written, again and again; what was synced is there afterwards, and a reader
that shares no code with it finds in the backing files what the mount shows.

crashes.py BASE ROUNDS [PROFILE...]

`--peer` in place of BASE's volume: the same with gocryptfs. Its losses are printed, and are no failure.
"""

import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import time

from trials import CLASSES, Append, Overwrite, Rename, Truncate, path_in
from vault import VARVE, Failure, Vault, require, run, seeded, watch


class Journal:
    """Lines, each synced and then acknowledged."""

    kind = "journal"

    def __init__(self, vault, seed):
        self.base, self.random = vault.path, random.Random(seed)
        self.number, self.acknowledged = 0, None

    def line(self, number):
        return b"%d %s\n" % (number, b"x" * (number * 37 % 3000))

    def prepare(self):
        self.number += 1
        self.path = path_in(self.base, self.random.choice(CLASSES), f"journal{self.number}")
        self.reports, self.report = os.pipe()

    def work(self):
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for number in range(100_000):
            os.write(file, self.line(number))
            os.fsync(file)
            os.write(self.report, struct.pack("<I", number + 1))

    def forget(self):
        os.close(self.report)
        with os.fdopen(self.reports, "rb") as reports:
            told = reports.read()
        self.acknowledged = struct.unpack("<I", told[-4:])[0] if told else 0

    def begin_anew(self):
        pass

    def check(self):
        if not self.acknowledged:
            return
        with open(self.path, "rb") as file:
            lines = file.read().splitlines(keepends=True)
        if lines[: self.acknowledged] != [self.line(number) for number in range(self.acknowledged)]:
            raise Failure(f"{len(lines)} lines of {self.acknowledged}")
        os.unlink(self.path)


class Database(Journal):
    """Transactions of SQLite."""

    mode = "delete"

    def __init__(self, vault, seed):
        super().__init__(vault, seed)
        # Of each class one, with the number of transactions that it has.
        self.all = {kind: (path_in(vault.path, kind, self.kind), 0) for kind in CLASSES}

    def prepare(self):
        self.protection = self.random.choice(CLASSES)
        self.path, self.done = self.all[self.protection]
        self.reports, self.report = os.pipe()

    def work(self):
        database = sqlite3.connect(self.path, isolation_level=None)
        database.execute(f"pragma journal_mode={self.mode}")
        database.execute("pragma synchronous=full")
        database.execute("create table if not exists t(n integer primary key, body blob)")
        for number in range(self.done, self.done + 100_000):
            database.execute("begin immediate")
            database.execute("insert or replace into t values(?, ?)", (number, b"b" * (number % 5000)))
            database.execute("update t set body = ? where n = ?", (b"c" * (number % 3000), number // 2))
            database.execute("commit")
            os.write(self.report, struct.pack("<I", number + 1))

    def forget(self):
        super().forget()
        self.done = max(self.done, self.acknowledged)
        self.all[self.protection] = self.path, self.done

    def check(self):
        if not self.done:
            return
        database = sqlite3.connect(self.path)
        try:
            (sound,) = database.execute("pragma integrity_check").fetchone()
            if sound != "ok":
                raise Failure(f"integrity_check: {sound}")
            rows = database.execute("select n from t order by n").fetchall()
            if [row[0] for row in rows[: self.done]] != list(range(self.done)):
                raise Failure(f"{len(rows)} rows of {self.done}")
        finally:
            database.close()

    def begin_anew(self):
        """Without what a peer has lost."""
        self.done = 0
        for end in ("", "-journal", "-wal", "-shm"):
            try:
                os.unlink(self.path + end)
            except OSError:
                # Whatever of it is there no longer, or can be neither read nor removed.
                pass
        self.all[self.protection] = path_in(self.base, self.protection, f"{self.kind}{random.randrange(10**9)}"), 0


class RollbackDatabase(Database):
    kind, mode = "rollback", "delete"


class LogDatabase(Database):
    kind, mode = "wal", "wal"


class Stranger:
    """Tests/Fixtures/sealed_reader.py, where what it needs is installed."""

    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sealed_reader.py")

    def __init__(self, vault):
        self.vault, self.target = vault, f"{vault.base}/read"
        self.isThere = run("/usr/bin/python3", "-c", "import cryptography", check=False).returncode == 0
        os.mkdir(self.target)
        self.keys = [vault.key, f"{vault.base}/second.key"]
        run(VARVE, "key", "create", self.keys[1])
        run(VARVE, "key", "slot", "add", vault.path, self.keys[1], "--with", vault.key)

    def read(self, number):
        """Reads all backing files, with one of two keyfiles, after the daemon is gone."""
        self.found = {}
        if not self.isThere:
            return
        folder, own = self.vault.upper, f"{self.vault.upper}/.varve"
        names = sorted(f"{kind}/{name}" for kind in CLASSES for name in os.listdir(f"{folder}/{kind}"))
        if not names:
            return
        words = [self.keys[number % 2], f"{own}/keybag", "--sessions", f"{own}/sessions", "--into", self.target]
        ran = run("/usr/bin/python3", self.program, *words, *(f"{folder}/{name}" for name in names), check=False)
        for name in names:
            if f"{folder}/{name}: " in ran.stderr:
                self.found[name] = None
                continue
            read = f"{self.target}/{os.path.basename(name)}"
            with open(read, "rb") as file:
                self.found[name] = file.read()
            os.unlink(read)
        require(ran.returncode == (1 if None in self.found.values() else 0), f"the reader: {ran.stderr}")

    def compare(self):
        """With what the mount shows before anything is changed."""
        for name, expected in self.found.items():
            try:
                with open(f"{self.vault.path}/{name}", "rb") as file:
                    got = file.read()
            except OSError:
                got = None
            if got != expected:
                size = [None if data is None else len(data) for data in (got, expected)]
                raise Failure(f"{name}: the mount and the reader differ, {size[0]} and {size[1]} bytes")
        return len(self.found)


class NoStranger:
    def read(self, number):
        pass

    def compare(self):
        return 0


class Peer:
    """gocryptfs, as far as the trials need a volume."""

    def __init__(self, base):
        self.path, self.stored, self.word = f"{base}/peer", f"{base}/stored", f"{base}/word"
        for path in (self.path, self.stored):
            os.mkdir(path)
        with open(self.word, "w") as file:
            file.write("word\n")
        run("gocryptfs", "-init", "-q", "-scryptn", "10", "-passfile", self.word, self.stored)
        self.mount()
        for kind in CLASSES:
            os.mkdir(f"{self.path}/{kind}")

    def mount(self):
        words = ["gocryptfs", "-q", "-fg", "-passfile", self.word, self.stored, self.path]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.ismount(self.path):
            require(self.process.poll() is None, "gocryptfs does not mount")
            time.sleep(0.005)

    @property
    def daemon(self):
        return self.process.pid

    def take_away(self, _):
        self.process.wait()
        run("umount", "-l", self.path)

    def unmount(self):
        run("umount", self.path)
        self.process.wait()


def working(trial):
    """A child that does the work and says nothing of the end of its mount."""
    child = os.fork()
    if child:
        return child
    try:
        trial.work()
        time.sleep(0.5)
    except (OSError, sqlite3.Error):
        pass
    finally:
        os._exit(0)


def main():
    base, rounds = sys.argv[1], int(sys.argv[2])
    seed, dice = seeded("crashes")
    kinds = [Overwrite, Append, Truncate, Rename, Journal, RollbackDatabase, LogDatabase]
    words = [word for word in sys.argv[3:] if word != "--peer"]
    kinds = [kind for kind in kinds if not words or kind.kind in words]
    isPeer = "--peer" in sys.argv
    vault = Peer(base) if isPeer else Vault(base)
    stranger = NoStranger() if isPeer else Stranger(vault)
    trials = [kind(vault, dice.random()) for kind in kinds]
    lost, losses, worst, compared = [], {trial.kind: 0 for trial in trials}, 0, 0
    for number in range(rounds):
        guard = watch(120)
        daemon = vault.daemon
        for trial in trials:
            try:
                trial.prepare()
            except OSError:
                # What a peer has lost it may not even let us write over.
                require(isPeer, f"seed {seed}, round {number}, {trial.kind}: cannot be prepared")
                os.unlink(trial.path)
                trial.prepare()
        children = [working(trial) for trial in trials]
        time.sleep(dice.random() * dice.choice([0.005, 0.05, 0.2]))
        os.kill(daemon, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        for trial in trials:
            try:
                trial.forget()
            except OSError:
                # close(2) asks the daemon, where that wants it.
                require(isPeer, f"seed {seed}, round {number}, {trial.kind}: cannot be closed")
        vault.take_away(daemon)
        stranger.read(number)
        started = time.monotonic()
        vault.mount()
        worst = max(worst, time.monotonic() - started)
        try:
            compared += stranger.compare()
        except Failure as failure:
            lost.append(f"seed {seed}, round {number}: {failure}")
            print(lost[-1], flush=True)
        for trial in trials:
            try:
                trial.check()
            except (Failure, OSError, sqlite3.Error) as failure:
                lost.append(f"seed {seed}, round {number}, {trial.kind}: {failure}")
                losses[trial.kind] += 1
                if not isPeer:
                    print(lost[-1], flush=True)
                trial.begin_anew()
        guard.cancel()
    vault.unmount()
    each = ", ".join(f"{kind} {count}" for kind, count in losses.items())
    words = f"{rounds} rounds: {len(lost)} lost ({each}), mounted within {worst:.2f} s"
    print(f"gocryptfs, {words}" if isPeer else f"{words}, {compared} files read by a stranger, too")
    raise SystemExit(1 if lost and not isPeer else 0)


if __name__ == "__main__":
    main()
