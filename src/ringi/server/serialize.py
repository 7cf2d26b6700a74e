"""Public JSON of requests, events and threads, as bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import PydanticSerializationError

from ringi.base.canonical_json import jsonable
from ringi.delivery.attempts import Delivery
from ringi.domain.memories import Memory
from ringi.domain.record import Event, Record
from ringi.domain.request import PRIVATE, Request
from ringi.domain.thread import Thread
from ringi.runs.operations import Trouble

PUBLIC = Request.public()
THREAD_FIELDS = {
    "id", "agent", "title", "status", "values", "attention", "reason", "started_by", "created_at", "updated_at",
    "erased",
}  # fmt: skip


def request_json(request: Request) -> bytes:
    """Return the public JSON of a request.

    Args:
        request: The request.
    """
    return _dump(request, include=PUBLIC)


def event_json(event: Event, request: bytes) -> bytes:
    """Return an event of the feed, with the current version of its request."""
    return dump_json(_head(event))[:-1] + b',"request":' + request + b"}"


def gone_json(event: Event) -> bytes:
    """Return an event after which the reader may not read its request: it only states that the request is gone."""
    return dump_json({**_head(event), "gone": event.record_id})


def _head(event: Event) -> dict[str, Any]:
    return {"type": event.type, "position": event.position, "at": jsonable(event.at), "actor": event.actor}


def audit_json(event: Event) -> bytes:
    """Return an event of the audit trail."""
    body = event.model_dump(mode="json", exclude={"tenant", "payload"})
    changed = event.changed
    public = {name: value for name, value in changed.items() if name not in PRIVATE and name != "tenant"}
    return dump_json({"id": event.id, **body, "actor": event.actor, "changed": public})


def thread_json(thread: Thread, pending: Iterable[Request] | None = None, *, for_operator: bool = False) -> bytes:
    """Return the public JSON of a thread: in a list without its requests, for an operator with its traceback."""
    body, error = _dump(thread, include=THREAD_FIELDS), thread.error
    more: dict[str, Any] = {"run_id": thread.run_id, "error": error.message if error else None}
    more["can_ask_again"] = bool(error and error.answers and thread.status == "error")
    if for_operator:
        more["traceback"] = error.traceback if error else None
    body = body[:-1] + b"," + dump_json(more)[1:]
    if pending is None:
        return body
    return body[:-1] + b',"pending":[' + b",".join(map(request_json, pending)) + b"]}"


def memory_json(memory: Memory) -> bytes:
    """Return the public JSON of a memory."""
    return _dump(memory, exclude={"person"})


def trouble_json(trouble: Trouble) -> bytes:
    """Return the public JSON of a run that needs an operator."""
    return _dump(trouble)


def delivery_json(delivery: Delivery) -> bytes:
    """Return the public JSON of a delivery and its attempts."""
    return _dump(delivery)


def page_json(items: Iterable[bytes], next: str | None) -> bytes:
    """Return one page of a list.

    Args:
        items: The encoded items.
        next: The cursor of the following page; None on the last page.
    """
    return b'{"items":[' + b",".join(items) + b'],"next":' + dump_json(next) + b"}"


def counts_json(numbers: Mapping[str, int], limit: int) -> bytes:
    """Return the counts; a count above the maximum is reported as more."""
    return dump_json({name: {"count": min(number, limit), "more": number > limit} for name, number in numbers.items()})


def dump_json(value: Any) -> bytes:
    """Return plain JSON data as UTF-8.

    Args:
        value: The data.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def _dump(record: Record | Memory | Trouble | Delivery, **fields: Any) -> bytes:
    try:
        return record.model_dump_json(**fields).encode()
    except PydanticSerializationError:
        # A stored lone surrogate would fail every list that contains it.
        return dump_json(record.model_dump(mode="json", **fields))
