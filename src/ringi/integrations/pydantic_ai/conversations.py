"""The conversations of Pydantic AI, in the store of the inbox: each save adds its new messages to a stream."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, Self

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter

from ringi.base.bounded import Bounded
from ringi.connect import open_backend
from ringi.contracts.backend import Backend, Stream, StreamItem, read_whole_stream
from ringi.contracts.store import change_record
from ringi.domain.record import AGENT, DEFAULT_TENANT, SYSTEM, THREAD, Event, Key, Query, UnreadableError
from ringi.domain.thread import FenceError, Thread, conversation_stream
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.runs.reconciler import record_pages

CHUNK = 192 * 1024
"""Characters of one stream item."""
MAX_CONVERSATION = 16 * 1024 * 1024
"""Maximum characters of all saves of a conversation."""
PAGE = 8
CONVERSATION = "pydantic-ai-conversation"
"""The name of the agent of the threads with conversations; they have no runs."""
MAX_PLACES = 10_000
THREADS = 100
MAX_NAME = 200
AT_ONCE = 20
WRITER = f"{AGENT}pydantic-ai"
"""The name in the audit trail for conversations whose scope is no person."""
RECORDS: TypeAdapter[ConversationRecord] = TypeAdapter(ConversationRecord)


class ConversationLog(NamedTuple):
    """A stored conversation."""

    record: ConversationRecord | None = None
    """The record of the newest save; None if the conversation is not stored."""
    entries: dict[str, ConversationEntry] = {}
    """All messages by the id of their entry."""
    size: int = 0
    """The characters of all saves."""

    def history(self, head_id: str | None, limit: int | None = None) -> list[ConversationEntry]:
        """Return the entries up to `head_id` in order, or only the last `limit` of them.

        Raises:
            KeyError: An entry does not exist.
        """
        found: list[ConversationEntry] = []
        while head_id is not None and (limit is None or len(found) < limit):
            found.append(self.entries[head_id])
            head_id = found[-1].parent_id
        return found[::-1]


async def _items(stream: Stream, key: Key) -> list[StreamItem] | None:
    """Return all items; None if the conversation was deleted meanwhile and must be read again."""
    items = await read_whole_stream(stream, key, PAGE)
    is_gapless = not items or items[-1].number - items[0].number + 1 == len(items)
    # The parts of one save are appended at once.
    is_whole = not items or items[-1].event["part"] == items[-1].event["parts"]
    return items if is_gapless and is_whole else None


def _log_of(items: Sequence[dict[str, Any]]) -> ConversationLog:
    record, entries, size, text = None, dict[str, ConversationEntry](), 0, ""
    for item in items:
        text, size = text + item["text"], size + len(item["text"])
        if item["part"] == item["parts"]:
            save, text = json.loads(text), ""
            record = RECORDS.validate_python(save["record"])
            messages = ModelMessagesTypeAdapter.validate_python([entry.pop("message") for entry in save["entries"]])
            each = zip(save["entries"], messages, strict=True)
            entries |= {entry["id"]: ConversationEntry(**entry, message=message) for entry, message in each}
    return ConversationLog(record, entries, size)


def conversation_save_items(
    log: ConversationLog, record: ConversationRecord, entries: Sequence[ConversationEntry]
) -> list[StreamItem]:
    """Return the items of the next save.

    Raises:
        InvalidError: The conversation would become too large.
    """
    # The adapter of the framework keeps bytes in messages.
    messages = ModelMessagesTypeAdapter.dump_python([entry.message for entry in entries], mode="json")
    each = zip(entries, messages, strict=True)
    save: dict[str, Any] = {
        "record": RECORDS.dump_python(record, mode="json"),
        "entries": [{"id": entry.id, "parent_id": entry.parent_id, "message": message} for entry, message in each],
    }
    text = json.dumps(save)
    if log.size + len(text) > MAX_CONVERSATION:
        why = f"would have {log.size + len(text)} characters, and the maximum is {MAX_CONVERSATION}"
        raise InvalidError.of("conversation", f"{why}: begin another conversation", "too_large")
    parts = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
    return [StreamItem({"part": n, "parts": len(parts), "text": part}) for n, part in enumerate(parts, 1)]


class ConversationLogs:
    """The conversations of one tenant.

    Args:
        backend: The open services.
        tenant: The tenant.
    """

    def __init__(self, backend: Backend, tenant: str) -> None:
        self._store, self.stream, self._clock, self._tenant = backend.store, backend.stream, backend.clock, tenant
        self._places = Bounded[str | None, Key](MAX_PLACES)

    def key(self, conversation_id: str) -> Key:
        """Return the key of the thread of a conversation."""
        # A hash, because ids of records remain after an erasure, and applications choose those of conversations.
        digest = hashlib.sha256(conversation_id.encode("utf-8", "surrogatepass")).hexdigest()
        return Key(self._tenant, f"conversation-{digest[:32]}")

    async def read(self, key: Key) -> ConversationLog:
        """Return a conversation as it was at one moment.

        Raises:
            UnreadableError: A newer version wrote the conversation, or it was damaged.
        """
        stream = conversation_stream(key)
        try:
            while (items := await _items(self.stream, stream)) is None:
                pass
            log = _log_of([item.event for item in items])
        except (ValueError, KeyError, TypeError):
            # Without the cause, which would quote messages in tracebacks.
            raise UnreadableError("conversation", stream.id, "its messages do not fit this version") from None
        if log.record:
            self._places.update(dict.fromkeys((log.record.head_id, *log.record.branches), key))
        return log

    async def log_with(self, entry_id: str) -> ConversationLog:
        """Return the conversation with an entry; raise `KeyError` if there is none.

        The framework names an entry without its conversation, usually right after it has read the record.
        """
        if key := self._places.get(entry_id):
            log = await self.read(key)
            if entry_id in log.entries:
                return log
        for thread in await self.threads():
            log = await self.read(thread.key)
            if entry_id in log.entries:
                return log
        raise KeyError(entry_id)

    async def threads(self) -> list[Thread]:
        """Return the threads with conversations, those saved last first."""
        pages = record_pages(self._store, Thread, Query(tenant=self._tenant, limit=THREADS))
        found = [
            thread async for page in pages for thread in page if thread.agent == CONVERSATION and not thread.erased
        ]
        return sorted(found, key=lambda thread: thread.updated_at, reverse=True)

    @asynccontextmanager
    async def held(self, key: Key, by: str, conversation_id: str) -> AsyncIterator[tuple[ConversationLog, int]]:
        """Hold a conversation for one change, with a fence that no earlier writer can pass.

        Raises:
            ConversationConflict: A later writer or an erasure was faster, or too many write at once.
            ConflictError: A run was started in the thread of the conversation (`busy`).
        """
        try:
            fence = await self._reserve(key, by)
            await self.stream.append(conversation_stream(key), (), fence=fence)
            yield await self.read(key), fence
        except (FenceError, ConflictError) as error:
            if error.code == "busy":
                raise
            raise ConversationConflict(conversation_id) from None

    async def _reserve(self, key: Key, by: str) -> int:
        """Return a fence that is higher than those of all earlier writers."""

        def reserved(thread: Thread) -> tuple[Thread, Event]:
            if thread.is_live:
                raise ConflictError.busy(thread.id, thread.status)
            return thread.reserved(by, self._clock())

        while True:
            with suppress(NotFoundError):
                return (await change_record(self._store, Thread, key, reserved))[1].fence
            thread, event = Thread.without_run(key.id, CONVERSATION, by=by, now=self._clock(), tenant=key.tenant)
            with suppress(ConflictError):
                await self._store.put(thread, event)
                return thread.fence


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
