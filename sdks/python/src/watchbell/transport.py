"""Runs flows: the only place that opens connections, once blocking and once asynchronous."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpx

from .calls import Answer, Call, Came, Flow
from .errors import Unreachable
from .settings import Settings

T = TypeVar("T")


class Transport:
    """Runs flows with a blocking client."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http = httpx.Client()
        self._pid = os.getpid()

    def run(self, flow: Flow[T], pause: Callable[[float], object] = time.sleep) -> T:
        came: Came = None
        try:
            while True:
                step = flow.send(came)
                came = None
                if isinstance(step, Call):
                    came = self._do(step)
                else:
                    pause(step.seconds)
        except StopIteration as end:
            result: T = end.value
            return result

    def close(self) -> None:
        if self._pid == os.getpid():
            self._http.close()

    def _do(self, call: Call) -> Answer | Unreachable:
        try:
            response = self._here().request(**_request(self._settings, call, _Remaining(call.timeout_s)))
        except httpx.HTTPError as error:
            return _unreachable(error)
        return _answer(response)

    def _here(self) -> httpx.Client:
        """The client of this process: after a fork, the connections belong to the parent."""
        if self._pid != os.getpid():
            self._http, self._pid = httpx.Client(), os.getpid()
        return self._http


class AsyncTransport:
    """Runs flows on asyncio's event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, flow: Flow[T], pause: Callable[[float], Awaitable[object]] = asyncio.sleep) -> T:
        came: Came = None
        try:
            while True:
                step = flow.send(came)
                came = None
                if isinstance(step, Call):
                    came = await self._do(step)
                else:
                    await pause(step.seconds)
        except StopIteration as end:
            result: T = end.value
            return result

    async def close(self) -> None:
        if self._http is not None and self._loop is asyncio.get_running_loop():
            await self._http.aclose()

    async def _do(self, call: Call) -> Answer | Unreachable:
        request = self._here().request(**_request(self._settings, call, _Remaining(call.timeout_s)))
        try:
            response = await asyncio.wait_for(request, call.timeout_s)
        except (httpx.HTTPError, asyncio.TimeoutError) as error:
            return _unreachable(error)
        return _answer(response)

    def _here(self) -> httpx.AsyncClient:
        """The client of this event loop: the connections of another one are gone with it."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._http, self._loop = httpx.AsyncClient(), loop
        return self._http


class _Remaining(dict[str, float]):
    """Time limits of the steps of a request, each being what is left of the whole request's.

    httpx limits the steps one by one: a connection that is slow to open and an answer that is slow to come
    would take twice the time.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._end = time.monotonic() + seconds

    def get(self, _step: str, _default: object = None) -> float:
        return max(self._end - time.monotonic(), 0.001)


def _request(settings: Settings, call: Call, timeout: _Remaining) -> dict[str, Any]:
    return {
        "method": call.method,
        "url": settings.url + call.path,
        "params": call.query,
        "content": call.body,
        "headers": {"Authorization": f"Bearer {settings.api_key}", **call.headers},
        "extensions": {"timeout": timeout},
    }


def _answer(response: httpx.Response) -> Answer:
    return Answer(response.status_code, response.headers, response.content)


def _unreachable(error: Exception) -> Unreachable:
    unreachable = Unreachable(f"no answer: {error or type(error).__name__}")
    unreachable.__cause__ = error
    return unreachable
