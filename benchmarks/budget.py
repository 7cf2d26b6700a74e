"""What the hot paths cost, in counts that do not depend on the machine: `python -m benchmarks.budget` counts again."""

from __future__ import annotations

import asyncio
import json
import random
import sqlite3
import sys
import threading
import tomllib
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest import mock

import asyncpg
import psycopg
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from redis.asyncio import Connection
from tests.gateways.hooks.test_allowed import POLICY
from tests.mortal_redis import mortal_redis
from tests.servers import mortal_postgres, redis_program

import ringi
from benchmarks.gate import offices
from benchmarks.measure import folder
from benchmarks.park import agents
from benchmarks.threads import Desk, desk_on
from ringi.backends.postgres.notifier import NOTIFY
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.ask import Action
from ringi.domain.record import Query
from ringi.gateways.hooks.allowed import allowed_reply
from ringi.gateways.hooks.process import HookOptions
from ringi.inbox.inbox import StoreInbox
from ringi.policy.rules import PolicyFile
from ringi.runs import stream_writer
from ringi.runs.agent import Agent

FILE = Path(__file__).with_name("budget.toml")
"""The counts by store and work, as the newest change left them."""
EXACT = ("statements", "transactions", "round_trips")
"""Counts of which one more fails."""
TOLERANCE, SLACK = 0.03, 10
"""The share and the number by which the others may differ: a reply may arrive in parts."""
TIMES = 4
"""How often each work is done; the least of each count remains, because other tasks of the process may join in."""
REST_SECONDS = 0.08
"""Seconds until nothing of a work is left to do."""
POLL = 600.0
"""Seconds between two reads at intervals: none while something is counted."""
TURNS = 100
PAGE = 50
OWN = str(Path(ringi.__file__).parent)
JSON = frozenset({"to_json", "from_json", "validate_json"})
DIGESTS = frozenset({"openssl_sha256"})
BOUNDS = ("BEGIN", "COMMIT")
"""Not counted: how many writes share a transaction depends on the moment."""
WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")
Cost = dict[str, int]
Work = Callable[[], Awaitable[object]]


class Counters:
    """The counts of this process since it began to count."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._statements: list[tuple[int, str]] = []
        self._own: dict[CodeType, bool] = {}

    def clear(self) -> None:
        """Begin anew."""
        self._counts.clear()
        self._statements.clear()

    def cost(self) -> Cost:
        """Return the counts."""
        # SQLite reports a statement again for each part of its triggers.
        texts = [text for text, _ in groupby(self._statements)]
        counts = self._counts + Counter(statements=len(self._statements))
        counts["bytes"] += sum(len(text) for _, text in texts if text.startswith(WRITES))
        return dict(sorted(counts.items()))

    def note_sqlite(self, connection: sqlite3.Connection) -> None:
        """Count the statements of a connection, with their values."""
        id_of = id(connection)

        def note(sql: str) -> None:
            if not sql.startswith(BOUNDS):
                self._statements.append((id_of, sql.strip()))

        connection.set_trace_callback(note)

    def note_write(self) -> None:
        """Count a transaction; SQLite's writer may commit several that wait at once, so these are not its commits."""
        self._counts["transactions"] += 1

    def note_call(self, *values: object) -> None:
        """Count a round trip to a server, with the sizes of its values; how many notifications share one depends."""
        if values[0] == NOTIFY:
            return
        self._counts["round_trips"] += 1
        self._counts["bytes"] += size_of(values)

    def profile(self, frame: FrameType, event: str, arg: Any) -> None:
        """Count a call."""
        if event == "call":
            code = frame.f_code
            is_own = self._own.get(code)
            if is_own is None:
                is_own = self._own[code] = code.co_filename.startswith(OWN)
            if is_own:
                self._counts["calls"] += 1
            elif code.co_name in ("dumps", "loads") and code.co_filename.endswith("json/__init__.py"):
                self._counts["json"] += 1
        elif event == "c_call":
            name = arg.__name__
            if name in JSON:
                self._counts["json"] += 1
            elif name in DIGESTS:
                self._counts["digests"] += 1


