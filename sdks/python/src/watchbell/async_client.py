"""The asynchronous client, the twin of `client`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from types import TracebackType
from typing import Any

from . import decisions, events, rules
from .calls import Call, Params, following
from .client import PATIENCE_S
from .decisions import DECIDE_TIMEOUT_S, Decision, OnError, Question
from .events import Event, Sent
from .retries import ask
from .settings import Settings
from .transport import AsyncTransport


class AsyncWatchbell:
    """The service, asked from asyncio. Everything is as in `Watchbell`; one client belongs to one event loop."""

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        agent_id: str | None = None,
        patience: float = PATIENCE_S,
    ) -> None:
        self.settings = Settings.find(url, api_key)
        self.agent_id = agent_id
        self._patience_s = patience
        self._transport = AsyncTransport(self.settings)
        self.events = AsyncEvents(self)
        self.rules = AsyncRules(self)

    async def decide(
        self,
        *,
        action: str,
        on_error: OnError,
        agent_id: str | None = None,
        resource: str | None = None,
        context: Mapping[str, Any] | None = None,
        payload: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        trace_id: str | None = None,
        span_id: str | None = None,
        timeout: float = DECIDE_TIMEOUT_S,
        wait: float = 0,
    ) -> Decision:
        """Asks whether the agent may do this.

        `on_error` is what is decided if there is no answer within `timeout` seconds. With `wait`, a decision that
        needs a person is waited for so many seconds. `session_id`, `trace_id` and `span_id` are recorded with the
        decision; policies do not see them. An empty one is none, one of more than 128 characters is shortened.
        """
        question = Question.of(
            agent_id or self.agent_id, action, resource, context, payload, session_id, trace_id, span_id
        )
        return await self._transport.run(decisions.decide(question, on_error, timeout, wait))

    async def wait_for_approval(
        self, escalated: Decision, *, on_error: OnError, wait: float, timeout: float = DECIDE_TIMEOUT_S
    ) -> Decision:
        """Waits for the person whom `escalated` needs, and uses the approval if there is one."""
        return await self._transport.run(decisions.wait_for_approval(escalated, on_error, timeout, wait))

    async def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: object = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Any other request of the API: what it answers, parsed; raises `ApiError`."""
        return await self._ask(Call.of(method, path, params, json, idempotency_key))

    async def close(self) -> None:
        await self._transport.close()

    async def __aenter__(self) -> AsyncWatchbell:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _ask(self, call: Call) -> Any:
        return (await self._transport.run(ask(call, self._patience_s))).json()

    async def _pages(self, first: Call) -> AsyncIterator[dict[str, Any]]:
        call: Call | None = first
        while call is not None:
            page = await self._ask(call)
            for item in page["data"]:
                yield item
            call = following(call, page)


class AsyncEvents:
    """The trail."""

    def __init__(self, client: AsyncWatchbell) -> None:
        self._client = client

    async def send(
        self, one_or_many: Event | Iterable[Event], /, *, atomic: bool = False, idempotency_key: str | None = None
    ) -> Sent:
        """Records one event or up to 1,000, and returns when they are durable."""
        return Sent.read(await self._client._ask(events.send(one_or_many, atomic, idempotency_key)))

    def list(self, *, page_size: int = 100, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        """Events that pass the filters (`from_`, `to`, `result`, ...; a list is any of), page by page."""
        return self._client._pages(events.find(filters, page_size))

    async def get(self, event_id: str) -> dict[str, Any]:
        event: dict[str, Any] = await self._client._ask(events.get(event_id))
        return event


class AsyncRules:
    """Alert rules."""

    def __init__(self, client: AsyncWatchbell) -> None:
        self._client = client

    async def create(self, *, name: str, match: Mapping[str, Any], url: str, **fields: Any) -> dict[str, Any]:
        rule: dict[str, Any] = await self._client._ask(rules.create(dict(name=name, match=match, url=url, **fields)))
        return rule

    def list(self, **filters: Any) -> AsyncIterator[dict[str, Any]]:
        return self._client._pages(rules.find(filters))

    async def delete(self, rule_id: str) -> None:
        await self._client._ask(rules.delete(rule_id))
