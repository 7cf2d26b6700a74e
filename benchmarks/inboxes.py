"""Questions and answers for the benchmarks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.ask import Action
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

CALLERS = 64
POLL = 0.5
T = TypeVar("T")
R = TypeVar("R")


@asynccontextmanager
async def sqlite_inbox(path: Path) -> AsyncIterator[StoreInbox]:
    async with (
        open_backend(f"sqlite:///{path}", poll_interval=POLL) as backend,
        open_inbox_on_backend(backend) as inbox,
    ):
        yield inbox


async def ask(inbox: StoreInbox, n: int = 0) -> Request:
    action = Action("refund", {"order": n, "amount": 40.5, "currency": "EUR", "why": "nine days late"})
    return await inbox.ask(f"Refund order {n}?", description="The customer wrote twice.", action=action)


async def ask_many(inbox: StoreInbox, count: int) -> list[Request]:
    return await spread(range(count), lambda n: ask(inbox, n))


async def approve(inbox: StoreInbox, request: Request) -> Request:
    return await inbox.respond(request, "approve", by="ann")


async def spread(items: Iterable[T], call: Callable[[T], Awaitable[R]], callers: int = CALLERS) -> list[R]:
    """Call a function for each item, a limited number at a time, and return the results."""
    left, results = iter(items), []

    async def caller() -> None:
        for item in left:
            results.append(await call(item))  # noqa: PERF401

    await asyncio.gather(*(caller() for _ in range(callers)))
    return results
