"""The contract of the store: versioned records and their events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeAlias, TypedDict, TypeVar

from ringi.base.failpoints import failpoint
from ringi.domain.record import START, Event, Key, Position, Query, Record, UnreadableError
from ringi.errors import ConflictError, NotFoundError, RingiError

R = TypeVar("R", bound=Record)
Change: TypeAlias = tuple[Record, Event | None]
"""The next version of a record and the event of this change."""
TRIES = 20
"""The number of times that a change is computed again after a concurrent update."""
HISTORY_PAGE = 500
"""The number of events of one record that are read at once."""


class ClosedError(RingiError):
    """The inbox or client was used after it was closed, or closed while a caller waited."""

    def __init__(self, what: str, pid: int | None = None) -> None:
        why = f"was opened in process {pid}, which forked this one" if pid else "is closed"
        super().__init__(f"the {what} {why}: open it again")


MAX_PAGE_BYTES = 1024 * 1024
"""Stored bytes of one page for a caller."""


class Finding(NamedTuple):
    """One inconsistency in a store."""

    record: str
    """The kind of the record, such as `request`; `event` for an unreadable event."""
    key: Key
    """The tenant and the id of the record; empty if they are unknown."""
    position: str
    """The position of the event; empty if no single event is at fault."""
    what: str
    """The error, as text for an operator."""


class EventBounds(TypedDict, total=False):
    """Which events a page has, and its size; see `Store.events`."""

    tenant: str | None
    record_id: str | Sequence[str] | None
    max_bytes: int | None


def event_bounds(
    tenant: str | None = None, record_id: str | Sequence[str] | None = None, max_bytes: int | None = None
) -> tuple[str | None, Sequence[str] | None, int | None]:
    """Return the bounds of a page of events, None for those that are absent; an unknown name is a `TypeError`."""
    return tenant, [record_id] if isinstance(record_id, str) else record_id and list(record_id), max_bytes


class Store(ABC):
    """Stores records and their events. A store contains no business rules."""

    saves_wake_ups = False
    """Whether a change after which a run may go on saves the job for it in the same transaction."""

    @abstractmethod
    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        """Save the next version of a record and its event, atomically, and the other changes with it.

        Returns only when all of it is as durable as the store can make it.

        Args:
            record: The next version; version 1 is a new record.
            event: The event of this change; None saves the record alone.
            others: The changes of other records of the same kind; their events follow in this order.

        Raises:
            ConflictError: The stored version of one of the records is not exactly one less (for version 1: not absent);
                nothing was saved.
            UnavailableError: Nothing could be written.
        """

    @abstractmethod
    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        """Save the next version and its event as `put` does, and erase all earlier content, atomically.

        After it returns, the store holds neither the earlier payloads nor the earlier content of the record, and no
        search finds them.

        Args:
            record: The next version, without the erased content.
            event: The event of the erasure.
            left: The replacement payloads of older events of the record, by version.
        """

    @abstractmethod
    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        """Return the newest version of a record.

        Args:
            kind: The class of the record.
            tenant: The tenant of the record.
            id: The id of the record.

        Raises:
            NotFoundError: No record of this kind has this tenant and id.
        """

    @abstractmethod
    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        """Return the existing records of these keys, in one round trip.

        Args:
            kind: The class of the records.
            keys: The keys to look up; absent ones are skipped.

        Returns:
            The newest versions, in any order.
        """

    @abstractmethod
    async def find(self, kind: type[R], query: Query) -> list[R]:
        """Return matching records, newest first.

        Args:
            kind: The class of the records.
            query: The conditions, and the maximum number of records in `limit` and of their bytes in `max_bytes`.

        Returns:
            The records; a `CutPage` if it ended with its bytes. It has at least one record, which may be larger.
        """

    @abstractmethod
    async def count(self, kind: type[R], query: Query) -> int:
        """Return the number of matching records.

        Args:
            kind: The class of the records.
            query: The conditions; counting stops at `limit`.
        """

    @abstractmethod
    async def events(
        self,
        after: Position = START,
        limit: int = 100,
        *,
        tenant: str | None = None,
        record_id: str | Sequence[str] | None = None,
        max_bytes: int | None = None,
    ) -> list[Event]:
        """Return the events after a position, in order and without gaps that are filled later.

        Args:
            after: The position to read from, exclusive.
            limit: The maximum number of events.
            tenant: Only events of this tenant; None for all.
            record_id: Only events of records with this id, or with one of these; None for all.
            max_bytes: Stored bytes with which the list ends, however few its events: it is then a `CutPage`. None: no
                limit.

        Raises:
            InvalidError: `after` is not a position of this store.
        """

    async def hashes(self, after: Position = START, limit: int = 100) -> list[tuple[Position, str]]:
        """Return position and hash of the events after a position; a store may override it to read only these.

        Args:
            after: The position to read from, exclusive.
            limit: The maximum number of events.
        """
        return [(event.position, event.hash) for event in await self.events(after, limit)]

    @abstractmethod
    async def tail(self) -> Position:
        """Return the position of the newest event, from which a follower of new events starts."""

    @abstractmethod
    async def cursor(self, name: str) -> Position:
        """Return the position of a named follower.

        Args:
            name: The name of the follower.

        Returns:
            The saved position; `START` for a new follower.
        """

    @abstractmethod
    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        """Advance a follower.

        Args:
            name: The name of the follower.
            old: Its expected position.
            new: Its next position.

        Raises:
            ConflictError: The follower is no longer at `old`.
        """

    async def inspect(self) -> AsyncGenerator[Finding, None]:
        """Yield damage that the store detects, and index columns and lists that differ from their records."""
        for finding in tuple[Finding, ...]():
            yield finding

    uninspected: str = "this store has no check of its own: only its records and events were read"
    """The limits of `inspect`, as a message to an operator."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


