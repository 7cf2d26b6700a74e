"""The operations that need to know who is here: reassign, take back, and mark what nobody can answer."""

from __future__ import annotations

from collections.abc import Sequence

from ringi.domain.ask import parse_body
from ringi.domain.people import Reassignment, assignment_before_person
from ringi.domain.record import START, Event, Query, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.voting import Caller, Decider
from ringi.errors import ConflictError
from ringi.inbox.api import id_of
from ringi.inbox.core import InboxCore

HISTORY = 1_000
"""The number of a request's events from which a reassignment can be taken back."""


class PeopleOperations(InboxCore):
    """The part of an inbox that needs to know who is here."""

    async def _marked(self, request: Request) -> Request:
        """Return a pending request with the mark of those that nobody here can answer."""
        if not (request.assignee or request.groups or request.quorum):
            return request
        return request.marked((await self.known_people.known(self.tenant)).can_answer(request))

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
