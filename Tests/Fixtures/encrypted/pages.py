"""What a lock does to pages, descriptors and mappings that there are: pages.py BASE [OPTIONS]"""

import mmap
import os
import signal
import sys

from vault import Vault, cached, error_of, opened, opening, require, resident, wait_until, watch

SIZE = 1 << 20


def touched(memory, deed):
    """How a child ends that uses a mapping."""
    child = os.fork()
    if child == 0:
        deed(memory)
        os._exit(0)
    return os.waitpid(child, 0)[1]


def write(memory):
    memory[0:1] = b"x"


def dirtied(memory, want, places):
    for place in places:
        memory[place : place + 5] = b"dirty"
        want[place : place + 5] = b"dirty"


def complete(vault):
    """Class A: nothing can be had while it is locked, and all of it afterwards."""
    path, data = f"{vault.path}/a/file", os.urandom(SIZE)
    file, want = opened(path, data), bytearray(data)
    memory = mmap.mmap(file, SIZE)
    require(memory[:] == data, "the mapping differs")
    dirtied(memory, want, [5, 5000, 900_000])
    if cached(file) is not None:
        require(cached(file) == SIZE // 4096, f"{cached(file)} pages are cached before the lock")
    vault.lock()
    require(cached(file) in (0, None), f"{cached(file)} pages are cached after the lock")
    require(resident(memory) == 0, f"{resident(memory)} pages are resident after the lock")
    refused = {
        "read": lambda: os.pread(file, 10, 0),
        "write": lambda: os.pwrite(file, b"x", 0),
        "append": lambda: os.pwrite(file, b"x", SIZE),
        "truncate": lambda: os.ftruncate(file, 5),
        "truncate by path": lambda: os.truncate(path, 5),
        "truncate to nothing": lambda: os.truncate(path, 0),
        "extend": lambda: os.ftruncate(file, SIZE + 5),
        "allocate": lambda: os.posix_fallocate(file, 0, SIZE + 5),
        "data": lambda: os.lseek(file, 0, os.SEEK_DATA),
        "hole": lambda: os.lseek(file, 0, os.SEEK_HOLE),
        "open": lambda: os.open(path, os.O_RDONLY),
        "open to write": lambda: os.open(path, os.O_WRONLY),
        "open and truncate": lambda: os.open(path, os.O_WRONLY | os.O_TRUNC),
        "make": lambda: os.open(path + "-new", os.O_WRONLY | os.O_CREAT),
        "make unnamed": lambda: os.open(f"{vault.path}/a", os.O_TMPFILE | os.O_RDWR),
        "copy from it": lambda: os.copy_file_range(file, other, 5, 0, 0),
        "copy to it": lambda: os.copy_file_range(other, file, 5, 0, 0),
        "send": lambda: os.sendfile(other, file, 0, 5),
    }
    other = os.open(f"{vault.path}/plain", os.O_RDWR | os.O_CREAT, 0o644)
    os.write(other, b"plain bytes")
    for name, call in refused.items():
        require(error_of(call) == "ENOKEY", f"{name}: {error_of(call)}")
    require(os.pread(other, 20, 0) == b"plain bytes", "a plain file has changed")
    allowed = {
        "fsync": lambda: os.fsync(file),
        "fdatasync": lambda: os.fdatasync(file),
        "stat": lambda: os.stat(path),
        "access": lambda: os.access(path, os.R_OK) or os.stat("/none"),
        "chmod": lambda: os.chmod(path, 0o600),
        "utimes": lambda: os.utime(path, (5, 5)),
        "attributes": lambda: os.setxattr(path, "user.x", b"y"),
        "rename": lambda: os.rename(path, path + "2"),
        "link": lambda: os.link(path + "2", path),
        "unlink": lambda: os.unlink(path + "2"),
        "mkdir": lambda: os.mkdir(f"{vault.path}/a/directory"),
        "list": lambda: os.listdir(f"{vault.path}/a"),
    }
    for name, call in allowed.items():
        require(error_of(call) is None, f"{name}: {error_of(call)}")
    require(os.stat(path).st_size == SIZE, "another size")
    for deed in (lambda memory: memory[0], write):
        status = touched(memory, deed)
        require(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGBUS, f"the mapping: {status}")
    vault.unlock()
    require(memory[:] == want, "a mapping differs after unlock")
    require(os.pread(file, SIZE, 0) == want, "a descriptor reads something else after unlock")
    require(os.pwrite(file, b"again", 0) == 5 and memory[:5] == b"again", "a write after unlock")
    os.fsync(file)
    with open(path, "rb") as again:
        require(again.read() == b"again" + want[5:], "opened again it differs")
    require(os.stat(path).st_mtime > 5, "a write moves the time")
    memory.close()
    for number in (file, other):
        os.close(number)


def unless_open(vault):
    """Class B: what is open stays open, and new files can be made."""
    path, data = f"{vault.path}/b/file", os.urandom(SIZE)
    closed = opened(f"{vault.path}/b/closed", data)
    os.close(closed)
    file, want = opened(path, data), bytearray(data)
    memory = mmap.mmap(file, SIZE)
    dirtied(memory, want, [7, 70_000])
    vault.lock()
    require(memory[:] == want and os.pread(file, SIZE, 0) == want, "an open file has another content")
    dirtied(memory, want, [9, 400_000])
    os.pwrite(file, b"while locked", 100)
    want[100:112] = b"while locked"
    os.fsync(file)
    require(error_of(opening(f"{vault.path}/b/closed")) == "ENOKEY", "a closed file")
    require(error_of(lambda: os.truncate(f"{vault.path}/b/closed", 0)) == "ENOKEY", "a closed file is cut")
    new = opened(f"{vault.path}/b/new", b"made while locked")
    require(os.pread(new, 50, 0) == b"made while locked", "a new file")
    os.close(new)
    require(error_of(opening(f"{vault.path}/b/new")) == "ENOKEY", "the new file is closed")
    memory.close()
    os.close(file)
    # The kernel tells of a last close later.
    wait_until(lambda: error_of(opening(path)) == "ENOKEY", "it stays open")
    vault.unlock()
    file = os.open(path, os.O_RDWR)
    require(os.pread(file, SIZE, 0) == want, "a file closed while locked differs")
    os.close(file)
    with open(f"{vault.path}/b/new", "rb") as new:
        require(new.read() == b"made while locked", "a new file differs")


def kilobytes_cached():
    with open("/proc/meminfo") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("Cached:"))


