"""Runs flows: the only place that opens connections."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import httpx

from .calls import Answer, Call, Came, Flow
from .errors import Unreachable
from .settings import Settings

T = TypeVar("T")


class AsyncTransport:
    """Runs flows on asyncio's event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tls = httpx.create_ssl_context()
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, flow: Flow[T], pause: Callable[[float], Awaitable[object]] = asyncio.sleep) -> T:
        came: Came = None
        try:
            while True:
                step = flow.send(came)
                came = None
                if isinstance(step, Call):
                    came = await self.do(step)
                else:
                    await pause(step.seconds)
        except StopIteration as end:
            result: T = end.value
            return result

    async def close(self) -> None:
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()

    async def do(self, call: Call) -> Answer | Unreachable:
        """Makes one request. From the name's resolution to the last byte it takes no longer than it may."""
        request = self._here().request(
            call.method,
            self._settings.url + call.path,
            params=tuple(call.query),
            content=call.body,
            headers={"Authorization": f"Bearer {self._settings.api_key}", **call.headers},
            # httpx limits each read, so it would wait as long as a peer likes that says a byte now and then.
            timeout=None,
        )
        try:
            response = await asyncio.wait_for(request, call.timeout_s)
        except (httpx.HTTPError, asyncio.TimeoutError) as error:
            unreachable = Unreachable(f"no answer: {error or type(error).__name__}")
            unreachable.__cause__ = error
            return unreachable
        return Answer(response.status_code, response.headers, response.content)

    def _here(self) -> httpx.AsyncClient:
        """The client of this event loop: the connections of another one are gone with it."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._http, self._loop = httpx.AsyncClient(verify=self._tls), loop
        return self._http


class Transport:
    """Runs flows for a caller that blocks. Its requests are made on an event loop in the background, because a
    blocking request cannot be limited as a whole."""

    def __init__(self, settings: Settings) -> None:
        self._requests = AsyncTransport(settings)

    def run(self, flow: Flow[T], pause: Callable[[float], object] = time.sleep) -> T:
        came: Came = None
        try:
            while True:
                step = flow.send(came)
                came = None
                if isinstance(step, Call):
                    came = background.wait_for(self._requests.do(step))
                else:
                    pause(step.seconds)
        except StopIteration as end:
            result: T = end.value
            return result

    def close(self) -> None:
        if background.is_running:
            background.wait_for(self._requests.close())


class Background:
    """An event loop in a thread, one for the process and all who block in it. A fork begins without."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_running(self) -> bool:
        return self._loop is not None

    def start(self) -> asyncio.AbstractEventLoop:
        """At the latest before the end of the program, when threads cannot be started any more."""
        with self._lock:
            if self._loop is None:
                self._loop = _Loop()
                threading.Thread(target=self._loop.run_forever, name="watchbell", daemon=True).start()
            return self._loop

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self.start())
        try:
            return future.result()
        except BaseException:
            # Whoever was interrupted does not want it any more.
            future.cancel()
            raise


class _Loop(asyncio.SelectorEventLoop):
    async def getaddrinfo(self, host: Any, port: Any, **hints: int) -> Any:
        """Resolves a name in a thread, or here when the program is ending and threads take no more work."""
        try:
            return await super().getaddrinfo(host, port, **hints)
        except RuntimeError:
            return socket.getaddrinfo(host, port, **hints)


background = Background()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=background.begin)
