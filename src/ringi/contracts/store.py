"""The contract of the truth: versioned records and their events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypeVar

from ringi.base.failpoint import failpoint
from ringi.domain.record import START, Event, Key, Position, Query, Record
from ringi.errors import ConflictError, UnreadableError

R = TypeVar("R", bound=Record)
TRIES = 20
"""How often a change is computed again because somebody else was faster."""


class Finding(NamedTuple):
    """One thing that does not fit."""

    record: str
    key: Key
    position: str
    what: str


class Store(ABC):
    """Where records and their events live. No store knows a rule."""

    @abstractmethod
    async def put(self, record: Record, event: Event | None) -> None:
        """Save the next version of a record and the event that made it, or neither.

        Version 1 is a new record. Raises `ConflictError` unless the stored version is exactly
        one less (for version 1: absent), `UnavailableError` when nothing could be written.
        Returns only when both are as durable as the store can make them.
        """

    @abstractmethod
    async def erase(self, record: Record, event: Event, left: Mapping[int, dict[str, Any]]) -> None:
        """Save a next version and its event as `put` does, and empty what was before it, all of it or nothing.

        `left` has, by version, what takes the place of the payloads of older events of the record. When it
        returns, the store holds nothing more of these payloads and of what the record said, and no search finds it.
        """

    @abstractmethod
    async def get(self, kind: type[R], tenant: str, id: str) -> R:
        """Return the newest version, or raise `NotFoundError`."""

    @abstractmethod
    async def get_many(self, kind: type[R], keys: Sequence[Key]) -> list[R]:
        """Return those that exist, in any order, in one round trip."""

    @abstractmethod
    async def find(self, kind: type[R], query: Query) -> list[R]:
        """Return at most `query.limit` matching records, newest first."""

    @abstractmethod
    async def count(self, kind: type[R], query: Query) -> int:
        """Return how many records match, counting no further than `query.limit`."""

    @abstractmethod
    async def events(
        self, after: Position = START, limit: int = 100, *, tenant: str | None = None, record_id: str | None = None
    ) -> list[Event]:
        """Return the events past a position, in order, with no gap that fills in later.

        A position that this store never gave raises `InvalidError`.
        """

    @abstractmethod
    async def tail(self) -> Position:
        """Return the position of the newest event: where a follower of news begins."""

    @abstractmethod
    async def cursor(self, name: str) -> Position:
        """Return where a named follower of the events stands; `START` for a new one."""

    @abstractmethod
    async def move_cursor(self, name: str, old: Position, new: Position) -> None:
        """Move a follower on, or raise `ConflictError` when it no longer stands at `old`."""

    async def inspect(self) -> AsyncGenerator[Finding, None]:
        """Yield what the store itself finds damaged, and index columns and lists that differ from their records."""
        none: tuple[Finding, ...] = ()
        for finding in none:
            yield finding

    uninspected: str = "this store has no check of its own: only its records and events were read"
    """What `inspect` cannot look at, in words for an operator."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


async def readable(store: Store, kind: type[R], keys: Sequence[Key]) -> list[R]:
    """Return the records of these keys that this version can read; one that it cannot stops none of the others."""
    try:
        return await store.get_many(kind, keys) if keys else []
    except UnreadableError:
        if len(keys) == 1:
            return []
    return [record for key in keys for record in await readable(store, kind, [key])]


async def change(
    store: Store, kind: type[R], key: Key, step: Callable[[R], tuple[R, Event | None]], read: R | None = None
) -> tuple[R, R]:
    """Save the next version that `step` computes and return (before, after).

    When somebody else was faster, `step` is computed again on what they left. Returning the
    record itself changes nothing. `read` is the record as it was read a moment ago, by who did.
    """
    for _ in range(TRIES):
        before, read = read or await store.get(kind, *key), None
        after, event = step(before)
        if after is before:
            return before, after
        failpoint("change.before_commit")
        try:
            await store.put(after, event)
        except ConflictError:
            continue
        return before, after
    raise ConflictError.too_often(kind.record, key.id)
