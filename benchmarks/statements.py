"""The statements and transactions of a question, of its answer and of idle servers, as PostgreSQL logs them."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
from langgraph.types import Command
from tests.servers import mortal_postgres

from benchmarks.client import Caller
from benchmarks.measure import Row, folder
from benchmarks.park import graph
from benchmarks.serving import Served, served
from benchmarks.wave import postgres_saver

CYCLES = 20
SERVERS = 4
CYCLE_SECONDS = 0.5
"""Seconds until a question is stored, or its answer has ended the run: asking the server would add statements."""
IDLE_SECONDS = 20.0
RELOAD_SECONDS = 1.0
"""Seconds until the server has its new settings."""
STATEMENT = re.compile(r"^(\d+) LOG:  (?:statement|execute [^:]*):\s*(\w+)", re.MULTILINE)
LOGGING = ("log_line_prefix = '%p '", "log_statement = 'all'")


class Count(NamedTuple):
    """Statements and transactions."""

    statements: float
    transactions: float

    def beyond(self, idle: Count, seconds: float) -> Count:
        """Return what remains of a count after the statements that idle servers would have made."""
        return Count(*(mine - each * seconds for mine, each in zip(self, idle, strict=True)))

    def per(self, number: float) -> Count:
        return Count(*(each / number for each in self))


async def on_postgres() -> list[Row]:
    """Count with one server, and what each further server adds while all are idle."""
    with ExitStack() as stack:
        server = stack.enter_context(mortal_postgres())
        connection = await asyncpg.connect(server.url)
        for setting in LOGGING:
            await connection.execute(f"ALTER SYSTEM SET {setting}")
        await connection.execute("SELECT pg_reload_conf()")
        await connection.close()
        await asyncio.sleep(RELOAD_SECONDS)
        bare_asks, bare_answers = await bare_counts(server.url, server.log)
        first = stack.enter_context(served("ringi", stack.enter_context(folder()), server.url))
        asks, answers = await one_after_another(first, server.log, "alone")
        idle = await idle_count(server.log)
        for _ in range(SERVERS - 1):
            stack.enter_context(served("ringi", stack.enter_context(folder()), server.url))
        all_idle = await idle_count(server.log)
        of_four = [count.statements / SERVERS for count in await one_after_another(first, server.log, "four")]
    return [
        *rows("a question", asks, bare_asks, (30, 12)),
        *rows("an answer, and the end of its run", answers, bare_answers, (30, 12)),
        Row(
            "PostgreSQL: a question: statements of each of four servers, beside one",
            "",
            of_four[:1],
            [asks.statements],
            at_most=1.15,
        ),
        Row(
            "PostgreSQL: an answer: statements of each of four servers, beside one",
            "",
            of_four[1:],
            [answers.statements],
            at_most=1.15,
        ),
        Row("PostgreSQL: one idle server: statements a second", "1/s", [idle.statements], at_most=8),
        Row(
            "PostgreSQL: four idle servers: statements a second that each further one adds",
            "1/s",
            [(all_idle.statements - idle.statements) / (SERVERS - 1)],
            at_most=4,
        ),
    ]


def rows(what: str, count: Count, bare: Count, goals: tuple[float, float]) -> list[Row]:
    """Return the rows of a count beside LangGraph with its own saver, which keeps no question and no answer."""
    return [
        Row(f"PostgreSQL: {what}: {name}", "", [value], [floor], at_most=goal, of_ratio=False)
        for name, value, floor, goal in zip(Count._fields, count, bare, goals, strict=True)
    ]


async def bare_counts(url: str, log: Path) -> tuple[Count, Count]:
    """Return the counts of a question and of an answer with LangGraph and its own saver."""
    async with postgres_saver(url) as saver:
        compiled = graph().compile(checkpointer=saver)
        configs: list[Any] = [{"configurable": {"thread_id": f"bare-{n}"}} for n in range(CYCLES)]

        async def invoke(input: Any) -> None:
            for config in configs:
                await compiled.ainvoke(input, config, durability="sync")

        asked = await counted(log, lambda: invoke({"run": "bare"}))
        answered = await counted(log, lambda: invoke(Command(resume="yes")))
    return asked.per(CYCLES), answered.per(CYCLES)


async def one_after_another(server: Served, log: Path, prefix: str) -> tuple[Count, Count]:
    """Return the counts of a question and of an answer, without those of an idle server."""
    names = [f"{prefix}-{n}" for n in range(CYCLES + 2)]

    async def ask(name: str) -> None:
        status, body = await call(server, "POST", f"/v1/threads/{name}/runs", {"agent": "step", "input": {}})
        assert status == 202, body

    async def answer(request: dict[str, str]) -> None:
        body = {"decision": "respond", "message": "yes", "digest": request["digest"]}
        status, reply = await call(server, "POST", f"/v1/requests/{request['id']}/respond", body)
        assert status == 200, reply

    await spaced(ask, names[:2])
    idle = await idle_count(log)
    asked = await counted(log, lambda: spaced(ask, names[2:]))
    _, body = await call(server, "GET", "/v1/requests?status=pending&limit=100")
    requests = json.loads(body)["items"]
    await spaced(answer, requests[:2])
    answered = await counted(log, lambda: spaced(answer, requests[2:]))
    _, body = await call(server, "GET", f"/v1/threads/{names[9]}")
    assert json.loads(body)["status"] == "done", body
    seconds = CYCLES * CYCLE_SECONDS
    return asked.beyond(idle, seconds).per(CYCLES), answered.beyond(idle, seconds).per(CYCLES)


async def call(server: Served, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    """Make one call; the server closes a connection that is idle for long."""
    async with Caller(server) as caller:
        return await (caller.post(path, body) if method == "POST" else caller.get(path))


async def spaced(act: Callable[..., Awaitable[None]], items: Sequence[object]) -> None:
    """Do one thing at a time, each at the same distance from the one before."""
    for item in items:
        until = time.monotonic() + CYCLE_SECONDS
        await act(item)
        await asyncio.sleep(until - time.monotonic())


async def idle_count(log: Path) -> Count:
    """Return what idle servers do in a second."""
    await asyncio.sleep(2)
    return (await counted(log, lambda: asyncio.sleep(IDLE_SECONDS))).per(IDLE_SECONDS)


async def counted(log: Path, act: Callable[[], Awaitable[None]]) -> Count:
    since = len(text_of(log))
    await act()
    return count(text_of(log)[since:])


def text_of(log: Path) -> str:
    return log.read_text()


def count(text: str) -> Count:
    """Count what was logged; a statement outside of a transaction is one of its own."""
    statements = transactions = 0
    inside = set[str]()
    for process, verb in STATEMENT.findall(text):
        verb = verb.upper()
        if verb == "BEGIN":
            inside.add(process)
        elif verb in ("COMMIT", "ROLLBACK"):
            inside.discard(process)
        transactions += process not in inside
        statements += 1
    return Count(statements, transactions)
