"""Test utilities for Ringi, for its backends, and for agents that ask people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ringi.testing.clock import Clock
from ringi.testing.makers import a_request, a_thread, approval, stored
from ringi.testing.person import Reply, RuleError, ScriptedPerson, UnansweredError, UnusedRuleError

if TYPE_CHECKING:
    from ringi.testing.harness import Outcome, QuestionsError, RunFailedError, TestHarness

__all__ = [
    "Clock",
    "Outcome",
    "QuestionsError",
    "Reply",
    "RuleError",
    "RunFailedError",
    "ScriptedPerson",
    "TestHarness",
    "UnansweredError",
    "UnusedRuleError",
    "a_request",
    "a_thread",
    "approval",
    "stored",
]


def __getattr__(name: str) -> Any:
    # TestHarness imports everything that runs agents; a test that needs only a clock avoids this cost.
    if name in ("TestHarness", "Outcome", "QuestionsError", "RunFailedError"):
        from ringi.testing import harness

        return getattr(harness, name)
    raise AttributeError(name)
