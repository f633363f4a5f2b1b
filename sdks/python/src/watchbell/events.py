"""Audit events: what one is, sending some, and reading the trail."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import quote

from .calls import Call, Params, encode
from .errors import NOT_THE_SERVICE, Unreachable

PATH = "/v1/audit/events"


class _Required(TypedDict):
    event_type: str
    agent_id: str
    action: str
    result: str


class Event(_Required, total=False):
    """An audit event to be recorded."""

    occurred_at: datetime.datetime | str
    client_event_id: str
    resource: str
    session_id: str
    trace_id: str
    span_id: str
    decision_id: str
    severity: str
    latency_ms: float
    error_code: str
    metadata: Mapping[str, Any]


@dataclass(frozen=True)
class Rejected:
    """An event that was not taken: its place among those sent, and what is wrong with it."""

    index: int
    code: str
    pointer: str
    detail: str


@dataclass(frozen=True)
class Sent:
    """What became of events: the ids of those that are durable now, in the order sent, and the others."""

    ids: list[str]
    rejected: list[Rejected]

    @classmethod
    def read(cls, body: Any) -> Sent:
        try:
            rejected = [Rejected(**{name: one.get(name) for name in _REJECTED}) for one in body["rejected"]]
            return cls([event["id"] for event in body["events"]], rejected)
        except (AttributeError, KeyError, TypeError):
            raise Unreachable(NOT_THE_SERVICE) from None

    def accounts_for(self, events: int) -> bool:
        """It says of each of so many events what became of it."""
        are_places = all(isinstance(one.index, int) and 0 <= one.index < events for one in self.rejected)
        return are_places and len(self.ids) + len(self.rejected) == events


_REJECTED = tuple(Rejected.__dataclass_fields__)


def send(events: Event | Iterable[Event], atomic: bool, idempotency_key: str | None) -> Call:
    """The request has a name, so that it can be made again."""
    many = [events] if isinstance(events, Mapping) else list(events)
    params = {"atomic": True} if atomic else {}
    name = idempotency_key or uuid.uuid4().hex
    return Call("POST", PATH, params, encode({"events": many}), idempotency_key=name)


def send_lines(lines: Iterable[bytes]) -> Call:
    """For events that have names of their own and are written already."""
    return Call("POST", PATH, body=b"\n".join(lines), content_type="application/x-ndjson")


def find(filters: Params, page_size: int) -> Call:
    """The first page. `from` is a word of Python's, so it is `from_` here."""
    named = {name.removesuffix("_"): value for name, value in filters.items()}
    return Call("GET", PATH, {**named, "limit": page_size})


def get(event_id: str) -> Call:
    return Call("GET", f"{PATH}/{quote(event_id, safe='')}")
