"""Holds files of a lower in every way while they are changed, renamed, replaced and removed; says what is wrong.

inuse.py BASE: `BASE/mount` is mounted over `BASE/lower`, which was made by `inuse.py BASE make`.
"""

import ctypes
import fcntl
import mmap
import os
import select
import struct
import subprocess
import sys
import time

BASE = sys.argv[1]
EVENTS = ["write", "rename", "move", "replace", "remove", "link", "chmod", "exchange", "truncate", "shorten", "direct", "mapped"]
FIRST, SECOND = b"first " * 2000, b"SECOND"
BLOCK, SHORT = 4096, 5000
OFD_GETLK, OFD_SETLK = 36, 37
MODIFY, ATTRIB, MOVED_FROM, MOVED_TO, DELETE, CREATE = 2, 4, 0x40, 0x80, 0x200, 0x100
libc = ctypes.CDLL(None, use_errno=True)
wrong = []


def check(event, what, found, wanted=True):
    if found != wanted:
        wrong.append(f"{event}: {what}: {found!r:.80}, not {wanted!r:.80}")


def lock_struct(kind):
    return struct.pack("hhqqi4x", kind, 0, 0, 10, 0)


def others(path):
    """What another process may lock: flock exclusive, and an open file's range for writing."""
    code = (
        "import fcntl, os, struct, sys\n"
        "fd = os.open(sys.argv[1], os.O_RDWR)\n"
        "def may(work):\n"
        "    try:\n        work()\n        return True\n    except BlockingIOError:\n        return False\n"
        "one = may(lambda: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))\n"
        "two = may(lambda: fcntl.fcntl(fd, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 10, 0)))\n"
        "print(one, two)\n"
    )
    return subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True).stdout.strip()


class Watch:
    """inotify of a path."""

    def __init__(self, path, mask):
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if libc.inotify_add_watch(self.fd, path.encode(), mask) < 0:
            raise OSError(ctypes.get_errno(), path)

    def saw(self, mask):
        """Waits for all of these events."""
        seen, end = 0, time.monotonic() + 10
        while seen & mask != mask and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.2)[0]:
                data = os.read(self.fd, 4096)
                while data:
                    _, bits, _, length = struct.unpack("iIII", data[:16])
                    seen |= bits
                    data = data[16 + length:]
        return seen & mask == mask


def begin(event, directory, path, watch, around):
    """The first change of a file; the name and the content that it has then, and what the writer still holds.

    What has no name any more has None.
    """
    now, content, held = path, FIRST, []
    if event == "rename":
        now = f"{directory}/renamed"
        os.rename(path, now)
        check(event, "the directory's watch", around.saw(MOVED_FROM | MOVED_TO))
    elif event == "move":
        os.rename(directory, directory + "d")
        now = f"{directory}d/log"
    elif event == "replace":
        with open(f"{directory}/new", "wb") as file:
            file.write(b"other")
        os.rename(f"{directory}/new", path)
        check(event, "the new file", open(path, "rb").read(), b"other")
        now = None
    elif event == "remove":
        os.unlink(path)
        check(event, "the directory's watch", around.saw(DELETE))
        now = None
    elif event == "link":
        now = f"{directory}/second"
        os.link(path, now)
        check(event, "the directory's watch", around.saw(CREATE))
    elif event == "chmod":
        os.chmod(path, 0o600)
        check(event, "the watch of the file", watch.saw(ATTRIB))
    elif event == "exchange":
        with open(f"{directory}/other", "wb") as file:
            file.write(b"other")
        now = f"{directory}/other"
        if libc.renameat2(-100, path.encode(), -100, now.encode(), 2) < 0:
            raise OSError(ctypes.get_errno(), "exchange")
    elif event == "truncate":
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))
        content = b""
        check(event, "the watch of the file", watch.saw(MODIFY))
    elif event == "shorten":
        writer = os.open(path, os.O_RDWR)
        os.ftruncate(writer, SHORT)
        os.close(writer)
        content = FIRST[:SHORT]
        check(event, "the watch of the file", watch.saw(MODIFY))
    elif event == "direct":
        writer = os.open(path, os.O_RDWR | os.O_DIRECT)
        # A mapping is aligned.
        with mmap.mmap(-1, BLOCK) as block:
            block[:] = b"D" * BLOCK
            check(event, "bytes written", os.pwritev(writer, [block], BLOCK), BLOCK)
            content = FIRST[:BLOCK] + b"D" * BLOCK + FIRST[2 * BLOCK:]
            check(event, "bytes read", os.preadv(writer, [block], 0), BLOCK)
            check(event, "its own descriptor", block[:], FIRST[:BLOCK])
        os.close(writer)
        check(event, "the watch of the file", watch.saw(MODIFY))
    elif event == "mapped":
        writer = os.open(path, os.O_RDWR)
        pages = mmap.mmap(writer, len(FIRST))
        os.close(writer)
        pages[BLOCK:BLOCK + 6] = b"MAPPED"
        content = FIRST[:BLOCK] + b"MAPPED" + FIRST[BLOCK + 6:]
        held.append(pages)
    return now, content, held


