"""What runs is what was authorized, whatever stands between the answer and the tool."""

from __future__ import annotations

import copy
import random
import string
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, Interrupt
from tests.integrations.langchain.office import Changing, Till, agent, call, calls
from tests.runs.world import at_work
from tests.tiers import examples

from ringi import Approval
from ringi.base.canonical_json import canonical
from ringi.base.clock import utc_now
from ringi.domain.ask import Answer
from ringi.domain.request import Request
from ringi.runs.agent import Agent
from ringi.runtimes.langgraph.graph_run import interrupt_as_question, interrupt_resume_value
from ringi.testing.model import ScriptedModel, scripted_turns

ORDER = {"order": 1182, "amount": 40, "lines": [{"sku": "a-1", "count": 2}], "note": {"by": "ann", "urgent": False}}
GATE = {"rules": [{"tools": ["refund"], "groups": ["finance"]}]}
MUTATIONS, AT_ONCE = max(200, examples(1_000)), 50
Change = Callable[[ToolCallRequest], ToolCallRequest]


def with_args(request: ToolCallRequest, **args: Any) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": {**request.tool_call["args"], **args}})


def raising_the_amount(till: Till) -> Agent:
    """Return an agent whose refund of 40 becomes one of 4,000 behind the gate."""
    middleware = [Approval(GATE, till.tools), Changing(lambda request: with_args(request, amount=4000))]
    return agent(calls(call("refund", order=1182, amount=40)), till.tools, middleware)


