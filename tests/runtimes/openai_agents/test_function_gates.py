"""A gated function that is a tool of an agent of the OpenAI Agents SDK pauses the run."""

from __future__ import annotations

from typing import Any

import pytest

from ringi.runs.context import idempotency_key

pytest.importorskip("agents")

from agents import Agent as SDKAgent
from agents import UserError, function_tool
from agents.testing import ScriptedModel, assistant_message, function_call
from tests.runtimes.direct import ended
from tests.runtimes.gated import GATE, payment
from tests.runtimes.openai_agents.test_openai_agents import INPUT, Shop, last_input

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
        self.sdk.tools.append(function_tool(pay, needs_approval=is_marked))


DONE = [assistant_message("Done.")]


def pay(id: str, amount: int) -> Any:
    return function_call("pay", {"amount": amount, "order": 7}, call_id=id)


@ASYNC
@pytest.mark.parametrize("is_marked", [True, False])
async def test_the_run_pauses_with_the_question_of_the_gate(is_async: bool, is_marked: bool) -> None:
    shop = PayShop([pay("c1", 100)], DONE, is_async=is_async, is_marked=is_marked)
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
    assert (ask.action.args, question.must_ask, question.has_recipients) == ({"amount": 100, "order": 7}, True, True)
    done = await run.advance(ended(question, "edit", args={"amount": 90, "order": 7}))
    assert (done.status, shop.paid) == ("done", [90])


@ASYNC
async def test_a_rejected_call_does_not_run(is_async: bool) -> None:
    shop = PayShop([pay("c1", 100)], DONE, is_async=is_async)
    run = shop.direct()
    (question,) = (await run.advance()).questions

    await run.advance(ended(question, "reject", message="Too early."))

    assert shop.paid == []
    assert "Too early." in last_input(shop.model)


@ASYNC
async def test_the_policy_of_the_gate_decides_in_a_run(is_async: bool) -> None:
    shop = PayShop([pay("c1", 10), pay("c2", 100), pay("c3", 1000)], DONE, is_async=is_async)
    harness = TestHarness(ScriptedPerson(groups=["finance"]).approves(title="Pay this?"))

    result = await harness.run(Agent("shop", shop.sdk), INPUT)

    assert (result.status, sorted(shop.paid)) == ("done", [10, 100])
    assert "the rule 'too much' denies it: No." in last_input(shop.model)
    found = await harness.inbox.find()
    responders = sorted(str(r.response and r.response.responder) for r in found)
    assert responders == ["ann", "policy:small", "policy:too much"]
    # What was denied has no outcome.
    assert [each.outcome for each in sorted(found, key=lambda r: r.digest) if each.granted] == ["committed"] * 2


async def test_a_policy_of_the_agent_that_allows_does_not_answer_for_the_gate() -> None:
    shop = PayShop([pay("c1", 100)], DONE)
    person = ScriptedPerson(groups=["finance"]).rejects(title="Pay this?")

    result = await TestHarness(person).run(Agent("shop", shop.sdk, policy=ALLOW), INPUT)

    assert (result.status, shop.paid) == ("done", [])


async def test_a_policy_of_the_agent_that_denies_beats_the_gate() -> None:
    strict = Policy.parse({"rules": [{"tools": ["pay"], "effect": "deny", "name": "closed", "reason": "Closed."}]})
    shop = PayShop([pay("c1", 100)], DONE)

    result = await TestHarness(ScriptedPerson()).run(Agent("shop", shop.sdk, policy=strict), INPUT)

    assert (result.status, shop.paid) == ("done", [])
    assert "Closed." in last_input(shop.model)


async def test_an_edit_into_a_call_that_the_gate_denies_does_not_run() -> None:
    shop = PayShop([pay("c1", 100)], DONE)
    person = ScriptedPerson(groups=["finance"]).edits(args={"amount": 1000, "order": 7}, title="Pay this?")

    result = await TestHarness(person).run(Agent("shop", shop.sdk), INPUT)

    assert (result.status, shop.paid) == ("done", [])
    assert "the rule 'too much' denies it" in last_input(shop.model)


async def test_if_nobody_is_asked_the_gate_only_denies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    shop = PayShop([pay("c1", 100), pay("c2", 1000)], DONE)

    result = await TestHarness(ScriptedPerson()).run(Agent("shop", shop.sdk), INPUT)

    assert (result.status, shop.paid) == ("done", [100])


