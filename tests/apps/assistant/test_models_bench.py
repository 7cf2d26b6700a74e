"""The judge of conversations with real models, and the utterances that it judges."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from benchmarks.apps.models import Conversation, Outcome, Turn, is_match, read_conversations
from langchain_core.messages import AIMessage
from tests.apps.assistant.office import OFFICE

from ringi.demo import agents
from ringi.testing.model import tool_call
from ringi_apps.assistant.declare_tool import DECLARE


@pytest.mark.parametrize(
    ("declared", "wanted", "is_so"),
    [
        ("do plan-001", "do plan-001", True),
        ("do plan-002", "do plan-001", False),
        ('set business_goals "20 % more"', "set business_goals 20", True),
        ('set business_goals "a fifth more"', "set business_goals 20", False),
        ('clear business_goals "20"', "set business_goals 20", False),
        ("choose target_project", "do selector-001 | choose target_project", True),
        ("call refund order=1182 amount=40", "call refund order=1182 amount=40", True),
        ("call refund order=1182 amount=400", "call refund order=1182 amount=40", False),
        ("call refund order=1182 amount=40.5", "call refund order=1182 amount=40", False),
        ("call refund order=11820 amount=40", "call refund order=1182 amount=40", False),
        ('set business_goals "in 2026"', "set business_goals 20", False),
        ('set business_goals "6月までに二つ目の倉庫を開く"', "set business_goals 倉庫", True),
    ],
)
def test_a_declaration_is_what_is_wanted_or_not(declared: str, wanted: str, *, is_so: bool) -> None:
    assert is_match(declared, wanted) == is_so


def outcome(answer: AIMessage, *wanted: str) -> Outcome:
    """Return the outcome of one turn with this answer."""
    turn = Turn("our goal is 20 % more", wanted, ("set topic",))
    return Outcome(Conversation("assistant", "en", (turn,)), 0, OFFICE, [answer])


def test_a_turn_is_judged_by_all_that_the_model_declares() -> None:
    ops: list[dict[str, Any]] = [
        {"op": "set", "key": "business_goals", "value": "20 % more", "quote": "goal is 20 %"},
        {"op": "set", "key": "lead_priority", "value": ["l-1"], "quote": "invented"},
    ]
    answer = tool_call(DECLARE, ops=ops, required_actions=[{"type": "plan-001"}])
    assert not outcome(answer, "set business_goals 20").is_only
    assert outcome(answer, "set business_goals 20").is_wanted
    assert not outcome(answer, "set business_goals 20", "do apply-001").is_wanted
    assert outcome(answer, "set business_goals 20", "do plan-001").is_only
    topic = {"op": "set", "key": "topic", "value": "20 % more", "quote": "20 % more"}
    assert outcome(tool_call(DECLARE, ops=[ops[0], topic]), "set business_goals 20").is_only
    assert outcome(answer).quotes == [True, False]
    assert outcome(AIMessage("You are welcome.")).is_only
    assert not replace(outcome(AIMessage("")), status="error").is_only
    assert not outcome(tool_call("refund", order=1182, amount=40.0)).is_only
    assert outcome(tool_call("refund", order=1182, amount=40.0), "call refund order=1182 amount=40").is_only


def test_the_conversations_are_of_the_demo_agents_and_a_third_is_unseen() -> None:
    talks = read_conversations()
    turns = Counter(talk.agent for talk in talks for _ in talk.turns)
    assert sum(turns.values()) >= 40
    assert turns.keys() <= {agent.name for agent in agents()}
    assert min(turns.values()) >= 3
    assert sum(len(talk.turns) for talk in talks if talk.unseen) * 3 >= sum(turns.values())