def main():
    mount = f"{BASE}/mount"
    for event in EVENTS:
        directory = f"{mount}/{event}"
        path = f"{directory}/log"
        reader = os.open(path, os.O_RDONLY)
        shared = mmap.mmap(reader, len(FIRST), mmap.MAP_SHARED, mmap.PROT_READ)
        check(event, "first bytes", bytes(shared), FIRST)
        number = os.fstat(reader).st_ino
        fcntl.flock(reader, fcntl.LOCK_SH)
        fcntl.fcntl(reader, OFD_SETLK, lock_struct(fcntl.F_RDLCK))
        tail = subprocess.Popen(["tail", "-s", "0.05", "-c", "+1", "-f", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        followed = b""
        while len(followed) < len(FIRST):
            followed += os.read(tail.stdout.fileno(), 65536)
        watch = Watch(path, MODIFY | ATTRIB)
        around = Watch(directory, MOVED_FROM | MOVED_TO | DELETE | CREATE)
        # What comes after it goes by the name that the file has then, or by who has it open.
        now, content, held = begin(event, directory, path, watch, around)
        name = now or f"/proc/{os.getpid()}/fd/{reader}"
        check(event, "the size", os.fstat(reader).st_size, len(content))
        check(event, "what an old descriptor reads", os.pread(reader, len(FIRST) + 1, 0), content)
        check(event, "what an old mapping shows", shared[:len(content)], content)
        check(event, "locks of before", others(name), "False False")
        writer = os.open(name, os.O_RDWR | os.O_APPEND)
        os.write(writer, SECOND)
        check(event, "the watch of the file", watch.saw(MODIFY))
        check(event, "an old descriptor", os.pread(reader, 100, len(content)), SECOND)
        if len(content) < len(FIRST):
            rest = min(len(content) // mmap.PAGESIZE * mmap.PAGESIZE + mmap.PAGESIZE, len(FIRST))
            check(event, "an old mapping", shared[len(content):rest], SECOND.ljust(rest - len(content), b"\0"))
        # A file that has become shorter is shown from its beginning.
        more = (b"" if len(content) == len(FIRST) else content) + SECOND
        limit = time.monotonic() + 15
        while len(followed) < len(FIRST) + len(more) and time.monotonic() < limit:
            if select.select([tail.stdout], [], [], 0.2)[0]:
                followed += os.read(tail.stdout.fileno(), 65536)
        check(event, "tail -f", followed[len(FIRST):], more)
        tail.kill()
        tail.wait()
        over = os.open(name, os.O_WRONLY)
        os.pwrite(over, b"FIRST", 0)
        check(event, "an old descriptor", os.pread(reader, 5, 0), b"FIRST")
        for pages in [shared, *held]:
            check(event, "an old mapping", pages[:5], b"FIRST")
        check(event, "the number", os.fstat(reader).st_ino, number)
        if now:
            check(event, "the number by name", os.stat(now).st_ino, number)
        fcntl.flock(reader, fcntl.LOCK_UN)
        fcntl.fcntl(reader, OFD_SETLK, lock_struct(fcntl.F_UNLCK))
        check(event, "locks when they are given up", others(name), "True True")
        for pages in [shared, *held]:
            pages.close()
        for fd in (reader, writer, over, watch.fd, around.fd):
            os.close(fd)
    for event in EVENTS:
        with open(f"{BASE}/lower/{event}/log", "rb") as file:
            check(event, "the lower", file.read(), FIRST)
    print("\n".join(wrong), end="")
    sys.exit(bool(wrong))


if sys.argv[2:] == ["make"]:
    for event in EVENTS:
        os.mkdir(f"{BASE}/lower/{event}")
        with open(f"{BASE}/lower/{event}/log", "wb") as file:
            file.write(FIRST)
else:
    main()
