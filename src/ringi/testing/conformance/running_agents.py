"""An agent with a worker on a store, for the conformance tests of runtimes."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ringi.backends.sqlite.backup import copy_sqlite_store
from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.contracts.backend import Wakeup
from ringi.domain.record import DEFAULT_TENANT
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.voting import Person
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker
from ringi.testing.harness import thread_without_work

T = TypeVar("T")
LIMIT = 30.0
THREAD = "thread-1"
NUMBERS = count(1)


class Refund(NamedTuple):
    """A call of the tool `refund` by the scripted model."""

    order: int = 7
    amount: int = 30

    @property
    def call_id(self) -> str:
        """The id of the call; another one each time, as a repeated model draws it."""
        return f"call-{next(NUMBERS)}"

    @property
    def args(self) -> dict[str, Any]:
        """The arguments of the call."""
        return self._asdict()


class RestorablePath:
    """The file of a store that a test sets back to an earlier copy, while nobody has it open."""

    def __init__(self, url: str, folder: Path) -> None:
        self._store, self._copy = Path(url.removeprefix("sqlite:///")), folder / "backup.db"

    def keep(self) -> None:
        """Keep a copy of the store."""
        copy_sqlite_store(self._store, self._copy, lambda *_: None)

    def put_back(self) -> None:
        """Put the copy in the place of the store."""
        self._store.with_name(f"{self._store.name}-wal").unlink(missing_ok=True)
        shutil.copy(self._copy, self._store)


ModelTurn: TypeAlias = str | Sequence[str | Refund]
"""One answer of the scripted model: a text, or calls of `refund` at the same time, which a text may precede."""
Effects: TypeAlias = list[Refund]
"""The arguments with which the body of the tool has run."""
ArgumentChange: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""What code of the agent makes of the arguments of a call on its way to the body of the tool."""


@dataclass
class RunningAgent:
    """An agent with one worker, as one process sees it."""

    backend: Backend
    inbox: StoreInbox
    worker: Worker

    async def start(self, agent: Agent, content: str = "Refund order 7.") -> None:
        """Start a run."""
        input = {"messages": [{"role": "user", "content": content}]}
        await self.worker.start(DEFAULT_TENANT, THREAD, agent.name, input, by="ann")

    async def thread(self) -> Thread:
        """Return the thread."""
        return await self.worker.get(DEFAULT_TENANT, THREAD)

    async def rest(self) -> Thread:
        """Return the thread once no worker has anything to do on it."""
        return await first_true_value(partial(thread_without_work, self.backend.store, THREAD))

    async def pending(self) -> list[Request]:
        """Return the open requests, in the order of their calls."""
        await self.rest()
        requests = await self.worker.pending(await self.thread())
        return sorted(requests, key=lambda request: request.action.args.get("order", 0) if request.action else 0)

    async def respond(self, request: Request, decision: Any, **answer: Any) -> Request:
        """Answer a request as the person `bob`, who is in the groups that may answer."""
        answer["by"] = Person("bob", request.groups)
        return await self.inbox.respond(request, decision, **answer)

    async def events(self) -> list[dict[str, Any]]:
        """Return the events of the thread's stream."""
        key = (await self.thread()).key
        return [item.event for item in await self.backend.stream.read(key, 0, 10_000)]


async def first_true_value(check: Callable[[], Awaitable[T | None]]) -> T:
    """Return the first true value of a check."""
    pause = Wakeup()
    async with asyncio.timeout(LIMIT):
        while not (found := await check()):
            await pause.wait(0.01)
    return found


@asynccontextmanager
async def worker_running_on_store(url: str, *agents: Agent) -> AsyncIterator[RunningAgent]:
    """Open the store with one worker until the block ends."""
    async with open_backend(url, poll_interval=0.05) as backend, open_inbox_on_backend(backend) as inbox:
        worker, stop = Worker(backend, inbox, agents_by_name(agents)), asyncio.Event()
        task = asyncio.create_task(worker.work(stop))
        try:
            yield RunningAgent(backend, inbox, worker)
        finally:
            stop.set()
            await task


@asynccontextmanager
async def agent_asking_on_store(
    url: str, agent: Agent, content: str = "Refund order 7."
) -> AsyncIterator[tuple[RunningAgent, list[Request]]]:
    """Run an agent on the store until the block ends, and return its first open requests."""
    async with worker_running_on_store(url, agent) as run:
        await run.start(agent, content)
        yield run, await run.pending()


async def requests_of_stopped_agent(url: str, agent: Agent) -> list[Request]:
    """Run an agent on the store until it asks, and return its open requests after the end of its worker."""
    async with agent_asking_on_store(url, agent) as (_, requests):
        return requests
