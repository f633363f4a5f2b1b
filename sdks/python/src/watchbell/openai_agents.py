"""OpenAI Agents SDK: a guardrail that asks before a function tool is called."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents import ToolGuardrailFunctionOutput, ToolInputGuardrail, ToolInputGuardrailData

from .async_client import AsyncWatchbell
from .decisions import DECIDE_TIMEOUT_S, OnError
from .outcomes import Outcomes, shared_recorder
from .recorder import Recorder
from .run_ids import RunId, current
from .tool_calls import ContextOf, action_of, only_the_name, refusal


def watchbell_guardrail(
    *,
    on_error: OnError,
    agent_id: str | None = None,
    client: AsyncWatchbell | None = None,
    context: ContextOf = only_the_name,
    session_id: RunId | None = None,
    timeout: float = DECIDE_TIMEOUT_S,
    wait: float = 0,
    recorder: Recorder | None = None,
) -> ToolInputGuardrail[Any]:
    """For `function_tool(tool_input_guardrails=[...])`. What is not allowed is not called, and the model is told why.

    The tool's arguments are the question's payload, which policies see as `context.payload`; `context` says what
    else they see and the trail records, by default the tool's name alone. The agent is `agent_id`, else the
    client's, else the agent's name. The session is `session_id`, a text or a function without arguments, else the
    `group_id` of the run's config. A guardrail cannot change arguments, so `modify` is an answer to the model:
    which arguments would be allowed.

    Refusals are recorded as denied tool calls. What an allowed call came to is not seen by a guardrail.
    """
    asked = client or AsyncWatchbell()
    outcomes = Outcomes(recorder or shared_recorder(asked.settings))

    async def ask(data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        tool = data.context.tool_name
        arguments = _arguments(data.context.tool_arguments)
        if arguments is None:
            return ToolGuardrailFunctionOutput.reject_content("The arguments must be a JSON object.")
        decision = await asked.decide(
            agent_id=agent_id or asked.agent_id or data.agent.name,
            action=action_of(tool),
            context=context(tool, arguments),
            payload=arguments,
            session_id=current(session_id) or _group(data),
            on_error=on_error,
            timeout=timeout,
            wait=wait,
        )
        info = {"decision_id": decision.decision_id, "decision": decision.decision}
        if decision.allowed and decision.payload == arguments:
            return ToolGuardrailFunctionOutput.allow(info)
        outcomes.denied(decision)
        if decision.decision == "modify":
            message = f"Not allowed as it is. Allowed with these arguments: {json.dumps(decision.payload)}"
            return ToolGuardrailFunctionOutput.reject_content(message, info)
        return ToolGuardrailFunctionOutput.reject_content(refusal(decision), info)

    return ToolInputGuardrail(ask, name="watchbell")


def _group(data: ToolInputGuardrailData) -> str | None:
    run = data.context.run_config
    return run.group_id if run else None


def _arguments(text: str) -> Mapping[str, Any] | None:
    """A model may have written anything; no arguments at all are an empty text."""
    try:
        arguments = json.loads(text or "{}")
    except ValueError:
        return None
    return arguments if isinstance(arguments, dict) else None