async def skip_unreadable_records(store: Store, kind: type[R], keys: Sequence[Key]) -> list[R]:
    """Return the records that this version can read; an unreadable record is skipped.

    Args:
        store: The store to read.
        kind: The class of the records.
        keys: The keys to look up; absent ones are skipped.
    """
    try:
        return await store.get_many(kind, keys) if keys else []
    except UnreadableError:
        if len(keys) == 1:
            return []
    return [record for key in keys for record in await skip_unreadable_records(store, kind, [key])]


async def find_record(store: Store, kind: type[R], key: Key) -> R | None:
    """Return a record; None if there is none.

    Args:
        store: The store of the record.
        kind: The class of the record.
        key: The key of the record.

    Raises:
        UnavailableError: The store cannot answer.
        UnreadableError: The record is damaged.
    """
    try:
        return await store.get(kind, *key)
    except NotFoundError:
        return None


async def read_record_history(store: Store, record: Record) -> list[Event]:
    """Return all events of a record, read in pages.

    Args:
        store: The store of the record.
        record: Any version of the record.
    """
    found, after = list[Event](), START
    while page := await store.events(after, HISTORY_PAGE, tenant=record.tenant, record_id=record.id):
        found += page
        after = page[-1].position
    return [event for event in found if event.record == record.record]


async def change_record(
    store: Store,
    kind: type[R],
    key: Key,
    step: Callable[[R], tuple[R, Event | None]],
    read: R | None = None,
    put: Callable[[R, Event | None], Awaitable[None]] | None = None,
) -> tuple[R, R]:
    """Save the next version that `step` computes.

    After a concurrent update, `step` is computed again on the new version. If `step` returns the record itself, nothing
    is saved.

    Args:
        store: The store to change.
        kind: The class of the record.
        key: The key of the record.
        step: Returns the next version and its event.
        read: The record as the caller has just read it; None reads it from the store.
        put: Saves the next version as `Store.put` does; None uses that.

    Returns:
        The record before and after the change.

    Raises:
        ConflictError: Every attempt met a concurrent update.
        NotFoundError: The record does not exist.
    """
    for _ in range(TRIES):
        before, read = read or await store.get(kind, *key), None
        after, event = step(before)
        if after is before:
            return before, after
        failpoint("change.before_commit")
        try:
            await (put or store.put)(after, event)
        except ConflictError:
            continue
        return before, after
    raise ConflictError.too_often(kind.record, key.id)
