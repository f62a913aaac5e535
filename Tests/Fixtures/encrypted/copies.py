"""Copies of an upper directory, with and without attributes, also of one in use, opened elsewhere with the keyfile:
copies.py BASE ROUNDS: so many copies beside writers"""

import json
import os
import random
import signal
import struct
import sys
import time

from vault import CLASS, CLASSES, VARVE, Failure, Vault, error_of, require, run, seeded, stored, watch

FILES = {"a/one": b"first canary " * 1000, "b/two": b"second canary " * 700, "c/deep/three": b"third", "a/empty": b""}
LATER = b"appended canary " * 50


def copies(upper, target):
    """How a directory is copied; whether attributes come along."""
    tar = "tar -C {upper} {options} -cf - . | tar -C {target} {options} -xpf -"
    attributes = "--xattrs --xattrs-include='*'"
    return {
        "cp -a": (True, f"cp -a {upper}/. {target}"),
        "rsync -aX": (True, f"rsync -aX {upper}/ {target}/"),
        "tar with attributes": (True, tar.format(upper=upper, target=target, options=attributes)),
        "rsync -a": (False, f"rsync -a {upper}/ {target}/"),
        "tar": (False, tar.format(upper=upper, target=target, options="")),
        "cp": (False, f"cp -r {upper}/. {target}"),
        "rsync -a without .varve": (False, f"rsync -a --exclude=/.varve {upper}/ {target}/"),
        "rsync -aX without .varve": (True, f"rsync -aX --exclude=/.varve {upper}/ {target}/"),
    }


def append(path, data):
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(file, data)
    finally:
        os.close(file)


def check(name, hasAttributes, vault, exported):
    """What is in a copy that was opened elsewhere."""
    for path, data in FILES.items():
        if not data:
            continue
        whole, below = f"{vault.path}/{path}", f"{vault.upper}/{path}"
        before, lacksKeybag = stored(below), "without .varve" in name
        if lacksKeybag and not hasAttributes:
            # Nothing is known of it but its bytes, which nobody looks at without a keybag. What is appended can be cut off.
            append(whole, LATER)
            require(stored(below) == before + LATER, f"{name}: {path} is not a plain file")
            os.truncate(whole, len(before))
        else:
            refused = {
                "read": lambda: stored(whole),
                "appended to": lambda: append(whole, LATER),
                "written": lambda: os.close(os.open(whole, os.O_RDWR)),
                "cut": lambda: os.truncate(whole, 10),
                "emptied": lambda: os.close(os.open(whole, os.O_WRONLY | os.O_TRUNC)),
            }
            for deed, work in refused.items():
                error = error_of(work)
                require(error == "ENOKEY", f"{name}: {path} is {deed} while locked: {error}")
            require(stored(below) == before, f"{name}: {path} was changed while locked")
            size = os.stat(whole).st_size
            require(lacksKeybag or size == len(data), f"{name}: {path} has another size while locked: {size}")
            moved = f"{whole}.moved"
            os.rename(whole, moved)
            os.rename(moved, whole)
    keybag = ["--keybag", exported] if lacksKeybag else []
    run(VARVE, "unlock", *keybag, vault.path, vault.key)
    for path, data in FILES.items():
        got = stored(f"{vault.path}/{path}")
        require(got == data, f"{name}: {path} differs ({len(got)} bytes, not {len(data)})")
        if not data and not hasAttributes:
            # Nothing says of an empty file that it was encrypted.
            continue
        with open(f"{vault.path}/{path}", "ab") as file:
            file.write(LATER)
        require(stored(f"{vault.path}/{path}") == data + LATER, f"{name}: {path} after an append")
        with open(f"{vault.path}/{path}", "r+b") as file:
            file.write(b"over")
        want = b"over" + (data + LATER)[4:]
        require(stored(f"{vault.path}/{path}") == want, f"{name}: {path} after a write")
        below = stored(f"{vault.upper}/{path}")
        require(b"canary" not in below, f"{name}: {path} has plaintext below")
        require(len(below) % 4096 == 0, f"{name}: {path} is no whole number of pages below")
    new = f"{vault.path}/a/new"
    with open(new, "wb") as file:
        file.write(b"new canary")
    isPlain = b"canary" in stored(f"{vault.upper}/a/new")
    require(isPlain != hasAttributes, f"{name}: a new file is {'plain' if isPlain else 'encrypted'}")
    vault.unmount()
    vault.mount()
    for path, data in FILES.items():
        if data:
            got = stored(f"{vault.path}/{path}")
            require(got == b"over" + (data + LATER)[4:], f"{name}: {path} differs in the next mount")


