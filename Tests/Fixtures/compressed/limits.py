"""Full disks, sharers, mappings, copies, layers and programs of compressed files.

limits.py BASE
"""

import mmap
import os
import shutil
import subprocess
import sys
import threading

from stage import DOOR, VARVE, Failure, Soft, Volume, compress, error_of, form, require, run, seeded, watch, zstd

CONTENT = b"".join(b"line %d of a text that says hardly anything\n" % n for n in range(60_000))


def made(path, content=CONTENT):
    with open(path, "wb") as file:
        file.write(content)
    require(compress(path), f"{path} is compressed")
    return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


def same(path, want=CONTENT):
    require(content(path) == want, f"{path} has another content")


def full_disk(base):
    os.makedirs(f"{base}/full")
    run("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", f"{base}/full")
    try:
        with Volume(f"{base}/full") as volume:
            path = made(f"{volume.path}/f")
            junk = os.open(f"{volume.upper}/junk", os.O_WRONLY | os.O_CREAT)
            require(error_of(lambda: [os.write(junk, bytes(4096)) for _ in range(4000)]) == "ENOSPC", "full")
            os.close(junk)
            stored = volume.stored("f")
            for work in (
                lambda: os.open(path, os.O_RDWR),
                lambda: os.truncate(path, 100),
                lambda: os.setxattr(path, DOOR, b"none"),
            ):
                require(error_of(work) == "ENOSPC", "there is no room")
                require(form(path) == "zstd" and volume.stored("f") == stored, "it stays compressed")
                same(path)
            os.unlink(f"{volume.upper}/junk")
            os.truncate(path, 100)
            same(path, CONTENT[:100])
            require(not os.listdir(f"{volume.upper}/.varve/work"), "nothing is left over")
    finally:
        run("umount", "-l", f"{base}/full")


