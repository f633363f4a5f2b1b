"""The recorder against a real server that goes away, is full, refuses, and comes back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from server import Peer, Server, Wire, answering, running
from trail import event, numbers

from watchbell import Lost, Recorder, Watchbell
from watchbell.outbox import CUT_SHORT, OUT_OF_TIME


def until(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_what_is_recorded_is_in_the_trail_after_a_flush(client: Watchbell, agent: str) -> None:
    with Recorder(batch_events=100, batch_seconds=3600) as recorder:
        for n in range(250):
            recorder.record(event(agent, n))
        assert recorder.flush(20)
        assert numbers(client, agent) == list(range(250))
        counts = recorder.counts
        assert (counts.recorded, counts.sent, counts.lost, counts.waiting) == (250, 250, 0, 0)


def test_a_batch_is_sent_by_itself_after_its_time(client: Watchbell, agent: str) -> None:
    with Recorder(batch_seconds=0.1) as recorder:
        recorder.record(event(agent, 1))
        until(lambda: recorder.counts.sent == 1)
    assert numbers(client, agent) == [1]


def test_a_batch_is_sent_by_itself_when_it_has_its_bytes(client: Watchbell, agent: str) -> None:
    with Recorder(batch_seconds=3600, batch_bytes=10_000) as recorder:
        for n in range(3):
            recorder.record(event(agent, n, metadata={"n": n, "text": "x" * 4000}))
        until(lambda: recorder.counts.sent >= 2)
        assert recorder.flush(20)
    assert numbers(client, agent) == [0, 1, 2]


def test_the_time_is_that_of_recording(client: Watchbell, agent: str, wire: Wire) -> None:
    with Recorder(wire.url) as recorder:
        wire.cut()
        recorder.record(event(agent, 1))
        recorded_at = time.time()
        until(lambda: time.time() > recorded_at + 1)
        wire.mend()
        assert recorder.flush(20)
    found = next(client.events.list(agent_id=agent))
    assert found["occurred_at"] < found["received_at"]


def test_a_server_that_is_killed_and_comes_back_has_everything_exactly_once(own_server: Server, agent: str) -> None:
    wire = Wire(own_server.address)
    with Recorder(wire.url, own_server.api_key, batch_events=10, batch_seconds=0.01) as recorder:
        for n in range(100):
            recorder.record(event(agent, n))
        until(lambda: recorder.counts.sent >= 50)
        own_server.stop(signal.SIGKILL)
        for n in range(100, 200):
            recorder.record(event(agent, n))
        assert recorder.counts.waiting >= 100
        own_server.start()
        wire.to = own_server.address
        assert recorder.flush(30)
        assert recorder.counts.lost == 0
    with Watchbell(own_server.url, own_server.api_key) as client:
        assert numbers(client, agent) == list(range(200))
    wire.cut()


def test_answers_that_are_lost_make_nothing_appear_twice(client: Watchbell, agent: str, wire: Wire) -> None:
    with Recorder(wire.url, batch_events=20, batch_seconds=0.01) as recorder:
        wire.loses_answers = True
        for n in range(100):
            recorder.record(event(agent, n))
        until(lambda: wire.requests_lost >= 2)
        assert recorder.counts.sent == 0
        wire.loses_answers = False
        assert recorder.flush(30)
    assert numbers(client, agent) == list(range(100))


ID = {"id": "evt_1"}
WRONG = {"code": "FIELD_UNKNOWN", "pointer": "/color", "detail": "?"}


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "<html>",
        {},
        {"events": [], "rejected": []},
        {"events": ID, "rejected": [7]},
        {"events": [ID], "rejected": [{"index": 2, **WRONG}]},
        {"events": [ID], "rejected": [{"index": 0.5, **WRONG}]},
    ],
    ids=str,
)
def test_an_answer_that_is_not_the_services_loses_nothing(
    client: Watchbell, agent: str, wire: Wire, answer: object
) -> None:
    wire.other_answers = [answering("200 OK", json.dumps(answer).encode())]
    with Recorder(wire.url, batch_seconds=0.01, batch_events=2) as recorder:
        for n in range(2):
            recorder.record(event(agent, n))
        assert recorder.flush(20)
        assert (recorder.counts.sent, recorder.counts.lost) == (2, 0)
    assert wire.other_answers == []
    assert numbers(client, agent) == [0, 1]


def test_it_waits_as_long_as_it_is_told_to(agent: str) -> None:
    with running({"WATCHBELL__LIMITS__INGEST": "1/4s"}) as server:
        wire = Wire(server.address)
        with Recorder(wire.url, server.api_key, batch_events=1) as recorder:
            for n in range(3):
                recorder.record(event(agent, n))
            assert recorder.flush(60)
            assert recorder.counts.lost == 0
        # The second and the third were refused once each: what was told was waited for.
        assert wire.statuses == {"202": 3, "429": 2}
        wire.cut()
        with Watchbell(server.url, server.api_key) as client:
            assert numbers(client, agent) == [0, 1, 2]


def test_a_full_queue_drops_and_counts(
    client: Watchbell, agent: str, wire: Wire, caplog: pytest.LogCaptureFixture
) -> None:
    lost: list[Lost] = []
    wire.cut()
    with Recorder(wire.url, queue_events=10, on_lost=lost.append) as recorder:
        for n in range(15):
            recorder.record(event(agent, n))
        counts = recorder.counts
        assert (counts.recorded, counts.sent, counts.lost, counts.waiting) == (15, 0, 5, 10)
        assert {one.reason for one in lost} == {"the queue is full"}
        assert [one.events[0]["metadata"]["n"] for one in lost] == [10, 11, 12, 13, 14]
        assert "1 event(s) not recorded: the queue is full" in caplog.text
        wire.mend()
        assert recorder.flush(30)
    assert numbers(client, agent) == list(range(10))


def test_a_queue_is_also_full_by_bytes(wire: Wire, agent: str) -> None:
    wire.cut()
    with Recorder(wire.url, queue_bytes=10_000) as recorder:
        for n in range(10):
            recorder.record(event(agent, n, metadata={"text": "x" * 3000}))
        assert (recorder.counts.waiting, recorder.counts.lost) == (3, 7)
        recorder.close(0)


def test_a_full_queue_can_hold_up_who_records(client: Watchbell, agent: str, wire: Wire) -> None:
    wire.cut()
    with Recorder(wire.url, queue_events=5, when_full="block") as recorder:

        def record_all() -> None:
            for n in range(20):
                recorder.record(event(agent, n))

        work = threading.Thread(target=record_all)
        work.start()
        until(lambda: recorder.counts.waiting == 5)
        wire.mend()
        work.join(30)
        assert not work.is_alive()
        assert recorder.flush(30)
        assert recorder.counts.lost == 0
    assert numbers(client, agent) == list(range(20))


def test_an_event_that_will_never_fit_holds_nobody_up(agent: str) -> None:
    lost: list[Lost] = []
    with Recorder(queue_bytes=100, when_full="block", on_lost=lost.append) as recorder:
        work = threading.Thread(target=recorder.record, args=(event(agent, 1),), daemon=True)
        work.start()
        work.join(20)
        assert not work.is_alive()
    assert [one.reason for one in lost] == ["it is larger than the whole queue"]


def test_nothing_is_raised_into_the_agent(client: Watchbell, agent: str) -> None:
    lost: list[Lost] = []

    def fails(one: Lost) -> None:
        lost.append(one)
        raise RuntimeError("the callback is broken")

    recorder = Recorder(on_lost=fails)
    recorder.record(event(agent, 0, metadata={"n": object()}))
    recorder.record(event(agent, 1, color="red"))
    recorder.record(event(agent, 2))
    recorder.close(20)
    recorder.record(event(agent, 3))
    assert recorder.counts.lost == 3
    assert recorder.counts.sent == 1
    reasons = " | ".join(one.reason for one in lost)
    assert "object cannot be written as JSON" in reasons
    assert "FIELD_UNKNOWN /color" in reasons
    assert "the recorder is closed" in reasons
    assert numbers(client, agent) == [2]


def test_a_key_that_is_refused_loses_and_tells(agent: str) -> None:
    lost: list[Lost] = []
    with Recorder(api_key="wb_live_wrong", on_lost=lost.append) as recorder:
        recorder.record(event(agent, 1))
        assert recorder.flush(20)
    assert "UNAUTHENTICATED" in lost[0].reason
    assert lost[0].events[0]["metadata"] == {"n": 1}


def test_closing_in_vain_takes_its_time_and_no_longer(agent: str, wire: Wire) -> None:
    lost: list[Lost] = []
    wire.cut()
    recorder = Recorder(wire.url, on_lost=lost.append)
    recorder.record(event(agent, 1))
    assert not recorder.flush(0.1)
    started = time.monotonic()
    recorder.close(0.5)
    assert time.monotonic() - started < 2
    assert sum(len(one.events) for one in lost) == 1
    assert recorder.counts.waiting == 0
    wire.mend()


def test_closing_tells_of_all_that_is_not_known_to_be_sent(agent: str, caplog: pytest.LogCaptureFixture) -> None:
    lost: list[Lost] = []
    with Peer(None) as peer:
        recorder = Recorder(peer.url, on_lost=lost.append, batch_events=1, queue_events=3)
        recorder.record(event(agent, 0))
        until(lambda: len(peer.connections) == 1)
        for n in range(1, 6):
            recorder.record(event(agent, n))
        recorder.close(0)
    told = {one.reason: [each["metadata"]["n"] for each in one.events] for one in lost}
    assert told == {"the queue is full": [5], CUT_SHORT: [0], OUT_OF_TIME: [1, 2]}
    counts = recorder.counts
    assert (counts.recorded, counts.sent, counts.lost, counts.waiting) == (6, 0, 6, 0)
    # The log speaks rarely, but in the end it has told of all.
    assert sum(int(one.getMessage().split()[0]) for one in caplog.records) == 6


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_what_waits_is_sent_at_exit(
    server: Server, client: Watchbell, agent: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is resolved at a time when threads take no more work."""
    monkeypatch.setenv("WATCHBELL_URL", f"http://{host}:{server.address[1]}")
    run(
        """
import sys
from watchbell import Recorder
recorder = Recorder(batch_seconds=3600)
for n in range(5):
    recorder.record({"event_type": "tool_call", "agent_id": sys.argv[1], "action": "a.b", "result": "success",
                     "metadata": {"n": n}})
""",
        agent,
    )
    assert numbers(client, agent) == [0, 1, 2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_after_a_fork_each_process_sends_its_own(client: Watchbell, agent: str) -> None:
    run(
        """
import os, sys
from watchbell import Recorder, Watchbell
client = Watchbell()
client.rules.create(name=sys.argv[1], match={"agent_id": ["nobody"]}, url="http://127.0.0.1:9/")
recorder = Recorder(batch_seconds=3600)
def record(n):
    recorder.record({"event_type": "tool_call", "agent_id": sys.argv[1], "action": "a.b", "result": "success",
                     "metadata": {"n": n}})
record(0)
child = os.fork()
assert sys.argv[1] in [rule["name"] for rule in client.rules.list()]
record(1 if child else 2)
if child:
    assert os.waitpid(child, 0)[1] == 0
    assert recorder.counts.recorded == 2
else:
    assert recorder.counts.recorded == 1
""",
        agent,
    )
    assert numbers(client, agent) == [0, 1, 2]


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_events"):
        Recorder(batch_events=1001)
    with pytest.raises(ValueError, match="queue"):
        Recorder(queue_events=0)
