"""Turns single bits of what counts in an encrypted file of two blocks, whose session has ended, and in a keybag: a reader
that shares no code with the daemon refuses each of them.

flips.py BASE STEP: every STEPth bit of each structure, beginning anywhere
"""

import os
import sys

from vault import Vault, require, seeded, watch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import sealed_reader

PAGE, SECTOR = 4096, 512


def read(path, keys, sessions):
    """The content, or the reason why there is none."""
    try:
        file = sealed_reader.SealedFile(path, keys, sessions)
        with file.file:
            parts = list(sealed_reader.contents(file))
            refusals = [refusal for _, _, refusal in parts if refusal] + [file.cut() or ""]
            return b"".join(data for _, data, _ in parts), "".join(refusals)
    except sealed_reader.Refused as reason:
        return b"", str(reason)


def main():
    guard = watch(1500)
    base, step = sys.argv[1], int(sys.argv[2])
    _, dice = seeded("flips")
    content = dice.randbytes(PAGE + 1000)
    with Vault(base) as vault:
        with open(f"{vault.path}/a/file", "wb") as file:
            file.write(content)
            os.fsync(file.fileno())
            # So that both halves of a pair are in use, and both slots.
            os.pwrite(file.fileno(), content[:PAGE], 0)
    own = f"{vault.upper}/.varve"
    whole = {name: sealed_reader.contents_of(f"{own}/{name}") for name in ("keybag", "sessions")}
    keyfile = sealed_reader.contents_of(vault.key)
    keys = sealed_reader.Keys(keyfile, b"", whole["keybag"])
    sessions = sealed_reader.Sessions(whole["sessions"], keys)
    stored = bytearray(sealed_reader.contents_of(f"{vault.upper}/a/file"))
    copy = f"{base}/flipped"

    def refused(changes, sentence):
        changed = bytearray(stored)
        for byte, bit in changes:
            changed[byte] ^= 1 << bit
        with open(copy, "wb") as file:
            file.write(changed)
        found, reason = read(copy, keys, sessions)
        require(reason, f"{sentence}: not refused; {'other' if found != content else 'the same'} content")

    found, reason = read(f"{vault.upper}/a/file", keys, sessions)
    require(found == content and not reason, f"as it is: {reason}")
    file = sealed_reader.SealedFile(f"{vault.upper}/a/file", keys, sessions)
    require(not file.doubtful, "the session has not ended")
    # The newest version of each block is the one that counts; what is older is nobody's.
    pages = [sealed_reader.number(file.entries(block)[0], 32, 6) for block in range(2)]
    live = {
        "slot 0": range(2 * SECTOR, 3 * SECTOR),
        "slot 1": range(3 * SECTOR, 4 * SECTOR),
        "index": range(4 * SECTOR, 5 * SECTOR),
        "first block": range(pages[0] * PAGE, pages[0] * PAGE + PAGE),
        "second block": range(pages[1] * PAGE, pages[1] * PAGE + PAGE),
    }
    tried = 0
    for name, span in live.items():
        for number in range(dice.randrange(step), len(span) * 8, step):
            byte, bit = span[number // 8], number % 8
            refused([(byte, bit)], f"{name}, byte {byte}, bit {bit}")
            tried += 1
    # The static sector has a copy; what is behind the wrapped key is reserved.
    for number in range(dice.randrange(step), 164 * 8, step):
        byte, bit = number // 8, number % 8
        refused([(byte, bit), (SECTOR + byte, bit)], f"both static sectors, byte {byte}, bit {bit}")
        tried += 1
    for pages in range(len(stored) // PAGE):
        with open(copy, "wb") as file:
            file.write(stored[: pages * PAGE])
        _, reason = read(copy, keys, sessions)
        # A file that was emptied is one of the things nobody notices (docs/encryption.md).
        require(reason or pages == 0, f"cut to {pages} pages: not refused")
    bag = whole["keybag"]
    for number in range(dice.randrange(step), len(bag) * 8, step):
        changed = bytearray(bag)
        changed[number // 8] ^= 1 << number % 8
        try:
            sealed_reader.Keys(keyfile, b"", bytes(changed))
        except sealed_reader.Refused:
            tried += 1
        else:
            require(False, f"keybag, bit {number}: not refused")
    print(f"{tried} bits, each refused")
    guard.cancel()


if __name__ == "__main__":
    main()
