"""A store with agents and workers for one test, and conditions to wait for."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar

from ag_ui.core import Event as AguiEvent
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import CheckpointTuple
from pydantic import TypeAdapter

from ringi import demo as demo_agents
from ringi.audit.verify import verify_store
from ringi.base.clock import utc_now
from ringi.connect import Backend, Notify, open_backend, open_inbox_on_backend
from ringi.contracts.backend import Moment, StreamItem, Wakeup
from ringi.demo.script import scripted_demo_reply
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import Run, Thread, checkpoint_thread
from ringi.domain.voting import Decider
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker
from ringi.testing.model import ModelScript, ScriptedModel

T = TypeVar("T")
LIMIT = 30.0
AGUI: TypeAdapter[Any] = TypeAdapter(AguiEvent)


def model(script: ModelScript = scripted_demo_reply) -> BaseChatModel:
    """Return a model that answers at once."""
    return ScriptedModel(script=script, delay=0.0)


def demo() -> list[Agent]:
    """Return the sample agents on a quick model."""
    return list(_demo())


@cache
def _demo() -> tuple[Agent, ...]:
    return tuple(demo_agents.agents(model()))


def other() -> Agent:
    """Return an agent that no thread was begun with."""
    return replace(demo()[0], name="other")


async def until(check: Callable[[], Awaitable[T | None]], what: str, limit: float = LIMIT) -> T:
    """Return what the check returns once it is true, or fail after the limit."""
    rest = Wakeup()
    async with asyncio.timeout(limit):
        while not (found := await check()):
            await rest.wait(0.01)
    assert found, what
    return found


class World:
    """One process's view of a store with threads."""

    def __init__(self, backend: Backend, inbox: StoreInbox, agents: Iterable[Agent]) -> None:
        self.backend, self.inbox = backend, inbox
        self.runner = Worker(backend, inbox, agents_by_name(agents))

    async def start(self, agent: str, input: dict[str, Any], id: str = "t1", tenant: str = "default") -> Thread:
        return await self.runner.start(tenant, id, agent, input, by="bot")

    async def start_and_lose(self, agent: str, input: dict[str, Any], id: str = "t1") -> Thread:
        """Start a run whose job gets lost."""
        thread, event = Thread.begun(id, agent, Run(id=uuid.uuid4().hex, input=input), by="bot", now=utc_now())
        await self.backend.store.put(thread, event)
        return thread

    async def thread(self, id: str = "t1", tenant: str = "default") -> Thread:
        return await self.runner.get(tenant, id)

    async def rest(self, id: str = "t1", tenant: str = "default", limit: float = LIMIT) -> Thread:
        """Return the thread once nothing is left for a worker to do on it."""

        async def is_at_rest() -> Thread | None:
            query = Query(tenant=tenant, thread_id=id, unacknowledged=True)
            if await self.backend.store.count(Request, query):
                return None
            # In this order: what was taken up meanwhile shows as running.
            thread = await self.thread(id, tenant)
            return thread if thread.status != "running" else None

        return await until(is_at_rest, f"thread {id} comes to rest", limit)

    async def run(self, agent: str, input: dict[str, Any], id: str = "t1", tenant: str = "default") -> Thread:
        await self.start(agent, input, id, tenant)
        return await self.rest(id, tenant)

    async def pending(self, id: str = "t1", tenant: str = "default") -> list[Request]:
        return sorted(await self.runner.pending(await self.thread(id, tenant)), key=lambda request: request.title)

    async def one(self, id: str = "t1", tenant: str = "default") -> Request:
        """Return the only open request."""
        (request,) = await self.pending(id, tenant)
        return request

    async def asked(self, id: str = "t1", tenant: str = "default") -> list[Request]:
        """Return all requests that the thread ever made."""
        return await self.backend.store.find(Request, Query(tenant=tenant, thread_id=id, limit=500))

    async def respond(self, request: Request, decision: Any, data: Any = None, **rest: Any) -> Request:
        inbox = self.inbox.for_tenant(request.tenant)
        rest.setdefault("by", Decider("ann", tuple(request.groups)))
        return await inbox.respond(request, decision, data, **rest)

    async def answer(self, request: Request, decision: Any, data: Any = None, **rest: Any) -> Thread:
        """Answer, and return the thread once the run went on as far as it can."""
        await self.respond(request, decision, data, **rest)
        return await self.rest(str(request.thread_id), request.tenant)

    async def items(self, id: str = "t1", tenant: str = "default") -> list[StreamItem]:
        return await self.backend.stream.read(Key(tenant, id), 0, 10_000)

    async def texts(self, id: str = "t1") -> list[str]:
        """Return the messages in the order of their beginnings, after a check of the whole stream."""
        return list(checked(await self.items(id)).values())

    async def checkpoints(self, id: str = "t1", tenant: str = "default") -> list[CheckpointTuple]:
        """Return what is stored of the thread's graph and of the graphs within it."""
        thread = await self.thread(id, tenant)
        place = {"configurable": {"thread_id": checkpoint_thread(thread.key)}}
        return [found async for found in self.backend.savers(thread).alist(place)]

    async def verified(self) -> None:
        _, findings = await verify_store(self.backend.store)
        assert findings == [], findings


