"""Test utilities for agents that ask people, and for backends of Ringi."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports
from ringi.testing.clock import ManualClock
from ringi.testing.factories import a_journal, a_request, a_thread, answer_to, store_request
from ringi.testing.person import Reply, ScriptedPerson, UnansweredError, UnusedRuleError

if TYPE_CHECKING:
    from ringi.testing.harness import AgentResult, RunFailedError, TestHarness
    from ringi.testing.model import ScriptedModel, parallel_tool_calls, scripted_turns, tool_call

__all__ = [
    "AgentResult",
    "ManualClock",
    "Reply",
    "RunFailedError",
    "ScriptedModel",
    "ScriptedPerson",
    "TestHarness",
    "UnansweredError",
    "UnusedRuleError",
    "a_journal",
    "a_request",
    "a_thread",
    "answer_to",
    "parallel_tool_calls",
    "scripted_turns",
    "store_request",
    "tool_call",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "harness": "AgentResult RunFailedError TestHarness",
        "model": "ScriptedModel parallel_tool_calls scripted_turns tool_call",
    },
)


def __dir__() -> list[str]:
    return __all__
