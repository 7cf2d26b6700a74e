"""Runs that need an operator: their list, and the operator's actions."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from typing import Any, Literal

from ringi.base.failpoints import failpoint
from ringi.base.model import StrictModel
from ringi.connect import Backend
from ringi.contracts.store import Store, change_record
from ringi.domain.record import Event, Key, Query, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import InvalidError
from ringi.inbox.inbox import StoreInbox
from ringi.runs.cleanup import close_requests_of_run, notify_thread_watchers, requests_of_thread
from ringi.runs.reconciler import run_start_job

ABANDONED = "abandoned"


class Trouble(StrictModel):
    """One run that cannot go on by itself."""

    kind: Literal["thread", "request"]
    """A failed run, or a question after which its run cannot continue."""
    thread_id: str
    run_id: str | None
    request_id: str | None = None
    agent: str | None
    title: str | None = None
    """The question."""
    status: str
    """The status of the thread or the request."""
    since: datetime
    why: str
    can_retry: bool
    """False if the thread is gone or its agent is not deployed: a retry would fail again."""
    can_ask_again: bool = False
    """True if the run failed on an answer that can be asked again."""


async def runs_needing_attention(
    store: Store, visible: Query, *, limit: int = 50, cursor: str | None = None, deployed: Container[str] | None = None
) -> tuple[list[Trouble], str | None]:
    """Return the runs that need an operator and the next cursor: failed threads, then stranded requests, newest first.

    `visible` names the tenant and selects the visible requests; `deployed` names the agents, if known.
    Raises `InvalidError` if the cursor does not belong to this list.
    """
    records = await _find_records(store, visible, limit + 1, cursor)
    page = records[:limit]
    next = f"{page[-1].record}:{cursor_after_record(page[-1])}" if len(records) > limit else None
    keys = {_thread_key(record) for record in page if isinstance(record, Request)}
    threads = {thread.key: thread for thread in await store.get_many(Thread, list(keys))}
    return [trouble for record in page if (trouble := _trouble(record, threads, deployed))], next


async def retry_failed_run(
    backend: Backend, inbox: StoreInbox, thread_id: str, *, by: str, reason: str | None = None
) -> Thread:
    """Retry a thread's run from its last checkpoint, and return the thread at once; a worker continues the run.

    Decisions of people count; requests that ended without a decision are asked again. A thread that needs no attention
    is unchanged, so a retry is idempotent.

    Args:
        backend: The services of the store.
        inbox: The inbox of the thread's tenant.
        thread_id: The id of the thread.
        by: The name of the operator, for the audit trail.
        reason: The reason, for the audit trail.

    Raises:
        NotFoundError: There is no such thread.
    """

    def retry_run(thread: Thread) -> tuple[Thread, Event | None]:
        return thread.retried(by, inbox.clock(), reason) if thread.needs_attention else (thread, None)

    before, thread = await change_record(backend.store, Thread, Key(inbox.tenant, thread_id), retry_run)
    failpoint("retry.after_commit")
    for id in before.error.answers if before.error and thread is not before else ():
        await inbox.retry(id, by)
    stuck = await requests_of_thread(backend, thread, attention=True)
    for request in stuck:
        await inbox.retry(request.id, by)
    if stuck or thread is not before:
        await backend.jobs.submit(run_start_job(thread))
        await notify_thread_watchers(backend, thread)
    return thread


async def ask_run_questions_again(
    backend: Backend, inbox: StoreInbox, thread_id: str, *, by: str, reason: str | None = None
) -> Thread:
    """Ask a thread's last questions again after its run failed on the answers; a worker continues the run.

    A run that failed in a later step returns to the questions and repeats the steps since. A thread that has not failed
    is unchanged. The arguments are those of `retry`.

    Raises:
        NotFoundError: There is no such thread.
        ConflictError: The run had received no answer.
    """

    def repeat_questions(thread: Thread) -> tuple[Thread, Event | None]:
        return thread.asked_again(by, inbox.clock(), reason) if thread.status == "error" else (thread, None)

    before, thread = await change_record(backend.store, Thread, Key(inbox.tenant, thread_id), repeat_questions)
    failpoint("ask_again.after_commit")
    if thread is not before:
        await backend.jobs.submit(run_start_job(thread))
        await notify_thread_watchers(backend, thread)
    return thread


async def abandon(backend: Backend, inbox: StoreInbox, thread_id: str, *, by: str, reason: str | None = None) -> Thread:
    """End a thread's run for good, withdraw its requests, and return the idle thread, which accepts new input.

    A thread that needs no attention is unchanged. The arguments are those of `retry`.

    Raises:
        NotFoundError: There is no such thread.
    """
    key = Key(inbox.tenant, thread_id)
    stuck = await requests_of_thread(backend, await backend.store.get(Thread, *key), attention=True)

    def end(thread: Thread) -> tuple[Thread, Event | None]:
        is_ended = thread.needs_attention or (stuck and thread.status == "interrupted")
        return thread.abandoned(by, inbox.clock(), reason) if is_ended else (thread, None)

    _, thread = await change_record(backend.store, Thread, key, end)
    failpoint("abandon.after_commit")
    if not thread.is_live:
        await close_requests_of_run(backend, inbox, thread, by, ABANDONED)
    return thread


async def _find_records(store: Store, visible: Query, limit: int, cursor: str | None) -> list[Thread | Request]:
    kind, _, before = cursor.partition(":") if cursor else (Thread.record, "", None)
    if kind not in (Thread.record, Request.record):
        raise InvalidError.of("cursor", f"{cursor!r} is not a cursor of this list: take it from `next`")
    records: list[Thread | Request] = []
    if kind == Thread.record:
        failed = Query(tenant=visible.tenant, statuses=("error",), before=before, limit=limit)
        records += await store.find(Thread, failed)
        before = None
    if remaining := limit - len(records):
        conditions = {"attention": True, "before": before, "limit": remaining}
        records += await store.find(Request, visible.model_copy(update=conditions))
    return records


def _thread_key(request: Request) -> Key:
    assert request.continuation
    return Key(request.tenant, request.continuation.key)


def _trouble(record: Thread | Request, threads: dict[Key, Thread], deployed: Container[str] | None) -> Trouble | None:
    thread = record if isinstance(record, Thread) else threads.get(_thread_key(record))
    can_retry = thread is not None and (deployed is None or thread.agent in deployed)
    about: dict[str, Any] = {"run_id": record.run_id, "status": record.status, "can_retry": can_retry}
    about |= {"agent": thread.agent if thread else None, "since": thread.updated_at if thread else record.created_at}
    if isinstance(record, Thread):
        why, answers = (record.error.message, record.error.answers) if record.error else ("", ())
        again = can_retry and bool(answers)
        return Trouble(kind="thread", thread_id=record.id, why=record.attention or why, can_ask_again=again, **about)
    # A failed run closes its requests a moment later: the thread already shows the failure.
    if thread and thread.status == "error":
        return None
    about |= {"thread_id": _thread_key(record).id, "request_id": record.id, "title": record.title}
    return Trouble(kind="request", why=record.attention or "", **about)
