"""Both clients against the real server: sending, reading, rules, errors, and asking again."""

from __future__ import annotations

import datetime

import pytest
from server import Wire, running
from trail import event

from watchbell import ApiError, AsyncWatchbell, Unreachable, Watchbell


def test_one_event_is_sent_and_found(client: Watchbell, agent: str) -> None:
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)
    sent = client.events.send(event(agent, occurred_at=at, metadata={"Größe": 1.5}))
    assert not sent.rejected
    found = client.events.get(sent.ids[0])
    assert (found["agent_id"], found["metadata"]) == (agent, {"Größe": 1.5})
    assert datetime.datetime.fromisoformat(found["occurred_at"].replace("Z", "+00:00")) - at < datetime.timedelta(
        seconds=1
    )


async def test_one_event_is_sent_and_found_asynchronously(async_client: AsyncWatchbell, agent: str) -> None:
    sent = await async_client.events.send(event(agent))
    assert (await async_client.events.get(sent.ids[0]))["agent_id"] == agent


def test_a_bad_event_comes_back_and_the_others_are_taken(client: Watchbell, agent: str) -> None:
    sent = client.events.send([event(agent), event(agent, color="red"), event(agent)])
    assert len(sent.ids) == 2
    assert [(one.index, one.code, one.pointer) for one in sent.rejected] == [(1, "FIELD_UNKNOWN", "/color")]


def test_atomic_refuses_all_and_says_where(client: Watchbell, agent: str) -> None:
    with pytest.raises(ApiError) as refused:
        client.events.send([event(agent), event(agent, color="red")], atomic=True)
    assert (refused.value.status, refused.value.code) == (422, "VALIDATION_FAILED")
    assert refused.value.errors[0]["pointer"] == "/events/1/color"
    assert refused.value.request_id in str(refused.value)
    assert list(client.events.list(agent_id=agent)) == []


def test_a_list_goes_on_over_pages(client: Watchbell, agent: str) -> None:
    client.events.send([event(agent, n) for n in range(25)])
    start = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=1)
    found = client.events.list(agent_id=[agent, "nobody"], from_=start, order="asc", page_size=10)
    assert sorted(one["metadata"]["n"] for one in found) == list(range(25))


async def test_a_list_goes_on_over_pages_asynchronously(async_client: AsyncWatchbell, agent: str) -> None:
    await async_client.events.send([event(agent, n) for n in range(25)])
    found = [one["metadata"]["n"] async for one in async_client.events.list(agent_id=agent, page_size=10)]
    assert sorted(found) == list(range(25))


def test_rules_are_made_listed_and_deleted(client: Watchbell, agent: str) -> None:
    rule = client.rules.create(name="r", match={"agent_id": [agent]}, url="http://127.0.0.1:9/", tags=[agent])
    assert [one["id"] for one in client.rules.list(tag=agent)] == [rule["id"]]
    client.rules.delete(rule["id"])
    assert list(client.rules.list(tag=agent)) == []


async def test_rules_are_made_listed_and_deleted_asynchronously(async_client: AsyncWatchbell, agent: str) -> None:
    rule = await async_client.rules.create(
        name="r", match={"agent_id": [agent]}, url="http://127.0.0.1:9/", tags=[agent]
    )
    assert [one["id"] async for one in async_client.rules.list(tag=agent)] == [rule["id"]]
    await async_client.rules.delete(rule["id"])


def test_any_other_request_can_be_made(client: Watchbell, agent: str) -> None:
    client.events.send(event(agent))
    stats = client.request("GET", "/v1/audit/stats", params={"by": "agent_id", "interval": "day", "limit": 100})
    assert stats["totals"]
    with pytest.raises(ApiError) as refused:
        client.request("get", "/v1/nothing")
    assert (refused.value.status, refused.value.code) == (404, "NOT_FOUND")


def test_a_wrong_key_is_told_at_once() -> None:
    with Watchbell(api_key="wb_live_wrong") as stranger, pytest.raises(ApiError) as refused:
        stranger.events.send(event("x"))
    assert (refused.value.status, refused.value.code) == (401, "UNAUTHENTICATED")
    assert "wb_live_wrong" not in repr(stranger.settings)


def test_what_is_not_configured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHBELL_API_KEY")
    with pytest.raises(ValueError, match="WATCHBELL_API_KEY"):
        Watchbell()


def test_an_answer_that_was_lost_is_asked_for_again_and_nothing_is_listed_twice(wire: Wire, agent: str) -> None:
    wire.loses_answers = True
    with Watchbell(wire.url, patience=0) as hasty, pytest.raises(Unreachable):
        hasty.events.send(event(agent), idempotency_key=agent)
    assert wire.requests_lost == 1
    wire.loses_answers = False
    with Watchbell(wire.url) as client:
        again = client.events.send(event(agent), idempotency_key=agent)
        assert [one["id"] for one in client.events.list(agent_id=agent)] == again.ids


def test_a_client_waits_as_long_as_it_is_told_to() -> None:
    with running({"WATCHBELL__LIMITS__INGEST": "2/4s"}) as server:
        with Watchbell(server.url, server.api_key, patience=0) as hasty:
            for _ in range(2):
                hasty.events.send(event("a"))
            with pytest.raises(ApiError) as refused:
                hasty.events.send(event("a"))
        assert (refused.value.status, refused.value.code) == (429, "RATE_LIMITED")
        assert refused.value.retry_after_s is not None
        assert refused.value.retry_after_s >= 1
        wire = Wire(server.address)
        with Watchbell(wire.url, server.api_key) as patient:
            assert len(patient.events.send(event("b")).ids) == 1
        # It was refused once, and not again while it waited.
        assert wire.statuses == {"429": 1, "202": 1}
        wire.cut()


async def test_an_asynchronous_client_outlives_a_cut_wire(wire: Wire, agent: str) -> None:
    async with AsyncWatchbell(wire.url) as client:
        await client.events.send(event(agent))
        wire.cut()
        wire.mend()
        await client.events.send(event(agent))
        assert len([one async for one in client.events.list(agent_id=agent)]) == 2
