"""LangChain: every tool call of an agent is decided before and recorded after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from .async_client import AsyncWatchbell
from .client import Watchbell
from .decisions import DECIDE_TIMEOUT_S, Decision, OnError
from .outcomes import Outcomes, shared_recorder
from .recorder import Recorder
from .run_ids import RunId, current
from .tool_calls import ContextOf, action_of, only_the_name, refusal

Result = ToolMessage | Command[Any]


class WatchbellMiddleware(AgentMiddleware[Any, Any]):
    """Asks before each tool call. What is not allowed is not called, and the model is told why.

    The tool's arguments are the question's payload, which policies see as `context.payload`; `context` says what
    else they see and the trail records, by default the tool's name alone. `modify` changes the arguments.
    The session is `session_id`, a text or a function without arguments, else the `thread_id` of the run's config.
    `client` is used by `invoke` and `stream`, `async_client` by `ainvoke` and `astream`; what is not given is
    made from the environment.
    """

    def __init__(
        self,
        *,
        on_error: OnError,
        agent_id: str,
        client: Watchbell | None = None,
        async_client: AsyncWatchbell | None = None,
        context: ContextOf = only_the_name,
        session_id: RunId | None = None,
        timeout: float = DECIDE_TIMEOUT_S,
        wait: float = 0,
        recorder: Recorder | None = None,
    ) -> None:
        super().__init__()
        settings = (client or async_client or Watchbell()).settings
        self._client = client or Watchbell(settings.url, settings.api_key)
        self._async_client = async_client or AsyncWatchbell(settings.url, settings.api_key)
        self._agent_id = agent_id
        self._context = context
        self._session_id = session_id
        self._mode = {"on_error": on_error, "timeout": timeout, "wait": wait}
        self._outcomes = Outcomes(recorder or shared_recorder(settings))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]) -> Result:
        decision = self._client.decide(**self._question(request))
        if not decision.allowed:
            return self._refused(request, decision)
        with self._outcomes.of(decision) as ending:
            result = handler(_as_allowed(request, decision))
            ending.error_code = _error_code(result)
            return result

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        decision = await self._async_client.decide(**self._question(request))
        if not decision.allowed:
            return self._refused(request, decision)
        with self._outcomes.of(decision) as ending:
            result = await handler(_as_allowed(request, decision))
            ending.error_code = _error_code(result)
            return result

    def _question(self, request: ToolCallRequest) -> dict[str, Any]:
        tool, arguments = request.tool_call["name"], request.tool_call["args"]
        asked = {"action": action_of(tool), "context": self._context(tool, arguments), "payload": arguments}
        session_id = current(self._session_id) or _thread(request)
        return {"agent_id": self._agent_id, "session_id": session_id, **asked, **self._mode}

    def _refused(self, request: ToolCallRequest, decision: Decision) -> ToolMessage:
        self._outcomes.denied(decision)
        call = request.tool_call
        return ToolMessage(refusal(decision), name=call["name"], tool_call_id=call["id"], status="error")


def _thread(request: ToolCallRequest) -> object:
    config = request.runtime.config if request.runtime else {}
    return config.get("configurable", {}).get("thread_id")


def _as_allowed(request: ToolCallRequest, decision: Decision) -> ToolCallRequest:
    if decision.decision != "modify":
        return request
    return request.override(tool_call={**request.tool_call, "args": decision.modified_payload or {}})


def _error_code(result: Result) -> str | None:
    """A tool can fail without raising."""
    return "tool_error" if isinstance(result, ToolMessage) and result.status == "error" else None
