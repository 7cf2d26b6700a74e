"""Requests of a thread that its run does not wait for any more."""

from __future__ import annotations

import logging
from collections.abc import Container

from ringi.connect import Backend
from ringi.errors import ConflictError
from ringi.inbox import Inbox
from ringi.record import Query
from ringi.request import Request
from ringi.thread import SYSTEM, Thread

log = logging.getLogger(__name__)
PAGE = 200


async def open_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what a thread waits for."""
    query = Query(tenant=thread.tenant, thread_id=thread.id, statuses=("pending",), limit=PAGE)
    return await backend.store.find(Request, query)


async def asked_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what a thread's newest run has asked, answered or not."""
    found = await backend.store.find(Request, Query(tenant=thread.tenant, thread_id=thread.id, limit=PAGE))
    return [request for request in found if request.run_id == thread.run_id]


async def ended_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what has ended and was not taken up by the thread's run."""
    query = Query(tenant=thread.tenant, thread_id=thread.id, unacknowledged=True, limit=PAGE)
    return await backend.store.find(Request, query)


async def acknowledge_rest(backend: Backend, inbox: Inbox, thread: Thread, still_asked: Container[str] = ()) -> None:
    """Acknowledge the ended requests of a thread that its run no longer asks."""
    for request in await ended_requests(backend, thread):
        if request.id not in still_asked:
            await inbox.acknowledge(request.id, SYSTEM)


async def withdraw(backend: Backend, inbox: Inbox, thread: Thread, by: str) -> None:
    """Cancel what the thread's newest run asks; nothing that it gates will run."""
    for request in await open_requests(backend, thread):
        if request.run_id == thread.run_id:
            await cancel_quietly(inbox, request, by, "the thread was cancelled")


async def cancel_quietly(inbox: Inbox, request: Request, by: str, reason: str) -> None:
    """Cancel a request unless it has ended already."""
    try:
        await inbox.cancel(request.id, by, reason)
    except ConflictError:
        log.info("request %s ended before it was cancelled: %s", request.id, reason)
