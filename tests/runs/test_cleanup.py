"""What a run leaves behind when it ends: nothing that waits for it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.runs.test_operations import State, side_by_side
from tests.runs.world import World, at_work, checked, opened, other, until, working

from ringi import Action, ask
from ringi.base.clock import utc_now
from ringi.contracts.store import change_record
from ringi.domain.ask import Ask, Continuation
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Failure, Thread
from ringi.runs import cleanup

KEY = Key("default", "t1")


def breaks(state: State) -> State:
    """Ask, then raise."""
    ask("A?", action=Action("a"))
    raise ValueError("no paper")


def waits(state: State) -> State:
    """Ask and write the answer down."""
    return {"log": [ask("B?", action=Action("b")).status]}


BREAKS = side_by_side(a=breaks, b=waits)


async def ended_as(world: World, request: Request) -> tuple[str, str | None, bool]:
    """Return how a request ended, why, and whether nothing waits to take it up."""
    now = await world.inbox.for_tenant(request.tenant).get(request.id)
    return now.status, now.reason, not now.is_unacknowledged


async def test_a_run_that_fails_withdraws_its_other_questions(url: str) -> None:
    async with at_work(url, [BREAKS]) as world:
        await world.run("agent", {})
        a, b = await world.pending()
        assert (await world.answer(a, "approve")).status == "error"
        await until(lambda: is_over(world, b), "the other question is withdrawn")
        assert await ended_as(world, b) == ("cancelled", "the run failed", True)
        assert await world.pending() == []
        checked(await world.items())
        await world.verified()


async def test_a_run_that_is_given_up_withdraws_its_questions(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.runs.worker.MISSING_SECONDS", 0)
    async with opened(url, [BREAKS]) as world:
        async with working(world):
            await world.run("agent", {})
        a, b = await world.pending()
        async with working(World(world.backend, world.inbox, [other()])):
            thread = await world.answer(a, "approve")
            assert (thread.status, thread.attention) == ("error", "no agent 'agent' is deployed")
            await until(lambda: is_over(world, b), "the other question is withdrawn")
        assert await ended_as(world, b) == ("cancelled", "the run failed", True)


async def test_a_failure_that_was_cut_short_is_finished_when_its_job_comes_again(url: str) -> None:
    async with opened(url, [BREAKS]) as world:
        b = await end_halfway(world)
        async with working(world):
            await until(lambda: is_over(world, b), "the other question is withdrawn")
        assert await ended_as(world, b) == ("cancelled", "the run failed", True)


@pytest.mark.parametrize("is_failed", [True, False])
async def test_cancelling_a_run_that_is_over_withdraws_what_is_open_of_it(url: str, is_failed: bool) -> None:
    async with opened(url, [BREAKS]) as world:
        b = await end_halfway(world, is_failed)
        before = await world.thread()
        assert await world.runner.cancel("default", "t1", by="ann") == before
        assert (await ended_as(world, b))[:2] == ("cancelled", "the thread was cancelled")
        events = [event.type for event in await world.inbox.events(request_id=b.id)]
        assert events == ["request.created", "request.cancelled", "request.acknowledged"]


async def test_a_request_that_somebody_posted_with_the_threads_id_is_not_the_runs(url: str) -> None:
    async with at_work(url, [side_by_side(b=waits)]) as world:
        await world.run("agent", {})
        request = await world.one()
        posted = await world.inbox.submit(Ask(title="Z", thread_id="t1", run_id=request.run_id), by="eve")
        assert await world.pending() == [request]
        await world.runner.cancel("default", "t1", by="ann")
        assert [(await world.inbox.get(r.id)).status for r in (request, posted)] == ["cancelled", "pending"]


async def test_what_another_runner_waits_for_is_left_to_it(url: str) -> None:
    async with at_work(url, [side_by_side(b=waits)]) as world:
        await world.run("agent", {})
        request = await world.one()
        others = Continuation(runner="other", target="agent", key="t1")
        posted = await world.inbox.submit(Ask(title="Z", thread_id="t1"), by="eve", continuation=others)
        await world.respond(posted, "respond", message="yes")
        await world.respond(request, "approve")
        await until(lambda: is_over(world, request), "the run takes its answer")
        assert (await world.thread()).values == {"log": ["completed"]}
        assert (await world.inbox.get(posted.id)).is_unacknowledged


async def test_requests_that_were_posted_hide_none_of_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cleanup, "PAGE", 2)
    async with at_work("memory://", [side_by_side(b=waits)]) as world:
        await world.run("agent", {})
        request = await world.one()
        for n in range(5):
            await world.inbox.submit(Ask(title=f"Z{n}", thread_id="t1"), by="eve")
        assert await world.pending() == [request]


async def is_over(world: World, request: Request) -> bool:
    """Whether a request has ended and its run took note, and the run is not under way."""
    now = await world.inbox.get(request.id)
    return now.is_final and not now.is_unacknowledged and (await world.thread()).status != "running"


async def end_halfway(world: World, is_failed: bool = True) -> Request:
    """End a run as a worker does that dies before it withdraws the other question."""
    async with working(world):
        await world.run("agent", {})
    a, b = await world.pending()
    await world.respond(a, "approve")
    failure = Failure(message="no paper", code="ValueError")
    await change_record(world.backend.store, Thread, KEY, lambda t: t.acquired("dead", utc_now(), timedelta(hours=1)))
    end = lambda t: t.failed(t, utc_now(), failure) if is_failed else t.finished(t, utc_now(), {})  # noqa: E731
    await change_record(world.backend.store, Thread, KEY, end)
    return b


async def test_a_question_of_an_earlier_run_is_withdrawn_from_a_thread_that_is_done(url: str) -> None:
    async with at_work(url, [other()]) as world:
        thread = await world.run("other", {"order": 1182, "amount": 40})
        await world.answer(await world.one(), "approve")
        waits = Continuation(runner="langgraph", target="other", key=thread.id, args={})
        question = Ask(title="Late?", thread_id=thread.id, run_id="earlier")
        late = await world.inbox.submit(question, by="a worker that woke up late", continuation=waits)
        await cleanup.close_orphans(world.backend, world.inbox, await world.thread())
        assert (await ended_as(world, late))[::2] == ("cancelled", True)
