"""Absences in the store: read, begin and end them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ringi.base.clock import Clock
from ringi.contracts.store import Store, change_record, find_record
from ringi.domain import absence
from ringi.domain.absence import Absence, Away
from ringi.domain.journal import Journal
from ringi.domain.record import Key
from ringi.domain.voting import Decider
from ringi.errors import NotFoundError
from ringi.inbox.journals import change_journal


class Absences:
    """The absences of one tenant, always read from the store.

    Args:
        store: The store.
        tenant: The tenant.
        clock: Returns the current time.
    """

    def __init__(self, store: Store, tenant: str, clock: Clock) -> None:
        self._store, self._clock, self._key = store, clock, Key(tenant, absence.JOURNAL)

    async def active(self) -> list[Absence]:
        """Return the absences that have not ended."""
        return absence.active_absences(await find_record(self._store, Journal, self._key), self._clock())

    async def of(self, person: str) -> Away:
        """Return a person's own absence, and those in which the person is the deputy."""
        return absence.absences_concerning(await self.active(), person)

    async def decider(self, person: Decider) -> Decider:
        """Return a person with those for whom the person stands now."""
        away = await self.of(person.name)
        return person._replace(stands_for=tuple(each.viewer for each in away.deputy_for))

    async def begin(self, new: Absence) -> Absence:
        """Record that a person is away; replaces an earlier absence of the person.

        Raises:
            InvalidError: The deputy or the end is invalid.
        """
        new = new.checked(self._clock())
        begun = absence.begin_absence_journal(self._clock(), self._key.tenant, by=new.person)
        await change_journal(self._store, self._key, begun, lambda old: absence.with_absence(old, new, self._clock()))
        return new

    async def end(self, person: str) -> None:
        """Record that a person is back; nothing changes if the person was not away."""
        with suppress(NotFoundError):  # Nobody was ever away.
            await change_record(
                self._store, Journal, self._key, lambda old: absence.journal_after_return(old, person, self._clock())
            )

    async def end_of(self, person: str, by: str) -> None:
        """Record that an administrator has ended the absence of a person.

        Raises:
            NotFoundError: The person is not away.
        """
        if not await self.end_where(lambda each: each.person == person, person, by):
            raise NotFoundError("absence", person)

    async def end_where(self, is_over: Callable[[Absence], bool], person: str, by: str) -> list[Absence]:
        """Record that an administrator has ended some absences because of a person, and return them."""
        ended = list[Absence]()

        def step(old: Journal) -> absence.JournalChange:
            ended[:] = filter(is_over, absence.active_absences(old, self._clock()))
            return absence.without_absences(old, ended, person, by, self._clock())

        with suppress(NotFoundError):
            await change_record(self._store, Journal, self._key, step)
        return ended
