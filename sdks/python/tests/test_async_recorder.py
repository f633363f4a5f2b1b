"""The asynchronous recorder: what is different from the other one is who waits."""

from __future__ import annotations

import asyncio
import time

from server import Peer, Wire
from trail import event, numbers

from watchbell import AsyncRecorder, Lost, Watchbell
from watchbell.outbox import CUT_SHORT, OUT_OF_TIME


async def test_what_is_recorded_is_in_the_trail_after_a_flush(client: Watchbell, agent: str) -> None:
    async with AsyncRecorder(batch_events=100, batch_seconds=3600) as recorder:
        for n in range(250):
            await recorder.record(event(agent, n))
        assert await recorder.flush(20)
        assert numbers(client, agent) == list(range(250))
        counts = recorder.counts
        assert (counts.recorded, counts.sent, counts.lost, counts.waiting) == (250, 250, 0, 0)


async def test_a_batch_is_sent_by_itself_after_its_time(client: Watchbell, agent: str) -> None:
    async with AsyncRecorder(batch_seconds=0.1) as recorder:
        await recorder.record(event(agent, 1))
        deadline = time.monotonic() + 20
        while recorder.counts.sent < 1:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
    assert numbers(client, agent) == [1]


async def test_leaving_the_block_sends_what_waits(client: Watchbell, agent: str) -> None:
    async with AsyncRecorder(batch_seconds=3600) as recorder:
        await recorder.record(event(agent, 1))
    assert recorder.counts.sent == 1
    assert numbers(client, agent) == [1]


async def test_answers_that_are_lost_make_nothing_appear_twice(client: Watchbell, agent: str, wire: Wire) -> None:
    async with AsyncRecorder(wire.url, batch_events=20, batch_seconds=0.01) as recorder:
        wire.loses_answers = True
        for n in range(60):
            await recorder.record(event(agent, n))
        assert not await recorder.flush(0.3)
        assert wire.requests_lost >= 1
        wire.loses_answers = False
        assert await recorder.flush(30)
    assert numbers(client, agent) == list(range(60))


async def test_a_full_queue_drops_and_counts(agent: str, wire: Wire) -> None:
    lost: list[Lost] = []
    wire.cut()
    recorder = AsyncRecorder(wire.url, queue_events=10, on_lost=lost.append)
    for n in range(15):
        await recorder.record(event(agent, n))
    counts = recorder.counts
    assert (counts.recorded, counts.sent, counts.lost, counts.waiting) == (15, 0, 5, 10)
    started = time.monotonic()
    await recorder.close(0.3)
    assert time.monotonic() - started < 2
    assert (recorder.counts.lost, recorder.counts.waiting) == (15, 0)
    assert sum(len(one.events) for one in lost) == 15
    await recorder.record(event(agent, 16))
    assert lost[-1].reason == "the recorder is closed"


async def test_a_full_queue_can_hold_up_who_records(client: Watchbell, agent: str, wire: Wire) -> None:
    wire.cut()
    async with AsyncRecorder(wire.url, queue_events=5, when_full="block") as recorder:

        async def work() -> None:
            for n in range(20):
                await recorder.record(event(agent, n))

        working = asyncio.create_task(work())
        await asyncio.wait([working], timeout=0.3)
        assert not working.done()
        assert recorder.counts.waiting == 5
        wire.mend()
        await asyncio.wait_for(working, 30)
        assert await recorder.flush(30)
    assert numbers(client, agent) == list(range(20))


async def test_an_event_that_will_never_fit_holds_nobody_up(agent: str) -> None:
    async with AsyncRecorder(queue_bytes=100, when_full="block") as recorder:
        await asyncio.wait_for(recorder.record(event(agent, 1)), 20)
        assert (recorder.counts.lost, recorder.counts.waiting) == (1, 0)


async def test_closing_tells_of_all_that_is_not_known_to_be_sent(agent: str) -> None:
    lost: list[Lost] = []
    with Peer(None) as peer:
        recorder = AsyncRecorder(peer.url, on_lost=lost.append, batch_events=1)
        for n in range(2):
            await recorder.record(event(agent, n))
        deadline = time.monotonic() + 20
        while not peer.connections:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)
        await recorder.close(0)
    assert [(one.reason, len(one.events)) for one in lost] == [(CUT_SHORT, 1), (OUT_OF_TIME, 1)]
    assert (recorder.counts.lost, recorder.counts.waiting) == (2, 0)


async def test_nothing_is_raised_into_the_agent(client: Watchbell, agent: str) -> None:
    async with AsyncRecorder() as recorder:
        await recorder.record(event(agent, 0, metadata={"n": object()}))
        await recorder.record(event(agent, 1))
        assert await recorder.flush(20)
    assert (recorder.counts.lost, recorder.counts.sent) == (1, 1)
    assert numbers(client, agent) == [1]
