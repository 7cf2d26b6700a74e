"""What an operator does about a run that cannot go on by itself: it goes on once, or it ends for good."""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import pairwise
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from tests.runs.world import World, at_work, checked, of_type, opened, other, until, working

from ringi import Action, ask
from ringi.base.clock import utc_now
from ringi.contracts.store import change_record
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.runs import operations
from ringi.runs.agent import Agent
from ringi.runs.executor import MAX_ATTEMPTS
from ringi.runs.operations import Trouble

KEY = Key("default", "t1")


class State(TypedDict, total=False):
    """What the agents here write down."""

    log: Annotated[list[str], operator.add]


def side_by_side(**nodes: Any) -> Agent:
    """Return the agent that runs these nodes at once."""
    return built([(START, name) for name in nodes] + [(name, END) for name in nodes], nodes)


def chain(**nodes: Any) -> Agent:
    """Return the agent that runs these nodes one after another."""
    names = [START, *nodes, END]
    return built(list(pairwise(names)), nodes)


def built(edges: list[tuple[str, str]], nodes: dict[str, Any]) -> Agent:
    graph = StateGraph(State)
    for name, node in nodes.items():
        graph.add_node(name, node)
    for one, next in edges:
        graph.add_edge(one, next)
    return Agent("agent", graph.compile(), input=lambda _: {"log": []}, output=dict)


def gate(name: str) -> Any:
    """Return a node behind a gate."""
    return lambda state: {"log": [f"{name}:{'yes' if ask(f'{name}?', action=Action(name)).granted else 'no'}"]}


class Flaky:
    """A node that raises as often as it is told, then does its work; it asks first if it has a question."""

    def __init__(self, failures: int = 1, question: str = "", **asked: Any) -> None:
        self.failures, self.question, self.asked, self.runs = failures, question, asked, 0

    def __call__(self, state: State) -> State:
        answer = ask(self.question, action=Action("act"), **self.asked) if self.question else None
        self.runs += 1
        if self.runs <= self.failures:
            raise ValueError("no paper")
        decision = answer.response.decision if answer and answer.response else answer and answer.status
        return {"log": [f"{decision or 'done'}"]}


async def retry(world: World, reason: str | None = None) -> Thread:
    return await operations.retry_failed_run(world.backend, world.inbox, "t1", by="root", reason=reason)


async def retried(world: World) -> Thread:
    await retry(world)
    return await world.rest()


async def abandon(world: World, reason: str | None = None) -> Thread:
    return await operations.abandon(world.backend, world.inbox, "t1", by="root", reason=reason)


async def listed(world: World) -> list[Trouble]:
    items, next = await operations.runs_needing_attention(world.backend.store, Query(tenant="default"))
    assert next is None
    return items


async def event_types(world: World, id: str) -> list[str]:
    return [event.type for event in await world.inbox.events(request_id=id, limit=1000)]


async def test_a_run_that_failed_goes_on_from_where_it_stood_in_the_same_stream(url: str) -> None:
    first, flaky = Flaky(0), Flaky()
    async with at_work(url, [chain(first=first, flaky=flaky)]) as world:
        failed = await world.run("agent", {})
        assert (failed.status, failed.error and failed.error.message) == ("error", "ValueError: no paper")
        before = await world.items()
        thread = await retried(world)
        assert (thread.status, thread.values, thread.error) == ("done", {"log": ["done", "done"]}, None)
        assert (first.runs, flaky.runs, thread.run_id) == (1, 2, failed.run_id)
        items = await world.items()
        assert items[: len(before)] == before
        assert [e["runId"] for e in of_type(items, "RUN_STARTED")] == [failed.run_id, f"{failed.run_id}.1"]
        checked(items)
        await world.verified()


async def test_a_retried_run_goes_on_at_once_and_not_when_somebody_looks_next(url: str) -> None:
    async with at_work(url, [chain(flaky=Flaky())], poll=600) as world:
        await world.run("agent", {})
        assert (await retried(world)).status == "done"


async def test_a_run_that_failed_before_its_first_step_begins_again(url: str) -> None:
    shaky = {"broken": True}

    def prepare(_: dict[str, Any]) -> Any:
        if shaky["broken"]:
            raise ValueError("no input")
        return {"log": []}

    agent = Agent("agent", side_by_side(a=Flaky(0)).target, input=prepare, output=dict)
    async with at_work(url, [agent]) as world:
        assert (await world.run("agent", {})).status == "error"
        shaky["broken"] = False
        assert (await retried(world)).values == {"log": ["done"]}
        checked(await world.items())


