"""What the stored bytes of an event or an attempt say of themselves, which must be what the leaf says."""

from __future__ import annotations

import datetime
import json
import re
from typing import Any, NoReturn

from .malformed import Malformed

EVENT, ATTEMPT = 1, 2

_PREFIXES = {EVENT: "evt_", ATTEMPT: "att_"}
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
"""Crockford's: no i, l, o, u."""
_AS_PYTHON_COUNTS = str.maketrans(_ALPHABET, "0123456789abcdefghijklmnopqrstuv")
_ID = re.compile(f"(evt|att)_([0-7][{_ALPHABET}]{{25}})")


def decode_id(text: str) -> bytes | None:
    """A byte for the kind and 16 for the id; `None` if it is no id of an event or an attempt."""
    parts = _ID.fullmatch(text)
    if parts is None:
        return None
    value = int(parts[2].translate(_AS_PYTHON_COUNTS), 32)
    kind = EVENT if parts[1] == "evt" else ATTEMPT
    return bytes([kind]) + value.to_bytes(16, "big")


def encode_id(record: bytes) -> str:
    value = int.from_bytes(record[1:], "big")
    return _PREFIXES[record[0]] + "".join(_ALPHABET[value >> 5 * place & 31] for place in reversed(range(26)))


class Members(list[tuple[str, Any]]):
    """An object's members as they were written, some perhaps twice."""

    def one(self, name: str) -> Any:
        found = [value for key, value in self if key == name]
        if len(found) > 1:
            raise Malformed("record_malformed", f"`{name}` is there twice")
        return found[0] if found else None

    def has_names(self) -> bool:
        """Whether each name is a text: half a character is none."""
        return _is_text("".join(name for name, _ in self))


class _Number:
    """A number, which may be any."""

    def __init__(self, digits: str) -> None:
        pass


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


# Some numbers are too long for Python, and none is looked at.
_DECODER = json.JSONDecoder(object_pairs_hook=Members, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)


def check(leaf: bytes, stored: str) -> list[bytes]:
    """Raises `Malformed` unless the bytes are about what the leaf names. Returns what they say was erased."""
    record = _object(stored)
    is_event = leaf[1] == EVENT
    names = ("occurred_at", "received_at") if is_event else ("started_at", "finished_at")
    texts = [_text(record, name) for name in ("id", *names)]
    event_type, metadata = (record.one("event_type"), record.one("metadata")) if is_event else (None, None)
    if decode_id(texts[0]) != leaf[1:18]:
        raise Malformed("record_mismatch", "id")
    for name, text, expected in zip(names, texts[1:], (leaf[18:26], leaf[26:34]), strict=True):
        if unix_ms(text) != int.from_bytes(expected, "big", signed=True):
            raise Malformed("record_mismatch", name)
    return _named(metadata) if event_type == "erasure" else []


def _named(metadata: object) -> list[bytes]:
    if not isinstance(metadata, Members) or not metadata.has_names():
        return []
    try:
        ids = metadata.one("ids")
    except Malformed:
        return []
    # A list of members is one too.
    if type(ids) is not list or not all(isinstance(one, str) for one in ids):
        return []
    return [record for record in map(decode_id, ids) if record is not None]


def _object(stored: str) -> Members:
    try:
        value = _DECODER.decode(stored)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Members) or not value.has_names():
        raise Malformed("record_malformed", "not a JSON object")
    return value


def _text(record: Members, name: str) -> str:
    value = record.one(name)
    if type(value) is not str or not _is_text(value):
        raise Malformed("record_malformed", f"`{name}` is missing or not a text")
    return value


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[\x00-\x7f](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII | re.DOTALL,
)
_DAYS_TO_1970 = datetime.date(1970, 1, 1).toordinal()
_DAY_S = 86_400
_CYCLE_DAYS = 146_097
"""After 400 years the calendar repeats."""


def unix_ms(text: str) -> int | None:
    """Finer fractions than a millisecond are cut, as the server does; a leap second is the end of the one before."""
    parts = _RFC3339.fullmatch(text)
    if parts is None:
        return None
    year, month, day, hour, minute, second = map(int, parts.groups()[:6])
    offset_hour, offset_minute = int(parts[9] or 0), int(parts[10] or 0)
    if hour > 23 or minute > 59 or second > 60 or offset_hour > 23 or offset_minute > 59:
        return None
    try:
        # Python has no year 0, which is like the year 400.
        days = datetime.date(year or 400, month, day).toordinal() - (0 if year else _CYCLE_DAYS) - _DAYS_TO_1970
    except ValueError:
        return None
    offset_s = (offset_hour * 60 + offset_minute) * (-60 if parts[8] == "-" else 60)
    is_leap = second == 60
    total_s = days * _DAY_S + hour * 3600 + minute * 60 + second - is_leap - offset_s
    if is_leap and not _ends_a_month(total_s):
        return None
    fraction_ms = 999 if is_leap else int(f"{parts[7] or ''}000"[:3])
    return total_s * 1000 + fraction_ms


def _ends_a_month(unix_s: int) -> bool:
    next_day, rest = divmod(unix_s + 1, _DAY_S)
    in_cycle = (next_day + _DAYS_TO_1970) % _CYCLE_DAYS + _CYCLE_DAYS
    return rest == 0 and datetime.date.fromordinal(in_cycle).day == 1
