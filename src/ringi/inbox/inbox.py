"""The inbox: ask, claim, release, respond, cancel, wait, expire. It enforces all rules."""

from __future__ import annotations

import asyncio
import logging
import random
import time
import uuid
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Any, Unpack

from ringi.base.clock import Clock, utc_now
from ringi.base.metrics import Metrics, seconds_between_clocks
from ringi.base.model import StrictModel
from ringi.contracts.backend import Notifier
from ringi.contracts.store import Store
from ringi.domain.ask import Answer, Ask, Continuation, Decision, Outcome, Receipt, parse_body
from ringi.domain.decisions import refuse_attaching_files, refuse_former_deputy
from ringi.domain.filters import FindOptions, OrderedFilter
from ringi.domain.grants import OVER, NewGrant
from ringi.domain.people import Reassignment, assignment_before_person
from ringi.domain.record import DEFAULT_TENANT, START, SYSTEM, Erased, Event, Key, Page, Position, Query, record_topic
from ringi.domain.request import Request
from ringi.domain.urgency import query_for_tenant
from ringi.domain.voting import Caller, Decider, as_decider
from ringi.errors import ConflictError, NotFoundError, WaitTimeoutError
from ringi.files.attachments import may_name_files
from ringi.forms.field_parts import AttachedFile
from ringi.forms.form import ASKED_FIELDS
from ringi.inbox import tracing
from ringi.inbox.api import Seen, digest_of, id_of
from ringi.inbox.core import InboxCore, NewRequest, Part, RequestStep
from ringi.inbox.feed import TOPIC, Feed
from ringi.inbox.grants import FirstAsks, GrantJournals
from ringi.inbox.parts import InboxChecks, InboxGrants, InboxMemories, InboxPauses, InboxPeople, InboxTrail
from ringi.inbox.people import KnownPeople
from ringi.inbox.suggestions import InboxSuggestions
from ringi.privacy.candidates import Sweep
from ringi.privacy.erasure import Eraser, RequestCheck

log = logging.getLogger(__name__)
SWEEP_SIZE = 200
"""The number of overdue requests in one read."""
SWEEPERS = 8
"""The number of requests that expire concurrently; the limit leaves room for other users of the store."""
HISTORY = 1_000
"""The number of a request's events from which a reassignment can be taken back."""
RETENTION = "retention"
"""The name of the cursor up to which old content was erased."""


def allow_everybody(request: Request) -> None:
    """Allow everything: a process with access to the store may change all of it."""


class Limits(StrictModel):
    """The limits of an inbox."""

    max_fields: int = ASKED_FIELDS
    """The maximum number of fields in one form."""
    claim_seconds: float = 900.0
    """The duration of a claim in seconds."""


