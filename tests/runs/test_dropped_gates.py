"""A rejected call does not run when a deploy has dropped the code that asked about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware, after_model
from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.runs.test_operations import State, chain, gate, side_by_side
from tests.runs.world import World, model, opened, working

from ringi import Action, Agent, Approval, ask
from ringi.base.settings import SettingError
from ringi.base.texts import reason_text
from ringi.contracts.runtime import Description, UnreadAnswersError
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.runs.agent import agents_by_name
from ringi.runs.executor import unread_answers_message
from ringi.runs.operations import retry_failed_run

Middleware = Sequence[AgentMiddleware[Any, Any, Any]]


def shop(ran: list[int], *orders: int) -> Callable[..., Agent]:
    """Return a maker of agents that refund orders and add those of the calls that ran to a list."""

    @tool
    def refund(order: int) -> str:
        """Refund an order."""
        ran.append(order)
        return "refunded"

    calls = [ToolCall(name="refund", args={"order": order}, id=f"call-{order}") for order in orders]

    def script(messages: Sequence[Any]) -> Any:
        return AIMessage("", tool_calls=calls) if len(messages) == 1 else "Done."

    def make(*middleware: AgentMiddleware[Any, Any, Any]) -> Agent:
        return Agent("shop", create_agent(model(script), [refund], middleware=list(middleware)))

    make.approval = lambda: Approval({"rules": [{"tools": ["refund"]}]}, [refund])  # type: ignore[attr-defined]
    return make


def per_call(**_: Any) -> HumanInTheLoopMiddleware[Any, Any, Any]:
    return HumanInTheLoopMiddleware({"refund": True}, interrupt_mode="per_call")


async def redeployed(world: World, agent: Agent, decision: str, *requests: Request) -> Thread:
    """Answer while another deploy of the agent runs, and return the thread at rest."""
    deployed = World(world.backend, world.inbox, [agent])
    async with working(deployed):
        for request in requests[:-1]:
            await world.respond(request, decision)
        return await deployed.answer(requests[-1], decision)


async def needs_an_operator(world: World, thread: Thread, request: Request) -> bool:
    now = await world.inbox.get(request.id)
    assert thread.attention == now.attention
    assert request.id in str(thread.attention)
    assert "'shop'" in str(thread.attention)
    assert now.acknowledged_at is None
    return thread.status == "error"


@pytest.mark.parametrize("decision", ["reject", "approve"])
@pytest.mark.parametrize("gate", ["approval", "per_call"])
async def test_a_tool_whose_gate_was_dropped_does_not_run(url: str, gate: str, decision: str) -> None:
    ran: list[int] = []
    make = shop(ran, 1)
    before = make(make.approval() if gate == "approval" else per_call())  # type: ignore[attr-defined]
    async with opened(url, [before]) as world:
        async with working(world):
            await world.run("shop", {"messages": [{"role": "user", "content": "Refund 1."}]})
        request = await world.one()
        thread = await redeployed(world, make(), decision, request)
        assert ran == []
        assert await needs_an_operator(world, thread, request)
        assert "has lost the gate that asked" in str(thread.attention)
        assert "its tool 'refund' was about to run" in str(thread.attention)
        async with working(world):
            await retry_failed_run(world.backend, world.inbox, "t1", by="root")
            thread = await world.rest()
        assert (thread.status, thread.attention, ran) == ("done", None, [1] if decision == "approve" else [])
        assert (await world.inbox.get(request.id)).acknowledged_at
        await world.verified()


class Review(HumanInTheLoopMiddleware[Any, Any, Any]):
    """LangChain's middleware, which asks in its node."""


def lookalike() -> AgentMiddleware[Any, Any, Any]:
    """Return a middleware whose node has the same name, and which asks nobody."""

    class Review(AgentMiddleware[Any, Any, Any]):
        def after_model(self, state: Any, runtime: Any) -> None:
            return None

    return Review()


async def test_a_node_of_the_same_name_that_does_not_ask_ends_the_run_before_the_tools() -> None:
    ran: list[int] = []
    make = shop(ran, 1)
    async with opened("memory://", [make(Review({"refund": True}))]) as world:
        async with working(world):
            await world.run("shop", {"messages": [{"role": "user", "content": "Refund 1."}]})
        request = await world.one()
        thread = await redeployed(world, make(lookalike()), "reject", request)
        assert await needs_an_operator(world, thread, request)
        assert "step 'Review.after_model'" in str(thread.attention)
    assert ran == []


def pay(state: State) -> State:
    """Ask, and pay if a person approves."""
    return {"log": [f"paid {bool(ask('Pay?', action=Action('pay')).granted)}"]}


def pay_unasked(state: State) -> State:
    """Pay without a question."""
    return {"log": ["paid without a question"]}


def within(node: Any) -> Agent:
    """Return an agent whose step is a graph with this node."""
    return chain(pay=chain(pay=node).target, then=following)


def workflow(node: Any) -> Agent:
    """Return an agent that calls this node as a task."""

    step: Any = task(name="pay")(node)
    after: Any = task(following)

    @entrypoint()
    async def pay(input: dict[str, Any]) -> Any:
        return await after(await step(input))

    return Agent("agent", pay)


