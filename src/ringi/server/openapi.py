"""The OpenAPI description; replies are pre-encoded bytes, so their models are declared here."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import getdoc
from types import NoneType
from typing import Any, get_args

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from ringi.base.validation import ID_PATTERN
from ringi.inbox.operations import TABLE, Callers, Operation
from ringi.server import schemas
from ringi.server.calls import StrictRoute
from ringi.server.extension import Extension
from ringi.server.serialize import PUBLIC_FORMS
from ringi.server.sse.chat_parts import NEWEST, Sdk

REF = "#/components/schemas/{model}"
OPEN = frozenset({
    "/healthz", "/readyz", "/metrics", "/v1/session/ways", "/v1/session/oidc", "/v1/session/oidc/callback",
    ("/v1/session", "session_sign_in"), ("/v1/session", "session_sign_out"),
})  # fmt: skip
"""Calls that need no token."""
FOR: dict[Callers, str] = {
    "anybody": "",
    "people": "Only people may.",
    "readers": "Agents may not.",
    "auditors": "Only auditors and administrators may.",
    "admins": "Only administrators may.",
}
"""Who may call, as the description of a verb says it."""


def route_docs(
    model: str | None, status: int = 200, *others: int, body: str | None = None, file: str | None = None
) -> dict[str, Any]:
    """Return the OpenAPI metadata of a route, as keyword arguments of `add_api_route`.

    Args:
        model: The name of the reply model; None if the reply has no body.
        status: The HTTP status of success.
        *others: Further statuses of success.
        body: The name of the body model; None if the call has no body.
        file: The media type in which the reply comes too, such as `text/csv`.
    """
    types: dict[str, Any] = {"application/json": {"schema": schema_reference(model)}} if model else {}
    if file:
        types[file] = {"schema": {"type": "string"}}
    content = {"content": types} if types else {}
    replies: dict[int | str, dict[str, Any]] = {code: {"description": "Done", **content} for code in (status, *others)}
    metadata: dict[str, Any] = {"status_code": status, "responses": {**replies, "default": REFUSED}}
    return metadata | ({"openapi_extra": body_docs(body)} if body else {})


def body_docs(model: str) -> dict[str, Any]:
    """Return the description of a JSON body, as a part of that of an operation."""
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema_reference(model)}}}}


def schema_reference(model: str) -> dict[str, str]:
    """Return a reference to a model of the OpenAPI description.

    Args:
        model: The name of the model.
    """
    return {"$ref": REF.format(model=model)}


REFUSED = {"description": "Refused", "content": {"application/problem+json": {"schema": schema_reference("Problem")}}}
"""The description of a response with an error."""


def openapi_document(api: FastAPI, extensions: Sequence[Extension] = ()) -> dict[str, Any]:
    """Return the complete description."""
    inputs = [*schemas.INPUTS, *(model for each in extensions for model in each.inputs)]
    outputs = [*schemas.OUTPUTS, *(model for each in extensions for model in each.outputs)]
    document = get_openapi(title="Ringi", version=api.version, routes=api.routes, description=api.description)
    modes: Any = [(model, "validation") for model in inputs] + [(model, "serialization") for model in outputs]
    _, models = models_json_schema(modes, ref_template=REF)
    document.setdefault("components", {})["schemas"] = {
        name: schema_for_client_generators(each) for name, each in models["$defs"].items()
    }
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "page": {"type": "apiKey", "in": "cookie", "name": "ringi_session"},
    }
    document["security"] = [{"token": []}, {"page": []}]
    for row in TABLE:
        document["paths"].setdefault(row.path, {})[row.method.lower()] = verb_openapi_operation(row)
    for path, operations in document["paths"].items():
        for operation in operations.values():
            complete_openapi_operation(path, operation, document["components"]["schemas"])
    for each in (STREAMS, *(extension.operations for extension in extensions)):
        document["paths"] |= each
    return document


def complete_openapi_operation(path: str, operation: dict[str, Any], models: dict[str, Any]) -> None:
    """Add the id, the required body and the security of an operation, which its route does not declare."""
    if "{id}" in path:
        others = [each for each in operation.get("parameters", []) if each["name"] != "id"]
        operation["parameters"] = [ID, *others]
    if body := operation.get("requestBody"):
        model = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        body["required"] = bool(models[model].get("required"))
    if path in OPEN or (path, operation["operationId"]) in OPEN:
        operation["security"] = []


def schema_for_client_generators(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in the form that client generators expect.

    A discriminator is required, as it is on input. The default of an optional field is moved to `x-default`: generators
    take `default` to mean that the field is always present.
    """
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    tags = [name for name, each in properties.items() if "const" in each]
    required = list(dict.fromkeys([*schema.get("required", []), *tags]))
    fields = {name: each if name in required else schema_without_default(each) for name, each in properties.items()}
    return {**schema, **({"properties": fields} if fields else {}), **({"required": required} if required else {})}


