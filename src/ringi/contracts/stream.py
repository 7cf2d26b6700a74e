"""The contract of a thread's output: item numbers continue across runs, pauses, resumes and restarts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from ringi.domain.record import Key


class StreamItem(NamedTuple):
    """One item of output. `origin` identifies the step of the run that produced it; it is internal."""

    event: dict[str, Any]
    origin: str | None = None
    number: int = 0
    """1, 2, 3 … without gaps; assigned by the stream."""


class Stream(ABC):
    """Numbered items per key, kept until they are deleted."""

    @abstractmethod
    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        """Append items durably and atomically.

        Args:
            key: The key of the stream.
            items: The items to append; an empty sequence only records the fence.
            fence: The fence of the writer.

        Returns:
            The number of the last item.

        Raises:
            FenceError: A higher fence was used on this key before, even by an append without items.
        """

    @abstractmethod
    async def delete(self, key: Key, *, fence: int) -> int:
        """Delete all items permanently; later items continue the numbering.

        Args:
            key: The key of the stream.
            fence: The fence of the caller.

        Returns:
            The number of the last item.

        Raises:
            FenceError: A higher fence was used on this key before.
        """

    @abstractmethod
    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        """Delete all items permanently and append others, in one transaction; the fence stays.

        Args:
            key: The key of the stream.
            items: The items to append; their numbers continue the numbering.
            last: The number of the last item that the caller has read; 0 for an unknown key.

        Returns:
            The number of the last item.

        Raises:
            ConflictError: Another item was the last one; nothing was changed.
        """

    @abstractmethod
    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        """Return items in order; none for an unknown key.

        Args:
            key: The key of the stream.
            after: The number after which to read.
            limit: The maximum number of items.
        """