@pytest.mark.parametrize("decision", ["approve", "reject"])
async def test_what_was_decided_before_the_failure_counts_after_it(url: str, decision: str) -> None:
    async with at_work(url, [chain(flaky=Flaky(2, "Act?"))]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert (await world.answer(request, decision)).status == "error"
        assert (await retried(world)).status == "error"
        assert (await retried(world)).values == {"log": [decision]}
        assert [asked.id for asked in await world.asked()] == [request.id]
        checked(await world.items())
        await world.verified()


async def test_a_question_that_each_failure_withdrew_is_asked_again(url: str) -> None:
    async with at_work(url, [side_by_side(flaky=Flaky(2, "A?"), b=gate("B"))]) as world:
        await world.run("agent", {})
        a, _ = await world.pending()
        await world.answer(a, "approve")
        await until(lambda: stand(world, "B?", "cancelled"), "it is withdrawn")
        assert (await retried(world)).status == "error"
        await until(lambda: stand(world, "B?", "cancelled", "cancelled"), "it is asked again, and withdrawn")
        assert (await retried(world)).status == "interrupted"
        assert await stand(world, "B?", "cancelled", "cancelled", "pending")
        assert await stand(world, "A?", "completed")
        thread = await world.answer(await world.one(), "approve")
        assert sorted(thread.values["log"]) == ["B:yes", "approve"]
        checked(await world.items())
        await world.verified()


async def stand(world: World, title: str, *statuses: str) -> bool:
    """Whether the requests of a title stand so, the oldest first."""
    return statuses == tuple(request.status for request in reversed(await world.asked()) if request.title == title)


async def test_silence_before_the_failure_is_asked_again(url: str) -> None:
    async with at_work(url, [chain(flaky=Flaky(1, "Act?", expires_in=0.05))]) as world:
        await world.start("agent", {})
        await until(lambda: has_failed(world), "the run fails")
        assert [request.status for request in await world.asked()] == ["expired"]
        await retry(world)
        await until(lambda: has_ended(world), "the run ends")
        assert sorted(request.status for request in await world.asked()) == ["expired", "expired"]
        assert (await world.thread()).values == {"log": ["expired"]}


async def has_failed(world: World) -> bool:
    return (await world.thread()).status == "error"


async def has_ended(world: World) -> bool:
    return (await world.thread()).status == "done"


async def test_a_run_whose_workers_died_too_often_may_be_tried_as_often_again(url: str) -> None:
    async with opened(url, [chain(only=Flaky(0))]) as world:
        await world.start("agent", {})
        died = lambda thread: thread.changed("acquired", "dead", utc_now(), attempts=MAX_ATTEMPTS)  # noqa: E731
        await change_record(world.backend.store, Thread, KEY, died)
        async with working(world):
            assert (await world.rest()).status == "error"
            (trouble,) = await listed(world)
            assert (trouble.why, trouble.can_retry) == (f"its worker died {MAX_ATTEMPTS} times", True)
            assert (await retried(world)).status == "done"
            assert await listed(world) == []


async def test_a_run_whose_agent_was_gone_goes_on_with_the_answer_once_it_is_back(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringi.runs.worker.MISSING_SECONDS", 0)
    async with opened(url, [chain(a=gate("A"))]) as world:
        async with working(world):
            await world.run("agent", {})
        request = await world.one()
        async with working(World(world.backend, world.inbox, [other()])):
            assert (await world.answer(request, "approve")).status == "error"
        async with working(world):
            assert (await retried(world)).values == {"log": ["A:yes"]}
        assert len(await world.asked()) == 1
        checked(await world.items())
        await world.verified()


async def test_a_run_whose_only_step_was_gone_goes_on_with_the_answer_once_it_is_back(url: str) -> None:
    async with opened(url, [chain(pay=gate("A"))]) as world:
        async with working(world):
            await world.run("agent", {})
        request = await world.one()
        async with working(World(world.backend, world.inbox, [chain(payout=gate("A"))])):
            assert (await world.answer(request, "approve")).status == "error"
            (trouble,) = await listed(world)
            assert trouble.kind == "thread"
            assert "has no step 'pay' any more" in trouble.why
        async with working(world):
            assert (await retried(world)).values == {"log": ["A:yes"]}
            assert await listed(world) == []
        assert len(await world.asked()) == 1
        await world.verified()


TWO = side_by_side(a=gate("A"), b=gate("B"))
ONE = side_by_side(a=gate("A"))


async def stranded(world: World) -> Request:
    """Park a run on two questions, take the step of one away, answer the other, and return the lost one."""
    async with working(world):
        await world.run("agent", {})
    a, b = await world.pending()
    async with working(World(world.backend, world.inbox, [ONE])):
        thread = await world.answer(a, "approve")
    assert (thread.status, (await world.inbox.get(b.id)).attention) == ("interrupted", thread.attention)
    return b


async def test_a_stranded_request_that_was_answered_goes_on_with_a_retry(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        await world.respond(lost, "reject")
        async with working(world):
            kinds = {(trouble.kind, trouble.status, trouble.title) for trouble in await listed(world)}
            assert kinds == {("request", "completed", "A?"), ("request", "completed", "B?")}
            assert (await world.rest()).status == "interrupted"
            thread = await retried(world)
            assert (thread.status, sorted(thread.values["log"])) == ("done", ["A:yes", "B:no"])
        assert await listed(world) == []
        assert len(await world.asked()) == 2
        checked(await world.items())
        await world.verified()


async def test_a_stranded_request_that_is_still_open_is_normal_again_after_a_retry(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        thread = await retry(world)
        assert (thread.status, thread.attention) == ("interrupted", None)
        now = await world.inbox.get(lost.id)
        assert (now.status, now.attention) == ("pending", None)
        assert await listed(world) == []
        async with working(world):
            await until(lambda: has_logged(world, "A:yes"), "the answered step runs")
            assert sorted((await world.answer(lost, "approve")).values["log"]) == ["A:yes", "B:yes"]
        await world.verified()


async def has_logged(world: World, line: str) -> bool:
    return line in (await world.rest()).values.get("log", [])


async def test_a_retry_while_the_step_is_still_gone_strands_the_run_again(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        before = [trouble.request_id for trouble in await listed(world)]
        async with working(World(world.backend, world.inbox, [ONE])):
            thread = await retried(world)
            assert (thread.status, thread.attention) == ("interrupted", (await world.inbox.get(lost.id)).attention)
            assert [trouble.request_id for trouble in await listed(world)] == before
        checked(await world.items())
        await world.verified()


async def test_a_run_that_is_taken_up_when_its_step_is_back_needs_nobody_any_more(url: str) -> None:
    three = side_by_side(a=gate("A"), b=gate("B"), c=gate("C"))
    async with opened(url, [three]) as world:
        async with working(world):
            await world.run("agent", {})
        a, b, c = await world.pending()
        async with working(World(world.backend, world.inbox, [side_by_side(a=gate("A"), c=gate("C"))])):
            await world.answer(a, "approve")
        async with working(world):
            thread = await world.answer(c, "approve")
            assert (thread.status, thread.attention) == ("interrupted", None)
            assert [request.attention for request in await world.pending()] == [None]
            assert await listed(world) == []
            assert sorted((await world.answer(b, "approve")).values["log"]) == ["A:yes", "B:yes", "C:yes"]
        await world.verified()


async def test_a_failed_run_that_is_abandoned_is_idle_and_takes_new_input(url: str) -> None:
    async with at_work(url, [chain(flaky=Flaky(1))]) as world:
        await world.run("agent", {})
        thread = await abandon(world, "asked twice")
        assert (thread.status, thread.reason, thread.needs_attention) == ("idle", "asked twice", False)
        assert thread.error
        assert await listed(world) == []
        (event,) = [e for e in await world.inbox.events(limit=1000) if e.type == "thread.abandoned"]
        assert (event.actor, event.payload["changed"]["reason"]) == ("root", "asked twice")
        assert (await retry(world)) == thread
        again = await world.run("agent", {})
        assert (again.status, again.reason) == ("done", None)
        checked(await world.items())
        await world.verified()


async def test_a_stranded_run_that_is_abandoned_leaves_nothing_open(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        assert (await abandon(world)).status == "idle"
        now = await world.inbox.get(lost.id)
        assert (now.status, now.reason) == ("cancelled", "abandoned")
        (event,) = [e for e in await world.inbox.events(request_id=lost.id) if e.type == "request.cancelled"]
        assert event.actor == "root"
        assert await listed(world) == []
        assert await world.backend.store.find(Request, Query(unacknowledged=True)) == []
        async with working(world):
            assert (await world.run("agent", {})).status == "interrupted"
            assert len(await world.pending()) == 2
        checked(await world.items())
        await world.verified()


async def test_a_stranded_run_that_is_cancelled_needs_nobody_any_more(url: str) -> None:
    async with opened(url, [TWO]) as world:
        lost = await stranded(world)
        thread = await world.runner.cancel("default", "t1", by="ann")
        assert (thread.status, thread.attention) == ("idle", None)
        assert (await world.inbox.get(lost.id)).status == "cancelled"
        assert await listed(world) == []


@pytest.mark.parametrize("verb", [retry, abandon])
async def test_what_needs_no_attention_is_left_alone(url: str, verb: Callable[[World], Any]) -> None:
    async with at_work(url, [chain(a=gate("A"))]) as world:
        parked = await world.run("agent", {})
        assert await verb(world) == parked
        done = await world.answer(await world.one(), "approve")
        events = await world.inbox.events(limit=1000)
        assert await verb(world) == done
        assert await world.inbox.events(limit=1000) == events


@pytest.mark.parametrize("verb", [retry, abandon])
async def test_an_unknown_thread_is_not_found(url: str, verb: Callable[[World], Any]) -> None:
    async with opened(url) as world:
        await world.start("refund", {"order": 1, "amount": 2}, tenant="elsewhere")
        with pytest.raises(NotFoundError):
            await verb(world)
