"""A gated function that is a tool of an agent of Pydantic AI pauses the run."""

from __future__ import annotations

from typing import Any

import pytest

from ringi.errors import WaitTimeoutError
from ringi.runs.context import idempotency_key

pytest.importorskip("pydantic_ai")

from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage
from tests.runtimes.direct import ended
from tests.runtimes.gated import GATE, payment
from tests.runtimes.pydantic_ai.test_pydantic_ai import INPUT, Shop, Turn

import ringi
from ringi import Policy
from ringi.runs.agent import Agent
from ringi.testing import ScriptedPerson, TestHarness

ALLOW = Policy.parse({"rules": [{"tools": ["pay"], "effect": "allow"}, {"tools": ["refund"], "effect": "allow"}]})
ASYNC = pytest.mark.parametrize("is_async", [True, False])


class PayShop(Shop):
    """An agent with a gated tool."""

    def __init__(self, *turns: Any, is_async: bool = True, is_marked: bool = False, gate: Any = None) -> None:
        super().__init__(*turns)
        self.paid: list[int] = []
        pay = payment(self.paid, is_async=is_async, policy=gate)
        self.pydantic.tool_plain(requires_approval=is_marked)(pay)


def pay(id: str, amount: int, **args: Any) -> Turn:
    return (id, "pay", {"amount": amount, **args})


@ASYNC
@pytest.mark.parametrize("is_marked", [True, False])
async def test_the_run_pauses_with_the_question_of_the_gate(is_async: bool, is_marked: bool) -> None:
    shop = PayShop([pay("c1", 100)], ["Done."], is_async=is_async, is_marked=is_marked)
    run = shop.direct()

    (question,) = (await run.advance()).questions

    (ask,) = question.asks
    assert (ask.title, ask.groups, ask.expires_in, ask.allowed) == (
        "Pay this?",
        ("finance",),
        60,
        ("approve", "edit", "reject"),
    )
    assert ask.action
    assert (ask.action.args, question.must_ask, question.has_recipients) == ({"amount": 100}, True, True)
    done = await run.advance(ended(question, "edit", args={"amount": 90}))
    assert (done.status, shop.paid) == ("done", [90])


@ASYNC
async def test_a_rejected_call_does_not_run(is_async: bool) -> None:
    shop = PayShop([pay("c1", 100)], ["Done."], is_async=is_async)
    run = shop.direct()
    (question,) = (await run.advance()).questions

    await run.advance(ended(question, "reject", message="Too early."))

    assert shop.paid == []
    assert "Too early." in shop.script.seen[-1]


@ASYNC
async def test_the_policy_of_the_gate_decides_in_a_run(is_async: bool) -> None:
    shop = PayShop([pay("c1", 10), pay("c2", 100), pay("c3", 1000)], ["Done."], is_async=is_async)
    harness = TestHarness(ScriptedPerson(groups=["finance"]).approves(title="Pay this?"))

    result = await harness.run(Agent("shop", shop.pydantic), INPUT)

    assert (result.status, sorted(shop.paid)) == ("done", [10, 100])
    assert "the rule 'too much' denies it: No." in shop.script.seen[-1]
    found = await harness.inbox.find()
    responders = sorted(str(r.response and r.response.responder) for r in found)
    assert responders == ["ann", "policy:small", "policy:too much"]
    # What was denied has no outcome.
    assert [each.outcome for each in sorted(found, key=lambda r: r.digest) if each.granted] == ["committed"] * 2


async def test_a_policy_of_the_agent_that_allows_does_not_answer_for_the_gate() -> None:
    shop = PayShop([pay("c1", 100)], ["Done."])
    person = ScriptedPerson(groups=["finance"]).rejects(title="Pay this?")

    result = await TestHarness(person).run(Agent("shop", shop.pydantic, policy=ALLOW), INPUT)

    assert (result.status, shop.paid) == ("done", [])


async def test_a_policy_of_the_agent_that_denies_beats_the_gate() -> None:
    strict = Policy.parse({"rules": [{"tools": ["pay"], "effect": "deny", "name": "closed", "reason": "Closed."}]})
    shop = PayShop([pay("c1", 100)], ["Done."])

    result = await TestHarness(ScriptedPerson()).run(Agent("shop", shop.pydantic, policy=strict), INPUT)

    assert (result.status, shop.paid) == ("done", [])
    assert "Closed." in shop.script.seen[-1]


