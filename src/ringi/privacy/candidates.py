"""What a sweep selects and reports: no clock and no I/O."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Self

from pydantic import ConfigDict, StrictBool

from ringi.base.model import StrictModel, Time
from ringi.contracts.store import R
from ringi.domain.journal import LEGAL_HOLDS, Journal
from ringi.domain.record import AGENT, ERASED_PERSON, POLICY, START, SYSTEM, Event, Key, Position
from ringi.domain.request import Request, review_key
from ringi.domain.thread import Thread
from ringi.errors import ConflictError as Conflict
from ringi.errors import InvalidError
from ringi.privacy.redaction import newer_fields_error, unknown_field_paths


class Sweep(StrictModel):
    """The selection of an erasure: all data of one person, or all data that ended before a time."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    person: str | None = None
    before: Time | None = None
    dry_run: StrictBool = False
    """Only report the candidates; erase nothing."""
    after: Position = START
    """The position in the feed to start at: `next` of the previous part."""

    @property
    def rule(self) -> Literal["person", "age"]:
        """The rule of the erasure."""
        return "age" if self.person is None else "person"

    def checked(self, by: str) -> Self:
        """Return the sweep itself, or raise `InvalidError` if the caller cannot erase this."""
        if (self.person is None) == (self.before is None):
            raise InvalidError.of("person", "give either a person or a time in `before`")
        nobody = self.person in ("", SYSTEM, ERASED_PERSON) or (self.person or "").startswith((AGENT, POLICY))
        if nobody:
            raise InvalidError.of("person", f"{self.person!r} is not a person: use a name from the audit trail")
        if self.person == by:
            raise InvalidError.of(
                "person", f"{by!r} would be recorded again: another administrator must erase your data"
            )
        return self


class Erasure(StrictModel):
    """The result of an erasure, or of a dry run."""

    requests: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    journals: tuple[str, ...] = ()
    """The journals that contained a person's name and words."""
    left: dict[str, str] = {}
    """The ids that cannot be erased now, and the reasons."""
    upto: Position = START
    """The position up to which the feed was read."""
    next: Position | None = None
    """The start of the next part; None if this was the last."""

    def and_then(self, more: Erasure) -> Erasure:
        """Return the sum of both results."""
        names = ("requests", "threads", "journals")
        sums = {name: tuple(dict.fromkeys((*getattr(self, name), *getattr(more, name)))) for name in names}
        return more.model_copy(update={**sums, "left": {**self.left, **more.left}})


class ErasureCandidates(NamedTuple):
    """The records to erase now, and those that cannot be erased."""

    requests: list[Request]
    threads: list[Thread]
    left: dict[str, str]
    journals: list[Journal] = []


def erasure_candidates_by_age(
    requests: Sequence[Request], threads: Sequence[Thread], of_requests: Mapping[Key | None, Thread], before: datetime
) -> ErasureCandidates:
    """Return the records that ended before a time and whose thread is no longer in use."""

    def is_over(thread: Thread | None) -> bool:
        return thread is None or (not thread.is_live and thread.updated_at < before)

    ended = [(r, of_requests.get(thread_key_of_request(r))) for r in requests if r.ended_at and r.ended_at < before]
    ended = [(request, thread) for request, thread in ended if is_over(thread)]
    also = without_repeated_records([*threads, *(thread for _, thread in ended if thread)])
    over = [thread for thread in also if is_over(thread) and not thread.erased]
    return ErasureCandidates([request for request, _ in ended], over, {})


def erasure_candidates_of_person(
    requests: Sequence[Request], threads: Sequence[Thread], naming: Container[Key]
) -> ErasureCandidates:
    """Return the records that name a person, and separately those that cannot be erased now.

    The events of the threads in `naming` name the person.
    """
    reviews = {review_key(request) for request in requests if not request.is_review}
    # An open review waits with the request that it is about, or by itself.
    requests = [each for each in requests if each.is_final or each.key not in reviews]
    newer = {request.id: unknown for request in requests if (unknown := unknown_field_paths(request))}
    left = {id: str(newer_fields_error(id, unknown)) for id, unknown in newer.items()}
    left |= {each.id: str(Conflict.pending(each.id)) for each in requests if not each.is_final and not each.is_review}
    left |= {thread.id: str(Conflict.busy(thread.id, thread.status)) for thread in threads if thread.is_live}
    over = [thread for thread in threads if not thread.is_live and (not thread.erased or thread.key in naming)]
    return ErasureCandidates([request for request in requests if request.id not in left], over, left)


def legal_hold_id(request: Request, review: Request | None) -> str | None:
    """Return the id of a request, or of its review, if that is on legal hold."""
    return next((each.id for each in (request, review) if each and each.legal_hold), None)


def without_legal_holds(due: ErasureCandidates, reviews: Mapping[Key, Request]) -> ErasureCandidates:
    """Return the candidates without requests on legal hold and their threads, which are left with the reason.

    A hold on the review of a request in `reviews` holds the request too.
    """
    holds = {each.key: legal_hold_id(each, reviews.get(each.key)) for each in due.requests}
    held = {key: str(Conflict.legal_hold(hold)) for key, hold in holds.items() if hold}
    reasons = {
        key: held[each.key] for each in due.requests if each.key in held and (key := thread_key_of_request(each))
    }
    threads = {thread.id: reasons[thread.key] for thread in due.threads if thread.key in reasons}
    return due._replace(
        requests=[request for request in due.requests if request.key not in held],
        threads=[thread for thread in due.threads if thread.key not in reasons],
        left={**due.left, **threads, **{key.id: reason for key, reason in held.items()}},
    )


def without_open_reviews(due: ErasureCandidates, reviews: Mapping[Key, Request]) -> ErasureCandidates:
    """Return the candidates without requests whose review in `reviews` is open, which are left with the reason."""
    pairs = [(each.key, reviews[each.key]) for each in due.requests if each.key in reviews]
    open_reviews = {key: review.id for key, review in pairs if not review.is_final}
    return due._replace(
        requests=[request for request in due.requests if request.key not in open_reviews],
        left=due.left | {key.id: str(Conflict.under_review(key.id, review)) for key, review in open_reviews.items()},
    )


def keys_of_lifted_holds(events: Sequence[Event]) -> list[Key]:
    """Return the keys of the requests whose legal holds these events lift."""
    entries = [event for event in events if (event.record, event.record_id) == (Journal.record, LEGAL_HOLDS)]
    changes = [(event.tenant, event.changed.get("entry") or {}) for event in entries]
    return [Key(tenant, str(each["request"])) for tenant, each in changes if each.get("change") == "lifted"]


def is_thread_of_person(thread: Thread, person: str | None) -> bool:
    """Return whether a person started a thread, or an earlier erasure for a person reached it."""
    return thread.started_by == person or (thread.erased is not None and thread.erased.rule == "person")


def thread_key_of_request(request: Request) -> Key | None:
    """Return the key of the thread whose run waits or waited for a request."""
    return Key(request.tenant, request.continuation.key) if request.continuation else None


def record_keys_of_events(events: Sequence[Event], kind: str) -> list[Key]:
    """Return the keys of these events' records of one kind."""
    return list(dict.fromkeys(record_key_of_event(event) for event in events if event.record == kind))


def record_key_of_event(event: Event) -> Key:
    """Return the key of an event's record."""
    return Key(event.tenant, event.record_id)


def without_repeated_records(records: Sequence[R]) -> list[R]:
    """Return the records without duplicates."""
    return list({record.key: record for record in records}.values())
