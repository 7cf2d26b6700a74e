"""Agents' threads in this process, compared with one small transaction on the same store."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.inboxes import POLL
from benchmarks.wakes import parts_on
from ringi.backends.sqlite.checkpoints import FencedSqliteSaver
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import SqliteNotifier
from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.domain.ask import Action, Ask, Continuation
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker

LIMIT = 20.0


class Desk(NamedTuple):
    """A store with a running worker."""

    backend: Backend
    inbox: StoreInbox
    runner: Worker

    async def until(self, thread: Thread, *statuses: str, limit: float = LIMIT) -> Thread:
        """Return the thread when it has one of these statuses."""
        async with asyncio.timeout(limit), self.backend.notifier.subscribe(thread.topic) as wakeup:
            while (now := await self.runner.get(*thread.key)).status not in statuses:
                await wakeup.wait(1)
        return now

    async def put_one(self, thread_id: str) -> float:
        """Return the seconds of one small transaction: a request of a thread, and its event."""
        ask = Ask(title="Run refund?", action=Action("refund", {"order": 1182, "amount": 40}), thread_id=thread_id)
        waits = Continuation(runner="langgraph", target="office", key=thread_id, args={})
        record = Request.asked(ask, id=f"small-{thread_id}", now=self.inbox.clock(), by="bench", continuation=waits)
        began = time.perf_counter()
        await self.backend.store.put(*record)
        return time.perf_counter() - began


@asynccontextmanager
async def desk_at(url: str, agents: Iterable[Agent]) -> AsyncIterator[Desk]:
    """Open a store and run a worker on it for the block."""
    async with open_backend(url, poll_interval=POLL) as backend, desk_on(backend, agents) as desk:
        yield desk


@asynccontextmanager
async def desk_on(backend: Backend, agents: Iterable[Agent]) -> AsyncIterator[Desk]:
    """Run a worker on an open store."""
    async with open_inbox_on_backend(backend) as inbox:
        runner, stop = Worker(backend, inbox, agents_by_name(agents)), asyncio.Event()
        working = asyncio.create_task(runner.work(stop))
        yield Desk(backend, inbox, runner)
        stop.set()
        await working


class CommitsDatabase(SqliteDatabase):
    """A database that records the time of each commit."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.noted: list[float] = []

    def _connect(self) -> sqlite3.Connection:
        connection = super()._connect()
        connection.set_trace_callback(noting(self.noted))
        return connection


def noting(times: list[float]) -> Any:
    return lambda sql: times.append(time.perf_counter()) if sql.startswith("COMMIT") else None


@asynccontextmanager
async def counting_desk(path: Path, agents: Iterable[Agent]) -> AsyncIterator[tuple[Desk, list[float]]]:
    """Run a worker on a new SQLite file, and record the time of each commit."""
    async with CommitsDatabase(path) as database, SqliteNotifier(database, POLL) as notifier:
        parts = parts_on(database, notifier)
        store = SqliteStore(database, parts.jobs)  # type: ignore[arg-type]
        parts = replace(
            parts,
            savers=lambda held: FencedSqliteSaver(database, held),
            store=store,
            put_together=store.put_together,
        )
        async with desk_on(parts, agents) as desk:
            yield desk, database.noted
