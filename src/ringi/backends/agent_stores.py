"""LangGraph's own store for the nodes and tools of agents: each agent of a tenant has its own namespace."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import quote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from ringi.base.outages import report_outages

log = logging.getLogger(__name__)
ROOT = "ringi"
"""The first element of all namespaces: an application may have its own beside them."""
VALUE_KEY = "ringi_value"
"""The key of a value that is not an object: some agents store text, which LangGraph's SQLite store refuses."""
PAGE = 100
Namespace = tuple[str, ...]
ItemT = TypeVar("ItemT", bound=Item)


class AgentStore(BaseStore):
    """The data of one agent across its threads, in the store of the URL.

    `batch` behaves like LangGraph's own store of that database and may block; it is called from any thread. Writes take
    effect at once: a repeated step does not undo them, and a worker that lost its thread can still write.
    """

    def __init__(self, batch: Callable[[Sequence[Op]], list[Result]], *scope: str) -> None:
        # A part of a namespace must not contain dots.
        parts = (quote(name, safe="").replace(".", "%2E") for name in scope)
        self._batch, self._scope = batch, (ROOT, *parts)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute all operations, and wait for them."""
        operations = list(ops)
        with report_outages():
            found = self._batch([self._add_scope(op) for op in operations])
        return [self._restore(op, result) for op, result in zip(operations, found, strict=True)]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute all operations without blocking the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    async def erase(self, namespace: Namespace = ()) -> int:
        """Delete all items below a namespace, by default everything, and return their number."""
        count = 0
        while found := await self.asearch(namespace, limit=PAGE):
            await self.abatch([PutOp(item.namespace, item.key, None) for item in found])
            count += len(found)
        return count

    async def count(self, namespace: Namespace = ()) -> int:
        """Return the number of items below a namespace."""
        count = 0
        while found := await self.asearch(namespace, limit=PAGE, offset=count):
            count += len(found)
        return count

    def _add_scope(self, op: Op) -> Op:
        if isinstance(op, PutOp):
            value: object = op.value
            op = op if value is None or isinstance(value, Mapping) else op._replace(value={VALUE_KEY: value})
        if isinstance(op, GetOp | PutOp):
            return op._replace(namespace=(*self._scope, *op.namespace))
        if isinstance(op, SearchOp):
            return op._replace(namespace_prefix=(*self._scope, *op.namespace_prefix))
        depth = None if op.max_depth is None else op.max_depth + len(self._scope)
        conditions = op.match_conditions or ()
        own = [MatchCondition("prefix", self._scope)] if not any(c.match_type == "prefix" for c in conditions) else []
        scoped = [c._replace(path=(*self._scope, *c.path)) if c.match_type == "prefix" else c for c in conditions]
        return op._replace(match_conditions=(*own, *scoped), max_depth=depth)

    def _restore(self, op: Op, result: Result) -> Result:
        if isinstance(result, Item):
            return self._remove_scope(result)
        if isinstance(op, SearchOp) and isinstance(result, list):
            return [self._remove_scope(item) for item in result if isinstance(item, SearchItem)]
        if isinstance(op, ListNamespacesOp) and isinstance(result, list):
            shortest = max((len(c.path) for c in op.match_conditions or ()), default=0)
            spaces = [space[len(self._scope) :] for space in result if isinstance(space, tuple)]
            # A suffix may have matched the names that precede the agent's own.
            return [space for space in spaces if space and len(space) >= min(shortest, op.max_depth or shortest)]
        return result

    def _remove_scope(self, item: ItemT) -> ItemT:
        item.namespace = item.namespace[len(self._scope) :]
        if set(item.value) == {VALUE_KEY}:
            item.value = item.value[VALUE_KEY]
        return item


class MemoryAgentStores:
    """The stores of agents in this process."""

    def __init__(self) -> None:
        self._inner = InMemoryStore()
        self._has_warned = False

    def batch(self, ops: Sequence[Op]) -> list[Result]:
        """Execute all operations."""
        if not self._has_warned and any(isinstance(op, PutOp) for op in ops):
            self._has_warned = True
            log.warning(
                "an agent writes to its store in memory, which is lost when this process ends, like all data at memory://"
            )
        # The inner store returns its own items: a change to a result would change the stored item.
        return [copy_store_items(result) for result in self._inner.batch(ops)]

    def close(self) -> None:
        """Do nothing: the store ends with the process."""


def copy_store_items(result: Result) -> Result:
    """Return a copy of a result with its own items."""
    if isinstance(result, Item):
        return copy.copy(result)
    return [copy.copy(each) for each in result] if isinstance(result, list) else result  # type: ignore[return-value]
