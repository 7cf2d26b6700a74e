"""The storage that a long chat takes, by store and by kind of data, compared with its messages."""

from __future__ import annotations

import asyncio
import itertools
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import asyncpg
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from tests.servers import mortal_postgres

from benchmarks.measure import Row, folder
from benchmarks.threads import Desk, desk_at
from ringi.domain.thread import checkpoint_thread
from ringi.runs import graph_state
from ringi.runs.agent import Agent

TURNS = (100, 300, 1_000)
WORDS = "the parcel of order is late by days we refund it today and write to customer about box from depot"
SETTLE_SECONDS = 1.0
"""Seconds for the work that a worker does after the end of a run."""
CHECKPOINT_TABLES = ("checkpoints", "writes", "checkpoint_writes", "checkpoint_blobs")
Sizes = dict[str, int]
"""The stored bytes by kind of data."""
Measure = Callable[[Desk], Awaitable[Sizes]]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


class Growth(NamedTuple):
    """The measurements after a number of turns."""

    turns: int
    text: int
    """The bytes of the messages' text."""
    messages: int
    """The bytes of the messages as LangGraph serializes them."""
    checkpoints: int
    sizes: Sizes
    seconds: float
    cpu: float
    """Seconds of a turn since the previous measurement, by the clock and of this process."""

    @property
    def state(self) -> int:
        return sum(size for name, size in self.sizes.items() if name in CHECKPOINT_TABLES)

    @property
    def note(self) -> str:
        sizes = ", ".join(f"{name} {size / 1024:,.1f} KiB" for name, size in self.sizes.items() if size)
        text = f"text {self.text / 1024:,.1f} KiB; {self.checkpoints} checkpoints; {sizes}"
        return f"{text}; a turn takes {self.seconds * 1e3:.1f} ms and {self.cpu * 1e3:.1f} ms of processor time"


def answer(state: State) -> dict[str, Any]:
    chosen = random.Random(len(state["messages"]))
    return {"messages": [AIMessage(" ".join(chosen.choices(WORDS.split(), k=20)))]}


def chat() -> Agent:
    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", END)
    return Agent("chat", builder.compile())


async def chats() -> list[Row]:
    """Hold one conversation on each store, and measure what is stored of it."""
    rows = await growth("memory", "memory://", in_memory)
    with folder() as path:
        file = path / "ringi.db"
        rows += await growth("SQLite", f"sqlite:///{file}", lambda _: in_file(file))
    with mortal_postgres() as server:
        rows += await growth("PostgreSQL", server.url, lambda _: in_postgres(server.url))
    return rows


async def growth(name: str, url: str, measure: Measure) -> list[Row]:
    async with desk_at(url, [chat()]) as desk:
        return [row(name, each) async for each in conversation(desk, measure)]


def row(name: str, found: Growth) -> Row:
    what = f"{name}, a chat of {found.turns} turns: checkpoints against its messages"
    return Row(what, "KiB", [found.state / 1024], [found.messages / 1024], at_most=4, note=found.note)


async def conversation(desk: Desk, measure: Measure) -> AsyncIterator[Growth]:
    """Yield the measurements after each number of turns."""
    for before, after in itertools.pairwise((0, *TURNS)):
        began, cpu = time.perf_counter(), time.process_time()
        for turn in range(before, after):
            words = f"Where is parcel {turn}?"
            input = {"messages": [{"role": "user", "content": words}]}
            thread = await desk.runner.start("default", "chat", "chat", input, by="bench")
            thread = await desk.until(thread, "done")
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        await asyncio.sleep(SETTLE_SECONDS)
        messages = (await graph_state(desk.backend, thread))["messages"]
        place = {"configurable": {"thread_id": checkpoint_thread(thread.key)}}
        turns = after - before
        yield Growth(
            turns=after,
            text=sum(len(message.text.encode()) for message in messages),
            messages=len(JsonPlusSerializer().dumps_typed(messages)[1]),
            checkpoints=len([found async for found in desk.backend.savers(thread).alist(place)]),
            sizes=await measure(desk),
            seconds=seconds / turns,
            cpu=cpu / turns,
        )


async def in_memory(desk: Desk) -> Sizes:
    inner = desk.backend.savers(await desk.runner.get("default", "chat"))._inner
    saved = [each for spaces in inner.storage.values() for space in spaces.values() for each in space.values()]
    return {
        "checkpoints": sum(len(checkpoint[1]) + len(metadata[1]) for checkpoint, metadata, _ in saved),
        "checkpoint_blobs": sum(len(blob[1]) for blob in inner.blobs.values()),
        "checkpoint_writes": sum(len(each[2][1]) for writes in inner.writes.values() for each in writes.values()),
    }


async def in_file(path: Path) -> Sizes:
    """Return the bytes of the pages of each table with its indexes, and those of free pages."""
    owner = "SELECT tbl_name FROM sqlite_schema AS each WHERE each.name = dbstat.name"
    with closing(sqlite3.connect(path)) as file:
        tables = dict(file.execute(f"SELECT coalesce(({owner}), name), sum(pgsize) FROM dbstat GROUP BY 1"))
        free = file.execute("SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size").fetchone()
    return {name: size for name, size in sorted(tables.items()) if is_relevant(name, size)} | {"free pages": free[0]}


async def in_postgres(url: str) -> Sizes:
    """Return the bytes of each table's rows as stored, compressed by the server."""
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT relname FROM pg_stat_user_tables ORDER BY 1")
        rows = {
            name: await connection.fetchval(f"SELECT coalesce(sum(pg_column_size(each)), 0) FROM ringi.{name} AS each")
            for (name,) in tables
        }
        files = await connection.fetchval("SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables")
    finally:
        await connection.close()
    return {name: size for name, size in rows.items() if is_relevant(name, size)} | {"all files": int(files)}


def is_relevant(table: str, size: int) -> bool:
    """Return whether a table is about checkpoints, or large."""
    return table in CHECKPOINT_TABLES or size > 64 * 1024
