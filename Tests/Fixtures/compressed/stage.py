"""What the programs beside this one share: a volume for compressed files, mounted for one test."""

import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "encrypted"))

from vault import VARVE, Failure, Vault, error_of, libc, require, run, seeded, watch  # noqa: E402,F401

DOOR = "system.varve.compression"


class Volume(Vault):
    """A volume without keys."""

    def __init__(self, base, options="", mounts=True):
        self.base, self.options = base, options
        self.upper, self.path, self.key = f"{base}/upper", f"{base}/mount", f"{base}/key"
        for path in (self.upper, self.path):
            os.makedirs(path, exist_ok=True)
        if mounts:
            self.mount(keyfile=False)

    def stored(self, name):
        """The bytes of the backing file."""
        with open(f"{self.upper}/{name}", "rb") as file:
            return file.read()


class Soft(random.Random):
    """Random bytes that get shorter when they are compressed."""

    def randbytes(self, count):
        piece = super().randbytes(self.choice([1, 7, 60]))
        return (piece * (count // len(piece) + 1))[:count]


def form(path):
    return os.getxattr(path, DOOR).decode().split()[0]


def compress(path, level=None):
    """Whether it was compressed; the kernel tells the volume late that a file was closed."""
    word = b"zstd" if level is None else b"zstd:%d" % level
    while True:
        error = error_of(lambda: os.setxattr(path, DOOR, word))
        if error != "EBUSY":
            break
    require(error in (None, "ECANCELED"), f"compress {path}: {error}")
    return error is None


def zstd(data):
    """What any zstd makes of stored bytes."""
    return subprocess.run(["zstd", "-dcq"], input=data, capture_output=True, check=True).stdout
