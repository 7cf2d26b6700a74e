"""A run's access to its person's memories: LangGraph's Store API over the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp
from langgraph.store.memory import InMemoryStore

from ringi.base.extras import UnsupportedError
from ringi.base.loops import running_loop
from ringi.base.outages import report_outages
from ringi.domain.memories import Memory, is_name_of_person
from ringi.errors import InvalidError, NotFoundError
from ringi.inbox.inbox import StoreInbox

MEMORIES = "memories"
"""The first element of every memory namespace: `("memories", tenant, person, category)`."""
PAGE = 100


class PersonMemories(BaseStore):
    """The memories of the person who started a run, and of no other person, for any namespace.

    It is read-only. Only answers that the person approved are remembered, so models and documents cannot add any.
    Raises `UnsupportedError` for a put or a delete.
    """

    def __init__(self, inbox: StoreInbox, person: str | None) -> None:
        self._inbox, self._loop = inbox, asyncio.get_running_loop()
        self._person = person if is_name_of_person(person) else None

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same as `abatch`, for synchronous steps."""
        if running_loop() is self._loop:
            what = "a blocking call would stop its own event loop"
            raise UnsupportedError(f"{what}: use `await store.asearch(…)`, or `aget`")
        return asyncio.run_coroutine_threadsafe(self.abatch(ops), self._loop).result()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute the read operations."""
        with report_outages():
            return [await self._answer(op) for op in ops]

    async def newest(self, most: int) -> list[Memory]:
        """Return the newest answers of the person, from the newest hundred questions, or from `most` if greater."""
        with report_outages():
            known = await self._inbox.memories.list(self._person, limit=max(most, PAGE)) if self._person else []
        return sorted(known, key=lambda memory: memory.updated_at, reverse=True)[:most]

    async def _answer(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return await self._get(op)
        if isinstance(op, SearchOp):
            return await self._search(op)
        if isinstance(op, ListNamespacesOp):
            return await self._namespaces(op)
        remedy = "to add one, ask the person with a form and context={'memory_category': …}"
        raise UnsupportedError(f"a run can only read memories: {remedy}")

    async def _get(self, op: GetOp) -> Item | None:
        if not self._person:
            return None
        try:
            memory = await self._inbox.memories.get(op.key, self._person)
        except NotFoundError:
            return None
        return Item(**self._item(memory)) if self._namespace(memory) == op.namespace else None

    async def _search(self, op: SearchOp) -> Result:
        wanted, size = op.filter or {}, len(op.namespace_prefix)
        if any(isinstance(value, dict) for value in wanted.values()):
            raise InvalidError.of("filter", "only equal values are supported; compare the results in your code")
        found: list[SearchItem] = []
        async for memory, namespace in self._all():
            item = SearchItem(**self._item(memory))
            if namespace[:size] == op.namespace_prefix and wanted.items() <= item.value.items():
                found.append(item)
            if len(found) == op.offset + op.limit:
                break
        return found[op.offset :]

    async def _namespaces(self, op: ListNamespacesOp) -> Result:
        known = InMemoryStore()
        async for _, namespace in self._all():
            known.batch([PutOp(namespace, MEMORIES, {})])
        return known.batch([op])[0]

    async def _all(self) -> AsyncIterator[tuple[Memory, tuple[str, ...]]]:
        cursor, has_more = None, bool(self._person)
        while has_more:
            page = await self._inbox.memories.list(self._person, limit=PAGE, cursor=cursor)
            for memory in page:
                yield memory, self._namespace(memory)
            cursor, has_more = page.next, page.next is not None

    def _namespace(self, memory: Memory) -> tuple[str, ...]:
        return (MEMORIES, self._inbox.tenant, memory.person, memory.category)

    def _item(self, memory: Memory) -> dict[str, Any]:
        value = {name: getattr(memory, name) for name in ("category", "question", "answer", "labelled")}
        times = {"created_at": memory.answered_at, "updated_at": memory.updated_at}
        return {"namespace": self._namespace(memory), "key": memory.id, "value": value, **times}