def size_of(value: object) -> int:
    """Return the number of characters or bytes in a value and its parts."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return size_of([*value, *value.values()])
    return sum(map(size_of, value)) if isinstance(value, list | tuple) else 0


@contextmanager
def counting() -> Iterator[Counters]:
    """Yield the counters of all that this process does within the block, in new threads too."""
    counters = Counters()
    connect, write = SqliteDatabase._connect, SqliteDatabase.write

    def connected(database: SqliteDatabase) -> sqlite3.Connection:
        connection = connect(database)
        counters.note_sqlite(connection)
        return connection

    def noted(method: Any) -> Any:
        async def call(self: Any, *args: Any, **options: Any) -> Any:
            counters.note_call(*args)
            return await method(self, *args, **options)

        return call

    def written(database: SqliteDatabase, work: Any) -> Any:
        counters.note_write()
        return write(database, work)

    patches: list[Any] = [
        mock.patch.object(SqliteDatabase, "write", written),
        mock.patch.object(SqliteDatabase, "_connect", connected),
        mock.patch.object(Connection, "send_packed_command", noted(Connection.send_packed_command)),
        *(
            mock.patch.object(asyncpg.Connection, name, noted(getattr(asyncpg.Connection, name)))
            for name in ("fetch", "execute")
        ),
        mock.patch.object(psycopg.AsyncCursor, "execute", noted(psycopg.AsyncCursor.execute)),
        mock.patch.object(stream_writer, "FLUSH_SECONDS", POLL),
    ]
    for patch in patches:
        patch.start()
    threading.setprofile(counters.profile)
    sys.setprofile(counters.profile)
    try:
        yield counters
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        for patch in patches:
            patch.stop()


async def costs_on(url: str, *, runs: bool = True) -> dict[str, Cost]:
    """Return what each work costs on an empty store.

    Args:
        url: The URL of the store.
        runs: Whether to count the work of agents too.
    """
    random.seed(1)
    with counting() as counters:
        async with open_backend(url, poll_interval=POLL) as backend:
            async with open_inbox_on_backend(backend) as inbox:
                costs = await costs_of_questions(counters, inbox)
            if url.startswith("sqlite"):
                costs["hook"] = await cost_of_hook(counters, url)
            if runs and backend.runs_agents:
                async with desk_on(backend, [*agents(), *offices(), Agent("chat", chat(), input=as_message)]) as desk:
                    costs |= await costs_of_runs(counters, desk)
    return costs


async def costs_of_questions(counters: Counters, inbox: StoreInbox) -> dict[str, Cost]:
    """Return the costs of an ask, of the answers to it, and of a page of a list."""
    action = Action("refund", {"order": 1182, "amount": 40.5, "why": "nine days late"})
    requests = [await inbox.ask("Refund order 1182?", action=action) for _ in range(PAGE)]
    left = iter(requests)
    return {
        "ask": await least(counters, lambda: inbox.ask("Refund order 1182?", action=action)),
        "approval": await least(counters, lambda: inbox.respond(next(left), "approve", by="ann")),
        "rejection": await least(counters, lambda: inbox.respond(next(left), "reject", by="ann", message="no")),
        "edit": await least(
            counters, lambda: inbox.respond(next(left), "edit", by="ann", args={"order": 1, "amount": 2, "why": "x"})
        ),
        f"page of {PAGE}": await least(counters, lambda: inbox.find(limit=PAGE)),
    }


async def cost_of_hook(counters: Counters, url: str) -> Cost:
    """Return the cost of a call of a coding agent that a rule allows, without the start of its process."""
    texts = {"session_id": "s1", "cwd": "/", "tool_use_id": "c1", "hook_event_name": "PreToolUse", "tool_name": "Bash"}
    event = json.dumps({**texts, "tool_input": {"command": "git status"}}).encode()
    connect = sqlite3.connect

    def connected(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*args, **options)
        counters.note_sqlite(connection)
        return connection

    with folder() as path, mock.patch.dict("os.environ", {"RINGI_HOME": str(path)}):
        policy = PolicyFile(path / "policy.toml")
        (path / "policy.toml").write_text(POLICY)
        policy.policy()
        policy.mark_checked(path)
        options = HookOptions(policy=str(path / "policy.toml"), url=url)

        async def hook() -> None:
            with mock.patch("sqlite3.connect", connected):
                assert allowed_reply("claude-code", options, event)

        return await least(counters, hook)


async def costs_of_runs(counters: Counters, desk: Desk) -> dict[str, Cost]:
    """Return the costs of runs: to a question, from its answer to the end, with a gated call, and turns of a chat."""
    names = iter(uuid.uuid5(uuid.NAMESPACE_OID, f"{n}").hex for n in range(1_000))
    parked = list[str]()

    async def ask() -> None:
        parked.append(next(names))
        await desk.until(
            await desk.runner.start("default", parked[-1], "step", {"run": parked[-1]}, by="bench"), "interrupted"
        )

    async def answer() -> None:
        thread = parked.pop()
        (request,) = await desk.inbox.search(Query(thread_id=thread))
        await desk.inbox.respond(request, "respond", by="ann", message="yes")
        await desk.until(await desk.runner.get("default", thread), "done")

    async def gated() -> None:
        await desk.until(await desk.runner.start("default", next(names), "gated", {}, by="bench"), "done")

    async def turn(thread: str) -> None:
        await desk.until(await desk.runner.start("default", thread, "chat", {"text": "hello"}, by="bench"), "done")

    costs = {
        "question of a run": await least(counters, ask),
        "answer to the end of the run": await least(counters, answer),
    }
    costs["run with a gated call"] = await least(counters, gated)
    costs["turn 1 of a chat"] = await least(counters, lambda: turn(next(names)))
    long = next(names)
    for _ in range(TURNS):
        await turn(long)
    costs[f"turn {TURNS} of a chat"] = await least(counters, lambda: turn(long))
    return costs


async def least(counters: Counters, work: Work) -> Cost:
    """Return the least of each count of a work that is done several times; the first time loads what it needs."""
    found = list[Cost]()
    for _ in range(TIMES):
        await asyncio.sleep(REST_SECONDS)
        counters.clear()
        await work()
        await asyncio.sleep(REST_SECONDS)
        found.append(counters.cost())
    return {name: min(cost.get(name, 0) for cost in found[1:]) for name in sorted(set().union(*found))}


def chat() -> Any:
    """Return a graph that answers each message with the same words."""

    def reply(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [AIMessage("Hello to you.", id=f"ai-{len(state['messages'])}")]}

    return StateGraph(MessagesState).add_node("reply", reply).add_edge(START, "reply").compile()


def as_message(input: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a chat with one more message."""
    return {"messages": [HumanMessage(input["text"])]}