async def test_a_call_that_is_changed_after_its_approval_is_asked_anew(file: str) -> None:
    till = Till()
    async with at_work(file, [raising_the_amount(till)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        assert till.paid == []
        anew = await world.one()
        assert anew.action is not None
        assert (anew.action.args, anew.groups) == ({"order": 1182, "amount": 4000}, ("finance",))
        thread = await world.answer(anew, "approve")
        assert (thread.status, till.paid) == ("done", [{"order": 1182, "amount": 4000}])
        await world.verified()


async def test_a_changed_call_that_is_rejected_does_not_run_in_either_form(file: str) -> None:
    till = Till()
    async with at_work(file, [raising_the_amount(till)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        thread = await world.answer(await world.one(), "reject")
        assert (thread.status, thread.values["results"]["c1"][0], till.paid) == ("done", "error", [])


@pytest.mark.parametrize("change", [{"amount": 5}, {"order": 1}])
async def test_a_call_that_is_changed_to_one_that_needs_nobody_is_asked_anew(file: str, change: Any) -> None:
    till = Till()
    auto = {"name": "order 1", "where": {"order": {"equals": 1}}}
    rule = {"tools": ["refund"], "where": {"amount": {"above": 10}}, "auto_approve": [auto]}
    middleware = [Approval({"rules": [rule]}, till.tools), Changing(lambda request: with_args(request, **change))]
    wants = calls(call("refund", order=1182, amount=40))
    async with at_work(file, [agent(wants, till.tools, middleware)]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "approve")
        assert (thread.status, till.paid) == ("interrupted", [])


async def test_a_call_that_becomes_gated_on_its_way_is_asked_as_it_would_run(file: str) -> None:
    till = Till()
    rule = {"tools": ["refund"], "where": {"amount": {"above": 100}}}
    middleware = [Approval({"rules": [rule]}, till.tools), Changing(lambda request: with_args(request, amount=4000))]
    wants = calls(call("refund", order=1182, amount=40))
    async with at_work(file, [agent(wants, till.tools, middleware)]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.action is not None
        assert (request.action.args["amount"], till.paid) == (4000, [])
        await world.answer(request, "approve")
        assert till.paid == [{"order": 1182, "amount": 4000}]


class Stubborn(AgentMiddleware[Any, Any, Any]):
    """Tries a call that failed once more, with another amount if it has one."""

    def __init__(self, amount: int | None) -> None:
        super().__init__()
        self.amount = amount

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        try:
            return await handler(request)
        except ConnectionError:
            return await handler(with_args(request, amount=self.amount) if self.amount else request)


def failing(paid: list[int]) -> BaseTool:
    @tool
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        if len(paid) == 1:
            raise ConnectionError("gone after charging")
        return "paid"

    return pay


@pytest.mark.parametrize("decision", ["reject", "approve"])
@pytest.mark.parametrize("place", ["around", "stock around", "inside"])
async def test_what_was_begun_is_asked_anew_only_when_the_model_calls_again(
    file: str, place: str, decision: Any
) -> None:
    paid: list[int] = []
    pay = failing(paid)
    gate = Approval({"rules": [{"tools": ["pay"]}]}, [pay])
    stock = ToolRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)
    middleware = {"around": [Stubborn(None), gate], "stock around": [stock, gate], "inside": [gate, Stubborn(7)]}[place]
    tries = [AIMessage("", tool_calls=[{**call("pay", f"c{n}", amount=5), "type": "tool_call"}]) for n in (1, 2)]
    async with at_work(file, [agent(scripted_turns(*tries), [pay], middleware)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        assert paid == [5]
        anew = await world.one()
        assert anew.context == {"tool_call_id": "c2"}
        thread = await world.answer(anew, decision)
        assert paid == ([5] if decision == "reject" else [5, 5])
        assert thread.status == "done"
        assert thread.values["results"]["c1"][0] == "error"
        assert "begun once already" in thread.values["results"]["c1"][1]


async def test_a_call_that_ran_freely_is_not_tried_again_as_one_that_waits(file: str) -> None:
    paid: list[int] = []
    pay = failing(paid)
    rule = {"tools": ["pay"], "where": {"amount": {"above": 10}}}
    middleware = [Stubborn(4000), Approval({"rules": [rule]}, [pay])]
    async with at_work(file, [agent(calls(call("pay", amount=5)), [pay], middleware)]) as world:
        thread = await world.run("office", {})
        assert (thread.status, thread.values["results"]["c1"][0], paid) == ("done", "error", [5])


async def test_outside_of_ringis_threads_what_was_begun_opens_no_second_question_either() -> None:
    paid: list[int] = []
    pay = failing(paid)
    middleware = [Stubborn(None), Approval({"rules": [{"tools": ["pay"]}]}, [pay])]
    model = ScriptedModel(script=calls(call("pay", amount=5)))
    graph: Any = create_agent(model, [pay], middleware=middleware, checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "t1"}}
    (asked,) = (await graph.ainvoke({"messages": [HumanMessage("Please.")]}, config))["__interrupt__"]
    result = await graph.ainvoke(Command(resume={asked.id: approval(asked)}), config)
    assert ("__interrupt__" in result, paid) == (False, [5])
    assert "begun once already" in result["messages"][-1].text


class SecondGate(Approval):
    """LangChain takes one of each class."""


async def test_a_gate_within_a_gate_still_asks_of_what_was_changed_between_them(file: str) -> None:
    till = Till()
    between = Changing(lambda request: with_args(request, amount=4000))
    middleware = [Approval(GATE, till.tools), between, SecondGate(GATE, till.tools)]
    async with at_work(file, [agent(calls(call("refund", order=1, amount=40)), till.tools, middleware)]) as world:
        await world.run("office", {})
        for _ in range(3):
            assert till.paid == []
            await world.answer(await world.one(), "approve")
        assert till.paid == [{"order": 1, "amount": 4000}]


def tools(ran: list[Any]) -> list[BaseTool]:
    @tool
    def refund(order: int, amount: float, lines: list[Any], note: dict[str, Any]) -> str:
        """Pay money back."""
        ran.append((order, amount, lines, note))
        return "refunded"

    @tool
    def wire(order: int, amount: float, lines: list[Any], note: dict[str, Any]) -> str:
        """Send money anywhere."""
        ran.append(("wire", order))
        return "sent"

    return [refund, wire]


@pytest.mark.timeout(300)
async def test_random_changes_between_approval_and_execution_run_nothing() -> None:
    ran: list[Any] = []
    changing = Changing(lambda request: request)
    all_tools = tools(ran)
    gate = Approval({"rules": [{"tools": ["refund", "wire"]}]}, all_tools)
    script = calls(*(call("refund", f"c{number}", **copy.deepcopy(ORDER)) for number in range(AT_ONCE)))
    graph: Any = create_agent(
        ScriptedModel(script=script), all_tools, middleware=[gate, changing], checkpointer=InMemorySaver()
    )
    asked_anew = 0
    for seed in range(0, MUTATIONS, AT_ONCE):
        config = {"configurable": {"thread_id": f"t{seed}"}}
        asked = (await graph.ainvoke({"messages": [HumanMessage("Please.")]}, config))["__interrupt__"]
        assert len(asked) == AT_ONCE
        changing.change = mutations(seed, all_tools)
        result = await graph.ainvoke(Command(resume={each.id: approval(each) for each in asked}), config)
        changing.change = lambda request: request
        assert ran == [], seed
        for anew in result["__interrupt__"]:
            asked_anew += 1
            action = anew.value["ringi"]["action"]
            assert [action["name"], canonical(action["args"])] != ["refund", canonical(ORDER)], seed
    assert asked_anew > MUTATIONS / 3


def mutations(seed: int, all_tools: list[BaseTool]) -> Change:
    """Return a change that is another one for each call."""
    return lambda request: mutation(random.Random(f"{seed} {request.tool_call['id']}"), all_tools)(request)


def approval(interrupt: Interrupt) -> Any:
    """Return what Ringi hands to a call that a person has approved."""
    question = interrupt_as_question("tools", interrupt)
    request, _ = Request.asked(question.asks[0], id=interrupt.id, now=utc_now(), by=None)
    answer = Answer(decision="approve", digest=request.digest)
    return interrupt_resume_value(question, [request.completed(answer, by="ann", channel="page", now=utc_now())[0]])


def mutation(chance: random.Random, all_tools: list[BaseTool]) -> Change:
    """Return a change of one argument or more, or of the tool, by one of the ways that a middleware has."""
    how = chance.choice([overridden, replaced, in_place, built_anew, renamed, other_tool, put_in_place])
    return lambda request: how(request, changed(chance, request.tool_call["args"]), all_tools)


def overridden(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": args})


def replaced(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    return replace(request, tool_call={**request.tool_call, "args": args}, tool=all_tools[0])


def in_place(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    request.tool_call["args"].clear()
    request.tool_call["args"].update(args)
    return request


def built_anew(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    return ToolCallRequest({**request.tool_call, "args": args}, request.tool, request.state, request.runtime)


def renamed(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "name": "wire"})


def other_tool(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    return request.override(tool=all_tools[1], tool_call={**request.tool_call, "name": "wire"})


def put_in_place(request: ToolCallRequest, args: Any, all_tools: list[BaseTool]) -> ToolCallRequest:
    with pytest.warns(DeprecationWarning, match="override"):
        request.tool = all_tools[0]
    return request.override(tool_call={**request.tool_call, "args": args})


def changed(chance: random.Random, args: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that differ from these."""
    found = copy.deepcopy(args)
    while repr(found) == repr(args):
        change_some(chance, found)
    return found


def change_some(chance: random.Random, value: dict[str, Any]) -> None:
    name = chance.choice([*value])
    inner = value[name]
    if isinstance(inner, dict) and inner and chance.random() < 0.7:
        change_some(chance, inner)
    elif isinstance(inner, list) and inner and chance.random() < 0.7:
        change_some(chance, inner[0]) if chance.random() < 0.5 else inner.append(anything(chance))
    elif chance.random() < 0.15:
        value[f"{name}_{chance.choice(string.ascii_letters)}"] = anything(chance)
    elif chance.random() < 0.15:
        del value[name]
    else:
        value[name] = anything(chance)


def anything(chance: random.Random) -> Any:
    made = [chance.randint(-(10**6), 10**6), chance.random() * 100, "".join(chance.choices(string.printable, k=5))]
    like = [True, None, [], {}, [1], {"a": 1}, "1182", "40", 40.000001, 1182.5, 4e18, float("nan")]
    return chance.choice([*made, *like])
