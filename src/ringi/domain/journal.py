"""A sum that an application keeps, and the entries that made it: the third kind of record."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, ClassVar, NamedTuple, Self

from ringi.base.canonical_json import digest, jsonable
from ringi.domain.record import DEFAULT_TENANT, Event, Record

WORDS = "reason"
"""What an entry says in the words of whoever wrote it: they go with the name."""


class Noted(NamedTuple):
    """An entry, and who wrote it when."""

    version: int
    """Of the state that it made: the first entry made the second."""
    at: datetime
    by: str
    entry: dict[str, Any]


class Journal(Record):
    """A state that changes by entries only, each an event of the trail.

    What an entry means is its application's: here the state is known by its digest, and the digest by its events.
    """

    record: ClassVar[str] = "journal"
    unchained: ClassVar[frozenset[str]] = Record.unchained | {"state"}

    application: str
    """Whose it is, and who can say what its entries add up to."""
    state: dict[str, Any]
    """The sum of all entries."""
    digest: str
    """Of the state; each event says what it became."""
    entry: dict[str, Any] = {}
    """The newest entry; none in the first version."""
    kept: dict[str, dict[str, Any]] = {}
    """The entries of events that an erasure has emptied, by the version of the event, without anybody's words."""

    @classmethod
    def begun(
        cls,
        id: str,
        application: str,
        state: dict[str, Any],
        *,
        by: str,
        now: datetime,
        tenant: str = DEFAULT_TENANT,
    ) -> tuple[Self, Event]:
        """Return a new journal without entries."""
        summed = _summed(state)
        return cls(tenant=tenant, id=id, application=application, created_at=now, **summed).created("begun", by)

    @property
    def is_sound(self) -> bool:
        """Whether the state is the one that the events tell of."""
        return digest(self.state) == self.digest

    def written(self, entry: dict[str, Any], state: dict[str, Any], *, by: str, now: datetime) -> tuple[Self, Event]:
        """Return it with one more entry and the state that this makes."""
        summed = _summed(state)
        after, event = self.changed("written", by, now, entry=jsonable(entry), digest=summed["digest"])
        return after.model_copy(update=summed), event

    def without(self, events: Iterable[Event]) -> dict[str, Any]:
        """Return what changes when these events of it are emptied: what they entered stays, their words go."""
        emptied = [event for event in events if event.type == WRITTEN]
        kept = {str(event.version): _wordless(event.changed["entry"]) for event in emptied if "entry" in event.changed}
        is_newest = any(event.changed.get("entry") == self.entry for event in emptied)
        return {"kept": {**self.kept, **kept}, "entry": _wordless(self.entry) if is_newest else self.entry}


WRITTEN = f"{Journal.record}.written"


def entries_in(events: Iterable[Event]) -> list[Noted]:
    """Return what all events of a journal entered, oldest first; an erasure takes none away."""
    own, kept = [event for event in events if event.record == Journal.record], dict[str, dict[str, Any]]()
    for event in own:
        kept |= event.changed.get("kept", {})
    written = [event for event in own if event.type == WRITTEN]
    said = [(event, event.changed.get("entry") or kept.get(str(event.version), {})) for event in written]
    return [Noted(number, event.at, event.actor, entry) for number, (event, entry) in enumerate(said, 2)]


def _wordless(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: None if name == WORDS else value for name, value in entry.items()}


def _summed(state: dict[str, Any]) -> dict[str, Any]:
    plain = jsonable(state)
    return {"state": plain, "digest": digest(plain)}
