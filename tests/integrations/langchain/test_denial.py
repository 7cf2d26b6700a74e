"""A policy denies a call: nobody is asked, the model reads the reason, and one record names the rule."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.integrations.langchain.office import Changing, Till, agent, call, calls
from tests.runs.world import World, at_work, opened, working

from ringi import Approval
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi.integrations.langchain import ask_human
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

LARGE = {
    "name": "no large refunds",
    "effect": "deny",
    "tools": ["refund"],
    "where": {"amount": {"above": 1000}},
    "reason": "refunds above 1000 are made by the bank",
}
ASKS = {"tools": ["refund"]}
POLICY = {"rules": [ASKS, LARGE]}
REFUND = {"order": 1182, "amount": 4000}


@pytest.fixture
def till() -> Till:
    return Till()


def refunds(till: Till, policy: Any = POLICY, *middleware: Any, facts: Any = None, **args: Any) -> Any:
    """Return an agent that wants to pay once."""
    wants = calls(call("refund", **(args or REFUND)))
    return agent(wants, till.tools, [*middleware, Approval(policy, till.tools, facts)])


async def result_of(world: World, id: str = "c1") -> list[str]:
    result: list[str] = (await world.thread()).values["results"][id]
    return result


async def test_a_denied_call_is_asked_of_nobody_and_the_model_reads_the_reason(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        assert (await world.run("office", {})).status == "done"
        status, text = await result_of(world)
        assert (status, till.paid) == ("error", [])
        assert "refunds above 1000 are made by the bank" in text
        (request,) = await world.asked()
        assert request.response is not None
        assert (request.status, request.response.decision) == ("completed", "reject")
        assert request.winner
        assert request.winner["responder"] == "policy:no large refunds"
        assert request.response.message == LARGE["reason"]
        assert request.granted is None
        (event,) = await world.inbox.events(request_id=request.id)
        assert (event.type, event.actor, event.version) == ("request.completed", "policy:no large refunds", 1)
        await world.verified()


async def test_a_loop_over_a_denied_call_writes_one_record(till: Till, file: str) -> None:
    def script(messages: Any) -> Any:
        tried = sum(isinstance(message, ToolMessage) for message in messages)
        return calls(call("refund", f"c{tried}", **REFUND))([]) if tried < 5 else "I give up."

    async with at_work(file, [agent(script, till.tools, [Approval(POLICY, till.tools)])]) as world:
        await world.run("office", {})
        await world.run("office", {})
        assert (till.paid, len(await world.asked())) == ([], 1)
        await world.run("office", {}, id="t2")
        assert len(await world.asked("t2")) == 1


async def test_deny_comes_before_ask_and_ask_before_allow(till: Till, file: str) -> None:
    allow = {"effect": "allow", "tools": ["refund"]}
    async with at_work(file, [refunds(till, {"rules": [allow, ASKS, LARGE]}, order=1, amount=10)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
    async with at_work(file, [refunds(till, {"rules": [allow, LARGE]}, order=1, amount=10)]) as world:
        assert (await world.run("office", {}, id="t2")).status == "done"
        assert (till.paid, await world.asked("t2")) == ([{"order": 1, "amount": 10}], [])


@pytest.mark.parametrize("args", [{"order": 1, "amount": "4000"}, {"order": 1}])
async def test_an_unknown_condition_denies(till: Till, file: str, args: Any) -> None:
    async with at_work(file, [refunds(till, **args)]) as world:
        await world.run("office", {})
        assert "above 1000" in (await result_of(world))[1]


async def test_an_edit_that_a_rule_denies_does_not_run(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till, order=1, amount=10)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "edit", args={"order": 1, "amount": 1001})
        assert (till.paid, (await result_of(world))[0]) == ([], "error")
        assert {each.winner["responder"] for each in await world.asked() if each.winner} == {
            "ann",
            "policy:no large refunds",
        }


async def test_a_rule_that_came_after_the_approval_still_denies(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till, {"rules": [ASKS]})]) as world:
        await world.run("office", {})
        request = await world.one()
    async with opened(file, [refunds(till)]) as world:
        await world.respond(request, "approve")
        async with working(world):
            await world.rest()
        assert (till.paid, "by the bank" in (await result_of(world))[1]) == ([], True)


async def test_a_fact_that_denies_is_read_again_right_before_the_call(till: Till, file: str) -> None:
    blocked = [False]
    frozen = {"name": "frozen", "effect": "deny", "tools": ["refund"], "facts": {"frozen": {"equals": True}}}
    facts = {"frozen": lambda _: blocked[0]}
    made = refunds(till, {"rules": [ASKS, frozen]}, facts=facts, order=1, amount=10)
    async with at_work(file, [made]) as world:
        await world.run("office", {})
        blocked[0] = True
        await world.answer(await world.one(), "approve")
        assert (till.paid, (await result_of(world))[0]) == ([], "error")


async def test_a_change_of_an_allowed_call_into_a_denied_one_does_not_run(till: Till, file: str) -> None:
    def change(request: Any) -> Any:
        return request.override(tool_call={**request.tool_call, "args": REFUND})

    policy = {"rules": [{"effect": "allow", "tools": ["refund"]}, LARGE]}
    wants = calls(call("refund", order=1, amount=10))
    made = agent(wants, till.tools, [Approval(policy, till.tools), Changing(change)])
    async with at_work(file, [made]) as world:
        await world.run("office", {})
        assert (till.paid, len(await world.asked())) == ([], 1)


async def test_a_denial_holds_when_nobody_is_asked(till: Till, file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    wants = calls(call("refund", "c1", **REFUND), call("refund", "c2", order=1, amount=10))
    async with at_work(file, [agent(wants, till.tools, [Approval(POLICY, till.tools)])]) as world:
        await world.run("office", {})
        assert till.paid == [{"order": 1, "amount": 10}]
        assert len(await world.asked()) == 1


async def test_a_denial_that_cannot_be_recorded_does_not_let_the_call_run(
    till: Till, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = list[Any]()
    async with opened(file, [refunds(till)]) as world:
        put = world.backend.store.put

        async def fails_at_first(record: Any, event: Any) -> None:
            if isinstance(record, Request) and not failed:
                failed.append(record)
                raise UnavailableError("no disk")
            await put(record, event)

        monkeypatch.setattr(world.backend.store, "put", fails_at_first)
        await world.start("office", {})
        async with working(world):
            await world.rest()
        assert (len(failed), till.paid, len(await world.asked())) == (1, [], 1)


async def test_a_call_without_a_rule_asks_once_the_policy_allows_or_denies(till: Till, file: str) -> None:
    wants = calls(call("send", "c1", to="ann", text="Hello."))
    async with at_work(file, [agent(wants, till.tools, [Approval({"rules": [LARGE]}, till.tools)])]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        await world.answer(await world.one(), "approve")
        assert [each.get("to") for each in till.paid] == ["ann"]


async def test_a_policy_can_deny_what_no_rule_names(till: Till, file: str) -> None:
    wants = calls(call("send", "c1", to="ann", text="Hello."), call("refund", "c2", order=1, amount=1))
    policy = {"otherwise": "deny", "rules": [{"effect": "allow", "tools": ["refund"]}]}
    async with at_work(file, [agent(wants, till.tools, [Approval(policy, till.tools)])]) as world:
        await world.run("office", {})
        assert till.paid == [{"order": 1, "amount": 1}]
        (request,) = await world.asked()
        assert request.winner
        assert request.winner["responder"] == "policy:otherwise"


async def test_tools_that_ask_people_and_unknown_tools_are_not_asked_about(till: Till, file: str) -> None:
    wants = calls(call("ask_human", "c1", title="May I?"), call("nothing", "c2"))
    tools = [*till.tools, ask_human]
    async with at_work(file, [agent(wants, tools, [Approval({"rules": [LARGE]}, tools)])]) as world:
        await world.run("office", {})
        assert [each.title for each in await world.pending()] == ["May I?"]


async def test_a_denied_call_of_a_synchronous_agent_is_recorded(till: Till, file: str) -> None:
    inner = create_agent(
        ScriptedModel(script=calls(call("refund", **REFUND))), till.tools, middleware=[Approval(POLICY, till.tools)]
    )

    def work(state: Any) -> Any:
        return {"messages": inner.invoke({"messages": [HumanMessage("Pay.")]})["messages"][-1:]}

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
    outer = Agent("office", graph, input=lambda _: {"messages": []}, output=lambda state: {"n": len(state["messages"])})
    async with at_work(file, [outer]) as world:
        await world.run("office", {})
        assert (till.paid, len(await world.asked())) == ([], 1)


@pytest.mark.parametrize("enabled", ["0", "1"])
def test_without_a_run_of_ringi_a_denied_call_does_not_run(
    till: Till, enabled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_ENABLED", enabled)
    made = create_agent(
        ScriptedModel(script=calls(call("refund", **REFUND))), till.tools, middleware=[Approval(POLICY, till.tools)]
    )
    messages = made.invoke({"messages": [HumanMessage("Pay.")]})["messages"]
    assert ("by the bank" in messages[-1].text, till.paid) == (True, [])
