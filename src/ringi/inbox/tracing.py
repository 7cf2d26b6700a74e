"""OpenTelemetry spans for human waiting times, if OpenTelemetry is configured.

A request and a run store the trace in which they began, as a `traceparent`. So processes that never communicate write
to the agent's own trace. Spans contain ids and states, but no names and no texts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ringi.domain.record import unix_microseconds
from ringi.domain.request import Request
from ringi.domain.thread import ModelCalls, Run, Thread

HEADER, RAW_HEADER = "traceparent", b"traceparent"
W3C = TraceContextTextMapPropagator()
IS_IN_ENVIRONMENT = OTEL_PYTHON_TRACER_PROVIDER in os.environ


@dataclass(frozen=True)
class StartedSpan:
    """The span of a request or a run that is about to be stored; it is the parent of later spans."""

    traceparent: str | None = None
    _span: Span | None = None

    def end(self, stored: Request | Thread, at: datetime) -> None:
        """Record that a request was asked or a run was started; what is not stored leaves no span."""
        if self._span:
            self._span.set_attributes(_attributes(stored))
            self._span.end(_nanoseconds(at))


@dataclass(frozen=True)
class ModelCall:
    """A call of a model by a run, for its span."""

    thread_id: str
    began: int
    """The start in nanoseconds since 1970."""
    provider: str | None = None
    requested: str | None = None
    """The name of the requested model."""
    reported: str | None = None
    """The name of the model in its response."""


def start_span(what: str, at: datetime) -> StartedSpan:
    """Return the start of a request or a run, in the caller's trace, or in a new one if there is none."""
    if not is_enabled():
        return StartedSpan()
    span = _tracer().start_span(f"ringi.{what}", start_time=_nanoseconds(at))
    carrier = dict[str, str]()
    W3C.inject(carrier, trace.set_span_in_context(span))
    return StartedSpan(carrier.get(HEADER), span)


@contextmanager
def within(traceparent: str | None) -> Iterator[None]:
    """Make the spans of a block part of a trace, unless a span is active already."""
    if not traceparent or not is_enabled() or trace.get_current_span().get_span_context().is_valid:
        yield
        return
    token = context.attach(_context(traceparent))
    try:
        yield
    finally:
        context.detach(token)


@contextmanager
def running(thread: Thread, run: Run) -> Iterator[None]:
    """Record one stretch of a run; the agent's own spans are its children."""
    if not is_enabled():
        yield
        return
    with _tracer().start_as_current_span("ringi.run", _context(run.traceparent), attributes=_attributes(thread)):
        yield


def record_model_call(call: ModelCall, usage: ModelCalls, error: BaseException | None) -> None:
    """Record a call of a model in the current trace, in the terms of OpenTelemetry's conventions for generative AI.

    Args:
        call: The names and the start of the call.
        usage: The tokens and the duration of this call; unknown tokens are no attributes.
        error: The reason if the call failed.
    """
    if not is_enabled():
        return
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.provider,
        "gen_ai.request.model": call.requested,
        "gen_ai.response.model": call.reported,
        "gen_ai.conversation.id": call.thread_id,
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "error.type": type(error).__qualname__ if error else None,
    }
    known = {name: value for name, value in attributes.items() if value is not None}
    name = f"chat {call.requested or usage.model}"
    span = _tracer().start_span(name, kind=SpanKind.CLIENT, attributes=known, start_time=call.began)
    if error:
        span.set_status(Status(StatusCode.ERROR))
    span.end(call.began + round(usage.seconds * 1e9))


def outgoing() -> dict[str, str]:
    """Return the headers that propagate the current trace to a server."""
    carrier = dict[str, str]()
    if is_enabled():
        W3C.inject(carrier)
    return carrier


def incoming(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the trace of an incoming call."""
    found = next((value.decode("latin-1") for name, value in headers if name == RAW_HEADER), None)
    return found if found and is_enabled() else None


def record_seen(request: Request) -> None:
    """Record that a person opened a request."""
    if is_enabled():
        _write("seen", request)


def record_change(before: Request, after: Request) -> None:
    """Record an operation of a person or a run on a request."""
    if not is_enabled():
        return
    if before.status != after.status:
        _write("answered" if after.response else after.status, after, after.created_at, after.ended_at)
    elif after.continuation and after.acknowledged_at and not before.acknowledged_at:
        _write("resumed", after, after.ended_at, after.acknowledged_at)
    elif after.claimed_by and after.claimed_by != before.claimed_by:
        _write("claimed", after)


def is_enabled() -> bool:
    """Return whether OpenTelemetry is configured."""
    # `get_tracer_provider` would look into the environment each time, which takes as long as parsing an answer.
    return trace._TRACER_PROVIDER is not None or IS_IN_ENVIRONMENT


def _write(what: str, request: Request, began: datetime | None = None, ended: datetime | None = None) -> None:
    parent, attributes = _context(request.traceparent), _attributes(request)
    span = _tracer().start_span(f"ringi.{what}", parent, attributes=attributes, start_time=_nanoseconds(began))
    span.end(_nanoseconds(ended))


def _context(traceparent: str | None) -> Context:
    # A request from before tracing was configured has no trace: each of its spans becomes the root of a new trace.
    return W3C.extract({HEADER: traceparent}, Context()) if traceparent else Context()


def _tracer() -> trace.Tracer:
    return trace.get_tracer("ringi")


def _attributes(record: Request | Thread) -> dict[str, str]:
    if isinstance(record, Thread):
        own = {"thread": record.id, "agent": record.agent, "run": record.run_id}
    else:
        decision = record.response.decision if record.response else None
        own = {"request": record.id, "kind": record.kind, "status": record.status, "thread": record.thread_id}
        own["decision"] = decision
    return {f"ringi.{name}": value for name, value in {"tenant": record.tenant, **own}.items() if value is not None}


def _nanoseconds(at: datetime | None) -> int | None:
    return unix_microseconds(at) * 1000 if at else None
