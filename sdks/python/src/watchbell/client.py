"""The blocking client. `async_client` is its twin, method by method; what they do is in the modules they call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any

from . import decisions, events, rules
from .calls import Call, Params, following
from .decisions import DECIDE_TIMEOUT_S, Decision, OnError, Question
from .events import Event, Sent
from .retries import ask
from .settings import Settings
from .transport import Transport

PATIENCE_S = 30.0


class Watchbell:
    """The service, asked by blocking calls. May be shared between threads, and used after a fork.

    `url` and `api_key` come from `WATCHBELL_URL` and `WATCHBELL_API_KEY` if they are not given. `agent_id` is
    who asks where a call does not say. `patience` is how many seconds a call may wait, all in all, before it is
    made again: requests that can be repeated without harm are, when the service is away or says
    `Retry-After`. `decide` is never repeated.
    """

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
        self._transport = Transport(self.settings)
        self.events = Events(self)
        self.rules = Rules(self)

    def decide(
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
        return self._transport.run(decisions.decide(question, on_error, timeout, wait))

    def wait_for_approval(
        self, escalated: Decision, *, on_error: OnError, wait: float, timeout: float = DECIDE_TIMEOUT_S
    ) -> Decision:
        """Waits for the person whom `escalated` needs, and uses the approval if there is one."""
        return self._transport.run(decisions.wait_for_approval(escalated, on_error, timeout, wait))

    def request(
        self,
        method: str,
        path: str,
        *,
        params: Params | None = None,
        json: object = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Any other request of the API: what it answers, parsed; raises `ApiError`."""
        return self._ask(Call.of(method, path, params, json, idempotency_key))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Watchbell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, call: Call) -> Any:
        return self._transport.run(ask(call, self._patience_s)).json()

    def _pages(self, first: Call) -> Iterator[dict[str, Any]]:
        call: Call | None = first
        while call is not None:
            page = self._ask(call)
            yield from page["data"]
            call = following(call, page)


class Events:
    """The trail."""

    def __init__(self, client: Watchbell) -> None:
        self._client = client

    def send(
        self, one_or_many: Event | Iterable[Event], /, *, atomic: bool = False, idempotency_key: str | None = None
    ) -> Sent:
        """Records one event or up to 1,000, and returns when they are durable."""
        return Sent.read(self._client._ask(events.send(one_or_many, atomic, idempotency_key)))

    def list(self, *, page_size: int = 100, **filters: Any) -> Iterator[dict[str, Any]]:
        """Events that pass the filters (`from_`, `to`, `result`, ...; a list is any of), page by page."""
        return self._client._pages(events.find(filters, page_size))

    def get(self, event_id: str) -> dict[str, Any]:
        event: dict[str, Any] = self._client._ask(events.get(event_id))
        return event


class Rules:
    """Alert rules."""

    def __init__(self, client: Watchbell) -> None:
        self._client = client

    def create(self, *, name: str, match: Mapping[str, Any], url: str, **fields: Any) -> dict[str, Any]:
        rule: dict[str, Any] = self._client._ask(rules.create(dict(name=name, match=match, url=url, **fields)))
        return rule

    def list(self, **filters: Any) -> Iterator[dict[str, Any]]:
        return self._client._pages(rules.find(filters))

    def delete(self, rule_id: str) -> None:
        self._client._ask(rules.delete(rule_id))
