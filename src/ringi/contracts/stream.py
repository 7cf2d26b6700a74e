"""The contract of a thread's output: one numbering over runs, pauses, resumes and restarts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ringi.domain.record import Key


class StreamItem(NamedTuple):
    """One piece of output. `origin` says which step of the run made it; it is never shown."""

    event: dict[str, Any]
    origin: str | None = None
    number: int = 0
    """1, 2, 3 … without a gap; given by the stream."""


class Stream(ABC):
    """Numbered items per key, kept until they are deleted."""

    @abstractmethod
    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        """Add items, all or none, durably, and return the number of the last.

        Raises `FenceError` when a higher fence has ever been used on this key, also by an
        append of no items.
        """

    @abstractmethod
    async def delete(self, key: Key, *, fence: int) -> int:
        """Forget all items, for good, and return the number of the last; the next one is numbered on from there.

        Raises `FenceError` when a higher fence has ever been used on this key.
        """

    @abstractmethod
    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        """Return the items past a number, in order; of an unknown key, none."""
