"""What a sweep finds to erase: no clock and no I/O."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import NamedTuple

from ringi.contracts.store import R
from ringi.domain.journal import Journal
from ringi.domain.record import Event, Key
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, PendingError, ThreadBusyError
from ringi.privacy.redaction import unknown_in


class ErasureCandidates(NamedTuple):
    """What is to be erased now, and what cannot be."""

    requests: list[Request]
    threads: list[Thread]
    left: dict[str, str]
    journals: list[Journal] = []


def by_age(
    requests: Sequence[Request], threads: Sequence[Thread], of_requests: dict[Key, Thread], before: datetime
) -> ErasureCandidates:
    """Return what ended before a time, and whose thread is not in use any more."""

    def is_over(thread: Thread | None) -> bool:
        return thread is None or (not thread.is_live and thread.updated_at < before)

    def thread_of(request: Request) -> Thread | None:
        key = thread_key(request)
        return of_requests.get(key) if key else None

    ended = [r for r in requests if r.ended_at and r.ended_at < before]
    ended = [request for request in ended if is_over(thread_of(request))]
    also = [thread for request in ended if (thread := thread_of(request))]
    over = [thread for thread in unique([*threads, *also]) if is_over(thread) and not thread.erased]
    return ErasureCandidates(ended, over, {})


def by_person(requests: Sequence[Request], threads: Sequence[Thread], naming: Container[Key]) -> ErasureCandidates:
    """Return what names a person, apart from what cannot be erased now; `naming` are threads whose events do."""
    newer = {request.id: unknown for request in requests if (unknown := unknown_in(request))}
    left = {id: str(ConflictError.of_newer(Request.record, id, unknown)) for id, unknown in newer.items()}
    left |= {request.id: str(PendingError(request.id)) for request in requests if not request.is_final}
    left |= {thread.id: str(ThreadBusyError(thread.id, thread.status)) for thread in threads if thread.is_live}
    over = [thread for thread in threads if not thread.is_live and (not thread.erased or thread.key in naming)]
    return ErasureCandidates([request for request in requests if request.id not in left], over, left)


def is_of(thread: Thread, person: str | None) -> bool:
    """Whether a person began a thread, or an erasure that was somebody's has come to it before."""
    return thread.started_by == person or (thread.erased is not None and thread.erased.rule == "person")


def thread_key(request: Request) -> Key | None:
    """Return the key of the thread whose run waits for a request, or has waited for it."""
    return Key(request.tenant, request.continuation.key) if request.continuation else None


def keys_of(events: Sequence[Event], kind: str) -> list[Key]:
    """Return the keys of the records of a kind that these events are of."""
    return list(dict.fromkeys(key_of(event) for event in events if event.record == kind))


def key_of(event: Event) -> Key:
    """Return the key of the record that an event is of."""
    return Key(event.tenant, event.record_id)


def unique(records: Sequence[R]) -> list[R]:
    """Return the records, each once."""
    return list({record.key: record for record in records}.values())
