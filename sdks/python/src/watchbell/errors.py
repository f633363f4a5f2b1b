"""Everything that this package raises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .decisions import Decision


NOT_THE_SERVICE = "something that is not the service answered"


class WatchbellError(Exception):
    """What all errors of this package are."""


class Unreachable(WatchbellError):
    """No answer: no connection, or not in time. Whether the request was done is unknown."""


class ApiError(WatchbellError):
    """The service answered with an error. `code` is one of those that docs/errors explains."""

    def __init__(self, status: int, problem: Mapping[str, Any], retry_after_s: float | None) -> None:
        self.status = status
        self.code = _text(problem, "code")
        self.detail = _text(problem, "detail")
        self.request_id = _text(problem, "request_id")
        self.errors = _faults(problem)
        self.retry_after_s = retry_after_s
        faults = "; ".join(f"{fault.get('pointer')}: {fault.get('detail')}" for fault in self.errors)
        said = " ".join(part for part in (self.code, self.detail, faults) if part)
        super().__init__(f"{status} {said} (request {self.request_id})")

    @classmethod
    def read(cls, status: int, headers: Mapping[str, str], body: bytes) -> ApiError:
        """What a response says that is not a success; something between us may have written it."""
        try:
            problem = json.loads(body)
        except (ValueError, RecursionError):
            problem = {}
        if not isinstance(problem, dict):
            problem = {}
        seconds = headers.get("retry-after", "")
        return cls(status, problem, float(seconds) if seconds.isdecimal() else None)


def _text(problem: Mapping[str, Any], name: str) -> str:
    value = problem.get(name)
    return value if isinstance(value, str) else ""


def _faults(problem: Mapping[str, Any]) -> list[dict[str, Any]]:
    faults = problem.get("errors")
    return [fault for fault in faults if isinstance(fault, dict)] if isinstance(faults, list) else []


class Denied(WatchbellError):
    """A guarded function was not called. The message is the reason."""

    def __init__(self, decision: Decision, reason: str | None = None) -> None:
        self.decision = decision
        self.reason = reason or decision.reason
        self.decision_id = decision.decision_id
        super().__init__(self.reason)
