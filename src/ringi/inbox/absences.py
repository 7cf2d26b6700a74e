"""Absences in the store: read, begin and end them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from datetime import datetime

from ringi.base.clock import Clock
from ringi.contracts.backend import ABSENCES
from ringi.contracts.store import Store, change_record, find_record
from ringi.domain import absence
from ringi.domain.absence import Absence, Away
from ringi.domain.ask import parse_body
from ringi.domain.journal import Journal
from ringi.domain.record import Key
from ringi.domain.voting import Decider
from ringi.errors import NotFoundError
from ringi.inbox.api import InboxAPI
from ringi.inbox.journals import change_journal
from ringi.inbox.people import People


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
        return absence.active(await self._journal(), self._clock())

    async def of(self, person: str) -> Away:
        """Return a person's own absence, and those in which the person is the deputy."""
        return absence.away_of(await self.active(), person)

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
        begun = absence.begun(self._clock(), self._key.tenant, by=new.person)
        await change_journal(self._store, self._key, begun, lambda old: absence.left(old, new, self._clock()))
        return new

    async def end(self, person: str) -> None:
        """Record that a person is back; nothing changes if the person was not away."""
        if await self._journal() is not None:
            await change_record(
                self._store, Journal, self._key, lambda old: absence.returned(old, person, self._clock())
            )

    async def end_of(self, person: str, by: str) -> None:
        """Record that an administrator has ended the absence of a person.

        Raises:
            NotFoundError: The person is not away.
        """

        def step(old: Journal) -> absence.Change:
            gone = [each for each in absence.active(old, self._clock()) if each.person == person]
            if not gone:
                raise NotFoundError("absence", person)
            return absence.without(old, gone, person, by, self._clock())

        try:
            await change_record(self._store, Journal, self._key, step)
        except NotFoundError:
            raise NotFoundError("absence", person) from None

    async def _journal(self) -> Journal | None:
        return await find_record(self._store, Journal, self._key)


class AbsenceOperations(InboxAPI):
    """The operations of people who leave and come back."""

    store: Store
    tenant: str
    clock: Clock
    people: People

    @property
    def absences(self) -> Absences:
        """The people of the tenant who are away."""
        return Absences(self.store, self.tenant, self.clock)

    async def leave(
        self,
        deputy: str,
        until: datetime,
        *,
        by: str,
        groups: Sequence[str] = (),
        unknown: bool = False,
        subject: str = "",
    ) -> Absence:
        fields = {"person": by, "deputy": deputy, "until": until, "groups": tuple(groups), "subject": subject}
        new = parse_body(Absence, fields).checked(self.clock())
        if not unknown:
            (await self.people.known(self.tenant)).refuse_unknown({"deputy": deputy})
        absence = await self.absences.begin(new)
        await self._publish(ABSENCES)
        return absence

    async def come_back(self, by: str) -> None:
        await self.absences.end(by)
        await self._publish(ABSENCES)

    async def away(self, by: str) -> Away:
        return await self.absences.of(by)

    async def find_absences(self) -> list[Absence]:
        return sorted(await self.absences.active(), key=lambda each: (each.until, each.person))

    async def end_absence(self, name: str, by: str) -> None:
        await self.absences.end_of(name, by)
        await self._publish(ABSENCES)

    async def _decider(self, by: Decider | str, groups: Sequence[str] = ()) -> Decider:
        """Return the person with those for whom the person stands; a `Decider` already has them."""
        return by if isinstance(by, Decider) else await self.absences.decider(Decider(by, tuple(groups)))

    @abstractmethod
    async def _publish(self, *topics: str) -> None:
        """Notify all processes."""
