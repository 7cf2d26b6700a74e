"""A hundred thousand requests expire in one moment: the time until all have ended, and the delay of other calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from redis.asyncio import Redis
from tests.mortal_redis import mortal_redis
from tests.servers import mortal_postgres, redis_program

from benchmarks.inboxes import POLL, approve, ask, spread
from benchmarks.measure import Row, folder, percentile
from ringi.base.clock import utc_now
from ringi.connect import open_backend
from ringi.contracts.store import Store
from ringi.domain.ask import Ask
from ringi.domain.record import Event, Query
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

DUE = 100_000
WRITERS = 256
QUIET_SECONDS = 4.0
PAUSE = 0.02
VERBS = ("ask", "list", "respond", "wake")


async def hundred_thousand() -> list[Row]:
    """Expire them in one process that others use meanwhile, on each store."""
    with folder() as path:
        rows = await on_store("SQLite", f"sqlite:///{path / 'due.db'}", f"sqlite:///{path / 'due.db'}")
    with mortal_postgres() as server:
        rows += await on_store("PostgreSQL", server.url, f"{server.url}?pool=32&synchronous_commit=off")
    with mortal_redis(redis_program()) as redis:
        async with hurried(redis.url):
            await fill(f"{redis.url}?durability=everysec")
        rows += await on_store("Redis", redis.url, None)
    return rows


@asynccontextmanager
async def hurried(url: str) -> AsyncIterator[None]:
    """Let Redis write to its disk later, for the block."""
    redis = Redis.from_url(url)
    await redis.config_set("appendfsync", "everysec")
    yield
    await redis.config_set("appendfsync", "always")
    await redis.aclose()


async def on_store(name: str, url: str, filling: str | None) -> list[Row]:
    if filling:
        await fill(filling)
    async with open_backend(url, poll_interval=POLL) as backend:
        inbox = StoreInbox(backend.store, backend.notifier)
        async with inbox.feed:
            quiet = await used(inbox, asyncio.create_task(asyncio.sleep(QUIET_SECONDS)))
            other = await overdue(inbox, "other")
            began = time.perf_counter()
            sweep = asyncio.create_task(inbox.expire_due())
            waiting = asyncio.create_task(ended_after(inbox.for_tenant("other"), other, began))
            swept = await used(inbox, sweep)
            seconds, late = time.perf_counter() - began, await waiting
            if sweep.result() <= DUE:
                raise RuntimeError(f"{sweep.result()} have ended")
    return [
        Row(f"{name}: {DUE:,} requests expire in one moment: until all have ended", "s", [seconds], at_most=60),
        Row(f"{name}: meanwhile another tenant's one, due last: until it has ended", "s", [late], at_most=1),
        *(
            Row(f"{name}: meanwhile {verb}, p99, beside without", "ms", [swept.p99(verb)], [quiet.p99(verb)])
            for verb in VERBS
        ),
    ]


@dataclass
class Times:
    """The wait times of a user of the inbox, by method."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {verb: [] for verb in VERBS})

    def p99(self, verb: str) -> float:
        return percentile(self.seconds[verb], 99) * 1e3

    @contextmanager
    def of(self, verb: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[verb].append(time.perf_counter() - began)


async def used(inbox: StoreInbox, until: asyncio.Task[object]) -> Times:
    """Ask, list, answer and wait in a loop until a task is done."""
    times = Times()
    while not until.done():
        with times.of("ask"):
            request = await ask(inbox)
        waiting = asyncio.create_task(awake(inbox, request))
        with times.of("list"):
            await inbox.search(Query(statuses=("pending",)))
        with times.of("respond"):
            await approve(inbox, request)
        answered = time.perf_counter()
        times.seconds["wake"].append(max(0.0, await waiting - answered))
        await asyncio.sleep(PAUSE)
    return times


async def awake(inbox: StoreInbox, request: Request) -> float:
    await inbox.wait(request.id, timeout=60)
    return time.perf_counter()


async def ended_after(inbox: StoreInbox, request: Request, began: float) -> float:
    await inbox.wait(request.id, 60)
    return time.perf_counter() - began


async def overdue(inbox: StoreInbox, tenant: str) -> Request:
    """Ask for another tenant, due now and therefore after all other requests."""
    return await inbox.for_tenant(tenant).submit(Ask.parse({"title": "Late?", "expires_at": utc_now().isoformat()}))


async def fill(url: str) -> None:
    async with open_backend(url) as backend:
        asked, created = Request.asked(
            Ask.parse({"title": "Refund?", "description": "The customer wrote twice.", "expires_in": 1}),
            id="due",
            now=utc_now() - timedelta(hours=1),
            by="agent:bot",
        )

        async def one(n: int) -> None:
            await put_copy(backend.store, asked, created, n)

        await spread(range(DUE), one, callers=WRITERS)


async def put_copy(store: Store, asked: Request, created: Event, n: int) -> None:
    """Store a copy of a request; its content does not affect how it expires."""
    id = f"due-{n}"
    at = asked.created_at + timedelta(microseconds=n)
    request = asked.model_copy(update={"id": id, "created_at": at})
    await store.put(request, created.model_copy(update={"record_id": id, "at": at}))
