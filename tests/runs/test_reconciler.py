"""What should go on goes on, however much is lost; what cannot is shown to an operator."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.runs.world import World, at_work, checked, of_type, opened, other, until, working

from ringi.backends.orders import ordered_listing
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.lists import sqlite_query_conditions
from ringi.base.clock import utc_now
from ringi.connect import PollingNotifier
from ringi.contracts.backend import Job, run_resume_job
from ringi.contracts.store import change_record
from ringi.domain.ask import Ask, Continuation
from ringi.domain.record import Key, Query, Viewer
from ringi.domain.request import Request
from ringi.domain.thread import Run, Thread
from ringi.runs import reconciler
from ringi.runs.reconciler import Reconciler, run_start_job

REFUND = {"order": 1, "amount": 2}
KEY = Key("default", "t1")
CONTINUATION = Continuation(runner="langgraph", target="refund", key="t0")


def submissions(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Return a list that grows with each job that is found missing."""
    jobs: list[Job] = []
    submit_all = world.backend.jobs.submit_all

    async def noted(more: Sequence[Job]) -> None:
        jobs.extend(more)
        await submit_all(more)

    monkeypatch.setattr(world.backend.jobs, "submit_all", noted)
    return jobs


def leave_wake_ups_to_the_reconciler(world: World) -> None:
    """Let the store save answers without the jobs of their runs, as some stores and older versions do."""
    for name, value in (("saves_wake_ups", False), ("_jobs", None)):
        setattr(world.backend.store, name, value)


@pytest.mark.parametrize("poll", [0.05, 0.4])
async def test_an_answer_goes_on_although_nobody_was_told(url: str, poll: float) -> None:
    async with at_work(url, notify="polling", poll=poll) as world:
        assert isinstance(world.backend.notifier, PollingNotifier)
        await world.run("refund", REFUND)
        assert (await world.answer(await world.one(), "approve")).status == "done"


async def test_one_look_finds_every_answered_request_and_every_thread_without_a_worker(url: str) -> None:
    async with opened(url) as world:
        leave_wake_ups_to_the_reconciler(world)
        async with working(world):
            await world.run("refund", REFUND)
            await world.run("refund", REFUND, "t2")
        await world.respond(await world.one(), "approve")
        await world.start_and_lose("refund", REFUND, "t3")
        with pytest.MonkeyPatch.context() as patch:
            jobs = submissions(world, patch)
            await Reconciler(world.backend, utc_now).reconcile()
        assert sorted((job.kind, job.payload["thread"]) for job in jobs) == [("resume", "t1"), ("run", "t3")]


