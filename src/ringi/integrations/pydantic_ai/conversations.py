"""The conversations of Pydantic AI, in the store of the inbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Self

from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)

from ringi.connect import open_backend
from ringi.contracts.backend import Backend
from ringi.domain.record import AGENT, DEFAULT_TENANT, SYSTEM, THREAD
from ringi.domain.thread import conversation_stream
from ringi.integrations.pydantic_ai.conversation_log import ConversationLog, ConversationLogs, conversation_save_items

MAX_NAME = 200
AT_ONCE = 20
WRITER = f"{AGENT}pydantic-ai"
"""The name in the audit trail for conversations whose scope is no person."""


class RingiConversationStore(ConversationStore):
    """Stores conversations beside the requests of one tenant, on SQLite or PostgreSQL.

    Each conversation is a thread without runs, so that an erasure by person or age removes it. The scope counts as the
    person. A fork has its own copy of the messages: deleting a conversation deletes its messages, and leaves its forks.

    Args:
        backend: The open services, such as those of `open_backend`.
        tenant: The tenant of the conversations; other tenants see none of them.
    """

    def __init__(self, backend: Backend, *, tenant: str = DEFAULT_TENANT) -> None:
        # The base class has private methods of its own.
        self._ringi = ConversationLogs(backend, tenant)

    @classmethod
    @asynccontextmanager
    async def open(cls, url: str | None = None, *, tenant: str = DEFAULT_TENANT) -> AsyncIterator[Self]:
        """Open the conversations of a store.

        Args:
            url: `sqlite:///file.db` or `postgresql://…`; by default `RINGI_URL`.
            tenant: The tenant of the conversations.

        Raises:
            SettingError: The URL is invalid.
            MissingExtraError: The store's driver is not installed.
            UnavailableError: The store cannot be reached.
        """
        async with open_backend(url, notify="polling") as backend:
            yield cls(backend, tenant=tenant)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Return the record of a conversation; None if it is not stored."""
        return (await self._ringi.read(self._ringi.key(conversation_id))).record

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """Return the records, newest first, of one scope or of all; this reads the conversations themselves."""
        threads, found = await self._ringi.threads(), list[ConversationRecord]()
        for n in range(0, len(threads), AT_ONCE):
            logs = await asyncio.gather(*(self._ringi.read(thread.key) for thread in threads[n : n + AT_ONCE]))
            records = [log.record for log in logs if log.record]
            found += [record for record in records if scope is None or record.scope == scope]
            if limit is not None and len(found) >= limit:
                break
        return sorted(found, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record with its new entries, all or nothing.

        Raises:
            ConversationConflict: The stored conversation has another revision.
            InvalidError: The conversation would have more than 16 MiB of JSON.
            ConflictError: A run was started in the thread of the conversation (`busy`).
        """
        id, key, source = record.conversation_id, self._ringi.key(record.conversation_id), None
        expect_conversation_revision(await self._ringi.read(key), id, expected_revision)
        if record.forked_from is not None and expected_revision is None:
            source = self._ringi.key(record.forked_from)
        entries = [
            *(forked_conversation_entries(await self._ringi.read(source), record) if source else ()),
            *new_entries,
        ]
        # An erasure of the first conversation finds its forks by this name.
        async with self._ringi.held(
            key, f"{THREAD}{source.id}" if source else conversation_writer_name(record), id
        ) as (log, fence):
            expect_conversation_revision(log, id, expected_revision)
            if record.head_id is not None and record.head_id not in {*log.entries, *(each.id for each in entries)}:
                raise ConversationConflict(id)
            items = conversation_save_items(log, record, entries)
            await self._ringi.stream.append(conversation_stream(key), items, fence=fence)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete a conversation with all its messages, not with those of its forks."""
        key = self._ringi.key(conversation_id)
        record = expect_conversation_revision(await self._ringi.read(key), conversation_id, expected_revision)
        if record is None:
            raise ConversationConflict(conversation_id)
        async with self._ringi.held(key, conversation_writer_name(record), conversation_id) as (log, fence):
            expect_conversation_revision(log, conversation_id, expected_revision)
            await self._ringi.stream.delete(conversation_stream(key), fence=fence)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Return an entry; raise `KeyError` if no conversation has it."""
        return (await self._ringi.log_with(entry_id)).entries[entry_id]

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to `head_id` in order, or only the last `limit` of them."""
        return [] if head_id is None else (await self._ringi.log_with(head_id)).history(head_id, limit)


def expect_conversation_revision(log: ConversationLog, id: str, revision: str | None) -> ConversationRecord | None:
    """Return the record of a conversation; raise `ConversationConflict` if it has another revision."""
    if (log.record.revision if log.record else None) != revision:
        raise ConversationConflict(id)
    return log.record


def forked_conversation_entries(source: ConversationLog, record: ConversationRecord) -> list[ConversationEntry]:
    """Return the entries that a fork copies; raise `ConversationConflict` if they were deleted meanwhile."""
    try:
        return source.history(record.head_id)
    except KeyError:
        raise ConversationConflict(record.conversation_id) from None


def conversation_writer_name(record: ConversationRecord) -> str:
    """Return the name in the audit trail of a conversation: its scope, unless that cannot be a person."""
    scope = record.scope or ""
    is_person = 0 < len(scope) <= MAX_NAME and ":" not in scope and scope != SYSTEM
    return scope if is_person else WRITER
