"""Asking before acting: the question, the decision, and waiting for a person."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import quote

from .calls import Call, Came, Flow, Pause, encode
from .errors import NOT_THE_SERVICE, ApiError, Unreachable, WatchbellError
from .retries import delay_s, is_transient, settled
from .run_ids import recordable

Verdict = Literal["allow", "deny", "modify", "escalate"]

OnError = Literal["deny", "allow", "raise"]
"""What is decided when the service cannot be asked: it is not reached in time, or answers 429 or 5xx. Whatever
else it answers is a fault of the question or of the key, which waiting does not mend, and is raised."""

DECIDE_TIMEOUT_S = 0.8
"""An agent that waits for its guard longer than it thinks is a slow agent."""

POLL_S_MAX = 30
"""The service holds a question about an approval for so long."""

POLL_MARGIN_S = 5.0
"""How much longer the answer may take to arrive."""


@dataclass(frozen=True)
class Question:
    """What an agent wants to do."""

    agent_id: str
    action: str
    resource: str | None = None
    context: Mapping[str, Any] | None = None
    payload: Mapping[str, Any] | None = None
    session_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None

    @classmethod
    def of(
        cls,
        agent_id: str | None,
        action: str,
        resource: str | None,
        context: Mapping[str, Any] | None,
        payload: Mapping[str, Any] | None,
        session_id: str | None,
        trace_id: str | None,
        span_id: str | None,
    ) -> Question:
        if agent_id is None:
            raise ValueError("pass agent_id= here or to the client")
        run = [recordable(run_id) for run_id in (session_id, trace_id, span_id)]
        return cls(agent_id, action, resource, context, payload, *run)

    def call(self, timeout_s: float, approval: str | None = None) -> Call:
        fields = {**self.__dict__, "approval": approval}
        body = {name: value for name, value in fields.items() if value is not None}
        return Call("POST", "/v1/runtime/decisions", body=encode(body), timeout_s=timeout_s)


@dataclass(frozen=True)
class Decision:
    """What was decided, and why."""

    decision: Verdict
    reason: str
    decision_id: str | None
    """`None` if the service was not reached, and so there is no record."""
    modified_payload: dict[str, Any] | None
    """Of `modify`: what to send instead."""
    expires_at: str | None
    """Of `escalate`: what nobody approves by then is denied."""
    fallback: bool
    """It was decided by a fail mode: ours if `error` says why, otherwise the organization's."""
    policies: list[dict[str, Any]]
    question: Question = field(repr=False)
    error: WatchbellError | None = None

    @property
    def allowed(self) -> bool:
        """The agent may go on, with `payload`: `allow` or `modify`."""
        return self.decision in ("allow", "modify")

    @property
    def payload(self) -> Mapping[str, Any] | None:
        """What the agent may send: what it asked with, or what `modify` made of it."""
        return self.modified_payload if self.decision == "modify" else self.question.payload

    @classmethod
    def read(cls, question: Question, body: Any) -> Decision:
        if not isinstance(body, dict) or not body.keys() >= {"decision", "reason", "decision_id"}:
            raise Unreachable(NOT_THE_SERVICE)
        return cls(
            decision=body["decision"],
            reason=body["reason"],
            decision_id=body["decision_id"],
            modified_payload=body.get("modified_payload"),
            expires_at=body.get("expires_at"),
            fallback=body.get("fallback", False),
            policies=body.get("policies", []),
            question=question,
        )


def decide(
    question: Question, on_error: OnError, timeout_s: float, wait_s: float, approval: str | None = None
) -> Flow[Decision]:
    """Asks once, and waits so long for a person if the answer is that one must be asked."""
    came = yield question.call(timeout_s, approval)
    decision = _decided(question, came, on_error)
    if decision.decision == "escalate" and wait_s > 0:
        return (yield from wait_for_approval(decision, on_error, timeout_s, wait_s))
    return decision


def wait_for_approval(escalated: Decision, on_error: OnError, timeout_s: float, wait_s: float) -> Flow[Decision]:
    """Waits until a person has decided. An approval is used at once, by asking again.

    If nobody has decided by the end of the wait, the decision still says `escalate`. Trouble on the way is
    waited out, because it says nothing about what the person will decide.
    """
    if escalated.decision != "escalate" or escalated.decision_id is None:
        return escalated
    end = time.monotonic() + wait_s
    trouble = 0
    while (left := end - time.monotonic()) > 0:
        came = yield _poll(escalated.decision_id, min(left, POLL_S_MAX))
        if is_transient(came):
            yield Pause(min(delay_s(trouble, came), left))
            trouble += 1
            continue
        resolved = settled(came).json()
        if resolved["decision"] == "allow":
            again = decide(escalated.question, on_error, timeout_s, 0, approval=escalated.decision_id)
            return (yield from again)
        if resolved["decision"] == "deny":
            return replace(escalated, decision="deny", reason=_why_not(resolved), expires_at=None)
    return escalated


def _poll(decision_id: str, seconds: float) -> Call:
    path = f"/v1/runtime/decisions/{quote(decision_id, safe='')}"
    whole = max(1, int(seconds))
    return Call("GET", path, params={"wait": whole}, timeout_s=whole + POLL_MARGIN_S)


def _why_not(resolved: Mapping[str, Any]) -> str:
    resolution = resolved.get("resolution") or {}
    if resolution.get("outcome") == "timed_out":
        return "Nobody approved it in time."
    note = resolution.get("note")
    return f"Denied by a person: {note}" if note else "Denied by a person."


def _decided(question: Question, came: Came, on_error: OnError) -> Decision:
    try:
        return Decision.read(question, settled(came).json())
    except WatchbellError as error:
        is_ours_to_mend = isinstance(error, ApiError) and not is_transient(came)
        if is_ours_to_mend or on_error == "raise":
            raise
        reason = f"The guard could not be asked ({error}); {on_error} is what was chosen for that."
        return Decision(on_error, reason, None, None, None, True, [], question, error)
