"""What cannot be read or is not believed, and base64 in the one spelling that counts."""

from __future__ import annotations

import base64


class Malformed(ValueError):
    """`code` is the same in every language's verifier."""

    def __init__(self, code: str, why: str) -> None:
        self.code = code
        super().__init__(why)


def decoded(text: str) -> bytes:
    """Padded base64 whose unused bits are zero; anything else is a `ValueError`."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError(text)
    return data


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
