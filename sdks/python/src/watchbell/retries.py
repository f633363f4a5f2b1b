"""When a request is made again, and after how long."""

from __future__ import annotations

import random
from collections.abc import Callable

from .calls import Answer, Call, Came, Flow, Pause
from .errors import ApiError, Unreachable

TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses that may be another one a little later."""

FIRST_DELAY_S = 0.25
DELAY_S_MAX = 15.0
RETRY_AFTER_S_MAX = 300.0
"""Who says a longer `Retry-After` is asked again after this, as maintenance often ends early and queues are finite."""
JITTER = 0.2
"""Clients that were refused together come back apart, by up to a fifth of the delay."""


def is_transient(came: Came) -> bool:
    """Asking again may help."""
    return isinstance(came, Unreachable) or (isinstance(came, Answer) and came.status in TRANSIENT)


def delay_s(repeats: int, came: Came, chance: Callable[[], float] = random.random) -> float:
    """How long to wait before the next repeat: what the service asked for, up to `RETRY_AFTER_S_MAX`, and never
    less; else twice as long as before."""
    asked_for = None
    if isinstance(came, Answer):
        asked_for = ApiError.read(came.status, came.headers, b"").retry_after_s
    own = min(FIRST_DELAY_S * 2.0 ** min(repeats, 10), DELAY_S_MAX)
    return (own if asked_for is None else min(asked_for, RETRY_AFTER_S_MAX)) * (1 + JITTER * chance())


def settled(came: Came) -> Answer:
    """The answer; raises why there is none."""
    if isinstance(came, Answer):
        return came
    raise came or Unreachable("nothing was asked")


def ask(call: Call, patience_s: float) -> Flow[Answer]:
    """Makes a request, and again while that may help, can do no harm, and the pauses are not too long."""
    repeats = 0
    while True:
        came = yield call
        if not call.may_be_repeated or not is_transient(came):
            return settled(came)
        pause = Pause(delay_s(repeats, came))
        patience_s -= pause.seconds
        if patience_s < 0:
            return settled(came)
        yield pause
        repeats += 1
