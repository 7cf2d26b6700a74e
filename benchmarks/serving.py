"""A server in a separate process, Ringi's or the bare one: `python -m benchmarks.serving KIND FOLDER`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, Literal

import psutil
import uvicorn
import uvloop
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.types import Receive, Scope, Send

from ringi.backends.sqlite.database import Database

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

    def __init__(self, database: Database, text: str) -> None:
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


async def serve_bare(path: Path) -> None:
    from ringi.server.serve import listen

    text = (path / "row.txt").read_text()
    async with Database(path / "bare.db") as database:
        await database.write(lambda c: c.execute("CREATE TABLE bare (id TEXT PRIMARY KEY, body TEXT)"))
        with listen("127.0.0.1", 0) as listener:
            config = uvicorn.Config(Bare(database, text), log_level="warning", lifespan="off")
            announce(listener.getsockname()[1], {})
            await uvicorn.Server(config).serve(sockets=[listener])


async def serve_ringi(path: Path) -> None:
    from benchmarks.agents import agents
    from ringi.server.serve import serve
    from ringi.server.settings import ServerSettings

    settings = ServerSettings(
        max_open_requests=UNLIMITED,
        asks_per_minute=UNLIMITED,
        streams_per_caller=UNLIMITED,
        streams_per_process=UNLIMITED,
    )

    def ready(address: str, _: str) -> None:
        announce(int(address.rpartition(":")[2]), json.loads((path / "tokens.json").read_text()))

    await serve(agents(), url=None, host="127.0.0.1", port=0, settings=settings, person="ann", announce=ready)


def announce(port: int, tokens: dict[str, str]) -> None:
    print(json.dumps({"port": port, "tokens": tokens}), flush=True)


if __name__ == "__main__":
    run = {"ringi": serve_ringi, "bare": serve_bare}[sys.argv[1]]
    uvloop.run(run(Path(sys.argv[2])))
