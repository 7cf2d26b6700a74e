"""The logs of all conversations of one tenant, each beside a thread without runs."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from pydantic_ai.conversation_store import ConversationConflict

from ringi.contracts.backend import Backend
from ringi.contracts.store import change_record
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Event, Key, Query, cursor_of
from ringi.domain.thread import Thread, conversation_stream
from ringi.errors import ConflictError, FenceError, NotFoundError, ThreadBusyError
from ringi.integrations.pydantic_ai.conversation_log import ConversationLog, read_log

CONVERSATION = "pydantic-ai-conversation"
"""The name of the agent of the threads with conversations; they have no runs."""
MAX_PLACES = 10_000
PAGE = 100


class HeldLog(NamedTuple):
    """A conversation to which no earlier writer can add anything."""

    log: ConversationLog
    stream: Stream
    key: Key
    """The key of the stream."""
    fence: int

    async def append(self, items: Sequence[StreamItem]) -> None:
        """Add the items of one save, all or nothing."""
        await self.stream.append(self.key, items, fence=self.fence)

    async def delete(self) -> None:
        """Delete all saves."""
        await self.stream.delete(self.key, fence=self.fence)


class ConversationLogs:
    """The conversations of one tenant.

    Args:
        backend: The open services.
        tenant: The tenant.
    """

    def __init__(self, backend: Backend, tenant: str) -> None:
        self._store, self._stream, self._clock, self._tenant = backend.store, backend.stream, backend.clock, tenant
        self._places: dict[str, str] = {}

    def key(self, conversation_id: str) -> Key:
        """Return the key of the thread of a conversation."""
        # A hash, because ids of records remain after an erasure, and applications choose those of conversations.
        digest = hashlib.sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()
        return Key(self._tenant, f"conversation-{digest[:32]}")

    async def read(self, key: Key) -> ConversationLog:
        """Return a conversation; raise `UnreadableError` if it is damaged."""
        log = await read_log(self._stream, conversation_stream(key))
        if log.record:
            if len(self._places) > MAX_PLACES:
                self._places.clear()
            heads = [log.record.head_id, *log.record.branches]
            self._places |= {head: key.id for head in heads if head is not None}
        return log

    async def log_with(self, entry_id: str) -> ConversationLog:
        """Return the conversation with an entry; raise `KeyError` if there is none.

        The framework names an entry without its conversation, usually right after it has read the record.
        """
        if id := self._places.get(entry_id):
            log = await self.read(Key(self._tenant, id))
            if entry_id in log.entries:
                return log
        for thread in await self.threads():
            log = await self.read(thread.key)
            if entry_id in log.entries:
                return log
        raise KeyError(entry_id)

    async def threads(self) -> list[Thread]:
        """Return the threads with conversations, those saved last first."""
        query, found = Query(tenant=self._tenant, limit=PAGE), list[Thread]()
        while page := await self._store.find(Thread, query):
            found += [thread for thread in page if thread.agent == CONVERSATION and not thread.erased]
            query = query.model_copy(update={"before": cursor_of(page[-1])})
        return sorted(found, key=lambda thread: thread.updated_at, reverse=True)

    @asynccontextmanager
    async def held(self, key: Key, by: str, conversation_id: str) -> AsyncIterator[HeldLog]:
        """Hold a conversation for one change.

        Raises:
            ConversationConflict: A later writer or an erasure was faster.
            ThreadBusyError: A run was started in the thread of the conversation.
        """
        stream, fence = conversation_stream(key), await self._reserve(key, by)
        try:
            await self._stream.append(stream, (), fence=fence)
            yield HeldLog(await self.read(key), self._stream, stream, fence)
        except FenceError:
            raise ConversationConflict(conversation_id) from None

    async def _reserve(self, key: Key, by: str) -> int:
        """Return a fence that is higher than those of all earlier writers."""

        def reserved(thread: Thread) -> tuple[Thread, Event]:
            if thread.is_live:
                raise ThreadBusyError(thread.id, thread.status)
            return thread.reserved(by, self._clock())

        with suppress(NotFoundError):
            return (await change_record(self._store, Thread, key, reserved))[1].fence
        thread, event = Thread.without_run(key.id, CONVERSATION, by=by, now=self._clock(), tenant=key.tenant)
        try:
            await self._store.put(thread, event)
        except ConflictError:
            return (await change_record(self._store, Thread, key, reserved))[1].fence
        return thread.fence
