"""Holding a thread: one worker at a time, the newest wins, and trouble short of the lease loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import END, START, StateGraph
from tests.raising import raises_code
from tests.runs.test_stream import Log
from tests.runs.world import World, at_work, checked, of_type, opened, until, working

from ringi import ask
from ringi.backends.memory.store import MemoryStore
from ringi.base.clock import utc_now
from ringi.contracts.backend import StreamItem, Wakeup
from ringi.contracts.store import Change, change_record
from ringi.domain.record import Event, Key, Record, UnreadableError
from ringi.domain.thread import Failure, FenceError, Run, Thread
from ringi.errors import NotFoundError, UnavailableError
from ringi.runs import lease as leases
from ringi.runs.agent import Agent
from ringi.runs.lease import LEASE_SECONDS, Lease, PendingReleases, hold_thread_lease
from ringi.runs.reconciler import Reconciler
from ringi.testing.factories import a_thread

R = TypeVar("R", bound=Record)
KEY = Key("default", "t1")
LEASE = timedelta(seconds=30)


class ShakyStore(MemoryStore):
    """A store that can be out of reach."""

    is_away = loses_reply = is_silent = False
    refused = 0
    unreadable: frozenset[str] = frozenset()

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        self._check()
        if self.is_silent:
            await asyncio.Event().wait()
        await super().put(record, event, others)
        if self.loses_reply:
            self.loses_reply = False
            raise UnavailableError("cut")

    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        self._check()
        if id in self.unreadable:
            raise UnreadableError(kind.record, id, "damaged")
        return await super().get(kind, tenant, id)

    def _check(self) -> None:
        if self.is_away:
            self.refused += 1
            raise UnavailableError("away")


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 0.6)


async def begun(store: MemoryStore, id: str = "t1") -> None:
    await store.put(*Thread.begun(id, "a", Run(id="r1", input={}), by="bot", now=utc_now()))


async def hold_for_ever(
    store: MemoryStore, when_held: Callable[[], None], debts: PendingReleases | None = None
) -> None:
    async with hold_thread_lease(store, utc_now, KEY, "one", debts or PendingReleases(store, utc_now)):
        when_held()
        await asyncio.wait_for(asyncio.Event().wait(), 20)


async def pause(seconds: float) -> None:
    """Let that much time pass: it is time itself that is tested."""
    await Wakeup().wait(seconds)


async def test_a_thread_is_held_by_one_at_a_time() -> None:
    store = MemoryStore()
    await begun(store)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)):
        with raises_code("busy"):
            async with hold_thread_lease(store, utc_now, KEY, "two", PendingReleases(store, utc_now)):
                pytest.fail("two hold it")


async def test_a_lease_is_renewed_for_as_long_as_the_work_takes() -> None:
    store = MemoryStore()
    await begun(store)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        first = lease.thread.lease_until
        assert first
        await until(lambda: is_later(store, first + timedelta(seconds=1)), "the lease is renewed")
        assert (await store.get(Thread, *KEY)).fence == lease.fence


async def test_a_holder_that_has_released_the_thread_may_clean_up() -> None:
    store = MemoryStore()
    await begun(store)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        await lease.change(lambda thread: thread.finished(lease.thread, utc_now(), {}))
        await pause(LEASE_SECONDS / 3 + 0.5)  # The next renewal would be refused, and end the block.
    assert (await store.get(Thread, *KEY)).status == "done"


class SlowRenewals(MemoryStore):
    """A store whose renewals wait for the holder's own change."""

    def __init__(self) -> None:
        super().__init__()
        self.is_renewing, self.changed = asyncio.Event(), asyncio.Event()

    async def put(self, record: Any, event: Event | None, others: Sequence[Change] = ()) -> None:
        if event is None:
            self.is_renewing.set()
            await self.changed.wait()
        await super().put(record, event, others)


async def test_a_renewal_on_its_way_does_not_end_a_holder_that_releases_the_thread() -> None:
    store = SlowRenewals()
    await begun(store)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        await asyncio.wait_for(store.is_renewing.wait(), 20)
        await lease.change(lambda thread: thread.finished(lease.thread, utc_now(), {}))
        store.changed.set()
        await pause(0.2)
    assert (await store.get(Thread, *KEY)).status == "done"


async def is_later(store: MemoryStore, at: Any) -> bool:
    until = (await store.get(Thread, *KEY)).lease_until
    return until is not None and until > at