def excesses(measured: dict[str, Cost], budget: dict[str, Cost]) -> list[str]:
    """Return what differs from the budget, in words; also what costs less, so that the budget is lowered."""
    found = [f"{work}: not in both" for work in sorted(measured.keys() ^ budget.keys())]
    for work in sorted(measured.keys() & budget.keys()):
        for name in sorted(measured[work].keys() | budget[work].keys()):
            ours, most = measured[work].get(name, 0), budget[work].get(name, 0)
            if abs(ours - most) > (0 if name in EXACT else most * TOLERANCE + SLACK):
                found.append(f"{work}: {ours:,} {name} and not {most:,}")
    return found


def read_budget() -> dict[str, dict[str, Cost]]:
    """Return the budget by store."""
    return tomllib.loads(FILE.read_text())


def budget_text(costs: dict[str, dict[str, Cost]]) -> str:
    """Return a budget as TOML."""
    lines = ["# What the hot paths cost. `python -m benchmarks.budget` counts again and writes this file."]
    for store, works in sorted(costs.items()):
        for work, cost in works.items():
            counts = ", ".join(f"{name} = {number}" for name, number in cost.items())
            lines.append(f'{store}."{work}" = {{ {counts} }}')
    return "\n".join(lines) + "\n"


def store_of(url: str) -> str:
    """Return the name of a store in the budget."""
    return url.partition(":")[0]


def count_again() -> None:
    """Count on each store, and write the budget."""
    with folder() as path, mortal_postgres() as postgres, mortal_redis(redis_program()) as redis:
        name = f"t{uuid.uuid4().hex}"  # As long as in the tests.
        urls = f"sqlite:///{path / 'ringi.db'}", f"{postgres.url}?schema={name}", f"{redis.url}?prefix={name}"
        FILE.write_text(budget_text({store_of(url): asyncio.run(costs_on(url)) for url in urls}))


if __name__ == "__main__":
    count_again()
