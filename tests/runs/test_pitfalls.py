"""What goes wrong on bare LangGraph, and what becomes of it here: one test each, both sides run."""

from __future__ import annotations

import asyncio
import operator
from importlib.metadata import version
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from tests.raising import raises_code
from tests.runs.world import World, at_work, checked, of_type, opened, working

from ringi import Action, Form, Select, ask
from ringi.contracts.backend import run_resume_job
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.inbox.api import Seen
from ringi.runs import operations
from ringi.runs.agent import Agent

Effects = list[str]


class State(TypedDict, total=False):
    """What the agents here write down."""

    log: Annotated[list[str], operator.add]


def chain(**nodes: Any) -> Any:
    """Return a graph that runs these nodes one after another."""
    graph = StateGraph(State)
    names = [START, *nodes, END]
    for name, node in nodes.items():
        graph.add_node(name, node)
    for one, next in pairwise(names):
        graph.add_edge(one, next)
    return graph


def agent(**nodes: Any) -> Agent:
    """Return the agent that runs these nodes one after another."""
    return Agent("agent", chain(**nodes).compile(), input=lambda _: {"log": []}, output=dict)


class Bare:
    """The same nodes on LangGraph alone."""

    def __init__(self, saver: Any = None, **nodes: Any) -> None:
        self.saver = saver or InMemorySaver()
        self.graph = chain(**nodes).compile(checkpointer=self.saver)
        self.config: RunnableConfig = {"configurable": {"thread_id": "t1"}}

    async def begin(self) -> str:
        """Run to the first question and return its id."""
        await self.graph.ainvoke({"log": []}, self.config)
        return await self.open_id()

    async def open_id(self) -> str:
        (question,) = (await self.graph.aget_state(self.config)).interrupts
        return str(question.id)

    async def question(self) -> str:
        (question,) = (await self.graph.aget_state(self.config)).interrupts
        return str(question.value)

    async def resume(self, answer: Any) -> Any:
        return await self.graph.ainvoke(Command(resume=answer), self.config)

    async def log(self) -> list[str]:
        return list((await self.graph.aget_state(self.config)).values["log"])


async def granted(world: World) -> list[str]:
    return list((await world.rest()).values["log"])


def side_by_side(**nodes: Any) -> Any:
    """Return a graph that runs these nodes all at once."""
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
        graph.add_edge(START, name)
        graph.add_edge(name, END)
    return graph


def asking_node(runs: Effects, name: str, question: Any) -> Any:
    """Return a node that says that it begins, and asks."""

    def node(state: State) -> State:
        runs.append(name)
        get_stream_writer()({"name": "begun", "node": name})
        return {"log": [f"{name} {question(name)}"]}

    return node


async def test_pitfall_1_each_partial_answer_begins_all_other_waiting_nodes_anew_and_says_so_again() -> None:
    runs: Effects = []
    nodes = {name: asking_node(runs, name, interrupt) for name in "abc"}
    graph = side_by_side(**nodes).compile(checkpointer=InMemorySaver())
    config: RunnableConfig = {"configurable": {"thread_id": "t1"}}
    events = [part async for part in graph.astream({"log": []}, config, stream_mode="custom")]
    a, *_ = (await graph.aget_state(config)).interrupts
    events += [part async for part in graph.astream(Command(resume={a.id: "yes"}), config, stream_mode="custom")]
    assert sorted(runs) == ["a", "a", "b", "b", "c", "c"]
    assert sorted(part["node"] for part in events) == ["a", "a", "b", "b", "c", "c"]


async def test_pitfall_1_here_they_begin_anew_too_but_what_is_asked_and_said_stays_as_it_was(url: str) -> None:
    runs: Effects = []
    nodes = {name: asking_node(runs, name, lambda name: ask(f"{name}?").status) for name in "abc"}
    three = Agent("agent", side_by_side(**nodes).compile(), input=lambda _: {"log": []}, output=dict)
    async with at_work(url, [three]) as world:
        await world.run("agent", {})
        a, *others = await world.pending()
        await world.answer(a, "respond", message="yes")
        assert sorted(runs) == ["a", "a", "b", "b", "c", "c"]
        assert await world.pending() == others
        node_names = [event["value"]["node"] for event in of_type(await world.items(), "CUSTOM")]
        assert sorted(node_names) == ["a", "b", "c"]
        checked(await world.items())


