#!/usr/bin/python3
"""Reads encrypted files of Varve without Varve, by docs/FORMATS.md alone.

The tests hold the engine against it, and it shows that the document is enough to get one's files back. It takes what
lies on the backing file system: a keyfile, the keybag, the session log and the backing files. It needs Debian's
python3-cryptography and changes nothing. Whatever is refused is a line on standard error, and the status is 1.
"""

import argparse
import hashlib
import hmac
import os
import sys

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

PAGE = 4096
SECTOR = 512
LARGEST = (2**48 // 49 - 1) * 48 * PAGE
NEVER = 2**64 - 1


class Refused(Exception):
    """One sentence: which part is refused, and why."""


def number(data, offset, size):
    return int.from_bytes(data[offset : offset + size], "little")


def u32(value):
    return value.to_bytes(4, "little")


def u64(value):
    return value.to_bytes(8, "little")


def require(condition, sentence):
    if not condition:
        raise Refused(sentence)


# Ciphers


def code(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def expand(key, info):
    """HKDF-Expand for 32 bytes: one step."""
    return code(key, info + b"\x01")


def hkdf(secret, salt, info):
    return expand(code(salt, secret), info)


def opened(key, nonce, data, associated):
    """The plaintext, or None if the tag at the end of `data` does not fit."""
    try:
        return AESGCM(key).decrypt(nonce, data, associated)
    except InvalidTag:
        return None


# Keyfile, keybag, session log


def secret_of(keyfile, passphrase):
    require(len(keyfile) == 96 and keyfile[:8] == bytes.fromhex("89454b46310d0a1a"), "keyfile: length or magic")
    kind, cost = keyfile[8], keyfile[9:12]
    require(not any(keyfile[12:16]), "keyfile: bytes 12 to 15 are not zero")
    if kind == 0:
        require(not any(cost) and not any(keyfile[32:48]), "keyfile: a cost or a salt without a passphrase")
        require(hashlib.sha256(keyfile[:80]).digest()[:16] == keyfile[80:], "keyfile: checksum")
        return keyfile[48:80]
    require(kind == 1, "keyfile: kind")
    logarithm, r, p = cost
    allowed = 1 <= logarithm <= 20 and r >= 1 and p >= 1 and r * p <= 64 and (128 * r) << logarithm <= 2**30
    require(allowed, "keyfile: the cost is not allowed")
    require(passphrase, "keyfile: it has a passphrase; name its file with --passphrase-file")
    key = hashlib.scrypt(
        passphrase, salt=keyfile[32:48], n=1 << logarithm, r=r, p=p, dklen=32, maxmem=2**31 - 1)
    secret = opened(key, bytes(12), keyfile[48:96], keyfile[:48])
    require(secret is not None, "keyfile: the passphrase is wrong, or the file is damaged")
    return secret


class Keys:
    """What a keyfile and a keybag open."""

    def __init__(self, keyfile, passphrase, bag):
        secret = secret_of(keyfile, passphrase)
        require(len(bag) >= 128 and bag[:8] == bytes.fromhex("89454b42310d0a1a"), "keybag: length or magic")
        require(number(bag, 8, 2) == 1 and number(bag, 10, 2) == 128, "keybag: version or size of the header")
        count = number(bag, 12, 2)
        require(1 <= count <= 64 and len(bag) == 128 + 128 * count, "keybag: number of slots")
        require(not any(bag[14:16]) and not any(bag[56:64]), "keybag: a byte that has to be zero")
        require(number(bag, 40, 8) == 0, "keybag: required features that are not known")
        self.volume = bag[16:32]
        slots = [bag[128 + 128 * i : 256 + 128 * i] for i in range(count)]
        for slot in slots:
            fits = not any(slot) if slot[0] == 0 else slot[0] == 1 and not any(slot[1:8] + slot[116:])
            require(fits, "keybag: the form of a slot")
        slots = sorted((s for s in slots if s[0] == 1), key=lambda s: s[8:24] != keyfile[16:32])
        self.master = next((m for m in (self.master_in(s, secret) for s in slots) if m is not None), None)
        require(self.master is not None, "keybag: this keyfile opens no slot")
        check = expand(self.master, b"EAR1/check" + self.volume)
        require(hmac.compare_digest(check, bag[64:96]), "keybag: check value")
        zeroed = bag[:96] + bytes(32) + bag[128:]
        found = code(expand(self.master, b"EAR1/keybag-mac" + self.volume), zeroed)
        require(hmac.compare_digest(found, bag[96:128]), "keybag: code")

    def master_in(self, slot, secret):
        key = hkdf(secret, slot[24:56], b"EAR1/kek" + self.volume)
        return opened(key, slot[56:68], slot[68:116], b"EAR1/slot" + self.volume + slot[:56])

    def wrapping(self, kind, ephemeral, file):
        """The key that wraps the key of a file, or None if its public key is no good."""
        key = expand(self.master, b"EAR1/class" + self.volume + u32(kind) + u32(1))
        if kind != 2:
            return expand(key, b"EAR1/wrap" + self.volume + file)
        scalar = X25519PrivateKey.from_private_bytes(key)
        public = scalar.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        try:
            shared = scalar.exchange(X25519PublicKey.from_public_bytes(ephemeral))
        except ValueError:
            return None
        return hkdf(shared, ephemeral + public, b"EAR1/wrap-x25519" + self.volume + file)


class Sessions:
    """Which sessions have ended; without a sound log, none."""

    def __init__(self, log, keys):
        self.last, self.bar, self.listed = 0, 0, set()
        if len(log) < 80 or log[:8] != bytes.fromhex("8945534c310d0a1a") or number(log, 8, 4) != 1:
            return
        count = number(log, 12, 4)
        if count > 1000 or len(log) != 80 + 8 * count or log[16:32] != keys.volume:
            return
        found = code(expand(keys.master, b"EAR1/sessions" + keys.volume), log[:-32])
        if hmac.compare_digest(found, log[-32:]):
            self.last, self.bar = number(log, 32, 8), number(log, 40, 8)
            self.listed = {number(log, 48 + 8 * i, 8) for i in range(count)}

    def has_ended(self, session):
        return self.bar < session <= self.last and session not in self.listed


# Encrypted file


def is_index(page):
    return page >= 25 and (page - 25) % 49 == 0


def sector_of(block):
    """The page and the offset of the index sector with the entries of a block."""
    if block < 24:
        return 0, 2048 + SECTOR * (block // 6)
    k = block - 24
    return 25 + 49 * (k // 48), SECTOR * ((k % 48) // 6)


class SealedFile:
    """An encrypted file that is open."""

    def __init__(self, path, keys, sessions):
        self.file = open(path, "rb", buffering=0)
        self.length = os.fstat(self.file.fileno()).st_size
        self.pages = self.length // PAGE
        self.size = 0
        if self.length == 0:
            return
        require(self.pages > 0, "page 0: not there as a whole")
        head = self.at(0, PAGE)
        self.open_static([head[:512], head[512:1024]], keys)
        self.seals = expand(self.key, b"EAR1/hdr" + self.id)
        self.open_slots([head[1024:1536], head[1536:2048]], sessions)
        self.segments, self.sector, self.at_sector = {}, None, None

    def at(self, offset, size):
        return os.pread(self.file.fileno(), size, offset)

    def open_static(self, sectors, keys):
        reasons = []
        for sector in sectors:
            try:
                self.key, self.id = self.static(sector, keys)
                return
            except Refused as reason:
                reasons.append(str(reason))
        raise Refused(f"static sector: {reasons[0]}; its copy: {reasons[1]}")

    def static(self, sector, keys):
        """The key and the id of the file."""
        require(sector[:8] == bytes.fromhex("89454152310d0a1a"), "magic")
        require(number(sector, 8, 2) == 1, "version")
        require(sector[12] == 1 and sector[13] == 12 and sector[15] == 0, "suite or block size")
        require(number(sector, 16, 8) == 0, "required features that are not known")
        kind, volume, file, ephemeral = sector[14], sector[32:48], sector[48:64], sector[72:104]
        require(1 <= kind <= 3, "class")
        require(number(sector, 64, 4) == 1, "number of the class key")
        require(number(sector, 68, 4) == (2 if kind == 2 else 1), "form of wrapping")
        require(kind == 2 or not any(ephemeral), "a public key with class A or C")
        require(volume == keys.volume, "another volume id")
        wrapping = keys.wrapping(kind, ephemeral, file)
        require(wrapping is not None, "public key")
        key = opened(wrapping, sector[104:116], sector[116:164], b"EAR1/filekey" + sector[:104])
        require(key is not None, "the file key does not open")
        return key, file

    def holds(self, sector, associated):
        """Whether the seal at 480 is that of the bytes before it."""
        sealed = opened(self.seals, sector[480:492], sector[492:508], associated + sector[:480])
        return sealed is not None and not any(sector[508:])

    def open_slots(self, slots, sessions):
        label = b"EAR1/dyn" + self.id
        valid = [s for s in slots if self.holds(s, label) and not any(s[72:480]) and number(s, 8, 8) <= LARGEST]
        valid.sort(key=lambda s: number(s, 0, 8))
        require(valid, "slots: none is valid")
        require(len({number(s, 0, 8) for s in valid}) == len(valid), "slots: both have the same sequence")
        slot = valid[-1]
        self.size, self.committed = number(slot, 8, 8), number(slot, 16, 8)
        self.floor = number(slot, 56, 8), number(slot, 64, 8)
        self.doubtful = not sessions.has_ended(number(slot, 32, 8))
        require(self.doubtful or len(valid) == 2, "slots: only one is valid in a file that was closed")
        self.needs = number(slot, 40 if self.doubtful else 48, 8)

    def entries(self, block):
        """The entries of a block that count, the newest first."""
        page, offset = sector_of(block)
        if page >= self.pages:
            require(page >= self.needs, f"index page {page}: behind the end of the backing file")
            return []
        if (page, offset) != self.at_sector:
            self.sector, self.at_sector = self.at(page * PAGE + offset, SECTOR), (page, offset)
            label = b"EAR1/idx" + self.id + u64(block // 6)
            self.sound = not any(self.sector) or self.holds(self.sector, label)
        require(self.sound or self.doubtful, "index sector: the seal does not hold")
        pair = self.sector[80 * (block % 6) :][:80]
        found = [e for e in (pair[:40], pair[40:]) if number(e, 24, 8) != 0]
        if block >= self.floor[0]:
            found = [e for e in found if number(e, 24, 8) > self.floor[1]]
        found.sort(key=lambda e: number(e, 24, 8), reverse=True)
        same = len(found) == 2 and number(found[0], 24, 8) == number(found[1], 24, 8)
        require(not same, "both entries have the same generation")
        return found

    def version(self, block, entry):
        """The bytes of one version (empty for a hole), or None if it fails."""
        generation, page, kind = number(entry, 24, 8), number(entry, 32, 6), number(entry, 38, 2)
        if generation == NEVER or kind > 1:
            return None
        if kind == 1 and page != 0 or kind == 0 and (page == 0 or is_index(page) or page >= self.pages):
            return None
        stored = b"" if kind == 1 else self.at(page * PAGE, PAGE)
        segment = block // 16384
        if segment not in self.segments:
            self.segments[segment] = expand(self.key, b"EAR1/data" + self.id + u64(segment))
        associated = self.id + u64(block) + u64(generation) + u64(kind)
        nonce = entry[16:24] + u32(generation % 2**32)
        return opened(self.segments[segment], nonce, stored + entry[:16], associated)

    def block(self, block):
        """The plaintext of a block that exists; empty if it is zeros."""
        entries = self.entries(block)
        for entry in entries:
            found = self.version(block, entry)
            if found is not None:
                return found
            generation = number(entry, 24, 8)
            lost = self.doubtful and generation > self.committed
            require(lost, f"generation {generation} does not open")
        require(len(entries) < 2, "neither of two entries opens")
        return b""

    def cut(self):
        """The sentence about a backing file that lost its end, or None."""
        if self.length and self.pages < self.needs:
            return f"backing file: it has {self.pages} pages of {self.needs}"
        return None


# The program


def contents(file):
    """Offset and bytes of each block; in place of the bytes a sentence, if the block is refused."""
    for block in range((file.size + PAGE - 1) // PAGE):
        offset = block * PAGE
        try:
            yield offset, file.block(block).ljust(PAGE, b"\0")[: file.size - offset], None
        except Refused as reason:
            yield offset, b"", f"block {block}: {reason}"


def show(file):
    """Prints a file, up to the first thing that is refused."""
    for _, data, refusal in contents(file):
        require(refusal is None, refusal)
        sys.stdout.buffer.write(data)
    require(file.cut() is None, file.cut())


def rescue(file, target):
    """Writes what can be read; the rest are holes. Returns what was refused."""
    refusals = []
    with open(target, "wb", buffering=0) as out:
        for offset, data, refusal in contents(file):
            if refusal is not None:
                refusals.append(refusal)
            elif any(data):
                os.pwrite(out.fileno(), data, offset)
        out.truncate(file.size)
    return refusals + [sentence for sentence in [file.cut()] if sentence]


def contents_of(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description="Prints the plaintext of encrypted files of Varve.")
    parser.add_argument("keyfile")
    parser.add_argument("keybag")
    parser.add_argument("backing", nargs="+")
    parser.add_argument("--sessions", metavar="FILE", help="the session log; without it every file is doubtful")
    parser.add_argument("--passphrase-file", metavar="FILE", help="what opens the keyfile")
    parser.add_argument("--sizes", action="store_true", help="print the size of each file instead")
    parser.add_argument("--into", metavar="DIR", help="write there what can be read, and go on where a block is refused")
    options = parser.parse_args()
    try:
        passphrase = contents_of(options.passphrase_file) if options.passphrase_file else b""
        passphrase = passphrase[:-1] if passphrase.endswith(b"\n") else passphrase
        keys = Keys(contents_of(options.keyfile), passphrase, contents_of(options.keybag))
        try:
            log = contents_of(options.sessions) if options.sessions else b""
        except FileNotFoundError:
            log = b""
        sessions = Sessions(log, keys)
    except (Refused, OSError) as reason:
        print(reason, file=sys.stderr)
        return 1
    status = 0
    for path in options.backing:
        refusals = []
        try:
            file = SealedFile(path, keys, sessions)
            if options.sizes:
                print(file.size)
            elif options.into:
                refusals = rescue(file, os.path.join(options.into, os.path.basename(path)))
            else:
                show(file)
        except (Refused, OSError) as reason:
            refusals = [reason]
        for refusal in refusals:
            print(f"{path}: {refusal}", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
