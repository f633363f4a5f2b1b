"""`@guard` with every verdict, and what the trail says afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import pytest
from server import Wire
from trail import PATIENT_S, outcomes, types_in

from watchbell import AsyncWatchbell, Denied, Recorder, Watchbell, guard


def test_an_allowed_call_is_made_and_recorded(client: Watchbell, recorder: Recorder, agent: str) -> None:
    @guard(
        "files.read",
        client=client,
        agent_id=agent,
        on_error="deny",
        timeout=PATIENT_S,
        resource="file:{path}",
        recorder=recorder,
    )
    def read(path: str, *, lines: int = 10) -> str:
        """Reads."""
        return f"{path} {lines}"

    assert read("a") == "a 10"
    assert (read.__name__, read.__doc__) == ("read", "Reads.")
    (outcome,) = outcomes(client, recorder, agent)
    assert (outcome["action"], outcome["result"], outcome["resource"]) == ("files.read", "success", "file:a")
    assert outcome["latency_ms"] >= 0
    (decision,) = client.events.list(agent_id=agent, event_type="decision")
    assert outcome["decision_id"] == decision["decision_id"]


def test_a_session_has_its_decisions_and_its_calls(client: Watchbell, recorder: Recorder, agent: str) -> None:
    session: ContextVar[str] = ContextVar("session")

    @guard(
        "files.read",
        client=client,
        agent_id=agent,
        on_error="deny",
        timeout=PATIENT_S,
        session_id=session.get,
        trace_id="trace-1",
        span_id=lambda: "span-2",
        recorder=recorder,
    )
    def read() -> None: ...

    read()  # In no session: the variable has neither a value nor a default.
    session.set("")
    read()
    session.set(f"session of {agent}")
    read()
    *in_none, in_one = outcomes(client, recorder, agent)
    assert ["session_id" in one for one in in_none] == [False, False]
    assert types_in(client, in_one["session_id"]) == ["decision", "tool_call"]
    for one in client.events.list(session_id=f"session of {agent}"):
        assert (one["trace_id"], one["span_id"]) == ("trace-1", "span-2")
        assert one["decision_id"] == in_one["decision_id"]


def test_a_denied_call_is_not_made(client: Watchbell, recorder: Recorder, agent: str) -> None:
    called = []

    @guard("files.delete", client=client, agent_id=agent, on_error="deny", timeout=PATIENT_S, recorder=recorder)
    def delete(path: str) -> None:
        called.append(path)

    with pytest.raises(Denied, match=r"Nothing is deleted\.") as denied:
        delete("a")
    assert called == []
    (outcome,) = outcomes(client, recorder, agent)
    assert (outcome["result"], outcome["decision_id"]) == ("denied", denied.value.decision_id)


async def test_a_call_is_made_with_the_arguments_as_changed(
    client: Watchbell, async_client: AsyncWatchbell, recorder: Recorder, agent: str
) -> None:
    @guard("messages.send", client=async_client, agent_id=agent, on_error="deny", timeout=PATIENT_S, recorder=recorder)
    async def send(to: str, text: str, card: str | None = None) -> tuple[str, str, str | None]:
        return (to, text, card)

    assert await send("Ann", "my card is 5678", card="5678") == ("Ann", "(cut)", None)
    (outcome,) = outcomes(client, recorder, agent)
    assert outcome["result"] == "success"


def test_what_cannot_be_called_as_changed_is_denied(client: Watchbell, recorder: Recorder, agent: str) -> None:
    asks: dict[str, Any] = {
        "client": client,
        "agent_id": agent,
        "on_error": "deny",
        "timeout": PATIENT_S,
        "recorder": recorder,
    }

    @guard("messages.send", **asks)
    def send(text: str, card: str) -> None:
        raise AssertionError("not called")

    with pytest.raises(Denied, match="removed the argument card"):
        send("a", "b")

    @guard("paint.wall", **asks)
    def paint(wall: str) -> None:
        raise AssertionError("not called")

    with pytest.raises(Denied, match="arguments that there are not: color"):
        paint("north")


def test_an_error_of_the_function_is_raised_and_recorded(client: Watchbell, recorder: Recorder, agent: str) -> None:
    class Files:
        @guard("files.read", client=client, agent_id=agent, on_error="deny", timeout=PATIENT_S, recorder=recorder)
        def read(self, *paths: str, **options: str) -> None:
            raise FileNotFoundError(*paths)

    with pytest.raises(FileNotFoundError, match="a"):
        Files().read("a", mode="r")
    (outcome,) = outcomes(client, recorder, agent)
    assert (outcome["result"], outcome["error_code"]) == ("error", "FileNotFoundError")


def test_policies_see_what_context_says(client: Watchbell, recorder: Recorder, agent: str) -> None:
    @guard(
        "payments.refund",
        client=client,
        agent_id=agent,
        on_error="deny",
        timeout=PATIENT_S,
        context=lambda arguments: {"amount": arguments["amount"]},
        recorder=recorder,
    )
    def refund(invoice: str, amount: int) -> int:
        return amount

    assert refund("4711", 1000) == 1000
    with pytest.raises(Denied, match="A person looks at refunds above 1000") as denied:
        refund("4711", 1001)
    assert denied.value.decision.decision == "escalate"


def test_a_guard_that_is_not_reached_does_as_it_was_told(client: Watchbell, wire: Wire, agent: str) -> None:
    wire.cut()
    with Watchbell(wire.url, agent_id=agent) as cut_off, Recorder() as recorder:

        @guard("files.read", client=cut_off, on_error="allow", recorder=recorder)
        def read() -> str:
            return "done"

        @guard("files.read", client=cut_off, on_error="deny", timeout=PATIENT_S, recorder=recorder)
        def read_carefully() -> str:
            return "done"

        assert read() == "done"
        with pytest.raises(Denied, match="could not be asked"):
            read_carefully()
        found = outcomes(client, recorder, agent)
    assert sorted((one["result"], one["metadata"]["fallback"]) for one in found) == [
        ("denied", True),
        ("success", True),
    ]
    assert all("decision_id" not in one for one in found)
    wire.mend()


async def test_each_kind_of_function_has_its_kind_of_client(client: Watchbell, async_client: AsyncWatchbell) -> None:
    async def coroutine() -> None: ...

    def function() -> None: ...

    with pytest.raises(TypeError, match="AsyncWatchbell"):
        guard("a.b", client=client, on_error="deny", timeout=PATIENT_S)(coroutine)
    with pytest.raises(TypeError, match="Watchbell"):
        guard("a.b", client=async_client, on_error="deny", timeout=PATIENT_S)(function)


def test_a_generator_is_refused_as_it_would_be_recorded_before_it_ran() -> None:
    def lines() -> Iterator[str]:
        yield "a"

    async def lines_asynchronously() -> AsyncIterator[str]:
        yield "a"

    for function in (lines, lines_asynchronously):
        with pytest.raises(TypeError, match="is a generator"):
            guard("files.read", on_error="deny")(function)


def test_arguments_that_are_not_json_are_said_before_anything_happens(client: Watchbell, agent: str) -> None:
    @guard("files.read", client=client, agent_id=agent, on_error="allow")
    def read(path: object) -> None:
        raise AssertionError("not called")

    with pytest.raises(TypeError, match="object cannot be written as JSON"):
        read(object())


def test_an_argument_can_be_left_out_of_the_question(client: Watchbell, recorder: Recorder, agent: str) -> None:
    @guard(
        "files.read",
        client=client,
        agent_id=agent,
        on_error="deny",
        timeout=PATIENT_S,
        ignore=("session",),
        recorder=recorder,
    )
    def read(session: object, path: str) -> str:
        return path

    assert read(object(), "a") == "a"
