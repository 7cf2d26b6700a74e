"""`python -m tests.faults.chaos --minutes 10`: kill servers, workers and PostgreSQL under load, then check."""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.faults.chaos.checker import End, broken_rules, hand_overs
from tests.faults.chaos.fleet import Fleet
from tests.faults.chaos.history import Call, History
from tests.faults.chaos.load import Load
from tests.faults.chaos.receiver import listening
from tests.servers import MortalPostgres, PostgresPair, mortal_postgres, pgbouncer, postgres_pair, redis

from ringi.audit.verify import verify_store
from ringi.connect import open_backend
from ringi.contracts.store import R, Store
from ringi.domain.record import START, Event, Query, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.thread import Thread

SETTLES = 120.0


class Plan(NamedTuple):
    """How much goes on, and how much harm is done."""

    seconds: float
    every: float = 3.0
    """Seconds from one harm to the next."""
    pause: float = 0.2
    """Seconds from one question to the next."""
    seed: int = 1
    store: MortalPostgres | PostgresPair | None = None
    """The store, when it is to be killed too."""
    settings: Mapping[str, str] = {}
    """More of the members' environment."""


async def chaos(folder: Path, url: str, plan: Plan) -> dict[str, Any]:
    """Let everything go on while members die, wait until all is quiet, and return what the checker says."""
    with History(folder / "history.jsonl") as history:
        async with (
            listening(folder, history) as webhooks,
            Fleet(folder, url, more={**plan.settings, **webhooks}) as running,
            Load(running, history) as load,
        ):
            watching, began = asyncio.create_task(load.watch()), time.monotonic()
            await asyncio.wait_for(load.is_watched.wait(), SETTLES)
            with suppress(TimeoutError):
                await asyncio.wait_for(everything(running, load, plan), plan.seconds)
            lasted = time.monotonic() - began
            async with asyncio.timeout(SETTLES):
                await running.ready()
                await load.settle()
                await load.catch_up()
                await load.deliver()
            await ended(watching)
            end = await end_of(running, url)
        return report(history, end, running) | {"seconds": round(lasted)}


async def chaos_with_failovers(folder: Path, plan: Plan) -> dict[str, Any]:
    """Do the same on a PostgreSQL whose standby takes over, by way of a PgBouncer that is then told so."""
    with postgres_pair() as pair, pgbouncer(pair.url, "session") as pooler:
        pair.moved = pooler.leads_to
        return await chaos(folder, f"{pooler.url}?pool=5", plan._replace(store=pair))


async def everything(running: Fleet, load: Load, plan: Plan) -> None:
    """Ask, answer, look and do harm until cancelled; in the end nothing is dead or stopped."""
    dice = random.Random(plan.seed)
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run(plan.pause))
        group.create_task(running.suffer(dice, plan.every))
        if plan.store:
            group.create_task(running.lose_store(plan.store, dice, plan.every * 3))


async def ended(task: asyncio.Task[None]) -> None:
    """Cancel a task, and raise what it died of before."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@asynccontextmanager
async def under_load(running: Fleet, history: History) -> AsyncIterator[None]:
    """Let everything go on during the block, and return when all is quiet."""
    async with Load(running, history) as load:
        watching = asyncio.create_task(load.watch())
        await asyncio.wait_for(load.is_watched.wait(), SETTLES)
        working = asyncio.create_task(load.run(1.0))
        yield
        await ended(working)
        async with asyncio.timeout(SETTLES):
            await load.settle()
            await load.catch_up()
        await ended(watching)


async def end_of(running: Fleet, url: str) -> End:
    """Read what is stored."""
    async with open_backend(url) as backend:
        store = backend.store
        requests, threads, events = await all_of(store, Request), await all_of(store, Thread), await all_events(store)
        _, findings = await verify_store(store)
    effects = running.effects.read_text().splitlines() if running.effects.exists() else []
    return End(
        {record["id"]: record for record in dumped(requests)},
        [event.model_dump(mode="json") for event in events],
        dumped(threads),
        effects,
        [str(finding) for finding in findings],
    )


def dumped(records: list[Any]) -> list[dict[str, Any]]:
    """Return the first tenant's records as JSON."""
    return [record.model_dump(mode="json") for record in records if record.tenant == "default"]


async def all_of(store: Store, kind: type[R]) -> list[R]:
    """Return all records of a kind."""
    found: list[R] = []
    while page := await store.find(kind, Query(limit=200, before=cursor_after_record(found[-1]) if found else None)):
        found += page
    return found


async def all_events(store: Store) -> list[Event]:
    """Return all events of the first tenant."""
    found, position = list[Event](), START
    while page := await store.events(position, 500):
        found, position = found + page, page[-1].position
    return [event for event in found if event.tenant == "default"]


def report(history: History, end: End, running: Fleet) -> dict[str, Any]:
    """Return the figures, and under `broken` what breaks a rule."""
    calls = list(history.calls())
    waits = hand_overs(end)
    return {
        "calls": len(calls),
        "calls without an answer": sum(call.code is None for call in calls),
        "refused with 5xx": sum((call.code or 0) >= 500 for call in calls),
        "answers acknowledged": sum(call.op == "respond" and call.code == 200 for call in calls),
        "deliveries": sum(call.op == "sent" for call in calls),
        "longest time without an acknowledged change, seconds": round(longest_pause(calls), 1),
        "answers too late": sum(call.op == "respond" and call.code == 409 for call in calls),
        "requests": len(end.requests),
        "runs": len(end.threads),
        "events": len(end.events),
        "effects, and of them repeated": [len(end.effects), len(end.effects) - len(set(end.effects))],
        "harm": dict(running.harm),
        "taken up after seconds, p50, p99, max": [round(part(waits, q), 3) for q in (0.5, 0.99, 1)],
        "broken": broken_rules(calls, end),
    }


def longest_pause(calls: Sequence[Call]) -> float:
    """Return the longest time in which no change was acknowledged."""
    times = sorted(c.returned for c in calls if c.op in ("ask", "start", "respond") and c.code in (200, 201, 202))
    return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


def part(ordered: list[float], share: float) -> float:
    """Return the value below which a share of the ordered values lies."""
    return ordered[int(share * (len(ordered) - 1))] if ordered else float("nan")


def main() -> int:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", help="the store; by default a new PostgreSQL that is killed too")
    parser.add_argument("--failover", action="store_true", help="a standby and PgBouncer, from Debian, in place of it")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--every", type=float, default=3, help="seconds from one harm to the next")
    parser.add_argument("--pause", type=float, default=0.2, help="seconds from one question to the next")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--redis", action="store_true", help="wake up by way of a Redis")
    parser.add_argument("--folder", type=Path, help="where history and log are kept")
    options = parser.parse_args()
    plan = Plan(options.minutes * 60, options.every, options.pause, options.seed)
    with ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {"RINGI_REDIS_URL": stack.enter_context(redis())} if options.redis else {}
        if options.failover:
            figures = asyncio.run(chaos_with_failovers(folder, plan._replace(settings=settings)))
        else:
            store = None if options.url else stack.enter_context(mortal_postgres())
            url = store.url if store else options.url
            figures = asyncio.run(chaos(folder, url, plan._replace(store=store, settings=settings)))
    print(json.dumps(figures, indent=2))
    return int(any(figures["broken"].values()))


if __name__ == "__main__":
    sys.exit(main())
