"""The guardrail in a real run of the OpenAI Agents SDK, with a model that says what the test wants it to say."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from server import Wire
from trail import PATIENT_S, outcomes, types_in

from watchbell import AsyncWatchbell, Recorder, Watchbell
from watchbell.openai_agents import watchbell_guardrail


class Lines(Model):
    """Calls one tool, then ends; keeps what it was told about the call."""

    def __init__(self, tool: str, **arguments: Any) -> None:
        self._call = ResponseFunctionToolCall(
            type="function_call", call_id="call_1", name=tool, arguments=json.dumps(arguments)
        )
        self.told: str | None = None

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: A002
        answers = [one for one in input if isinstance(one, dict) and one.get("type") == "function_call_output"]
        if not answers:
            return ModelResponse([self._call], Usage(), None)
        self.told = answers[-1]["output"]
        end = ResponseOutputText(type="output_text", text="The end.", annotations=[])
        message = ResponseOutputMessage(id="msg_1", type="message", role="assistant", status="completed", content=[end])
        return ModelResponse([message], Usage(), None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


async def run(model: Lines, group_id: str | None = None, **guardrail: Any) -> list[str]:
    """What the tools did while the agent ran."""
    done: list[str] = []
    guardrails = [watchbell_guardrail(**guardrail)]

    @function_tool(tool_input_guardrails=guardrails)
    def delete_file(path: str) -> str:
        done.append(f"deleted {path}")
        return "deleted"

    @function_tool(tool_input_guardrails=guardrails)
    def read_file(path: str) -> str:
        done.append(f"read {path}")
        return "contents"

    @function_tool(tool_input_guardrails=guardrails)
    def send_message(text: str) -> str:
        done.append(f"sent {text}")
        return "sent"

    agent = Agent("Helper of Ann", tools=[delete_file, read_file, send_message], model=model)
    result = await Runner.run(agent, "Do it.", run_config=RunConfig(tracing_disabled=True, group_id=group_id))
    assert result.final_output == "The end."
    return done


async def test_a_denied_tool_is_not_called_and_the_model_is_told(
    client: Watchbell, async_client: AsyncWatchbell, recorder: Recorder, agent: str
) -> None:
    model = Lines("delete_file", path="a")
    asks: dict[str, Any] = {
        "on_error": "deny",
        "timeout": PATIENT_S,
        "agent_id": agent,
        "client": async_client,
        "recorder": recorder,
    }
    assert await run(model, **asks) == []
    assert model.told is not None
    assert model.told.startswith("Not allowed: Nothing is deleted. (dec_")
    (outcome,) = outcomes(client, recorder, agent)
    assert (outcome["action"], outcome["result"]) == ("tool.delete_file", "denied")


async def test_the_session_is_the_group_unless_it_is_said(
    client: Watchbell, async_client: AsyncWatchbell, recorder: Recorder, agent: str
) -> None:
    group, session = f"group of {agent}", f"session of {agent}"
    asks: dict[str, Any] = {
        "on_error": "deny",
        "timeout": PATIENT_S,
        "agent_id": agent,
        "client": async_client,
        "recorder": recorder,
    }
    await run(Lines("delete_file", path="a"), group, session_id=lambda: "", **asks)
    await run(Lines("delete_file", path="a"), group, session_id=session, **asks)
    assert len(outcomes(client, recorder, agent)) == 2
    assert types_in(client, group) == types_in(client, session) == ["decision", "tool_call"]


async def test_an_allowed_tool_is_called(client: Watchbell, async_client: AsyncWatchbell, agent: str) -> None:
    model = Lines("read_file", path="a")
    assert await run(model, on_error="deny", timeout=PATIENT_S, agent_id=agent, client=async_client) == ["read a"]
    assert model.told == "contents"
    (decision,) = client.events.list(agent_id=agent, event_type="decision")
    assert (decision["action"], decision["result"]) == ("tool.read_file", "allowed")


async def test_an_agent_is_asked_for_by_its_name(client: Watchbell, async_client: AsyncWatchbell) -> None:
    before = len(list(client.events.list(agent_id="Helper of Ann", event_type="decision")))
    await run(Lines("read_file", path="a"), on_error="deny", timeout=PATIENT_S, client=async_client)
    assert len(list(client.events.list(agent_id="Helper of Ann", event_type="decision"))) == before + 1


async def test_what_would_be_changed_is_told_and_then_allowed(
    async_client: AsyncWatchbell, recorder: Recorder, agent: str
) -> None:
    asks: dict[str, Any] = {
        "on_error": "deny",
        "timeout": PATIENT_S,
        "agent_id": agent,
        "client": async_client,
        "recorder": recorder,
    }
    model = Lines("send_message", text="my card is 5678")
    assert await run(model, **asks) == []
    assert model.told == 'Not allowed as it is. Allowed with these arguments: {"text": "(cut)"}'
    assert await run(Lines("send_message", text="(cut)"), **asks) == ["sent (cut)"]


@pytest.mark.parametrize(("mode", "done"), [("deny", []), ("allow", ["read a"])])
async def test_a_guard_that_is_not_reached_does_as_it_was_told(
    mode: Any, done: list[str], wire: Wire, recorder: Recorder, agent: str
) -> None:
    wire.cut()
    async with AsyncWatchbell(wire.url, agent_id=agent) as cut_off:
        assert await run(Lines("read_file", path="a"), on_error=mode, client=cut_off, recorder=recorder) == done
    wire.mend()
