"""What the outside sees of requests, events and threads, as bytes of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC
from typing import Any

from starlette.responses import Response as HttpResponse

from ringi.canonical import jsonable
from ringi.record import Event
from ringi.request import Request
from ringi.thread import Thread

JSON = "application/json"
PRIVATE = {"head", "continuation"}
"""What only this process needs to know of a request."""
THREAD_FIELDS = {"id", "agent", "status", "values", "attention", "created_at", "updated_at"}


def request_json(request: Request) -> bytes:
    """Return the public JSON of a request."""
    return in_utc(request).model_dump_json(exclude=PRIVATE).encode()


def in_utc(request: Request) -> Request:
    """Return the request with the times that its asker gave in UTC."""
    times = {"due_at": request.due_at, "expires_at": request.expires_at}
    foreign = {name: at.astimezone(UTC) for name, at in times.items() if at and at.utcoffset()}
    return request.model_copy(update=foreign) if foreign else request


def event_json(event: Event, request: bytes) -> bytes:
    """Return an event of the feed, with its request as it is now."""
    head = {"type": event.type, "position": event.position, "at": jsonable(event.at), "actor": event.actor}
    return dumped(head)[:-1] + b',"request":' + request + b"}"


def audit_json(event: Event) -> bytes:
    """Return an event of the audit trail."""
    body = event.model_dump(mode="json", exclude={"tenant", "payload"})
    changed = event.payload.get("changed", {})
    public = {name: value for name, value in changed.items() if name not in PRIVATE and name != "tenant"}
    return dumped({"id": event.id, **body, "actor": event.actor, "changed": public})


def thread_json(thread: Thread, pending: Iterable[Request] | None = None) -> bytes:
    """Return the public JSON of a thread; in a list, without its requests."""
    body = thread.model_dump_json(include=THREAD_FIELDS).encode()
    more: dict[str, Any] = {"run_id": thread.run_id, "error": thread.error.message if thread.error else None}
    body = body[:-1] + b"," + dumped(more)[1:]
    if pending is None:
        return body
    return body[:-1] + b',"pending":[' + b",".join(map(request_json, pending)) + b"]}"


def page_json(items: Iterable[bytes], next: str | None) -> bytes:
    """Return one page of a list."""
    return b'{"items":[' + b",".join(items) + b'],"next":' + dumped(next) + b"}"


def dumped(value: Any) -> bytes:
    """Return plain JSON data as bytes."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def reply(content: bytes, status: int = 200) -> HttpResponse:
    """Return a response of JSON that is bytes already."""
    return HttpResponse(content, status, media_type=JSON)
