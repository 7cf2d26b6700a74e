"""The description of the API: replies leave as ready bytes, so their shapes are said here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from ringi.server import models
from ringi.server.chat_parts import NEWEST, Sdk
from ringi.server.extension import Extension

REF = "#/components/schemas/{model}"
STREAMS = {
    "/v1/events": ("Follow everything that the caller may see", "FeedEvent", "requests"),
    "/v1/requests/{id}/events": ("Follow one request: its history, then live", "FeedEvent", "requests"),
    "/v1/threads/{id}/stream": ("Follow a thread's output as AG-UI events", None, "threads"),
}
CHATS = {
    "/v1/chat": ("post", "Say something, and follow the answer as a UI message stream of the AI SDK", "ChatTurn"),
    "/v1/chat/{id}/stream": ("get", "Follow a thread's newest message again from its beginning", None),
    "/agui/{agent}": ("post", "Say something or answer what waits, and follow the run as AG-UI events", "AguiTurn"),
    "/agui/{agent}/connect": ("post", "Get a thread's history, then follow its live run as AG-UI events", "AguiTurn"),
}


def documented(model: str | None, status: int = 200, *others: int, body: str | None = None) -> dict[str, Any]:
    """Return what a route says of itself: the model of its reply, its statuses, the model of its body."""
    content = {"content": {"application/json": {"schema": reference(model)}}} if model else {}
    replies: dict[int | str, dict[str, Any]] = {code: {"description": "Done", **content} for code in (status, *others)}
    told: dict[str, Any] = {"status_code": status, "responses": {**replies, "default": problem()}}
    if body:
        schema = {"application/json": {"schema": reference(body)}}
        told["openapi_extra"] = {"requestBody": {"required": True, "content": schema}}
    return told


def problem() -> dict[str, Any]:
    """Return the description of every refusal."""
    return {
        "description": "Refused",
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    }


def reference(model: str) -> dict[str, str]:
    """Return a pointer to a model of the description."""
    return {"$ref": REF.format(model=model)}


def described(api: FastAPI, extensions: Sequence[Extension] = ()) -> dict[str, Any]:
    """Return the whole description."""
    inputs = [*models.INPUTS, *(model for each in extensions for model in each.inputs)]
    outputs = [*models.OUTPUTS, *(model for each in extensions for model in each.outputs)]
    document = get_openapi(title="Ringi", version=api.version, routes=api.routes, description=api.description)
    modes: Any = [(model, "validation") for model in inputs] + [(model, "serialization") for model in outputs]
    _, schemas = models_json_schema(modes, ref_template=REF)
    document.setdefault("components", {})["schemas"] = {name: tagged(each) for name, each in schemas["$defs"].items()}
    document["components"]["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        "page": {"type": "apiKey", "in": "cookie", "name": "ringi_session"},
    }
    document["security"] = [{"token": []}, {"page": []}]
    for path, operations in document["paths"].items():
        for operation in operations.values() if "{id}" in path else ():
            operation["parameters"] = with_id(operation.get("parameters", []))
    document["paths"] |= {path: {"get": stream(path, *told)} for path, told in STREAMS.items()}
    document["paths"] |= {path: {told[0]: chat(path, *told[1:])} for path, told in CHATS.items()}
    return document


def tagged(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which the tag that tells its kind from the others is required, as it is when it is read."""
    tags = [name for name, each in schema.get("properties", {}).items() if "const" in each]
    return {**schema, "required": [*schema["required"], *tags]} if tags else schema


def with_id(parameters: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parameters of a route with the id in its path."""
    id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    return [id, *(each for each in parameters if each["name"] != "id")]


def stream(path: str, summary: str, model: str | None, tag: str) -> dict[str, Any]:
    """Return the description of one stream of events."""
    text = {"type": "string"}
    named = with_id([]) if "{id}" in path else []
    places = [
        {"name": "Last-Event-ID", "in": "header", "required": False, "schema": text},
        {"name": "after", "in": "query", "required": False, "schema": text},
    ]
    schema = {"x-event-data": reference(model)} if model else {}
    return {
        "summary": summary,
        "tags": [tag],
        "parameters": named + places,
        "responses": {
            "200": {"description": "Server-sent events", "content": {"text/event-stream": {"schema": text | schema}}},
            "default": problem(),
        },
    }


def chat(path: str, summary: str, body: str | None) -> dict[str, Any]:
    """Return the description of a chat protocol's stream."""
    is_agui = path.startswith("/agui")
    hold = {"name": "hold", "in": "query", "required": False, "schema": {"type": "boolean"}}
    versions = {"type": "string", "enum": [str(version) for version in get_args(Sdk)], "default": str(NEWEST)}
    sdk = {"name": "sdk", "in": "query", "required": False, "schema": versions}
    agent = {"name": "agent", "in": "path", "required": True, "schema": {"type": "string"}}
    schema = {"type": "string", "title": "AG-UI" if is_agui else "the AI SDK"}
    parts = {"description": "What the run says", "content": {"text/event-stream": {"schema": schema}}}
    described: dict[str, Any] = {
        "summary": summary,
        "tags": ["chat"],
        "parameters": [agent] if is_agui else [*(with_id([]) if "{id}" in path else []), hold, sdk],
        "responses": {"200": parts, "default": problem()},
    }
    if body:
        content = {"application/json": {"schema": reference(body)}}
        return {**described, "requestBody": {"required": True, "content": content}}
    return {**described, "responses": {**described["responses"], "204": {"description": "Nothing runs or waits"}}}
