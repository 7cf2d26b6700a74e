"""Spans over the time that a person takes, for those who have set up OpenTelemetry.

All spans of a request are in one trace whose id comes from the request's key, so processes that
never speak with each other write one trace. They hold ids and states, no names and no texts.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, ProxyTracerProvider, SpanContext, TraceFlags

from ringi.record import Key, microseconds
from ringi.request import Request


def trace_of(key: Key) -> SpanContext:
    """Return the trace of a request."""
    digest = hashlib.sha256(f"{key.tenant}/{key.id}".encode()).digest()
    trace_id, span_id = int.from_bytes(digest[:16]), int.from_bytes(digest[16:24])
    return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def asked(request: Request) -> None:
    """Write that a request was asked: in the trace of who asked, with a link to the request's own."""
    if is_on():
        links, at = [Link(trace_of(request.key))], _nanoseconds(request.created_at)
        span = _tracer().start_span("ringi.asked", attributes=_attributes(request), links=links, start_time=at)
        span.end(at)


def seen(request: Request) -> None:
    """Write that a person has opened a request."""
    if is_on():
        _write("seen", request)


def changed(before: Request, after: Request) -> None:
    """Write what a person or a run has done with a request."""
    if not is_on():
        return
    if before.status != after.status:
        _write("answered" if after.response else after.status, after, after.created_at, after.ended_at)
    elif after.acknowledged_at and not before.acknowledged_at:
        _write("resumed", after, after.ended_at, after.acknowledged_at)
    elif after.claimed_by and after.claimed_by != before.claimed_by:
        _write("claimed", after)


def is_on() -> bool:
    """Whether anybody has set up OpenTelemetry."""
    return not isinstance(trace.get_tracer_provider(), ProxyTracerProvider)


def _write(what: str, request: Request, began: datetime | None = None, ended: datetime | None = None) -> None:
    parent = trace.set_span_in_context(NonRecordingSpan(trace_of(request.key)), Context())
    span = _tracer().start_span(
        f"ringi.{what}", parent, attributes=_attributes(request), start_time=_nanoseconds(began)
    )
    span.end(_nanoseconds(ended))


def _tracer() -> trace.Tracer:
    return trace.get_tracer("ringi")


def _attributes(request: Request) -> dict[str, str]:
    known = {
        "tenant": request.tenant,
        "request": request.id,
        "kind": request.kind,
        "status": request.status,
        "thread": request.thread_id,
        "decision": request.response.decision if request.response else None,
    }
    return {f"ringi.{name}": value for name, value in known.items() if value is not None}


def _nanoseconds(at: datetime | None) -> int | None:
    return microseconds(at) * 1000 if at else None
