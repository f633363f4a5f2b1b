"""The Merkle tree of RFC 6962, from its right edge: all that is needed to append to it and to know its root."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .malformed import Malformed

SIZE_MAX = 2**63 - 1


def leaf_hash(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def empty_root() -> bytes:
    return hashlib.sha256().digest()


def complete_subtrees(begin: int, end: int) -> list[int]:
    """The levels of the largest complete subtrees from leaf `begin` up to, not including, `end`, from left to right."""
    levels = []
    while begin < end:
        fitting = (end - begin).bit_length() - 1
        level = fitting if begin == 0 else min(fitting, (begin & -begin).bit_length() - 1)
        levels.append(level)
        begin += 1 << level
    return levels


class Edge:
    """The roots of a tree's complete subtrees, the largest first: one for each bit that is set in its size."""

    def __init__(self, size: int = 0, roots: Iterable[bytes] = ()) -> None:
        self.size = size
        self.roots = list(roots)
        expect(size.bit_count(), len(self.roots))

    def append(self, root: bytes, level: int = 0) -> None:
        """Appends a leaf, or the root of 2^level leaves, a number that divides the size so far."""
        index = self.size >> level
        while index & 1:
            root = node_hash(self.roots.pop(), root)
            index >>= 1
        self.roots.append(root)
        self.size += 1 << level

    def root(self) -> bytes:
        if not self.roots:
            return empty_root()
        root = self.roots[-1]
        for left in reversed(self.roots[:-1]):
            root = node_hash(left, root)
        return root


class Range:
    """The leaves from `begin` up to, not including, `end`, of a tree of `size` leaves."""

    def __init__(self, begin: int, end: int, size: int) -> None:
        if size > SIZE_MAX:
            raise Malformed("size_too_large", "at most 2^63 - 1 leaves are supported")
        if not 0 <= begin <= end <= size:
            why = f"leaves {begin} to {end} are not a range of a tree of {size} leaves"
            raise Malformed("range_outside_tree", why)
        self.begin, self.end, self.size = begin, end, size

    def start(self, before: Iterable[bytes]) -> Edge:
        """What the leaves are appended to, from the roots of the complete subtrees before them."""
        return Edge(self.begin, before)

    def check_after(self, after: list[bytes]) -> None:
        expect(len(complete_subtrees(self.end, self.size)), len(after))

    def finish(self, edge: Edge, after: list[bytes]) -> bytes:
        """The tree's root, when all leaves were appended to what `start` gave."""
        expect(self.end - self.begin, edge.size - self.begin)
        self.check_after(after)
        for level, root in zip(complete_subtrees(self.end, self.size), after, strict=True):
            edge.append(root, level)
        return edge.root()


def expect(expected: int, found: int) -> None:
    if expected != found:
        why = f"expected {expected} hashes and found {found}: some are missing, or were added"
        raise Malformed("hash_count_wrong", why)
