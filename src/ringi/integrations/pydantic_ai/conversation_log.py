"""The logs of conversations: each save adds its record and its new messages to a stream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple

from pydantic import TypeAdapter, with_config
from pydantic_ai.conversation_store import ConversationConflict, ConversationEntry, ConversationRecord
from typing_extensions import TypedDict

from ringi.base.bounded import Bounded
from ringi.contracts.backend import Backend, Stream, StreamItem
from ringi.contracts.store import change_record
from ringi.domain.record import Event, Key, Query, UnreadableError
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


@with_config(ser_json_bytes="base64", val_json_bytes="base64")
class ConversationSave(TypedDict):
    """What one save adds to a conversation."""

    record: ConversationRecord
    entries: list[ConversationEntry]


SAVES = TypeAdapter(ConversationSave)


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
    items: list[StreamItem] = []
    while page := await stream.read(key, items[-1].number if items else 0, PAGE):
        items += page
    is_gapless = not items or items[-1].number - items[0].number + 1 == len(items)
    # The parts of one save are appended at once.
    is_whole = not items or items[-1].event["part"] == items[-1].event["parts"]
    return items if is_gapless and is_whole else None


def _log_of(items: Sequence[dict[str, Any]]) -> ConversationLog:
    record, entries, size, text = None, dict[str, ConversationEntry](), 0, ""
    for item in items:
        text, size = text + item["text"], size + len(item["text"])
        if item["part"] == item["parts"]:
            save, text = SAVES.validate_python(json.loads(text)), ""
            record = save["record"]
            entries |= {entry.id: entry for entry in save["entries"]}
    return ConversationLog(record, entries, size)


def conversation_save_items(
    log: ConversationLog, record: ConversationRecord, entries: Sequence[ConversationEntry]
) -> list[StreamItem]:
    """Return the items of the next save.

    Raises:
        InvalidError: The conversation would become too large.
    """
    text = json.dumps(SAVES.dump_python({"record": record, "entries": [*entries]}, mode="json"))
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
            ConversationConflict: A later writer or an erasure was faster.
            ConflictError: A run was started in the thread of the conversation (`busy`).
        """
        stream, fence = conversation_stream(key), await self._reserve(key, by)
        try:
            await self.stream.append(stream, (), fence=fence)
            yield await self.read(key), fence
        except FenceError:
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
