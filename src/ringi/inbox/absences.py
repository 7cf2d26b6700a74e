"""The people of a tenant who are away, always read from the store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from ringi.contracts.backend import ABSENCES
from ringi.contracts.store import change_record, find_record
from ringi.domain import absence
from ringi.domain.absence import Absence, Away
from ringi.domain.ask import parse_body
from ringi.domain.journal import Journal
from ringi.domain.record import Key, Page
from ringi.domain.voting import Caller, Decider, as_decider
from ringi.errors import NotFoundError
from ringi.inbox import api
from ringi.inbox.core import InboxPart
from ringi.inbox.journals import JournalStep, change_journal


class InboxPeople(InboxPart, api.People):
    """The people of one tenant who leave and come back."""

    async def active(self) -> list[Absence]:
        """Return the absences that have not ended."""
        return absence.active_absences(await find_record(self._inbox.store, Journal, self._key), self._inbox.clock())

    async def decider(self, person: Decider) -> Decider:
        """Return a person with those for whom the person stands now."""
        away = await self.away(by=person)
        return person._replace(stands_for=tuple(each.viewer for each in away.deputy_for))

    async def leave(self, deputy: str, until: datetime, *, unknown: bool = False, by: Caller = None) -> Away:
        inbox, person = self._inbox, as_decider(by)
        own = {"person": person.name, "groups": person.groups, "subject": person.subject}
        now = inbox.clock()
        new = parse_body(Absence, {**own, "deputy": deputy, "until": until}).checked(now)
        if not unknown:
            (await inbox.known_people.known(inbox.tenant)).refuse_unknown({"deputy": deputy})

        def step(old: Journal) -> absence.JournalChange:
            return absence.with_absence(old, new, inbox.clock())

        await change_journal(inbox.store, self._key, {absence.PEOPLE: {}}, step, by=person.name, now=now)
        await inbox.publish(ABSENCES)
        return await self.away(by=person)

    async def come_back(self, *, by: Caller = None) -> None:
        name = as_decider(by).name
        with suppress(NotFoundError):  # Nobody was ever away.
            await self._change(lambda old: absence.journal_after_return(old, name, self._inbox.clock()))
        await self._inbox.publish(ABSENCES)

    async def away(self, *, by: Caller = None) -> Away:
        return absence.absences_concerning(await self.active(), as_decider(by).name)

    async def absences(self) -> Page[Absence]:
        return Page(sorted(await self.active(), key=lambda each: (each.until, each.person)))

    async def end_absence(self, person: str, *, by: Caller = None) -> None:
        if not await self.end_where(lambda each: each.person == person, person, as_decider(by).name):
            raise NotFoundError("absence", person)
        await self._inbox.publish(ABSENCES)

    async def end_where(self, is_over: Callable[[Absence], bool], person: str, by: str) -> list[Absence]:
        """Record that an administrator has ended some absences because of a person, and return them."""
        ended = list[Absence]()

        def step(old: Journal) -> absence.JournalChange:
            ended[:] = filter(is_over, absence.active_absences(old, self._inbox.clock()))
            return absence.without_absences(old, ended, person, by, self._inbox.clock())

        with suppress(NotFoundError):
            await self._change(step)
        return ended

    @property
    def _key(self) -> Key:
        return Key(self._inbox.tenant, absence.JOURNAL)

    async def _change(self, step: JournalStep) -> None:
        await change_record(self._inbox.store, Journal, self._key, step)