async def test_a_renewal_writes_no_event() -> None:
    store = MemoryStore()
    await begun(store)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        before = len(await store.events())
        await lease.renew()
        assert len(await store.events()) == before


async def test_a_store_that_is_away_for_less_than_the_lease_loses_nothing() -> None:
    store = ShakyStore()
    await begun(store)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)) as lease:
        store.is_away = True
        await until(lambda: refusals(store, 1), "a renewal fails")
        store.is_away = False
        await pause(0.7)
        assert (await store.get(Thread, *KEY)).fence == lease.fence


async def refusals(store: ShakyStore, count: int) -> bool:
    return store.refused >= count


async def test_a_store_that_is_away_for_longer_stops_the_work() -> None:
    store = ShakyStore()
    await begun(store)
    with pytest.raises(FenceError):
        await hold_for_ever(store, lambda: setattr(store, "is_away", True))


async def test_a_store_that_says_nothing_for_longer_than_the_lease_stops_the_work_and_costs_it_no_try() -> None:
    store = ShakyStore()
    debts = PendingReleases(store, utc_now)
    await begun(store)
    with pytest.raises(FenceError):
        await hold_for_ever(store, lambda: setattr(store, "is_silent", True), debts)
    store.is_silent = False
    await debts.settle()
    assert (await store.get(Thread, *KEY)).attempts == 0


async def test_the_work_stops_once_somebody_else_holds_the_thread() -> None:
    store = MemoryStore()
    await begun(store)
    held = asyncio.Event()
    holding = asyncio.create_task(hold_for_ever(store, held.set))
    await held.wait()
    later = utc_now() + timedelta(hours=1)
    await change_record(store, Thread, KEY, lambda t: t.acquired("two", later, timedelta(hours=1)))
    with pytest.raises(FenceError):
        await holding
    assert (await store.get(Thread, *KEY)).owner == "two"


async def cut_off(store: ShakyStore, debts: PendingReleases) -> None:
    """Hold the thread, and lose it because the store is away for too long."""
    with pytest.raises(FenceError):
        await hold_for_ever(store, lambda: setattr(store, "is_away", True), debts)
    store.is_away = False


async def test_a_worker_that_lives_through_the_absence_of_the_store_gives_its_try_back() -> None:
    store = ShakyStore()
    debts = PendingReleases(store, utc_now)
    await begun(store)
    await cut_off(store, debts)
    assert (await store.get(Thread, *KEY)).attempts == 1
    await debts.settle()
    thread = await store.get(Thread, *KEY)
    assert (thread.attempts, thread.owner, thread.status) == (0, None, "running")
    await debts.settle()
    assert await store.get(Thread, *KEY) == thread


async def test_it_gives_its_try_back_also_when_another_holds_the_thread_by_then() -> None:
    store = ShakyStore()
    debts = PendingReleases(store, utc_now)
    await begun(store)
    await cut_off(store, debts)
    async with hold_thread_lease(store, utc_now, KEY, "two", debts) as lease:
        assert lease.thread.attempts == 2
        await debts.settle()
        thread = await store.get(Thread, *KEY)
        assert (thread.attempts, thread.owner, thread.fence) == (1, "two", 2)
        await lease.renew()


@pytest.mark.parametrize(
    "end",
    [
        lambda thread: thread.parked(thread, utc_now(), {}),
        lambda thread: thread.failed(thread, utc_now(), Failure(message="no", code="bug")),
        lambda thread: thread.cancelled("ann", utc_now()),
    ],
    ids=["paused", "failed", "cancelled"],
)
async def test_a_try_of_a_stretch_that_is_over_is_not_given_back_to_another(end: Callable[[Thread], Any]) -> None:
    store = ShakyStore()
    debts = PendingReleases(store, utc_now)
    await begun(store)
    await cut_off(store, debts)
    async with hold_thread_lease(store, utc_now, KEY, "two", debts) as lease:
        _, ended = await change_record(store, Thread, KEY, end)
        assert lease.fence == 2
        await debts.settle()
        assert await store.get(Thread, *KEY) == ended


async def test_a_worker_that_lost_its_thread_while_the_store_was_there_has_had_its_try() -> None:
    store = MemoryStore()
    debts = PendingReleases(store, utc_now)
    await begun(store)
    held = asyncio.Event()
    holding = asyncio.create_task(hold_for_ever(store, held.set, debts))
    await held.wait()
    later = utc_now() + timedelta(hours=1)
    await change_record(store, Thread, KEY, lambda t: t.acquired("two", later, timedelta(hours=1)))
    with pytest.raises(FenceError):
        await holding
    await debts.settle()
    assert (await store.get(Thread, *KEY)).attempts == 2


