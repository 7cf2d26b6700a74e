"""The log of one conversation: each save adds its record and its new messages to a stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord
from pydantic_ai.messages import ModelMessagesTypeAdapter

from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.errors import InvalidError, UnreadableError

CHUNK = 192 * 1024
"""Characters of one stream item."""
MAX_CONVERSATION = 16 * 1024 * 1024
"""Maximum characters of all saves of a conversation."""
PAGE = 8
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


async def read_log(stream: Stream, key: Key) -> ConversationLog:
    """Return a conversation as it was at one moment.

    Raises:
        UnreadableError: A newer version wrote the conversation, or it was damaged.
    """
    try:
        while (items := await _items(stream, key)) is None:
            pass
        return _log_of([item.event for item in items])
    except (ValueError, KeyError, TypeError):
        # Without the cause, which would quote messages in tracebacks.
        raise UnreadableError("conversation", key.id, "its messages do not fit this version") from None


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
            save, text = json.loads(text), ""
            record = RECORDS.validate_python(save["record"])
            messages = ModelMessagesTypeAdapter.validate_python([entry.pop("message") for entry in save["entries"]])
            each = zip(save["entries"], messages, strict=True)
            entries |= {entry["id"]: ConversationEntry(**entry, message=message) for entry, message in each}
    return ConversationLog(record, entries, size)


def items_of(
    log: ConversationLog, record: ConversationRecord, entries: Sequence[ConversationEntry]
) -> list[StreamItem]:
    """Return the items of the next save.

    Raises:
        InvalidError: The conversation would become too large.
    """
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