def sharers(volume):
    path = made(f"{volume.path}/shared")
    reader = os.open(path, os.O_RDONLY)
    memory = mmap.mmap(reader, len(CONTENT), prot=mmap.PROT_READ)
    private = mmap.mmap(reader, len(CONTENT), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    private[0:3] = b"own"
    require(memory[1000:2000] == CONTENT[1000:2000], "a mapping")
    writer = os.open(path, os.O_RDWR)
    require(form(path) == "none", "a writer expands it")
    os.pwrite(writer, b"NEW", 5)
    want = CONTENT[:5] + b"NEW" + CONTENT[8:]
    require(memory[:] == want and os.pread(reader, len(want) + 9, 0) == want, "readers follow")
    require(private[0:3] == b"own", "what is private stays so")
    with mmap.mmap(writer, len(want)) as shared:
        shared[100:103] = b"MAP"
    want = want[:100] + b"MAP" + want[103:]
    require(memory[:] == want, "a mapping follows a mapping")
    require(error_of(lambda: os.setxattr(path, DOOR, b"zstd")) == "EBUSY", "it is open")
    os.close(writer)
    os.close(reader)
    require(error_of(lambda: os.setxattr(path, DOOR, b"zstd")) == "EBUSY", "it is mapped")
    memory.close()
    private.close()
    require(compress(path), "nobody has it")
    same(path, want)


def nameless(volume):
    path = made(f"{volume.path}/gone")
    reader = os.open(path, os.O_RDONLY)
    os.unlink(path)
    require(os.pread(reader, 100, 70_000) == CONTENT[70_000:70_100], "a file without a name")
    writer = os.open(f"/proc/self/fd/{reader}", os.O_RDWR)
    os.pwrite(writer, b"NEW", 0)
    require(os.pread(reader, 10, 0) == b"NEW" + CONTENT[3:10], "changed without a name")
    os.close(reader)
    os.close(writer)


def copies(volume):
    path = made(f"{volume.path}/copied")
    run("cp", path, path + ".cp")
    run("cp", "--sparse=always", path, path + ".sparse")
    run("dd", f"if={path}", f"of={path}.dd", "bs=1M", "iflag=direct", "status=none")
    for suffix in (".cp", ".sparse", ".dd"):
        same(path + suffix)
    require(form(path) == "zstd", "reading expands nothing")
    source, target = os.open(path, os.O_RDONLY), os.open(path + ".range", os.O_RDWR | os.O_CREAT)
    require(os.copy_file_range(source, target, 50_000, 60_000, 3) == 50_000, "copy_file_range")
    require(os.pread(target, 50_000, 3) == CONTENT[60_000:110_000], "what it copied")
    os.close(source)
    os.close(target)
    run("tar", "-C", volume.path, "-cf", f"{volume.base}/tar", "copied")
    os.makedirs(f"{volume.base}/untar", exist_ok=True)
    run("tar", "-C", f"{volume.base}/untar", "-xf", f"{volume.base}/tar")
    same(f"{volume.base}/untar/copied")
    listed = run(VARVE, "ls", "-lO", path).stdout
    require("compressed" in listed and str(len(CONTENT)) in listed, listed)
    require("c" in run("lsattr", path).stdout.split()[0], "lsattr")


def programs(volume):
    path = f"{volume.path}/cat"
    shutil.copy("/bin/cat", path)
    require(compress(path), "a program is compressed")
    running = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    running.stdin.write(b"hello\n")
    running.stdin.flush()
    require(running.stdout.readline() == b"hello\n", "it runs")
    require(error_of(lambda: os.open(path, os.O_WRONLY)) == "ETXTBSY", "it is running")
    os.setxattr(path, DOOR, b"none")
    running.stdin.write(b"again\n")
    running.stdin.close()
    require(running.stdout.readline() == b"again\n" and running.wait() == 0, "it goes on")
    same(path, content("/bin/cat"))


def crowd(volume):
    """Readers who come and go, and writers, while the file is compressed and expanded."""
    path = f"{volume.path}/crowd"
    made(path)
    ended = threading.Event()
    wrong = []

    def reader(number):
        choices = Soft(number)
        try:
            while not ended.is_set():
                with open(path, "rb", buffering=0) as file:
                    for _ in range(choices.randrange(4)):
                        start = choices.randrange(len(CONTENT))
                        if os.pread(file.fileno(), 5000, start) != CONTENT[start : start + 5000]:
                            wrong.append(f"reader {number} at {start}")
        except OSError as failure:
            wrong.append(f"reader {number}: {failure}")

    readers = [threading.Thread(target=reader, args=(number,)) for number in range(2)]
    for thread in readers:
        thread.start()
    done = 0
    for _ in range(60):
        done += error_of(lambda: os.setxattr(path, DOOR, b"zstd")) is None
        if error_of(lambda: os.setxattr(path, DOOR, b"none")):
            wrong.append("not expanded")
        os.close(os.open(path, os.O_RDWR))
    ended.set()
    for thread in readers:
        thread.join()
    require(not wrong, wrong[:5])
    same(path)
    print(f"compressed {done} times among readers")


def layers(base):
    lower = f"{base}/lower"
    with Volume(lower) as volume:
        for name in ("read", "moded", "written", "cut"):
            made(f"{volume.path}/{name}")
        os.chmod(f"{volume.path}/moded", 0o600)
    before = {name: content(f"{lower}/upper/{name}") for name in ("read", "moded", "written", "cut")}
    os.makedirs(f"{base}/over")
    volume = Volume(f"{base}/over", f"lower={lower}/upper")
    with volume:
        path = volume.path
        reader = os.open(f"{path}/moded", os.O_RDONLY)
        for name in before:
            same(f"{path}/{name}")
            require(form(f"{path}/{name}") == "zstd", "compressed below")
        os.chmod(f"{path}/moded", 0o644)
        require(volume.stored("moded") == before["moded"], "comes up as it is")
        require(os.pread(reader, 100, 90_000) == CONTENT[90_000:90_100], "a reader follows")
        os.close(reader)
        same(f"{path}/moded")
        with open(f"{path}/written", "r+b") as file:
            file.write(b"NEW")
        same(f"{path}/written", b"NEW" + CONTENT[3:])
        os.truncate(f"{path}/cut", 0)
        same(f"{path}/cut", b"")
        require(not os.path.exists(f"{volume.upper}/read"), "only read")
    for name, stored in before.items():
        require(content(f"{lower}/upper/{name}") == stored, f"the lower's {name} is as it was")


def read_only(volume):
    path = made(f"{volume.path}/kept")
    volume.unmount()
    volume.mount(keyfile=False, options="ro")
    same(path)
    require(error_of(lambda: os.open(path, os.O_RDWR)) == "EROFS", "read-only")
    require(error_of(lambda: os.setxattr(path, DOOR, b"none")) == "EROFS", "read-only")
    volume.unmount()
    volume.mount(keyfile=False)
    require(zstd(volume.stored("kept")) == CONTENT, "a stranger reads it")


def main():
    base = sys.argv[1]
    seeded("limits")
    watch(280)
    with Volume(base) as volume:
        for part in (sharers, nameless, copies, programs, crowd, read_only):
            print(part.__name__, flush=True)
            part(volume)
    print("layers", flush=True)
    layers(base)
    print("full_disk", flush=True)
    full_disk(base)


if __name__ == "__main__":
    main()
