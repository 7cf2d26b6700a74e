"""A sum that an application keeps, and the entries that made it: the third kind of record."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from ringi.canonical import digest, jsonable
from ringi.record import DEFAULT_TENANT, Event, Record


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


def _summed(state: dict[str, Any]) -> dict[str, Any]:
    plain = jsonable(state)
    return {"state": plain, "digest": digest(plain)}