@asynccontextmanager
async def opened(
    url: str, agents: Iterable[Agent] | None = None, *, notify: Notify = "auto", poll: float = 0.1, **rest: Any
) -> AsyncIterator[World]:
    """Open a store without a worker."""
    async with (
        open_backend(url, notify=notify, poll_interval=poll) as backend,
        open_inbox_on_backend(backend, **rest) as inbox,
    ):
        yield World(backend, inbox, demo() if agents is None else agents)


@asynccontextmanager
async def working(*worlds: World) -> AsyncIterator[None]:
    """Let each of them work until the block ends."""
    stop = asyncio.Event()
    tasks = [asyncio.create_task(world.runner.work(stop)) for world in worlds]
    try:
        yield
    finally:
        stop.set()
        await asyncio.gather(*tasks)


@asynccontextmanager
async def at_work(url: str, agents: Iterable[Agent] | None = None, **rest: Any) -> AsyncIterator[World]:
    """Open a store with one worker."""
    async with opened(url, agents, **rest) as world, working(world):
        yield world


def before_next_save(backend: Backend, act: Callable[[], Awaitable[object]]) -> None:
    """Call `act` once, right before the next record is saved."""
    store, put, together = backend.store, backend.store.put, backend.put_together

    async def begin() -> None:
        vars(store).pop("put")
        object.__setattr__(backend, "put_together", together)
        await act()

    async def put_after(*args: Any) -> None:
        await begin()
        await put(*args)

    async def put_together_after(moment: Moment) -> None:
        await begin()
        assert together
        await together(moment)

    vars(store)["put"] = put_after
    object.__setattr__(backend, "put_together", together and put_together_after)


def checked(items: Sequence[StreamItem]) -> dict[str, str]:
    """Return the text of each message after a check that the stream is what AG-UI clients expect."""
    assert [item.number for item in items] == list(range(1, len(items) + 1))
    texts: dict[str, str] = {}
    is_open, started, ended = None, set[str](), set[str]()
    for item in items:
        event = item.event
        # Exactly what AG-UI's own model writes, the order of the fields included.
        assert json.dumps(AGUI.validate_python(event).model_dump(mode="json", by_alias=True)) == json.dumps(event)
        match event["type"]:
            case "RUN_STARTED":
                assert is_open is None
                assert event["runId"] not in started
                is_open = event["runId"]
                started.add(is_open)
            case "RUN_FINISHED":
                assert event["runId"] == is_open
                assert texts.keys() == ended
                is_open = None
            case "RUN_ERROR":
                assert is_open
                assert texts.keys() == ended
                is_open = None
            case "TEXT_MESSAGE_START":
                assert event["messageId"] not in texts
                texts[event["messageId"]] = ""
            case "TEXT_MESSAGE_CONTENT":
                assert event["messageId"] not in ended
                texts[event["messageId"]] += event["delta"]
            case "TEXT_MESSAGE_END":
                assert event["messageId"] not in ended
                ended.add(event["messageId"])
            case _:
                assert is_open
    assert is_open is None
    return texts


def of_type(items: Sequence[StreamItem], type: str) -> list[dict[str, Any]]:
    """Return the events of one type."""
    return [item.event for item in items if item.event["type"] == type]