async def test_pitfall_2_two_answers_at_once_both_take_effect() -> None:
    effects: Effects = []

    def act(state: State) -> State:
        effects.append(interrupt("pay?"))
        return {"log": ["done"]}

    bare = Bare(act=act)
    id = await bare.begin()
    await asyncio.gather(bare.resume({id: "yes"}), bare.resume({id: "no"}))
    assert sorted(effects) == ["no", "yes"]


async def test_pitfall_2_here_the_first_answer_wins_and_the_other_is_told(url: str) -> None:
    effects: Effects = []

    def act(state: State) -> State:
        request = ask("Pay?", action=Action("pay"))
        effects.append("paid" if request.granted else "refused")
        return {"log": ["done"]}

    async with at_work(url, [agent(act=act)]) as world:
        await world.run("agent", {})
        request = await world.one()
        answers = [world.respond(request, "approve"), world.respond(request, "reject")]
        results = await asyncio.gather(*answers, return_exceptions=True)
        assert {getattr(result, "code", type(result)) for result in results} == {Request, "final"}
        await world.rest()
        winner = (await world.inbox.get(request.id)).response
        assert winner
        assert effects == ["paid" if winner.decision == "approve" else "refused"]
        assert [r.winner["decision"] for r in results if isinstance(r, ConflictError) and r.winner] == [winner.decision]


async def test_pitfall_3_an_answer_sent_twice_approves_the_next_gate() -> None:
    bare = Bare(a=lambda s: {"log": [f"A:{interrupt('A?')}"]}, b=lambda s: {"log": [f"B:{interrupt('B?')}"]})
    await bare.begin()
    await bare.resume("yes")
    await bare.resume("yes")
    assert await bare.log() == ["A:yes", "B:yes"]


def gate(name: str) -> Any:
    """Return a node behind a gate."""

    def node(state: State) -> State:
        granted = ask(f"{name}?", action=Action(name)).granted
        return {"log": [f"{name}:{'yes' if granted else 'no'}"]}

    return node


async def test_pitfall_3_here_the_next_gate_stays_shut(url: str) -> None:
    async with at_work(url, [agent(a=gate("A"), b=gate("B"))]) as world:
        await world.run("agent", {})
        request = await world.one()
        await world.answer(request, "approve")
        await world.answer(request, "approve")
        second = await world.one()
        assert second.title == "B?"
        assert (await world.answer(second, "reject")).values["log"] == ["A:yes", "B:no"]


def asks_twice_bare(state: State) -> State:
    return {"log": [interrupt("one?"), interrupt("two?")]}


def asks_twice(state: State) -> State:
    answers = [ask(title).response for title in ("one?", "two?")]
    return {"log": [str(answer.message) for answer in answers if answer]}


async def test_pitfall_4_an_old_key_answers_the_second_question_of_a_node() -> None:
    bare = Bare(act=asks_twice_bare)
    id = await bare.begin()
    await bare.resume({id: "first"})
    await bare.resume({id: "first"})
    assert await bare.log() == ["first", "first"]


async def test_pitfall_4_here_a_repeated_resume_is_only_that(url: str) -> None:
    async with at_work(url, [agent(act=asks_twice)]) as world:
        await world.run("agent", {})
        first = await world.one()
        await world.answer(first, "respond", message="first")
        await world.respond(first, "respond", message="first")
        await world.backend.jobs.submit(run_resume_job(first))
        second = await world.one()
        assert second.title == "two?"
        assert (await world.answer(second, "respond", message="second")).values["log"] == ["first", "second"]


async def test_pitfall_5_an_unknown_key_runs_the_node_again_and_says_nothing() -> None:
    runs: Effects = []

    def act(state: State) -> State:
        runs.append("run")
        return {"log": [interrupt("pay?")]}

    bare = Bare(act=act)
    await bare.begin()
    await bare.resume({"f" * 32: "yes"})
    assert len(runs) == 2