async def test_a_lease_that_is_lost_as_its_block_ends_cancels_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    store, lost = MemoryStore(), asyncio.Event()
    await begun(store)

    async def lose(_: Lease) -> None:
        lost.set()
        raise FenceError("t1", 1)

    monkeypatch.setattr(Lease, "renew", lose)
    async with hold_thread_lease(store, utc_now, KEY, "one", PendingReleases(store, utc_now)):
        await lost.wait()


async def test_a_thread_that_was_taken_unknowingly_is_given_back() -> None:
    store = ShakyStore()
    debts = PendingReleases(store, utc_now)
    await begun(store)
    store.loses_reply = True
    with pytest.raises(UnavailableError):
        async with hold_thread_lease(store, utc_now, KEY, "one", debts):
            pytest.fail("nobody knows whether it is held")
    assert (await store.get(Thread, *KEY)).owner == "one"
    await debts.settle()
    thread = await store.get(Thread, *KEY)
    assert (thread.attempts, thread.owner) == (0, None)


async def test_a_thread_that_cannot_be_read_keeps_no_other_from_being_given_back() -> None:
    store = ShakyStore()
    debts = PendingReleases(store, utc_now)
    for id in ("t1", "t2"):
        await begun(store, id)
        store.loses_reply = True
        with pytest.raises(UnavailableError):
            async with hold_thread_lease(store, utc_now, Key("default", id), "one", debts):
                pytest.fail("nobody knows whether it is held")
    store.unreadable = frozenset({"t1"})
    await debts.settle()
    assert (await store.get(Thread, "default", "t2")).owner is None


async def test_a_cancel_from_outside_is_no_lost_lease() -> None:
    store = MemoryStore()
    await begun(store)

    held = asyncio.Event()
    task = asyncio.create_task(hold_for_ever(store, held.set))
    await held.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_checkpoint_under_an_old_fence_is_refused(url: str) -> None:
    async with opened(url) as world:
        begun = await world.start("refund", {"order": 1, "amount": 2})
        config: Any = {"configurable": {"thread_id": "x", "checkpoint_ns": ""}}

        async def put(held: Thread) -> None:
            saver = world.backend.savers(held)
            saved = await saver.aput(config, empty_checkpoint(), {}, {})
            await saver.aput_writes(saved, [("channel", 1)], "task")

        await put(begun)
        _, held = await change_record(world.backend.store, Thread, KEY, lambda t: t.acquired("two", utc_now(), LEASE))
        await put(held)
        for other in ({"fence": 0}, {"fence": 2}, {"owner": "of the same fence"}, {"owner": None}):
            with pytest.raises(FenceError):
                await put(held.model_copy(update=other))
        saver = world.backend.savers(begun)
        assert len([found async for found in saver.alist(config)]) == 2


async def test_a_checkpoint_of_a_thread_that_is_not_there_is_refused(url: str) -> None:
    async with opened(url) as world:
        config: Any = {"configurable": {"thread_id": "x", "checkpoint_ns": ""}}
        with pytest.raises((FenceError, NotFoundError)):
            await world.backend.savers(a_thread("t1")[0]).aput(config, empty_checkpoint(), {}, {})


async def test_a_refused_checkpoint_leaves_its_neighbours_in_the_group_alone(file: str) -> None:
    async with opened(file) as world:
        threads = [f"t{n}" for n in range(20)]
        begun = [await world.start("two_questions", {}, id) for id in threads]

        async def put(thread: Thread, fence: int) -> None:
            config: Any = {"configurable": {"thread_id": thread.id, "checkpoint_ns": ""}}
            saver = world.backend.savers(thread.model_copy(update={"fence": fence}))
            await saver.aput(config, empty_checkpoint(), {}, {})

        puts = [put(thread, n % 2) for n, thread in enumerate(begun)]
        results = await asyncio.gather(*puts, return_exceptions=True)
        assert [isinstance(result, FenceError) for result in results] == [bool(n % 2) for n in range(20)]
        for n, thread in enumerate(begun):
            config: Any = {"configurable": {"thread_id": thread.id}}
            assert bool(await world.backend.savers(thread).aget_tuple(config)) == (n % 2 == 0)


