"""A sum kept by an application, and the entries that produced it: the third kind of record."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Self

from pydantic import Field

from ringi.base.canonical_json import digest, jsonable
from ringi.base.model import is_empty
from ringi.domain.record import DEFAULT_TENANT, ERASED_PERSON, Event, Record

LEGAL_HOLDS = "legal-holds"
"""The id of the journal of legal holds, in each tenant."""
WORDS = "reason"
"""The key of an entry's free text; an erasure removes it together with the author's name."""


RINGI = "ringi"
"""The application of Ringi's own journals: their states name people by `people`, their entries by `NAMED`."""
NAMED = ("deputy", "person")
"""The keys of people's names in an entry of Ringi's own journals."""
PERSONAL = (WORDS, *NAMED)
"""The keys of a person's text and name in an entry of Ringi's own journals."""


class JournalEntry(NamedTuple):
    """An entry, its author and its time."""

    version: int
    """The version of the state that the entry produced; the first entry produced version 2."""
    at: datetime
    by: str
    entry: dict[str, Any]


class Journal(Record):
    """A state that changes only by entries, each an event of the audit trail.

    The application defines the meaning of an entry. Here the digest of the state is verified against the events.
    """

    record: ClassVar[str] = "journal"
    unchained: ClassVar[frozenset[str]] = Record.unchained | {"state", "totals"}

    application: str
    """The application that owns the journal and can add up its entries."""
    state: dict[str, Any]
    """The sum of all entries."""
    digest: str
    """The digest of the state; each event records the new digest."""
    entry: dict[str, Any] = {}
    """The newest entry; empty in the first version."""
    redacted_entries: dict[str, dict[str, Any]] = Field(default={}, alias="kept")
    """The entries of events that an erasure redacted, by event version, without anyone's free text."""
    totals: dict[str, Any] = Field(default={}, exclude_if=is_empty)
    """Counts that Ringi derives from events and can derive again; no event records them."""

    @classmethod
    def begun(
        cls, id: str, application: str, state: dict[str, Any], *, by: str, now: datetime, tenant: str = DEFAULT_TENANT
    ) -> tuple[Self, Event]:
        """Return a new journal without entries, and its first event.

        Args:
            id: The id of the journal.
            application: The application that owns the journal.
            state: The initial state, as JSON data or models.
            by: The name of the author, for the audit trail.
            now: The current time, with a time zone.
            tenant: The tenant of the journal.

        Raises:
            InvalidError: The state is not portable JSON.
        """
        changes = _with_digest(state)
        return cls(tenant=tenant, id=id, application=application, created_at=now, **changes).created("begun", by)

    @property
    def is_sound(self) -> bool:
        """Return whether the state is the one that the events record."""
        return digest(self.state) == self.digest

    def written(self, entry: dict[str, Any], state: dict[str, Any], *, by: str, now: datetime) -> tuple[Self, Event]:
        """Return the journal with one more entry and the resulting state, and the event of the change.

        Args:
            entry: The new entry; its free text is under `reason`.
            state: The state after the entry, as JSON data or models.
            by: The name of the author, for the audit trail.
            now: The current time, with a time zone.

        Raises:
            InvalidError: The entry or the state is not portable JSON.
        """
        changes = _with_digest(state)
        after, event = self.changed("written", by, now, entry=jsonable(entry), digest=changes["digest"])
        return after.model_copy(update=changes), event

    def entry_of(self, event: Event) -> dict[str, Any]:
        """Return the entry of an event of this journal; after an erasure, without anyone's free text.

        Args:
            event: The event.
        """
        entry: dict[str, Any] = event.changed.get("entry") or self.redacted_entries.get(str(event.version), {})
        return entry

    def without(self, events: Iterable[Event], person: str | None = None) -> dict[str, Any]:
        """Return the changes when these events are redacted: the entries stay, their free text is removed.

        Args:
            events: The events of this journal to redact.
            person: The person whom the state of a journal of Ringi itself must not name any more.

        Returns:
            The new values of the changed fields, by field name.
        """
        redacted_events = [event for event in events if event.type == WRITTEN]
        written = {event.version: event.changed["entry"] for event in redacted_events if "entry" in event.changed}
        personal = PERSONAL if self.application == RINGI else (WORDS,)
        redacted = {str(version): _without_text(entry, personal) for version, entry in written.items()}
        is_newest = any(event.changed.get("entry") == self.entry for event in redacted_events)
        newest = _without_text(self.entry, personal) if is_newest else self.entry
        state = _with_digest(without_person(self.state, person)) if self.application == RINGI and person else {}
        return {"redacted_entries": {**self.redacted_entries, **redacted}, "entry": newest, **state}


WRITTEN = f"{Journal.record}.written"


def entries_in(events: Iterable[Event]) -> list[JournalEntry]:
    """Return the entries of all events of a journal, oldest first; an erasure removes no entry.

    Args:
        events: The events of one journal, in order.
    """
    own, redacted = [event for event in events if event.record == Journal.record], dict[str, dict[str, Any]]()
    for event in own:
        redacted |= event.changed.get("kept", {})
    entries = [event for event in own if event.type == WRITTEN]
    found = [(event, event.changed.get("entry") or redacted.get(str(event.version), {})) for event in entries]
    return [JournalEntry(number, event.at, event.actor, entry) for number, (event, entry) in enumerate(found, 2)]


def without_person(state: dict[str, Any], person: str) -> dict[str, Any]:
    """Return the state of a journal of Ringi itself without a person, and without those whose deputy the person is.

    A pause stays in force without the name and the words of who began it.
    """
    people: dict[str, Any] = state.get("people", {})
    left = {name: about for name, about in people.items() if person not in (name, about.get("deputy"))}
    nobody = {"by": ERASED_PERSON, WORDS: ""}
    pauses = [each | nobody if each.get("by") == person else each for each in state.get("pauses", ())]
    changed = {"people": left, "pauses": pauses}
    return {**state, **{name: value for name, value in changed.items() if name in state}}


def _without_text(entry: dict[str, Any], personal: Collection[str]) -> dict[str, Any]:
    return {name: None if name in personal else value for name, value in entry.items()}


def _with_digest(state: dict[str, Any]) -> dict[str, Any]:
    plain = jsonable(state)
    return {"state": plain, "digest": digest(plain)}
