"""The store of an inbox, its lifetime, and the steps that its parts and its operations share."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.base.metrics import Metrics, seconds_between_clocks
from ringi.contracts.backend import Notifier
from ringi.contracts.store import MAX_PAGE_BYTES, Store, change_record
from ringi.domain.events import FINAL_EVENTS
from ringi.domain.record import CutPage, Event, Key, Page, Query, cursor_after_record
from ringi.domain.request import Request, review_of_override
from ringi.domain.urgency import cursor_after_urgent_request, query_for_tenant
from ringi.domain.voting import Caller, Decider
from ringi.inbox import tracing
from ringi.inbox.api import Inbox
from ringi.inbox.feed import TOPIC, Feed
from ringi.inbox.grants import GrantJournals
from ringi.inbox.lifetime import Lifetime, UntilClosed
from ringi.inbox.people import KnownPeople
from ringi.privacy.erasure import Eraser, RequestCheck

V = TypeVar("V")
log = logging.getLogger(__name__)
RequestStep = Callable[[Request], tuple[Request, Event | None]]
"""Returns the next version of a request and its event; the request itself changes nothing."""


class NewRequest(NamedTuple):
    """A request that is not saved yet."""

    request: Request
    event: Event
    span: tracing.StartedSpan


class InboxCore(Inbox):
    """The store of an inbox, and the steps that its operations share; each of these uses an `UntilClosed` attribute."""

    store: UntilClosed[Store] = UntilClosed()
    known_people: UntilClosed[KnownPeople] = UntilClosed()
    granted: UntilClosed[GrantJournals] = UntilClosed()
    eraser: UntilClosed[Eraser] = UntilClosed()
    notifier: Notifier
    tenant: str
    clock: Clock
    feed: Feed
    metrics: Metrics
    check: RequestCheck
    """Called with each version that is read or replaced; it raises to deny access."""
    _admin_groups: tuple[str, ...]

    @abstractmethod
    async def decider(self, by: Caller) -> Decider:
        """Return the person with those for whom the person stands; a `Decider` already has them."""

    @cached_property
    def lifetime(self) -> Lifetime:
        """The lifetime of the inbox."""
        return Lifetime("inbox")

    def abort(self) -> None:
        """End the lifetime, and wake all waiters so that they raise `ClosedError`."""
        self.lifetime.abort()
        self.notifier.wake_all()

    async def close(self) -> None:
        """Close the inbox and the services that it opened; waiters get `ClosedError`. Idempotent."""
        if self.lifetime.is_elsewhere:  # The connections belong to the process that opened them.
            return
        if self._closing:
            await self._closing()
        else:
            self.abort()

    async def page(self, query: Query) -> Page[Request]:
        """Return a page of this tenant's matching requests.

        Args:
            query: The conditions, the limit and the cursor.
        """
        own = query_for_tenant(query, self.tenant, self.clock())
        bounds = {"limit": own.limit + 1, "max_bytes": MAX_PAGE_BYTES}
        found = await self.store.find(Request, own.model_copy(update=bounds))
        page, has_more = found[: own.limit], len(found) > own.limit or isinstance(found, CutPage)
        return Page(page, cursor_after_urgent_request(own, page[-1]) if has_more and page else None)

    async def search(self, query: Query) -> list[Request]:
        """Return this tenant's matching requests, newest first, unless the query has another order.

        Args:
            query: The conditions and the limit.
        """
        return await self.store.find(Request, query_for_tenant(query, self.tenant, self.clock()))

    async def change(
        self, id: str, step: RequestStep, read: Request | None = None, check: RequestCheck | None = None
    ) -> Request:
        """Save the next version of a request, and notify everybody.

        Args:
            id: The id of the request.
            step: Returns the next version and its event.
            read: The request as the caller has read it; None reads it.
            check: Called with each version in place of the inbox's own check.
        """

        def checked(request: Request) -> tuple[Request, Event | None]:
            (check or self.check)(request)
            return step(request)

        reviews: list[tuple[Request, Event]] = []

        async def save(request: Request, event: Event | None) -> None:
            is_override = request.is_overridden and event is not None and event.type in FINAL_EVENTS
            reviews[:] = [review_of_override(request, self._admin_groups)] if is_override else []
            # In one put: no erasure and no crash can come between an override and its review.
            await self.store.put(request, event, reviews)

        before, after = await change_record(self.store, Request, Key(self.tenant, id), checked, read, save)
        if before.version != after.version:
            await self.announce_change(before, after)
            for review, asked in reviews:
                await self.announce_new(NewRequest(review, asked, tracing.start_span("asked", review.created_at)))
            if await self.eraser.after_change(before, after, self.clock()):
                await self.forget_erased()
        return after

    async def announce_change(self, before: Request, after: Request) -> None:
        """Notify everybody of a change of a request that has just been saved.

        Args:
            before: The version before.
            after: The saved version.
        """
        failpoint("change.after_commit")
        tracing.record_change(before, after)
        if after.ended_at and not after.is_check:
            if not before.ended_at:
                seconds = seconds_between_clocks(after.ended_at - after.created_at)
                self.metrics.answered.labels(after.kind, after.status).observe(seconds)
            elif after.continuation and after.acknowledged_at and not before.acknowledged_at:
                seconds = seconds_between_clocks(after.acknowledged_at - after.ended_at)
                self.metrics.woken.labels("run").observe(seconds)
        await self.notify(after)

    async def notify(self, request: Request) -> None:
        """Notify everybody of a change of a request."""
        self.feed.keep(request)
        await self.publish(request.topic, TOPIC)

    async def publish(self, *topics: str) -> None:
        """Notify all processes; a failure is logged, and the waiters wake by polling."""
        try:
            for topic in topics:
                await self.notifier.publish(topic)
        except Exception:
            self.notifier.lost += 1
            log.exception("the notification of %s was lost; its waiters wake by polling", topics[0])

    async def announce_new(self, new: NewRequest) -> None:
        """Notify everybody of a request that has just been saved.

        Args:
            new: The request.
        """
        failpoint("ask.after_commit")
        new.span.end(new.request, new.request.created_at)
        await self.notify(new.request)

    async def mark_unanswerable(self, query: Query) -> None:
        """Compare pending requests with the people who are known now, after these have changed.

        Args:
            query: Which requests.
        """
        while found := await self.search(query.model_copy(update={"statuses": ("pending",)})):
            known = await self.known_people.known(self.tenant)
            for request in found:
                if request.remarked(known.can_answer(request))[0] is not request:
                    await self.mark(request)
            if len(found) < query.limit:
                return
            query = query.model_copy(update={"before": cursor_after_record(found[-1])})

    async def note_person(self, name: str, groups: Sequence[str] = ()) -> None:
        """Record that a person has a token or has signed in, so that the name is known.

        Args:
            name: The name of the person.
            groups: The groups of the person.
        """
        known, marking = self.known_people, self.known_people.marking[self.tenant]
        if marking.locked() and known.is_noted(self.tenant, name, groups):
            return  # Another call is setting the marks; the calls of others need not wait for it.
        async with marking:
            await known.note(self.tenant, name, groups)
            if query := known.unmarked.get(self.tenant):
                await self.mark_unanswerable(query)
                if known.unmarked.get(self.tenant) is query:
                    del known.unmarked[self.tenant]

    async def forget_person(self, name: str) -> None:
        """Record that a person has no token any more, and mark what nobody else can answer; repeat it after an error.

        Args:
            name: The name of the person.
        """
        await self.known_people.forget(self.tenant, name)
        await self.mark_unanswerable(Query())

    async def mark(self, request: Request) -> None:
        """Compare a pending request with the people who are known now.

        Args:
            request: The request.
        """
        known = await self.known_people.known(self.tenant)
        await self.change(request.id, lambda each: each.remarked(known.can_answer(each)))

    async def forget_erased(self) -> None:
        """Read again what other processes may have erased."""
        self.feed.forget()
        await self.publish(TOPIC)


class InboxPart:
    """A part of an inbox on a store.

    Args:
        inbox: The inbox.
    """

    def __init__(self, inbox: InboxCore) -> None:
        self._inbox = inbox


class Part(Generic[V]):
    """The attribute of an inbox with one of its parts.

    Args:
        kind: The class of the part.
    """

    def __init__(self, kind: Callable[[Any], V]) -> None:
        self._kind = kind

    def __get__(self, inbox: InboxCore, owner: type | None = None) -> V:
        return self._kind(inbox)
