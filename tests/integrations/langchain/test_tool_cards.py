"""Tool cards say to people what a call does, to what, and how much."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integrations.langchain.office import Till, agent, call, calls
from tests.runs.world import at_work

from ringi import Approval, Policy
from ringi.errors import InvalidError
from ringi.policy import ToolCard

CARD: Any = {
    "effect": "pays money back",
    "target": "order",
    "amount": "amount",
    "unit": "EUR",
    "limit": 500,
    "tier": "irreversible",
}
NAMES: Any = {"arguments": {"target": "order", "amount": "amount"}}
RULES: Any = [{"tools": ["refund"]}]


@pytest.mark.parametrize(
    ("card", "args", "text"),
    [
        (CARD, {"order": 2, "amount": 500}, {**CARD, **NAMES, "target": 2, "amount": 500}),
        (CARD, {"order": 2, "amount": 501}, {**CARD, **NAMES, "target": 2, "amount": 501, "above_limit": True}),
        (CARD, {"order": 2, "amount": "1"}, {**CARD, **NAMES, "target": 2, "amount": "1", "above_limit": True}),
        ({"target": "to.id"}, {"to": {"id": "a"}}, {"target": "a", "arguments": {"target": "to.id"}}),
        ({"target": "to.id"}, {"to": "a"}, {"arguments": {"target": "to.id"}}),
        ({"target": "to"}, {"to": None}, {"arguments": {"target": "to"}}),
        ({"amount": "n", "limit": 1}, {}, {"limit": 1, "above_limit": True, "arguments": {"amount": "n"}}),
        ({"reversible": False}, {"n": 1}, {"reversible": False}),
        ({"reversible": "within 14 days"}, {"n": 1}, {"reversible": "within 14 days"}),
        ({}, {"n": 1}, {}),
    ],
)
def test_a_card_describes_a_call(card: Any, args: Any, text: Any) -> None:
    assert ToolCard.parse(card).describe(args) == text


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"effects": "x"}, "cards.refund.effects"),
        ({"tier": "huge"}, "cards.refund.tier"),
        ({"effect": " "}, "cards.refund.effect"),
        ({"limit": "5", "amount": "n"}, "cards.refund.limit"),
        ({"unit": "EUR"}, "cards.refund.unit: needs amount"),
        ({"limit": 5}, "cards.refund.limit: needs amount"),
        (None, "cards.refund"),
    ],
)
def test_a_wrong_card_is_refused(card: Any, message: str) -> None:
    with pytest.raises(InvalidError) as error:
        Policy.parse({"rules": RULES, "cards": {"refund": card}})
    assert message in str(error.value)


def test_a_card_names_a_tool_and_its_arguments() -> None:
    tools = {"refund": frozenset({"order", "amount"})}
    Policy.parse({"rules": RULES, "cards": {"refund": CARD}}).check_tools(tools)
    for cards, message in (
        ({"refunds": CARD}, "cards.refunds: 'refunds' is not a tool of this agent: use refund"),
        ({"refund": {"target": "id"}}, "cards.refund: 'id' is not an argument of refund: use amount, order"),
    ):
        with pytest.raises(InvalidError) as error:
            Policy.parse({"rules": RULES, "cards": cards}).check_tools(tools)
        assert str(error.value) == message


def test_a_policy_with_cards_asks_about_calls_that_no_rule_names() -> None:
    policy: Any = {"rules": RULES, "cards": {"refund": CARD}}
    assert Policy.parse(policy).decide("send", {}).effect == "ask"
    assert Policy.parse({**policy, "otherwise": "allow"}).decide("send", {}).effect == "allow"


async def test_people_see_the_card_and_answer_to_it(file: str) -> None:
    till = Till()
    wants = calls(call("refund", order=1, amount=600))
    policy = {"rules": RULES, "cards": {"refund": CARD}}
    async with at_work(file, [agent(wants, till.tools, [Approval(policy, till.tools)])]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.card == {**CARD, **NAMES, "target": 1, "amount": 600, "above_limit": True}
        await world.answer(request, "edit", args={"order": 1, "amount": 500})
        assert till.paid == [{"order": 1, "amount": 500}]


async def test_a_card_that_changed_after_the_question_is_asked_again(file: str) -> None:
    till = Till()

    def made(card: Any) -> Any:
        policy = {"rules": RULES, "cards": {"refund": card}}
        return agent(calls(call("refund", order=1, amount=6)), till.tools, [Approval(policy, till.tools)])

    async with at_work(file, [made(CARD)]) as world:
        await world.run("office", {})
        request = await world.one()
    async with at_work(file, [made({**CARD, "effect": "deletes the order"})]) as world:
        await world.answer(request, "approve")
        assert till.paid == []
        assert (await world.one()).context["card"]["effect"] == "deletes the order"