def unless_open_pages(vault):
    """The pages of a class B file go with its last close; nobody can open it to ask, so the machine is asked."""
    size = 200 << 20
    path = f"{vault.path}/b/large"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    for _ in range(size >> 20):
        os.write(file, bytes(1 << 20))
    os.fsync(file)
    vault.lock()
    for at in range(0, size, 1 << 20):
        os.pread(file, 1 << 20, at)
    if cached(file) is not None:
        require(cached(file) > size >> 13, "what is read is not kept")
    # Those of the backing file count, too.
    below = os.open(f"{vault.upper}/b/large", os.O_RDONLY)
    os.posix_fadvise(below, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(below)
    before = kilobytes_cached()
    os.close(file)
    wait_until(lambda: before - kilobytes_cached() > size >> 11, "the pages of a file closed while locked stay")
    vault.unlock()
    os.unlink(path)


def until_first_unlock(vault):
    """Class C: open until all is locked."""
    path = f"{vault.path}/c/file"
    file = opened(path, b"until all is locked")
    vault.lock()
    require(os.pread(file, 50, 0) == b"until all is locked", "class C")
    with open(path, "rb") as again:
        require(again.read() == b"until all is locked", "class C by path")
    os.close(opened(f"{vault.path}/c/new", b"new"))
    vault.lock("--all")
    require(error_of(lambda: os.pread(file, 5, 0)) == "ENOKEY", "class C after all was locked")
    require(error_of(opening(path)) == "ENOKEY", "class C by path after all was locked")
    vault.unlock()
    require(os.pread(file, 50, 0) == b"until all is locked", "class C again")
    os.close(file)


def hurried(vault):
    """What was not written back is lost with --now, and whoever syncs is told; what was synced is not."""
    path, data = f"{vault.path}/a/hurried", os.urandom(SIZE)
    file = opened(path, data)
    os.fsync(file)
    memory = mmap.mmap(file, SIZE)
    memory[5000:5005] = b"dirty"
    locked = vault.lock("--now", check=False)
    require(locked.returncode in (0, 1), locked.stderr)
    require(cached(file) in (0, None), "pages after --now")
    vault.unlock()
    got = os.pread(file, SIZE, 0)
    require(got[:4096] == data[:4096] and got[8192:] == data[8192:], "--now changed other pages")
    require(got[4096:8192] in (data[4096:8192], data[4096:5000] + b"dirty" + data[5005:8192]), "--now: a mixture")
    require(got == data or locked.returncode == 0, "told as lost, and there")
    if got == data:
        require(locked.returncode == 1 and "lost" in locked.stderr, f"not told: {locked}")
        require(error_of(lambda: os.fsync(file)) in ("EIO", "ENOKEY"), "fsync says nothing of what is lost")
    memory.close()
    os.close(file)


def removed(vault):
    """A file without a name, and one that another was renamed over."""
    files = []
    for name in ("unlinked", "replaced"):
        files.append(opened(f"{vault.path}/a/{name}", name.encode() * 1000))
    os.unlink(f"{vault.path}/a/unlinked")
    os.close(opened(f"{vault.path}/a/aside", b"aside"))
    os.rename(f"{vault.path}/a/aside", f"{vault.path}/a/replaced")
    vault.lock()
    for file in files:
        require(error_of(lambda: os.pread(file, 5, 0)) == "ENOKEY", "an unnamed file")
    vault.unlock()
    for file, name in zip(files, ("unlinked", "replaced")):
        require(os.pread(file, 20_000, 0) == name.encode() * 1000, "an unnamed file after unlock")
        os.pwrite(file, b"more", 3)
        require(os.pread(file, 7, 0)[3:] == b"more", "an unnamed file is written")
        os.close(file)
    with open(f"{vault.path}/a/replaced", "rb") as file:
        require(file.read() == b"aside", "what was renamed")


def main():
    vault = Vault(sys.argv[1], *sys.argv[2:3])
    failures = []
    for part in (complete, unless_open, unless_open_pages, until_first_unlock, hurried, removed):
        guard = watch(60)
        try:
            part(vault)
        except (SystemExit, OSError) as failure:
            failures.append(f"{part.__name__}: {failure}")
            vault.unlock()
        guard.cancel()
    if not failures:
        vault.unmount()
    raise SystemExit("\n".join(failures) or 0)


if __name__ == "__main__":
    main()