async def test_the_approval_by_a_rule_of_the_agent_is_none_by_a_person() -> None:
    auto = {"tools": ["pay"], "auto_approve": [{"name": "any", "where": {"amount": {"above": 0}}}]}
    shop = PayShop([pay("c1", 100)], DONE)
    person = ScriptedPerson(groups=["finance"]).rejects(title="Pay this?")

    result = await TestHarness(person).run(
        Agent("shop", shop.sdk, policy=Policy.parse({"rules": [auto]}), groups=("finance",)), INPUT
    )

    assert (result.status, shop.paid) == ("done", [])


async def test_a_question_of_a_gate_stays_while_another_one_is_answered() -> None:
    level = 1
    rule = {"tools": ["pay"], "title": "Pay this?", "facts": {"level": {"at_least": 1}}}
    paid: list[int] = []

    @ringi.gate({"rules": [rule]}, name="pay", facts={"level": lambda args: level})
    def pay_out(amount: int) -> str:
        paid.append(amount)
        return "paid"

    shop = Shop([function_call("pay", {"amount": n}, call_id=f"c{n}") for n in (1, 2)], DONE)
    shop.sdk.tools.append(function_tool(pay_out, name_override="pay"))
    run = shop.direct()
    first, second = (await run.advance()).questions

    level = 2
    paused = await run.advance(ended(first, "reject"))

    assert [(each.id, each.digests, each.must_ask) for each in paused.questions] == [(second.id, second.digests, True)]
    assert paid == []


async def test_the_gate_of_a_nested_agent_pauses_the_run() -> None:
    inner = PayShop([pay("n1", 100)], DONE)
    outer = Shop([function_call("payments", {"input": "order 7"}, call_id="o1")], DONE)
    outer.sdk = SDKAgent(name="desk", model=outer.model, tools=[inner.sdk.as_tool("payments", "Handles payments")])
    run = outer.direct()

    (question,) = (await run.advance()).questions

    assert (question.asks[0].title, question.must_ask, inner.paid) == ("Pay this?", True, [])
    done = await run.advance(ended(question, "edit", args={"amount": 90, "order": 7}))
    assert (done.status, inner.paid) == ("done", [90])


async def test_a_gate_deeper_inside_waits(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ringi.integrations")
    shop = Shop([function_call("settle", {"order": 7}, call_id="c1")], DONE)
    paid: list[int] = []
    async with ringi.open("memory://") as inbox:
        gated = ringi.gate(GATE, inbox=inbox, key="one", timeout=0.01)

        @gated
        async def pay(amount: int) -> None:
            paid.append(amount)

        @function_tool(failure_error_function=None)
        async def settle(order: int) -> str:
            await pay(100)
            return "settled"

        shop.sdk.tools.append(settle)
        with pytest.raises(UserError, match="no answer to request"):
            await shop.direct().advance()

    assert paid == []
    assert any("waits in this process" in message for message in caplog.messages)


@pytest.mark.parametrize("is_parallel", [True, False])
async def test_equal_calls_of_two_runs_of_an_inner_agent_have_two_keys(is_parallel: bool) -> None:
    keys: list[str | None] = []

    @function_tool
    @ringi.gate({"rules": [{"tools": ["pay"], "auto_approve": [{"name": "all", "where": {}}]}]})
    async def pay(amount: int) -> str:
        """Pay."""
        keys.append(idempotency_key())
        return "paid"

    paying, done = [function_call("pay", {"amount": 1}, call_id="n1")], [assistant_message("Done.")]
    turns = [paying, paying, done, done] if is_parallel else [paying, done, paying, done]
    inner = SDKAgent(name="shop", model=ScriptedModel(turns), tools=[pay]).as_tool("shop", "Pays.")
    first, second = (function_call("shop", {"input": "Pay."}, call_id=id) for id in ("o1", "o2"))
    calls = [[first, second]] if is_parallel else [[first], [second]]
    desk = SDKAgent(name="desk", model=ScriptedModel([*calls, done]), tools=[inner])

    result = await TestHarness(ScriptedPerson()).run(Agent("desk", desk), INPUT)

    assert (result.status, len(keys), len(set(keys))) == ("done", 2, 2)
