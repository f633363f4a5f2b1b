"""Recording without waiting, on an event loop: the twin of `recorder`, with a task in place of the thread."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

from .errors import Unreachable
from .events import Event
from .outbox import OUT_OF_TIME, WHY_NO_ROOM, Batch, Counts, Limits, OnLost, Outbox, WhenFull, deliver, line
from .recorder import CLOSE_TIMEOUT_S, JOIN_MARGIN_S
from .settings import Settings
from .transport import AsyncTransport


class AsyncRecorder:
    """Takes events at once and sends them later, as `Recorder` does.

    It belongs to one event loop, which is gone at the end of the program: use it with `async with`, or call
    `close`. What the loop was not given time to send is lost.
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
        self._transport = AsyncTransport(Settings.find(url, api_key))
        self._when_full = when_full
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._end = float("inf")

    async def record(self, event: Event) -> None:
        """Takes an event; `occurred_at` is now if it does not say. Waits only if `when_full` is `block`."""
        try:
            await self._record(event)
        except Exception as error:
            self._outbox.lose(f"{type(error).__name__}: {error}", [event])

    async def _record(self, event: Event) -> None:
        written = line(event)
        async with self._changed:
            while (room := self._outbox.room(written)) == "later" and self._when_full == "block" and not self._closed:
                await self._changed.wait()
            if self._closed:
                self._outbox.lose("the recorder is closed", [event])
            elif room != "now":
                self._outbox.lose(WHY_NO_ROOM[room], [event])
            else:
                self._start()
                self._outbox.put(written)
                self._changed.notify_all()

    async def flush(self, timeout: float = CLOSE_TIMEOUT_S) -> bool:
        """Sends all that was recorded until now; false if that took longer."""
        async with self._changed:
            goal = self._outbox.hurry()
            self._changed.notify_all()
            try:
                await asyncio.wait_for(self._changed.wait_for(lambda: self._outbox.settled >= goal), timeout)
            except asyncio.TimeoutError:
                return False
            return True

    async def close(self, timeout: float = CLOSE_TIMEOUT_S) -> None:
        """Flushes, and loses what could not be sent in time."""
        async with self._changed:
            if self._closed:
                return
            self._closed = True
            self._end = time.monotonic() + timeout
            self._outbox.hurry()
            self._changed.notify_all()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout + JOIN_MARGIN_S)
            self._task.cancel()
        self._outbox.give_up()
        await self._transport.close()

    @property
    def counts(self) -> Counts:
        """What became of all events so far."""
        return self._outbox.counts

    async def __aenter__(self) -> AsyncRecorder:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work(), name="watchbell-recorder")

    async def _work(self) -> None:
        while (batch := await self._next()) is not None:
            try:
                came = await self._transport.run(deliver(batch), self._pause)
            except Exception as error:
                came = Unreachable(f"{type(error).__name__}: {error}")
            async with self._changed:
                self._outbox.settle(batch, came)
                self._changed.notify_all()

    async def _next(self) -> Batch | None:
        """Waits until a batch is due; `None` when the recorder is closed and all is done."""
        async with self._changed:
            while time.monotonic() < self._end:
                due_in = self._outbox.due_in()
                if due_in == 0:
                    return self._outbox.take()
                if due_in is None and self._closed:
                    return None
                await self._wait(due_in)
            self._outbox.give_up()
            self._changed.notify_all()
            return None

    async def _pause(self, seconds: float) -> None:
        """Waits before a request is made again, but not beyond the end."""
        until = time.monotonic() + seconds
        async with self._changed:
            while (now := time.monotonic()) < until:
                if now >= self._end:
                    raise Unreachable(OUT_OF_TIME)
                await self._wait(min(until, self._end) - now)

    async def _wait(self, seconds: float | None) -> None:
        """Until something changed, and not longer than this."""
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except asyncio.TimeoutError:
            return
