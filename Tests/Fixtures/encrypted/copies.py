"""Copies of an upper directory, with and without attributes, opened elsewhere with the keyfile: copies.py BASE"""

import os
import sys

from vault import VARVE, Vault, error_of, require, run, watch

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
    }


def stored(path):
    with open(path, "rb") as file:
        return file.read()


def check(name, hasAttributes, vault, exported):
    """What is in a copy that was opened elsewhere."""
    for path, data in FILES.items():
        if not data:
            continue
        locked = error_of(lambda: stored(f"{vault.path}/{path}"))
        if "without .varve" not in name:
            require(locked == "ENOKEY", f"{name}: {path} is readable while locked: {locked}")
            size = os.stat(f"{vault.path}/{path}").st_size
            require(size == len(data), f"{name}: {path} has another size while locked: {size}")
    keybag = ["--keybag", exported] if "without .varve" in name else []
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


def main():
    guard = watch(120)
    base = sys.argv[1]
    source = Vault(base)
    with source:
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
    guard.cancel()


if __name__ == "__main__":
    main()
