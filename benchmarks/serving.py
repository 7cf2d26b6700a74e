"""A server in a separate process, Ringi's or the bare one: `python -m benchmarks.serving KIND FOLDER`."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Annotated, Any, Literal

import psutil
import uvicorn
import uvloop
from fastapi import FastAPI, Header, Response
from pydantic import BaseModel
from starlette.types import ASGIApp, Receive, Scope, Send

from ringi.backends.rows import event_to_row
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import INSERT_EVENT
from ringi.base.clock import utc_now
from ringi.domain import ask as responses
from ringi.domain.record import unix_microseconds
from ringi.domain.request import Request
from ringi.runs.agent import Agent

SELECT = "SELECT body FROM requests WHERE tenant = 'default' AND id = ?"
UPDATE = """
UPDATE requests SET version = ?, status = 'completed', ended_at = ?, body = ?
WHERE tenant = 'default' AND id = ? AND version = ?
"""
UNLIMITED = 1_000_000
SSE_HEADERS = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]


@dataclass(frozen=True)
class Served:
    """A running server, observed from outside."""

    port: int
    tokens: dict[str, str]
    process: psutil.Process

    def processor_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)

    def resident(self) -> int:
        return int(self.process.memory_info().rss)


@contextlib.contextmanager
def served(kind: str, path: Path, url: str = "") -> Iterator[Served]:
    """Run a server for the block, with a folder and its own store there, unless a URL names another store."""
    env = {**os.environ, "RINGI_HOME": str(path), "RINGI_URL": url or f"sqlite:///{path / 'ringi.db'}"}
    command = [sys.executable, "-m", "benchmarks.serving", kind, str(path)]
    with Popen(command, env=env, stdin=DEVNULL, stdout=PIPE, text=True) as process:
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the {kind} server did not start")
            announced = json.loads(line)
            yield Served(announced["port"], announced["tokens"], psutil.Process(process.pid))
        finally:
            process.kill()


class Answer(BaseModel):
    decision: Literal["approve", "edit", "reject", "respond"]
    digest: str
    data: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    message: str | None = None


class Bare:
    """A POST that stores as many bytes as an answer of Ringi, and a stream with a queue for each reader."""

    def __init__(self, database: SqliteDatabase, text: str) -> None:
        self._database, self._text = database, text
        self._queues: list[asyncio.Queue[bytes]] = []
        self.api = FastAPI()
        self.api.add_api_route("/rows/{id}", self.insert, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/events":
            await self.stream(send)
        elif scope["path"].startswith("/publish/"):
            await self.publish(int(scope["path"].rpartition("/")[2]), send)
        else:
            await self.api(scope, receive, send)

    async def insert(self, id: str, answer: Answer) -> Answer:
        row = (id, self._text)
        await self._database.write(lambda c: c.execute("INSERT INTO bare (id, body) VALUES (?, ?)", row))
        return answer

    async def stream(self, send: Send) -> None:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._queues.append(queue)
        await send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
        await send({"type": "http.response.body", "body": b"retry: 1000\n\n", "more_body": True})
        while True:
            await send({"type": "http.response.body", "body": await queue.get(), "more_body": True})

    async def publish(self, size: int, send: Send) -> None:
        chunk = f"event: bare\nid: 1\ndata: {'x' * size}\n\n".encode()
        for queue in self._queues:
            queue.put_nowait(chunk)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"{}"})


class Least:
    """The least that an answer needs on Ringi's own tables: no groups, claims, deadlines, tracing or waiters.

    It knows the caller by a token, reads the request, checks and hashes it, and replies with what it has written.
    """

    def __init__(self, database: SqliteDatabase, tokens: dict[str, str]) -> None:
        self._database = database
        self._names = {hashlib.sha256(token.encode()).digest(): name for name, token in tokens.items()}
        self.api = FastAPI()
        self.api.add_api_route("/answers/{id}", self.answer, methods=["POST"])

    async def answer(self, id: str, answer: Answer, authorization: Annotated[str, Header()]) -> Response:
        by = self._names[hashlib.sha256(authorization.removeprefix("Bearer ").encode()).digest()]
        ((body,),) = await self._database.read(lambda c: c.execute(SELECT, [id]).fetchall())
        request = Request.model_validate_json(body)
        if request.status != "pending" or request.digest != answer.digest or answer.decision not in request.allowed:
            return Response(status_code=409)
        now = utc_now()
        approved = request.authorised_digest(answer.decision, answer.data, answer.args)
        response = responses.Response(
            **answer.model_dump(exclude={"digest"}), responder=by, channel="api", at=now, authorised_digest=approved
        )
        new, event = request.changed("completed", by, now, status="completed", response=response, ended_at=now)
        body, row = new.model_dump_json(), event_to_row(event)

        def save(connection: sqlite3.Connection) -> int:
            connection.execute(INSERT_EVENT, row)
            return connection.execute(UPDATE, (new.version, unix_microseconds(now), body, id, request.version)).rowcount

        is_saved = await self._database.write(save)
        return Response(body, 200 if is_saved else 409, media_type="application/json")


async def serve_bare(path: Path) -> None:
    text = (path / "row.txt").read_text()
    async with SqliteDatabase(path / "bare.db") as database:
        await database.write(lambda c: c.execute("CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT)"))
        await serve_app(Bare(database, text))


async def serve_least(path: Path) -> None:
    tokens = json.loads((path / "tokens.json").read_text())
    async with SqliteDatabase(path / "ringi.db") as database:
        await serve_app(Least(database, tokens).api, tokens)


async def serve_app(app: ASGIApp, tokens: dict[str, str] | None = None) -> None:
    from ringi.server.serve import open_listening_socket

    with open_listening_socket("127.0.0.1", 0) as listener:
        config = uvicorn.Config(app, log_level="warning", lifespan="off")
        announce(listener.getsockname()[1], tokens or {})
        await uvicorn.Server(config).serve(sockets=[listener])


async def serve_ringi(path: Path) -> None:
    from benchmarks.agents import agents

    await serve_agents(path, agents())


async def serve_stop(path: Path) -> None:
    from benchmarks.stop import agents

    await serve_agents(path, agents())


async def serve_agents(path: Path, agents: list[Agent]) -> None:
    from ringi.server.serve import serve_until_signal
    from ringi.server.settings import ServerSettings

    settings = ServerSettings(
        max_open_requests=UNLIMITED,
        asks_per_minute=UNLIMITED,
        streams_per_caller=UNLIMITED,
        streams_per_process=UNLIMITED,
    )

    def ready(address: str, _: str) -> None:
        announce(int(address.rpartition(":")[2]), json.loads((path / "tokens.json").read_text()))

    await serve_until_signal(
        agents, url=None, host="127.0.0.1", port=0, settings=settings, person="ann", announce=ready
    )


def announce(port: int, tokens: dict[str, str]) -> None:
    print(json.dumps({"port": port, "tokens": tokens}), flush=True)


if __name__ == "__main__":
    run = {"ringi": serve_ringi, "stop": serve_stop, "bare": serve_bare, "least": serve_least}[sys.argv[1]]
    uvloop.run(run(Path(sys.argv[2])))
