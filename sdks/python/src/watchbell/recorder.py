"""Recording without waiting: a thread sends what agents do, in batches."""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from types import TracebackType

from .errors import Unreachable
from .events import Event
from .outbox import OUT_OF_TIME, WHY_NO_ROOM, Batch, Counts, Limits, OnLost, Outbox, WhenFull, deliver, line
from .settings import Settings
from .transport import Transport, background

CLOSE_TIMEOUT_S = 5.0

JOIN_MARGIN_S = 0.5
"""A request may be on its way when the time is over; after this its events count as lost."""


class Recorder:
    """Takes events at once and sends them later, each into the trail exactly once.

    `record` never raises. What cannot be sent for now is tried again for as long as it fits into the queue;
    beyond that `when_full` says whether the event is dropped or the caller is held up. What is lost is
    counted, logged and told to `on_lost` (from whichever thread noticed; keep it short, and do not record in
    it). At the end of the program `close` is called.

    After a fork the child begins with an empty queue and a thread of its own; what waited is the parent's.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        when_full: WhenFull = "drop",
        on_lost: OnLost | None = None,
        queue_events: int = 10_000,
        queue_bytes: int = 32 * 1024 * 1024,
        batch_events: int = 500,
        batch_bytes: int = 1024 * 1024,
        batch_seconds: float = 1.0,
    ) -> None:
        limits = Limits(queue_events, queue_bytes, batch_events, batch_bytes, batch_seconds)
        self._outbox = Outbox(limits, on_lost)
        self._transport = Transport(Settings.find(url, api_key))
        self._when_full = when_full
        self._begin()
        _recorders.add(self)

    def _begin(self) -> None:
        # Reentrant, because a signal handler may record while its own thread is recording.
        self._changed = threading.Condition(threading.RLock())
        self._thread: threading.Thread | None = None
        self._closed = False
        self._end = float("inf")

    def record(self, event: Event) -> None:
        """Takes an event; `occurred_at` is now if it does not say."""
        try:
            self._record(event)
        except Exception as error:
            with self._changed:
                self._outbox.lose(f"{type(error).__name__}: {error}", [event])

    def _record(self, event: Event) -> None:
        written = line(event)
        with self._changed:
            while (room := self._outbox.room(written)) == "later" and self._when_full == "block" and not self._closed:
                self._changed.wait()
            if self._closed:
                self._outbox.lose("the recorder is closed", [event])
            elif room != "now":
                self._outbox.lose(WHY_NO_ROOM[room], [event])
            else:
                self._start()
                self._outbox.put(written)
                self._changed.notify_all()

    def flush(self, timeout: float = CLOSE_TIMEOUT_S) -> bool:
        """Sends all that was recorded until now; false if that took longer."""
        with self._changed:
            goal = self._outbox.hurry()
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._outbox.settled >= goal, timeout)

    def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Flushes, and loses what could not be sent in time."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._end = time.monotonic() + timeout
            self._outbox.hurry()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(timeout + JOIN_MARGIN_S)
        with self._changed:
            self._outbox.give_up()
            self._changed.notify_all()
        self._transport.close()

    @property
    def counts(self) -> Counts:
        """What became of all events so far."""
        with self._changed:
            return self._outbox.counts

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self) -> None:
        if self._thread is None:
            background.start()
            self._thread = threading.Thread(target=self._work, name="watchbell-recorder", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (batch := self._next()) is not None:
            try:
                came = self._transport.run(deliver(batch), self._pause)
            except Exception as error:
                came = Unreachable(f"{type(error).__name__}: {error}")
            with self._changed:
                self._outbox.settle(batch, came)
                self._changed.notify_all()

    def _next(self) -> Batch | None:
        """Waits until a batch is due; `None` when the recorder is closed and all is done."""
        with self._changed:
            while time.monotonic() < self._end:
                due_in = self._outbox.due_in()
                if due_in == 0:
                    return self._outbox.take()
                if due_in is None and self._closed:
                    return None
                self._changed.wait(due_in)
            self._outbox.give_up()
            self._changed.notify_all()
            return None

    def _pause(self, seconds: float) -> None:
        """Waits before a request is made again, but not beyond the end."""
        until = time.monotonic() + seconds
        with self._changed:
            while (now := time.monotonic()) < until:
                if now >= self._end:
                    raise Unreachable(OUT_OF_TIME)
                self._changed.wait(min(until, self._end) - now)


_recorders: weakref.WeakSet[Recorder] = weakref.WeakSet()


def _after_fork() -> None:
    """The thread is the parent's, and so is what it was about to send."""
    for recorder in list(_recorders):
        recorder._outbox.forget()
        recorder._begin()


def _at_exit() -> None:
    for recorder in list(_recorders):
        recorder.close()
        with recorder._changed:
            recorder._outbox.log_lost()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
