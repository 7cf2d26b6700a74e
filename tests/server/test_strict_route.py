"""The route of answers is served without the framework, except where the framework has a part in it."""

from __future__ import annotations

import pytest
from opentelemetry import trace
from starlette.requests import Request as HttpRequest
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ringi.server.calls import RouteShortcut


async def answer(http: HttpRequest) -> Response:
    return Response(http.path_params["id"])


async def framework(scope: Scope, receive: Receive, send: Send) -> None:
    await Response("framework")(scope, receive, send)


async def body_of(path: str, *, method: str = "POST", query: bytes = b"", root: str = "") -> bytes:
    parts: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        parts.append(message)

    scope: Scope = {"type": "http", "method": method, "path": path, "root_path": root, "query_string": query}
    shortcut = RouteShortcut(Route("/answers/{id}", answer, methods=["POST"]), framework)
    await shortcut({**scope, "headers": []}, receive, send)
    return b"".join(part.get("body", b"") for part in parts)


async def test_an_answer_skips_the_framework() -> None:
    assert await body_of("/answers/7") == b"7"
    assert await body_of("/ringi/answers/7", root="/ringi") == b"7"


async def test_other_calls_and_parameters_reach_the_framework() -> None:
    assert await body_of("/answers/7", method="GET") == b"framework"
    assert await body_of("/answers") == b"framework"
    assert await body_of("/answers/7", query=b"x=1") == b"framework"


async def test_with_tracing_the_framework_writes_its_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", trace.NoOpTracerProvider())
    assert await body_of("/answers/7") == b"framework"