def rows_read(world: World, monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Return a list that grows with each request that is read in a page or by several keys."""
    rows: list[Request] = []
    store = world.backend.store
    for name in ("find", "get_many"):
        monkeypatch.setattr(store, name, noting(getattr(store, name), rows))
    return rows


def noting(read: Any, rows: list[Request]) -> Any:
    async def noted(kind: Any, what: Any) -> Any:
        found = await read(kind, what)
        rows.extend(record for record in found if kind is Request)
        return found

    return noted


async def test_what_ends_is_read_once_however_much_waits_to_go_on(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f"t{n}" for n in range(40)]
    async with opened(url, poll=600) as world:
        leave_wake_ups_to_the_reconciler(world)
        jobs, rows = submissions(world, monkeypatch), rows_read(world, monkeypatch)
        looking = asyncio.create_task(Reconciler(world.backend, utc_now).run(world.inbox.feed))
        async with world.inbox.feed.follow():
            for line in lines:
                waits = Continuation(runner="langgraph", target="refund", key=line)
                asked = await world.inbox.submit(Ask(title="Go?", thread_id=line), continuation=waits)
                await world.inbox.cancel(asked.id, by="ann")
                await until(partial(submitted, jobs, line), f"a job for {line}")
        looking.cancel()
    assert list(dict.fromkeys(job.payload["thread"] for job in jobs)) == lines
    assert len(rows) <= 2 * len(lines)  # What the first look found is heard of once more.


async def test_answers_that_never_end_keep_no_run_without_a_worker_waiting(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(url, poll=0.05) as world:
        leave_wake_ups_to_the_reconciler(world)
        jobs = submissions(world, monkeypatch)
        submit_all = world.backend.jobs.submit_all
        looking = Reconciler(world.backend, utc_now)

        async def and_one_more(more: Sequence[Job]) -> None:
            await submit_all(more)
            if any(job.kind == "resume" for job in more):
                waits = Continuation(runner="langgraph", target="refund", key=uuid.uuid4().hex)
                asked = await world.inbox.submit(Ask(title="Go?", thread_id=waits.key), continuation=waits)
                ended = await world.inbox.cancel(asked.id, by="ann")
                looking._collect(await world.backend.store.events(record_id=ended.id, tenant=ended.tenant))

        monkeypatch.setattr(world.backend.jobs, "submit_all", and_one_more)
        busy = asyncio.create_task(looking.run(world.inbox.feed))
        first = await world.inbox.submit(Ask(title="Go?", thread_id="t0"), continuation=CONTINUATION)
        await world.inbox.cancel(first.id, by="ann")
        await until(partial(submitted, jobs, "t0"), "a first job")
        await world.start_and_lose("refund", REFUND, "stranded")
        jobs.clear()
        await until(partial(submitted, jobs, "stranded"), "a job for the run that nobody works on")
        busy.cancel()


async def submitted(jobs: list[Job], line: str) -> Job | None:
    return next((job for job in jobs if job.payload["thread"] == line), None)


async def test_an_answer_is_stored_with_the_job_of_its_run(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(file) as world:
        async with working(world):
            await world.run("refund", REFUND)
        jobs = submissions(world, monkeypatch)
        await world.respond(await world.one(), "approve")
        await Reconciler(world.backend, utc_now).reconcile()
        assert jobs == []
        async with working(world):
            assert (await world.rest()).status == "done"


async def test_a_held_thread_is_left_to_its_worker(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(url) as world:
        await world.start_and_lose("refund", REFUND)
        await change_record(world.backend.store, Thread, KEY, lambda t: t.acquired("w", utc_now(), timedelta(hours=1)))
        jobs = submissions(world, monkeypatch)
        await Reconciler(world.backend, utc_now).reconcile()
        assert jobs == []
        await Reconciler(world.backend, lambda: utc_now() + timedelta(hours=2)).reconcile()
        assert [job.kind for job in jobs] == ["run"]


async def test_an_emptied_table_of_jobs_loses_nothing(file: str) -> None:
    async with opened(file) as world:
        async with working(world):
            await world.run("refund", REFUND)
        await world.respond(await world.one(), "approve")
        await world.start("two_questions", {}, "t2")
        await empty_jobs(file)
        async with working(world):
            assert (await world.rest()).status == "done"
            assert (await world.rest("t2")).status == "interrupted"


async def empty_jobs(file: str) -> None:
    async with SqliteDatabase(file.removeprefix("sqlite:///")) as database:
        assert await database.write(lambda c: c.execute("DELETE FROM jobs").rowcount) > 0


async def test_what_cannot_go_on_does_not_hide_what_can(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "PAGE", 2)
    async with opened(url) as world:
        for n in range(7):
            await world.start_and_lose("two_questions", {}, f"t{n}")
        jobs = submissions(world, monkeypatch)
        await Reconciler(world.backend, utc_now).reconcile()
        assert {job.payload["thread"] for job in jobs} == {f"t{n}" for n in range(7)}


async def test_jobs_that_come_twice_or_late_do_nothing(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        request = await world.one()
        done = await world.answer(request, "approve")
        before = await world.items()
        for job in (run_resume_job(request), run_start_job(done), run_resume_job(request)):
            await world.backend.jobs.submit(job)
        await world.run("two_questions", {}, "t2")
        assert await world.thread() == done
        assert await world.items() == before


async def test_an_unknown_agent_calls_for_an_operator(url: str) -> None:
    async with opened(url) as world:
        await world.start("refund", REFUND)
        async with working(World(world.backend, world.inbox, [other()])):
            thread = await world.rest()
        assert (thread.status, thread.attention) == ("error", "no agent 'refund' is deployed")
        assert thread.error
        assert thread.error.code == "attention"
        items = await world.items()
        checked(items)
        assert [event["message"] for event in of_type(items, "RUN_ERROR")] == ["no agent 'refund' is deployed"]


async def test_an_answer_for_an_agent_that_is_gone_is_kept_and_the_thread_marked(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ringi.runs.worker.MISSING_SECONDS", 0)
    async with opened(url) as world:
        async with working(world):
            await world.run("refund", REFUND)
        async with working(World(world.backend, world.inbox, [other()])):
            request = await world.one()
            thread = await world.answer(request, "approve")
        assert thread.attention == "no agent 'refund' is deployed"
        stored_request = await world.inbox.get(request.id)
        assert stored_request.response
        assert stored_request.response.decision == "approve"


async def test_a_run_whose_workers_died_five_times_is_given_up(url: str) -> None:
    async with opened(url) as world:
        await world.start("refund", REFUND)
        past = utc_now() - timedelta(hours=1)
        for _ in range(5):
            await change_record(world.backend.store, Thread, KEY, lambda t: t.acquired("w", past, timedelta()))
        async with working(world):
            thread = await world.rest()
            assert (thread.status, thread.attention) == ("error", "its worker died 5 times")
            checked(await world.items())
            assert (await world.run("refund", REFUND)).status == "interrupted"
            assert (await world.thread()).attention is None


async def test_tenants_with_equal_names_never_meet(url: str) -> None:
    async with at_work(url) as world:
        for tenant, amount in [("a", 10), ("b", 20)]:
            await world.run("refund", {"order": 1, "amount": amount}, tenant=tenant)
        ours, theirs = await world.one(tenant="a"), await world.one(tenant="b")
        assert ours.id != theirs.id
        done = await world.answer(ours, "approve")
        assert done.values["outcome"] == "refunded 10"
        assert (await world.thread(tenant="b")).status == "interrupted"
        await world.runner.cancel("b", "t1", by="ann")
        await world.rest(tenant="b")
        assert (await world.thread(tenant="a")) == done
        texts = {tenant: checked(await world.items(tenant=tenant)) for tenant in ("a", "b")}
        assert "refund of 10" in next(iter(texts["a"].values()))
        assert "refund of 20" in next(iter(texts["b"].values()))
        assert await world.items(tenant="default") == []
        assert [t.tenant for t in await world.runner.find("a", 10)] == ["a"]
        await world.verified()


async def test_tenants_with_equal_questions_have_their_own_checkpoints(url: str) -> None:
    async with at_work(url) as world:
        for tenant in ("a", "b"):
            await world.run("two_questions", {}, tenant=tenant)
        for request in await world.pending(tenant="a"):
            await world.answer(request, "respond", message="a's")
        assert (await world.thread(tenant="a")).status == "done"
        assert len(await world.pending(tenant="b")) == 2
        for request in await world.pending(tenant="b"):
            await world.answer(request, "respond", message="b's")
        assert set((await world.thread(tenant="b")).values["answers"].values()) == {"b's"}
        assert set((await world.thread(tenant="a")).values["answers"].values()) == {"a's"}


async def test_a_process_without_agents_leaves_the_runs_to_those_that_have_them(url: str) -> None:
    async with opened(url) as world:
        ids = [f"t{n}" for n in range(10)]
        async with working(world, *(World(world.backend, world.inbox, []) for _ in range(3))):
            for id in ids:
                assert (await world.run("two_questions", {}, id)).status == "interrupted"
                for request in await world.pending(id):
                    await world.respond(request, "respond", message="x")
            assert {(await world.rest(id)).status for id in ids} == {"done"}


@pytest.mark.parametrize(
    ("kind", "query", "index"),
    [
        (Request, Query(unacknowledged=True), "requests_unacknowledged"),
        (Request, Query(unacknowledged=True, before="1:default:x"), "requests_unacknowledged"),
        (Request, Query(tenant="a", thread_id="t", unacknowledged=True), "requests_"),
        (Request, Query(tenant="a", thread_id="t", statuses=("pending",)), "requests_by_"),
        (Request, Query(tenant="a", attention=True), "requests_attention"),
        (Request, Query(tenant="a", attention=True, before="1:default:x"), "requests_attention"),
        (Request, Query(tenant="a", thread_id="t", attention=True), "requests_"),
        (Request, Query(tenant="a", attention=True, viewer=Viewer(name="ann")), "requests_attention"),
        (Request, Query(tenant="a", unexecuted=True), "requests_unexecuted"),
        (Request, Query(tenant="a", unexecuted=True, viewer=Viewer(name="ann")), "requests_unexecuted"),
        (Thread, Query(tenant="a", statuses=("error",)), "threads_by_status"),
        (Thread, Query(tenant="a", statuses=("error",), before="1:default:x"), "threads_by_status"),
        (Thread, Query(unleased_at=utc_now()), "threads_running"),
        (Thread, Query(unleased_at=utc_now(), before="1:default:x"), "threads_running"),
    ],
)
async def test_looking_for_work_reads_an_index_and_no_table(file: str, kind: Any, query: Query, index: str) -> None:
    async with opened(file), SqliteDatabase(file.removeprefix("sqlite:///")) as database:
        where = sqlite_query_conditions(kind, ordered_listing(kind, query))
        order = "created_at DESC, id DESC, tenant DESC"
        sql = f"EXPLAIN QUERY PLAN SELECT body FROM {kind.record}s WHERE {where} ORDER BY {order} LIMIT 200"
        plan = [row[3] for row in await database.read(lambda c: c.execute(sql, where.values).fetchall())]
        assert any(index in step for step in plan), plan
        assert all("INDEX" in step for step in plan if step.startswith(("SCAN", "SEARCH"))), plan


async def test_a_cycle_of_question_and_answer_costs_a_fixed_number_of_reads_and_writes(
    file: str, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    counts = {"read": 0, "write": 0}

    def counted(name: str) -> None:
        method = getattr(SqliteDatabase, name)

        async def counting(database: SqliteDatabase, work: Any) -> Any:
            counts[name] += 1
            return await method(database, work)

        monkeypatch.setattr(SqliteDatabase, name, counting)

    async with opened(file, poll=600) as world:
        async with working(world):
            await world.run("two_questions", {}, "warm")
        runner, inbox = world.runner, world.inbox
        for name in counts:
            counted(name)
        thread = await runner.start("default", "t1", "two_questions", {}, by="bot")
        await runner._handle(run_start_job(thread))
        parked = dict(counts)
        for request in await runner.pending(thread):
            await inbox.respond(request, "respond", message="x", by="ann")
        await runner._handle(run_resume_job(request))
        assert (await world.thread()).status == "done"
    resumed = {name: counts[name] - parked[name] for name in counts}
    record_property("reads and writes to park and to resume two questions", f"{parked} {resumed}")
    assert parked["write"] <= 14
    assert resumed["write"] <= 14
    assert parked["read"] + resumed["read"] <= 44  # With those of the feed: two for each change of a request.


async def test_a_busy_table_of_threads_costs_no_writes_while_nothing_is_to_be_done(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(file) as world:
        await asyncio.gather(*(put_done(world, n) for n in range(50)))
        jobs = submissions(world, monkeypatch)
        await Reconciler(world.backend, utc_now).reconcile()
        assert jobs == []


async def put_done(world: World, n: int) -> None:
    store, run = world.backend.store, Run(id="r", input={})
    thread, event = Thread.begun(f"t{n}", "refund", run, by="bot", now=utc_now())
    await store.put(thread, event)
    await change_record(store, Thread, thread.key, lambda t: t.acquired("w", utc_now(), timedelta(hours=1)))
    await change_record(store, Thread, thread.key, lambda t: t.finished(t, utc_now(), {}))
