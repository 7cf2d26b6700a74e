"""What a run's question carries: who asks it, and until when it may be answered."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from tests.runs.world import at_work, opened, working

from ringi import ask
from ringi.base.clock import utc_now
from ringi.contracts.backend import Moment
from ringi.contracts.store import Change
from ringi.domain.record import Event, Record
from ringi.domain.request import Request
from ringi.domain.thread import Run, Thread
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent
from ringi.runs.reconciler import run_start_job

REFUND = {"order": 1, "amount": 2}
DUE, END_OF_IT = datetime(2091, 3, 1, 9, tzinfo=UTC), datetime(2091, 3, 2, 9, tzinfo=UTC)


class State(TypedDict, total=False):
    """What the agent here writes down."""

    answer: str


def asks(state: State) -> State:
    """Ask until a certain time."""
    return {"answer": ask("When?", due_at=DUE, expires_at=END_OF_IT).status}


def timed() -> Agent:
    """Return an agent that asks until a certain time."""
    graph = StateGraph(State)
    graph.add_node("asks", asks)
    graph.add_edge(START, "asks")
    graph.add_edge("asks", END)
    return Agent("timed", graph.compile(), output=dict, input=lambda _: {"answer": ""})


async def test_a_run_that_goes_on_writes_no_request_that_it_has_asked_before(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = list[str]()
    async with at_work(url) as world:
        put, together = world.backend.store.put, world.backend.put_together

        def note(*records: Record) -> None:
            written.extend(record.id for record in records if isinstance(record, Request) and record.version == 1)

        async def noting(record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
            note(record, *(other for other, _ in others))
            await put(record, event, others)

        async def noting_all(moment: Moment) -> None:
            assert together
            note(*(record for record, _ in moment.others))
            await together(moment)

        monkeypatch.setattr(world.backend.store, "put", noting)
        object.__setattr__(world.backend, "put_together", together and noting_all)
        await world.run("two_questions", {})
        for request in await world.pending():
            await world.answer(request, "respond", message="yes")
        assert (await world.thread()).status == "done"
        assert sorted(written) == sorted(request.id for request in await world.asked())


async def test_each_runs_questions_carry_the_name_of_who_started_it(url: str) -> None:
    async with at_work(url) as world:
        for name in ("ann", "bob"):
            await world.runner.start("default", "t1", "refund", REFUND, by=name)
            thread = await world.rest()
            assert ((await world.one()).asked_by, thread.started_by) == (name, "ann")
            assert (await world.answer(await world.one(), "approve")).status == "done"


async def test_a_run_that_was_stored_without_a_name_asks_in_the_name_of_the_thread(url: str) -> None:
    async with opened(url) as world:
        now = utc_now()
        thread, event = Thread.begun("t1", "refund", Run(id="r1", input=REFUND), by="ann", now=now)
        await world.backend.store.put(thread, event)
        await world.backend.jobs.submit(run_start_job(thread))
        async with working(world):
            await world.rest()
        assert (await world.one()).asked_by == "ann"


async def test_a_question_may_have_a_time_by_which_it_is_due_and_one_at_which_it_ends(url: str) -> None:
    async with at_work(url, [timed()]) as world:
        await world.run("timed", {})
        request = await world.one()
        assert (request.due_at, request.expires_at) == (DUE, END_OF_IT)
        assert (await world.answer(request, "respond", message="now")).values == {"answer": "completed"}


def test_a_node_can_ask_all_that_an_inbox_can() -> None:
    # The headers of webhooks are secrets, which a checkpoint is no place for; a run names its thread and itself.
    of_the_inbox = set(inspect.signature(StoreInbox.ask).parameters) - {"self", "id", "webhooks", "thread_id", "run_id"}
    assert set(inspect.signature(ask).parameters) == of_the_inbox
