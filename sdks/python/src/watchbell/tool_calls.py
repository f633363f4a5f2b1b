"""What agent frameworks call a tool call, as a question. Shared by the integrations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from .decisions import Decision

ACTION_LENGTH_MAX = 128

ContextOf = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""What policies see, and the trail records, of a tool's name and arguments beside the payload."""


def action_of(tool: str) -> str:
    """`files.delete` as it is, `Send mail` as `tool.send_mail`: the words of the Claude Code hook."""
    if re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+", tool):
        return tool[:ACTION_LENGTH_MAX]
    return f"tool.{re.sub('[^a-z0-9_-]', '_', tool.lower()) or '_'}"[:ACTION_LENGTH_MAX]


def only_the_name(tool: str, _arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The context of a call unless it is said otherwise: not all arguments can be, or should be, recorded."""
    return {"tool_name": tool}


def refusal(decision: Decision) -> str:
    """What the model is told."""
    if decision.decision == "escalate":
        return f"Not done: a person has to approve this first. {decision.reason}{_named(decision)}"
    return f"Not allowed: {decision.reason}{_named(decision)}"


def _named(decision: Decision) -> str:
    return f" ({decision.decision_id})" if decision.decision_id else ""
