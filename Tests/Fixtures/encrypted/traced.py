"""Processes that are killed at a call of our choice: the daemon, or a program that is started for it."""

import ctypes
import os
import platform
import signal
import threading
import time

from vault import error_of, libc, require


class Traced:
    """A process that is killed when it begins the Nth call that changes something, by ptrace(2)."""

    SEIZE, SYSCALL, LISTEN, INTERRUPT, INFO = 0x4206, 24, 0x4208, 0x4207, 0x420E
    # TRACESYSGOOD and TRACECLONE.
    OPTIONS, STOP, CLONED = 1 | 8, signal.SIGTRAP | 0x80, 3
    # The numbers of write, pwrite, pwritev, sendmsg and the like; of syncs, truncate, fallocate; of all that makes, names
    # and removes; of modes, owners, times and attributes. On other machines each call counts.
    CHANGING = {
        "x86_64": {1, 18, 20, 44, 46, 74, 75, 76, 77, 82, 83, 84, 86, 87, 90, 91, 92, 93, 188, 189, 190, 197, 198, 199,
                   235, 258, 260, 263, 264, 265, 268, 277, 280, 285, 296, 306, 316, 326, 328, 452, 463, 466},
        "aarch64": {5, 6, 7, 14, 15, 16, 34, 35, 37, 38, 45, 46, 47, 52, 53, 54, 55, 64, 66, 68, 70, 81, 82, 83, 88,
                    206, 211, 267, 276, 285, 287, 452, 463, 466},
    }.get(platform.machine())

    def __init__(self, process):
        libc.ptrace.restype = ctypes.c_long
        self.process, self.info = process, ctypes.create_string_buffer(128)
        for thread in os.listdir(f"/proc/{process}/task"):
            self.call(self.SEIZE, int(thread), 0, self.OPTIONS)
            self.call(self.INTERRUPT, int(thread), 0, 0)

    def call(self, request, thread, address, data):
        return libc.ptrace(
            ctypes.c_long(request), ctypes.c_long(thread), ctypes.c_void_p(address), ctypes.c_void_p(data))

    def number(self, thread):
        """The call that begins; None when one ends."""
        self.call(self.INFO, thread, len(self.info), ctypes.addressof(self.info))
        return int.from_bytes(self.info[24:32], "little") if self.info[0] == b"\x01" else None

    def run(self, work, last):
        """Lets a daemon run while `work` does, and kills it then; whether it was killed before, at its call `last`."""
        other = threading.Thread(target=lambda: error_of(work))

        def quiet(isKilled, hasBegun):
            # All threads have been seen.
            if not hasBegun:
                other.start()
            elif not other.is_alive() and not isKilled:
                os.kill(self.process, signal.SIGKILL)
                return True
            return False

        isKilled = self.follow(quiet, last, hasBegun=False)
        other.join()
        return isKilled

    def run_to_end(self, last):
        """Lets a program run to its end, or to its call `last`; whether it was killed there."""
        return self.follow(lambda *_: False, last, hasBegun=True)

    def follow(self, quiet, last, hasBegun):
        counted, isKilled = 0, False
        while True:
            try:
                thread, status = os.waitpid(-1, 0x40000000 | os.WNOHANG)
            except ChildProcessError:
                return isKilled
            if thread == 0:
                if quiet(isKilled, hasBegun):
                    return False
                hasBegun = True
                time.sleep(0.0002)
                continue
            if not os.WIFSTOPPED(status):
                continue
            stop, event = os.WSTOPSIG(status), status >> 16
            if stop == self.STOP:
                number = self.number(thread)
                if number is not None and hasBegun and (self.CHANGING is None or number in self.CHANGING):
                    counted += 1
                    if counted == last and not isKilled:
                        isKilled = True
                        os.kill(self.process, signal.SIGKILL)
                        continue
            # What it is sent goes on to it.
            passed = stop if event == 0 and stop not in (self.STOP, signal.SIGTRAP, signal.SIGSTOP) else 0
            self.call(self.SYSCALL, thread, 0, passed)


def apart(work):
    """Whether something was killed by `work`, in a child: who traces waits for all children, and has no others."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(10 if work() else 20)
        except BaseException as failure:
            print(f"tracing: {type(failure).__name__} {failure}", flush=True)
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    require(code in (10, 20), f"tracing fails ({code})")
    return code == 10


def killed_daemon(daemon, work, last):
    """Whether a daemon was killed at its call `last` while `work` ran; it is killed afterwards in any case."""
    return apart(lambda: Traced(daemon).run(work, last))


def killed_program(words, last):
    """Whether a program was killed at its call `last`, before its own end."""

    def work():
        ready, go = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(go)
            os.read(ready, 1)
            for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
                os.dup2(os.open(os.devnull, flags), number)
            os.execv(words[0], words)
        os.close(ready)
        traced = Traced(process)
        os.close(go)
        return traced.run_to_end(last)

    return apart(work)
