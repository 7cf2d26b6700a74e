"""What is stored: versioned records, and the events that made them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, NamedTuple, Self
from urllib.parse import quote, unquote

from pydantic import BaseModel, ConfigDict

from ringi.canonical import digest, jsonable
from ringi.errors import InvalidError

Position = str
"""A place in the feed of events. Opaque: only the store that gave it can compare it."""

START: Position = ""
"""The place before the first event."""

DEFAULT_TENANT = "default"
SYSTEM = "system"
"""The actor of what nobody did."""


class Key(NamedTuple):
    """What identifies a record of one kind below HTTP."""

    tenant: str
    id: str


class Frozen(BaseModel):
    """Base of all values: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True, validate_by_name=True)


class Event(Frozen):
    """One change of one record, chained to the record's previous event by `previous`."""

    tenant: str
    record: str
    record_id: str
    version: int
    type: str
    at: datetime
    payload: dict[str, Any]
    payload_digest: str
    previous: str
    hash: str
    position: Position = START

    @property
    def id(self) -> str:
        """The event's id: stable over retries, unique over tenants."""
        return self.hash.removeprefix("sha256:")[:32]

    @property
    def actor(self) -> str:
        """Who did it; `system` when nobody did."""
        return str(self.payload.get("actor", "erased"))

    def computed_hash(self) -> str:
        """Return the hash that this event must have, from its own fields."""
        return hash_of(self.model_dump(include=HASHED))


HASHED = {"tenant", "record", "record_id", "version", "type", "at", "payload_digest", "previous"}


def hash_of(fields: Mapping[str, Any]) -> str:
    """Return the hash of an event with these fields: everything but the payload, which counts by its digest."""
    return digest({**fields, "at": jsonable(fields["at"].astimezone(UTC))})


class Record(Frozen):
    """A versioned thing with a tenant, an id and a chain of events."""

    record: ClassVar[str]
    unchained: ClassVar[frozenset[str]] = frozenset({"head", "version"})

    tenant: str
    id: str
    version: int = 1
    created_at: datetime
    head: str = ""

    @property
    def key(self) -> Key:
        """The record's key within its kind."""
        return Key(self.tenant, self.id)

    @property
    def topic(self) -> str:
        """What waiters for this record subscribe to."""
        return topic_of(self.record, self.key)

    def created(self, type: str, actor: str) -> tuple[Self, Event]:
        """Return the record as version 1 with the event of its creation."""
        changed = {k: v for k, v in self.model_dump(mode="json").items() if k not in self.unchained}
        event = self._event(1, type, actor, self.created_at, changed)
        return self.model_copy(update={"version": 1, "head": event.hash}), event

    def changed(self, type: str, actor: str, at: datetime, **changes: Any) -> tuple[Self, Event]:
        """Return the next version and the event that makes it."""
        event = self._event(self.version + 1, type, actor, at, jsonable(changes))
        return self.model_copy(update={**changes, "version": event.version, "head": event.hash}), event

    def _event(self, version: int, type: str, actor: str, at: datetime, changed: Any) -> Event:
        payload = {"actor": actor, "changed": changed}
        fields = {
            "tenant": self.tenant,
            "record": self.record,
            "record_id": self.id,
            "version": version,
            "type": f"{self.record}.{type}",
            "at": at,
            "payload_digest": digest(payload),
            "previous": self.head,
        }
        return Event(**fields, payload=payload, hash=hash_of(fields))


def topic_of(record: str, key: Key) -> str:
    """Return the topic of a record, also of one that does not exist yet."""
    return f"{record}/{key.tenant}/{key.id}"


class Viewer(Frozen):
    """A person who sees what is open to all, assigned to them, or offered to their groups."""

    name: str
    groups: tuple[str, ...] = ()


class Query(Frozen):
    """Which records of a kind: every field that is set must match; newest first."""

    tenant: str | None = None
    statuses: tuple[str, ...] = ()
    kind: str | None = None
    assignee: str | None = None
    thread_id: str | None = None
    asked_by: str | None = None
    viewer: Viewer | None = None
    text: str | None = None
    expired_at: datetime | None = None
    """Pending requests whose `expires_at` is not after this."""
    unacknowledged: bool = False
    """Ended requests with a continuation that no run has taken up and that need no attention."""
    attention: bool = False
    """Requests that wait for an operator."""
    unleased_at: datetime | None = None
    """Running threads that no worker holds at this time."""
    before: str | None = None
    """The cursor of the last record of the page before."""
    limit: int = 50


def cursor_of(record: Record) -> str:
    """Return the cursor with which the page after this record begins: its place in the order of lists."""
    return f"{microseconds(record.created_at)}:{quote(record.tenant, safe='')}:{record.id}"


def microseconds(at: datetime) -> int:
    """Return the time as whole microseconds since 1970: sorts where texts do not."""
    return (at - EPOCH) // MICROSECOND


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
CURSOR = re.compile(r"(-?[0-9]{1,18}):([^:]*):(.*)", re.DOTALL | re.ASCII)


def parsed_cursor(cursor: str) -> tuple[int, str, str]:
    """Return a page's cursor as the (microseconds, id, tenant) it stands for, or raise `InvalidError`."""
    parts = CURSOR.fullmatch(cursor)
    if not parts:
        raise InvalidError.of("cursor", f"{cursor!r} is not a cursor of this list: take it from `next`")
    return int(parts[1]), parts[3], unquote(parts[2])


def parsed_number(position: Position) -> int:
    """Return the number behind a position of a store that counts, or raise `InvalidError`."""
    if position == START:
        return 0
    if not (position.isascii() and position.isdigit() and len(position) < 19):
        raise InvalidError.of("after", f"{position!r} is not a position of this feed: take it from an event's id")
    return int(position)


def searchable(*texts: str | None) -> str:
    """Return texts as they are compared in a search: one width, one case."""
    return unicodedata.normalize("NFKC", "\n".join(text for text in texts if text)).casefold()
