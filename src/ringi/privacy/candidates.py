"""Selects the records of a sweep: no clock and no I/O."""

from __future__ import annotations

from collections.abc import Container, Sequence
from datetime import datetime
from typing import NamedTuple

from ringi.contracts.store import R
from ringi.domain.journal import LEGAL_HOLDS, Journal
from ringi.domain.record import Event, Key
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import LegalHoldError, PendingError, ThreadBusyError
from ringi.privacy.redaction import newer_fields, unknown_in


class ErasureCandidates(NamedTuple):
    """The records to erase now, and those that cannot be erased."""

    requests: list[Request]
    threads: list[Thread]
    left: dict[str, str]
    journals: list[Journal] = []


def by_age(
    requests: Sequence[Request], threads: Sequence[Thread], of_requests: dict[Key, Thread], before: datetime
) -> ErasureCandidates:
    """Return the records that ended before a time and whose thread is no longer in use."""

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
    """Return the records that name a person, and separately those that cannot be erased now.

    The events of the threads in `naming` name the person.
    """
    newer = {request.id: unknown for request in requests if (unknown := unknown_in(request))}
    left = {id: str(newer_fields(id, unknown)) for id, unknown in newer.items()}
    left |= {request.id: str(PendingError(request.id)) for request in requests if not request.is_final}
    left |= {thread.id: str(ThreadBusyError(thread.id, thread.status)) for thread in threads if thread.is_live}
    over = [thread for thread in threads if not thread.is_live and (not thread.erased or thread.key in naming)]
    return ErasureCandidates([request for request in requests if request.id not in left], over, left)


def without_held(due: ErasureCandidates) -> ErasureCandidates:
    """Return the candidates without requests on legal hold and their threads, which are left with the reason."""
    held = [request for request in due.requests if request.legal_hold]
    if not held:
        return due
    reasons = {key: str(LegalHoldError(each.id)) for each in held if (key := thread_key(each))}
    left = {thread.id: reasons[thread.key] for thread in due.threads if thread.key in reasons}
    left |= {each.id: str(LegalHoldError(each.id)) for each in held}
    return due._replace(
        requests=[request for request in due.requests if not request.legal_hold],
        threads=[thread for thread in due.threads if thread.key not in reasons],
        left={**due.left, **left},
    )


def lifted_keys(events: Sequence[Event]) -> list[Key]:
    """Return the keys of the requests whose legal holds these events lift."""
    entries = [event for event in events if (event.record, event.record_id) == (Journal.record, LEGAL_HOLDS)]
    changes = [(event.tenant, event.changed.get("entry") or {}) for event in entries]
    return unique_keys(
        [Key(tenant, str(each["request"])) for tenant, each in changes if each.get("change") == "lifted"]
    )


def unique_keys(keys: Sequence[Key]) -> list[Key]:
    """Return the keys without duplicates."""
    return list(dict.fromkeys(keys))


def is_of(thread: Thread, person: str | None) -> bool:
    """Return whether a person started a thread, or an earlier erasure for a person reached it."""
    return thread.started_by == person or (thread.erased is not None and thread.erased.rule == "person")


def thread_key(request: Request) -> Key | None:
    """Return the key of the thread whose run waits or waited for a request."""
    return Key(request.tenant, request.continuation.key) if request.continuation else None


def keys_of(events: Sequence[Event], kind: str) -> list[Key]:
    """Return the keys of these events' records of one kind."""
    return list(dict.fromkeys(key_of(event) for event in events if event.record == kind))


def key_of(event: Event) -> Key:
    """Return the key of an event's record."""
    return Key(event.tenant, event.record_id)


def unique(records: Sequence[R]) -> list[R]:
    """Return the records without duplicates."""
    return list({record.key: record for record in records}.values())
