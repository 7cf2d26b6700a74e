"""The inbox: ask, claim, release, respond, cancel, wait, expire. The only place with rules."""

from __future__ import annotations

import asyncio
import copy
import logging
import random
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ringi.base.clock import Clock, utc_now
from ringi.base.failpoint import failpoint
from ringi.base.metrics import Metrics, seconds
from ringi.contracts.notifier import Notifier
from ringi.contracts.store import Store, change
from ringi.domain import memories
from ringi.domain.ask import Answer, Ask, Continuation, Decision
from ringi.domain.memories import Memory
from ringi.domain.record import DEFAULT_TENANT, START, SYSTEM, Erased, Event, Frozen, Key, Position, Query, topic_of
from ringi.domain.request import Request
from ringi.errors import ConflictError, DifferentAskError, FinalError, NotFoundError, WaitTimeoutError
from ringi.files.attachments import names_files
from ringi.forms.field_parts import AttachedFile
from ringi.inbox import tracing
from ringi.inbox.api import InboxAPI, id_of
from ringi.inbox.feed import TOPIC, Feed
from ringi.inbox.lifetime import Closable
from ringi.privacy.erasure import Eraser, Erasure, Sweep

log = logging.getLogger(__name__)
Check = Callable[[Request], None]
SWEEP = 200
"""How many overdue requests are read in one go."""
SWEEPERS = 8
"""How many requests expire at once: a hundred thousand that are due leave the store's turns to others."""
RETENTION = "retention"
"""The cursor up to which all that is old was erased."""


def everybody(request: Request) -> None:
    """Refuse nobody: who holds the store may do everything with it."""


class Limits(Frozen):
    """What the inbox allows."""

    max_fields: int = 5
    """Fields of one form."""
    claim_seconds: float = 900.0
    """How long a claim keeps others away."""


