"""What a test of Ringi, of a backend for it, or of agents that ask needs."""

from ringi.testing.clock import Clock
from ringi.testing.desk import Desk, Outcome, QuestionsError, RunFailedError
from ringi.testing.makers import a_request, a_thread, approval, stored
from ringi.testing.person import Reply, ScriptedPerson, UnansweredError, UnusedRuleError

__all__ = [
    "Clock",
    "Desk",
    "Outcome",
    "QuestionsError",
    "Reply",
    "RunFailedError",
    "ScriptedPerson",
    "UnansweredError",
    "UnusedRuleError",
    "a_request",
    "a_thread",
    "approval",
    "stored",
]
