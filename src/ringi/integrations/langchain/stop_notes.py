"""Notes for the finish gate about the reason that an agent stopped."""

from __future__ import annotations

import copy
import functools
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp, is_invalid_resume
from langgraph.types import Command

from ringi.base.outages import OutageError
from ringi.domain.thread import FenceError
from ringi.integrations.langchain.enabled import run_asks_people

PASSING = (GraphBubbleUp, FenceError, OutageError)
"""Exceptions that are not errors of the agent: a pause, a lost lease, a store outage."""
HOOKS = ("before_agent", "before_model", "after_model", "after_agent")
"""The hooks that a middleware runs as separate steps, outside any call."""


def agent_stop_reason(error: Exception) -> str:
    """Return the reason that the agent stops; re-raise non-agent errors, and all errors if questions are disabled."""
    if isinstance(error, PASSING) or is_invalid_resume(error) or not run_asks_people():
        raise error
    return f"{type(error).__name__}: {error}"[:2000]


def failed_model_answer(error: Exception) -> ExtendedModelResponse[Any]:
    """Return the answer of a model call that failed."""
    note = {"reason": agent_stop_reason(error)}
    return ExtendedModelResponse(ModelResponse(result=[]), Command(update={"finish_notes": [note]}))


def failed_tool_result(request: ToolCallRequest, error: Exception) -> Command[Any]:
    """Return the result of a tool call that failed."""
    name, reason = request.tool_call["name"], agent_stop_reason(error)
    message = ToolMessage(f"Error: {reason}", tool_call_id=request.tool_call["id"], name=name, status="error")
    return Command(update={"messages": [message], "finish_notes": [{"reason": f"{name}: {reason}"}]})


def watch_middleware(middleware: AgentMiddleware[Any, Any, Any]) -> AgentMiddleware[Any, Any, Any]:
    """Return the same middleware, with errors in its own steps redirected to the gate."""
    kind: Any = type(middleware)
    steps = {}
    for hook in HOOKS:
        for name, watch in ((hook, watch_middleware_hook), (f"a{hook}", watch_async_middleware_hook)):
            if getattr(kind, name) is not getattr(AgentMiddleware, name):
                steps[name] = watch(hook, getattr(kind, name))
    other: Any = copy.copy(middleware)
    other.__class__ = type(kind.__name__, (kind,), steps)
    return cast(AgentMiddleware[Any, Any, Any], other)


def watch_middleware_hook(name: str, hook: Any) -> Any:
    """Return a hook whose errors lead to the gate."""

    @functools.wraps(hook)
    def step(*args: Any, **kwargs: Any) -> Any:
        try:
            return hook(*args, **kwargs)
        except Exception as error:
            return failed_step_result(name, error)

    return hook_with_jump_to_end(name, step)


def watch_async_middleware_hook(name: str, hook: Any) -> Any:
    """Return an async hook whose errors lead to the gate."""

    @functools.wraps(hook)
    async def step(*args: Any, **kwargs: Any) -> Any:
        try:
            return await hook(*args, **kwargs)
        except Exception as error:
            return failed_step_result(name, error)

    return hook_with_jump_to_end(name, step)


def hook_with_jump_to_end(name: str, step: Any) -> Any:
    """Return a hook that may jump to the end; the last hook already runs there and would repeat itself."""
    if name != "after_agent":
        step.__can_jump_to__ = [*getattr(step, "__can_jump_to__", []), "end"]
    return step


def failed_step_result(name: str, error: Exception) -> dict[str, Any]:
    """Return the result of a step that failed."""
    note = {"finish_notes": [{"reason": agent_stop_reason(error)}]}
    return note if name == "after_agent" else {**note, "jump_to": "end"}
