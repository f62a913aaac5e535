#!/usr/bin/python3
"""Measures volumes with lowers beside fuse-overlayfs, the kernel's overlayfs, and a volume without lowers.

Everybody is mounted anew in each round, and takes turns within it; a ratio is the median of the ratios within a round, and
above 1 Varve is faster. Needs root, /dev/fuse and gcc. VARVE names the program, VARVE_TEST_DIRECTORY the place on a disk.
"""

import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VARVE = os.environ.get("VARVE", ROOT + "/.build/release/varve")
PEERS = ["varve", "varve-default", "fuse-overlayfs"]
EXPLANATION = """varve runs with cache=exclusive, as fuse-overlayfs remembers names for ever; varve-default without options;
overlayfs is the kernel's, with redirect_dir=on,index=on."""


def run(*words, within=None, **options):
    """Runs a program that must not fail, and returns what it wrote."""
    done = subprocess.run(words, cwd=within, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)[:300]}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


def timed(*words, within=None):
    start = time.perf_counter_ns()
    run(*words, within=within)
    return time.perf_counter_ns() - start


def drop_pages(*files):
    """What is cached of the content of files in the layers is forgotten; on tmpfs there is no other place for it."""
    for name in files:
        file = os.open(name, os.O_RDONLY)
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


class Mount:
    """A new upper directory over lowers, shown by one contender."""

    def __init__(self, kind, place, lowers, before=()):
        self.kind, self.lowers, self.before = kind, list(lowers), before
        self.base = tempfile.mkdtemp(dir=place)
        self.upper = self.base + "/upper"
        self.point = self.base + "/mount"
        for name in (self.upper, self.base + "/work", self.base + "/empty", self.point):
            os.makedirs(name, exist_ok=True)

    def __enter__(self):
        self.attach()
        return self

    def __exit__(self, *error):
        self.detach()
        shutil.rmtree(self.base)

    def attach(self):
        self.mount()
        self.process = self.find_process()
        self.used_before = self.used()

    def find_process(self):
        """The daemon: the process that has the mount point in its arguments. Of the kernel there is none."""
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/cmdline", "rb") as words:
                    if self.point.encode() in words.read().split(b"\0"):
                        return process
            except OSError:
                pass
        return None

    def used(self):
        """Nanoseconds of processor time of the daemon so far. They move less with what else the machine does."""
        if self.process is None:
            return 0
        tasks = f"/proc/{self.process}/task"
        total = 0
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/schedstat") as numbers:
                total += int(numbers.read().split()[0])
        return total

    def mount(self):
        lowers = ":".join(self.lowers)
        if self.kind.startswith("varve"):
            words = ["cache=exclusive"] if self.kind == "varve" else []
            words += [f"lower={lowers}"] if lowers else []
            run(*self.before, VARVE, "mount", *(["-o", ",".join(words)] if words else []), self.upper, self.point)
            return
        layers = f"lowerdir={lowers or self.base + '/empty'},upperdir={self.upper},workdir={self.base}/work"
        if self.kind == "overlayfs":
            run("mount", "-t", "overlay", "overlay", self.point, "-o", layers + ",redirect_dir=on,index=on")
        else:
            # The run of the daemon that stays keeps the pipes open.
            subprocess.run(["fuse-overlayfs", "-o", layers + ",allow_other,static_nlink", self.point],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    def detach(self):
        run(*([VARVE, "umount"] if self.kind.startswith("varve") else ["umount"]), self.point)

    def renew(self):
        """Nothing is remembered by the mount, or by the kernel of it."""
        self.detach()
        self.attach()

    def memory(self, word="VmRSS"):
        with open(f"/proc/{self.process}/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith(word + ":")) / 1024


class Stage:
    """The layers of one place, the program of calls, and what was measured."""

    def __init__(self, base, words):
        self.base, self.words = base, words
        self.many = 10_000 if words.quick else 100_000
        self.few = 500 if words.quick else 1_000
        self.moved = 100 if words.quick else 300
        self.big = (64 if words.quick else 256) << 20
        self.giant = (128 if words.quick else 1024) << 20
        self.lowers = [f"{base}/lower{number}" for number in (1, 2, 3)]
        self.calls_program = base + "/calls"
        run("gcc", "-O2", "-o", self.calls_program, ROOT + "/Benchmarks/calls.c")
        self.rounds = {}
        self.build()

    def calls(self, work, name, count=None):
        """Nanoseconds; nil where the contender cannot rename directories."""
        try:
            return int(run(self.calls_program, work, name, str(count or self.few)))
        except RuntimeError as failure:
            if work == "rename" and "cross-device" in str(failure):
                return None
            raise

    def build(self):
        """Three lowers: the lowest has everything, those above cover a part of it."""
        top, middle, bottom = self.lowers
        for index, lower in enumerate(self.lowers):
            for name in ("files", "modes", "move", "many"):
                os.makedirs(f"{lower}/{name}")
            source = lower + "/tree"
            os.makedirs(source)
            for origin in ("/usr/include", "/usr/lib/python3/dist-packages", "/usr/lib/python3.11/json",
                           "/usr/lib/python3.11/asyncio", "/usr/lib/python3.11/encodings"):
                if os.path.isdir(origin) and os.path.basename(origin) != "c++":
                    run("cp", "-a", origin, source + "/" + os.path.basename(origin))
            self.thin(source, index)
            for number in range(self.moved):
                os.mkdir(f"{lower}/move/d{number}")
                open(f"{lower}/move/d{number}/f{index}", "w").close()
        for number in range(self.few):
            for name in ("files/f", "modes/m"):
                with open(f"{middle}/{name}{number}", "wb") as file:
                    file.write(bytes([number % 251]) * 4096)
        for number in range(self.many):
            open(f"{bottom}/many/f{number}", "w").close()
            if number % 2 == 0:
                open(f"{top}/many/f{number}", "w").close()
        for name, size in (("big", self.big), ("giant", self.giant)):
            with open(f"{bottom}/{name}", "wb") as file:
                block = os.urandom(1 << 20)
                for _ in range(size >> 20):
                    file.write(block)
        self.make_repository(bottom + "/repository", middle + "/tree")
        run("tar", "cf", self.base + "/tree.tar", "-C", bottom, "tree")
        run("sync", "-f", self.base)

    def thin(self, source, index):
        """Of 1,000 files the lowest layer keeps all, the ones above it every third."""
        most = 250 if self.words.quick else 1_000
        kept = 0
        for directory, below, names in os.walk(source):
            below.sort()
            if "c++" in below:
                shutil.rmtree(directory + "/c++")
                below.remove("c++")
            for name in sorted(names):
                kept += 1
                if kept > most or (index < 2 and kept % 3 != index):
                    os.unlink(directory + "/" + name)
        for directory, _, _ in os.walk(source, topdown=False):
            if not os.listdir(directory) and directory != source:
                os.rmdir(directory)

    @staticmethod
    def make_repository(place, source):
        shutil.copytree(source, place, symlinks=True, ignore_dangling_symlinks=True)
        git = ("git", "-c", "user.name=x", "-c", "user.email=x@x", "-c", "gc.auto=0")
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "x")):
            run(*git, *words, within=place)

    def keep(self, row, contender, value):
        self.rounds.setdefault(row, {}).setdefault(contender, []).append(value)

    def mount(self, kind, lowers=None, **options):
        return Mount(kind, self.base, self.lowers if lowers is None else lowers, **options)


