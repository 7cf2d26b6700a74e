"""What goes wrong with tools and LangChain's own gate on bare LangGraph, and what becomes of it here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain.agents.middleware import AgentMiddleware, hook_config
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, interrupt
from pydantic import AfterValidator, ValidationError
from tests.runs.test_interrupt_formats import TWO_PAYMENTS, Effects, even, gated, paying
from tests.runs.test_pitfalls import Bare, State, chain, side_by_side
from tests.runs.world import World, at_work, checked, opened, working

from ringi import Action, Approval, ask
from ringi.errors import InvalidError
from ringi.runs.agent import Agent

PAY = TWO_PAYMENTS[0]
EVEN: Any = Annotated[int, AfterValidator(even)]
MODES = ["batched", "per_call"]


class BareAgent(Bare):
    """An agent on LangGraph alone, at its first question."""

    def __init__(self, agent: Agent) -> None:
        self.graph = agent.target.copy({"checkpointer": InMemorySaver()})
        self.config: RunnableConfig = {"configurable": {"thread_id": "t1"}}

    async def begin(self) -> str:
        await self.graph.ainvoke({"messages": [("user", "go")]}, self.config)
        return await self.open_id()


def sent(mode: str, decision: dict[str, Any]) -> dict[str, Any]:
    """Return one decision as this mode wants it."""
    return decision if mode == "per_call" else {"decisions": [decision]}


async def test_pitfall_7_one_decision_for_two_calls_and_the_thread_never_goes_on_again() -> None:
    effects: Effects = []
    bare = BareAgent(gated(effects, {"pay": True}, *TWO_PAYMENTS))
    id = await bare.begin()
    for number in (1, 2):
        with pytest.raises(ValueError, match=r"Number of human decisions \(1\)"):
            await bare.resume({id: {"decisions": [{"type": "approve"}] * number}})
    assert effects == []


async def test_pitfall_7_here_nothing_is_sent_until_every_call_is_decided(url: str) -> None:
    effects: Effects = []
    async with at_work(url, [gated(effects, {"pay": True}, *TWO_PAYMENTS)]) as world:
        await world.run("agent", {})
        first, second = await world.pending()
        assert (await world.answer(first, "approve")).status == "interrupted"
        assert effects == []
        assert (await world.answer(second, "approve")).status == "done"
        assert sorted(effects) == [("ann", 1), ("bob", 2)]


def easy_and_strict(effects: Effects) -> Any:
    """Return a graph around one that asks twice at once, and takes not every answer to the second question."""

    def easy(state: State) -> State:
        effects.append(interrupt("a?", response_schema=bool))
        return {"log": ["a"]}

    def strict(state: State) -> State:
        return {"log": [str(interrupt("b?", response_schema=EVEN))]}

    return chain(inner=side_by_side(a=easy, b=strict).compile())


async def test_pitfall_8_after_a_refused_answer_another_that_took_effect_is_asked_for_as_if_it_had_not() -> None:
    effects: Effects = []
    graph = easy_and_strict(effects).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t1"}}
    await graph.ainvoke({"log": []}, config)
    ids = {question.value: question.id for question in (await graph.aget_state(config)).interrupts}
    with pytest.raises(ValidationError, match="odd"):
        await graph.ainvoke(Command(resume={ids["a?"]: True, ids["b?"]: 1}), config)
    assert effects == [True]
    assert {question.value for question in (await graph.aget_state(config)).interrupts} == {"a?", "b?"}
    await graph.ainvoke(Command(resume={ids["a?"]: False}), config)
    assert effects == [True]


async def test_pitfall_8_here_answers_that_a_graph_may_refuse_go_one_by_one(file: str) -> None:
    effects: Effects = []
    agent = Agent("agent", easy_and_strict(effects).compile(), input=lambda _: {"log": []}, output=dict)
    async with opened(file, [agent]) as world:
        async with working(world):
            await world.run("agent", {})
        a, b = await world.pending()
        await world.respond(a, "approve", {"answer": True})
        await world.respond(b, "approve", {"answer": 1})
        async with working(world):
            assert ((await world.rest()).status, effects) == ("interrupted", [True])
            again = await world.one()
            assert (again.title, again.id != b.id) == ("b?", True)
            thread = await world.answer(again, "approve", {"answer": 2})
            assert (thread.status, sorted(thread.values["log"]), effects) == ("done", ["2", "a"], [True])
            checked(await world.items())


@pytest.mark.parametrize("mode", MODES)
async def test_pitfall_10_a_predicate_that_turns_while_people_think_pays_what_they_rejected(mode: str) -> None:
    effects, flags = Effects(), {"gated": True}
    gates = {"pay": {"allowed_decisions": ["approve", "reject"], "when": lambda request: flags["gated"]}}
    bare = BareAgent(gated(effects, gates, PAY, mode=mode))
    id = await bare.begin()
    flags["gated"] = False
    await bare.resume({id: sent(mode, {"type": "reject"})})
    assert effects == [("ann", 1)]


async def test_pitfall_10_here_what_people_were_asked_is_theirs_to_decide_whatever_a_policy_says_later(
    file: str,
) -> None:
    effects: Effects = []

    def under(policy: Any) -> Agent:
        return paying(effects, lambda tools: [Approval(policy, tools)], PAY)

    async with opened(file, [under({"rules": [{"tools": ["pay"]}]})]) as world:
        async with working(world):
            await world.run("agent", {})
        await world.respond(await world.one(), "reject")
        later = under({"rules": [{"tools": ["pay"], "auto_approve": [{"name": "all"}]}]})
        async with working(World(world.backend, world.inbox, [later])):
            assert (await world.rest()).status == "done"
        assert effects == []


async def test_pitfall_11_an_edit_in_a_batch_runs_a_tool_that_may_only_be_rejected() -> None:
    effects: Effects = []
    bare = BareAgent(gated(effects, {"pay": True, "look": {"allowed_decisions": ["reject"]}}, PAY))
    other = {"type": "edit", "edited_action": {"name": "look", "args": {"what": "secrets"}}}
    await bare.resume({await bare.begin(): {"decisions": [other]}})
    assert effects == ["secrets"]


@pytest.mark.parametrize("mode", MODES)
async def test_pitfall_11_here_an_edit_stays_with_its_tool(file: str, mode: str) -> None:
    effects: Effects = []
    gates = {"pay": True, "look": {"allowed_decisions": ["reject"]}}
    async with at_work(file, [gated(effects, gates, PAY, mode=mode)]) as world:
        await world.run("agent", {})
        request = await world.one()
        with pytest.raises(InvalidError):
            await world.respond(request, "edit", {"name": "look"}, args={"what": "secrets"})
        with pytest.raises(InvalidError, match=r"args\.what: is not in the schema"):
            await world.respond(request, "edit", args={"what": "secrets"})
        assert effects == []


class Jumping(AgentMiddleware[Any, Any, Any]):
    """Sends the agent to its tools whenever one of them has just been answered for."""

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "tools"} if state["messages"][-1].type == "tool" else None


async def test_pitfall_12_a_jump_to_the_tools_runs_what_was_rejected_in_a_batch() -> None:
    effects: Effects = []
    bare = BareAgent(gated(effects, {"pay": True}, PAY, more=[Jumping()]))
    await bare.resume({await bare.begin(): {"decisions": [{"type": "reject"}]}})
    assert effects == [("ann", 1)]


async def test_pitfall_12_here_a_call_that_is_gated_on_its_own_stays_rejected(file: str) -> None:
    effects: Effects = []
    async with at_work(file, [gated(effects, {"pay": True}, PAY, mode="per_call", more=[Jumping()])]) as world:
        await world.run("agent", {})
        assert (await world.answer(await world.one(), "reject")).status == "done"
        assert effects == []


async def test_pitfall_12_here_a_jump_to_the_tools_does_not_run_what_was_rejected(file: str) -> None:
    effects: Effects = []
    gate = {"rules": [{"tools": ["pay"]}]}
    async with at_work(file, [paying(effects, lambda tools: [Jumping(), Approval(gate, tools)], PAY)]) as world:
        await world.run("agent", {})
        assert (await world.answer(await world.one(), "reject")).status == "done"
        assert effects == []


Question = Callable[[str], Any]


def two_tools(question: Question, effects: Effects, waits: dict[str, bool]) -> Any:
    """Return a graph in which one node runs two tools that ask; the first of them may come last."""
    second_asked = asyncio.Event()

    @tool
    async def a() -> str:
        """Do a."""
        if waits["a"]:
            await second_asked.wait()
        effects.append(f"a: {question('a?')}")
        return "done"

    @tool
    async def b() -> str:
        """Do b."""
        if waits["a"]:
            second_asked.set()
        effects.append(f"b: {question('b?')}")
        return "done"

    graph = StateGraph(MessagesState).add_node("tools", ToolNode([a, b], handle_tool_errors=False))
    return graph.add_edge(START, "tools")


def both_called() -> dict[str, Any]:
    """Return a turn that calls both tools."""
    made = [{"name": name, "args": {}, "id": name} for name in "ab"]
    return {"messages": [AIMessage("", tool_calls=made)]}


async def test_pitfall_13_of_two_tools_in_one_node_one_takes_the_answer_to_the_other() -> None:
    effects, waits = Effects(), {"a": False}
    graph = two_tools(interrupt, effects, waits).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t1"}}
    await graph.ainvoke(both_called(), config)
    (question,) = (await graph.aget_state(config)).interrupts
    assert question.value == "a?"
    waits["a"] = True
    await graph.ainvoke(Command(resume={question.id: "yes to a"}), config)
    assert effects == ["b: yes to a"]


async def test_pitfall_13_here_an_answer_stays_with_its_own_question(file: str) -> None:
    effects, waits = Effects(), {"a": False}

    def granted(title: str) -> str:
        return "yes" if ask(title, action=Action(title[0])).granted else "no"

    agent = Agent("agent", two_tools(granted, effects, waits).compile(), input=lambda _: both_called())
    async with at_work(file, [agent]) as world:
        await world.run("agent", {})
        assert (await world.one()).title == "a?"
        waits["a"] = True
        await world.answer(await world.one(), "approve")
        await answered(world, {"a?": "approve", "b?": "reject"})
        assert set(effects) == {"a: yes", "b: no"}
        checked(await world.items())


async def answered(world: World, decisions: dict[str, Any]) -> None:
    """Decide whatever is asked until nothing is."""
    while found := await world.pending():
        for request in found:
            await world.answer(request, decisions[request.title])
    assert (await world.rest()).status == "done"