def following(state: State) -> State:
    """Fail the test."""
    raise AssertionError("the step after it ran")


@pytest.mark.parametrize("made", [lambda node: chain(pay=node, then=following), within, workflow])
async def test_a_step_that_does_not_ask_any_more_stores_nothing_and_nothing_follows(made: Any) -> None:
    async with opened("memory://", [made(pay)]) as world:
        async with working(world):
            await world.run("agent", {})
        request = await world.one()
        deployed = World(world.backend, world.inbox, [made(pay_unasked)])
        async with working(deployed):
            thread = await deployed.answer(request, "reject")
        now = await world.inbox.get(request.id)
        assert (thread.status, thread.attention, now.acknowledged_at) == ("error", now.attention, None)
        assert "step 'pay'" in str(thread.attention)
        assert "has ended a step without reading the answer" in str(thread.attention)
        assert "paid without a question" not in str([saved.checkpoint for saved in await world.checkpoints()])
        assert await world.backend.store.count(Request, Query(unacknowledged=True)) == 0


async def test_beside_an_answer_that_is_read_an_unread_one_stops_the_run() -> None:
    both = side_by_side(a=gate("A"), b=gate("B"))
    async with opened("memory://", [both]) as world:
        async with working(world):
            await world.run("agent", {})
        a, b = await world.pending()
        await world.respond(b, "reject")
        deployed = World(world.backend, world.inbox, [side_by_side(a=gate("A"), b=pay_unasked)])
        async with working(deployed):
            thread = await deployed.answer(a, "approve")
        a, b = [await world.inbox.get(each.id) for each in (a, b)]
        assert thread.status == "error"
        assert b.id in str(b.attention)
        assert (b.attention, b.acknowledged_at) == (thread.attention, None)
        async with working(world):
            await retry_failed_run(world.backend, world.inbox, "t1", by="root")
            thread = await world.rest()
        assert (thread.status, sorted(thread.values["log"])) == ("done", ["A:yes", "B:no"])
        await world.verified()


async def test_a_step_that_fails_before_it_reads_its_answer_is_retried_with_it() -> None:
    def breaks(state: State) -> State:
        raise ValueError("no paper")

    async with opened("memory://", [chain(pay=pay)]) as world:
        async with working(world):
            await world.run("agent", {})
        request = await world.one()
        deployed = World(world.backend, world.inbox, [chain(pay=breaks)])
        async with working(deployed):
            assert (await deployed.answer(request, "reject")).status == "error"
        async with working(world):
            await retry_failed_run(world.backend, world.inbox, "t1", by="root")
            assert (await world.rest()).values == {"log": ["paid False"]}


def wiping() -> AgentMiddleware[Any, Any, Any]:
    """Return a middleware that jumps to the tools after each answer of the model."""

    @after_model(can_jump_to=["tools"])
    def jump(state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "tools"}

    return jump


@pytest.mark.parametrize("is_first", [True, False])
def test_a_jump_to_the_tools_past_a_review_of_the_whole_turn_is_refused(is_first: bool) -> None:
    middleware = [wiping(), HumanInTheLoopMiddleware({"refund": True})]
    agent = shop([], 1)(*(middleware if is_first else middleware[::-1]))
    with pytest.raises(SettingError, match=r"jump may jump to the tools.*interrupt_mode='per_call'"):
        agents_by_name([agent])
    assert agents_by_name([shop([], 1)(wiping(), per_call())])
    assert agents_by_name([shop([], 1)(wiping())])


