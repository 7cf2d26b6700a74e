"""How long approved calls still begin after a pause was acknowledged, and what the check before each call costs."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import asyncpg
from langgraph.graph import END, START, StateGraph
from tests.mortal_redis import mortal_redis
from tests.servers import mortal_postgres, redis_program

import ringi
from benchmarks.client import Caller
from benchmarks.inboxes import POLL, ask
from benchmarks.measure import Row, folder
from benchmarks.serving import Served, served
from benchmarks.statements import LOGGING, RELOAD_SECONDS, count, text_of
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent
from ringi.runs.runner import PauseWatch

ROUNDS = 5
SERVERS = 3
RUNS = 40
"""The runs of a round; a person approves the first call of each, and a rule the others."""
RULE_CALLS = 8
BUSY_SECONDS = 1.0
"""Seconds from the first answer to the pause."""
WATCHED_SECONDS = 3.0
CHECKS = 2_000
CALLS_FILE = "RINGI_BENCH_CALLS"
"""The variable with the file to which each call writes the time at which it begins."""
AGENT = "payer"
POLICY = {"rules": [{"tools": ["charge"]}, {"tools": ["print_line"], "auto_approve": [{"name": "all"}]}]}


class State(TypedDict, total=False):
    run: str
    line: int


def note(run: str, line: int) -> None:
    """Write on one line, at once, that a call begins."""
    with Path(os.environ[CALLS_FILE]).open("a") as file:
        file.write(f"{time.time():.6f} {run} {line}\n")


@ringi.gate(POLICY)
async def charge(run: str) -> None:
    """Begin, after a person has approved."""
    note(run, 0)


@ringi.gate(POLICY)
async def print_line(run: str, line: int) -> None:
    """Begin, after a rule has approved."""
    note(run, line)


async def charged(state: State) -> State:
    await charge(run=state["run"])
    return {"line": 1}


async def printed(state: State) -> State:
    await print_line(run=state["run"], line=state["line"])
    return {"line": state["line"] + 1}


def agents() -> list[Agent]:
    graph = StateGraph(State).add_node("charged", charged).add_node("printed", printed)
    graph.add_edge(START, "charged").add_edge("charged", "printed")
    graph.add_conditional_edges("printed", lambda state: END if state["line"] > RULE_CALLS else "printed")
    return [Agent(AGENT, graph.compile())]


async def after_a_pause() -> list[Row]:
    """Measure on each store with several busy servers, and the cost of a check."""
    rows = list[Row]()
    with folder() as path:
        rows += await rounds("SQLite", f"sqlite:///{path / 'stop.db'}")
        rows += await cost("SQLite", f"sqlite:///{path / 'cost.db'}")
    with mortal_postgres() as server:
        rows += await rounds("PostgreSQL", server.url)
        rows += await cost("PostgreSQL", server.url, server.log)
    with mortal_postgres() as server, mortal_redis(redis_program()) as redis, variable("RINGI_REDIS_URL", redis.url):
        rows += await rounds("PostgreSQL, notifications over Redis", server.url)
    return rows


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    os.environ[name] = value
    yield
    del os.environ[name]


class Round(NamedTuple):
    """What one pause of busy servers did."""

    last_ms: float
    """From the acknowledgment of the pause to the begin of the last call; 0 if none began after it."""
    late: float
    """The number of calls that began after the acknowledgment."""
    before: float
    """The number of calls that began in the second before."""


async def rounds(store: str, url: str) -> list[Row]:
    """Pause busy servers several times."""
    with ExitStack() as stack:
        calls = stack.enter_context(folder()) / "calls.txt"
        stack.enter_context(variable(CALLS_FILE, str(calls)))
        servers = [stack.enter_context(served("stop", stack.enter_context(folder()), url)) for _ in range(SERVERS)]
        found = [await one_round(servers, calls) for _ in range(ROUNDS)]
    what = f"{store}: {SERVERS} busy servers"
    return [
        Row(
            f"{what}: pause acknowledged → the last approved call begins",
            "ms",
            [r.last_ms for r in found],
            at_most=1_000,
        ),
        Row(f"{what}: calls that begin after the acknowledgment", "", [r.late for r in found]),
        Row(f"{what}: calls that began in the second before", "", [r.before for r in found]),
    ]


async def one_round(servers: list[Served], calls: Path) -> Round:
    """Start runs, approve them all, pause in the middle, and check that each call runs once after the pause."""
    clear(calls)
    names = [uuid.uuid4().hex for _ in range(RUNS)]
    for number, name in enumerate(names):
        body = {"agent": AGENT, "input": {"run": name}}
        await post(servers[number % SERVERS], f"/v1/threads/{name}/runs", body, 202)
    requests = await until_asked(servers[0])
    answering = asyncio.gather(*(answer(servers[n % SERVERS], each) for n, each in enumerate(requests)))
    await asyncio.sleep(BUSY_SECONDS)
    pause = await post(servers[1], "/v1/pauses", {"agent": AGENT, "reason": "bench"}, 201, "admin")
    acknowledged = time.time()
    await answering
    await asyncio.sleep(WATCHED_SECONDS)
    begun = [float(line.split()[0]) for line in lines_of(calls)]
    async with Caller(servers[0], "admin") as caller:
        await caller.delete(f"/v1/pauses/{pause['id']}")
    await until_done(calls, names)
    late = [at for at in begun if at > acknowledged]
    before = [at for at in begun if acknowledged - 1 < at <= acknowledged]
    return Round((max(late, default=acknowledged) - acknowledged) * 1e3, len(late), len(before))


def clear(calls: Path) -> None:
    calls.write_text("")


def lines_of(calls: Path) -> list[str]:
    return calls.read_text().splitlines()


async def until_asked(server: Served) -> list[dict[str, Any]]:
    async with asyncio.timeout(60):
        while True:
            async with Caller(server) as caller:
                _, body = await caller.get("/v1/requests?status=pending&limit=200")
            items: list[dict[str, Any]] = json.loads(body)["items"]
            if len(items) == RUNS:
                return items
            await asyncio.sleep(0.1)


async def until_done(calls: Path, names: list[str]) -> None:
    """Return when all calls have begun; none may begin twice."""
    expected = sorted(f"{name} {line}" for name in names for line in range(RULE_CALLS + 1))
    async with asyncio.timeout(120):
        while len(begun := [line.partition(" ")[2] for line in lines_of(calls)]) < len(expected):
            await asyncio.sleep(0.2)
    assert sorted(begun) == expected


async def answer(server: Served, request: dict[str, Any]) -> None:
    body = {"decision": "approve", "digest": request["digest"]}
    await post(server, f"/v1/requests/{request['id']}/respond", body, 200)


async def post(server: Served, path: str, body: object, status: int, role: str = "person") -> Any:
    async with Caller(server, role) as caller:
        got, reply = await caller.post(path, body)
    assert got == status, (path, got, reply)
    return json.loads(reply)


async def cost(store: str, url: str, log: Path | None = None) -> list[Row]:
    """Measure the check right before a call beside one read of a request, without and with a pause of another agent."""
    floors, none, some = list[float](), list[float](), list[float]()
    async with bench_inbox(url) as inbox:
        watch, request = PauseWatch(inbox), await ask(inbox)
        check, read = (lambda: watch.find("default", AGENT, is_fresh=True)), (lambda: inbox.get(request.id))
        for _ in range(ROUNDS):
            floors.append(await processor_us(read))
            none.append(await processor_us(check))
        statements = await statements_of(url, log, check) if log else None
        await inbox.pauses.begin("bench", by="ann", agent="another")
        for _ in range(ROUNDS):
            some.append(await processor_us(check))
    what = f"{store}: the check of the pauses before an approved call"
    counted = [Row(f"{what}: statements", "", [statements])] if statements is not None else []
    return [
        Row(f"{what}: processor time, beside one read of a request", "µs", none, floors),
        Row(f"{what}: processor time while another agent is paused, beside one read of a request", "µs", some, floors),
        *counted,
    ]


@asynccontextmanager
async def bench_inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with open_backend(url, poll_interval=POLL) as backend, open_inbox_on_backend(backend) as inbox:
        yield inbox


async def processor_us(call: Callable[[], Awaitable[object]]) -> float:
    """Return the processor time of this process for each call, one after another."""
    began = time.process_time()
    for _ in range(CHECKS):
        await call()
    return (time.process_time() - began) / CHECKS * 1e6


async def statements_of(url: str, log: Path, check: Callable[[], Awaitable[object]]) -> float:
    """Return the statements of each check, as PostgreSQL logs them."""
    connection = await asyncpg.connect(url)
    for setting in LOGGING:
        await connection.execute(f"ALTER SYSTEM SET {setting}")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()
    await asyncio.sleep(RELOAD_SECONDS)
    since = len(text_of(log))
    for _ in range(CHECKS):
        await check()
    return count(text_of(log)[since:]).statements / CHECKS