def elsewhere(base, key):
    """A volume that is not made anew; its upper directory is a copy."""
    vault = Vault.__new__(Vault)
    vault.base, vault.options, vault.key = base, "", key
    vault.upper, vault.path = f"{base}/upper", f"{base}/mount"
    for path in (base, vault.upper, vault.path):
        os.mkdir(path)
    return vault


def repair(base, source, number):
    """A copy without attributes is repaired: all marks and classes are as they were, and new files are encrypted."""
    for name, hasAttributes in (("tar", False), ("cp", False)):
        vault = elsewhere(f"{base}/repaired{number}{name}", source.key)
        run("/bin/bash", "-euo", "pipefail", "-c", copies(source.upper, vault.upper)[name][1])
        fsck = (VARVE, "fsck", "--keyfile", source.key)
        found = run(*fsck, vault.upper, check=False)
        require(found.returncode == 1 and "marker" in found.stdout, f"{name}: fsck finds {found}")
        run(*fsck, "--repair", vault.upper, check=False)
        again = run(*fsck, vault.upper, check=False)
        require(again.returncode == 0 and not again.stdout, f"{name}: after the repair fsck finds {again}")
        vault.mount(keyfile=False)
        with vault:
            items = [*CLASSES, *FILES, "c/deep"]
            for item in items:
                word = os.getxattr(f"{vault.path}/{item}", CLASS)
                require(word == CLASSES[item[0]], f"{name}: {item} is repaired as {word}")
            vault.unlock()
            for path, data in FILES.items():
                append(f"{vault.path}/{path}", LATER)
                require(stored(f"{vault.path}/{path}") == data + LATER, f"{name}: {path} is repaired as something else")
                require(b"canary" not in stored(f"{vault.upper}/{path}"), f"{name}: {path} has plaintext below")
            for directory in [*CLASSES, "c/deep"]:
                with open(f"{vault.path}/{directory}/new", "wb") as file:
                    file.write(b"new canary")
                require(b"canary" not in stored(f"{vault.upper}/{directory}/new"), f"{name}: a new file in {directory} is plain")


# Beside writers

PAGE, BLOCKS, QUIET = 4096, 400, 40


