"""Encrypted files where there is too much or too little: limits.py BASE"""

import ctypes
import errno
import mmap
import os
import random
import shutil
import struct
import sys
import time

from vault import CLASS, VARVE, Vault, become, error_of, libc, require, run, seeded, watch

GIB = 1 << 30


def timed(seconds, what, work):
    started = time.monotonic()
    result = work()
    took = time.monotonic() - started
    require(took < seconds, f"{what} took {took:.1f} s")
    return result


def sparse(vault):
    """Nothing walks the index of a large file that has little in it."""
    path = f"{vault.path}/a/sparse"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    timed(1, "extending", lambda: os.ftruncate(file, 10 * GIB))
    timed(1, "the first write", lambda: os.pwrite(file, b"end", 10 * GIB - 3))
    timed(1, "another write", lambda: os.pwrite(file, b"middle", 5 * GIB))
    timed(1, "a sync", lambda: os.fsync(file))
    require(os.fstat(file).st_blocks < 100_000, "holes take room")
    timed(1, "closing", lambda: os.close(file))
    vault.unmount()
    vault.mount()
    # Not for both: what may be mapped for writing shows no holes.
    writer, file = os.open(path, os.O_WRONLY), os.open(path, os.O_RDONLY)
    timed(1, "the first write of a mount", lambda: os.pwrite(writer, b"third", 7 * GIB))
    places = []
    at = 0
    while error_of(lambda: os.lseek(file, at, os.SEEK_DATA)) is None:
        places.append(timed(1, "looking for data", lambda: os.lseek(file, at, os.SEEK_DATA)))
        at = timed(1, "looking for a hole", lambda: os.lseek(file, places[-1], os.SEEK_HOLE))
    require(places == [5 * GIB, 7 * GIB, 10 * GIB - 4096], f"data at {places}")

    def punch(start, end):
        require(libc.fallocate(writer, 3, ctypes.c_long(start), ctypes.c_long(end - start)) == 0, "punch")

    timed(1, "punching", lambda: punch(6 * GIB, 9 * GIB))
    require(os.pread(file, 5, 7 * GIB) == bytes(5), "a hole has bytes")
    require(os.lseek(file, 6 * GIB, os.SEEK_DATA) == 10 * GIB - 4096, "punched data are found")
    timed(1, "cutting", lambda: os.ftruncate(writer, GIB))
    timed(1, "cutting lower", lambda: os.ftruncate(writer, GIB // 2))
    timed(1, "extending again", lambda: os.ftruncate(writer, 10 * GIB))
    require(os.pread(file, 6, 5 * GIB) == bytes(6), "what was cut off is there again")
    timed(1, "a sync after cutting", lambda: (os.fsync(writer), os.fsync(writer)))
    os.pwrite(writer, b"crash", 3 * GIB)
    os.fsync(writer)
    vault.kill()
    os.close(writer)
    os.close(file)
    vault.mount()
    file = os.open(path, os.O_RDWR)
    timed(2, "the first write after a crash", lambda: os.pwrite(file, b"again", 2 * GIB))
    require(os.pread(file, 5, 3 * GIB) == b"crash", "what was synced")
    os.close(file)
    timed(1, "opening", lambda: os.close(os.open(path, os.O_RDONLY)))
    os.unlink(path)


def mapped(vault):
    """A copy has what was written through a mapping, which the kernel has not brought yet."""
    path, size = f"{vault.path}/a/mapped", 1 << 20
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.ftruncate(file, size)
    memory = mmap.mmap(file, size)
    os.close(file)
    memory[500_000:500_005] = b"dirty"
    run("cp", path, f"{path}-copy")
    with open(f"{path}-copy", "rb") as copy:
        require(copy.read() == memory[:], "a copy of a mapped file differs")
    memory.close()


def many_users(vault):
    """Each writes files of their own, and all of them one log."""
    shared, lines = f"{vault.path}/a/shared", 40
    os.mkdir(shared)
    os.chmod(shared, 0o777)
    with open(f"{shared}/log", "wb"):
        os.chmod(f"{shared}/log", 0o666)

    def work(user):
        become(user)
        dice = random.Random(user)
        for number in range(lines):
            data = dice.randbytes(dice.randrange(20_000))
            with open(f"{shared}/{user}.new", "wb") as file:
                file.write(data)
            os.rename(f"{shared}/{user}.new", f"{shared}/{user}")
            with open(f"{shared}/{user}", "rb") as file:
                require(file.read() == data, f"{user}'s file differs")
            log = os.open(f"{shared}/log", os.O_WRONLY | os.O_APPEND)
            os.write(log, b"%d %03d\n" % (user, number))
            os.close(log)

    children = []
    for user in range(3001, 3013):
        child = os.fork()
        if child == 0:
            try:
                work(user)
            except BaseException as failure:
                print(f"{user}: {failure}", flush=True)
                os._exit(1)
            os._exit(0)
        children.append(child)
    require(not any([os.waitpid(child, 0)[1] for child in children]), "a user failed")
    with open(f"{shared}/log") as log:
        found = sorted(log.read().splitlines())
    require(found == [f"{user} {n:03d}" for user in range(3001, 3013) for n in range(lines)], "lines are missing")


def hard_links(vault):
    one, two, out = f"{vault.path}/a/one", f"{vault.path}/b/two", f"{vault.path}/out"
    with open(one, "wb") as file:
        file.write(b"q" * 9000)
    os.link(one, two)
    os.link(one, out)
    with open(two, "r+b") as file:
        file.write(b"W")
    for path in (one, out):
        with open(path, "rb") as file:
            require(file.read(2) == b"Wq", f"{path} differs")
    os.unlink(one)
    vault.lock()
    for path in (two, out):
        require(error_of(lambda: open(path, "rb")) == "ENOKEY", f"{path} is open")
    vault.unlock()


def capabilities(vault):
    """The last slot of a file, which is written below when nobody writes any more, takes nothing from it."""
    capability = struct.pack("<IIIII", 0x02000001, 1 << 10, 0, 0, 0)
    for way in ("close", "lock", "class"):
        path = f"{vault.path}/a/{way}"
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o755)
        os.write(file, b"x" * 300_000)
        os.fsync(file)
        # Behind the part of the index that lies beside the slots.
        os.pwrite(file, b"y" * 5000, 200_000)
        os.chmod(path, 0o4755)
        os.setxattr(path, "security.capability", capability)
        os.utime(path, (5, 5))
        before = os.stat(vault.upper + path[len(vault.path) :]).st_ctime_ns
        if way == "lock":
            vault.lock()
            vault.unlock()
        elif way == "class":
            os.setxattr(path, CLASS, b"until-first-unlock")
        os.close(file)
        end = time.monotonic() + 10
        # The kernel tells of a last close later.
        while os.stat(vault.upper + path[len(vault.path) :]).st_ctime_ns == before:
            require(time.monotonic() < end, f"{way}: nothing was written below")
            time.sleep(0.01)
        time.sleep(0.05)
        require(os.getxattr(path, "security.capability") == capability, f"{way}: another capability")
        status = os.stat(path)
        require(status.st_mode & 0o7777 == 0o4755, f"{way}: the mode is {status.st_mode:o}")
        require(status.st_mtime == 5, f"{way}: the time is {status.st_mtime}")


def session_of(path):
    """The session that wrote the slot of a backing file that counts."""
    with open(path, "rb") as file:
        slots = [os.pread(file.fileno(), 40, at) for at in (1024, 1536)]
    return max((int.from_bytes(slot[:8], "little"), int.from_bytes(slot[32:40], "little")) for slot in slots)[1]


def times(vault):
    """What is done below when a program has set the time and has gone leaves it: room that is given back, the end of a
    session, and what becomes of a file that was being written when the daemon was killed.
    """
    moment = 1_234_567_890_123_456_789

    def written(name, kind="a"):
        path = f"{vault.path}/{kind}/{name}"
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        for _ in range(3):
            os.pwrite(file, os.urandom(20 << 12), 0)
            os.fsync(file)
        os.pwrite(file, os.urandom(5 << 12), 0)
        os.utime(path, ns=(moment, moment))
        return path, vault.upper + path[len(vault.path) :], file

    def wait(condition, what):
        end = time.monotonic() + 10
        while not condition():
            require(time.monotonic() < end, f"{what} does not come")
            time.sleep(0.01)

    def check(what, below, *paths):
        for path in paths:
            found = os.stat(path).st_mtime_ns
            require(found == moment, f"{what}: {path} was modified at {found}")
        # There the time is given back after each write.
        wait(lambda: os.stat(below).st_mtime_ns == moment, f"{what}: the time of {below}")

    path, below, file = written("spare")
    size = os.stat(below).st_blocks
    os.close(file)
    wait(lambda: os.stat(below).st_blocks < size, "room that is given back")
    check("spare pages", below, path)

    path, below, file = written("ended")
    log = f"{vault.upper}/.varve/sessions"
    with open(log, "rb") as running:
        before = running.read()
    os.close(file)
    vault.lock()

    def ended():
        with open(log, "rb") as now:
            return now.read() != before

    wait(ended, "the end of a session")
    check("the end of a session", below, path)
    vault.unlock()

    for kind, way in (("a", "class"), ("b", "fsck"), ("c", "write")):
        path, below, file = written(way, kind)
        os.fsync(file)
        os.pwrite(file, b"not synced", 12_345)
        os.utime(path, ns=(moment, moment))
        session = session_of(below)
        vault.kill()
        os.close(file)
        check("a kill", below)
        if way == "fsck":
            run(VARVE, "fsck", "--repair", "--keyfile", vault.key, vault.upper)
            check("a repair", below)
        vault.mount()
        if way == "class":
            os.setxattr(path, CLASS, b"until-first-unlock")
        if way == "write":
            file = os.open(path, os.O_WRONLY)
            os.pwrite(file, b"x", 0)
            os.utime(path, ns=(moment, moment))
            changed = os.stat(below).st_ctime_ns
            os.close(file)
            wait(lambda: os.stat(below).st_ctime_ns != changed, "the last slot")
        # A class is another wrapping of the key, and needs no recovery.
        require((session_of(below) != session) == (way != "class"), f"{way}: session {session} became {session_of(below)}")
        check(f"recovery by {way}", below, path)
        with open(path, "rb") as again:
            require(again.read()[12_345:].startswith(b"not synced"), f"{way}: another content")


def read_only(vault):
    """A volume that is mounted read-only, or remounted so, is unlocked and locked like another."""
    path = f"{vault.path}/a/kept"
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(file, b"before")
    remounted = run(VARVE, "remount", "-o", "ro", vault.path, check=False)
    require("EBUSY" in remounted.stderr, f"remounted below a writer: {remounted}")
    os.pwrite(file, b"B", 0)
    os.close(file)
    run(VARVE, "remount", "-o", "ro", vault.path)
    require(error_of(lambda: open(path, "r+b")) == "EROFS", "it can be written")
    vault.lock()
    require(error_of(lambda: open(path, "rb")) == "ENOKEY", "it can be read")
    require(error_of(lambda: open(path, "r+b")) == "EROFS", "read-only comes first")
    vault.unlock()
    require(open(path, "rb").read() == b"Before", "it differs")
    vault.unmount()
    vault.mount(options="ro", keyfile=False)
    vault.unlock()
    require(open(path, "rb").read() == b"Before", "it differs in a read-only mount")
    run(VARVE, "remount", "-o", "rw", vault.path)
    with open(path, "r+b") as file:
        file.write(b"again!")
    vault.unmount()
    vault.mount()
    require(open(path, "rb").read() == b"again!", "it differs after a remount")


def full(base, kind):
    """ENOSPC is told and nothing is broken by it; with room again all goes on."""
    _, dice = seeded(f"full {kind}")
    place = f"{base}/{kind}"
    os.makedirs(f"{place}/upper")
    if kind == "tmpfs":
        run("mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", f"{place}/upper")
    else:
        run("truncate", "-s", "16M", f"{place}/image")
        run("mkfs.ext4", "-q", "-m", "0", f"{place}/image")
        run("mount", "-o", "loop", f"{place}/image", f"{place}/upper")
    try:
        with Vault(place) as vault:
            fill(vault, dice)
    finally:
        run("umount", "-l", f"{place}/upper", check=False)


def tried(work):
    """Whether there was room."""
    try:
        work()
    except OSError as failure:
        require(failure.errno == errno.ENOSPC, f"{failure}")
        return False
    return True


def fill(vault, dice):
    path = f"{vault.path}/a/kept"
    model = bytearray(dice.randbytes(1_500_000))
    file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    os.write(file, model)
    os.fsync(file)
    filler = os.open(f"{vault.path}/a/filler", os.O_RDWR | os.O_CREAT, 0o644)
    content = bytearray()
    while True:
        data = dice.randbytes(50_000)
        try:
            content += data[: os.write(filler, data)]
        except OSError as failure:
            require(failure.errno == errno.ENOSPC, f"{failure}")
            break
    require(os.fstat(filler).st_size == len(content), "a refused write moves the end")

    def same(complaint):
        for number, want in ((file, model), (filler, content)):
            os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
            require(os.pread(number, 20_000_000, 0) == want, complaint)

    same("full, and it differs")
    for step in range(200):
        at = dice.randrange(len(model) - 20_000)
        data = dice.randbytes(dice.choice([10, 4096, 20_000]))
        try:
            count = os.pwrite(file, data, at)
            model[at : at + count] = data[:count]
        except OSError as failure:
            require(failure.errno == errno.ENOSPC, f"{failure}")
        if step % 20 == 0:
            tried(lambda: os.fsync(file))
    same("overwritten while full, it differs")
    if tried(lambda: os.ftruncate(file, 1_000_001)):
        del model[1_000_001:]
    tried(lambda: open(f"{vault.path}/a/small", "wb").write(b"x" * 100))
    same("cut while full, it differs")
    locked = vault.lock(check=False)
    require(locked.returncode == 0, f"lock while full: {locked.stderr}")
    vault.unlock()
    same("locked while full, it differs")
    with open(f"{vault.upper}/junk", "wb", buffering=0) as junk:
        while tried(lambda: junk.write(bytes(4096))):
            pass
    changed = run(VARVE, "protect", "complete-unless-open", path, check=False)
    require("ENOSPC" in changed.stderr, f"there was room for another class: {changed.stderr}")
    require("second copy" not in changed.stderr, f"between classes only a key is stored: {changed.stderr}")
    os.unlink(f"{vault.upper}/junk")
    same("refused another class while full, it differs")
    os.close(filler)
    os.unlink(f"{vault.path}/a/filler")
    # The kernel tells the daemon of a close when that has returned.
    end = time.monotonic() + 20
    while not tried(lambda: os.pwrite(file, b"z" * 50_000, 0)):
        require(time.monotonic() < end, "a removed file gives no room back")
        time.sleep(0.01)
    model[:50_000] = b"z" * 50_000
    os.fsync(file)
    vault.kill()
    os.close(file)
    vault.mount()
    with open(path, "rb") as again:
        require(again.read() == model, "after a crash it differs")


def main():
    base = sys.argv[1]
    with Vault(base) as vault:
        for part in (sparse, mapped, many_users, hard_links, capabilities, times, read_only):
            guard = watch(120)
            part(vault)
            guard.cancel()
    for kind in ("tmpfs", "ext4"):
        if kind == "tmpfs" or shutil.which("mkfs.ext4"):
            full(base, kind)


if __name__ == "__main__":
    main()
