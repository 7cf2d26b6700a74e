"""The operations on what people have answered for later conversations."""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime
from typing import Any

from ringi.base.clock import Clock
from ringi.domain import memories
from ringi.domain.memories import Memory
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.inbox.api import InboxAPI
from ringi.inbox.receipts import Step


class MemoryOperations(InboxAPI):
    """The part of an inbox that reads, edits and deletes memories."""

    clock: Clock

    async def memories(self, person: str, *, limit: int = 50, before: str | None = None) -> list[Memory]:
        query = Query(remembered_by=person, limit=limit, before=before)
        return [memories.memory_of(request, person) for request in await self.find(query)]

    async def memory(self, id: str, person: str) -> Memory:
        with memories.looked_for(id):
            return memories.memory_of(await self.get(id), person)

    async def edit_memory(
        self, id: str, data: dict[str, Any], *, by: str, expected_updated_at: datetime | None = None
    ) -> Memory:
        with memories.looked_for(id):
            new = await self._change(id, lambda old: memories.edited(old, data, by, self.clock(), expected_updated_at))
        return memories.memory_of(new, by)

    async def delete_memory(self, id: str, *, by: str) -> None:
        with memories.looked_for(id):
            await self._change(id, lambda request: memories.forgotten(request, by, self.clock()))

    @abstractmethod
    async def _change(self, id: str, step: Step, read: Request | None = None) -> Request:
        """Save the next version of a request, and notify everybody."""
