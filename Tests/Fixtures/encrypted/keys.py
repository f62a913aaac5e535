"""Verbs of keys, killed: the program and the daemon, at every call by which they change something. Afterwards the volume
opens with the old keyfiles or with the new ones, and holds what it held.

keys.py BASE STEP: for each verb one kill, at one of the first STEP calls; with 1 a kill at each of its calls.
"""

import json
import os
import shutil
import subprocess
import sys
import time

from traced import killed_daemon, killed_program
from vault import CLASSES, VARVE, Failure, Vault, class_of, require, run, seeded, stored, watch

FILES = {"a/one": b"first canary " * 1000, "b/two": b"second canary", "c/three": b"third canary " * 300, "plain": b"words"}
# What may lie beside the files of a volume; `.new` is what a kill leaves of a replacement.
OURS = {"volume", "lock", "work", "damaged", "keybag", "keybag.copy", "sessions"}


class Bench:
    """Volumes to begin with, of which each kill gets a copy; and keyfiles."""

    def __init__(self, base):
        self.vault = Vault(base)
        self.base, self.path, self.upper, self.key = base, self.vault.path, self.vault.upper, self.vault.key
        self.other, self.new, self.word, self.exported = (f"{base}/{name}" for name in ("other", "new", "word", "exported"))
        for key in (self.other, self.new):
            run(VARVE, "key", "create", key)
        with open(self.word, "w") as file:
            file.write("a word to pass\n")
        os.chmod(self.word, 0o400)
        run(VARVE, "key", "slot", "add", self.path, self.other, "--with", self.key)
        run(VARVE, "key", "export", self.path, self.exported)
        for name, data in FILES.items():
            with open(f"{self.path}/{name}", "wb") as file:
                file.write(data)
        self.vault.unmount()
        shutil.move(self.upper, f"{base}/with-keys")
        os.makedirs(f"{base}/without-keys")
        with open(f"{base}/without-keys/plain", "wb") as file:
            file.write(FILES["plain"])

    def begin(self, kind="with-keys", keyfile=False, without=()):
        """Mounts a fresh copy of a volume."""
        shutil.rmtree(self.upper, ignore_errors=True)
        run("cp", "-a", f"{self.base}/{kind}", self.upper)
        for name in without:
            os.unlink(f"{self.upper}/.varve/{name}")
        self.vault.mount(keyfile=keyfile)

    def slots(self):
        """Identifiers of keyfiles; none where the keybag is lost, which is refused."""
        ran = run(VARVE, "key", "slot", "list", self.path, check=False)
        require(ran.returncode == 0 or "is lost" in ran.stderr, f"the slots: {ran}")
        return set(ran.stdout.split())

    def opens(self, key):
        ran = run(VARVE, "key", "check", "--json", key, self.path, check=False)
        return json.loads(ran.stdout)["opens"]

    def identifier(self, key):
        return run(VARVE, "key", "check", "--json", key).stdout.split('"keyfile": "')[1][:32]

    def require_whole(self, deed):
        """A lock or an unlock is done to all of its classes or to none."""
        states = self.vault.status().get("classes", {})
        first, second, third = (states.get(word.decode(), "locked") for word in CLASSES.values())
        wanted = "open" if deed == "lock" else first
        require(first == second and third == wanted, f"the classes are {states}")

    def check(self, keys, others=(), files=FILES):
        """Exactly `keys` open the volume, and what it holds is there and can be changed."""
        require(self.slots() == {self.identifier(key) for key in keys}, f"the slots are {self.slots()}")
        for key in keys:
            require(self.opens(key), f"{key} does not open it")
        for key in others:
            require(not self.opens(key), f"{key} opens it")
        for key in keys:
            run(VARVE, "unlock", self.path, key)
            for name, data in files.items():
                require(stored(f"{self.path}/{name}") == data, f"{name} differs")
            run(VARVE, "lock", "--all", self.path)
        if not keys:
            return
        run(VARVE, "unlock", self.path, keys[0])
        twins = [stored(f"{self.upper}/.varve/{name}") for name in ("keybag", "keybag.copy")]
        require(twins[0] == twins[1], "after an unlock the keybag and its copy differ")
        for letter, word in CLASSES.items():
            if not os.path.isdir(f"{self.path}/{letter}"):
                continue
            require(class_of(f"{self.path}/{letter}") == word, f"the class of {letter}")
            with open(f"{self.path}/{letter}/late", "wb") as file:
                file.write(b"late canary")
            require(stored(f"{self.path}/{letter}/late") == b"late canary", f"{letter}/late differs")
            require(b"canary" not in stored(f"{self.upper}/{letter}/late"), f"{letter}/late has plaintext below")
        left = {name.removesuffix(".new") for name in os.listdir(f"{self.upper}/.varve")} - OURS
        require(not left, f"left over: {left}")
        require(not os.listdir(f"{self.upper}/.varve/work"), "something is left over in work")


class Deed:
    """A verb, a volume to begin with, and what is true before it and after it."""

    def __init__(self, name, words, begin, old, new, of_volume=True):
        self.name, self.words, self.begin, self.old, self.new, self.of_volume = name, words, begin, old, new, of_volume