def schema_without_default(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an optional field."""
    return {"x-default" if name == "default" else name: each for name, each in schema.items()}


def openapi_operation_id(route: APIRoute) -> str:
    """Return the operation id for generated clients: the group and the action."""
    return f"{route.tags[0]}_{route.name}" if route.tags else route.name


def router_of(tag: str) -> APIRouter:
    """Return a router for a group of routes."""
    return APIRouter(tags=[tag], route_class=StrictRoute, generate_unique_id_function=openapi_operation_id)


def verb_openapi_operation(row: Operation) -> dict[str, Any]:
    """Return the description of a verb; its texts are those of the abstract method."""
    reply = None if row.reply in (bytes, NoneType) else PUBLIC_FORMS[row.reply].model
    file = "application/octet-stream" if row.reply is bytes else None
    docs = route_docs(reply, *row.statuses, body=row.body.__name__ if row.body else None, file=file)
    doc = " ".join((getdoc(row.verb) or "").partition("\n\n")[0].split())
    parameters = verb_parameter_docs(row)
    return {
        "tags": [row.room],
        "operationId": f"{row.room}_{row.name}",
        "summary": row.name.replace("_", " ").title(),
        "description": f"{doc} {FOR[row.callers]}".strip(),
        **({"parameters": parameters} if parameters else {}),
        **docs.get("openapi_extra", {}),
        "responses": {str(status): each for status, each in docs["responses"].items()},
    }


def verb_parameter_docs(row: Operation) -> list[dict[str, Any]]:
    """Return the parameters of a verb in the path beside its id, and in the query."""
    schema = row.parameters.model_json_schema() if row.parameters else {}
    found = []
    for name, each in schema.get("properties", {}).items():
        place = "path" if f"{{{name}}}" in row.path else "query"
        own = {"name": name, "required": name in schema.get("required", ()), "in": place}
        described = {"description": each["description"]} if "description" in each else {}
        shape = {key: each[key] for key in each if (key, each[key]) != ("default", None)}
        found.append({**own, **described, "schema": shape})
    return found


def parameter(name: str, place: str = "query", **schema: Any) -> dict[str, Any]:
    """Return the description of a parameter; one in the path is required, and by default it is text."""
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string", **schema}}


def stream_docs(
    id: str,
    summary: str,
    tag: str,
    parameters: list[dict[str, Any]],
    *,
    output: str = "The output of the run",
    body: str | None = None,
    others: dict[str, Any] | None = None,
    **schema: Any,
) -> dict[str, Any]:
    """Return the description of a stream of events.

    Args:
        id: The id of the operation.
        summary: What it does.
        tag: Its group.
        parameters: Its parameters; see `parameter`.
        output: What the stream has.
        body: The name of the body model; None if the call has no body.
        others: Further replies by their status.
        **schema: What is known of the events.
    """
    events = {"text/event-stream": {"schema": {"type": "string", **schema}}}
    responses = {"200": {"description": output, "content": events}, "default": REFUSED, **(others or {})}
    about = {"operationId": id, "summary": summary, "tags": [tag], "parameters": parameters, "responses": responses}
    return about | (body_docs(body) if body else {})


ID = parameter("id", "path", pattern=ID_PATTERN)
POSITION = [parameter("Last-Event-ID", "header"), parameter("after")]
SDK = parameter("sdk", enum=list(map(str, get_args(Sdk))), default=str(NEWEST))
CHAT = [parameter("hold", type="boolean"), SDK]
FEED: dict[str, Any] = {"output": "Server-sent events", "x-event-data": schema_reference("FeedEvent")}
ALL, ONE = "Follow all requests that the caller may read", "Follow one request: its history, then its live events"
THREAD, AGAIN = "Follow a thread's output as AG-UI events", "Follow a thread's newest message again from its beginning"
SAY = "Send a message, and follow the answer as a UI message stream of the AI SDK"
THREAD_STREAM = [ID, *POSITION, parameter("follow", type="boolean")]
NOT_LIVE = {"204": {"description": "No run is live"}}
STREAMS = {
    "/v1/events": {"get": stream_docs("events_follow", ALL, "requests", POSITION, **FEED)},
    "/v1/requests/{id}/events": {"get": stream_docs("requests_follow", ONE, "requests", [ID, *POSITION], **FEED)},
    "/v1/threads/{id}/stream": {
        "get": stream_docs("threads_follow", THREAD, "threads", THREAD_STREAM, output=FEED["output"])
    },
    "/v1/chat": {"post": stream_docs("chat_say", SAY, "chat", CHAT, body="ChatTurn", title="the AI SDK")},
    "/v1/chat/{id}/stream": {
        "get": stream_docs("chat_follow", AGAIN, "chat", [ID, *CHAT], others=NOT_LIVE, title="the AI SDK")
    },
}
"""The streams of the server, by path."""
