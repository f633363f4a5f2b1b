"""What tests put into the trail, and what they find there."""

from __future__ import annotations

from typing import Any

from watchbell import Event, Recorder, Watchbell

PATIENT_S = 20.0
"""For questions whose answer matters and not its time, on a machine that does much else."""


def event(agent: str, n: int = 0, **more: Any) -> Event:
    base = {"event_type": "tool_call", "agent_id": agent, "action": "files.read", "result": "success"}
    return {**base, "metadata": {"n": n}, **more}  # type: ignore[typeddict-item]


def numbers(client: Watchbell, agent: str) -> list[int]:
    """What is listed, in order: each number once if everything is there exactly once."""
    return sorted(one["metadata"]["n"] for one in client.events.list(agent_id=agent, page_size=1000))


def types_in(client: Watchbell, session: str) -> list[str]:
    """What is listed of a session, by its kind; call `outcomes` before, which waits until all of it is sent."""
    return sorted(one["event_type"] for one in client.events.list(session_id=session))


def outcomes(client: Watchbell, recorder: Recorder, agent: str) -> list[dict[str, Any]]:
    """How the guarded calls of an agent ended."""
    assert recorder.flush(20)
    return list(client.events.list(agent_id=agent, event_type="tool_call", order="asc"))
