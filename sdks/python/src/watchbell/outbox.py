"""What recorders have in common: events that wait to be sent, what became of all others, and what is due.

It starts nothing and waits for nothing. A recorder calls it under its own lock, or from one event loop.
"""

from __future__ import annotations

import datetime
import json
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .calls import Came, Flow, Pause, encode
from .errors import NOT_THE_SERVICE, Unreachable, WatchbellError
from .events import Event, Rejected, Sent, send_lines
from .retries import delay_s, is_transient, settled

log = logging.getLogger("watchbell")

BATCH_EVENTS_MAX = 1_000
"""The service takes no more in a request."""

LOG_PAUSE_S = 10.0
"""A queue that is full loses event after event; the log says so this often, with the number."""

OUT_OF_TIME = "the recorder was closed before they could be sent"
CUT_SHORT = "the recorder was closed while they were being sent; they may be in the trail"

WhenFull = Literal["drop", "block"]

Room = Literal["now", "later", "never"]

WHY_NO_ROOM: dict[Room, str] = {"later": "the queue is full", "never": "it is larger than the whole queue"}


@dataclass(frozen=True)
class Lost:
    """Events that will not be in the trail."""

    reason: str
    events: Sequence[Mapping[str, Any]]


OnLost = Callable[[Lost], object]


@dataclass(frozen=True)
class Limits:
    """How much may wait, and when a batch is sent: at so many events or bytes, or after so long."""

    queue_events: int
    queue_bytes: int
    batch_events: int
    batch_bytes: int
    batch_seconds: float

    def __post_init__(self) -> None:
        if not 1 <= self.batch_events <= BATCH_EVENTS_MAX:
            raise ValueError(f"batch_events is 1 to {BATCH_EVENTS_MAX}")
        if self.queue_events < 1 or self.queue_bytes < 1:
            raise ValueError("a queue needs room for an event")


@dataclass(frozen=True)
class Counts:
    """Of all events recorded: `recorded == sent + lost + waiting`."""

    recorded: int = 0
    sent: int = 0
    lost: int = 0
    waiting: int = 0


Batch = list[bytes]


class Outbox:
    """Events on their way."""

    def __init__(self, limits: Limits, on_lost: OnLost | None) -> None:
        self._limits = limits
        self._on_lost = on_lost
        self.forget()

    def forget(self) -> None:
        """Begins anew, with nothing in it."""
        self._queue: deque[bytes] = deque()
        self._bytes = 0
        self._in_flight: Batch = []
        self._oldest_at = 0.0
        self._hurry_to = 0
        self._log_at = 0.0
        self._unlogged = 0
        self._last_reason = ""
        self.accepted = self.settled = 0
        self._recorded = self._sent = self._lost = 0

    @property
    def counts(self) -> Counts:
        return Counts(self._recorded, self._sent, self._lost, self._waiting)

    @property
    def _waiting(self) -> int:
        return len(self._queue) + len(self._in_flight)

    def room(self, line: bytes) -> Room:
        """When there is room for this event."""
        if len(line) > self._limits.queue_bytes:
            return "never"
        has_bytes = self._bytes + len(line) <= self._limits.queue_bytes
        return "now" if has_bytes and self._waiting < self._limits.queue_events else "later"

    def put(self, line: bytes) -> None:
        """Takes an event that there is room for."""
        if not self._queue:
            self._oldest_at = time.monotonic()
        self._queue.append(line)
        self._bytes += len(line)
        self._recorded += 1
        self.accepted += 1

    def lose(self, reason: str, events: Sequence[Mapping[str, Any]]) -> None:
        """Tells of events that were never taken."""
        self._recorded += len(events)
        self._tell(reason, events)

    def hurry(self) -> int:
        """Makes all that waits due now; returns what `settled` will be when it has been dealt with."""
        self._hurry_to = self.accepted
        return self.accepted

    def due_in(self) -> float | None:
        """Seconds until a batch is to be sent; `None` if nothing waits."""
        if not self._queue:
            return None
        is_full = len(self._queue) >= self._limits.batch_events or self._bytes >= self._limits.batch_bytes
        if is_full or self.settled < self._hurry_to:
            return 0.0
        return max(0.0, self._oldest_at + self._limits.batch_seconds - time.monotonic())

    def take(self) -> Batch:
        """The next batch. It counts as waiting until it is settled."""
        batch: Batch = []
        size = 0
        while self._queue and len(batch) < self._limits.batch_events:
            size += len(self._queue[0])
            if batch and size > self._limits.batch_bytes:
                break
            batch.append(self._queue.popleft())
        self._oldest_at = time.monotonic()
        self._in_flight = batch
        return batch

    def settle(self, batch: Batch, came: Sent | WatchbellError) -> None:
        """Counts what became of a batch, unless it was given up meanwhile."""
        if self._in_flight is not batch:
            return
        self._in_flight = []
        self._bytes -= sum(map(len, batch))
        self.settled += len(batch)
        if isinstance(came, WatchbellError):
            self._tell(str(came), _parsed(batch))
            return
        self._sent += len(batch) - len(came.rejected)
        for one in came.rejected:
            self._tell(_why(one), _parsed([batch[one.index]]))

    def give_up(self) -> None:
        """Loses all that waits: nothing is sent any more."""
        sending, rest = self._in_flight, list(self._queue)
        self._in_flight = []
        self._queue.clear()
        self._bytes = 0
        self.settled += len(sending) + len(rest)
        for reason, lines in ((CUT_SHORT, sending), (OUT_OF_TIME, rest)):
            if lines:
                self._tell(reason, _parsed(lines))
        self.log_lost()

    def log_lost(self) -> None:
        """Says how many were lost since the log last said so, whether or not that is long ago."""
        if self._unlogged:
            log.warning("%d event(s) not recorded: %s", self._unlogged, self._last_reason)
            self._log_at = time.monotonic() + LOG_PAUSE_S
            self._unlogged = 0

    def _tell(self, reason: str, events: Sequence[Mapping[str, Any]]) -> None:
        self._lost += len(events)
        self._unlogged += len(events)
        self._last_reason = reason
        if time.monotonic() >= self._log_at:
            self.log_lost()
        if self._on_lost is not None:
            try:
                self._on_lost(Lost(reason, events))
            except Exception:
                log.exception("on_lost failed")


def line(event: Event) -> bytes:
    """An event as it is sent, with a name and a time, so that sending it again changes nothing."""
    now = datetime.datetime.now(datetime.timezone.utc)
    return encode({"occurred_at": now, "client_event_id": uuid.uuid4().hex, **event})


def deliver(batch: Batch) -> Flow[Sent | WatchbellError]:
    """Sends a batch until it is taken or refused, however long that takes: what comes meanwhile waits in a
    queue that has an end."""
    repeats = 0
    while True:
        came = yield send_lines(batch)
        became = _became(batch, came)
        if not is_transient(came) and not isinstance(became, Unreachable):
            return became
        yield Pause(delay_s(repeats, came))
        repeats += 1


def _became(batch: Batch, came: Came) -> Sent | WatchbellError:
    try:
        sent = Sent.read(settled(came).json())
    except WatchbellError as error:
        return error
    return sent if sent.accounts_for(len(batch)) else Unreachable(NOT_THE_SERVICE)


def _parsed(lines: Sequence[bytes]) -> list[Mapping[str, Any]]:
    return [json.loads(one) for one in lines]


def _why(one: Rejected) -> str:
    return f"{one.code} {one.pointer}: {one.detail}"
