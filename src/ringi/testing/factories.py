"""Factories of small records for tests."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from ringi.contracts.store import R, Store
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
    first_of_kind: bool = False,
    **ask: Any,
) -> tuple[Request, Event]:
    """Return a new request and its event; by default it asks to approve the action `refund`.

    Args:
        id: The id of the request.
        tenant: The tenant.
        at: The time of creation.
        by: The name of the person or client that asks.
        parked: Whether a run waits for the answer.
        first_of_kind: Whether nobody was asked about this tool in the 30 days before.
        ask: Fields of `Ask` that replace the defaults.
    """
    content = {"title": "Refund order 1182?", "action": Action("refund", {"amount": 40}), **ask}
    about: dict[str, Any] = {"continuation": CONTINUATION if parked else None, "first_of_kind": first_of_kind}
    return Request.asked(Ask(id=id, **content), id=id, now=at, by=by, tenant=tenant, **about)


def a_thread(id: str = "thread-1", *, tenant: str = "tenant-1", at: datetime = NOON) -> tuple[Thread, Event]:
    """Return a new thread and its event; its first run waits for a worker.

    Args:
        id: The id of the thread.
        tenant: The tenant.
        at: The time of creation.
    """
    return Thread.begun(id, "agent", Run(id="run-1", input={}), by="ann", now=at, tenant=tenant)


def a_journal(id: str = "journal-1", *, tenant: str = "tenant-1", at: datetime = NOON) -> tuple[Journal, Event]:
    """Return a new journal and its event; the application `test` adds up numbers in it.

    Args:
        id: The id of the journal.
        tenant: The tenant.
        at: The time of creation.
    """
    return Journal.begun(id, "test", {"sum": 0}, by="ann", now=at, tenant=tenant)


def answer_to(request: Request, decision: Decision = "approve", **fields: object) -> Answer:
    """Return an answer to a request, with the request's digest.

    Args:
        request: The request.
        decision: The decision.
        fields: Other fields of `Answer`, such as `data` or `message`.
    """
    return Answer(decision=decision, digest=request.digest, **fields)


async def store_request(store: Store, id: str = "request-1", **arguments: Any) -> Request:
    """Store a new request and return it.

    Args:
        store: The store.
        id: The id of the request.
        arguments: Other arguments of `a_request`.
    """
    return await store_change(store, a_request(id, **arguments))


async def store_requests(store: Store, ids: Iterable[str], **arguments: Any) -> list[Request]:
    """Store a new request for each id, in this order, and return them.

    Args:
        store: The store.
        ids: The ids of the requests.
        arguments: Other arguments of `a_request`, the same for all.
    """
    return [await store_request(store, id, **arguments) for id in ids]


async def store_change(store: Store, change: tuple[R, Event | None]) -> R:
    """Store a record with its event, and return the record.

    Args:
        store: The store.
        change: The record and the event.
    """
    await store.put(*change)
    return change[0]
