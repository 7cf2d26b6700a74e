"""An answer that an agent's code cannot take: it can be asked again, and no run is stuck with it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Send, interrupt
from tests.runs.test_interrupt_formats import State, human_interrupt
from tests.runs.world import World, at_work, opened, working

from ringi.domain.thread import Thread
from ringi.errors import ConflictError
from ringi.runs import operations
from ringi.runs.agent import Agent

Effects = list[Any]


def agent_of(graph: Any) -> Agent:
    return Agent("agent", graph, input=lambda _: {"log": []}, output=dict)


def one_node(ask: Any) -> Any:
    return StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()


def shouting(state: State) -> State:
    """Take words only."""
    return {"log": [interrupt("Your name?").upper()]}


def twice(state: State) -> State:
    """Ask for two texts in one step."""
    return {"log": [interrupt("First?").upper() + interrupt("Second?").upper()]}


def around(graph: Any) -> Any:
    """Return a graph that has another as a step."""
    return StateGraph(State).add_node("inner", graph).add_edge(START, "inner").compile()


def calling(graph: Any) -> Any:
    """Return a graph that calls another from a step."""

    async def call(state: State) -> State:
        return {"log": (await graph.ainvoke({"log": []}))["log"]}

    return StateGraph(State).add_node("call", call).add_edge(START, "call").compile()


@task
async def named(n: int) -> str:
    """Ask for a name."""
    return str(interrupt(f"Name {n}?").upper())


@entrypoint()
async def workflow(input: Any) -> dict[str, Any]:
    """Ask for one name after the other."""
    return {"log": [await named(1), await named(2)]}


async def ask_again(world: World) -> Thread:
    await operations.ask_run_questions_again(world.backend, world.inbox, "t1", by="root", reason="a typo")
    return await world.rest()


@pytest.mark.parametrize("graph", [one_node(shouting), around(one_node(shouting)), calling(one_node(shouting))])
async def test_an_answer_that_the_code_cannot_take_is_asked_again_and_the_next_one_counts(url: str, graph: Any) -> None:
    async with at_work(url, [agent_of(graph)]) as world:
        await world.run("agent", {})
        first = await world.one()
        thread = await world.answer(first, "approve")
        assert (thread.status, thread.needs_attention) == ("error", True)
        assert "AttributeError" in str(thread.attention)
        assert thread.error
        assert thread.error.answers == (first.id,)
        assert "AttributeError" in str((await world.inbox.get(first.id)).attention)
        thread = await ask_again(world)
        assert (thread.status, thread.error, thread.attention) == ("interrupted", None, None)
        second = await world.one()
        assert (second.title, second.id != first.id) == (first.title, True)
        assert second.digest == first.digest
        thread = await world.answer(second, "respond", message="ann")
        assert (thread.status, thread.values["log"]) == ("done", ["ANN"])
        assert (await world.inbox.get(first.id)).response == (await world.inbox.get(first.id)).response
        await world.verified()


async def test_it_can_be_asked_again_as_often_as_the_code_fails(file: str) -> None:
    async with at_work(file, [agent_of(one_node(shouting))]) as world:
        await world.run("agent", {})
        ids = set[str]()
        for number in range(3):
            request = await world.one()
            ids.add(request.id)
            assert (await world.answer(request, "respond", {"answer": number})).status == "error"
            assert (await ask_again(world)).status == "interrupted"
        assert len(ids) == 3
        assert (await world.answer(await world.one(), "respond", message="ann")).values["log"] == ["ANN"]


@pytest.mark.parametrize("graph", [one_node(twice), around(one_node(twice)), workflow])
async def test_of_two_questions_only_the_one_with_the_unfit_answer_is_asked_again(url: str, graph: Any) -> None:
    async with at_work(url, [agent_of(graph)]) as world:
        await world.run("agent", {})
        await world.answer(await world.one(), "respond", message="a")
        second = await world.one()
        assert (await world.answer(second, "reject")).status == "error"
        assert (await ask_again(world)).status == "interrupted"
        again = await world.one()
        assert (again.title, again.id != second.id) == (second.title, True)
        log = (await world.answer(again, "respond", message="b")).values["log"]
        assert "".join(log) == "AB"


def side_by_side(effects: Effects) -> Any:
    """Return a graph of three steps at once, each of which asks, and one that does something."""

    def fan(state: State) -> list[Send]:
        return [Send("ask", {"log": [name]}) for name in ("ann", "bob")] + [Send("act", {})]

    def ask(state: State) -> State:
        reply = interrupt(f"About {state['log'][0]}?").upper()
        effects.append(reply)
        return {"log": [reply]}

    def act(state: State) -> State:
        effects.append("acted")
        return {"log": ["acted"]}

    builder = StateGraph(State).add_node("ask", ask).add_node("act", act).add_conditional_edges(START, fan)
    return builder.compile()


async def test_what_the_steps_beside_it_have_done_stays_done(url: str) -> None:
    effects: Effects = []
    async with at_work(url, [agent_of(side_by_side(effects))]) as world:
        await world.run("agent", {})
        ann, bob = await world.pending()
        assert (await world.answer(bob, "respond", message="b")).status == "interrupted"
        assert (await world.answer(ann, "reject")).status == "error"
        assert (await ask_again(world)).status == "interrupted"
        again = await world.one()
        assert again.title == "About ann?"
        assert (await world.answer(again, "respond", message="a")).status == "done"
        assert sorted(effects) == ["A", "B", "acted"]


async def test_a_retry_gives_the_same_answer_to_code_that_was_corrected(url: str) -> None:
    async with opened(url, [agent_of(one_node(shouting))]) as world:
        async with working(world):
            await world.run("agent", {})
            request = await world.one()
            assert (await world.answer(request, "approve")).status == "error"

        def corrected(state: State) -> State:
            return {"log": [str(interrupt("Your name?"))]}

        later = World(world.backend, world.inbox, [agent_of(one_node(corrected))])
        async with working(later):
            await operations.retry_failed_run(world.backend, world.inbox, "t1", by="root")
            thread = await later.rest()
        assert (thread.status, thread.values["log"]) == ("done", ["True"])
        assert (await world.inbox.get(request.id)).attention is None


def later_step(effects: Effects) -> Any:
    """Return a graph whose second step cannot take what the first was told."""

    def ask(state: State) -> State:
        return {"log": [interrupt("Your name?")]}

    def use(state: State) -> State:
        effects.append("used")
        return {"log": [state["log"][-1].upper()]}

    return (
        StateGraph(State)
        .add_node("ask", ask)
        .add_node("use", use)
        .add_edge(START, "ask")
        .add_edge("ask", "use")
        .compile()
    )


@pytest.mark.parametrize("wrap", [lambda graph: graph, around])
async def test_a_failure_in_a_later_step_goes_back_to_the_question(url: str, wrap: Any) -> None:
    effects: Effects = []
    async with at_work(url, [agent_of(wrap(later_step(effects)))]) as world:
        await world.run("agent", {})
        first = await world.one()
        assert (await world.answer(first, "reject")).status == "error"
        assert (await ask_again(world)).status == "interrupted"
        second = await world.one()
        assert (second.title, second.id != first.id) == (first.title, True)
        thread = await world.answer(second, "respond", message="ann")
        assert (thread.status, thread.values["log"], effects) == ("done", ["ann", "ANN"], ["used", "used"])
        assert thread.run
        assert thread.run.back_to is None
        await world.verified()


async def test_to_ask_again_is_for_runs_that_failed_on_an_answer(file: str) -> None:
    def broken(state: State) -> State:
        raise NotImplementedError

    agents = [agent_of(one_node(broken)), Agent("asks", one_node(shouting), input=lambda _: {"log": []}, output=dict)]
    async with at_work(file, agents) as world:
        await world.run("agent", {})
        with pytest.raises(ConflictError, match="did not fail after an answer"):
            await ask_again(world)
        waiting = await world.run("asks", {}, "t2")
        again = await operations.ask_run_questions_again(world.backend, world.inbox, "t2", by="root")
        assert again == waiting


async def test_two_operators_at_once_ask_again_once(url: str) -> None:
    async with at_work(url, [agent_of(one_node(shouting))]) as world:
        await world.run("agent", {})
        await world.answer(await world.one(), "approve")
        await asyncio.gather(
            *(operations.ask_run_questions_again(world.backend, world.inbox, "t1", by="root") for _ in range(4))
        )
        assert (await world.rest()).status == "interrupted"
        assert len(await world.asked()) == 2
        events = await world.inbox.events()
        assert [event.type for event in events].count("thread.asked_again") == 1


async def test_calls_that_agent_inbox_or_langchain_gate_are_asked_again_too(file: str) -> None:
    def typed(state: State) -> State:
        return {"log": [interrupt([human_interrupt()])[0]["args"]["args"]["to"].upper()]}

    async with at_work(file, [agent_of(one_node(typed))]) as world:
        await world.run("agent", {})
        assert (await world.answer(await world.one(), "reject")).status == "error"
        assert (await ask_again(world)).status == "interrupted"
        assert (await world.answer(await world.one(), "approve")).values["log"] == ["ANN"]


async def test_a_failure_after_the_answer_was_taken_is_no_fault_of_the_answer(url: str) -> None:
    effects = list[str]()

    def pay(state: State) -> State:
        interrupt("Pay?")
        effects.append("paid")
        return {"log": ["paid"]}

    def output(state: Any) -> dict[str, Any]:
        return {"log": object()} if state.get("log") else {}

    graph = StateGraph(State).add_node("pay", pay).add_edge(START, "pay").compile()
    async with at_work(url, [Agent("agent", graph, output=output)]) as world:
        await world.run("agent", {})
        failed = await world.answer(await world.one(), "respond", message="yes")
        assert failed.error
        assert (failed.status, failed.error.answers, effects) == ("error", (), ["paid"])
        with pytest.raises(ConflictError):
            await ask_again(world)
        assert effects == ["paid"]