class Hurry(AgentMiddleware[Any, Any, Any]):
    """A middleware that jumps to the tools after the first answer of the model, and does not declare it."""

    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Jump."""
        return {"jump_to": "tools"} if len(state["messages"]) <= 4 else None


class Pause(AgentMiddleware[Any, Any, Any]):
    """A middleware that asks whether to go on after each answer of the model."""

    def after_model(self, state: Any, runtime: Any) -> None:
        """Ask."""
        interrupt("Go on?")


class PauseAgain(Pause):
    """The same under another name."""


def nested(agent: Agent, how: str) -> Agent:
    """Return an agent that is nested in a step of another graph in this way."""
    if how == "outermost":
        return agent
    if how == "node":
        return Agent("shop", StateGraph(MessagesState).add_node("work", agent.target).add_edge(START, "work").compile())
    inner = {"agent": agent.target}  # LangGraph finds no graph in a dictionary.

    async def work(state: Any) -> Any:
        return {"messages": (await inner["agent"].ainvoke({"messages": state["messages"]}))["messages"]}

    return Agent("shop", StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile())


@pytest.mark.parametrize("how", ["outermost", "node", "hidden"])
async def test_a_jump_some_questions_after_the_review_runs_no_rejected_call(file: str, how: str) -> None:
    ran: list[int] = []
    review = HumanInTheLoopMiddleware[Any, Any, Any]({"refund": True})
    agent = nested(shop(ran, 1, 2)(Hurry(), PauseAgain(), Pause(), review), how)
    async with opened(file, [agent]) as world:
        async with working(world):
            await world.run("shop", {"messages": [{"role": "user", "content": "Go."}]})
            first, last = await world.pending()
            await world.respond(first, "reject")
            await world.answer(last, "reject")
            await world.answer(await world.one(), "respond", message="Yes.")
        deployed = World(world.backend, world.inbox, [agent])
        async with working(deployed):
            thread = await deployed.answer(await world.one(), "respond", message="Yes.")
    assert (ran, thread.status) == ([], "error")
    assert "a jump to the tools past their review" in str(thread.attention)


class BreakOnce(AgentMiddleware[Any, Any, Any]):
    """A middleware that fails after the first answer of the model, but not again."""

    has_failed = False

    def after_model(self, state: Any, runtime: Any) -> None:
        """Fail once."""
        if not self.has_failed:
            self.has_failed = True
            raise ValueError("not yet")


@pytest.mark.parametrize("how", ["outermost", "node", "hidden"])
async def test_a_jump_after_a_failure_between_it_and_the_review_runs_no_rejected_call(file: str, how: str) -> None:
    ran: list[int] = []
    review = HumanInTheLoopMiddleware[Any, Any, Any]({"refund": True})
    agent = nested(shop(ran, 1)(Hurry(), BreakOnce(), review), how)
    async with opened(file, [agent]) as world, working(world):
        await world.run("shop", {"messages": [{"role": "user", "content": "Go."}]})
        failed = await world.answer(await world.one(), "reject")
        assert (failed.status, failed.attention) == ("error", None)
        await retry_failed_run(world.backend, world.inbox, "t1", by="root")
        thread = await world.rest()
    assert (ran, thread.status) == ([], "error")
    assert "a jump to the tools past their review" in str(thread.attention)


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_jump_that_nobody_declared_runs_no_rejected_call(file: str, is_first: bool, is_nested: bool) -> None:
    ran: list[int] = []
    middleware = [Hurry(), HumanInTheLoopMiddleware({"refund": True})]
    agent = shop(ran, 1, 2)(*(middleware if is_first else middleware[::-1]))
    if is_nested:
        inner = agent.target

        async def work(state: Any) -> Any:
            return {"messages": (await inner.ainvoke({"messages": state["messages"]}))["messages"]}

        agent = Agent("shop", StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile())
    async with opened(file, [agent]) as world, working(world):
        await world.run("shop", {"messages": [{"role": "user", "content": "Go."}]})
        requests = await world.pending()
        for request in requests[:-1]:
            await world.respond(request, "reject")
        thread = await world.answer(requests[-1], "reject")
    assert (ran, thread.status) == ([], "error" if is_first else "done")
    assert ("a jump to the tools past their review" in str(thread.attention)) is is_first


@pytest.mark.parametrize("fails_in", ["step", "output"])
async def test_an_answer_that_a_failing_deploy_has_not_read_waits_for_an_operator(url: str, fails_in: str) -> None:
    """The step, or the conversion of the state, fails before code of the agent reads the answer."""

    def make(broken: str = "") -> Agent:
        def fail(_: Any) -> Any:
            raise ValueError("a broken deploy")

        def step(state: State) -> State:
            return fail(state) if broken == "step" else {"log": [str(interrupt("Do it?"))]}

        graph = StateGraph(State).add_node("step", step).add_edge(START, "step").compile()
        return Agent("shop", graph, input=lambda _: {"log": []}, output=fail if broken == "output" else dict)

    async with opened(url, [make()]) as world:
        async with working(world):
            await world.run("shop", {})
        request = await world.one()
        thread = await redeployed(world, make(fails_in), "reject", request)
        now = await world.inbox.get(request.id)
        assert (thread.status, now.acknowledged_at) == ("error", None)
        assert "a broken deploy" in str(now.attention)
        assert thread.attention == now.attention
        async with working(world):
            await retry_failed_run(world.backend, world.inbox, "t1", by="root")
            thread = await world.rest()
        now = await world.inbox.get(request.id)
        assert (thread.status, thread.attention, now.attention) == ("done", None, None)
        assert now.acknowledged_at
        await world.verified()


@pytest.mark.parametrize(
    ("cause", "remedy"),
    [
        ("unread", "deploy the code that asks, then retry"),
        ("ungated", "deploy the gate again, then retry"),
        ("changed", "deploy code that makes the change before the review or not at all, then retry"),
        ("skipped", "`interrupt_mode='per_call'` of `HumanInTheLoopMiddleware`, or use `ringi.Approval`, then retry"),
    ],
)
def test_each_cause_of_an_unheeded_answer_has_its_own_sentence_with_the_remedy(cause: Any, remedy: str) -> None:
    error = UnreadAnswersError(["q"], ["tool 'pack'"], cause, "refund")
    text = unread_answers_message("shop", Description("langgraph", "1.2.20"), [], error)
    assert text.endswith(remedy)
    assert "It has already started: tool 'pack'." in text
    assert ("'refund'" in text) is (cause != "unread")
    for language in ("ja", "zh"):
        translated = reason_text(text, language)
        assert translated != text
        assert ("'refund'" in translated) is (cause != "unread")
        assert ("per_call" in translated) is (cause == "skipped")
