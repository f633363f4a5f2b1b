"""Ed25519 as RFC 8032 defines it, in whole numbers: slow, and independent of every library that it checks."""

import functools
import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


@functools.lru_cache(None)
def public_key(seed):
    return encode(times_base(secret(seed)[0]))


@functools.lru_cache(None)
def sign(seed, message):
    scalar, prefix = secret(seed)
    public = public_key(seed)
    nonce = number(prefix + message) % ORDER
    commitment = encode(times_base(nonce))
    challenge = number(commitment + public + message) % ORDER
    return commitment + ((nonce + challenge * scalar) % ORDER).to_bytes(32, "little")


def secret(seed):
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    # A multiple of eight, with the highest bit but one set.
    return scalar & (2**254 - 8) | 2**254, digest[32:]


def number(data):
    return int.from_bytes(hashlib.sha512(data).digest(), "little")


def encode(point):
    x, y = point
    return (y | (x & 1) << 255).to_bytes(32, "little")


def add(a, b):
    (x1, y1), (x2, y2) = a, b
    product = D * x1 * x2 * y1 * y2 % P
    x = (x1 * y2 + x2 * y1) * pow(1 + product, -1, P)
    y = (y1 * y2 + x1 * x2) * pow(1 - product, -1, P)
    return x % P, y % P


def times_base(scalar):
    result = (0, 1)
    for bit, power in enumerate(POWERS):
        if scalar >> bit & 1:
            result = add(result, power)
    return result


def base():
    """The point whose y is 4/5 and whose x is even."""
    y = 4 * pow(5, -1, P) % P
    squared = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(squared, (P + 3) // 8, P)
    if (x * x - squared) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return (x if x % 2 == 0 else P - x), y


def powers():
    """The base point, twice that, four times that, and so on."""
    point = base()
    for _ in range(255):
        yield point
        point = add(point, point)


POWERS = list(powers())
