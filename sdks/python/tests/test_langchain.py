"""The middleware in a real LangChain agent, with a model that says what the test wants it to say."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from server import Wire
from trail import PATIENT_S, outcomes, types_in

from watchbell import AsyncWatchbell, Recorder, Watchbell
from watchbell.langchain import WatchbellMiddleware


class Model(GenericFakeChatModel):
    """Knows its lines, whatever the tools are."""

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self


def calls(name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": "call_1"}])


DELETED: list[str] = []


@tool
def delete_file(path: str) -> str:
    """Deletes a file."""
    DELETED.append(path)
    return "deleted"


@tool
def read_file(path: str) -> str:
    """Reads a file."""
    return f"contents of {path}"


@tool
def send_message(text: str) -> str:
    """Sends a message."""
    return f"sent {text}"


@tool
def broken(path: str) -> str:
    """Fails."""
    raise FileNotFoundError(path)


TOOLS = [delete_file, read_file, send_message, broken]


def agent_that(message: AIMessage, middleware: WatchbellMiddleware) -> Any:
    return create_agent(Model(messages=iter([message, "The end."])), TOOLS, middleware=[middleware])


def told(state: dict[str, Any]) -> ToolMessage:
    (message,) = (one for one in state["messages"] if isinstance(one, ToolMessage))
    return message


ASKED = {"messages": [{"role": "user", "content": "Do it."}]}


def test_a_denied_tool_is_not_called_and_the_model_is_told(client: Watchbell, recorder: Recorder, agent: str) -> None:
    DELETED.clear()
    guard = WatchbellMiddleware(on_error="deny", timeout=PATIENT_S, agent_id=agent, client=client, recorder=recorder)
    state = agent_that(calls("delete_file", path="a"), guard).invoke(ASKED)
    assert DELETED == []
    assert (told(state).status, told(state).tool_call_id, told(state).name) == ("error", "call_1", "delete_file")
    assert str(told(state).content).startswith("Not allowed: Nothing is deleted. (dec_")
    assert state["messages"][-1].content == "The end."
    (outcome,) = outcomes(client, recorder, agent)
    assert (outcome["action"], outcome["result"]) == ("tool.delete_file", "denied")


def test_an_allowed_tool_is_called_and_recorded(client: Watchbell, recorder: Recorder, agent: str) -> None:
    guard = WatchbellMiddleware(on_error="deny", timeout=PATIENT_S, agent_id=agent, client=client, recorder=recorder)
    state = agent_that(calls("read_file", path="a"), guard).invoke(ASKED)
    assert (told(state).status, told(state).content) == ("success", "contents of a")
    (outcome,) = outcomes(client, recorder, agent)
    (decision,) = client.events.list(agent_id=agent, event_type="decision")
    assert (outcome["action"], outcome["result"]) == ("tool.read_file", "success")
    assert outcome["decision_id"] == decision["decision_id"]


async def test_asynchronously_too(
    client: Watchbell, async_client: AsyncWatchbell, recorder: Recorder, agent: str
) -> None:
    DELETED.clear()
    guard = WatchbellMiddleware(
        on_error="deny", timeout=PATIENT_S, agent_id=agent, async_client=async_client, recorder=recorder
    )
    state = await agent_that(calls("delete_file", path="a"), guard).ainvoke(ASKED)
    assert (told(state).status, DELETED) == ("error", [])
    state = await agent_that(calls("read_file", path="a"), guard).ainvoke(ASKED)
    assert told(state).content == "contents of a"
    assert [one["result"] for one in outcomes(client, recorder, agent)] == ["denied", "success"]


def test_the_session_is_the_thread_unless_it_is_said(client: Watchbell, recorder: Recorder, agent: str) -> None:
    said: list[str] = []
    guard = WatchbellMiddleware(
        on_error="deny",
        timeout=PATIENT_S,
        agent_id=agent,
        client=client,
        session_id=lambda: said.pop() if said else None,
        recorder=recorder,
    )
    # No session can be as long as the names of these threads, which begin alike.
    thread = f"thread of {agent} {'x' * 128}"

    def call(thread: str) -> None:
        agent_that(calls("read_file", path="a"), guard).invoke(ASKED, {"configurable": {"thread_id": thread}})

    call(f"{thread} 1")
    said.append("")
    call(f"{thread} 2")
    said.append(f"session of {agent}")
    call(thread)
    *in_threads, in_session = [one["session_id"] for one in outcomes(client, recorder, agent)]
    assert [one[:111] for one in in_threads] == [thread[:111]] * 2
    assert in_session == f"session of {agent}"
    for one in (*in_threads, in_session):
        assert types_in(client, one) == ["decision", "tool_call"]


def test_arguments_are_changed(client: Watchbell, recorder: Recorder, agent: str) -> None:
    guard = WatchbellMiddleware(on_error="deny", timeout=PATIENT_S, agent_id=agent, client=client, recorder=recorder)
    state = agent_that(calls("send_message", text="my card is 5678"), guard).invoke(ASKED)
    assert told(state).content == "sent (cut)"


def test_a_tool_that_fails_is_recorded_so(client: Watchbell, recorder: Recorder, agent: str) -> None:
    guard = WatchbellMiddleware(on_error="deny", timeout=PATIENT_S, agent_id=agent, client=client, recorder=recorder)
    with pytest.raises(FileNotFoundError):
        agent_that(calls("broken", path="a"), guard).invoke(ASKED)
    (outcome,) = outcomes(client, recorder, agent)
    assert (outcome["result"], outcome["error_code"]) == ("error", "FileNotFoundError")


@pytest.mark.parametrize(("mode", "status"), [("deny", "error"), ("allow", "success")])
def test_a_guard_that_is_not_reached_does_as_it_was_told(
    mode: Any, status: str, wire: Wire, recorder: Recorder, agent: str
) -> None:
    wire.cut()
    with Watchbell(wire.url) as cut_off:
        guard = WatchbellMiddleware(on_error=mode, agent_id=agent, client=cut_off, recorder=recorder)
        assert told(agent_that(calls("read_file", path="a"), guard).invoke(ASKED)).status == status
    wire.mend()


def test_policies_see_what_context_says(client: Watchbell, recorder: Recorder, agent: str) -> None:
    seen = []

    def context(name: str, arguments: Any) -> dict[str, Any]:
        seen.append((name, dict(arguments)))
        return {"path": arguments["path"]}

    guard = WatchbellMiddleware(
        on_error="deny", timeout=PATIENT_S, agent_id=agent, client=client, context=context, recorder=recorder
    )
    agent_that(calls("read_file", path="a"), guard).invoke(ASKED)
    assert seen == [("read_file", {"path": "a"})]
    (decision,) = client.events.list(agent_id=agent, event_type="decision")
    assert decision["metadata"]["question"]["context"] == {"path": "a"}