async def test_an_edit_into_a_call_that_the_gate_denies_does_not_run() -> None:
    shop = PayShop([pay("c1", 100)], ["Done."])
    person = ScriptedPerson(groups=["finance"]).edits(args={"amount": 1000}, title="Pay this?")

    result = await TestHarness(person).run(Agent("shop", shop.pydantic), INPUT)

    assert (result.status, shop.paid) == ("done", [])
    assert "the rule 'too much' denies it" in shop.script.seen[-1]


async def test_if_nobody_is_asked_the_gate_only_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    shop = PayShop([pay("c1", 100), pay("c2", 1000)], ["Done."])

    result = await TestHarness(ScriptedPerson()).run(Agent("shop", shop.pydantic), INPUT)

    assert (result.status, shop.paid) == ("done", [100])


async def test_the_approval_by_a_rule_of_the_agent_is_none_by_a_person() -> None:
    auto = {"tools": ["pay"], "auto_approve": [{"name": "any", "where": {"amount": {"above": 0}}}]}
    shop = PayShop([pay("c1", 100)], ["Done."])
    person = ScriptedPerson(groups=["finance"]).rejects(title="Pay this?")

    result = await TestHarness(person).run(
        Agent("shop", shop.pydantic, policy=Policy.parse({"rules": [auto]}), groups=("finance",)), INPUT
    )

    assert (result.status, shop.paid) == ("done", [])


def with_gate_inside(*turns: Any, before: list[str]) -> Shop:
    shop = Shop(*turns)

    @shop.pydantic.tool_plain
    async def pay(amount: int) -> str:
        before.append("seen")
        args = await ringi.gate("pay", {"amount": amount}, policy=GATE)
        shop.effects.append((0, args["amount"]))
        return "paid"

    return shop


async def test_a_gate_inside_of_a_tool_with_its_arguments_pauses_the_run() -> None:
    before: list[str] = []
    shop = with_gate_inside([pay("c1", 100)], ["Done."], before=before)
    run = shop.direct()

    (question,) = (await run.advance()).questions

    assert (question.asks[0].title, shop.effects) == ("Pay this?", [])
    await run.advance(ended(question, "edit", args={"amount": 90}))
    assert (shop.effects, before) == ([(0, 90)], ["seen", "seen"])


async def test_a_gate_deeper_inside_waits(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ringi.integrations")
    shop = Shop([("c1", "settle", {"order": 7})], ["Done."])
    paid: list[int] = []
    async with ringi.open("memory://") as inbox:
        gated = ringi.gate(GATE, inbox=inbox, key="one", timeout=0.01)

        @gated
        async def pay(amount: int) -> None:
            paid.append(amount)

        @shop.pydantic.tool_plain
        async def settle(order: int) -> str:
            await pay(100)
            return "settled"

        with pytest.raises(WaitTimeoutError):
            await shop.direct().advance()

    assert paid == []
    assert any("waits in this process" in message for message in caplog.messages)


def shortened(messages: list[ModelMessage]) -> list[ModelMessage]:
    """Return the first message and the newest two."""
    return [*messages[:1], *messages[-2:]] if len(messages) > 3 else messages


@pytest.mark.parametrize("amount", [10, 100])
async def test_in_a_shortened_history_each_call_has_its_own_answer_and_key(amount: int) -> None:
    turns = [[(f"c{n}", "pay", {"amount": amount})] for n in range(4)]
    shop, keys = Shop(*turns, ["Done."], capabilities=[ProcessHistory(shortened)]), list[str | None]()

    @shop.pydantic.tool_plain
    @ringi.gate(GATE)
    async def pay(amount: int, order: int = 7) -> str:
        """Pay."""
        keys.append(idempotency_key())
        return f"paid {amount}"

    harness = TestHarness(ScriptedPerson(groups=["finance"]).approves())
    result = await harness.run(Agent("shop", shop.pydantic), INPUT)

    assert (result.status, len(keys), len(set(keys))) == ("done", 4, 4)
    assert {request.id for request in await harness.inbox.find()} == set(keys)
