"""The rule for asking again, as a table."""

from __future__ import annotations

import pytest

from watchbell.calls import Answer, Call, Came, Pause
from watchbell.errors import Unreachable
from watchbell.retries import DELAY_S_MAX, RETRY_AFTER_S_MAX, ask, delay_s, is_transient
from watchbell.tool_calls import action_of

BUSY = Answer(503, {}, b"")
LIMITED = Answer(429, {"retry-after": "7"}, b"")
DONE = Answer(202, {}, b"")


@pytest.mark.parametrize(
    ("came", "repeats", "chance", "seconds"),
    [
        (BUSY, 0, 0.0, 0.25),
        (BUSY, 0, 1.0, 0.3),
        (BUSY, 3, 0.0, 2.0),
        (BUSY, 1000, 0.0, DELAY_S_MAX),
        (Unreachable("x"), 1, 0.0, 0.5),
        (LIMITED, 0, 0.0, 7.0),
        (LIMITED, 5, 1.0, 8.4),
        (Answer(429, {"retry-after": "soon"}, b""), 0, 0.0, 0.25),
        (Answer(503, {"retry-after": "300"}, b""), 0, 0.0, 300.0),
        (Answer(503, {"retry-after": "86400"}, b""), 0, 0.0, RETRY_AFTER_S_MAX),
        (Answer(503, {"retry-after": "9" * 400}, b""), 0, 1.0, 360.0),
    ],
)
def test_how_long_is_waited(came: Came, repeats: int, chance: float, seconds: float) -> None:
    assert delay_s(repeats, came, lambda: chance) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("status", "transient"),
    [(200, False), (400, False), (401, False), (408, True), (413, False), (422, False), (429, True), (503, True)],
)
def test_what_may_help(status: int, transient: bool) -> None:
    assert is_transient(Answer(status, {}, b"")) is transient


def steps(call: Call, patience_s: float, *came: Came) -> list[Call | Pause]:
    """What `ask` does while these come of it."""
    flow = ask(call, patience_s)
    done: list[Call | Pause] = [next(flow)]
    waiting = list(came)
    try:
        while True:
            done.append(flow.send(waiting.pop(0) if isinstance(done[-1], Call) else None))
    except (StopIteration, Unreachable):
        assert not waiting
        return done


def test_only_what_can_do_no_harm_is_done_again() -> None:
    named = Call("POST", "/x", idempotency_key="k")
    assert len(steps(Call("GET", "/x"), 30, BUSY, DONE)) == 3
    assert len(steps(named, 30, Unreachable("x"), BUSY, DONE)) == 5
    assert len(steps(Call("POST", "/x"), 30, BUSY)) == 1
    assert len(steps(Call("PATCH", "/x"), 30, Unreachable("x"))) == 1


def test_patience_ends() -> None:
    assert len(steps(Call("GET", "/x"), 5, LIMITED)) == 1
    assert len(steps(Call("GET", "/x"), 10, LIMITED, DONE)) == 3
    assert len(steps(Call("GET", "/x"), 10, LIMITED, LIMITED)) == 3


@pytest.mark.parametrize(
    ("tool", "action"),
    [
        ("files.delete", "files.delete"),
        ("Send mail", "tool.send_mail"),
        ("é", "tool._"),
        ("", "tool._"),
        ("x" * 200, "tool." + "x" * 123),
    ],
)
def test_tools_are_actions(tool: str, action: str) -> None:
    assert action_of(tool) == action
