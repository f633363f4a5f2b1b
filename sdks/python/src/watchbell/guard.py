"""`@guard`: a function that is called only if the policies allow it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .async_client import AsyncWatchbell
from .client import Watchbell
from .decisions import DECIDE_TIMEOUT_S, Decision, OnError
from .errors import Denied
from .outcomes import Outcomes, shared_recorder
from .recorder import Recorder
from .run_ids import RunId, current

F = TypeVar("F", bound=Callable[..., Any])

Arguments = Mapping[str, Any]


def guard(
    action: str,
    *,
    on_error: OnError,
    client: Watchbell | AsyncWatchbell | None = None,
    agent_id: str | None = None,
    resource: str | None = None,
    context: Callable[[Arguments], Mapping[str, Any]] | None = None,
    session_id: RunId | None = None,
    trace_id: RunId | None = None,
    span_id: RunId | None = None,
    ignore: Collection[str] = ("self", "cls"),
    timeout: float = DECIDE_TIMEOUT_S,
    wait: float = 0,
    recorder: Recorder | None = None,
) -> Callable[[F], F]:
    """Asks before each call, raises `Denied` if the answer is no, and records how the call ended.

    The arguments by their names, defaults too and without those in `ignore`, are the question's payload, so
    they must be JSON. Policies see them as `context.payload`, what `context` makes of them, which is recorded,
    and `resource`, in which `{invoice}` stands for the argument `invoice`. If the verdict is `modify`, the
    function is called with the arguments as changed; one that was removed gets its default. What the function
    cannot be called with is `Denied`.

    `session_id`, `trace_id` and `span_id` are recorded with the decision and with how the call ended. Each is a text,
    or a function without arguments that is asked at each call, such as `session.get` where `session` is
    `ContextVar("session", default=None)`. `None`, an empty text and a `LookupError` mean that there is none; a text of
    more than 128 characters is shortened.

    A blocking function takes a `Watchbell`, a coroutine function an `AsyncWatchbell`; without one it is made
    from the environment at the first call. A generator cannot be guarded, because it has done nothing yet when
    the call returns.
    """

    def decorate(function: F) -> F:
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"{function.__name__} is a generator; guard the function that uses what it yields")
        kind = AsyncWatchbell if inspect.iscoroutinefunction(function) else Watchbell
        if client is not None and not isinstance(client, kind):
            raise TypeError(f"{function.__name__} needs a client of type {kind.__name__}")
        signature = inspect.signature(function)

        def question(call: _Call) -> dict[str, Any]:
            asked = call.asked
            return {
                "agent_id": agent_id,
                "action": action,
                "resource": resource and resource.format_map(asked),
                "context": context and context(asked),
                "payload": asked,
                "session_id": current(session_id),
                "trace_id": current(trace_id),
                "span_id": current(span_id),
                "on_error": on_error,
                "timeout": timeout,
                "wait": wait,
            }

        def outcomes(asked: Watchbell | AsyncWatchbell) -> Outcomes:
            return Outcomes(recorder or shared_recorder(asked.settings))

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            call = _Call(signature.bind(*args, **kwargs), ignore)
            asked = cast(Watchbell, client) or _default_client()
            decision = asked.decide(**question(call))
            call.obey(decision, outcomes(asked))
            with outcomes(asked).of(decision):
                return function(*call.bound.args, **call.bound.kwargs)

        @functools.wraps(function)
        async def guarded_coroutine(*args: Any, **kwargs: Any) -> Any:
            call = _Call(signature.bind(*args, **kwargs), ignore)
            asked = cast(AsyncWatchbell, client) or _default_async_client()
            decision = await asked.decide(**question(call))
            call.obey(decision, outcomes(asked))
            with outcomes(asked).of(decision):
                return await function(*call.bound.args, **call.bound.kwargs)

        return cast(F, guarded_coroutine if kind is AsyncWatchbell else guarded)

    return decorate


@functools.cache
def _default_client() -> Watchbell:
    return Watchbell()


@functools.cache
def _default_async_client() -> AsyncWatchbell:
    return AsyncWatchbell()


@dataclass
class _Call:
    """A call that is about to be made."""

    bound: inspect.BoundArguments
    ignore: Collection[str]

    def __post_init__(self) -> None:
        self.bound.apply_defaults()

    @property
    def asked(self) -> dict[str, Any]:
        return {name: value for name, value in self.bound.arguments.items() if name not in self.ignore}

    def obey(self, decision: Decision, outcomes: Outcomes) -> None:
        """Changes the call to what is allowed; raises `Denied` if nothing is, or nothing that can be called."""
        why_not = None if decision.allowed else decision.reason
        if decision.decision == "modify":
            why_not = self._change_to(decision.modified_payload or {})
        if why_not is not None:
            outcomes.denied(decision)
            raise Denied(decision, why_not)

    def _change_to(self, payload: Mapping[str, Any]) -> str | None:
        asked = self.asked
        unknown = payload.keys() - asked.keys()
        if unknown:
            return f"The policies ask for arguments that there are not: {', '.join(sorted(unknown))}."
        for name in asked:
            parameter = self.bound.signature.parameters[name]
            if name in payload:
                is_rest = parameter.kind is inspect.Parameter.VAR_POSITIONAL
                self.bound.arguments[name] = tuple(payload[name]) if is_rest else payload[name]
            elif parameter.default is inspect.Parameter.empty and parameter.kind not in _MAY_BE_EMPTY:
                return f"The policies removed the argument {name}, which has no default."
            else:
                del self.bound.arguments[name]
        self.bound.apply_defaults()
        return None


_MAY_BE_EMPTY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