def content(file, block, version):
    """Bytes that only one version of one block has."""
    return struct.pack("<III", file + 1, block, version) * (PAGE // 12) + bytes(PAGE % 12)


class Written:
    """A file that a child writes over, block by block, and grows; some blocks are never written again."""

    def __init__(self, vault, number, report):
        self.number, self.name = number, f"{'abc'[number % 3]}/busy{number}"
        self.path, self.report = f"{vault.path}/{self.name}", report
        with open(self.path, "wb") as file:
            for block in range(BLOCKS):
                file.write(content(number, block, 0))
            file.flush()
            os.fsync(file.fileno())

    def work(self, seed):
        dice, version = random.Random(seed), 0
        file = os.open(self.path, os.O_RDWR)
        while True:
            version += 1
            start, count = dice.randrange(QUIET, BLOCKS), dice.choice([1, 1, 7, 50])
            blocks = range(start, start + count)
            os.pwrite(file, b"".join(content(self.number, block, version) for block in blocks), start * PAGE)
            if dice.random() < 0.3:
                os.fsync(file)
            if dice.random() < 0.1:
                os.close(file)
                file = os.open(self.path, os.O_RDWR)
            os.pwrite(self.report, struct.pack("<I", version), self.number * 4)

    def versions(self):
        return struct.unpack("<I", os.pread(self.report, 4, self.number * 4))[0]

    def check(self, vault, last):
        """Each block of a copy is a version of this block, or an error that `verify` names: how many are errors."""
        whole = f"{vault.path}/{self.name}"
        ran = run(VARVE, "verify", "--json", whole, check=False)
        named = set()
        for found in damage(ran.stdout):
            named |= set(range(found[0] // PAGE, (found[1] + PAGE - 1) // PAGE))
        refused, self.changed = set(), 0
        file = os.open(whole, os.O_RDONLY)
        size = os.fstat(file).st_size
        require(BLOCKS * PAGE <= size <= (BLOCKS + 50) * PAGE, f"{self.name} has {size} bytes")
        for block in range((size + PAGE - 1) // PAGE):
            try:
                data = os.pread(file, PAGE, block * PAGE)
            except OSError as failure:
                require(failure.errno == 5, f"{self.name}, block {block}: {failure}")
                refused.add(block)
                continue
            if not any(data):
                require(block >= BLOCKS, f"{self.name}, block {block}: zeros in place of what was synced")
                continue
            _, _, version = struct.unpack("<III", data[:12])
            if data != content(self.number, block, version):
                raise Failure(f"{self.name}, block {block}: bytes that were never written there: {data[:24]}")
            require(version <= last, f"{self.name}, block {block}: version {version}, and {last} was the last one")
            require(block >= QUIET or version == 0, f"{self.name}, block {block}: version {version}")
            self.changed += version > 0
        os.close(file)
        require(not refused & set(range(QUIET)), f"{self.name}: blocks that nobody wrote are refused: {sorted(refused)}")
        require(refused == named, f"{self.name}: {sorted(refused)} are refused, and verify names {sorted(named)}: {ran}")
        return len(refused)


def damage(text):
    """The ranges of bytes that `verify --json` says cannot be read; at most 100 of a file."""
    for item in json.loads(text)["files"]:
        ranges = [(part["offset"], part["offset"] + part["length"]) for part in item["ranges"] if part["kind"] in ("damaged", "index")]
        require(len(ranges) < 100, "too many ranges to be named")
        yield from ranges


def beside_writers(base, source, rounds):
    """A volume is copied while it is written; nothing of the copy is shown that was never there."""
    _, dice = seeded("copies")
    report = os.open(f"{base}/versions", os.O_RDWR | os.O_CREAT)
    files = [Written(source, number, report) for number in range(3)]
    children = []
    for file in files:
        child = os.fork()
        if child == 0:
            try:
                file.work(dice.random() + file.number)
            finally:
                os._exit(1)
        children.append(child)
    refused = changed = 0
    try:
        for number in range(rounds):
            guard = watch(60)
            time.sleep(dice.random() * 0.2)
            copy = elsewhere(f"{base}/busy{number}", source.key)
            run("cp", "-a", f"{source.upper}/.", copy.upper)
            last = [file.versions() + 1 for file in files]
            copy.mount()
            with copy:
                refused += sum(file.check(copy, version) for file, version in zip(files, last))
                changed += sum(file.changed for file in files)
            guard.cancel()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    for file in files:
        os.unlink(file.path)
    require(changed, "nobody wrote")
    print(f"{rounds} copies beside writers, {changed} blocks of them written over, {refused} refused")


def main():
    guard = watch(240)
    base, rounds = sys.argv[1], int(sys.argv[2])
    source = Vault(base)
    with source:
        beside_writers(base, source, rounds)
        os.mkdir(f"{source.path}/c/deep")
        for path, data in FILES.items():
            with open(f"{source.path}/{path}", "wb") as file:
                file.write(data)
        exported = f"{base}/exported"
        run(VARVE, "key", "export", source.path, exported)
        isMounted = f"{base}/while-mounted"
        live = elsewhere(isMounted, source.key)
        run("cp", "-a", f"{source.upper}/.", live.upper)
    live.mount(keyfile=False)
    with live:
        check("cp -a of a mounted volume", True, live, exported)
    for number, name in enumerate(copies("", "")):
        vault = elsewhere(f"{base}/copy{number}", source.key)
        hasAttributes, command = copies(source.upper, vault.upper)[name]
        run("/bin/bash", "-euo", "pipefail", "-c", command)
        vault.mount(keyfile=False)
        with vault:
            check(name, hasAttributes, vault, exported)
    repair(base, source, 0)
    guard.cancel()


if __name__ == "__main__":
    main()
