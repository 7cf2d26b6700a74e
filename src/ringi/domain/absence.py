"""People who are away, and their deputies: the state of one journal for each tenant. Pure, without clock or I/O."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ringi.base.model import StrictModel, Time
from ringi.base.validation import Name
from ringi.domain.journal import Journal
from ringi.domain.record import Event, Viewer
from ringi.errors import InvalidError

JOURNAL = "ringi:away"
"""The id of the journal."""
PEOPLE = "people"
"""The key of the absences in the state of the journal."""
MAX_DAYS = 366
JournalChange = tuple[Journal, Event | None]


class Leave(StrictModel):
    """The caller's deputy, and the end of the absence."""

    deputy: Name
    until: Time
    unknown: Annotated[bool, Field(strict=True)] = False
    """True to take the name of a deputy that nobody here has."""


class Absence(StrictModel):
    """A person who is away until a time, and their deputy."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    person: Name
    deputy: Name
    """The person who may see and answer what is open to the absent person."""
    until: Time
    """The end of the absence."""
    groups: tuple[Name, ...] = ()
    """The groups of the absent person at the start of the absence, for whose members the deputy may answer."""
    subject: str = Field(default="", exclude=True)
    """The issuer and the subject of the absent person's sign-in; empty if only the name is known."""

    @property
    def viewer(self) -> Viewer:
        """The absent person."""
        return Viewer(name=self.person, groups=self.groups, subject=self.subject)

    def checked(self, now: datetime) -> Absence:
        """Return the absence itself.

        Args:
            now: The current time.

        Raises:
            InvalidError: The deputy is the absent person or no person, or the end is not between now and a year later.
        """
        if self.deputy == self.person:
            raise InvalidError.of("deputy", f"{self.deputy!r} is away: name another person")
        if ":" in self.deputy:
            raise InvalidError.of("deputy", f"{self.deputy!r} is not a person: name a person")
        if not now < self.until <= now + timedelta(days=MAX_DAYS):
            raise InvalidError.of("until", f"give a time in the future, within {MAX_DAYS} days")
        return self


class Away(StrictModel):
    """A person's own absence, and those in which the person is the deputy."""

    absence: Absence | None
    deputy_for: tuple[Absence, ...]


def active_absences(journal: Journal | None, now: datetime) -> list[Absence]:
    """Return the absences that have not ended.

    Args:
        journal: The journal of the tenant; None if there is none.
        now: The current time.
    """
    people: dict[str, Any] = journal.state.get(PEOPLE, {}) if journal else {}
    found = [Absence(person=person, **about) for person, about in people.items()]
    return [absence for absence in found if now < absence.until]


def absences_concerning(absences: list[Absence], person: str) -> Away:
    """Return what concerns a person."""
    own = next((absence for absence in absences if absence.person == person), None)
    # Not those of the people for whom an absent person stands: a deputy has no deputy.
    return Away(absence=own, deputy_for=tuple(absence for absence in absences if absence.deputy == person))


def with_absence(journal: Journal, absence: Absence, now: datetime) -> tuple[Journal, Event]:
    """Return the journal after a person has left; an earlier absence of the person is replaced."""
    people = {each.person: each for each in active_absences(journal, now)} | {absence.person: absence}
    entry = {"do": "away", "deputy": absence.deputy, "until": absence.until}
    return journal.written(entry, _state(people), by=absence.person, now=now)


def journal_after_return(journal: Journal, person: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal after a person has come back; unchanged and None if the person is not away."""
    people = {each.person: each for each in active_absences(journal, now)}
    if people.pop(person, None) is None:
        return journal, None
    return journal.written({"do": "back"}, _state(people), by=person, now=now)


def without_absences(journal: Journal, gone: Collection[Absence], person: str, by: str, now: datetime) -> JournalChange:
    """Return the journal without some absences; unchanged and None if there are none.

    Args:
        journal: The journal of the tenant.
        gone: The absences that end.
        person: The person because of whom they end, for the audit trail.
        by: The administrator who ends them.
        now: The current time.
    """
    if not gone:
        return journal, None
    left = {each.person: each for each in active_absences(journal, now) if each not in gone}
    return journal.written({"do": "end", "person": person}, _state(left), by=by, now=now)


def _state(people: dict[str, Absence]) -> dict[str, Any]:
    about = ("deputy", "until", "groups", "subject")
    return {PEOPLE: {name: {key: getattr(absence, key) for key in about} for name, absence in people.items()}}
