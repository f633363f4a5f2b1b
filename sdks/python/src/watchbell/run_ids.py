"""The session, trace and span that a decision belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable

RunId = str | Callable[[], str | None]
"""The id of a session, trace or span, or a function that says which one it is now."""

LENGTH_MAX = 128

HASH_LENGTH = 16


def current(run_id: RunId | None) -> str | None:
    """Which one it is now. A `ContextVar` that is not set and has no default raises `LookupError`: there is none."""
    if not callable(run_id):
        return run_id
    try:
        return run_id()
    except LookupError:
        return None


def recordable(run_id: object) -> str | None:
    """An id as the service takes it, because no id is worth a call that fails: 1 to 128 characters without NUL.

    An empty one is none. A longer one ends in a hash of the whole, so that two that begin alike stay two. The
    TypeScript SDK does the same, so that agents in both languages can share a session.
    """
    if run_id is None:
        return None
    text = re.sub("[\0\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", str(run_id))
    if len(text) > LENGTH_MAX:
        text = f"{text[: LENGTH_MAX - HASH_LENGTH - 1]}-{_hash(text)}"
    return text or None


def _hash(text: str) -> str:
    """FNV-1a, because browsers compute no SHA without a promise, and none at all on a page without TLS."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:0{HASH_LENGTH}x}"
