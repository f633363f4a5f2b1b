"""The lines of an export, each in the one spelling that it may have."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .checkpoints import SignedCheckpoint
from .malformed import Malformed, decoded
from .records import ATTEMPT, EVENT, decode_id

LINE_BYTES_MAX = 4 * 1024 * 1024
KEYS_MAX = 16
HASHES_AROUND_MAX = 64
WITHHELD_PER_LINE_MAX = 1_024
NUMBER_MAX = 2**53 - 1
LEAF_BYTES = 66

_START = '{"format":"watchbell-trail/'
_HEADER = ("format", "made_at", "origin", "checkpoint", "keys", "first", "end", "filter", "before", "after")
_COUNTS = ("leaves", "events", "attempts", "erased", "gone", "withheld")

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True)
class Header:
    """What a file says of itself. Of this, only the checkpoint is signed."""

    made_at: str
    origin: str
    checkpoint: SignedCheckpoint
    keys: list[str]
    first: int
    end: int
    filter: str | None
    before: list[bytes]
    after: list[bytes]

    @classmethod
    def read(cls, line: bytes) -> Header:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = ""
        if not text.startswith(_START):
            raise Malformed("not_an_export", "")
        if not text.startswith('v1",', len(_START)):
            raise Malformed("version_unknown", "")
        try:
            said = _object(line)
            _, made_at, origin, note, keys, first, end, asked, before, after = _members(said, *_HEADER)
            header = (_text(made_at), _text(origin), _text(note), _list(keys, KEYS_MAX, _text))
            numbers = (_number(first), _number(end), None if asked is None else _text(asked))
            around = [_list(hashes, HASHES_AROUND_MAX, _hash) for hashes in (before, after)]
        except ValueError:
            raise Malformed("header_malformed", "") from None
        made_at, origin, note, keys = header
        return cls(made_at, origin, SignedCheckpoint.parse(note), keys, *numbers, *around)


@dataclass(frozen=True)
class Record:
    """An event or an attempt, with its leaf and its salt."""

    kind: int
    leaf: bytes
    salt: bytes
    stored: str


@dataclass(frozen=True)
class Erased:
    """A leaf whose bytes were erased, and the event that says so."""

    leaf: bytes
    by: bytes


@dataclass(frozen=True)
class Gone:
    """A leaf whose bytes are past their retention."""

    leaf: bytes


@dataclass(frozen=True)
class Missing:
    """A leaf whose bytes should be there and are not."""

    leaf: bytes


@dataclass(frozen=True)
class Withheld:
    """Leaves that the filter does not match."""

    hashes: list[bytes]


@dataclass(frozen=True)
class Policy:
    """What decisions in the file were made by."""

    digest: str
    text: str
    schema: str | None


@dataclass(frozen=True)
class End:
    """The last line: how many there are of each."""

    counts: tuple[int, ...]


Line = Record | Erased | Gone | Missing | Withheld | Policy | End


def read(line: bytes) -> Line:
    """What a line after the header is; a `ValueError` if it is none."""
    said = _object(line)
    match tuple(said):
        case ("leaf", "salt", "event" | "attempt" as shown):
            leaf, salt, stored = said.values()
            kind = EVENT if shown == "event" else ATTEMPT
            return Record(kind, _bytes(leaf, LEAF_BYTES), _bytes(salt, 16), _text(stored))
        case ("leaf", "erased"):
            by = decode_id(_text(said["erased"]))
            if by is not None and by[0] == EVENT:
                return Erased(_bytes(said["leaf"], LEAF_BYTES), by)
        case ("leaf", "gone") if said["gone"] is True:
            return Gone(_bytes(said["leaf"], LEAF_BYTES))
        case ("leaf", "missing") if said["missing"] is True:
            return Missing(_bytes(said["leaf"], LEAF_BYTES))
        case ("hashes",):
            joined = decoded(_text(said["hashes"]))
            if 0 < len(joined) <= 32 * WITHHELD_PER_LINE_MAX and len(joined) % 32 == 0:
                return Withheld([joined[at : at + 32] for at in range(0, len(joined), 32)])
        case ("policy",):
            return _policy(said["policy"])
        case ("end",):
            return End(tuple(map(_number, _members(said["end"], *_COUNTS))))
    raise ValueError(said)


def _policy(said: Any) -> Policy:
    has_schema = isinstance(said, dict) and "schema" in said
    names = ("digest", "text", "schema") if has_schema else ("digest", "text")
    texts = [_text(value) for value in _members(said, *names)]
    return Policy(texts[0], texts[1], texts[2] if has_schema else None)


def _object(line: bytes) -> dict[str, Any]:
    """There is one spelling: what is read must be written as it was."""
    try:
        text = line.decode()
        said = json.loads(text)
    except RecursionError:
        raise ValueError(line) from None
    if not isinstance(said, dict) or _ENCODER.encode(said) != text:
        raise ValueError(line)
    return said


def _members(said: Any, *names: str) -> tuple[Any, ...]:
    if not isinstance(said, dict) or tuple(said) != names:
        raise ValueError(said)
    return tuple(said.values())


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(value)
    return value


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= NUMBER_MAX:
        raise ValueError(value)
    return value


def _list(value: Any, longest: int, read_one: Callable[[Any], Any]) -> list[Any]:
    if not isinstance(value, list) or len(value) > longest:
        raise ValueError(value)
    return [read_one(one) for one in value]


def _bytes(value: Any, length: int) -> bytes:
    data = decoded(_text(value))
    if len(data) != length:
        raise ValueError(value)
    return data


def _hash(value: Any) -> bytes:
    return _bytes(value, 32)
