"""A minimal program that runs a wave on PostgreSQL: LangGraph with its own saver, and four statements a run.

They keep what makes an answer final and a run resumable: the request is read; its answer is saved with an event and a
job; the run is claimed with an event; its end is saved with the acknowledged answer, its output and the events. Each
record and event is decoded, digested and encoded as Ringi does it. No tenants, rights, deadlines, tracing or restart,
and no other process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from langgraph.types import Command

from benchmarks.postgres import rewritten
from ringi.domain.record import Event
from ringi.domain.request import Request

ITEMS = ["x" * 150] * 4
"""The output of a run, as long as its events are."""
TABLES = """
CREATE SCHEMA IF NOT EXISTS least;
CREATE TABLE least.records (id text PRIMARY KEY, version int NOT NULL, status text NOT NULL, body text NOT NULL);
CREATE TABLE least.events (number bigserial PRIMARY KEY, record text NOT NULL, body text NOT NULL);
CREATE INDEX ON least.events (record, number);
CREATE TABLE least.jobs (id text PRIMARY KEY);
CREATE TABLE least.items (thread text, number int, body text NOT NULL, PRIMARY KEY (thread, number));
"""
READ = "SELECT body FROM least.records WHERE id = 'q' || $1"
ASK = "INSERT INTO least.records VALUES ('t' || $1, 1, 'interrupted', $2), ('q' || $1, 1, 'pending', $2)"
ANSWER = """
WITH answered AS (
    UPDATE least.records SET version = 2, status = 'completed', body = $2
    WHERE id = 'q' || $1 AND version = 1 RETURNING id
), noted AS (INSERT INTO least.events (record, body) SELECT id, $3 FROM answered)
INSERT INTO least.jobs SELECT $1 FROM answered RETURNING id
"""
CLAIM = """
WITH claimed AS (
    UPDATE least.records SET version = 2, status = 'running', body = $2
    WHERE id = 't' || $1 AND version = 1 RETURNING id
), noted AS (INSERT INTO least.events (record, body) SELECT id, $3 FROM claimed)
SELECT body FROM least.records WHERE id = 'q' || $1 AND EXISTS (SELECT FROM claimed)
"""
END = """
WITH ended AS (
    UPDATE least.records SET version = version + 1, status = 'done', body = $2
    WHERE id IN ('t' || $1, 'q' || $1) AND version = 2 RETURNING id
), noted AS (INSERT INTO least.events (record, body) SELECT id, $3 FROM ended),
put AS (INSERT INTO least.items SELECT $1, number, body FROM unnest($4::text[]) WITH ORDINALITY AS item (body, number))
DELETE FROM least.jobs WHERE id = $1 AND EXISTS (SELECT FROM ended) RETURNING id
"""
Step = Callable[[str], Coroutine[Any, Any, None]]


@asynccontextmanager
async def minimal_runs(
    url: str, compiled: Any, connections: int, request: Request, event: Event
) -> AsyncIterator[tuple[Step, Step]]:
    """Return a function that asks in a run, and one that answers it and runs it to its end.

    Each record and event is as long as `request` and `event`.
    """
    async with asyncpg.create_pool(url, min_size=connections, max_size=connections) as pool:
        await pool.execute(TABLES)

        async def ask(run: str) -> None:
            await compiled.ainvoke({"run": run}, config_of(run), durability="sync")
            await pool.execute(ASK, run, request.model_dump_json())

        async def answer(run: str) -> None:
            answered = rewritten(await pool.fetchval(READ, run), event)
            assert await pool.fetchval(ANSWER, run, *answered)
            claimed = rewritten(await pool.fetchval(CLAIM, run, *rewritten(answered[0], event)), event)
            await compiled.ainvoke(Command(resume="yes"), config_of(run), durability="sync")
            assert await pool.fetchval(END, run, *rewritten(claimed[0], event), ITEMS)

        yield ask, answer


def config_of(run: str) -> Any:
    return {"configurable": {"thread_id": run}}
