"""Decisions of the real guard: every verdict, every fail mode, and people."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest
from server import Peer, Wire, answering
from trail import PATIENT_S

from watchbell import ApiError, AsyncWatchbell, Unreachable, Watchbell
from watchbell.decisions import DECIDE_TIMEOUT_S, OnError

# How much later than its time an answer may come on a machine that does much else.
SLACK_S = 2.0


def test_allowed(client: Watchbell, agent: str) -> None:
    decision = client.decide(
        agent_id=agent, action="files.read", payload={"path": "a"}, on_error="raise", timeout=PATIENT_S
    )
    assert (decision.decision, decision.allowed, decision.fallback) == ("allow", True, False)
    assert decision.payload == {"path": "a"}
    assert decision.decision_id is not None
    recorded = list(client.events.list(agent_id=agent, event_type="decision"))
    assert [one["decision_id"] for one in recorded] == [decision.decision_id]


def test_denied_with_the_reason_of_the_policy(client: Watchbell, agent: str) -> None:
    decision = client.decide(
        agent_id=agent, action="files.delete", resource="file:a", on_error="allow", timeout=PATIENT_S
    )
    assert (decision.decision, decision.allowed, decision.reason) == ("deny", False, "Nothing is deleted.")
    assert [one["id"] for one in decision.policies] == ["no-deleting"]


async def test_modified_asynchronously(async_client: AsyncWatchbell, agent: str) -> None:
    decision = await async_client.decide(
        agent_id=agent, action="messages.send", payload={"text": "1234", "card": "5678"}, on_error="raise"
    )
    assert (decision.decision, decision.allowed) == ("modify", True)
    assert decision.payload == decision.modified_payload == {"text": "(cut)"}


def test_whoever_asks_can_be_said_once(agent: str) -> None:
    with Watchbell(agent_id=agent) as client:
        assert client.decide(action="files.read", on_error="raise", timeout=PATIENT_S).question.agent_id == agent
    with Watchbell() as nobody, pytest.raises(ValueError, match="agent_id"):
        nobody.decide(action="files.read", on_error="raise", timeout=PATIENT_S)


def test_a_question_that_is_wrong_is_raised_whatever_the_mode(client: Watchbell) -> None:
    modes: tuple[OnError, ...] = ("allow", "deny", "raise")
    for mode in modes:
        with pytest.raises(ApiError) as refused:
            client.decide(agent_id="a", action="no-dot", on_error=mode, timeout=PATIENT_S)
        assert refused.value.status == 422


def test_every_id_is_one_that_can_be_recorded(client: Watchbell, agent: str) -> None:
    recorded: dict[str, str | None] = {
        "": None,
        "a\0b": "a\ufffdb",
        "\ud800": "\ufffd",
        "x" * 128: "x" * 128,
        # The TypeScript SDK's tests have the same hashes.
        "x" * 129: "x" * 111 + "-78d48e38324d7507",
        "🧵" * 129: "🧵" * 111 + "-a9f2dc4acc61ca00",
    }
    for run_id in recorded:
        ids: dict[str, Any] = {"session_id": run_id, "trace_id": run_id, "span_id": run_id}
        client.decide(agent_id=agent, action="files.read", **ids, on_error="raise", timeout=PATIENT_S)
    decisions = list(client.events.list(agent_id=agent, event_type="decision"))
    for name in ("session_id", "trace_id", "span_id"):
        assert Counter(one.get(name) for one in decisions) == Counter(recorded.values())


ANSWERS = {
    "silent": None,
    "closes": b"",
    "html": answering("200 OK", b"<html>"),
    "deep": answering("200 OK", b"[" * 100_000),
    "gateway": answering("502 Bad Gateway", b""),
    "words": answering("503 Service Unavailable", b'{"errors":["no healthy upstream"],"code":7,"detail":null}'),
    "no list": answering("503 Service Unavailable", b'{"errors":null}'),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_who_cannot_answer_gives_the_fail_mode_in_time(answer: bytes | None) -> None:
    with Peer(answer) as peer, Watchbell(peer.url) as client:
        question: dict[str, Any] = {"agent_id": "a", "action": "files.read"}
        for mode in ("deny", "allow"):
            started = time.monotonic()
            decision = client.decide(**question, on_error=mode)
            assert time.monotonic() - started < DECIDE_TIMEOUT_S + SLACK_S
            assert (decision.decision, decision.allowed, decision.fallback) == (mode, mode == "allow", True)
            assert decision.decision_id is None
            assert decision.error is not None
        with pytest.raises((Unreachable, ApiError)):
            client.decide(**question, on_error="raise")


async def test_who_cannot_answer_gives_the_fail_mode_in_time_asynchronously() -> None:
    with Peer(None) as peer:
        async with AsyncWatchbell(peer.url) as client:
            started = time.monotonic()
            decision = await client.decide(agent_id="a", action="files.read", on_error="deny", timeout=0.3)
            assert time.monotonic() - started < 0.3 + SLACK_S
            assert (decision.decision, decision.fallback) == ("deny", True)


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"])
def test_who_answers_without_end_gives_the_fail_mode_in_time(head: bytes) -> None:
    with Peer(head, drip=b"a: b\r\n") as peer, Watchbell(peer.url) as client:
        started = time.monotonic()
        decision = client.decide(agent_id="a", action="files.read", on_error="deny", timeout=0.5)
        assert 0.5 <= time.monotonic() - started < 0.5 + SLACK_S
        assert (decision.decision, decision.fallback) == ("deny", True)


def test_a_server_that_is_down_gives_the_fail_mode_and_is_asked_again_when_it_is_up(wire: Wire) -> None:
    with Watchbell(wire.url, agent_id="a") as client:
        assert not client.decide(action="files.read", on_error="deny", timeout=PATIENT_S).fallback
        wire.cut()
        started = time.monotonic()
        assert client.decide(action="files.read", on_error="deny").fallback
        assert time.monotonic() - started < DECIDE_TIMEOUT_S + SLACK_S
        wire.mend()
        assert not client.decide(action="files.read", on_error="deny", timeout=PATIENT_S).fallback


REFUND: dict[str, Any] = {
    "action": "payments.refund",
    "resource": "invoice:4711",
    "context": {"amount": 2000},
    "payload": {"amount": 2000},
}


def resolve_when_asked(client: Watchbell, agent: str, approve: bool, note: str | None = None) -> threading.Thread:
    """A person who sees to the next approval of this agent."""

    def see_to_it() -> None:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            pending = client.request("GET", "/v1/runtime/approvals", params={"status": "pending"})["data"]
            for one in pending:
                if one["agent_id"] == agent:
                    path = f"/v1/runtime/decisions/{one['decision_id']}/resolve"
                    client.request("POST", path, json={"approve": approve, "note": note})
                    return
            time.sleep(0.05)

    person = threading.Thread(target=see_to_it)
    person.start()
    return person


def test_a_person_approves_while_the_agent_waits(client: Watchbell, agent: str) -> None:
    person = resolve_when_asked(client, agent, approve=True)
    decision = client.decide(agent_id=agent, **REFUND, on_error="deny", timeout=PATIENT_S, wait=20)
    person.join()
    assert (decision.decision, decision.fallback) == ("allow", False)
    # The approval is used up: the next refund needs its own.
    assert client.decide(agent_id=agent, **REFUND, on_error="deny", timeout=PATIENT_S).decision == "escalate"


async def test_a_person_denies_while_the_agent_waits(
    client: Watchbell, async_client: AsyncWatchbell, agent: str
) -> None:
    escalated = await async_client.decide(agent_id=agent, **REFUND, on_error="deny", timeout=PATIENT_S)
    assert (escalated.decision, escalated.allowed) == ("escalate", False)
    assert escalated.expires_at is not None
    person = resolve_when_asked(client, agent, approve=False, note="Unknown customer.")
    decision = await async_client.wait_for_approval(escalated, on_error="deny", timeout=PATIENT_S, wait=20)
    person.join()
    assert (decision.decision, decision.reason) == ("deny", "Denied by a person: Unknown customer.")


def test_who_waits_in_vain_is_not_allowed(client: Watchbell, agent: str) -> None:
    started = time.monotonic()
    decision = client.decide(agent_id=agent, **REFUND, on_error="allow", timeout=PATIENT_S, wait=1)
    assert time.monotonic() - started >= 1
    assert (decision.decision, decision.allowed) == ("escalate", False)


def test_a_wait_outlives_a_cut_wire(client: Watchbell, wire: Wire, agent: str) -> None:
    with Watchbell(wire.url, agent_id=agent) as waiting:
        escalated = waiting.decide(**REFUND, on_error="deny", timeout=PATIENT_S)
        wire.cut()
        threading.Timer(1, wire.mend).start()
        person = resolve_when_asked(client, agent, approve=True)
        assert waiting.wait_for_approval(escalated, on_error="deny", timeout=PATIENT_S, wait=20).decision == "allow"
        person.join()
