"""Requests of a thread that its run does not wait for any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Container
from typing import Any

from ringi.connect import Backend
from ringi.domain.record import SYSTEM, Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, FenceError
from ringi.inbox.feed import TOPIC
from ringi.inbox.inbox import Inbox
from ringi.runs.reconciler import is_ours, pages
from ringi.runs.stream_writer import Emitter, stream_topic

log = logging.getLogger(__name__)
PAGE = 200
CANCELLED = "the thread was cancelled"
FAILED = "the run failed"


async def open_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what a thread's runs wait for."""
    return await _found(backend, thread, statuses=("pending",))


async def asked_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what a thread's newest run has asked, answered or not."""
    return [request for request in await _found(backend, thread) if request.run_id == thread.run_id]


async def stuck_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what a thread's runs have asked and cannot go on after, answered or not."""
    return await _found(backend, thread, attention=True)


async def ended_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return what has ended and was not taken up by the thread's run."""
    return await _found(backend, thread, unacknowledged=True)


def is_asked_by(thread: Thread, request: Request) -> bool:
    """Whether a run of the thread goes on after the request: anybody may post one that only names the thread."""
    return is_ours(request) and request.continuation is not None and request.continuation.key == thread.id


async def _found(backend: Backend, thread: Thread, **wanted: Any) -> list[Request]:
    query = Query(tenant=thread.tenant, thread_id=thread.id, limit=PAGE, **wanted)
    # To the last page: many requests that somebody posted with this thread's id would hide the run's own.
    found = [request async for page in pages(backend.store, Request, query) for request in page]
    return [request for request in found if is_asked_by(thread, request)]


async def drop_others(backend: Backend, inbox: Inbox, thread: Thread, asked: Container[str]) -> None:
    """Leave nothing open of what a thread's run no longer asks, nor anything waiting to be taken up."""
    # All at once: a run that parks, or goes on, waits for these reads.
    pending, ended = await asyncio.gather(open_requests(backend, thread), _ended(backend, thread))
    for stale in pending:
        if stale.id not in asked:
            await cancel_quietly(inbox, stale, SYSTEM, "superseded")
    for request in [*pending, *ended]:
        if request.id not in asked:
            await inbox.acknowledge(request.id, SYSTEM)


async def _ended(backend: Backend, thread: Thread) -> list[Request]:
    ended, stuck = await asyncio.gather(ended_requests(backend, thread), stuck_requests(backend, thread))
    return [*ended, *(request for request in stuck if request.is_final)]


async def withdraw(backend: Backend, inbox: Inbox, thread: Thread, by: str, reason: str) -> None:
    """Cancel what the thread's newest run asks; nothing that it gates will run."""
    for request in await open_requests(backend, thread):
        if request.run_id == thread.run_id:
            await cancel_quietly(inbox, request, by, reason)


async def close_orphans(backend: Backend, inbox: Inbox, thread: Thread) -> None:
    """Leave nothing open of a run that is over, nor anything waiting to be taken up by it."""
    asked = await open_requests(backend, thread) if thread.status == "error" else []
    left = [*(request for request in asked if request.run_id == thread.run_id), *await _ended(backend, thread)]
    now = await backend.store.get(Thread, *thread.key)
    if not left or now.run != thread.run or now.is_live:
        # What was found may belong to a run that has begun since, or to this one, which an operator retried.
        return
    for request in left:
        await cancel_quietly(inbox, request, SYSTEM, FAILED)
        await inbox.acknowledge(request.id, SYSTEM)


async def close_run(backend: Backend, inbox: Inbox, thread: Thread, by: str, reason: str) -> None:
    """Leave nothing open of a run that somebody ended, and tell who watches the thread."""
    await withdraw(backend, inbox, thread, by, reason)
    await close_orphans(backend, inbox, thread)
    fence, run_id = thread.fence, str(thread.run_id)
    emitter = Emitter(backend.stream, backend.notifier, thread.key, run_id, fence, clock=inbox.clock)
    try:
        await emitter.take_over()
        await emitter.cancel()
    except FenceError:
        log.info("thread %s has begun anew: its next worker ends the stretch", thread.id)
    await tell(backend, thread)


async def tell(backend: Backend, thread: Thread) -> None:
    """Ring for those who watch a thread."""
    for topic in (thread.topic, TOPIC, stream_topic(thread.key)):
        await backend.notifier.publish(topic)


async def cancel_quietly(inbox: Inbox, request: Request, by: str, reason: str) -> None:
    """Cancel a request unless it has ended already."""
    if request.is_final:
        return
    try:
        await inbox.cancel(request.id, by, reason)
    except ConflictError:
        log.info("request %s ended before it was cancelled: %s", request.id, reason)