class StoreInbox(InboxCore):
    """Questions to people, for one tenant of a store; `ringi.open` opens one.

    Users see the methods of `Inbox`. The others are for runtimes and background work.

    Args:
        store: The store of the requests.
        notifier: Wakes the waiters of this and of other processes.
        tenant: The tenant.
        clock: Returns the present time, with its offset from UTC.
        limits: The limits; None uses the defaults of `Limits`.
        eraser: Erases and attaches files; None uses the store alone.
        people: The people who are known; None knows nobody.
        admin_groups: The groups of administrators, who are asked whether an override was right.
    """

    grants = Part(InboxGrants)
    suggestions = Part(InboxSuggestions)
    pauses = Part(InboxPauses)
    people = Part(InboxPeople)
    checks = Part(InboxChecks)
    memories = Part(InboxMemories)
    trail = Part(InboxTrail)

    def __init__(
        self,
        store: Store,
        notifier: Notifier,
        *,
        tenant: str = DEFAULT_TENANT,
        clock: Clock = utc_now,
        limits: Limits | None = None,
        eraser: Eraser | None = None,
        people: KnownPeople | None = None,
        admin_groups: Sequence[str] = (),
    ) -> None:
        self.store, self.notifier, self.tenant, self.clock = store, notifier, tenant, clock
        self.limits, self.eraser = limits or Limits(), eraser or Eraser(store)
        self.feed, self.metrics = Feed(store, notifier), Metrics()
        self.granted, self._first_asks = GrantJournals(store, self.feed, clock), FirstAsks(store)
        self.check: RequestCheck = allow_everybody
        self.known_people, self._admin_groups = people or KnownPeople(), tuple(admin_groups)

    def for_tenant(self, tenant: str, check: RequestCheck = allow_everybody) -> StoreInbox:
        """Return the same inbox for another tenant.

        Args:
            tenant: The other tenant.
            check: Called with each version that is read or replaced; it raises to deny access.
        """
        other = StoreInbox.__new__(type(self))
        other.__dict__ |= self.__dict__ | {"tenant": tenant, "check": check}
        return other

    async def submit(
        self,
        ask: Ask,
        *,
        by: Caller = None,
        continuation: Continuation | None = None,
        starter: Caller = None,
        is_known: bool = False,
    ) -> Request:
        """Store an ask, or return the stored request if its id exists with the same content.

        Args:
            ask: The question.
            by: The asker, for the audit trail and for an ask that excludes them.
            continuation: The run that resumes after the request, if any.
            starter: The person who started the run, if the ask excludes them.
            is_known: True to read before writing, because the request probably exists.

        Raises:
            InvalidError: The ask breaks a rule.
            ConflictError: The id exists with other content (`different`).
        """
        new = await self.prepare(ask, by=by, continuation=continuation, starter=starter)
        if is_known:
            with suppress(NotFoundError):
                return await self._stored_request(new.request)
        return await self.use_grant(new) or await self._put(new)

    async def use_grant(self, new: NewRequest) -> Request | None:
        """Store a new request that a grant approves, with its approval; return None if people must decide it.

        Args:
            new: The request.
        """
        use = await self.granted.use(new.request)
        if use is None or isinstance(use, Request):
            return use
        return await self._put(NewRequest(*new.request.under_grant(use), new.span))

    async def prepare(
        self, ask: Ask, *, by: Caller = None, continuation: Continuation | None = None, starter: Caller = None
    ) -> NewRequest:
        """Return the request of an ask, which the caller saves together with other records and then announces.

        Args:
            ask: The question.
            by: The asker, for the audit trail and for an ask that excludes them.
            continuation: The run that resumes after the request, if any.
            starter: The person who started the run, if the ask excludes them.

        Raises:
            InvalidError: The ask breaks a rule.
        """
        ask, parts, span = self._checked(ask, by, may_be_derived=continuation is not None)
        parts |= {"continuation": continuation, "starter": starter}
        parts["first_of_kind"] = await self._first_asks.note(self.tenant, ask, parts["now"])
        request, event = Request.asked(ask, **parts)
        return NewRequest(await self._marked(request), event, span)

    async def _marked(self, request: Request) -> Request:
        """Return a pending request with the mark of those that nobody here can answer."""
        if not (request.assignee or request.groups or request.quorum):
            return request
        return request.marked((await self.known_people.known(self.tenant)).can_answer(request))

    async def submit_approved(self, ask: Ask, *, rule: str, by: str | None = None) -> Request:
        """Store an ask together with its approval by a rule of a policy, atomically and with one event.

        Args:
            ask: The question.
            rule: The name of the rule.
            by: The name of the asker, for the audit trail.

        Returns:
            The request. If its id exists, it is the stored one, and the caller must check its decision.
        """
        ask, parts, span = self._checked(ask, by, may_be_derived=True)
        return await self._put(NewRequest(*Request.approved(ask, **parts, rule=rule), span))

    async def submit_denied(self, ask: Ask, *, rule: str, reason: str, by: str | None = None) -> Request:
        """Store an ask together with its rejection by a rule of a policy, atomically and with one event.

        Args:
            ask: The question.
            rule: The name of the rule.
            reason: The reason, as the message of the response.
            by: The name of the asker, for the audit trail.

        Returns:
            The request; the stored one if its id exists, even with another content.
        """
        ask, parts, span = self._checked(ask, by, may_be_derived=True)
        new = NewRequest(*Request.denied(ask, **parts, rule=rule, reason=reason), span)
        try:
            return await self._put(new)
        except ConflictError as error:
            if error.code != "different":
                raise
            return await self.get(new.request.id)

    def _checked(
        self, ask: Ask, by: Caller, *, may_be_derived: bool
    ) -> tuple[Ask, dict[str, Any], tracing.StartedSpan]:
        ask = ask.checked(max_fields=self.limits.max_fields, may_be_derived=may_be_derived)
        parts: dict[str, Any] = {"id": ask.id or uuid.uuid4().hex, "now": self.clock(), "by": by, "tenant": self.tenant}
        span = tracing.start_span("asked", parts["now"])
        return ask, parts | {"traceparent": span.traceparent}, span

    async def _put(self, new: NewRequest) -> Request:
        try:
            await self.store.put(new.request, new.event)
        except ConflictError:
            return await self._stored_request(new.request)
        except BaseException:
            self._first_asks.forget(new.request)
            raise
        await self.announce_new(new)
        return new.request

    async def get(self, id: str) -> Request:
        request = await self.store.get(Request, self.tenant, id)
        self.check(request)
        return request

    async def find(
        self, *, limit: int = 50, cursor: str | None = None, **conditions: Unpack[FindOptions]
    ) -> Page[Request]:
        wanted = parse_body(OrderedFilter, conditions).conditions
        return await self.page(Query(**wanted, limit=limit, before=cursor))

    async def count(self, query: Query) -> int:
        """Return the number of this tenant's matching requests.

        Args:
            query: The conditions; counting stops at `limit`.
        """
        return await self.store.count(Request, query_for_tenant(query, self.tenant, self.clock()))

    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        return await self.store.events(after, limit, tenant=self.tenant, record_id=request_id)

    async def follow(
        self, after: Position | None = None, *, request_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        async with self.notifier.subscribe(TOPIC) as wakeup:
            place = await self.store.tail() if after is None else after
            while True:
                while events := await self.events(place, request_id=request_id):
                    for event in events:
                        place = event.position
                        yield event
                await wakeup.wait(self.notifier.recheck_after)

    async def respond(
        self,
        seen: Request | Seen,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        by: Caller = None,
        args: dict[str, Any] | None = None,
        message: str | None = None,
        grant: NewGrant | Mapping[str, Any] | None = None,
        override: str | None = None,
        channel: str = "python",
    ) -> Request:
        more = {"data": data, "args": args, "message": message, "grant": grant, "override": override}
        answer = Answer.parse({"decision": decision, "digest": digest_of(seen), **more})
        person = await self.decider(by)
        return await self.answer(seen.id, answer, by=person._replace(is_admin=override is not None), channel=channel)

    async def answer(self, id: str, answer: Answer, *, by: Caller, channel: str) -> Request:
        """Decide a request with an answer that is already parsed; see `respond` for the errors.

        Args:
            id: The id of the request.
            answer: The decision with its data.
            by: The responder.
            channel: The channel of the answer, such as `python` or `http`, for the audit trail.
        """
        claimed = await self.decider(by)
        # An absence may have ended since the caller looked.
        person = await self.people.decider(claimed) if claimed.stands_for else claimed

        def decide(request: Request) -> tuple[Request, Event | None]:
            if request.is_repeat(answer, person):
                return request, None
            refuse_former_deputy(request, person, claimed)
            if request.is_overdue(self.clock()) or request.is_released(self.clock()):
                return request.timed(self.clock())
            return request.completed(answer, by=person, channel=channel, now=self.clock(), ended_rules=ended_rules)

        ended_rules: tuple[str, ...] = ()
        asked_request = await self.get(id)
        if answer.grant:
            await self.granted.begin(decide(asked_request)[0])
        elif answer.decision != "approve" and await self.granted.rules_covering(asked_request):
            ended_rules = await self.granted.refute(decide(asked_request)[0], person.name)
        if may_name_files(answer.data) and not asked_request.is_final:
            read = partial(self.get, id)
            await self.eraser.attachments.check(asked_request, answer.data, person.name, read=read, refuse=decide)
        request = await self.change(id, decide, asked_request)
        if request.is_final and not request.is_repeat(answer, person):
            raise ConflictError.ended(id, request.status, request.winner)
        if answer.grant:
            await self.granted.begin(request)
        return request

    async def undo(self, request: Request | str, *, by: Caller = None) -> Request:
        id, person = id_of(request), as_decider(by)
        if before := await self._take_back(id, person):
            return before
        return await self.change(id, lambda each: each.undone(person, self.clock()))

    async def _take_back(self, id: str, by: Decider) -> Request | None:
        """Assign a request as before this person reassigned it; None if there is no reassignment to take back.

        Args:
            id: The id of the request.
            by: The person.
        """
        request = await self.store.get(Request, self.tenant, id)
        history = await self.store.events(START, HISTORY, tenant=self.tenant, record_id=id)
        before = assignment_before_person(request, by.name, history)
        if before is None:
            return None
        # A person who passed a request on may see it no more: the request as it was must be theirs.
        self.check(before)
        known = await self.known_people.known(self.tenant)
        former = by._replace(is_admin=True)  # It is assigned to others now.

        def step(now: Request) -> tuple[Request, Event]:
            if now.head != request.head:
                raise ConflictError(f"request {id!r} has just changed: look at it again")
            after, event = now.reassigned(former, self.clock(), before.assignee, before.groups)
            return after.marked(known.can_answer(after)), event

        return await self.change(id, step, check=lambda _: None)

    async def attach(
        self, request: Request | str, field: str, name: str, content: bytes, *, by: Caller = None
    ) -> AttachedFile:
        id, person, now = id_of(request), await self.decider(by), self.clock()
        asked = await self.get(id)
        refuse_attaching_files(asked, person, now)
        attachments, read = self.eraser.attachments, partial(self.get, id)
        return await attachments.add(asked, field, name, content, by=person.name, at=now, read=read)

    async def attachment(self, request: Request | str, number: int) -> bytes:
        return await self.eraser.attachments.content(await self.get(id_of(request)), number)

    async def claim(self, request: Request | str, *, by: Caller = None) -> Request:
        person, lease = await self.decider(by), timedelta(seconds=self.limits.claim_seconds)
        return await self.change(id_of(request), lambda each: each.claimed(person, self.clock(), lease))

    async def release(self, request: Request | str, *, by: Caller = None) -> Request:
        person = await self.decider(by)
        return await self.change(id_of(request), lambda each: each.released(person, self.clock()))

    async def reassign(
        self,
        request: Request | str,
        *,
        assignee: str | None = None,
        groups: Sequence[str] = (),
        unknown: bool = False,
        by: Caller = None,
    ) -> Request:
        to = parse_body(Reassignment, {"assignee": assignee, "groups": tuple(groups), "unknown": unknown})
        known, person = await self.known_people.known(self.tenant), await self.decider(by)

        def step(request: Request) -> tuple[Request, Event]:
            after, event = request.reassigned(person, self.clock(), to.assignee, to.groups)
            # Not before: what a person may not change also says nothing about names.
            if not unknown:
                known.refuse_unknown({"assignee": assignee}, to.groups)
            return after.marked(known.can_answer(after)), event

        after = await self.change(id_of(request), step)
        # The marks of somebody who came or left meanwhile may have been set before this change.
        if await self.known_people.known(self.tenant) != known:
            await self.mark(after)
            return await self.store.get(Request, self.tenant, after.id)
        return after

    async def cancel(self, request: Request | str, reason: str | None = None, *, by: Caller = None) -> Request:
        id, name = id_of(request), as_decider(by).name
        return await self._end_unanswered(id, lambda each: each.cancelled(name, self.clock(), reason), name)

    async def _end_unanswered(self, id: str, step: RequestStep, by: str, read: Request | None = None) -> Request:
        """Do a change that may end a request without an answer; the rules for calls like it end first."""
        before = read or await self.get(id)
        after = step(before)[0]
        # Otherwise an agent could withdraw each call about which a rule asks, and make it again.
        if after.is_final and not before.is_final and after.response is None:
            await self.granted.refute(after, by)
        return await self.change(id, step, before)

    def refresh_grants(self, answered: Iterable[Request]) -> None:
        """Use the grants of answers at once that another process may have taken.

        Args:
            answered: The requests that have just been answered.
        """
        if any(request.response and request.response.grant for request in answered):
            self.granted.refresh(self.tenant)

    async def decider(self, by: Caller) -> Decider:
        """Return the person with those for whom the person stands; a `Decider` already has them."""
        return by if isinstance(by, Decider) else await self.people.decider(as_decider(by))

    async def remind(self, id: str) -> Request:
        """Record one reminder for the people who may answer; an ended request is unchanged.

        Args:
            id: The id of the request.

        Raises:
            NotFoundError: There is no such request.
        """
        return await self.change(id, lambda request: request.reminded(self.clock()))

    async def record_seen(self, id: str, by: str) -> Request:
        """Record that a person opened a pending request; once per person.

        Args:
            id: The id of the request.
            by: The name of the person.

        Raises:
            NotFoundError: There is no such request.
        """
        return await self.change(id, lambda request: request.seen(by, self.clock()))

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        self.lifetime.check()
        id, ends_at = id_of(request), None if timeout is None else time.monotonic() + timeout
        async with self.notifier.subscribe(record_topic("request", Key(self.tenant, id))) as wakeup, self.feed.follow():
            has_slept = False
            while not (ended := await self._ended_request(id)):
                seconds_left = None if ends_at is None else ends_at - time.monotonic()
                if seconds_left is not None and seconds_left <= 0:
                    raise WaitTimeoutError(id, timeout or 0)
                await wakeup.wait(seconds_left)
                has_slept = True
        if has_slept and ended.ended_at:
            self.metrics.woken.labels("wait").observe(seconds_between_clocks(self.clock() - ended.ended_at))
        return ended

    async def expire_due(self) -> int:
        """Do what the clock may do: expire overdue requests, release held answers, escalate; of all tenants in turn.

        Returns:
            The number of requests that ended.
        """
        ended = 0
        while due := await self.store.find(Request, Query(expired_at=self.clock(), limit=SWEEP_SIZE)):
            # If two servers processed a page in the same order, they would both do all the work.
            remaining = iter(random.sample(due, len(due)))
            ended += sum(await asyncio.gather(*(self._expire_all(remaining) for _ in range(SWEEPERS))))
        return ended

    async def _ended_request(self, id: str) -> Request | None:
        # A wait that kept the pending request in memory would need 50 % more memory.
        request = await self.get(id)
        return request if request.is_final else None

    async def _expire_all(self, overdue: Iterator[Request]) -> int:
        return sum([await self.for_tenant(request.tenant)._expire(request) for request in overdue])

    async def _expire(self, due: Request) -> bool:
        after = await self._end_unanswered(due.id, lambda each: each.timed(self.clock()), SYSTEM, due)
        if after.unanswerable and after.escalated != due.escalated:
            await self.mark(after)
        return after.is_final

    async def _stored_request(self, asked_request: Request) -> Request:
        stored = await self.get(asked_request.id)
        if stored.is_check or (stored.digest, stored.asked_by) != (asked_request.digest, asked_request.asked_by):
            raise ConflictError.different(asked_request.id)
        return stored

    async def report_outcome(
        self,
        request: Request | str,
        outcome: Outcome,
        *,
        result_digest: str | None = None,
        attempt: str | None = None,
        by: Caller = None,
    ) -> Request:
        id, actor = id_of(request), SYSTEM if by is None else as_decider(by).name
        receipt = parse_body(Receipt, {"outcome": outcome, "result_digest": result_digest, "attempt": attempt})
        if receipt.is_begun_by(attempt) and await self.granted.is_over(await self.get(id)):
            raise ConflictError(f"request {id!r}: {OVER}")
        return await self.change(id, lambda request: request.reported(receipt, actor, self.clock()))

    async def acknowledge(
        self, id: str, by: str, read: Request | None = None, receipt: Receipt | None = None
    ) -> Request:
        """Record that the run has taken up the outcome; idempotent.

        Args:
            id: The id of an ended request.
            by: The name of the worker, for the audit trail.
            read: The ended request as the caller has read it; None reads it.
            receipt: What became of the approved call, if it is known.

        Raises:
            NotFoundError: There is no such request.
        """

        def take_up(request: Request) -> tuple[Request, Event | None]:
            return (request, None) if request.acknowledged_at else request.acknowledged(by, self.clock(), receipt)

        return await self.change(id, take_up, read)

    async def mark_attention(self, id: str, why: str) -> Request:
        """Mark a request for an operator; idempotent.

        Args:
            id: The id of the request.
            why: The problem, for the operator.

        Raises:
            NotFoundError: There is no such request.
        """

        def mark(request: Request) -> tuple[Request, Event | None]:
            return (request, None) if request.attention == why else request.needing_attention(why, self.clock())

        return await self.change(id, mark)

    async def retry(self, id: str, by: str) -> Request:
        """Remove a request's mark, so that its run tries again; an unmarked request is unchanged.

        Args:
            id: The id of the request.
            by: The operator.

        Raises:
            NotFoundError: There is no such request.
        """
        return await self.change(id, lambda each: each.retried(by, self.clock()) if each.attention else (each, None))

    async def erase(self, request: Request | str, *, by: Caller = None) -> Request:
        erased = Erased(at=self.clock(), by=as_decider(by).name, rule="request")
        after = await self.eraser.request(Key(self.tenant, id_of(request)), erased, self.check)
        # Its review is erased too.
        self.feed.forget()
        await self.notify(after)
        return after

    async def retain(self, days: float) -> int:
        """Erase the content of old requests and of their threads, for all tenants.

        Args:
            days: The minimum time since the end of a request, in days.

        Returns:
            The number of erased requests.
        """
        number, before = 0, self.clock() - timedelta(days=days)
        while True:
            after = await self.store.cursor(RETENTION)
            sweep = Sweep(before=before, after=after)
            done = await self.eraser.sweep(sweep, Erased(at=self.clock(), by=SYSTEM, rule="age"), None)
            number += len(done.requests)
            if done.requests:
                self.feed.forget()
            for skipped, why in done.left.items():
                log.warning("the retention skipped %s: %s", skipped, why)
            if done.upto != after:
                await self.store.move_cursor(RETENTION, after, done.upto)
            if done.next is None:
                return number

    async def finish_erasures(self, id: str) -> bool:
        """Delete what was attached to an ended request and never sent, and do the erasures that waited for its end.

        Idempotent.

        Args:
            id: The id of the request, such as of the review of an override.

        Returns:
            Whether something that waited was erased.

        Raises:
            ConflictError: One of them cannot be done now, such as one of a request on legal hold.
            NotFoundError: There is no such request.
        """
        is_erased = await self.eraser.finish(await self.get(id), self.clock())
        if is_erased:
            await self.forget_erased()
        return is_erased
