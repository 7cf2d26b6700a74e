"""Pauses of agents: what waits, what does not run, and what goes on exactly once afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.graph import END, START, StateGraph
from tests.runs.test_stream import Log
from tests.runs.world import World, opened, until, working

import ringi
from ringi import Action, Approval, ask
from ringi.audit.verify import verify_store
from ringi.base.outages import PausedError
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.contracts.backend import Backend
from ringi.contracts.store import change_record
from ringi.domain.journal import Journal, entries_in
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import InvalidError, NotFoundError, UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.integrations.functions import gate
from ringi.runs.agent import Agent
from ringi.runs.lease import Lease
from ringi.runs.worker import Worker
from ringi.testing.model import ScriptedModel, scripted_turns, tool_call

POLICY = {"rules": [{"tools": ["pay"], "allowed": ["approve", "reject"]}]}


class Payments:
    """The payments that an agent has made."""

    def __init__(self) -> None:
        self.made: list[int] = []

    async def pay(self, amount: int) -> str:
        """Pay an amount."""
        self.made.append(amount)
        return "paid"


def payer(payments: Payments, name: str = "payer", before: Callable[[], Awaitable[object]] | None = None) -> Agent:
    """Return an agent that pays once, after a step that takes as long as the test wants."""

    async def prepare(state: Log) -> Log:
        return {"log": []}

    pay = gate(POLICY)(payments.pay)

    async def step(state: Log) -> Log:
        if before:
            await before()
        return {"log": [await pay(amount=7)]}

    graph = StateGraph(Log)
    graph.add_node("prepare", prepare)
    graph.add_node("step", step)
    graph.add_edge(START, "prepare")
    graph.add_edge("prepare", "step")
    graph.add_edge("step", END)
    return Agent(name, graph.compile(), input=lambda _: {"log": []}, output=dict)


@asynccontextmanager
async def two_workers(url: str, *agents: list[Agent]) -> AsyncIterator[tuple[World, World]]:
    async with opened(url, agents[0]) as here, opened(url, agents[-1]) as there, working(here, there):
        yield here, there


async def asked(world: World, agent: str = "payer", id: str = "t1", tenant: str = "default") -> Request:
    """Run an agent up to its question."""
    await world.run(agent, {}, id, tenant)
    return await world.one(id, tenant)


async def deferred(world: World, id: str = "t1", tenant: str = "default") -> Thread:
    """Return the thread once a worker has looked at its job and put it back."""
    seen = 0
    find = Worker._has_work

    async def counted(self: Worker, *args: Any) -> bool:
        nonlocal seen
        has_work = await find(self, *args)
        seen += has_work
        return has_work

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Worker, "_has_work", counted)

        async def has_looked() -> bool:
            return seen >= 2

        await until(has_looked, "the worker has looked at the run twice")
    return await world.thread(id, tenant)


async def test_an_answered_run_waits_for_the_end_of_the_pause_and_pays_once(url: str) -> None:
    payments = Payments()
    async with opened(url, [payer(payments)]) as world, working(world):
        request = await asked(world)
        pause = await world.inbox.pauses.begin("wrong amounts", by="ann", agent="payer")

        answered = await world.respond(request, "approve")
        assert answered.status == "completed"
        thread = await deferred(world)
        assert (thread.status, thread.attempts, thread.outages, payments.made) == ("interrupted", 0, None, [])

        await world.inbox.pauses.end(pause.id, by="bob")
        assert (await world.rest()).status == "done"
        assert payments.made == [7]
        await world.verified()


async def test_a_new_run_is_accepted_and_begins_after_the_pause(url: str) -> None:
    payments = Payments()
    async with opened(url, [payer(payments)]) as world, working(world):
        pause = await world.inbox.pauses.begin("maintenance", by="ann")
        await world.start("payer", {})
        thread = await deferred(world)
        assert (thread.status, thread.attempts, await world.asked()) == ("running", 0, [])
        await world.inbox.pauses.end(pause.id, by="ann")
        await world.rest()
        assert len(await world.pending()) == 1


async def test_a_pause_of_one_agent_leaves_other_agents_and_tenants(url: str) -> None:
    payments = Payments()
    agents = [payer(payments), payer(payments, "other")]
    async with opened(url, agents) as world, working(world):
        waiting = await asked(world)
        await world.inbox.pauses.begin("only this one", by="ann", agent="payer")
        await world.respond(waiting, "approve")
        assert (await world.answer(await asked(world, "other", "t2"), "approve")).status == "done"
        assert (await world.answer(await asked(world, "payer", "t3", "acme"), "approve")).status == "done"
        assert (payments.made, (await world.thread()).status) == ([7, 7], "interrupted")


async def test_a_pause_of_a_tenant_stops_all_its_agents_and_no_other_tenants(url: str) -> None:
    payments = Payments()
    agents = [payer(payments), payer(payments, "other")]
    async with opened(url, agents) as world, working(world):
        waiting = [await asked(world, "payer", "t1"), await asked(world, "other", "t2")]
        elsewhere = await asked(world, "other", "t3", "acme")
        await world.inbox.pauses.begin("all of them", by="ann")
        for request in waiting:
            await world.respond(request, "approve")
        assert (await world.answer(elsewhere, "approve")).status == "done"
        await deferred(world)
        assert payments.made == [7]


async def test_a_pause_ends_by_itself(url: str) -> None:
    payments = Payments()
    async with opened(url, [payer(payments)]) as world, working(world):
        request = await asked(world)
        until = world.inbox.clock() + timedelta(seconds=1.5)
        await world.inbox.pauses.begin("a moment", by="ann", agent="payer", until=until)
        await world.respond(request, "approve")
        assert (await world.rest()).status == "done"
        assert world.inbox.clock() >= until
        assert (payments.made, await world.inbox.pauses.list()) == ([7], [])


async def test_expiry_goes_on_during_a_pause(url: str) -> None:
    payments = Payments()
    async with opened(url, [payer(payments)]) as world, working(world):
        pause = await world.inbox.pauses.begin("wait", by="ann")
        request = await world.inbox.ask("Go?", expires_in=0.2)
        assert (await world.inbox.wait(request, timeout=20)).status == "expired"
        await world.inbox.pauses.end(pause.id, by="ann")


async def test_a_call_about_to_run_in_another_process_is_stopped_and_runs_once_after_the_pause(url: str) -> None:
    payments, is_there, go = Payments(), asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        # Not before the question: the answer must have been handed over.
        if answered:
            is_there.set()
            await go.wait()

    answered: list[Request] = []
    async with opened(url, [payer(payments, before=hold)]) as there, beside(there, url) as here, working(there):
        request = await asked(there)
        answered.append(request)
        await here.respond(request, "approve")
        await asyncio.wait_for(is_there.wait(), 20)
        pause = await here.inbox.pauses.begin("stop now", by="ann", agent="payer")
        go.set()
        thread = await until(lambda: released(there), "the run stops")
        assert (thread.attempts, thread.outages, payments.made) == (0, None, [])
        await here.inbox.pauses.end(pause.id, by="ann")
        assert (await there.rest()).status == "done"
        assert payments.made == [7]
        await there.verified()


@asynccontextmanager
async def beside(world: World, url: str) -> AsyncIterator[World]:
    """Open the store again; one in memory has one process only."""
    if url == "memory://":
        yield world
        return
    async with opened(url, []) as other:
        yield other


async def released(world: World) -> Thread | None:
    thread = await world.thread()
    return thread if thread.status == "running" and thread.owner is None else None


async def test_a_tool_under_approval_is_stopped_too_and_no_message_says_that_it_failed(url: str) -> None:
    payments, paused = Payments(), list[str]()

    async def pay(amount: int) -> str:
        """Pay an amount."""
        return await payments.pay(amount)

    model = ScriptedModel(script=scripted_turns(tool_call("pay", amount=7), "done"))
    agent = Agent("payer", create_agent(model, [pay], middleware=[Approval(POLICY, [pay])]))
    async with opened(url, [agent]) as world, working(world):
        await world.start("payer", {"messages": [{"role": "user", "content": "pay"}]})
        await world.rest()
        request = await world.one()
        find = world.runner.pauses.find

        async def find_and_pause(tenant: str, agent: str, *, is_fresh: bool = False) -> Any:
            # Between the look of the worker and the call.
            found = await find(tenant, agent, is_fresh=is_fresh)
            if not paused:
                paused.append((await world.inbox.pauses.begin("stop", by="ann")).id)
            return found

        world.runner.pauses.find = find_and_pause  # type: ignore[method-assign]
        await world.respond(request, "approve")
        await until(lambda: is_released_or_waiting(world, paused), "the run stops")
        assert payments.made == []
        await world.inbox.pauses.end(paused[0], by="ann")
        thread = await world.rest()
        assert (thread.status, payments.made) == ("done", [7])


async def is_released_or_waiting(world: World, paused: list[str]) -> bool:
    return bool(paused) and (await world.thread()).owner is None


async def test_nothing_runs_while_the_pauses_cannot_be_read(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    payments, is_away = Payments(), [True]
    async with opened(url, [payer(payments)]) as world, working(world):
        request = await asked(world)
        get = world.backend.store.get

        async def shaky(kind: Any, *key: str) -> Any:
            if kind is Journal and is_away[0]:
                raise UnavailableError("no answer")
            return await get(kind, *key)

        monkeypatch.setattr(world.backend.store, "get", shaky)
        await world.respond(request, "approve")
        await deferred(world)
        assert payments.made == []
        is_away[0] = False
        assert (await world.rest()).status == "done"
        assert payments.made == [7]


async def test_two_workers_leave_a_paused_run_and_one_of_them_continues_it(file: str) -> None:
    payments = Payments()
    async with two_workers(file, [payer(payments)]) as (here, there):
        request = await asked(here)
        pause = await here.inbox.pauses.begin("both", by="ann", agent="payer")
        await there.respond(request, "approve")
        await deferred(here)
        assert payments.made == []
        await there.inbox.pauses.end(pause.id, by="ann")
        assert (await here.rest()).status == "done"
        assert payments.made == [7]


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    urls = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'r.db'}"}
    if request.param in ("postgres", "redis"):
        fixture = {"postgres": "postgres_url", "redis": "durable_redis_url"}[request.param]
        part = "schema" if request.param == "postgres" else "prefix"
        urls[request.param] = f"{request.getfixturevalue(fixture)}?{part}=p{tmp_path.name.replace('-', '')[-20:]}"
    async with open_backend(urls[request.param]) as backend:
        yield backend


async def test_each_pause_and_its_end_are_entries_of_a_verified_journal(backend: Backend) -> None:
    inbox = StoreInbox(backend.store, backend.notifier)
    first = await inbox.pauses.begin("wrong amounts", by="ann", agent="payer")
    assert await inbox.pauses.begin("wrong amounts", by="ann", agent="payer") == first
    second = await inbox.pauses.begin("all", by="bob")
    assert await inbox.pauses.list() == [first, second]
    assert await inbox.for_tenant("acme").pauses.list() == []
    await inbox.pauses.end(first.id, by="carl")
    assert await inbox.pauses.list() == [second]
    with pytest.raises(NotFoundError, match=first.id):
        await inbox.pauses.end(first.id, by="carl")
    with pytest.raises(NotFoundError):
        await inbox.for_tenant("acme").pauses.end(second.id, by="carl")
    entries = entries_in(await backend.store.events(record_id="pauses"))
    assert [(each.by, *sorted(each.entry)) for each in entries] == [
        ("ann", "agent", "pause", "reason", "until"),
        ("bob", "agent", "pause", "reason", "until"),
        ("carl", "resume"),
    ]
    assert (await verify_store(backend.store))[1] == []


async def test_pauses_at_once_are_all_recorded(backend: Backend) -> None:
    inbox = StoreInbox(backend.store, backend.notifier)
    made = await asyncio.gather(*(inbox.pauses.begin(f"number {n}", by="ann") for n in range(5)))
    assert {each.id for each in await inbox.pauses.list()} == {each.id for each in made}


async def test_an_erased_administrator_leaves_a_pause_in_force_without_a_name(backend: Backend) -> None:
    async with open_inbox_on_backend(backend) as inbox:
        pause = await inbox.pauses.begin("Bob asked me to", by="ann", agent="payer")
        other = await inbox.pauses.begin("maintenance", by="cem", agent="other")
        done = await inbox.trail.erase(person="ann", by="root")
        assert list(done.journals) == ["pauses"]
        after = {each.id: each for each in await inbox.pauses.list()}
        assert (after[pause.id].by, after[pause.id].reason) == ("erased:person", "")
        assert after[other.id] == other
        with pytest.raises(PausedError):
            await inbox.pauses.check("payer")
        journal = await backend.store.get(Journal, "default", "pauses")
        assert "Bob" not in str(journal.model_dump())
        assert (await verify_store(backend.store))[1] == []


async def test_a_pause_that_is_over_before_it_begins_is_refused(backend: Backend) -> None:
    inbox = StoreInbox(backend.store, backend.notifier)
    with pytest.raises(InvalidError, match="until"):
        await inbox.pauses.begin("late", by="ann", until=inbox.clock() - timedelta(seconds=1))
    with pytest.raises(InvalidError, match="reason"):
        await inbox.pauses.begin("", by="ann")


async def test_a_gated_function_outside_of_a_run_is_refused_during_a_pause_and_runs_after_it(file: str) -> None:
    payments = Payments()
    async with ringi.open(file) as inbox:
        pay = gate(POLICY, inbox=inbox, key="payment-1")(payments.pay)
        paying = asyncio.create_task(pay(amount=7))

        async def open_request() -> Request | None:
            return next(iter(await inbox.find()), None)

        request = await until(open_request, "the question")
        pause = await inbox.pauses.begin("stop", by="ann")
        await inbox.respond(request, "approve", by="bob")
        with pytest.raises(PausedError, match="paused by 'ann'"):
            await paying
        assert payments.made == []
        await inbox.pauses.end(pause.id, by="ann")
        assert await pay(amount=7) == "paid"
        assert payments.made == [7]


def asker(payments: Payments, before: Callable[[], Coroutine[Any, Any, object]]) -> Agent:
    """Return an agent that asks and pays in one step of its own code, without a gate."""

    async def step(state: Log) -> Log:
        await before()
        request = ask("Pay?", action=Action("pay", {"amount": 7}))
        request.authorize("pay", {"amount": 7})
        return {"log": [await payments.pay(amount=7)]}

    graph = StateGraph(Log).add_node("step", step).add_edge(START, "step")
    return Agent("payer", graph.compile(), input=lambda _: {"log": []}, output=dict)


def blocking_asker(payments: Payments, before: Callable[[], Coroutine[Any, Any, object]]) -> Agent:
    """Return the same with a step that is no coroutine, which LangGraph runs in a thread."""
    loop = asyncio.get_running_loop()

    def step(state: Log) -> Log:
        asyncio.run_coroutine_threadsafe(before(), loop).result(10)
        request = ask("Pay?", action=Action("pay", {"amount": 7}))
        request.authorize("pay", {"amount": 7})
        payments.made.append(7)
        return {"log": ["paid"]}

    graph = StateGraph(Log).add_node("step", step).add_edge(START, "step")
    return Agent("payer", graph.compile(), input=lambda _: {"log": []}, output=dict)


def gated_payer(payments: Payments, before: Callable[[], Coroutine[Any, Any, object]]) -> Agent:
    return payer(payments, before=before)


@pytest.mark.parametrize("make", [gated_payer, asker, blocking_asker])
async def test_a_worker_that_was_suspended_does_not_begin_a_call_that_another_one_has(
    url: str, make: Callable[..., Agent]
) -> None:
    """The other worker holds the run for a second; the call is made once, after that."""
    payments, entered = Payments(), 0

    async def suspended() -> None:
        nonlocal entered
        entered += 1
        if entered == 2:
            lease, late = next(iter(world.runner._held_leases)), world.inbox.clock() + timedelta(minutes=1)
            taken = lambda thread: thread.acquired("other", late, timedelta(seconds=-59))  # noqa: E731
            await change_record(world.backend.store, Thread, lease.key, taken)
            lease.valid_until = 0.0

    async with opened(url, [make(payments, suspended)]) as world, working(world):
        request = await asked(world)
        await world.respond(request, "approve")
        assert (await world.rest()).status == "done"

    assert (entered, payments.made) == (3, [7])


@pytest.mark.parametrize("make", [asker, blocking_asker])
async def test_a_late_renewal_alone_refuses_no_call(url: str, make: Callable[..., Agent]) -> None:
    payments, entered = Payments(), 0

    async def late() -> None:
        nonlocal entered
        entered += 1
        next(iter(world.runner._held_leases)).valid_until = 0.0

    async with opened(url, [make(payments, late)]) as world, working(world):
        await world.respond(await asked(world), "approve")
        assert (await world.rest()).status == "done"

    assert (entered, payments.made) == (2, [7])


async def test_a_task_that_outlives_its_run_may_authorize_its_call(url: str) -> None:
    lease, may_go, tasks = list[Lease](), asyncio.Event(), list[asyncio.Task[None]]()

    async def step(state: Log) -> Log:
        request = ask("Pay?", action=Action("pay", {"amount": 7}))

        async def later() -> None:
            await may_go.wait()
            request.authorize("pay", {"amount": 7})

        lease.extend(world.runner._held_leases)
        tasks.append(asyncio.create_task(later()))
        return {"log": ["begun"]}

    graph = StateGraph(Log).add_node("step", step).add_edge(START, "step")
    agent = Agent("payer", graph.compile(), input=lambda _: {"log": []}, output=dict)
    async with opened(url, [agent]) as world, working(world):
        await world.respond(await asked(world), "approve")
        assert (await world.rest()).status == "done"
        lease[0].valid_until = 0.0
        may_go.set()

        await tasks[0]