def deeds(bench):
    """All verbs that change something."""
    key, other, new, path = bench.key, bench.other, bench.new, bench.path
    both = lambda: bench.check([key, other], [new])
    passed = f"{bench.base}/passed"

    def fresh(file, source=None):
        def work():
            for name in os.listdir(bench.base):
                if name.startswith(".varve-key-") or name == os.path.basename(file):
                    os.unlink(f"{bench.base}/{name}")
            if source:
                shutil.copy2(source, file)

        return work

    def keyfile(isClosed):
        """A keyfile that opens the volume, with its passphrase or without."""

        def work():
            words = ["--passphrase-file", bench.word] if isClosed else []
            found = json.loads(run(VARVE, "key", "check", "--json", *words, passed, check=False).stdout)
            require(found.get("sound") and found["passphrase"] == isClosed, f"the keyfile is {found}")
            require(found["keyfile"] == bench.identifier(key), "it is another keyfile")

        return work

    def closed():
        fresh(passed, key)()
        run(VARVE, "key", "passphrase", "--passphrase-file", bench.word, passed)

    def missing(file):
        def work():
            require(not os.path.exists(file), f"{file} is there")

        return work

    def made():
        found = json.loads(run(VARVE, "key", "check", "--json", passed, check=False).stdout)
        require(found.get("sound"), f"what was made is {found}")

    def exported():
        require(stored(passed) == stored(bench.exported), "what was exported differs")

    def dirty():
        bench.begin(keyfile=True)
        for name in ("a/one", "c/three"):
            with open(f"{path}/{name}", "r+b") as file:
                file.write(FILES[name])
                os.fsync(file.fileno())

    adopting = {"without": ("keybag", "keybag.copy")}
    return [
        Deed("unlock", ("unlock", path, key), bench.begin, both, both),
        Deed("unlock with one keybag", ("unlock", path, key), lambda: bench.begin(without=("keybag.copy",)), both, both),
        Deed("unlock with the copy", ("unlock", path, key), lambda: bench.begin(without=("keybag",)), both, both),
        Deed(
            "unlock --keybag", ("unlock", "--keybag", bench.exported, path, key), lambda: bench.begin(**adopting),
            lambda: bench.check([], [key, other]), both),
        Deed("lock", ("lock", path), dirty, both, both),
        Deed("lock --all --now", ("lock", "--all", "--now", path), dirty, both, both),
        Deed(
            "key slot add, the first", ("key", "slot", "add", path, key), lambda: bench.begin("without-keys"),
            lambda: bench.check([], [key], {}), lambda: bench.check([key], [other], {"plain": FILES["plain"]})),
        Deed(
            "key slot add", ("key", "slot", "add", path, new, "--with", key), bench.begin, both,
            lambda: bench.check([key, other, new])),
        Deed(
            "key slot remove", ("key", "slot", "remove", path, key, "--with", other), bench.begin, both,
            lambda: bench.check([other], [key, new])),
        Deed("key export", ("key", "export", path, passed), lambda: (fresh(passed)(), bench.begin()), missing(passed), exported),
        Deed("key create", ("key", "create", passed), fresh(passed), missing(passed), made, of_volume=False),
        Deed(
            "key passphrase", ("key", "passphrase", "--passphrase-file", bench.word, passed), fresh(passed, key),
            keyfile(False), keyfile(True), of_volume=False),
        Deed(
            "key passphrase --remove", ("key", "passphrase", "--remove", "--passphrase-file", bench.word, passed), closed,
            keyfile(True), keyfile(False), of_volume=False),
    ]


def either(old, new):
    """One of the two is true: which; the first failure of each otherwise."""
    failures = []
    for name, state in (("old", old), ("new", new)):
        try:
            state()
            return name
        except Failure as failure:
            failures.append(f"not {name}: {failure}")
    raise Failure("; ".join(failures))


def kills(bench, deed, ofDaemon, seed, dice, step):
    words = [VARVE, *deed.words]
    last, isKilled, count, ends = 1 + dice.randrange(step), True, 0, {"old": 0, "new": 0}
    while isKilled and (step == 1 or not count):
        guard = watch(60)
        deed.begin()
        what = f"seed {seed}, {deed.name}, {'the daemon' if ofDaemon else 'the program'} killed at call {last}"
        if ofDaemon:
            daemon = bench.vault.daemon
            isKilled = killed_daemon(daemon, lambda: subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL), last)
            bench.vault.take_away(daemon)
            bench.vault.mount(keyfile=False)
        else:
            isKilled = killed_program(words, last)
            # What the daemon was asked for it may do all the same.
            time.sleep(0.05)
        try:
            if not ofDaemon and deed.words[0] in ("lock", "unlock"):
                bench.require_whole(deed.name)
            end = either(deed.old, deed.new) if isKilled else deed.new() or "new"
            ends[end] += isKilled
            if end == "old" and deed.old is not deed.new:
                # What was not done can be done.
                run(*words)
                deed.new()
        except Failure as failure:
            raise Failure(f"{what}: {failure}")
        if deed.of_volume:
            bench.vault.unmount()
        guard.cancel()
        count += isKilled
        last += step
    print(f"{deed.name}, {'daemon' if ofDaemon else 'program'}: {count} kills, {ends}", flush=True)
    return count


def main():
    base, step = sys.argv[1], int(sys.argv[2])
    seed, dice = seeded("keys")
    guard = watch(120)
    bench = Bench(base)
    guard.cancel()
    count = 0
    for deed in deeds(bench):
        for ofDaemon in (True, False) if deed.of_volume else (False,):
            count += kills(bench, deed, ofDaemon, seed, dice, step)
    require(count, "nothing was killed")
    print(f"{count} kills")


if __name__ == "__main__":
    main()
