"""What is asked and what was answered, and the steps in between, without any input or output.

Whatever takes more than one request is a `Flow`: a generator that yields what is to be done next and is sent
what came of it. `transport` runs a flow with a blocking client or with an asynchronous one, so that the rules
for asking again are written once.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from .errors import NOT_THE_SERVICE, ApiError, Unreachable

Params = Mapping[str, Any]
"""Query parameters. A list is a parameter given more than once; `None` is one that is not given."""

T = TypeVar("T")

DEFAULT_TIMEOUT_S = 10.0
"""How long one request may take, all in all, unless it is a question."""


@dataclass(frozen=True)
class Call:
    """One request."""

    method: str
    path: str
    params: Params = field(default_factory=dict)
    body: bytes | None = None
    content_type: str = "application/json"
    idempotency_key: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S

    @classmethod
    def of(cls, method: str, path: str, params: Params | None, json: object, idempotency_key: str | None) -> Call:
        body = None if json is None else encode(json)
        return cls(method.upper(), path, params or {}, body, idempotency_key=idempotency_key)

    @property
    def headers(self) -> dict[str, str]:
        headers = {}
        if self.body is not None:
            headers["Content-Type"] = self.content_type
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    @property
    def query(self) -> list[tuple[str, str]]:
        return [(name, _text(value)) for name, given in self.params.items() for value in _each(given)]

    @property
    def may_be_repeated(self) -> bool:
        """Doing it twice is doing it once."""
        return self.method in ("GET", "PUT", "DELETE") or self.idempotency_key is not None


@dataclass(frozen=True)
class Answer:
    """One response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body of a success, `None` if there is none; raises `ApiError` for everything else."""
        if not 200 <= self.status < 300:
            raise ApiError.read(self.status, self.headers, self.body)
        try:
            return json.loads(self.body) if self.body else None
        except (ValueError, RecursionError):
            raise Unreachable(NOT_THE_SERVICE) from None


@dataclass(frozen=True)
class Pause:
    """Nothing is to be done for a while."""

    seconds: float


Came = Answer | Unreachable | None
"""What came of a step: an answer, or why there is none, or nothing if it was a pause."""

Flow = Generator[Call | Pause, Came, T]


def encode(value: object) -> bytes:
    """JSON, with times in the form that the service reads."""
    text = json.dumps(value, default=_plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode()


def moment(at: datetime.datetime) -> str:
    """A time as RFC 3339 in UTC with milliseconds."""
    if at.tzinfo is None:
        raise ValueError("a time needs its time zone: datetime.now(timezone.utc)")
    utc = at.astimezone(datetime.timezone.utc)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _plain(value: object) -> str:
    if isinstance(value, datetime.datetime):
        return moment(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return moment(value) if isinstance(value, datetime.datetime) else str(value)


def _each(given: object) -> Iterable[object]:
    if given is None:
        return ()
    return given if isinstance(given, (list, tuple)) else (given,)


def following(call: Call, page: Mapping[str, Any]) -> Call | None:
    """The request for the page after this one, if there is one."""
    cursor = page["next_cursor"]
    return None if cursor is None else replace(call, params={**call.params, "cursor": cursor})
