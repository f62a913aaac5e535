"""What the programs beside this one share: a volume with encrypted directories, mounted for one test.

`VARVE` is the program. The base is a directory of the test; what is mounted there is unmounted by whoever made it.
"""

import ctypes
import errno
import json
import mmap
import os
import random
import signal
import subprocess
import threading
import time

VARVE = os.environ["VARVE"]
CLASS = "system.varve.class"
CLASSES = {"a": b"complete", "b": b"complete-unless-open", "c": b"until-first-unlock"}
libc = ctypes.CDLL(None, use_errno=True)


class Failure(SystemExit):
    """Ends the program with a sentence."""


def require(condition, sentence):
    if not condition:
        raise Failure(sentence)


def run(*words, check=True, **options):
    ran = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)
    if check and ran.returncode:
        raise Failure(f"{words}: {ran.returncode} {ran.stdout}{ran.stderr}")
    return ran


def seeded(name):
    """Random choices that `SEED` repeats."""
    seed = int(os.environ.get("SEED") or time.time_ns() % 10**9)
    print(f"{name}: seed {seed}", flush=True)
    return seed, random.Random(seed)


def error_of(work):
    """The name of the error, or None."""
    try:
        work()
    except OSError as failure:
        return errno.errorcode[failure.errno]
    return None


def stored(path):
    """All bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def opened(path, data, flags=0):
    """A file that was made if need be, with bytes at its beginning, or at its end with O_APPEND."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | flags, 0o644)
    require(os.write(file, data) == len(data), "a short write")
    return file


def opening(path, flags=os.O_RDONLY):
    """What opens a file and closes it again."""
    return lambda: os.close(os.open(path, flags, 0o644))


def class_of(path):
    try:
        return os.getxattr(path, CLASS)
    except OSError:
        return b"none"


def wait_until(condition, complaint):
    """Ends the program if something does not come about within five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    require(False, complaint)


def end_with_parent():
    """In a child: however the program ends, this process does, too."""
    libc.prctl(1, signal.SIGKILL)


def become(user):
    """In a child: gives up all that root may do."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)


def as_user(user, work):
    """Does something in a child without any right of root's; what the system refuses there is raised here."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            become(user)
            work()
            os._exit(0)
        except OSError as failure:
            os.write(writing, json.dumps([failure.errno, failure.strerror, str(failure.filename)]).encode())
            os._exit(0)
        except BaseException as failure:
            print(f"{type(failure).__name__}: {failure}", flush=True)
        os._exit(1)
    os.close(writing)
    with os.fdopen(reading) as answers:
        refused = answers.read()
    require(os.waitpid(child, 0)[1] == 0, f"what user {user} does fails")
    if refused:
        raise OSError(*json.loads(refused))


def watch(seconds):
    """Ends the program where it hangs."""

    def end():
        import faulthandler

        faulthandler.dump_traceback(all_threads=True)
        print(f"hangs for {seconds} s", flush=True)
        os._exit(99)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    return timer


class Vault:
    """A volume with the protected directories a, b and c."""

    def __init__(self, base, options=""):
        self.base, self.options = base, options
        self.upper, self.path, self.key = f"{base}/upper", f"{base}/mount", f"{base}/key"
        for path in (self.upper, self.path):
            os.makedirs(path, exist_ok=True)
        if not os.path.exists(self.key):
            run(VARVE, "key", "create", self.key)
            self.mount(keyfile=False)
            run(VARVE, "key", "slot", "add", self.path, self.key)
            self.unlock()
            for name, word in CLASSES.items():
                os.mkdir(f"{self.path}/{name}", 0o755)
                os.setxattr(f"{self.path}/{name}", CLASS, word)
            # What is agreed with the kernel about pages hangs on there being a keybag.
            self.unmount()
        self.mount()

    def mount(self, keyfile=True, options=None):
        words = [options if options is not None else self.options, "keyfile=" + self.key if keyfile else ""]
        words = ",".join(filter(None, words))
        run(VARVE, "mount", *(["-o", words] if words else []), self.upper, self.path)

    def unmount(self):
        run(VARVE, "umount", self.path)

    def unlock(self, check=True):
        return run(VARVE, "unlock", self.path, self.key, check=check)

    def lock(self, *words, check=True):
        return run(VARVE, "lock", *words, self.path, check=check)

    def status(self):
        with open(f"{self.path}/.varve/status") as file:
            return json.load(file)

    @property
    def daemon(self):
        return self.status()["pid"]

    def kill(self):
        """Kills the daemon as a crash would, and takes the dead mount away."""
        daemon = self.daemon
        os.kill(daemon, 9)
        self.take_away(daemon)

    def take_away(self, daemon):
        while True:
            try:
                with open(f"/proc/{daemon}/status") as file:
                    text = file.read()
            except (FileNotFoundError, ProcessLookupError):
                break
            if "State:\tZ" in text and "Threads:\t1\n" in text:
                break
            time.sleep(0.001)
        run("umount", "-l", self.path)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if os.path.ismount(self.path):
            if kind is None:
                self.unmount()
            else:
                run("umount", "-l", self.path, check=False)


class Range(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_uint64), ("length", ctypes.c_uint64)]


class Counts(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("cached", "dirty", "writeback", "evicted", "recently")]


def resident(memory):
    """How many pages of a mapping are in memory (mincore)."""
    pages = (ctypes.c_ubyte * ((len(memory) + mmap.PAGESIZE - 1) // mmap.PAGESIZE))()
    view = (ctypes.c_char * len(memory)).from_buffer(memory)
    require(libc.mincore(ctypes.byref(view), ctypes.c_size_t(len(memory)), pages) == 0, "mincore")
    return sum(page & 1 for page in pages)


def cached(descriptor):
    """How many pages the kernel keeps of an open file (cachestat); None where it cannot tell."""
    counts = Counts()
    all_of_it = Range(0, 0)
    if libc.syscall(451, descriptor, ctypes.byref(all_of_it), ctypes.byref(counts), 0) != 0:
        return None
    return counts.cached