async def test_two_workers_run_a_thread_one_at_a_time(file: str) -> None:
    inside: list[str] = []
    most = 0

    async def work(state: Log) -> Log:
        nonlocal most
        inside.append("x")
        most = max(most, len(inside))
        await pause(0.02)
        inside.pop()
        return {"log": [str(ask("go on?").status)]}

    graph = StateGraph(Log)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_edge("work", END)
    agent = Agent("work", graph.compile(), input=lambda _: {"log": []}, output=dict)
    async with opened(file, [agent]) as one, opened(file, [agent]) as two, working(one, two):
        await one.run("work", {})
        await one.answer(await one.one(), "respond", message="yes")
        assert most == 1
        assert len(await one.asked()) == 1
        checked(await one.items())


async def test_two_workers_share_many_threads(file: str) -> None:
    async with opened(file) as one, opened(file) as two, working(one, two):
        ids = [f"t{n}" for n in range(12)]
        await asyncio.gather(*(one.start("two_questions", {}, id) for id in ids))
        for id in ids:
            await one.rest(id)
        asked = [request for id in ids for request in await one.pending(id)]
        assert len(asked) == 24
        await asyncio.gather(*(two.respond(request, "respond", message="x") for request in asked))
        for id in ids:
            assert (await one.rest(id)).status == "done"
            checked(await one.items(id))
        await one.verified()


class Stalls:
    """A node that stands still the first time until it is let go."""

    def __init__(self) -> None:
        self.runs = 0
        self.begun, self.let_go = asyncio.Event(), asyncio.Event()

    async def __call__(self, state: Log) -> Log:
        self.runs += 1
        if self.runs == 1:
            self.begun.set()
            await asyncio.wait_for(self.let_go.wait(), 20)
        return {"log": [f"run {self.runs}"]}

    @property
    def agent(self) -> Agent:
        graph = StateGraph(Log)
        graph.add_node("stalls", self.__call__)
        graph.add_edge(START, "stalls")
        graph.add_edge("stalls", END)
        return Agent("stalls", graph.compile(), input=lambda _: {"log": []}, output=dict)


async def seize(world: World) -> Thread:
    """Take a thread from its worker, as happens after the lease of one that stands still."""
    later = utc_now() + timedelta(hours=1)
    _, thread = await change_record(
        world.backend.store, Thread, KEY, lambda t: t.acquired("newer", later, timedelta(seconds=-3599))
    )
    return thread


async def test_a_worker_that_lost_its_thread_neither_commits_nor_speaks(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "LEASE_SECONDS", 60.0)
    stalls = Stalls()
    async with at_work(url, [stalls.agent]) as world:
        await world.start("stalls", {})
        await asyncio.wait_for(stalls.begun.wait(), 20)
        taken = await seize(world)
        await world.backend.stream.append(KEY, [], fence=taken.fence)
        before = await world.items()
        stalls.let_go.set()
        thread = await world.rest()
        assert (thread.status, thread.fence) == ("done", taken.fence + 1)
        assert stalls.runs == 2
        assert thread.values == {"log": ["run 2"]}
        items = await world.items()
        checked(items)
        assert items[: len(before)] == before
        assert len(of_type(items, "RUN_STARTED")) == 1


async def test_a_job_outlives_the_lease_of_a_worker_that_died(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The dead worker's claim ended before its lease, and no reconciler will submit the job again.
    monkeypatch.setattr(Reconciler, "reconcile", nothing)
    stalls = Stalls()
    stalls.let_go.set()
    async with opened(url, [stalls.agent]) as world:
        await world.start("stalls", {})
        held = timedelta(seconds=2)
        await change_record(world.backend.store, Thread, KEY, lambda thread: thread.acquired("dead", utc_now(), held))
        async with working(world):
            thread = await world.rest()
        assert (thread.status, thread.values) == ("done", {"log": ["run 1"]})


async def nothing(_: Reconciler) -> None:
    """Submit nothing."""


async def test_a_store_in_trouble_does_not_end_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened("memory://") as world, working(world):
        append, failures = world.backend.stream.append, iter([UnavailableError("busy")])

        async def shaky(key: Key, items: list[StreamItem], *, fence: int) -> int:
            error = next(failures, None) if items else None
            if error:
                raise error
            return await append(key, items, fence=fence)

        monkeypatch.setattr(world.backend.stream, "append", shaky)
        thread = await world.run("refund", {"order": 1, "amount": 2})
        assert thread.status == "interrupted"
        assert len(await world.texts()) == 1
