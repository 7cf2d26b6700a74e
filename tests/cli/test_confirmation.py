"""The question of fact before something that cannot be undone: the same in the terminal and on the page."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ringi import Action, Policy
from ringi.base.clock import utc_now
from ringi.cli.terminal.confirmation import confirmation_fact, needs_confirmation_step, request_digest_number
from ringi.domain import Ask
from ringi.domain.ask import parse_body
from ringi.domain.request import Request
from ringi.policy.question import question_about_call

CASES = json.loads((Path(__file__).parent / "facts.json").read_text(encoding="utf-8"))


def asked(**content: Any) -> Request:
    """Return a request that cannot be undone."""
    ask = Ask(title="Really?", **{"tier": "irreversible"} | content)
    return Request.asked(ask, id="r1", now=utc_now(), by=None)[0]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_question_and_its_choices(case: Any) -> None:
    ask = parse_body(Ask, {"title": "Really?", "tier": "irreversible"} | case["ask"])
    request = Request.asked(ask, id="r1", now=utc_now(), by=None)[0].model_copy(update={"digest": case["digest"]})
    fact = confirmation_fact(request, case["args"])
    assert fact
    assert [fact.subject, fact.name, fact.right] == case["fact"]
    choices = [list(fact.choices(request_digest_number(request) + wrong)) for wrong in (0, 1)]
    assert choices == case["choices"]


def test_only_the_tier_asks_for_more_work() -> None:
    action = Action("drop", {"to": "live"})
    for tier in (None, "low", "medium"):
        assert not needs_confirmation_step(asked(action=action, priority="urgent", tier=tier))
    high = asked(action=action, tier="high", priority="low")
    assert needs_confirmation_step(high)
    assert confirmation_fact(high, action.args) is None
    assert not needs_confirmation_step(asked(kind="question"))
    assert needs_confirmation_step(asked(kind="finish"))


def test_the_choices_are_four_and_come_in_another_order() -> None:
    for value in ("a", "7", "00", "0", "aa", "\u202ea", "x" * 60, "１", "a2"):
        request = asked(action=Action("drop", {"to": value, "b2": "a2", "b3": "a3"}))
        fact = confirmation_fact(request, {"to": value})
        assert fact
        orders = [fact.choices(seed) for seed in range(24)]
        assert len(set(orders)) == 24
        assert all(len(set(order)) == 4 for order in orders)
        assert all(one != other for one, other in pairwise(orders))


def test_the_words_of_the_agent_are_no_choice() -> None:
    """A card that the agent wrote names no fact, and its text is no choice."""
    forged = {"card": {"arguments": {"amount": "memo"}, "amount": "9", "limit": 9}}
    request = asked(action=Action("pay", {"amount": 4, "memo": "9"}), context=forged, description="Pay 5 to bob")
    declared = question_about_call(
        Policy.parse({"rules": [{"tools": ["pay"]}], "cards": {"pay": {"amount": "amount", "tier": "irreversible"}}}),
        None,
        "pay",
        {"amount": 4, "memo": "9"},
        facts={},
        context=forged,
    )
    for each, subjects in (
        (request, {"argument"}),
        (Request.asked(declared, id="r1", now=utc_now(), by=None)[0], {"amount"}),
    ):
        fact = confirmation_fact(each.model_copy(update={"tier": "irreversible"}), {"amount": 4, "memo": "9"})
        assert fact
        assert fact.subject in subjects
        assert "5" not in (fact.right, *fact.others) or fact.right == "4"
