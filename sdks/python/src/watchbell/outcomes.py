"""What became of a guarded call, as an audit event that names its decision."""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from dataclasses import dataclass

from .decisions import Decision
from .events import Event
from .recorder import Recorder
from .settings import Settings


@functools.cache
def shared_recorder(settings: Settings) -> Recorder:
    """The recorder of all who were given none, by a thread also in asynchronous programs."""
    return Recorder(settings.url, settings.api_key)


@dataclass
class Ending:
    """How a call ended: well, unless it has an `error_code`."""

    error_code: str | None = None


class Outcomes:
    """Tells the trail how guarded calls end."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def denied(self, decision: Decision) -> None:
        self._recorder.record(_event(decision, "denied"))

    @contextlib.contextmanager
    def of(self, decision: Decision) -> Iterator[Ending]:
        """Around the call itself."""
        ending = Ending()
        started = time.monotonic()
        try:
            yield ending
        except BaseException as error:
            ending.error_code = type(error).__name__
            raise
        finally:
            event = _event(decision, "success" if ending.error_code is None else "error")
            event["latency_ms"] = round((time.monotonic() - started) * 1000, 3)
            if ending.error_code is not None:
                event["error_code"] = ending.error_code
            self._recorder.record(event)


def _event(decision: Decision, result: str) -> Event:
    asked = decision.question
    event = Event(event_type="tool_call", agent_id=asked.agent_id, action=asked.action, result=result)
    if asked.resource is not None:
        event["resource"] = asked.resource
    if asked.session_id is not None:
        event["session_id"] = asked.session_id
    if asked.trace_id is not None:
        event["trace_id"] = asked.trace_id
    if asked.span_id is not None:
        event["span_id"] = asked.span_id
    if decision.decision_id is not None:
        event["decision_id"] = decision.decision_id
    if decision.fallback:
        event["metadata"] = {"fallback": True}
    return event
