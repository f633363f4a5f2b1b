"""Ed25519 verification as RFC 8032 defines it, in whole numbers: a file has a few signatures, so it may take 10 ms.

It accepts what the strict verification of `ed25519-dalek` accepts, which the server signs with.
"""

from __future__ import annotations

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)

Point = tuple[int, int, int, int]
"""X, Y, Z and T, where x = X/Z, y = Y/Z and x * y = T/Z."""

NEUTRAL: Point = (0, 1, 1, 0)


def is_public_key(key: bytes) -> bool:
    """Whether it is a point, and not one of the few for which anyone can make signatures."""
    point = _decode(key)
    return point is not None and not _is_weak(point)


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    if len(signature) != 64:
        return False
    key, commitment = _decode(public), _decode(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or scalar >= ORDER or _is_weak(key) or _is_weak(commitment):
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % ORDER
    return _equal(_times(scalar, BASE), _add(commitment, _times(challenge, key)))


def _decode(encoded: bytes) -> Point | None:
    if len(encoded) != 32:
        return None
    number = int.from_bytes(encoded, "little")
    y = (number & (2**255 - 1)) % P
    x = _x_of(y, number >> 255)
    return None if x is None else (x, y, 1, x * y % P)


def _x_of(y: int, sign: int) -> int | None:
    squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(squared, (P + 3) // 8, P)
    if (x * x - squared) % P:
        x = x * ROOT_OF_MINUS_ONE % P
    if (x * x - squared) % P:
        return None
    return x if x & 1 == sign else -x % P


def _is_weak(point: Point) -> bool:
    return _equal(_times(8, point), NEUTRAL)


def _equal(one: Point, other: Point) -> bool:
    (x1, y1, z1, _), (x2, y2, z2, _) = one, other
    return (x1 * z2 - x2 * z1) % P == 0 and (y1 * z2 - y2 * z1) % P == 0


def _add(one: Point, other: Point) -> Point:
    """RFC 8032, section 5.1.4; it also doubles."""
    (x1, y1, z1, t1), (x2, y2, z2, t2) = one, other
    a, b = (y1 - x1) * (y2 - x2) % P, (y1 + x1) * (y2 + x2) % P
    c, d = 2 * t1 * t2 * D % P, 2 * z1 * z2 % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(scalar: int, point: Point) -> Point:
    result = NEUTRAL
    while scalar:
        if scalar & 1:
            result = _add(result, point)
        point = _add(point, point)
        scalar >>= 1
    return result


def _base() -> Point:
    """The point whose y is 4/5 and whose x is even."""
    y = 4 * pow(5, -1, P) % P
    x = _x_of(y, 0)
    assert x is not None, "the base point is on the curve"  # noqa: S101 - a constant
    return x, y, 1, x * y % P


BASE = _base()