class Inbox(Closable, InboxAPI):
    """Questions to people, of one tenant, on some store."""

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        *,
        tenant: str = DEFAULT_TENANT,
        clock: Clock = utc_now,
        limits: Limits | None = None,
        eraser: Eraser | None = None,
    ) -> None:
        self.store, self.notifier, self.tenant, self.clock = store, notifier, tenant, clock
        self.limits = limits or Limits()
        self._eraser = eraser or Eraser(store)
        self.feed = Feed(store, notifier)
        self.measures = Metrics()
        self._check: Check = everybody

    def of(self, tenant: str, check: Check = everybody) -> Inbox:
        """Return the same inbox for another tenant, where `check` is asked about each request that is read.

        It raises to refuse. A change is checked on the very version that it would replace.
        """
        other = copy.copy(self)
        other.tenant, other._check = tenant, check
        return other

    async def submit(
        self, ask: Ask, *, by: str | None = None, continuation: Continuation | None = None, is_known: bool = False
    ) -> Request:
        """Store an ask, or return the stored request when its id exists with the same content.

        Who believes that it exists says so: then it is looked for first, and nothing is written.
        """
        ask = ask.checked(max_fields=self.limits.max_fields, may_be_derived=continuation is not None)
        about: dict[str, Any] = {"id": ask.id or uuid.uuid4().hex, "now": self.clock(), "by": by, "tenant": self.tenant}
        span = tracing.beginning("asked", about["now"])
        request, event = Request.asked(ask, **about, continuation=continuation, traceparent=span.traceparent)
        if is_known:
            with suppress(NotFoundError):
                return await self._asked_before(request)
        return await self._put(request, event, span)

    async def submit_approved(self, ask: Ask, *, rule: str, by: str | None = None) -> Request:
        """Store an ask together with its approval by a rule of a policy, in one step and with one event.

        When its id exists with the same content, return what is stored: whether that was granted is for the caller
        to see.
        """
        ask = ask.checked(max_fields=self.limits.max_fields, may_be_derived=True)
        about: dict[str, Any] = {"id": ask.id or uuid.uuid4().hex, "now": self.clock(), "by": by, "tenant": self.tenant}
        span = tracing.beginning("asked", about["now"])
        return await self._put(*Request.approved(ask, **about, rule=rule, traceparent=span.traceparent), span)

    async def _put(self, request: Request, event: Event, span: tracing.Beginning) -> Request:
        try:
            await self.store.put(request, event)
        except ConflictError:
            return await self._asked_before(request)
        failpoint("ask.after_commit")
        span.asked(request)
        await self._tell(request)
        return request

    async def get(self, id: str) -> Request:
        """Return a request, or raise `NotFoundError`."""
        request = await self.store.get(Request, self.tenant, id)
        self._check(request)
        return request

    async def find(self, query: Query | None = None) -> list[Request]:
        """Return this tenant's matching requests, newest first."""
        return await self.store.find(Request, (query or Query()).model_copy(update={"tenant": self.tenant}))

    async def count(self, query: Query) -> int:
        """Return how many of this tenant's requests match, up to the query's limit."""
        return await self.store.count(Request, query.model_copy(update={"tenant": self.tenant}))

    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        """Return this tenant's events past a position, in order."""
        return await self.store.events(after, limit, tenant=self.tenant, record_id=request_id)

    async def follow(
        self, after: Position | None = None, *, request_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        """Yield this tenant's events past a position in order, then each as it happens, for ever.

        No event is left out or comes twice; who broke off goes on after the `position` of the last. By default it
        begins with the next event from the first step on, with `""` at the very first.
        """
        async with self.notifier.subscribe(TOPIC) as wakeup:
            place = await self.store.tail() if after is None else after
            while True:
                while found := await self.events(place, request_id=request_id):
                    for event in found:
                        place = event.position
                        yield event
                await wakeup.wait(self.notifier.recheck_after)

    async def respond(
        self,
        id: str,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        digest: str,
        responder: str,
        args: dict[str, Any] | None = None,
        message: str | None = None,
        channel: str = "python",
    ) -> Request:
        """Decide a request and return it completed; the first answer wins.

        The same answer from the same responder again returns the same. Raises `FinalError`
        (with the winner) when it has ended, `DigestMismatchError` when `digest` is not what is
        stored, `ClaimedError`, or `InvalidError` with an error per field: then it stays pending.
        """
        body = {"decision": decision, "data": data, "digest": digest, "args": args, "message": message}
        return await self.answer(id, Answer.parse(body), by=responder, channel=channel)

    async def answer(self, id: str, answer: Answer, *, by: str, channel: str) -> Request:
        """Decide a request with an answer that was parsed already; see `respond`."""

        def decide(request: Request) -> tuple[Request, Event | None]:
            if request.is_repeat(answer, by):
                return request, None
            if request.is_overdue(self.clock()):
                return request.expired(self.clock())
            return request.completed(answer, by=by, channel=channel, now=self.clock())

        if names_files(answer.data) and not (asked := await self.get(id)).is_final:
            read = partial(self.get, id)
            await self._eraser.attachments.check(asked, answer.data, by, read=read, refuse=decide)
        request = await self._change(id, decide)
        if request.status == "expired":
            raise FinalError(id, request.status)
        return request

    async def attach(self, id: str, field: str, name: str, content: bytes, *, by: str) -> AttachedFile:
        """Keep a file for a field of a pending request, and return what the answer's data has to say of it.

        It replaces what they attached to the field before, and only their own answer can name it. Raises `InvalidError`
        for a file that the field does not take, `FinalError`, `ClaimedError`.
        """
        request, now = await self.get(id), self.clock()
        request.refuse_closed(by, now)
        attachments, read = self._eraser.attachments, partial(self.get, id)
        return await attachments.add(request, field, name, content, by=by, at=now, read=read)

    async def attachment(self, id: str, number: int) -> bytes:
        """Return the bytes of a file that was attached to a request, or raise `NotFoundError`."""
        return await self._eraser.attachments.content(await self.get(id), number)

    async def claim(self, id: str, by: str) -> Request:
        """Keep others from answering for a while; claiming again renews."""
        lease = timedelta(seconds=self.limits.claim_seconds)
        return await self._change(id, lambda request: request.claimed(by, self.clock(), lease))

    async def release(self, id: str, by: str) -> Request:
        """Give up a claim."""
        return await self._change(id, lambda request: request.released(by, self.clock()))

    async def reassign(self, id: str, by: str, *, assignee: str | None = None, groups: Sequence[str] = ()) -> Request:
        """Give a request to another person or to groups."""
        return await self._change(id, lambda request: request.reassigned(by, self.clock(), assignee, groups))

    async def cancel(self, id: str, by: str, reason: str | None = None) -> Request:
        """Withdraw a request; nothing that it gates will run."""
        return await self._change(id, lambda request: request.cancelled(by, self.clock(), reason))

    async def erase(self, id: str, by: str) -> Request:
        """Erase what an ended request says, and what its thread says; twice is once.

        Ids, digests, the decision, times and the chain stay. Raises `PendingError` for a request that
        has not ended, `ThreadBusyError` while its run goes on.
        """
        erased, key = Erased(at=self.clock(), by=by, rule="request"), Key(self.tenant, id)
        request = await self._eraser.request(key, erased, self._check)
        await self._tell(request)
        return request

    async def erase_some(self, sweep: Sweep, by: str) -> Erasure:
        """Erase what one part of the feed leads to; see `erase_all`."""
        rule = sweep.checked(by).rule
        done = await self._eraser.sweep(sweep, Erased(at=self.clock(), by=by, rule=rule), self.tenant)
        if done.requests and not sweep.dry_run:
            await self._ring(TOPIC)
        return done

    async def retain(self, days: float) -> int:
        """Erase what ended more than so many days ago, of all tenants; return how many requests that were."""
        number, before = 0, self.clock() - timedelta(days=days)
        while True:
            after = await self.store.cursor(RETENTION)
            sweep = Sweep(before=before, after=after)
            done = await self._eraser.sweep(sweep, Erased(at=self.clock(), by=SYSTEM, rule="age"), None)
            number += len(done.requests)
            if done.upto != after:
                await self.store.move_cursor(RETENTION, after, done.upto)
            if done.next is None:
                return number

    async def memories(self, person: str, *, limit: int = 50, before: str | None = None) -> list[Memory]:
        """Return what a person has told in approved answers, newest question first; `before` is a memory's place."""
        query = Query(remembered_by=person, limit=limit, before=before)
        return [memories.memory_of(request, person) for request in await self.find(query)]

    async def memory(self, id: str, person: str) -> Memory:
        """Return what a person told in one request, or raise `NotFoundError`."""
        with memories.looked_for(id):
            return memories.memory_of(await self.get(id), person)

    async def edit_memory(self, id: str, data: dict[str, Any], *, by: str, told_at: datetime | None = None) -> Memory:
        """Change what is remembered of one's answer; the answer itself stays as it was given.

        With the `told_at` of the memory that the caller saw, raises `ConflictError` when it was changed since.
        """
        with memories.looked_for(id):
            request = await self._change(id, lambda request: memories.edited(request, data, by, self.clock(), told_at))
        return memories.memory_of(request, by)

    async def delete_memory(self, id: str, *, by: str) -> None:
        """Remember one's answer no longer, ever; the answer itself stays as it was given."""
        with memories.looked_for(id):
            await self._change(id, lambda request: memories.forgotten(request, by, self.clock()))

    async def acknowledge(self, id: str, by: str) -> Request:
        """Record that the run has taken up the outcome; once is enough."""

        def take_up(request: Request) -> tuple[Request, Event | None]:
            return (request, None) if request.acknowledged_at else request.acknowledged(by, self.clock())

        return await self._change(id, take_up)

    async def remind(self, id: str) -> Request:
        """Have those who may answer reminded, once; a request that has ended stays as it is."""
        return await self._change(id, lambda request: request.reminded(self.clock()))

    async def mark_attention(self, id: str, why: str) -> Request:
        """Mark a request for an operator."""

        def mark(request: Request) -> tuple[Request, Event | None]:
            return (request, None) if request.attention == why else request.needing_attention(why, self.clock())

        return await self._change(id, mark)

    async def retry(self, id: str, by: str) -> Request:
        """Let the run that a request stopped try again; a request that is not marked stays as it is."""

        def again(request: Request) -> tuple[Request, Event | None]:
            return request.retried(by, self.clock()) if request.attention else (request, None)

        return await self._change(id, again)

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        """Return the request, given itself or by its id, once it has ended: completed, cancelled or expired.

        Only a completed one has a `response`. Raises `WaitTimeoutError` after `timeout` seconds (None: never); the
        request stays open.
        """
        self.lifetime.check()
        id = id_of(request)
        ends_at = None if timeout is None else time.monotonic() + timeout
        async with self.notifier.subscribe(topic_of("request", Key(self.tenant, id))) as wakeup, self.feed.follow():
            slept = False
            while not (ended := await self._ended(id)):
                left = None if ends_at is None else ends_at - time.monotonic()
                if left is not None and left <= 0:
                    raise WaitTimeoutError(id, timeout or 0)
                await wakeup.wait(left)
                slept = True
        if slept and ended.ended_at:
            self.measures.woken.labels("wait").observe(seconds(self.clock() - ended.ended_at))
        return ended

    async def expire_due(self) -> int:
        """End what nobody answered in time, of all tenants in turns; return how many that were."""
        ended = 0
        while due := await self.store.find(Request, Query(expired_at=self.clock(), limit=SWEEP)):
            # Two servers that went through a page in one order would do everything twice.
            left = iter(random.sample(due, len(due)))
            ended += sum(await asyncio.gather(*(self._expire_all(left) for _ in range(SWEEPERS))))
        return ended

    async def _ended(self, id: str) -> Request | None:
        # A wait that kept the pending request at hand would take up half as much again.
        request = await self.get(id)
        return request if request.is_final else None

    async def _expire_all(self, overdue: Iterator[Request]) -> int:
        return sum([await self.of(request.tenant)._expire(request) for request in overdue])

    async def _expire(self, overdue: Request) -> bool:
        def end(request: Request) -> tuple[Request, Event | None]:
            return request.expired(self.clock()) if request.is_overdue(self.clock()) else (request, None)

        return (await self._change(overdue.id, end, overdue)).status == "expired"

    async def _asked_before(self, asked: Request) -> Request:
        stored = await self.get(asked.id)
        if (stored.digest, stored.asked_by) != (asked.digest, asked.asked_by):
            raise DifferentAskError(asked.id)
        return stored

    async def _change(
        self, id: str, step: Callable[[Request], tuple[Request, Event | None]], read: Request | None = None
    ) -> Request:
        def checked(request: Request) -> tuple[Request, Event | None]:
            self._check(request)
            return step(request)

        before, after = await change(self.store, Request, Key(self.tenant, id), checked, read)
        if before.version != after.version:
            failpoint("change.after_commit")
            self._measure(before, after)
            await self._tell(after)
            if after.is_final and not before.is_final:
                await self._eraser.attachments.end(after)
        return after

    def _measure(self, before: Request, after: Request) -> None:
        tracing.changed(before, after)
        if not after.ended_at:
            return
        if not before.ended_at:
            self.measures.answered.labels(after.kind, after.status).observe(seconds(after.ended_at - after.created_at))
        elif after.acknowledged_at and not before.acknowledged_at:
            self.measures.woken.labels("run").observe(seconds(after.acknowledged_at - after.ended_at))

    async def _tell(self, request: Request) -> None:
        await self._ring(request.topic, TOPIC)

    async def _ring(self, *topics: str) -> None:
        try:
            for topic in topics:
                await self.notifier.publish(topic)
        except Exception:
            self.notifier.lost += 1
            log.exception("nobody was told of %s: who waits will wake by polling", topics[0])
