"""The models of the API from domain objects, and their JSON as bytes; the command line uses them without a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError

from ringi.base.canonical_json import COMPACT, jsonable
from ringi.domain import memories, thread
from ringi.domain.absence import Absence, Away
from ringi.domain.checks import CheckReport, PlantedChecks
from ringi.domain.events import TenantEventName
from ringi.domain.grants import GrantPage, GrantView
from ringi.domain.pauses import Pause, PausePage
from ringi.domain.record import Event, Page
from ringi.domain.request import Request
from ringi.domain.request_data import PRIVATE
from ringi.domain.suggestions import Suggestion, SuggestionPage
from ringi.domain.thread import ModelCalls
from ringi.domain.urgency import UrgentQuery
from ringi.forms.field_parts import AttachedFile
from ringi.privacy.candidates import Erasure
from ringi.server import schemas
from ringi.server.prices import Prices
from ringi.server.schemas import AuditEvent

PUBLIC = Request.public()
SIGN_INS = ("subject", "for_subject")
HIDDEN = {"held": ("data", "args", "message", "grant", *SIGN_INS), "run": SIGN_INS, "votes": SIGN_INS}
"""The parts of fields that readers do not see: nobody reads a held answer before it is final; the event of its release
has its words."""
M = TypeVar("M", bound=BaseModel)


def to_api_model(model: type[M], source: object, **more: Any) -> M:
    """Return a model of the API with the attributes of an object.

    Args:
        model: The model.
        source: The object; a field of the model is its attribute of the same name.
        **more: Fields that differ from the attributes.
    """
    names = model.model_fields.keys() - more
    # Not validated: it comes from a validated object, or from a stored one of a newer version.
    return model.model_construct(**{name: getattr(source, name) for name in names}, **more)


def public_request(request: Request) -> BaseModel:
    """Return the public part of a request."""
    return to_api_model(schemas.PublicRequest, request.for_readers())


def thread_summary(thread: thread.Thread) -> schemas.ThreadSummary:
    """Return a thread in a list."""
    return to_api_model(schemas.ThreadSummary, thread, **_failure(thread))


def thread_view(
    thread: thread.Thread, pending: Iterable[Request] = (), prices: Prices | None = None
) -> schemas.ThreadView:
    """Return a thread with its pending requests and the use of models by its newest run."""
    more = {
        "pending": list(map(public_request, pending)),
        "usage": [usage_view(usage, prices) for usage in thread.usage or ()],
        "traceback": thread.error.traceback if thread.error else None,
    }
    return to_api_model(schemas.ThreadView, thread, **_failure(thread), **more)


def usage_view(usage: ModelCalls, prices: Prices | None) -> schemas.PricedCalls:
    """Return the use of a model, with its cost if the model has a price."""
    price = prices.models.get(usage.model) if prices else None
    cost = price.cost(usage) if price else None
    currency = prices.currency if prices and cost is not None else None
    return to_api_model(schemas.PricedCalls, usage, cost=cost, currency=currency)


def _failure(thread: thread.Thread) -> dict[str, Any]:
    error = thread.error
    can_ask_again = bool(error and error.answers and thread.status == "error")
    return {"error": error.message if error else None, "can_ask_again": can_ask_again}


def audit_event(event: Event) -> AuditEvent:
    """Return an event of the audit trail."""
    names = event.changed.keys() - PRIVATE - {"tenant"}
    changed = {name: event_value_for_readers(name, value) for name, value in event.changed.items() if name in names}
    return to_api_model(AuditEvent, event, changed=changed)


def event_value_for_readers(name: str, value: Any) -> Any:
    """Return the new value of a field in an event, as `Request.for_readers` shows the field."""
    if name in HIDDEN and isinstance(value, list):
        return [event_value_for_readers(name, each) for each in value]
    if name in HIDDEN and isinstance(value, dict):
        return {key: each for key, each in value.items() if key not in HIDDEN[name]}
    return value


def memory_view(memory: memories.Memory) -> BaseModel:
    """Return a memory."""
    return to_api_model(schemas.MemoryView, memory)


def request_json(request: Request) -> bytes:
    """Return the public JSON of a request.

    Args:
        request: The request.
    """
    return api_model_json(request.for_readers(), include=PUBLIC)


class PublicForm(NamedTuple):
    """How a result of a verb leaves the server."""

    model: str
    """The name of its model in the API."""
    write: Callable[[Any], bytes]


def _form(model: type[BaseModel], made: Callable[[Any], BaseModel] = lambda result: result) -> PublicForm:
    return PublicForm(model.__name__, lambda result: api_model_json(made(result)))


def _page(model: type[BaseModel], item: Callable[[Any], Any] = lambda item: item) -> PublicForm:
    return _form(model, lambda page: model(items=list(map(item, page)), next=page.next))


PUBLIC_FORMS: dict[Any, PublicForm] = {
    Request: PublicForm("Request", request_json),
    Page[Request]: PublicForm("RequestPage", lambda page: request_page_json(map(request_json, page), page.next)),
    list[Event]: _form(schemas.AuditPage),
    Page[GrantView]: _page(GrantPage),
    Page[Suggestion]: _page(SuggestionPage),
    Pause: _form(Pause),
    Page[Pause]: _page(PausePage),
    Away: _form(Away),
    Page[Absence]: _page(schemas.AbsencePage),
    list[str]: _form(PlantedChecks, lambda ids: PlantedChecks(ids=ids)),
    CheckReport: _form(CheckReport),
    memories.Memory: _form(schemas.MemoryView, memory_view),
    Page[memories.Memory]: _page(schemas.MemoryPage, memory_view),
    Erasure: _form(Erasure),
    AttachedFile: _form(schemas.AttachedFile, lambda file: schemas.AttachedFile(**file)),
}
"""The public form of each result: the server does not start with a verb whose result has none."""


def feed_event_json(event: Event, request: bytes) -> bytes:
    """Return an event of the feed, with the current version of its request."""
    # All readers share the bytes of the request.
    return _event_json(event, exclude={"request", "gone"})[:-1] + b',"request":' + request + b"}"


def hidden_request_event_json(event: Event) -> bytes:
    """Return an event after which the reader may not read its request: it only states that the request is gone."""
    return _event_json(event, exclude={"request"}, gone=event.record_id)


def tenant_event_json(event: Event, type: TenantEventName) -> bytes:
    """Return an event of the feed that concerns no request."""
    return _event_json(event, exclude={"request", "gone"}, type=type)


def _event_json(event: Event, *, exclude: set[str], gone: str | None = None, **more: Any) -> bytes:
    return api_model_json(to_api_model(schemas.FeedEvent, event, request=None, gone=gone, **more), exclude=exclude)


def request_page_json(items: Iterable[bytes], next: str | None) -> bytes:
    """Return a `RequestPage` of encoded requests, in half the time that a model takes."""
    return b'{"items":[' + b",".join(items) + b'],"next":' + plain_json_bytes(next) + b"}"


def urgent_page_json(items: Iterable[bytes], next: str | None, urgent: UrgentQuery) -> bytes:
    """Return a `RequestPage` in the order `urgent`, with the times that part it."""
    times = jsonable({"now": urgent.now, "due_soon_until": urgent.due_soon_until})
    return request_page_json(items, next)[:-1] + b"," + plain_json_bytes(times)[1:]


def plain_json_bytes(value: object) -> bytes:
    """Return plain JSON data as UTF-8.

    Args:
        value: The data.
    """
    try:
        return COMPACT.encode(value).encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()


def api_model_json(model: BaseModel, **options: Any) -> bytes:
    """Return a model as JSON.

    Args:
        model: The model.
        **options: Options of `model_dump_json`.
    """
    try:
        return model.model_dump_json(**options).encode()
    except PydanticSerializationError:
        # A stored lone surrogate would fail every list that contains it.
        return plain_json_bytes(model.model_dump(mode="json", **options))
