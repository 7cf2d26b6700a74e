"""Erases the content of records, in the store and beside it; ids, digests, times and the hash chain stay."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Container, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from itertools import compress, takewhile
from typing import Any

from ringi.audit.verify import audit_record
from ringi.base.failpoints import failpoint
from ringi.base.outages import FailureLog
from ringi.contracts.backend import Stream, StreamItem
from ringi.contracts.store import R, Store, change_record, find_record, read_record_history, skip_unreadable_records
from ringi.domain.ask import REVIEW
from ringi.domain.events import FINAL_EVENTS, FeedEventName, delivery_stream_key
from ringi.domain.journal import Journal
from ringi.domain.record import (
    THREAD,
    Erased,
    Event,
    Key,
    Query,
    Record,
    UnreadableError,
    WaitingErasure,
    cursor_after_record,
)
from ringi.domain.request import Request, overridden_key, review_key
from ringi.domain.thread import FenceError, Savers, Thread, checkpoint_thread, conversation_stream, thread_state_streams
from ringi.errors import ConflictError, NotFoundError, RingiError
from ringi.files.attachments import Attachments, damage_as_unreadable, file_fields_of_request, file_numbers_in_answer
from ringi.files.images import Images
from ringi.privacy.candidates import (
    Erasure,
    ErasureCandidates,
    Sweep,
    erasure_candidates_by_age,
    erasure_candidates_of_person,
    is_thread_of_person,
    keys_of_lifted_holds,
    legal_hold_id,
    record_key_of_event,
    record_keys_of_events,
    thread_key_of_request,
    without_legal_holds,
    without_open_reviews,
    without_repeated_records,
)
from ringi.privacy.redaction import (
    erasure_changes_to_request,
    event_names_person,
    has_words_of_person,
    is_content_erased,
    newer_fields_error,
    redacted_payloads,
    thread_without_content,
    unknown_field_paths,
)

log = logging.getLogger(__name__)
BATCH = 500
"""The number of events that one part of a sweep reads."""
AT_ONCE = 50
"""The number of concurrent erasures: the store then cleans up once for all of them."""
TRIES = 20
PROTECTED = timedelta(minutes=5)
"""The time for which an erasure that has begun to delete refuses legal holds, if it does not end before."""
MARK = {"type": "CUSTOM", "name": "erased", "value": {}}
"""The remaining output of a thread: a reader at an old position finds the end."""
CREATED: FeedEventName = "request.created"
IDLE = ("done", "error", "cancelled", "abandoned", "reserved")
ENDS = frozenset([*FINAL_EVENTS, *(f"thread.{how}" for how in IDLE)])
RequestCheck = Callable[[Request], None]


class Eraser:
    """Erases the data beside a record first and the record last, so that an interrupted erasure can be repeated."""

    def __init__(self, store: Store, stream: Stream | None = None, savers: Savers | None = None) -> None:
        self._store, self._stream, self._savers = store, stream, savers
        self.attachments, self._images = Attachments(stream), Images(stream)

    async def request(self, key: Key, erased: Erased, check: RequestCheck, person: str | None = None) -> Request:
        """Erase an ended request and its thread's content, or only one person's part; idempotent.

        The review of an override is erased first. While it is open, only the rest is erased; the request waits for the
        end of the review.

        Raises `ConflictError` for a request that has not ended, or while its review or its run is in progress.
        """
        async with self._refusing_holds(erased) as marked:
            return await self._request(key, erased, check, person, marked)

    async def _request(
        self, key: Key, erased: Erased, check: RequestCheck, person: str | None, marked: set[Key]
    ) -> Request:
        request = await self._erased_request(key, erased, check, person, marked)
        await self._end_wait(request, erased, person)
        return request

    async def _erased_request(
        self, key: Key, erased: Erased, check: RequestCheck, person: str | None, marked: set[Key]
    ) -> Request:
        for _ in range(TRIES):
            request = await self._store.get(Request, *key)
            check(request)
            review = await find_review(self._store, request)
            refuse_erasure(request, review, person)
            history = await read_record_history(self._store, request)
            changes = erasure_changes_to_request(request, person, history)
            left = redacted_payloads(history, person)
            if not (changes or left or (person and await self._is_beside(key, person))):
                return request
            is_done = is_content_erased(request, person)
            if not is_done and await self._begin(filter(None, (request, review)), erased, marked):
                continue
            if not is_done and (person is None or has_words_of_person(request, person, history)):
                await self._thread_of(request, erased, marked)
            # A previous erasure may have been killed before this step.
            await self._forget_tries(key)
            if review and not await self._is_reviewed(request, review, erased, person, marked):
                continue
            if is_done:
                return request
            await self._forget_files(request, changes)
            failpoint("erase.before_commit")
            if after := await self._saved(request, erased, {**changes, "erasing": ()}, left, history):
                marked.discard(key)  # Saved without its mark.
                # Again: a call in progress has ended in the meantime and recorded its result.
                await self._forget_tries(key)
                return after
        raise ConflictError.too_often(Request.record, key.id)

    @asynccontextmanager
    async def _refusing_holds(self, erased: Erased) -> AsyncIterator[set[Key]]:
        """Let holds be set again, after the block, on the requests whose keys the block adds to the set."""
        marked, until = set[Key](), erased.at + PROTECTED
        try:
            yield marked
        finally:
            for key in marked:
                with suppress(RingiError):
                    await change_record(self._store, Request, key, lambda each: each.with_erasing(until, None))

    async def _begin(self, requests: Iterable[Request], erased: Erased, marked: set[Key]) -> bool:
        """Let nobody set a hold on these requests for now; return whether one of them changed."""
        is_changed = False
        for request in requests:
            after, _ = request.with_erasing(erased.at + PROTECTED, erased.at)
            if not is_content_erased(request, None) and after.erasing != request.erasing:
                is_changed = True
                with suppress(ConflictError):
                    await self._store.put(after, None)
                    marked.add(request.key)
        return is_changed

    async def _is_reviewed(
        self, request: Request, review: Request, erased: Erased, person: str | None, marked: set[Key]
    ) -> bool:
        """Erase the ended review of a request; return False if it has ended just now.

        While it is open, let the erasure wait for its end, and raise `ConflictError`.
        """
        if not review.is_final:
            new = WaitingErasure(**erased.model_dump(), request=request.id, person=person)
            _, after = await change_record(
                self._store, Request, review.key, lambda each: each.with_waiting_erasure(new)
            )
            if not after.is_final:
                raise ConflictError.under_review(request.id, review.id)
            return False
        if review is not request:
            # It repeats the title: if that is the person's, nothing of it may stay.
            is_whole = person is None or request.asked_by == person
            how = erased.model_copy(update={"rule": "request"}) if is_whole and person else erased
            await self._request(review.key, how, lambda _: None, None if is_whole else person, marked)
            failpoint("erase.after_review")
        return True

    async def _end_wait(self, request: Request, erased: Erased, person: str | None) -> None:
        for _ in range(TRIES):
            review = await find_review(self._store, request)
            waiting = review.waiting_erasures if review else ()
            left = tuple(each for each in waiting if each.request != request.id or person not in (None, each.person))
            if not review or left == waiting:
                return
            history = await read_record_history(self._store, review)
            # As an erasure: the store may keep no earlier version, which names the person.
            if await self._saved(review, erased, {"waiting_erasures": left}, {}, history):
                return
        raise ConflictError.too_often(Request.record, request.id)

    async def after_change(self, before: Request, after: Request, now: datetime) -> bool:
        """Do what the end of a request allows, or the end of its legal hold; return whether something was erased."""
        if not after.is_final:
            return False
        if after.legal_hold or (before.is_final and not before.legal_hold):
            return False
        # The decision is stored, so its caller gets no error; a job tries again.
        with FailureLog(log, "an erasure still waits after the end of %s", after.id):
            return await self.finish(after, now)
        return False

    async def finish(self, request: Request, now: datetime) -> bool:
        """Delete the files of an ended request that were never sent, and do the erasures that waited for its review.

        Returns False if none waited, or the review is open. Raises the first error of those that cannot be done now,
        after all others are done.
        """
        if request.legal_hold:
            raise ConflictError.legal_hold(request.id)
        review, failures = await find_review(self._store, request), list[Exception]()
        if request.is_final:
            try:
                await self.attachments.end(request)
            except Exception as error:
                failures.append(error)
        waiting = review.waiting_erasures if review and review.is_final else ()
        for each in waiting:
            erased, key = Erased(at=now, by=each.by, rule=each.rule), Key(request.tenant, each.request)
            try:
                await self.request(key, erased, lambda _: None, each.person)
            except NotFoundError:
                continue  # There is nothing to erase.
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return bool(waiting)

    async def thread(self, key: Key, erased: Erased, person: str | None = None) -> None:
        """Erase a thread's content, output and checkpoints; repeat it to remove the name of an earlier eraser.

        Raises `ConflictError` while the thread is in use or one of its requests is on hold, and `NotFoundError` if
        neither a thread nor its images exist.
        """
        async with self._refusing_holds(erased) as marked:
            await self._thread(key, erased, person, marked)

    async def _thread(self, key: Key, erased: Erased, person: str | None, marked: set[Key]) -> None:
        for _ in range(TRIES):
            try:
                thread = await self._store.get(Thread, *key)
            except NotFoundError:
                # Images of a thread that is about to start have a higher fence.
                if await self._images.erase(key, fence=0):
                    return
                raise
            history, changes = await read_record_history(self._store, thread), thread_without_content(thread)
            if thread.erased and not (person and redacted_payloads(history, person)):
                await self._forget_late(key, thread.fence)
                return
            if thread.is_live:
                raise ConflictError.busy(thread.id, thread.status)
            asked = await self._asked_by(thread)
            reviews = await find_reviews(self._store, asked)
            if held := next((id for each in asked if (id := legal_hold_id(each, reviews.get(each.key)))), None):
                raise ConflictError.legal_hold(held)
            is_changed = await self._begin([*asked, *reviews.values()], erased, marked)
            if is_changed or not await self._forget_run(thread, erased):
                continue
            failpoint("erase.before_saved")
            if after := await self._saved(thread, erased, changes, redacted_payloads(history, None), history):
                await self._forget_late(key, after.fence)
                return
        raise ConflictError.too_often(Thread.record, key.id)

    async def journal(self, key: Key, erased: Erased, person: str) -> None:
        """Erase a person's name and words in a journal; the entries stay, because they are part of the sum."""
        for _ in range(TRIES):
            journal = await self._store.get(Journal, *key)
            history = await read_record_history(self._store, journal)
            left = redacted_payloads(history, person)
            changes = journal.without([event for event in history if event.version in left], person)
            if not left or await self._saved(journal, erased, changes, left, history):
                return
        raise ConflictError.too_often(Journal.record, key.id)

    async def sweep(self, sweep: Sweep, erased: Erased, tenant: str | None) -> Erasure:
        """Erase the candidates in one part of the feed; `next` of the result is the start of the next part."""
        events = await self._store.events(sweep.after, BATCH, tenant=tenant)
        # A fast clock may date an event after later ones: it must not end every sweep before them.
        read = list(takewhile(lambda e: not sweep.before or e.at < sweep.before or e.at > erased.at, events))
        due = await self._due(read, sweep)
        reviews = await find_reviews(self._store, due.requests)
        due = without_legal_holds(due, reviews)
        due = without_open_reviews(due, reviews) if sweep.dry_run else due
        left = due.left if sweep.dry_run else {**due.left, **await self._erase(due, sweep, erased)}
        return Erasure(
            requests=tuple(request.id for request in due.requests if request.id not in left),
            threads=tuple(thread.id for thread in due.threads if thread.id not in left),
            journals=tuple(journal.id for journal in due.journals if journal.id not in left),
            left=left,
            upto=read[-1].position if read else sweep.after,
            next=read[-1].position if len(read) == BATCH else None,
        )

    async def _erase(self, due: ErasureCandidates, sweep: Sweep, erased: Erased) -> dict[str, str]:
        left: dict[str, str] = {}

        async def attempt(record: Record) -> None:
            try:
                if isinstance(record, Thread):
                    return await self._thread(record.key, erased, sweep.person, marked)
                if isinstance(record, Journal):
                    return await self.journal(record.key, erased, str(sweep.person))
                await self._request(record.key, erased, lambda _: None, sweep.person, marked)
            except (ConflictError, UnreadableError) as error:
                left[record.id] = str(error)

        records = [*due.threads, *due.requests, *due.journals]
        async with self._refusing_holds(erased) as marked:
            for n in range(0, len(records), AT_ONCE):
                await asyncio.gather(*map(attempt, records[n : n + AT_ONCE]))
        return left

    async def _due(self, events: Sequence[Event], sweep: Sweep) -> ErasureCandidates:
        person = sweep.person
        wanted = [each for each in events if (event_names_person(each, person) if person else each.type in ENDS)]
        # A hold that was lifted after the retention had passed the request's end.
        lifted = keys_of_lifted_holds(events) if sweep.before else []
        lifted_requests = await self._read(Request, lifted)
        named = record_keys_of_events(wanted, Thread.record)
        threads = await self._read(Thread, [*named, *map(thread_key_of_request, lifted_requests)])
        asked = await self._found_beside(events, person) if person else []
        keys = [*record_keys_of_events(wanted, Request.record), *asked, *lifted, *map(overridden_key, lifted_requests)]
        requests = await self._read(Request, keys)
        if sweep.before:
            requests += [request for thread in threads for request in await self._asked_by(thread)]
        requests = [each for each in without_repeated_records(requests) if not is_content_erased(each, person)]
        own = await self._read(Thread, map(thread_key_of_request, requests))
        of_requests: dict[Key | None, Thread] = {thread.key: thread for thread in own}
        if sweep.before:
            return erasure_candidates_by_age(requests, threads, of_requests, sweep.before)
        spoken = {record_key_of_event(event) for event in wanted if event.actor == person}
        spoken_threads = (of_requests.get(thread_key_of_request(each)) for each in requests if each.key in spoken)
        more = [thread for thread in spoken_threads if thread]
        more += await self._read(Thread, [thread.parent for thread in more])
        found = without_repeated_records([*threads, *more])
        beside = await self._beside(events, person, {thread.key for thread in found})
        due = erasure_candidates_of_person(requests, without_repeated_records([*found, *beside]), set(named))
        return due._replace(journals=await self._read(Journal, record_keys_of_events(wanted, Journal.record)))

    async def _read(self, kind: type[R], keys: Iterable[Key | None]) -> list[R]:
        """Return the records of these keys that can be read, each once."""
        return await skip_unreadable_records(self._store, kind, list(dict.fromkeys(filter(None, keys))))

    async def _beside(self, events: Sequence[Event], person: str | None, found: Container[Key]) -> list[Thread]:
        """Return the threads that runs of this person's threads started: they received the same data."""
        begun = record_keys_of_events([event for event in events if event.actor.startswith(THREAD)], Thread.record)
        threads = await self._read(Thread, begun)
        parents = await self._read(Thread, [thread.parent for thread in threads])
        of_person = {each.key for each in parents if each.key in found or is_thread_of_person(each, person)}
        return [thread for thread in threads if thread.parent in of_person]

    async def _found_beside(self, events: Sequence[Event], person: str) -> list[Key]:
        """Return the keys of requests in this part whose data beside the record names a person: no event records it."""
        created = [event for event in events if event.type == CREATED]
        keys, found = record_keys_of_events(created, Request.record), list[Key]()
        for n in range(0, len(keys), AT_ONCE):
            some = keys[n : n + AT_ONCE]
            is_theirs = await asyncio.gather(*(self._may_be_beside(key, person) for key in some))
            found += compress(some, is_theirs)
        return found

    async def _may_be_beside(self, key: Key, person: str) -> bool:
        try:
            return await self._is_beside(key, person)
        except UnreadableError:
            return True  # Its own erasure reports why it remains.

    async def _is_beside(self, key: Key, person: str) -> bool:
        """Return whether a person redelivered a request's events, attached a file, or let an erasure wait for it."""
        review = await find_record(self._store, Request, key) if REVIEW.fullmatch(key.id) else None
        if review and any(each.by == person for each in review.waiting_erasures):
            return True
        if await self.attachments.is_from(key, person):
            return True
        after = 0
        with damage_as_unreadable("deliveries", key.id):
            while self._stream and (items := await self._stream.read(delivery_stream_key(*key), after)):
                if any(item.event.get("by") == person for item in items):
                    return True
                after = items[-1].number
        return False

    async def _asked_by(self, thread: Thread) -> list[Request]:
        found: list[Request] = []
        query = Query(tenant=thread.tenant, thread_id=thread.id, limit=BATCH)
        while page := await self._store.find(Request, query):
            found += [request for request in page if thread_key_of_request(request) == thread.key]
            query = query.model_copy(update={"before": cursor_after_record(page[-1])})
        return found

    async def _thread_of(self, request: Request, erased: Erased, marked: set[Key]) -> None:
        if key := thread_key_of_request(request):
            with suppress(NotFoundError):
                if parent := (await self._store.get(Thread, *key)).parent:
                    # That thread received the answer. Erase it first: afterwards nothing records who started it.
                    await self._thread(parent, erased, None, marked)
                await self._thread(key, erased, None, marked)

    async def _forget_tries(self, key: Key) -> None:
        if self._stream:
            await self._stream.delete(delivery_stream_key(*key), fence=0)

    async def _forget_files(self, request: Request, changes: dict[str, Any]) -> None:
        if self._stream and file_fields_of_request(request):
            left = request.model_copy(update={"response": changes.get("response", request.response)})
            await self.attachments.erase(request, file_numbers_in_answer(left))

    async def _forget_run(self, thread: Thread, erased: Erased) -> bool:
        """Delete output, checkpoints and images; return False if the thread changed and all must be repeated."""
        try:
            # A thread without a run has no checkpoints.
            if self._savers and thread.run:
                await self._savers(thread).adelete_thread(checkpoint_thread(thread.key))
            if thread.images:
                # Before the bytes are deleted: if a new run starts in the meantime, its thread must not list deleted
                # images.
                await self._store.put(*thread.without_images(erased.by, erased.at))
                failpoint("erase.before_images")
                return False
            if self._stream:
                if await self._stream.delete(thread.key, fence=thread.fence):
                    await self._stream.append(thread.key, [StreamItem(MARK)], fence=thread.fence)
                for key in (*thread_state_streams(thread.key), conversation_stream(thread.key)):
                    await self._stream.delete(key, fence=thread.fence)
            await self._images.erase(thread.key, fence=thread.fence)
        except (ConflictError, FenceError):
            return False
        return True

    async def _forget_late(self, key: Key, fence: int) -> None:
        """Delete again what was stored while the erasure was in progress; `fence` is that of the erased thread."""
        # Images for a run that this erasure prevented. One above the fence, so that no more images arrive: an erased
        # thread is reserved before new images are stored.
        await self._images.erase(key, fence=fence + 1)
        if self._stream:
            with suppress(FenceError):
                await self._stream.delete(conversation_stream(key), fence=fence)

    async def _saved(
        self,
        record: R,
        erased: Erased,
        changes: dict[str, Any],
        left: dict[int, dict[str, Any]],
        history: Sequence[Event],
    ) -> R | None:
        """Save the record without its content, and what is left of its events; return None after a concurrent update.

        Raises `ConflictError` for a record that does not verify: an erasure would hide the tampering.
        """
        if found := audit_record(record, history):
            if (await self._store.get(type(record), *record.key)).version != record.version:
                return None  # It has changed between the reads of the record and of its history.
            what = f"{record.record} {record.id!r} was not erased: {found[0].what}"
            raise ConflictError(f"{what}; run `ringi verify` first")
        before = {event.version: event.actor for event in history if event.is_redacted}
        redacted_versions = before | {version: payload["actor"] for version, payload in left.items()}
        if record.erased and record.erased.rule != "person":
            erased = erased.model_copy(update={"rule": record.erased.rule})
        after, event = record.redacted(erased, redacted_versions, **changes)
        try:
            await self._store.erase(after, event, left)
        except ConflictError:
            return None
        return after


def refuse_erasure(request: Request, review: Request | None, person: str | None) -> None:
    """Raise `ConflictError` for a request on hold, a pending one, or one whose unknown fields may name the person."""
    if held := legal_hold_id(request, review):
        raise ConflictError.legal_hold(held)
    if not request.is_final and not review:
        raise ConflictError.pending(request.id)
    if person and (unknown := unknown_field_paths(request)):
        raise newer_fields_error(request.id, unknown)


async def find_review(store: Store, request: Request) -> Request | None:
    """Return the review that an erasure of a request waits for; None if nobody has overridden the request.

    Args:
        store: The store of the requests.
        request: The request; a review waits for itself.
    """
    key = review_key(request)
    return request if key == request.key else await find_record(store, Request, key) if key else None


async def find_reviews(store: Store, requests: Sequence[Request]) -> dict[Key, Request]:
    """Return the reviews that erasures of these requests wait for, by the key of the request.

    Args:
        store: The store of the requests.
        requests: The requests.
    """
    keys = {request.key: key for request in requests if (key := review_key(request))}
    found = {review.key: review for review in await skip_unreadable_records(store, Request, list(set(keys.values())))}
    return {key: found[review] for key, review in keys.items() if review in found}