async def test_pitfall_5_here_an_unknown_request_is_not_found_and_nothing_runs(url: str) -> None:
    runs: Effects = []

    def act(state: State) -> State:
        runs.append("run")
        return {"log": [ask("pay?", action=Action("pay")).status]}

    async with at_work(url, [agent(act=act)]) as world:
        before = await world.run("agent", {})
        with pytest.raises(NotFoundError):
            await world.inbox.respond(Seen("q-unknown", "sha256:0"), "approve", by="ann")
        await world.backend.jobs.submit(run_resume_job(await world.one()))
        assert await world.rest() == before
        assert runs == ["run"]


def needs_a_number(answer: Any) -> State:
    return {"log": [str(int(answer))]}


async def test_pitfall_6_a_bad_answer_poisons_the_thread_for_good() -> None:
    bare = Bare(act=lambda state: needs_a_number(interrupt("how many?")))
    id = await bare.begin()
    for answer in ("many", "7"):
        with pytest.raises(ValueError, match="many"):
            await bare.resume({id: answer})


async def test_pitfall_6_here_a_bad_answer_is_refused_before_it_is_stored(url: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    def act(state: State) -> State:
        response = ask("How many?", schema=schema).response
        return needs_a_number(response and response.data and response.data["n"])

    async with at_work(url, [agent(act=act)]) as world:
        await world.run("agent", {})
        request = await world.one()
        with pytest.raises(InvalidError):
            await world.respond(request, "approve", {"n": "many"})
        assert (await world.rest()).status == "interrupted"
        assert (await world.answer(request, "approve", {"n": 7})).values["log"] == ["7"]


async def test_pitfall_6_here_a_node_that_breaks_on_an_answer_ends_and_the_thread_takes_new_input(url: str) -> None:
    def act(state: State) -> State:
        response = ask("How many?").response
        return needs_a_number(response and response.message)

    async with at_work(url, [agent(act=act)]) as world:
        await world.run("agent", {})
        assert (await world.answer(await world.one(), "respond", message="many")).status == "error"
        assert (await world.run("agent", {})).status == "interrupted"
        assert (await world.answer(await world.one(), "respond", message="7")).values["log"] == ["7"]
        checked(await world.items())


async def test_pitfall_8_here_one_refused_answer_leaves_the_other_questions_alone(url: str) -> None:
    form = Form([Select("size", options=["s", "m"])])

    def asks(name: str) -> Any:
        def node(state: State) -> State:
            response = ask(f"{name}?", form=form).response
            return {"log": [f"{name} {response.data['size']}" if response and response.data else "none"]}

        return node

    graph = side_by_side(a=asks("a"), b=asks("b"))
    both = Agent("agent", graph.compile(), input=lambda _: {"log": []}, output=dict)
    async with at_work(url, [both]) as world:
        await world.run("agent", {})
        a, b = await world.pending()
        answers = [world.respond(a, "approve", {"size": "m"}), world.respond(b, "approve", {"size": "xxl"})]
        results = await asyncio.gather(*answers, return_exceptions=True)
        assert [type(result).__name__ for result in results] == ["Request", "InvalidError"]
        assert (await world.rest()).values["log"] == ["a m"]
        assert [request.id for request in await world.pending()] == [b.id]


async def test_pitfall_9_a_yes_lands_on_another_question() -> None:
    flags = {"extra": True}

    def act(state: State) -> State:
        extra = interrupt("one more question?") if flags["extra"] else None
        return {"log": [f"extra {extra}", f"delete {interrupt('delete everything?')}"]}

    bare = Bare(act=act)
    id = await bare.begin()
    flags["extra"] = False
    await bare.resume({id: "yes"})
    assert await bare.log() == ["extra None", "delete yes"]


async def test_pitfall_9_here_the_question_is_asked_as_it_is_now(url: str) -> None:
    flags, effects = {"extra": True}, Effects()

    def act(state: State) -> State:
        if flags["extra"]:
            ask("One more question?", action=Action("more"))
        if ask("Delete everything?", action=Action("delete")).granted:
            effects.append("deleted")
        return {"log": ["done"]}

    async with at_work(url, [agent(act=act)]) as world:
        await world.run("agent", {})
        extra = await world.one()
        flags["extra"] = False
        thread = await world.answer(extra, "approve")
        assert (thread.status, effects) == ("interrupted", [])
        delete = await world.one()
        assert delete.title == "Delete everything?"
        assert delete.id != extra.id
        assert (await world.answer(delete, "reject")).status == "done"
        assert effects == []
        checked(await world.items())


async def test_pitfall_9_here_what_was_consented_to_counts_when_it_is_asked_again(url: str) -> None:
    flags = {"extra": False}

    def act(state: State) -> State:
        if flags["extra"]:
            ask("One more question?")
        return {"log": ["deleted" if ask("Delete?", action=Action("delete")).granted else "kept"]}

    async with at_work(url, [agent(act=act)]) as world:
        await world.run("agent", {})
        flags["extra"] = True
        assert (await world.answer(await world.one(), "approve")).status == "interrupted"
        extra = await world.one()
        assert extra.title == "One more question?"
        await world.answer(extra, "respond", message="fine")
        again = await world.one()
        assert (again.title, again.status) == ("Delete?", "pending")


async def test_pitfall_14_new_input_drops_the_open_question() -> None:
    bare = Bare(act=lambda state: {"log": [interrupt("pay?")]})
    old = await bare.begin()
    new = await bare.begin()
    assert new != old
    await bare.resume({old: "yes"})
    assert await bare.open_id() == new


async def test_pitfall_14_here_new_input_is_refused_and_the_question_stays(url: str) -> None:
    async with at_work(url, [agent(a=gate("A"))]) as world:
        await world.run("agent", {})
        request = await world.one()
        with raises_code("busy"):
            await world.start("agent", {})
        assert (await world.answer(request, "approve")).values["log"] == ["A:yes"]


def careless(question: Any, effects: Effects) -> Any:
    """Return a node that catches whatever is raised where it asks."""

    def act(state: State) -> State:
        try:
            answer = question()
        except Exception:
            return {"log": ["caught"]}
        effects.append("paid")
        return {"log": [str(answer)]}

    return act


async def test_pitfall_15_a_node_that_catches_everything_swallows_the_pause() -> None:
    effects: Effects = []
    bare = Bare(act=careless(lambda: interrupt("pay?"), effects))
    await bare.graph.ainvoke({"log": []}, bare.config)
    assert (await bare.graph.aget_state(bare.config)).interrupts == ()
    assert (await bare.log(), effects) == (["caught"], [])


async def test_pitfall_15_here_it_swallows_it_too_and_what_is_gated_stays_undone(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    effects: Effects = []
    async with at_work(url, [agent(act=careless(lambda: ask("Pay?", action=Action("pay")), effects))]) as world:
        thread = await world.run("agent", {})
        assert (thread.status, thread.values["log"], effects) == ("done", ["caught"], [])
        assert await world.asked() == []
        assert str(thread.attention).startswith("the agent's own code caught the pause of “Pay?”")
        assert "“Pay?”" in caplog.text


async def test_pitfall_15_here_a_run_that_waits_after_a_swallowed_pause_needs_nobody_else_and_tells_it_at_its_end(
    url: str,
) -> None:
    first, second = (careless(lambda title=title: ask(title, action=Action("pay")), []) for title in ("Pay?", "Book?"))
    async with at_work(url, [agent(a=first, b=gate("B"), c=second, d=gate("D"))]) as world:
        thread = await world.run("agent", {})
        for _ in range(2):
            assert (thread.status, thread.attention, thread.needs_attention) == ("interrupted", None, False)
            assert (await operations.runs_needing_attention(world.backend.store, Query(tenant="default")))[0] == []
            thread = await world.answer(await world.one(), "approve")
        assert (thread.status, thread.values["log"]) == ("done", ["caught", "B:yes", "caught", "D:yes"])
        assert str(thread.attention).startswith("the agent's own code caught the pause of “Pay?”, “Book?”: nobody")


async def test_pitfall_16_a_renamed_node_makes_the_question_vanish() -> None:
    def act(state: State) -> State:
        return {"log": [interrupt("pay?")]}

    bare = Bare(pay=act)
    id = await bare.begin()
    renamed = Bare(bare.saver, payout=act)
    await renamed.resume({id: "yes"})
    after = await renamed.graph.aget_state(renamed.config)
    assert (after.next, after.interrupts, after.values["log"]) == ((), (), [])


async def test_pitfall_16_here_a_renamed_node_calls_for_an_operator(url: str) -> None:
    async with opened(url, [agent(pay=gate("A"))]) as world:
        async with working(world):
            await world.run("agent", {})
        request = await world.one()
        deployed = World(world.backend, world.inbox, [agent(payout=gate("A"))])
        async with working(deployed):
            thread = await world.answer(request, "approve")
            assert (thread.status, thread.values["log"]) == ("error", [])
            assert str(thread.attention).startswith(
                f"the deployed agent 'agent' (langgraph {version('langgraph')}) has no step 'pay' any more, "
                f"which asked “{request.title}” ({request.id}): nothing of the run starts. What the step did before"
            )
            assert (await world.inbox.get(request.id)).attention == thread.attention
            await deployed.run("agent", {})
            assert (await world.answer(await world.one(), "approve")).values["log"] == ["A:yes"]
        checked(await world.items())


async def test_pitfall_16_here_a_lost_step_stays_answerable_beside_one_that_is_answered(url: str) -> None:
    def both(**nodes: Any) -> Agent:
        return Agent("agent", side_by_side(**nodes).compile(), input=lambda _: {"log": []}, output=dict)

    async with opened(url, [both(a=gate("A"), b=gate("B"))]) as world:
        async with working(world):
            await world.run("agent", {})
        a, b = await world.pending()
        async with working(World(world.backend, world.inbox, [both(a=gate("A"))])):
            thread = await world.answer(a, "approve")
            assert thread.status == "interrupted"
            assert f"has no step 'b' any more, which asked “{b.title}” ({b.id})" in str(thread.attention)
            assert a.id not in str(thread.attention)
            lost = await world.one()
            assert (lost.id, lost.attention) == (b.id, thread.attention)
            assert (await world.answer(lost, "reject")).status == "interrupted"


async def test_pitfall_16_a_question_added_before_takes_the_answer() -> None:
    bare = Bare(act=lambda state: {"log": [f"delete {interrupt('delete?')}"]})
    id = await bare.begin()
    later = Bare(bare.saver, act=lambda state: {"log": [f"rename {interrupt('rename?')}", interrupt("delete?")]})
    await later.resume({id: "yes"})
    assert await later.question() == "delete?"
    await later.resume("no")
    assert await later.log() == ["rename yes", "no"]


async def test_pitfall_16_here_an_added_question_is_asked(url: str) -> None:
    def two(state: State) -> State:
        rename = ask("Rename?", action=Action("rename")).granted
        delete = ask("Delete?", action=Action("delete")).granted
        return {"log": [f"rename {bool(rename)}", f"delete {bool(delete)}"]}

    def one(state: State) -> State:
        return {"log": [f"delete {bool(ask('Delete?', action=Action('delete')).granted)}"]}

    async with opened(url, [agent(act=one)]) as world:
        async with working(world):
            await world.run("agent", {})
        request = await world.one()
        async with working(World(world.backend, world.inbox, [agent(act=two)])):
            await world.answer(request, "approve")
            rename = await world.one()
            assert rename.title == "Rename?"
            await world.answer(rename, "reject")
            delete = await world.one()
            assert delete.title == "Delete?"
            assert (await world.answer(delete, "reject")).values["log"] == ["rename False", "delete False"]


async def test_pitfall_18_a_node_that_runs_a_graph_begins_anew_and_the_finished_nodes_of_that_graph_do_not() -> None:
    runs: Effects = []

    def before(state: State) -> State:
        runs.append("inner")
        return {"log": ["before"]}

    inner = chain(before=before, gate=lambda state: {"log": [interrupt("pay?")]}).compile()

    async def outer(state: State) -> State:
        runs.append("outer")
        return {"log": (await inner.ainvoke({"log": []}))["log"]}

    bare = Bare(outer=outer)
    id = await bare.begin()
    await bare.resume({id: "yes"})
    assert (runs, await bare.log()) == (["outer", "inner", "outer"], ["before", "yes"])


async def test_pitfall_18_here_the_node_begins_anew_too_and_a_question_within_it_goes_on(url: str) -> None:
    runs: Effects = []

    def before(state: State) -> State:
        runs.append("inner")
        return {"log": ["before"]}

    inner = chain(before=before, gate=gate("inner")).compile()

    async def outer(state: State) -> State:
        runs.append("outer")
        return {"log": (await inner.ainvoke({"log": []}))["log"]}

    async with at_work(url, [agent(outer=outer)]) as world:
        await world.run("agent", {})
        assert (await world.answer(await world.one(), "approve")).values["log"] == ["before", "inner:yes"]
        assert runs == ["outer", "inner", "outer"]


async def test_pitfall_18_here_a_question_from_a_graph_within_a_graph_goes_on(url: str) -> None:
    inner_runs: Effects = []

    def before(state: State) -> State:
        inner_runs.append("before")
        return {"log": ["before"]}

    inner = chain(before=before, gate=gate("inner")).compile()
    async with at_work(url, [agent(outer=inner)]) as world:
        await world.run("agent", {})
        assert (await world.answer(await world.one(), "approve")).values["log"] == ["before", "inner:yes"]
        assert inner_runs == ["before"]
        checked(await world.items())


async def test_pitfall_19_a_question_that_is_passed_over_leaves_no_trace_of_it() -> None:
    bare = Bare(act=lambda state: {"log": [interrupt("pay?")]}, after=lambda state: {"log": ["after"]})
    await bare.begin()
    await bare.graph.aupdate_state(bare.config, {"log": []}, as_node="act")
    now = await bare.graph.aget_state(bare.config)
    assert (now.interrupts, now.next, now.values["log"]) == ((), ("after",), [])


async def test_pitfall_19_here_a_question_that_is_withdrawn_says_by_whom_and_why(url: str) -> None:
    async with at_work(url, [agent(a=gate("A"), after=lambda state: {"log": ["after"]})]) as world:
        await world.run("agent", {})
        id = (await world.one()).id
        await world.inbox.cancel(id, "the customer has gone", by="boss")
        assert (await world.rest()).values["log"] == ["A:no", "after"]
        request = await world.inbox.get(id)
        assert (request.status, request.reason) == ("cancelled", "the customer has gone")
        trail = [(event.type, event.actor) for event in await world.inbox.events(request_id=id)]
        assert ("request.cancelled", "boss") in trail


async def test_a_bare_interrupt_is_a_question_too(url: str) -> None:
    async with at_work(url, [agent(act=lambda state: {"log": [interrupt("How are you?")]})]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert (request.kind, request.title) == ("question", "How are you?")
        assert (await world.answer(request, "respond", message="well")).values["log"] == ["well"]


def deleting(effects: Effects) -> Any:
    """Return a node that deletes when its bare interrupt is told anything true."""

    def act(state: State) -> State:
        if interrupt("Delete all?"):
            effects.append("deleted")
        return {"log": ["done"]}

    return act


async def test_a_rejected_bare_interrupt_is_false_to_the_graph(url: str) -> None:
    effects: Effects = []
    async with at_work(url, [agent(act=deleting(effects))]) as world:
        await world.run("agent", {})
        request = await world.one()
        thread = await world.answer(request, "reject", message="all of it is needed")
        assert (thread.status, thread.values["log"], effects) == ("done", ["done"], [])
        response = (await world.inbox.get(request.id)).response
        assert response
        assert response.message == "all of it is needed"


async def test_a_bare_interrupt_that_nobody_answers_runs_nothing_and_is_asked_again_by_a_retry(url: str) -> None:
    effects: Effects = []
    async with at_work(url, [agent(act=deleting(effects))]) as world:
        await world.run("agent", {})
        request = await world.one()
        await world.inbox.cancel(request.id, by="boss")
        thread = await world.rest()
        assert (thread.status, thread.needs_attention, thread.error and thread.error.code, effects) == (
            "error",
            True,
            "UndecidedError",
            [],
        )
        await operations.retry_failed_run(world.backend, world.inbox, "t1", by="boss")
        await world.rest()
        again = await world.one()
        assert again.id != request.id
        assert (await world.answer(again, "respond", message="yes")).status == "done"
        assert effects == ["deleted"]
