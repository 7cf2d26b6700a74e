"""Factories of small records, built like those of the inbox and the runner."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ringi.contracts.store import Store
from ringi.domain.ask import Action, Answer, Ask, Continuation, Decision
from ringi.domain.journal import Journal
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.thread import Run, Thread
from ringi.testing.clock import NOON

CONTINUATION = Continuation(runner="test", target="agent", key="thread-1")


def a_request(
    id: str = "request-1",
    *,
    tenant: str = "tenant-1",
    at: datetime = NOON,
    by: str | None = None,
    parked: bool = False,
    **ask: Any,
) -> tuple[Request, Event]:
    """Return a new request and its event; it gates the action `refund` unless the ask overrides it."""
    content = {"title": "Refund order 1182?", "action": Action("refund", {"amount": 40}), **ask}
    return Request.asked(
        Ask(id=id, **content), id=id, now=at, by=by, tenant=tenant, continuation=CONTINUATION if parked else None
    )


def a_thread(id: str = "thread-1", *, tenant: str = "tenant-1", at: datetime = NOON) -> tuple[Thread, Event]:
    """Return a new thread, whose first run waits for a worker, and its event."""
    return Thread.begun(id, "agent", Run(id="run-1", input={}), by="ann", now=at, tenant=tenant)


def a_journal(id: str = "journal-1", *, tenant: str = "tenant-1", at: datetime = NOON) -> tuple[Journal, Event]:
    """Return a new journal of an application `test` that counts, and its event."""
    return Journal.begun(id, "test", {"sum": 0}, by="ann", now=at, tenant=tenant)


def approval(request: Request, decision: Decision = "approve", **rest: Any) -> Answer:
    """Return an answer to this request with its digest."""
    return Answer(decision=decision, digest=request.digest, **rest)


async def stored(store: Store, id: str = "request-1", **made: Any) -> Request:
    """Store a new request and return it; accepts the arguments of `a_request`."""
    request, event = a_request(id, **made)
    await store.put(request, event)
    return request
