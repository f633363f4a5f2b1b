#!/usr/bin/env python3
"""Writes the vectors: cases on which every verifier of a transparency log, in every language, must agree.

Nothing here comes from the Rust library: hashes are hashlib's, trees and proofs are the recursive definitions of RFC 6962,
section 2.1, word for word, and Ed25519 is in ed25519.py. So the two check each other.

    python3 make.py           write the files
    python3 make.py --check   fail if a file is not byte for byte what would be written
"""

import base64
import functools
import hashlib
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import ed25519  # noqa: E402

ORIGIN = "log.example/org_1"
OTHER_ORIGIN = "log.example/org_2"
LARGE = 70_000
NOW = 1_768_478_400  # 2026-01-15T12:00:00Z

# The example of C2SP signed-note: neither key nor signature was made here.
C2SP_KEY = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
C2SP_NOTE = """This is an example message.

— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=
"""


# --- trees -------------------------------------------------------------------------------------------------------------


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf(data):
    return sha256(b"\x00" + data)


def node(left, right):
    return sha256(b"\x01" + left + right)


def entry(index):
    """Entry i of every tree here is the number i in ASCII digits."""
    return str(index).encode()


@functools.lru_cache(None)
def mth(begin, end):
    """MTH(D[begin:end])."""
    if begin == end:
        return sha256(b"")
    if end - begin == 1:
        return leaf(entry(begin))
    k = split(end - begin)
    return node(mth(begin, begin + k), mth(begin + k, end))