# Each scene gets a mount and yields rows with nanoseconds.

def scene_names(stage, mount):
    point = mount.point
    yield "stat, cold", stage.calls("stat", point + "/files/f")
    yield "stat, cached", sum(stage.calls("stat", point + "/files/f") for _ in range(10))
    yield "missing names", stage.calls("missing", point + "/files/none")
    yield "readdir, half covered", stage.calls("list", point + "/many", 1)
    mount.renew()
    yield "ls -lR", timed("ls", "-lR", point + "/tree")


def scene_bytes(stage, mount):
    point = mount.point
    middle, bottom = stage.lowers[1:]
    drop_pages(bottom + "/big", *(f"{middle}/files/f{number}" for number in range(stage.few)))
    yield "open, read, close, cold", stage.calls("open", point + "/files/f")
    yield "open, read, close, again", stage.calls("open", point + "/files/f")
    yield "1 MiB reads, cold", stage.calls("read", point + "/big", 1)
    yield "1 MiB reads, again", stage.calls("read", point + "/big", 1)
    # The second access to a page moves it to the list of active ones, which no later one does.
    yield "1 MiB reads, a third time", stage.calls("read", point + "/big", 1)
    yield "grep -r", timed("grep", "-rc", "struct", point + "/tree")
    mount.renew()


