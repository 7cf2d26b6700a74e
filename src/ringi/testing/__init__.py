"""Test utilities for Ringi, for its backends, and for agents that ask people."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports
from ringi.testing.clock import Clock
from ringi.testing.makers import a_request, a_thread, approval, stored
from ringi.testing.person import Reply, RuleError, ScriptedPerson, UnansweredError, UnusedRuleError

if TYPE_CHECKING:
    from ringi.testing.harness import Outcome, QuestionsError, RunFailedError, TestHarness
    from ringi.testing.model import ScriptedModel, calls, together

__all__ = [
    "Clock",
    "Outcome",
    "QuestionsError",
    "Reply",
    "RuleError",
    "RunFailedError",
    "ScriptedModel",
    "ScriptedPerson",
    "TestHarness",
    "UnansweredError",
    "UnusedRuleError",
    "a_request",
    "a_thread",
    "approval",
    "calls",
    "stored",
    "together",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "harness": "Outcome QuestionsError RunFailedError TestHarness",
        "model": "ScriptedModel calls together",
    },
)
