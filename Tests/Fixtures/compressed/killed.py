"""Kills the daemon while files are compressed and expanded, again and again: each is old or new, and never half.

killed.py BASE ROUNDS
"""

import os
import sys
import threading
import time

from stage import DOOR, Failure, Soft, Volume, form, seeded, watch, zstd


def main():
    rounds = int(sys.argv[2])
    seed, _ = seeded("killed")
    choices = Soft(seed)
    watch(600)
    volume = Volume(sys.argv[1])
    contents = {f"f{n}": choices.randbytes(choices.choice([9000, 200_000, 3_000_000, 30_000_000])) for n in range(6)}
    for name, content in contents.items():
        with open(f"{volume.path}/{name}", "wb") as file:
            file.write(content)
    halves = 0
    for number in range(rounds):
        stop = time.monotonic() + choices.random() * 0.15

        def work():
            while True:
                name = choices.choice(list(contents))
                word = choices.choice([b"zstd", b"none"])
                try:
                    if word == b"none" and choices.random() < 0.5:
                        # As a writer does.
                        os.close(os.open(f"{volume.path}/{name}", os.O_RDWR))
                    else:
                        os.setxattr(f"{volume.path}/{name}", DOOR, word)
                except OSError:
                    if time.monotonic() > stop:
                        return

        worker = threading.Thread(target=work)
        worker.start()
        time.sleep(max(0, stop - time.monotonic()))
        volume.kill()
        worker.join()
        halves += len([name for name in os.listdir(f"{volume.upper}/.varve/work") if name.startswith("r-")])
        volume.mount(keyfile=False)
        left = os.listdir(f"{volume.upper}/.varve/work")
        if left:
            raise Failure(f"round {number}: left over: {left}")
        for name, content in contents.items():
            with open(f"{volume.path}/{name}", "rb") as file:
                if file.read() != content:
                    raise Failure(f"round {number}: {name} is not what it was")
            stored = volume.stored(name)
            if (zstd(stored) if form(f"{volume.path}/{name}") == "zstd" else stored) != content:
                raise Failure(f"round {number}: {name} is not stored as it says")
    volume.unmount()
    print(f"{rounds} kills, {halves} work files found")


if __name__ == "__main__":
    main()