def scene_changes(stage, mount):
    point = mount.point
    yield "first append, 4 KiB files", stage.calls("append", point + "/files/f")
    yield "chmod", stage.calls("chmod", point + "/modes/m")
    yield "rename of merged directories", stage.calls("rename", point + "/move/d", stage.moved)
    yield "mv of a merged directory", timed("mv", point + "/move", point + "/moved")
    mount.renew()
    yield "rm -rf", timed("rm", "-rf", point + "/tree")


def scene_trees(stage, mount):
    point = mount.point
    if not mount.lowers:
        run("cp", "-a", stage.lowers[2] + "/repository", point)
        mount.renew()
    run("git", "-c", "safe.directory=*", "status", "--porcelain", within=point + "/repository")
    yield "git status", timed("git", "-c", "safe.directory=*", "status", "--porcelain", within=point + "/repository")
    if not mount.lowers:
        run("cp", "-a", stage.lowers[2] + "/tree", point)
        mount.renew()
    yield "untar over a lower", timed("tar", "xf", stage.base + "/tree.tar", "-C", point)
    yield "cp -a", timed("cp", "-a", point + "/tree", point + "/copy")


def scene_giant(stage, mount):
    yield "first append, 1 GiB", timed("sh", "-c", 'echo x >>"$0"', mount.point + "/giant")


def scene_private(stage, mount):
    place = mount.point + "/private"
    os.mkdir(place)
    yield "create", stage.calls("create", place + "/f")
    yield "stat, cold", stage.calls("stat", place + "/f")
    yield "append", stage.calls("append", place + "/f")
    yield "open, read, close", stage.calls("open", place + "/f")
    yield "chmod", stage.calls("chmod", place + "/f")
    yield "missing names", stage.calls("missing", place + "/none")
    yield "rename", stage.calls("rename", place + "/f")
    yield "mkdir", stage.calls("mkdir", place + "/d")
    yield "readdir", stage.calls("list", place, 1)
    yield "rm -rf", timed("rm", "-rf", place)


MERGED = [
    "stat, cold", "stat, cached", "missing names", "readdir, half covered", "ls -lR", "open, read, close, cold",
    "open, read, close, again", "1 MiB reads, cold", "1 MiB reads, again", "grep -r", "first append, 4 KiB files", "chmod",
    "rename of merged directories", "mv of a merged directory", "rm -rf",
]
SCENES = {
    "names": scene_names, "bytes": scene_bytes, "changes": scene_changes, "giant": scene_giant, "trees": scene_trees,
    "private": scene_private,
}


def play(stage, scene, contenders, turn, lowers=None, suffix=""):
    """One scene of one round: everybody takes a turn, and another one begins each time."""
    turn %= len(contenders)
    for kind in contenders[turn:] + contenders[:turn]:
        with stage.mount(kind, lowers) as mount:
            process, before = mount.process, mount.used_before
            for row, nanoseconds in SCENES[scene](stage, mount):
                used = mount.used()
                if mount.process != process:
                    process, before = mount.process, mount.used_before
                if nanoseconds is not None:
                    stage.keep(f"{scene}: {row}", kind + suffix, nanoseconds)
                    if process:
                        stage.keep(f"{scene}: {row}", kind + suffix + " used", used - before)
                before = used


def one_round(stage, contenders, turn):
    wanted = stage.words.only
    for scene in ("names", "bytes", "changes", "giant"):
        if scene in wanted:
            play(stage, scene, contenders, turn)
    if "trees" in wanted:
        play(stage, "trees", contenders, turn)
        play(stage, "trees", [kind for kind in contenders if kind in ("varve", "fuse-overlayfs")], turn, [], " without")
    if "private" in wanted:
        # Short ones, so more often.
        for time_again in range(5):
            for lowers, suffix in [([], " without"), (stage.lowers[:1], "")][:: 1 if time_again % 2 else -1]:
                play(stage, "private", ["varve"], turn, lowers, suffix)
    if "scale" in wanted:
        for _ in range(3):
            scale(stage)