def split(n):
    """The largest power of two below n."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k


def path(m, begin, end):
    """PATH(m, D[begin:end])."""
    n = end - begin
    if n == 1:
        return []
    k = split(n)
    if m < k:
        return path(m, begin, begin + k) + [mth(begin + k, end)]
    return path(m - k, begin + k, end) + [mth(begin, begin + k)]


def subproof(m, begin, end, whole):
    """SUBPROOF(m, D[begin:end], whole)."""
    n = end - begin
    if m == n:
        return [] if whole else [mth(begin, end)]
    k = split(n)
    if m <= k:
        return subproof(m, begin, begin + k, whole) + [mth(begin + k, end)]
    return subproof(m - k, begin + k, end, False) + [mth(begin, begin + k)]


def consistency(old, new):
    return subproof(old, 0, new, True) if old else []


def covering(begin, end):
    """The largest aligned powers of two from begin to end."""
    pieces = []
    while begin < end:
        length = 1
        while begin % (length * 2) == 0 and begin + length * 2 <= end:
            length *= 2
        pieces.append((begin, begin + length))
        begin += length
    return pieces


def b64(data):
    return base64.b64encode(data).decode()


def texts(hashes):
    return [b64(one) for one in hashes]


def flipped(hashes, at):
    changed = list(hashes)
    changed[at] = bytes([changed[at][0] ^ 1]) + changed[at][1:]
    return changed


# --- keys and notes ----------------------------------------------------------------------------------------------------


class Key:
    def __init__(self, name, seed, kind=1):
        self.name, self.kind = name, kind
        self.seed = sha256(seed.encode())
        self.public = ed25519.public_key(self.seed)
        self.id = sha256(name.encode() + b"\n" + bytes([kind]) + self.public)[:4]

    @property
    def vkey(self):
        return f"{self.name}+{self.id.hex()}+{b64(bytes([self.kind]) + self.public)}"

    def sign(self, text):
        return line(self.name, self.id + ed25519.sign(self.seed, text.encode()))

    def cosign(self, text, timestamp):
        message = f"cosignature/v1\ntime {timestamp}\n{text}".encode()
        return line(self.name, self.id + timestamp.to_bytes(8, "big") + ed25519.sign(self.seed, message))


def line(name, data):
    return f"— {name} {b64(data)}\n"


def checkpoint(size, origin=ORIGIN, root=None):
    return f"{origin}\n{size}\n{b64(root or mth(0, size))}\n"


LOG = Key(ORIGIN, "log")
OLD_LOG = Key(ORIGIN, "the log's key before")
STRANGER = Key("stranger.example", "stranger")
WITNESSES = [Key(f"witness.example/w{number}", f"witness {number}", 4) for number in (1, 2, 3)]


# --- the files ---------------------------------------------------------------------------------------------------------


def accepted(name, **fields):
    return {"name": name, **fields, "accepted": True}


def refused(name, error, **fields):
    return {"name": name, **fields, "accepted": False, "error": error}


def hashes():
    yield accepted("the root of a tree without leaves", empty=True, hash=b64(sha256(b"")))
    for name, data in [
        ("a leaf without bytes", b""),
        ("a leaf of one zero byte, which is not the leaf without bytes", b"\x00"),
        ("a leaf that looks like a node", b"\x01" + mth(0, 1) + mth(1, 2)),
        ("a leaf of 300 bytes", b"x" * 300),
    ]:
        yield accepted(name, entry=b64(data), hash=b64(leaf(data)))
    a, b = mth(0, 1), mth(1, 2)
    yield accepted("a node of two leaves", left=b64(a), right=b64(b), hash=b64(node(a, b)))
    yield accepted("a node of the same two leaves, swapped", left=b64(b), right=b64(a), hash=b64(node(b, a)))


def roots():
    for size in [*range(21), 255, 256, 257, 1_000, 65_536, LARGE]:
        edge = [mth(*piece) for piece in covering(0, size)]
        yield accepted(f"the root of {size} leaves", size=size, root=b64(mth(0, size)), edge=texts(edge))


def inclusion():
    def fields(index, size, proof, of=None, root=None):
        leaf_hash = mth(index, index + 1) if of is None else of
        return dict(leaf=b64(leaf_hash), index=index, size=size, root=b64(root or mth(0, size)), proof=texts(proof))

    for size in range(1, 9):
        for index in range(size):
            yield accepted(f"leaf {index} of {size}", **fields(index, size, path(index, 0, size)))
    for index in (0, 1, 35_000, 65_535, 65_536, LARGE - 1):
        yield accepted(f"leaf {index} of {LARGE}", **fields(index, LARGE, path(index, 0, LARGE)))
    good = path(3, 0, 7)
    yield refused("another leaf than the proof's", "root_mismatch", **fields(3, 7, good, of=mth(2, 3)))
    yield refused("another index than the proof's, on the same level", "root_mismatch", **fields(2, 7, good, of=mth(3, 4)))
    yield refused("the root of another tree", "root_mismatch", **fields(3, 7, good, root=mth(0, 8)))
    for at in range(3):
        yield refused(f"hash {at} of the proof was changed", "root_mismatch", **fields(3, 7, flipped(good, at)))
    yield refused("two hashes of the proof were swapped", "root_mismatch", **fields(3, 7, [good[1], good[0], good[2]]))
    yield refused("the last hash of the proof is missing", "hash_count_wrong", **fields(3, 7, good[:-1]))
    yield refused("the proof has one hash more", "hash_count_wrong", **fields(3, 7, good + [good[0]]))
    yield refused("a proof without hashes in a tree of more than one leaf", "hash_count_wrong", **fields(0, 2, []))
    yield refused("an inner node given as a leaf, in a tree that would be half as high", "root_mismatch", **fields(0, 4, path(0, 0, 4), of=mth(0, 2)))
    yield refused("the index after the last", "index_outside_tree", **fields(7, 7, good))
    yield refused("a leaf of the tree without leaves", "index_outside_tree", **fields(0, 0, []))
    yield refused("a tree of 2^63 leaves", "size_too_large", **fields(3, 2**63, good, root=mth(0, 7)))


def consistencies():
    def fields(old, new, proof, old_root=None, new_root=None):
        return dict(old_size=old, old_root=b64(old_root or mth(0, old)), new_size=new, new_root=b64(new_root or mth(0, new)), proof=texts(proof))

    for new in range(9):
        for old in range(new + 1):
            yield accepted(f"{old} leaves begin {new}", **fields(old, new, consistency(old, new)))
    for old in (1, 255, 256, 65_536, 65_537, LARGE - 1):
        yield accepted(f"{old} leaves begin {LARGE}", **fields(old, LARGE, consistency(old, LARGE)))
    good = consistency(6, 8)
    yield refused("the old tree had other leaves", "inconsistent", **fields(6, 8, good, old_root=mth(1, 7)))
    yield refused("the new tree has other leaves", "inconsistent", **fields(6, 8, good, new_root=mth(1, 9)))
    for at in range(len(good)):
        yield refused(f"hash {at} of the proof was changed", "inconsistent", **fields(6, 8, flipped(good, at)))
    yield refused("the last hash of the proof is missing", "hash_count_wrong", **fields(6, 8, good[:-1]))
    yield refused("the proof has one hash more", "hash_count_wrong", **fields(6, 8, good + [good[0]]))
    yield refused("two trees of one size with different roots", "inconsistent", **fields(7, 7, [], new_root=mth(1, 8)))
    yield refused("a proof between two trees of one size", "hash_count_wrong", **fields(7, 7, [mth(0, 1)]))
    yield refused("a proof from the tree without leaves", "hash_count_wrong", **fields(0, 7, [mth(0, 1)]))
    yield refused("a tree without leaves whose root is not that of none", "inconsistent", **fields(0, 7, [], old_root=mth(0, 1)))
    yield refused("two trees without leaves, the second with another root", "inconsistent", **fields(0, 0, [], new_root=mth(0, 1)))
    yield refused("the tree got smaller", "sizes_reversed", **fields(8, 6, good))
    yield refused("a tree of 2^63 leaves", "size_too_large", **fields(6, 2**63, good, new_root=mth(0, 8)))


def ranges():
    def fields(begin, end, size, before=None, leaves=None, after=None):
        before = [mth(*piece) for piece in covering(0, begin)] if before is None else before
        leaves = [mth(index, index + 1) for index in range(begin, end)] if leaves is None else leaves
        after = [mth(*piece) for piece in covering(end, size)] if after is None else after
        return dict(begin=begin, end=end, size=size, root=b64(mth(0, size)), before=texts(before), leaves=texts(leaves), after=texts(after))

    for begin, end, size in [(0, 0, 0), (0, 1, 1), (0, 7, 7), (3, 3, 7), (0, 3, 7), (3, 7, 7), (2, 5, 7), (5, 6, 13), (1, 12, 13), (255, 258, 300), (LARGE - 5, LARGE, LARGE), (65_530, 65_540, LARGE)]:
        yield accepted(f"leaves {begin} to {end} of {size}", **fields(begin, end, size))
    leaves = [mth(index, index + 1) for index in range(5, 9)]
    given = functools.partial(fields, 5, 9, 13)
    yield refused("a leaf in the middle is missing", "hash_count_wrong", **given(leaves=leaves[:1] + leaves[2:]))
    yield refused("the last leaf is missing", "hash_count_wrong", **given(leaves=leaves[:-1]))
    yield refused("a leaf is there twice", "hash_count_wrong", **given(leaves=leaves[:2] + leaves[1:]))
    yield refused("a leaf is there twice and another is missing", "root_mismatch", **given(leaves=[leaves[0], leaves[1], leaves[1], leaves[3]]))
    yield refused("two leaves were swapped", "root_mismatch", **given(leaves=[leaves[1], leaves[0], *leaves[2:]]))
    yield refused("a leaf was changed", "root_mismatch", **given(leaves=flipped(leaves, 2)))
    yield refused("a hash before the range was changed", "root_mismatch", **given(before=flipped([mth(0, 4), mth(4, 5)], 0)))
    yield refused("a hash after the range was changed", "root_mismatch", **given(after=flipped([mth(9, 10), mth(10, 12), mth(12, 13)], 1)))
    yield refused("a hash before the range is missing", "hash_count_wrong", **given(before=[mth(0, 4)]))
    yield refused("a hash after the range is missing", "hash_count_wrong", **given(after=[mth(9, 10), mth(10, 12)]))
    yield refused("the range ends after the tree", "range_outside_tree", **fields(5, 14, 13, after=[]))
    yield refused("the range ends before it begins", "range_outside_tree", **fields(6, 5, 13))


def place(index, width):
    groups = [f"{index % 1000:03}"]
    while index >= 1000:
        index //= 1000
        groups.append(f"x{index % 1000:03}")
    return "/".join(reversed(groups)) + ("" if width == 256 else f".p/{width}")


def paths():
    for level, index, width in [(0, 0, 256), (0, 0, 1), (0, 0, 255), (0, 999, 256), (0, 1_000, 256), (0, 1_234_067, 256), (5, 1_234_067, 8), (63, 5, 17), (1, 1_000_000, 112)]:
        path = f"tile/{level}/{place(index, width)}"
        yield accepted(f"{path} is a tile", path=path, level=level, index=index, width=width)
    for index, width in [(0, 256), (0, 1), (1_234_067, 255)]:
        path = f"tile/entries/{place(index, width)}"
        yield accepted(f"{path} is an entry bundle", path=path, index=index, width=width)
    for path, why in [
        ("tile/0/0", "a number has three digits"),
        ("tile/0/0000", "a number has three digits"),
        ("tile/0/1000", "thousands have a folder of their own"),
        ("tile/0/x000/001", "no folder without need"),
        ("tile/0/001/234", "a folder starts with x"),
        ("tile/0/x001/x234", "the last part does not start with x"),
        ("tile/0/x1/234", "a folder has three digits"),
        ("tile/00/000", "a level has no leading zero"),
        ("tile/64/000", "the highest level is 63"),
        ("tile/-1/000", "a level has no sign"),
        ("tile/+1/000", "a level has no sign"),
        ("tile//000", "a tile has a level"),
        ("tile/0/000.p/0", "no tile is empty"),
        ("tile/0/000.p/256", "a full tile is not partial"),
        ("tile/0/000.p/01", "a width has no leading zero"),
        ("tile/0/000.p/+1", "a width has no sign"),
        ("tile/0/000.p/", "a partial tile has a width"),
        ("tile/0/000.p", "a partial tile has a width"),
        ("tile/0/000/", "nothing follows"),
        ("/tile/0/000", "nothing precedes"),
        ("tile/0/000.p/1.p/1", "one width is enough"),
        ("tile/0/x00a/000", "a number has digits"),
        ("tile/0/x009/x223/x372/x036/x854/x775/808", "an index is below 2^63"),
        ("tile/entries", "a bundle has a number"),
        ("tile/Entries/000", "paths are lowercase"),
        ("tile/data/000", "nothing else is there"),
        ("", "an empty path is none"),
    ]:
        yield refused(f"{path!r} is no path: {why}", "path_malformed", path=path)


def grown(level, old, new):
    """The tiles of a level that are new or wider."""
    old, new = old // 256**level, new // 256**level
    if old == new:
        return []
    return [(index, min(256, new - index * 256)) for index in range(old // 256, -(-new // 256))]


def tiles():
    for old, new in [(0, 0), (0, 1), (0, 255), (0, 256), (0, 257), (256, 257), (255, 256), (256, 256), (1, 300), (300, 511), (0, 1_025), (65_535, 65_536), (69_999, 70_000)]:
        files = [f"tile/{level}/{place(*one)}" for level in range(8) for one in grown(level, old, new)]
        bundles = [f"tile/entries/{place(*one)}" for one in grown(0, old, new)]
        yield accepted(f"what is written when {old} leaves become {new}", old_size=old, new_size=new, tiles=files, bundles=bundles)


def nodes():
    for level, index, size in [(0, 0, 1), (0, 255, 256), (0, 256, 300), (3, 31, 256), (7, 1, 256), (8, 0, 256), (8, 272, LARGE), (10, 1, LARGE), (15, 1, LARGE), (16, 0, LARGE), (4, 4_374, LARGE)]:
        first = index << level % 8
        tile_level, tile_index, at = level // 8, first // 256, first % 256
        count = size // 256**tile_level
        width = min(256, count - tile_index * 256)
        length = 256**tile_level
        begin = tile_index * 256 * length
        held = [mth(begin + one * length, begin + (one + 1) * length) for one in range(width)] if width <= 32 else None
        yield accepted(
            f"the root of the {2**level} leaves from {index << level} in a tree of {size}",
            level=level, index=index, size=size, tile=f"tile/{tile_level}/{place(tile_index, width)}",
            begin=at, end=at + (1 << level % 8), root=b64(mth(index << level, (index + 1) << level)),
            **({"hashes": texts(held)} if held else {}),
        )
    for level, index, size in [(0, 1, 1), (8, 0, 255), (1, 3, 7), (63, 1, LARGE)]:
        yield refused(f"a tree of {size} leaves has no complete subtree {index} at level {level}", "node_missing", level=level, index=index, size=size)


def bundles():
    def packed(entries):
        return b"".join(len(one).to_bytes(2, "big") + one for one in entries)

    for name, entries in [
        ("one entry", [b"hello"]),
        ("an entry without bytes", [b""]),
        ("three entries, the second without bytes", [b"a", b"", b"c"]),
        ("an entry whose length takes both bytes", [b"x" * 300]),
        ("a full bundle", [entry(index) for index in range(256)]),
    ]:
        yield accepted(name, width=len(entries), bytes=b64(packed(entries)), entries=texts(entries))
    three = packed([b"a", b"bc", b"def"])
    for name, width, data in [
        ("the bundle has fewer entries than its path says", 4, three),
        ("the bundle has more entries than its path says", 2, three),
        ("the last entry is cut", 3, three[:-1]),
        ("the last length is cut", 3, three[:-4]),
        ("there is a byte too many", 3, three + b"\x00"),
        ("there is no entry", 1, b""),
        ("there are 257 entries", 256, packed([b"x"] * 257)),
    ]:
        yield refused(name, "bundle_malformed", width=width, bytes=b64(data))


def keys():
    for key in (LOG, WITNESSES[0]):
        yield accepted(f"a key of signature type {key.kind}", vkey=key.vkey, key_name=key.name, id=key.id.hex(), type=key.kind, public=b64(key.public), seed=b64(key.seed))
    public = base64.b64decode(C2SP_KEY.rsplit("+", 1)[1])[1:]
    yield accepted("the key of C2SP's example", vkey=C2SP_KEY, key_name="example.com/foo", id="530d903a", type=1, public=b64(public))
    umlaut = Key("größe.example/log", "umlaut")
    yield accepted("a name in Unicode", vkey=umlaut.vkey, key_name=umlaut.name, id=umlaut.id.hex(), type=1, public=b64(umlaut.public), seed=b64(umlaut.seed))
    kind, ident, tail = LOG.name, LOG.id.hex(), LOG.vkey.rsplit("+", 1)[1]
    for name, vkey in [
        ("no text", ""),
        ("a part is missing", f"{kind}+{ident}"),
        ("the id is another key's", f"{kind}+{WITNESSES[0].id.hex()}+{tail}"),
        ("the id is in uppercase", f"{kind}+{ident.upper()}+{tail}"),
        ("the id has fewer digits", f"{kind}+{ident[1:]}+{tail}"),
        ("the name is another", f"other.example+{ident}+{tail}"),
        ("the name is empty", Key("", "log").vkey),
        ("the name has a space", Key("a b", "log").vkey),
        ("the name has a space that is not ASCII", Key("a\u2003b", "log").vkey),
        ("the name has 256 bytes", Key("n" * 256, "log").vkey),
        ("the base64 has no padding", LOG.vkey.rstrip("=")[:-1]),
        ("the base64 is of the other alphabet", f"{kind}+{ident}+-_{tail[2:]}"),
        ("the public key has 31 bytes", f"{kind}+{ident}+{b64(bytes([1]) + LOG.public[:31])}"),
        ("the key is empty", f"{kind}+{ident}+"),
        ("a newline follows", LOG.vkey + "\n"),
    ]:
        yield refused(name, "key_malformed", vkey=vkey)
    for kind in (2, 5, 6, 255):
        key = Key(ORIGIN, "log", kind)
        yield refused(f"a key of signature type {kind}, which is not supported", "key_unsupported", vkey=key.vkey)
    weak = Key(ORIGIN, "log")
    weak.public = (1).to_bytes(32, "little")
    weak.id = sha256(weak.name.encode() + b"\n\x01" + weak.public)[:4]
    yield refused("a point with which anyone can sign", "key_malformed", vkey=weak.vkey)


def notes():
    text = "one line\n\nand another after an empty one\n"
    signed = f"{text}\n{LOG.sign(text)}"
    given = dict(keys=[LOG.vkey], text=text)
    impostor = Key(ORIGIN, "stranger")

    def note(name, body, keys=(LOG,), of=text, by=(LOG,)):
        return accepted(name, note=body, keys=[key.vkey for key in keys], text=of, signed_by=[key.vkey for key in by])

    def bad(name, error, body, keys=(LOG,)):
        return refused(name, error, note=body, keys=[key.vkey for key in keys])

    yield accepted("the example of C2SP", note=C2SP_NOTE, keys=[C2SP_KEY], text="This is an example message.\n", signed_by=[C2SP_KEY])
    yield note("a text with an empty line, signed by one key", signed)
    yield note("the text is a newline", f"\n\n{LOG.sign(chr(10))}", of="\n")
    accents = "ed è subito sera.\n"
    yield note("a text that is not ASCII", f"{accents}\n{LOG.sign(accents)}", of=accents)
    yield note("two keys signed while one is replaced, and one of them is known", signed + OLD_LOG.sign(text))
    yield note("both keys that signed are known", signed + OLD_LOG.sign(text), keys=(LOG, OLD_LOG), by=(LOG, OLD_LOG))
    yield note("the signature of an unknown key is passed over", f"{text}\n{STRANGER.sign(text)}{LOG.sign(text)}")
    yield note("an unknown key's signature of a length that nothing has is passed over", f"{text}\n{line('x.example', b'idid!')}{LOG.sign(text)}")
    yield note("a key of the same name and another id is another key", f"{text}\n{impostor.sign(text)}{LOG.sign(text)}")
    same_id = line("other.example", LOG.id + bytes(64))
    yield note("a key of the same id and another name is another key", f"{text}\n{same_id}{LOG.sign(text)}")
    yield note("the same signature twice counts once", signed + LOG.sign(text))
    yield note("100 signatures", f"{text}\n{line('x.example', b'idid!') * 99}{LOG.sign(text)}")
    yield bad("the text was changed", "signature_mismatch", signed.replace("another", "a third"))
    yield bad("the signature is of another text", "signature_mismatch", f"{text}\n{LOG.sign('x' + text)}")
    yield bad("a known key's signature is wrong, though another known key's is right", "signature_mismatch", f"{text}\n{LOG.sign(text)}{line(OLD_LOG.name, OLD_LOG.id + bytes(64))}", keys=(LOG, OLD_LOG))
    yield bad("a known key's signature is cut", "signature_mismatch", f"{text}\n{line(LOG.name, LOG.id + ed25519.sign(LOG.seed, text.encode())[:63])}")
    yield bad("a known key's signature has a byte more", "signature_mismatch", f"{text}\n{line(LOG.name, LOG.id + ed25519.sign(LOG.seed, text.encode()) + bytes(1))}")
    signature = ed25519.sign(LOG.seed, text.encode())
    larger = (int.from_bytes(signature[32:], "little") + ed25519.ORDER).to_bytes(32, "little")
    yield bad("the signature is a second spelling of the right one", "signature_mismatch", f"{text}\n{line(LOG.name, LOG.id + signature[:32] + larger)}")
    yield bad("only unknown keys signed", "not_signed", f"{text}\n{STRANGER.sign(text)}")
    yield bad("no key is known", "not_signed", signed, keys=())
    for name, body in [
        ("no text", ""),
        ("no signature", text + "\n"),
        ("no empty line before the signature", "one line\n" + LOG.sign("one line\n")),
        ("no text before the empty line", "\n" + LOG.sign("")),
        ("the last line does not end", signed[:-1]),
        ("an empty line after the signatures", signed + "\n"),
        ("a line that is no signature among the signatures", signed + "hello\n"),
        ("a hyphen in place of the dash", signed.replace("—", "-")),
        ("two spaces after the dash", signed.replace("— ", "—  ")),
        ("a space after the signature", signed[:-1] + " \n"),
        ("the name has a plus sign", f"{text}\n" + line("a+b", bytes(68)) + LOG.sign(text)),
        ("the name has a space that is not ASCII", f"{text}\n" + line("a\u00a0b", bytes(68)) + LOG.sign(text)),
        ("a signature without bytes after its key's id", f"{text}\n" + line("x.example", bytes(4)) + LOG.sign(text)),
        ("a signature shorter than a key's id", f"{text}\n" + line("x.example", bytes(3)) + LOG.sign(text)),
        ("base64 without padding", f"{text}\n— x.example aWRpZCE\n" + LOG.sign(text)),
        ("base64 with bits that mean nothing", f"{text}\n— x.example aWRpZCF=\n" + LOG.sign(text)),
        ("a carriage return", signed.replace("one line\n", "one line\r\n")),
        ("a tab", signed.replace("one line", "one\tline")),
        ("a zero", signed.replace("one line", "one\0line")),
        ("101 signatures", f"{text}\n{line('x.example', b'idid!') * 100}{LOG.sign(text)}"),
        ("more than 1,000,000 bytes", "x" * 1_000_000 + "\n\n" + LOG.sign("x\n")),
    ]:
        # A long one is described, not written out.
        if len(body) > 100_000:
            yield refused(name, "note_malformed", note=body[1_000_000:], note_prefix="x", note_prefix_count=1_000_000, keys=given["keys"])
        else:
            yield bad(name, "note_malformed", body)


def checkpoints():
    root = b64(mth(0, 7))
    for name, text, origin, size, root_text, extensions in [
        ("a checkpoint", checkpoint(7), ORIGIN, 7, root, []),
        ("a tree without leaves", checkpoint(0), ORIGIN, 0, b64(mth(0, 0)), []),
        ("the largest size", f"{ORIGIN}\n{2**63 - 1}\n{root}\n", ORIGIN, 2**63 - 1, root, []),
        ("two extension lines", checkpoint(7) + "one\ntwo 2\n", ORIGIN, 7, root, ["one", "two 2"]),
        ("an origin with spaces", checkpoint(7, "our log, 2026"), "our log, 2026", 7, root, []),
    ]:
        yield accepted(name, text=text, origin=origin, size=size, root=root_text, extensions=extensions)
    for name, text in [
        ("no text", ""),
        ("two lines", f"{ORIGIN}\n7\n"),
        ("the last line does not end", checkpoint(7)[:-1]),
        ("the origin is empty", f"\n7\n{root}\n"),
        ("the size has a leading zero", f"{ORIGIN}\n07\n{root}\n"),
        ("the size is 00", f"{ORIGIN}\n00\n{root}\n"),
        ("the size has a sign", f"{ORIGIN}\n+7\n{root}\n"),
        ("the size is negative", f"{ORIGIN}\n-7\n{root}\n"),
        ("the size is empty", f"{ORIGIN}\n\n{root}\n"),
        ("the size is hexadecimal", f"{ORIGIN}\n0x7\n{root}\n"),
        ("the size has digits that are not ASCII", f"{ORIGIN}\n７\n{root}\n"),
        ("the size is 2^63", f"{ORIGIN}\n{2**63}\n{root}\n"),
        ("the root has 31 bytes", f"{ORIGIN}\n7\n{b64(bytes(31))}\n"),
        ("the root has 33 bytes", f"{ORIGIN}\n7\n{b64(bytes(33))}\n"),
        ("the root has no padding", f"{ORIGIN}\n7\n{root[:-1]}\n"),
        ("the root is hexadecimal", f"{ORIGIN}\n7\n{mth(0, 7).hex()}\n"),
        ("the root has bits that mean nothing", f"{ORIGIN}\n7\n{'A' * 42}B=\n"),
        ("an extension line is empty", checkpoint(7) + "\nafter\n"),
        ("an empty line at the end", checkpoint(7) + "\n"),
        ("a carriage return", checkpoint(7).replace("\n", "\r\n")),
        ("a space after the size", f"{ORIGIN}\n7 \n{root}\n"),
    ]:
        yield refused(name, "checkpoint_malformed", text=text)


def cosignatures():
    text = checkpoint(7)
    one, two, _ = WITNESSES

    def note(*lines):
        return text + "\n" + LOG.sign(text) + "".join(lines)

    def good(name, lines, cosigned, witnesses=(one, two)):
        return accepted(name, checkpoint=note(*lines), witnesses=[key.vkey for key in witnesses],
                        cosigned=[{"key": key.vkey, "timestamp": at} for key, at in cosigned])

    def bad(name, error, *lines):
        return refused(name, error, checkpoint=note(*lines), witnesses=[one.vkey, two.vkey])

    yield {**good("one witness cosigned", [one.cosign(text, NOW)], [(one, NOW)]), "made_with": {"name": one.name, "seed": b64(one.seed), "timestamp": NOW, "line": one.cosign(text, NOW)}}
    yield good("two witnesses cosigned at different times", [one.cosign(text, NOW), two.cosign(text, NOW + 5)], [(one, NOW), (two, NOW + 5)])
    yield good("one witness cosigned twice and counts once, with the later time", [one.cosign(text, NOW + 9), one.cosign(text, NOW)], [(one, NOW + 9)])
    yield good("no witness cosigned", [], [])
    yield good("a witness that nobody asked for is passed over", [STRANGER.sign(text), WITNESSES[2].cosign(text, NOW)], [])
    renamed = Key("witness.example/renamed", "witness 1", 4)
    yield good("one key under two names counts once", [one.cosign(text, NOW), renamed.cosign(text, NOW)], [(one, NOW)], (one, renamed))
    plain = Key("witness.example/w1", "witness 1", 1)
    yield good("a plain signature with a witness's key is no cosignature", [plain.sign(text)], [], (one, plain))
    yield good("the latest time there is", [one.cosign(text, 2**63 - 1)], [(one, 2**63 - 1)])
    yield bad("the cosignature is of another checkpoint", "signature_mismatch", one.cosign(checkpoint(6), NOW))
    moved = one.id + (NOW + 1).to_bytes(8, "big") + base64.b64decode(one.cosign(text, NOW).split(" ")[2])[12:]
    yield bad("the time was changed", "signature_mismatch", line(one.name, moved))
    yield bad("the text was signed without the time", "signature_mismatch", line(one.name, one.id + NOW.to_bytes(8, "big") + ed25519.sign(one.seed, text.encode())))
    yield bad("the time is missing", "signature_mismatch", line(one.name, one.id + ed25519.sign(one.seed, text.encode())))
    yield bad("the cosignature is shorter than a time", "signature_mismatch", line(one.name, one.id + b"1234567"))
    yield bad("the time is 2^63", "timestamp_out_of_range", one.cosign(text, 2**63))
    yield bad("one of two cosignatures is wrong", "signature_mismatch", one.cosign(text, NOW), two.cosign(checkpoint(6), NOW))


def witness():
    def body(old, proof, size, key=LOG, text=None):
        text = text or checkpoint(size)
        return f"old {old}\n" + "".join(f"{b64(one)}\n" for one in proof) + f"\n{text}\n{key.sign(text)}"

    def asked(name, status, request, seen=None, keys=(LOG,), conflict=None, root=None):
        last = None if seen is None else {"size": seen, "root": b64(root or mth(0, seen))}
        return {"name": name, "request": request, "log_keys": None if keys is None else [key.vkey for key in keys], "seen": last,
                "status": status, **({"conflict": conflict} if conflict is not None else {}), "accepted": status == 200}

    yield asked("the first checkpoint of a log", 200, body(0, [], 7))
    yield asked("a checkpoint that continues the last one", 200, body(6, consistency(6, 13), 13), seen=6)
    yield asked("the last checkpoint once more", 200, body(7, [], 7), seen=7)
    yield asked("the checkpoint of a log without entries", 200, body(0, [], 0))
    yield asked("the first entries after a checkpoint without entries", 200, body(0, [], 3), seen=0)
    yield asked("an unknown log", 404, body(0, [], 7), keys=None)
    yield asked("an unknown log that nobody signed for", 404, body(0, [], 7, key=STRANGER), keys=None)
    yield asked("nobody who may signed", 403, body(0, [], 7, key=STRANGER))
    yield asked("the log's signature is wrong", 403, body(0, [], 7).replace(LOG.sign(checkpoint(7)), LOG.sign(checkpoint(6))))
    yield asked("the checkpoint is smaller than what it continues", 400, body(8, [], 7), seen=8)
    yield asked("the log does not know what the witness saw last", 409, body(0, [], 13), seen=7, conflict=7)
    yield asked("the log believes that the witness saw more", 409, body(8, consistency(8, 13), 13), seen=7, conflict=7)
    yield asked("the log believes that a witness without memory saw something", 409, body(7, consistency(7, 13), 13), conflict=0)
    yield asked("the log was rolled back", 400, body(7, [], 6), seen=7)
    yield asked("the log was rolled back and does not say so", 409, body(6, [], 6), seen=7, conflict=7)
    yield asked("the log was replaced by another of the same size", 409, body(7, [], 7), seen=7, root=mth(1, 8), conflict=7)
    yield asked("the log was replaced by another that is larger", 422, body(7, consistency(7, 13), 13), seen=7, root=mth(1, 8))
    yield asked("a hash of the proof was changed", 422, body(6, flipped(consistency(6, 13), 1), 13), seen=6)
    yield asked("a hash of the proof is missing", 422, body(6, consistency(6, 13)[:-1], 13), seen=6)
    yield asked("a proof though nothing was seen", 422, body(0, [mth(0, 1)], 7))
    yield asked("a proof though the size is the same", 422, body(7, [mth(0, 1)], 7), seen=7)
    yield asked("a checkpoint without entries whose root is not that of none", 409, body(0, [], 0, text=checkpoint(0, root=mth(0, 1))), conflict=0)
    good = body(6, consistency(6, 13), 13)
    for name, error, request in [
        ("no body", "request_malformed", ""),
        ("no old size", "request_malformed", good.split("\n", 1)[1]),
        ("the old size has a leading zero", "request_malformed", good.replace("old 6", "old 06")),
        ("the old size has a sign", "request_malformed", good.replace("old 6", "old +6")),
        ("two spaces before the old size", "request_malformed", good.replace("old 6", "old  6")),
        ("a line of the proof is not base64", "request_malformed", good.replace("old 6\n", "old 6\n?\n")),
        ("a hash of 31 bytes", "request_malformed", good.replace("old 6\n", f"old 6\n{b64(bytes(31))}\n")),
        ("64 hashes", "request_malformed", body(6, [mth(0, 1)] * 64, 13)),
        ("no empty line after the proof", "request_malformed", "old 6\n" + b64(mth(0, 1)) + "\n"),
        ("no checkpoint", "note_malformed", "old 6\n\n"),
        ("a note that is no checkpoint", "checkpoint_malformed", "old 6\n\nhello\n\n" + LOG.sign("hello\n")),
    ]:
        yield {**asked(name, 400, request), "error": error}


def tlog_proofs():
    text = checkpoint(13)

    def proof(index=5, hashes=None, signed=None, extra=None, first="c2sp.org/tlog-proof@v1"):
        hashes = path(index, 0, 13) if hashes is None else hashes
        signed = text + "\n" + LOG.sign(text) + "".join(key.cosign(text, NOW) for key in WITNESSES[:2]) if signed is None else signed
        lines = [first] + ([] if extra is None else [f"extra {extra}"]) + [f"index {index}"] + texts(hashes)
        return "\n".join(lines) + "\n\n" + signed

    def given(body, index=5, origin=ORIGIN, keys=(LOG,), of=None):
        return dict(proof=body, leaf=b64(of or mth(index, index + 1)), origin=origin, log_keys=[key.vkey for key in keys], witnesses=[key.vkey for key in WITNESSES])

    both = [key.vkey for key in WITNESSES[:2]]
    yield accepted("an entry, signed by the log and cosigned by two of three witnesses", **given(proof()), index=5, size=13, cosigned=both)
    yield accepted("with extra data", **given(proof(extra=b64(b"a salt"))), index=5, size=13, cosigned=both, extra=b64(b"a salt"))
    yield accepted("the last entry", **given(proof(12), 12), index=12, size=13, cosigned=both)
    alone = text + "\n" + LOG.sign(text)
    yield accepted("no witness cosigned", **given(proof(signed=alone)), index=5, size=13, cosigned=[])
    single = checkpoint(1)
    yield accepted("the only entry needs no hashes", **given(proof(0, [], single + "\n" + LOG.sign(single)), 0), index=0, size=1, cosigned=[])
    yield refused("another entry", "root_mismatch", **given(proof(), of=mth(6, 7)))
    yield refused("the index was changed", "root_mismatch", **given(proof(4, path(5, 0, 13)), 5))
    yield refused("a hash was changed", "root_mismatch", **given(proof(hashes=flipped(path(5, 0, 13), 0))))
    yield refused("a hash is missing", "hash_count_wrong", **given(proof(hashes=path(5, 0, 13)[1:])))
    yield refused("the index is outside the tree", "index_outside_tree", **given(proof(13, path(5, 0, 13)), 5))
    yield refused("the checkpoint is another log's", "origin_mismatch", **given(proof(), origin=OTHER_ORIGIN))
    yield refused("the log did not sign", "not_signed", **given(proof(signed=text + "\n" + STRANGER.sign(text))))
    yield refused("the checkpoint was changed", "signature_mismatch", **given(proof(signed=alone.replace("\n13\n", "\n14\n"))))
    yield refused("a witness's cosignature is wrong", "signature_mismatch", **given(proof(signed=alone + WITNESSES[0].cosign(single, NOW))))
    good = proof()
    for name, body in [
        ("no text", ""),
        ("another version", proof(first="c2sp.org/tlog-proof@v2")),
        ("the extra data is empty", proof(extra="")),
        ("the extra data is not base64", proof(extra="?")),
        ("the extra data is after the index", good.replace("index 5\n", "index 5\nextra YQ==\n")),
        ("the extra data is there twice", good.replace("index 5\n", "extra YQ==\nextra YQ==\nindex 5\n")),
        ("the index is missing", good.replace("index 5\n", "")),
        ("the index has a leading zero", good.replace("index 5\n", "index 05\n")),
        ("the index is negative", good.replace("index 5\n", "index -5\n")),
        ("a line is not base64", good.replace("index 5\n", "index 5\n?\n")),
        ("64 hashes", proof(hashes=[mth(0, 1)] * 64)),
        ("an empty line before the index", good.replace("index 5\n", "\nindex 5\n")),
        ("Windows line ends", good.replace("\n", "\r\n")),
    ]:
        yield refused(name, "proof_malformed", **given(body))
    yield refused("the checkpoint is missing", "note_malformed", **given(proof(signed="")))
    yield refused("the checkpoint has two lines", "checkpoint_malformed", **given(proof(signed=f"a\n1\n\n{LOG.sign('a')}")))


FILES = {
    "hashes": hashes,
    "roots": roots,
    "inclusion": inclusion,
    "consistency": consistencies,
    "ranges": ranges,
    "paths": paths,
    "tiles": tiles,
    "nodes": nodes,
    "bundles": bundles,
    "keys": keys,
    "notes": notes,
    "checkpoints": checkpoints,
    "cosignatures": cosignatures,
    "witness": witness,
    "tlog_proofs": tlog_proofs,
}


def portable(value):
    """JavaScript reads larger numbers as others than they are, so they are text."""
    if isinstance(value, dict):
        return {key: portable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [portable(inner) for inner in value]
    return str(value) if isinstance(value, int) and value >= 2**53 else value


def written(about, cases):
    cases = [portable(case) for case in cases()]
    names = [case["name"] for case in cases]
    assert len(set(names)) == len(names), f"{about}: a name is there twice"
    lines = ",\n".join("    " + json.dumps(case, ensure_ascii=False) for case in cases)
    return f'{{\n  "version": 1,\n  "about": "{about}",\n  "cases": [\n{lines}\n  ]\n}}\n'


def main(folder, files):
    """Writes the files of a folder of vectors; with --check, says whether they are current."""
    stale = 0
    for about, cases in files.items():
        file = folder / f"{about}.json"
        text = written(about, cases)
        if "--check" not in sys.argv:
            file.write_text(text, encoding="utf-8", newline="\n")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            print(f"{file.name} is not what make.py writes: run it without --check", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(__file__).resolve().parent, FILES))
