"""The event `hitl`, which shows a request and its form in a chat stream."""

from __future__ import annotations

from ringi.contracts.stream import StreamItem
from ringi.domain.request import Request
from ringi.runs.stream_writer import REPEATED
from ringi.server.serialize import dump_json, request_json
from ringi.server.sse.run_output import open_interrupts


def newly_asked(item: StreamItem) -> list[str]:
    """Return the ids of requests that this item asks first; empty for most items."""
    interrupts = open_interrupts(item.event)
    return [interrupt["id"] for interrupt in interrupts if REPEATED not in (interrupt.get("metadata") or {})]


def hitl_event(request: Request) -> bytes:
    """Return the event that shows a request to a chat."""
    form = {"type": "form", "fields": request.form.model_dump(mode="json")["fields"]} if request.form else {}
    payload = request_json(request)[:-1] + b"," + dump_json({"type": request.kind, **form})[1:]
    return b'event: hitl\ndata: {"type":"hitl","payload":{"request":' + payload + b"}}\n\n"