def scale(stage):
    """What must not depend on how much there is."""
    base = stage.base + "/scale"
    lowers = [f"{base}/{number}" for number in range(64)]
    if not os.path.isdir(base):
        for number, lower in enumerate(lowers):
            os.makedirs(lower + "/files")
            os.makedirs(lower + "/move0")
            for index in range(3 if number < 2 else 0):
                os.makedirs(f"{lower}/wide{index}")
                os.makedirs(f"{lower}/empty{index}")
                stage.calls("create", f"{lower}/wide{index}/f{number}-", 10_000)
        for index in range(5):
            for name, size in (("sparse", 10 << 30), ("dense", 1 << 20)):
                with open(f"{lowers[0]}/{name}{index}", "wb") as file:
                    file.truncate(size)
                    file.seek(size // 2 if name == "sparse" else 0)
                    file.write(os.urandom(1 << 20))
    with stage.mount("varve", lowers[:2]) as mount:
        # The first one brings up more than itself.
        stage.calls("rename", f"{mount.point}/move", 1)
        for name in ("wide", "empty"):
            stage.keep("scale: rename", name, stage.calls("rename", f"{mount.point}/{name}", 3))
        for name in ("dense", "sparse"):
            stage.keep("scale: copy", name, stage.calls("chmod", f"{mount.point}/{name}", 5))
            blocks = sum(os.stat(f"{mount.upper}/{name}{index}").st_blocks for index in range(5))
            stage.keep("scale: blocks", name, blocks)
    for count in (1, 64):
        with stage.mount("varve", lowers[:count]) as mount:
            os.makedirs(mount.upper + "/files")
            stage.calls("create", mount.upper + "/files/f")
            stage.calls("stat", mount.upper + "/files/f")
            times = [stage.calls("stat", mount.point + "/files/f")]
            for _ in range(4):
                mount.renew()
                times.append(stage.calls("stat", mount.point + "/files/f"))
            stage.keep("scale: lookup", f"{count} lowers", min(times))


def memory(stage):
    """Mebibytes, and milliseconds of a mount; once is enough."""
    base = stage.base + "/memory"
    many = 1_000_000 // (10 if stage.words.quick else 1)
    for lower, first in (("upper", "f"), ("lower", "g")):
        os.makedirs(f"{base}/{lower}/wide")
        stage.calls("create", f"{base}/{lower}/wide/{first}", many // 2)
    for number in range(many // 2, many):
        open(f"{base}/upper/wide/g{number - many // 2}", "w").close() if number % 2 else None
    for number in range(1_000):
        os.makedirs(f"{base}/deep/d{number}")
        stage.calls("create", f"{base}/deep/d{number}/f", many // 1_000)
    with stage.mount("varve", [base + "/upper", base + "/lower"]) as mount:
        before = mount.memory()
        with open(f"/proc/{mount.process}/clear_refs", "w") as word:
            word.write("5")
        stage.calls("list", mount.point + "/wide", 1)
        stage.keep("memory: a listing", "MiB", mount.memory("VmHWM") - before)
    with stage.mount("varve", [base + "/deep"], before=["prlimit", "--nofile=1024:1024"]) as mount:
        for number in range(1_000):
            stage.calls("stat", f"{mount.point}/d{number}/f", many // 1_000)
        stage.keep("memory: items", "MiB", mount.memory("VmHWM"))
    lowers = [f"{base}/small/{number}" for number in range(64)]
    for lower in lowers:
        os.makedirs(lower)
    for _ in range(stage.words.rounds):
        mount = stage.mount("varve", lowers)
        start = time.perf_counter_ns()
        mount.attach()
        stage.keep("memory: mount of 64 lowers", "ns", time.perf_counter_ns() - start)
        stage.keep("memory: after a mount", "MiB", mount.memory())
        mount.__exit__()
    shutil.rmtree(base)


class Table:
    """Rows as Markdown, and what of them is met."""

    def __init__(self, stage, contenders, place):
        self.rounds, self.contenders, self.place = stage.rounds, contenders, place
        self.rows, self.found = [], []

    def times(self, row, contender):
        return self.rounds.get(row, {}).get(contender, [])

    def ratio(self, row, one, other):
        """How many times as fast the first is: the median of the rounds."""
        pairs = [(a, b) for a, b in zip(self.times(row, one), self.times(row, other)) if a and b]
        return statistics.median(b / a for a, b in pairs) if pairs else None

    def median(self, row, contender):
        times = self.times(row, contender)
        return f"{statistics.median(times) / 1e6:.2f}" if times else "-"

    def add(self, name, cells, value, target, is_most=False):
        """A row with its cells, what counts of it, and what it must reach, nil for nothing."""
        met = None if target is None or value is None else value <= target if is_most else value >= target
        self.found.append({"place": self.place, "row": name, "value": value, "target": target, "met": met})
        sign = "" if target is None else ("≤ " if is_most else "≥ ") + f"{target:.2f}"
        self.rows.append([name, *cells, "-" if value is None else f"{value:.2f}", sign, {True: "yes", False: "NO", None: ""}[met]])

    def show(self, title, heads):
        if self.rows:
            print(f"\n### {title}, {self.place}\n")
            heads = ["work", *heads, "target", "met"]
            print("| " + " | ".join(heads) + " |\n| --- |" + " ---: |" * (len(heads) - 1))
            for row in self.rows:
                print("| " + " | ".join(row) + " |")
        self.rows = []

    def rows_of(self, *scenes):
        return [row for row in self.rounds if row.split(":")[0] in scenes]

    def merged(self):
        best = []
        for row in self.rows_of("names", "bytes", "changes", "giant"):
            name = row.split(": ")[1]
            value = self.ratio(row, "varve", "fuse-overlayfs")
            least = 0.95 if "cached" in name else 1.0
            # fuse-overlayfs does not sync what it copies, which costs nothing on tmpfs only.
            counts = name in MERGED and not (self.place == "disk" and ("append" in name or "chmod" in name))
            if value and counts:
                best.append(value)
            cells = [self.median(row, kind) for kind in self.contenders]
            beside = (self.ratio(row, "varve", "overlayfs"), self.ratio(row, "varve used", "fuse-overlayfs used"),
                      self.ratio(row, "varve-default", "fuse-overlayfs"))
            cells += ["-" if ratio is None else f"{ratio:.2f}" for ratio in beside]
            self.add(name, cells, value, least if counts and self.place == "tmpfs" else None)
        if best:
            mean = math.exp(statistics.fmean(map(math.log, best)))
            self.add("geometric mean", ["" for _ in self.contenders] + [""] * 3, mean, 1.5 if self.place == "tmpfs" else None)
        self.show("Merged trees, three lowers", [f"{kind}, ms" for kind in self.contenders] + [
            "by overlayfs", "processor time, by fuse-overlayfs", "default cache, by fuse-overlayfs", "by fuse-overlayfs"])

    def kernel(self):
        for row, least in (("giant: first append, 1 GiB", 0.9), ("changes: first append, 4 KiB files", 0.5),
                           ("bytes: open, read, close, again", None), ("bytes: 1 MiB reads, again", 0.95),
                           ("bytes: 1 MiB reads, a third time", 0.95)):
            value = self.ratio(row, "varve", "overlayfs")
            if "4 KiB" in row and self.place == "tmpfs":
                least = None
            if value is not None:
                self.add(row.split(": ")[1], [self.median(row, "varve"), self.median(row, "overlayfs")], value, least)
        self.show("Beside the kernel's overlayfs", ["varve, ms", "overlayfs, ms", "ratio"])

    def trees(self):
        for row in self.rows_of("trees"):
            value = self.ratio(row, "varve", "fuse-overlayfs")
            plain = self.ratio(row, "varve without", "fuse-overlayfs without")
            names = ("varve", "fuse-overlayfs", "varve without", "fuse-overlayfs without")
            used = self.ratio(row, "varve used", "fuse-overlayfs used")
            cells = [self.median(row, name) for name in names] + ["-" if used is None else f"{used:.2f}"]
            self.add(row.split(": ")[1], cells, value, plain)
        self.show("Trees: by fuse-overlayfs no less than without lowers", [
            "varve, ms", "fuse-overlayfs, ms", "varve without lowers, ms", "fuse-overlayfs without, ms",
            "processor time", "ratio"])

    def private(self):
        values = []
        for row in self.rows_of("private"):
            value = self.ratio(row, "varve", "varve without")
            values.append(value)
            used = self.ratio(row, "varve used", "varve without used")
            cells = [self.median(row, "varve"), self.median(row, "varve without"), "-" if used is None else f"{used:.2f}"]
            self.add(row.split(": ")[1], cells, value, None)
        if values:
            self.add("geometric mean", ["", "", ""], math.exp(statistics.fmean(map(math.log, values))), 0.95)
        self.show("Directories that only the upper has, over one lower", ["one lower, ms", "no lowers, ms", "processor time", "ratio"])

    def sizes(self):
        for name, row, one, other, target, is_most in (
                ("rename of 10,000 merged entries, by an empty one", "scale: rename", "wide", "empty", 1.2, True),
                ("copy of 10 GiB with 1 MiB of data, by one of 1 MiB", "scale: copy", "sparse", "dense", 1.2, True),
                ("blocks of the copy", "scale: blocks", "sparse", "dense", 1.2, True),
                ("lookup in the upper, 64 lowers by one", "scale: lookup", "1 lowers", "64 lowers", 0.95, False)):
            value = self.ratio(row, other, one) if is_most else self.ratio(row, "64 lowers", "1 lowers")
            if value is not None:
                self.add(name, [], value, target, is_most)
        for name, row, unit, target in (
                ("listing of 1,000,000 merged entries, MiB", "memory: a listing", "MiB", 25),
                ("1,000,000 items of a lower, 1,024 open files, MiB", "memory: items", "MiB", 300),
                ("after a mount with 64 lowers, MiB", "memory: after a mount", "MiB", 20),
                ("that mount, ms", "memory: mount of 64 lowers", "ns", 100)):
            values = self.times(row, unit)
            if values:
                self.add(name, [], statistics.median(values) / (1e6 if unit == "ns" else 1), target, True)
        self.show("Sizes", ["value"])

    def print(self):
        for part in (self.merged, self.kernel, self.trees, self.private, self.sizes):
            part()


def contenders_here():
    here = [kind for kind in PEERS if kind.startswith("varve") or shutil.which(kind)]
    with open("/proc/filesystems") as names:
        if "overlay" in names.read().split():
            here.append("overlayfs")
        else:
            print("the kernel has no overlayfs: left out")
    if "fuse-overlayfs" not in here:
        print("fuse-overlayfs is not installed: left out")
    return here


def measure(place, words):
    top = "/dev/shm" if place == "tmpfs" else os.environ.get("VARVE_TEST_DIRECTORY", "/var/tmp")
    base = tempfile.mkdtemp(prefix="varve-layers-", dir=top)
    try:
        contenders = contenders_here()
        stage = Stage(base, words)
        for turn in range(words.rounds):
            one_round(stage, contenders, turn)
            print(f"{place}: round {turn + 1} of {words.rounds}", file=sys.stderr)
        if "memory" in words.only and place == "tmpfs":
            memory(stage)
        table = Table(stage, contenders, place)
        table.print()
        return table.found
    finally:
        shutil.rmtree(base, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=EXPLANATION)
    groups = list(SCENES) + ["scale", "memory"]
    parser.add_argument("--quick", action="store_true", help="smaller trees and files, on tmpfs only")
    parser.add_argument("--only", default=groups, type=lambda text: text.split(","), help="of " + ",".join(groups))
    parser.add_argument("--on", default=None, choices=["tmpfs", "disk"], help="one place instead of both")
    parser.add_argument("--rounds", type=int, default=None, help="5, and 3 with --quick")
    parser.add_argument("--json", metavar="FILE", help="writes what was found")
    words = parser.parse_args()
    if set(words.only) - set(groups):
        parser.error("--only takes some of " + ",".join(groups))
    words.rounds = words.rounds or (3 if words.quick else 5)
    places = [words.on] if words.on else ["tmpfs"] if words.quick else ["tmpfs", "disk"]
    print(f"{os.uname().release}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.2f}, {words.rounds} rounds")
    print(run(VARVE, "--version").strip())
    found = [row for place in places for row in measure(place, words)]
    if words.json:
        with open(words.json, "w") as file:
            json.dump(found, file, indent=1)
    missed = [row["row"] for row in found if row["met"] is False]
    print(f"\n{sum(row['met'] is True for row in found)} met, missed: {', '.join(missed) or 'none'}")


if __name__ == "__main__":
    main()
