"""Close the requests of a thread that its run no longer waits for."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from ringi.backends.kept_checkpoints import log_kept_checkpoints
from ringi.base.failpoints import failpoint
from ringi.base.texts import reason_of
from ringi.connect import Backend
from ringi.contracts.backend import resumes_run
from ringi.domain.ask import Receipt
from ringi.domain.record import SYSTEM, Query
from ringi.domain.request import Request
from ringi.domain.thread import FenceError, Thread, checkpoint_thread
from ringi.errors import ConflictError
from ringi.inbox.feed import TOPIC
from ringi.inbox.inbox import StoreInbox
from ringi.runs.reconciler import record_pages
from ringi.runs.stream_writer import RunStreamWriter, stream_topic

log = logging.getLogger(__name__)
PAGE = 200
CANCELLED = reason_of("thread_cancelled")
FAILED = reason_of("run_failed")


async def open_requests(backend: Backend, thread: Thread) -> list[Request]:
    """Return the requests that a thread's runs wait for.

    Args:
        backend: The services of the store.
        thread: The thread.
    """
    return await requests_of_thread(backend, thread, statuses=("pending",))


async def requests_of_run(backend: Backend, thread: Thread) -> list[Request]:
    """Return all requests of a thread's newest run, answered or not.

    Args:
        backend: The services of the store.
        thread: The thread.
    """
    return [request for request in await requests_of_thread(backend, thread) if request.run_id == thread.run_id]


async def steps_that_asked(backend: Backend, thread: Thread, questions: frozenset[str]) -> dict[str, list[Request]]:
    """Return the steps of a run that asked these questions, with their requests; none without a question."""
    steps = dict[str, list[Request]]()
    for request in await requests_of_run(backend, thread) if questions else ():
        if request.continuation and request.continuation.args.get("interrupt_id") in questions:
            steps.setdefault(str(request.continuation.args["node"]), []).append(request)
    return steps


def is_asked_by(thread: Thread, request: Request) -> bool:
    """Return True if a run of the thread resumes after the request.

    A request may name a thread without that: anyone may post one with the thread's id.

    Args:
        thread: The thread.
        request: A request that names the thread.
    """
    return resumes_run(request) and request.continuation is not None and request.continuation.key == thread.id


async def requests_of_thread(backend: Backend, thread: Thread, **conditions: Any) -> list[Request]:
    """Return the requests of a thread's runs that meet further conditions of a `Query`."""
    query = Query(tenant=thread.tenant, thread_id=thread.id, limit=PAGE, **conditions)
    # Read every page: otherwise many requests posted by others with this thread's id would hide the run's own.
    requests = [request async for page in record_pages(backend.store, Request, query) for request in page]
    return [request for request in requests if is_asked_by(thread, request)]


async def close_requests(
    inbox: StoreInbox, requests: Iterable[Request], reason: str, receipts: Mapping[str, Receipt] | None = None
) -> None:
    """Cancel the open ones among these requests, and acknowledge all, with what became of their calls."""
    for request in requests:
        await cancel_unless_ended(inbox, request, SYSTEM, reason)
        known = request if request.is_final else None
        await inbox.acknowledge(request.id, SYSTEM, known, (receipts or {}).get(request.id))


async def withdraw_requests(backend: Backend, inbox: StoreInbox, thread: Thread, by: str, reason: str) -> None:
    """Cancel the requests of the thread's newest run; the calls that they gate will not run."""
    for request in await open_requests(backend, thread):
        if request.run_id == thread.run_id:
            await cancel_unless_ended(inbox, request, by, reason)


async def close_orphans(
    backend: Backend, inbox: StoreInbox, thread: Thread, receipts: Mapping[str, Receipt] | None = None
) -> None:
    """Cancel or acknowledge all remaining requests of an ended run, and of earlier ones."""
    unsettled = await requests_of_thread(backend, thread, unsettled=True)
    has_failed = thread.status == "error"
    remaining = [request for request in unsettled if request.is_final or has_failed or request.run_id != thread.run_id]
    current = await backend.store.get(Thread, *thread.key)
    if not remaining or current.run != thread.run or current.is_live:
        # The requests may belong to a newer run, or to this run after an operator retried it.
        return
    if has_failed and thread.error:
        # The run has acknowledged all answers that its code had read: these wait for an operator, or for the thread's
        # next run. A question that ended without an answer is asked again.
        answered = [request for request in remaining if request.is_final and (request.response or request.attention)]
        unread = [request for request in answered if request.run_id == thread.run_id]
        for request in unread:
            remaining.remove(request)
            if request.is_unacknowledged:
                await inbox.mark_attention(request.id, thread.attention or thread.error.message)
    await close_requests(inbox, remaining, FAILED, receipts)


async def close_requests_of_run(backend: Backend, inbox: StoreInbox, thread: Thread, by: str, reason: str) -> None:
    """Close all requests of a run that a person ended, and notify the thread's watchers."""
    await withdraw_requests(backend, inbox, thread, by, reason)
    await close_orphans(backend, inbox, thread)
    fence, run_id = thread.fence, str(thread.run_id)
    emitter = RunStreamWriter(backend.stream, backend.notifier, thread.key, run_id, fence, clock=inbox.clock)
    try:
        await emitter.take_over()
        await emitter.cancel()
    except FenceError:
        log.info("thread %s has started again: its next worker closes the stream", thread.id)
    await notify_thread_watchers(backend, thread)


async def prune_checkpoints(backend: Backend, thread: Thread) -> None:
    """Delete the checkpoints of a thread that no run needs any more, unless the thread has changed hands.

    A failure is logged: the thread's next run repeats it.

    Args:
        backend: The services of the store.
        thread: The thread as its worker holds or released it. None of its steps is pending.
    """
    failpoint("prune.before")
    try:
        await backend.savers(thread).keep_newest(checkpoint_thread(thread.key))
    except FenceError:
        log.info("thread %s has started again: its next run deletes the old checkpoints", thread.id)
    except Exception:
        # The run's work is done: it must not be retried or failed because disk space was not freed.
        log_kept_checkpoints(thread.id)


async def notify_thread_watchers(backend: Backend, thread: Thread) -> None:
    """Notify the watchers of a thread."""
    for topic in (thread.topic, TOPIC, stream_topic(thread.key)):
        await backend.notifier.publish(topic)


async def cancel_unless_ended(inbox: StoreInbox, request: Request, by: str, reason: str) -> None:
    """Cancel a request unless it has already ended."""
    if request.is_final:
        return
    try:
        await inbox.cancel(request.id, reason, by=by)
    except ConflictError:
        log.info("request %s ended before it was cancelled: %s", request.id, reason)
