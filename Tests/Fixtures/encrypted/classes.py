"""What a change of class needs while classes are locked, and what it leaves of a file: classes.py BASE [OPTIONS]

Files of class b can be made while it is locked, so a file of class c can get it then.
"""

import mmap
import os
import sys

from vault import CLASS, CLASSES, VARVE, Vault, class_of, error_of, opening, require, run, stored, wait_until, watch

A, B, C, NONE = CLASSES["a"], CLASSES["b"], CLASSES["c"], b"none"
SIZE = 50_000


def change(path, word):
    return error_of(lambda: os.setxattr(path, CLASS, word))


def make(path, size=SIZE):
    """A file with random bytes and a time that is long past."""
    data = os.urandom(size)
    with open(path, "wb") as file:
        file.write(data)
    os.utime(path, (5, 5))
    return data


def refused(vault):
    """Every other change of a file while a and b are locked, and all of them once c is, too."""
    wanted = {
        ("a", B): "ENOKEY", ("a", C): "ENOKEY", ("a", NONE): "ENOKEY",
        ("b", A): "ENOKEY", ("b", C): "ENOKEY", ("b", NONE): "ENOKEY",
        ("c", A): "ENOKEY", ("plain", A): "ENOKEY",
    }  # fmt: skip
    paths = {name: f"{vault.path}/{name}/refused" for name in ("a", "b", "c", "plain")}
    content = {name: make(path) for name, path in paths.items()}
    vault.lock()
    for (name, word), want in wanted.items():
        got = change(paths[name], word)
        require(got == want, f"{name} to {word} while a and b are locked: {got}, not {want}")
    require(stored(paths["c"]) == content["c"], "a file that did not get a class is closed")
    vault.lock("--all")
    got = [change(paths["c"], word) for word in (A, B, NONE)]
    require(got == ["ENOKEY"] * 3, f"c to another class while all is locked: {got}")
    vault.unlock()
    for name, path in paths.items():
        require(stored(path) == content[name], f"{name}: a change that is refused changes the content")
        require(class_of(path) == CLASSES.get(name, NONE), f"{name}: a change that is refused leaves {class_of(path)}")


def closed(vault):
    """Files that nobody has open get class b while it is locked, and are closed by that."""
    paths = {name: f"{vault.path}/{name}" for name in ("c/closed", "c/program", "plain/closed")}
    content = {path: make(path) for path in paths.values()}
    empty = f"{vault.path}/c/empty"
    os.close(os.open(empty, os.O_WRONLY | os.O_CREAT, 0o644))
    vault.lock()
    require(stored(paths["c/closed"]) == content[paths["c/closed"]], "class c is locked")
    for path in (paths["c/closed"], paths["plain/closed"], empty):
        require(change(path, B) is None, f"{path} does not get class b while that is locked")
    run(VARVE, "protect", "b", paths["c/program"])
    for path, data in content.items():
        status = os.stat(path)
        require(class_of(path) == B, f"{path} has the class {class_of(path)}")
        require(status.st_size == len(data), f"{path} is shown with {status.st_size} bytes")
        require(status.st_mtime == 5, f"{path}: a change of class moves the time")
        require(error_of(opening(path)) == "ENOKEY", f"{path} can be read although its class is locked")
        require(error_of(opening(path, os.O_WRONLY)) == "ENOKEY", f"{path} can be written although its class is locked")
        got = [change(path, word) for word in (A, C, NONE)]
        require(got == ["ENOKEY"] * 3, f"{path} loses its class while that is locked: {got}")
    with open(empty, "wb") as file:
        file.write(b"first bytes")
    require(error_of(opening(empty)) == "ENOKEY", "an empty file that got class b can be read while that is locked")
    vault.unlock()
    content[empty] = b"first bytes"
    for path, data in content.items():
        require(stored(path) == data, f"{path} has other bytes")


def held(vault):
    """A file that is open when it gets class b stays open until its last close."""

    def in_use():
        return vault.status()["encryptedFiles"][B.decode()]["inUse"]

    path = f"{vault.path}/c/held"
    want = bytearray(make(path))
    file = os.open(path, os.O_RDWR)
    memory = mmap.mmap(file, SIZE)
    memory[7:12] = want[7:12] = b"dirty"
    vault.lock()
    require(change(path, B) is None, "an open file does not get class b while that is locked")
    require(os.pread(file, SIZE, 0) == want and memory[:] == want, "an open file has other bytes")
    os.pwrite(file, b"after", 20_000)
    want[20_000:20_005] = b"after"
    memory[40_000:40_006] = want[40_000:40_006] = b"mapped"
    os.fsync(file)
    require(error_of(opening(path)) == "ENOKEY", "what is open is opened a second time although its class is locked")
    require(in_use() == 1, "an open file of a locked class is not told as in use")
    memory.close()
    os.close(file)
    # The kernel tells of a last close later.
    wait_until(lambda: in_use() == 0, "it stays in use after its last close")
    require(error_of(opening(path)) == "ENOKEY", "it can be opened after its last close although its class is locked")
    vault.unlock()
    require(stored(path) == want, "a file that was open has other bytes")


def directory(vault):
    """So does a directory; files can be made in it, and not be read."""
    path = f"{vault.path}/c/directory"
    os.mkdir(path)
    vault.lock()
    got = [change(path, word) for word in (A, B, C)]
    require(got == ["ENOKEY", None, "ENOKEY"], f"a directory gets a, b and c: {got}")
    data = make(f"{path}/new")
    require(class_of(f"{path}/new") == B, "what is made in it has another class")
    require(error_of(opening(f"{path}/new")) == "ENOKEY", "what was made in it can be read while its class is locked")
    vault.unlock()
    require(stored(f"{path}/new") == data, "what was made in it has other bytes")


def before(vault):
    """Before the first unlock nothing gets class b, because its public key is not known."""
    path = f"{vault.path}/plain/before"
    data = make(path)
    vault.unmount()
    vault.mount(keyfile=False)
    require(change(path, B) == "ENOKEY", "a file gets class b before the first unlock")
    require(stored(path) == data, "a file that did not get a class has other bytes")
    vault.unlock()


def main():
    guard = watch(60)
    with Vault(*sys.argv[1:3]) as vault:
        os.mkdir(f"{vault.path}/plain")
        for part in (refused, closed, held, directory, before):
            part(vault)
        verified = run(VARVE, "verify", "-R", vault.path)
        require("no damage" in verified.stdout, f"verify: {verified.stdout}")
        vault.unmount()
        checked = run(VARVE, "fsck", "--keyfile", vault.key, vault.upper, check=False)
        require(checked.returncode == 0 and not checked.stdout, f"fsck: {checked.stdout}{checked.stderr}")
        vault.mount()
    guard.cancel()


if __name__ == "__main__":
    main()
