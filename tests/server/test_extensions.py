"""An application above the server brings its own routes, and the server does not know it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from fastapi import FastAPI
from pydantic import BaseModel
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from tests.server.world import World, open_world

from ringi.base.model import StrictModel
from ringi.domain.ask import parse_body
from ringi.server.calls import json_body, reply
from ringi.server.extension import Extension, RouteContext
from ringi.server.openapi import route_docs


class Greeting(StrictModel):
    """What somebody says."""

    words: str


class Echo(BaseModel):
    """What comes back."""

    words: str
    by: str


class EchoRoutes:
    """One route."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._settings = context, context.components.settings

    def add_to(self, api: FastAPI) -> None:
        docs = route_docs("Echo", body="Greeting")
        api.add_api_route("/v1/echo/{id}", self.echo, methods=["POST"], tags=["echo"], **docs)

    async def echo(self, http: HttpRequest, id: str) -> HttpResponse:
        """Say it again."""
        who = self._context.caller(http.scope)
        greeting = parse_body(Greeting, await json_body(http, max_depth=self._settings.max_depth))
        return reply(Echo(words=greeting.words, by=who.actor))


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    extension = Extension(EchoRoutes, inputs=(Greeting,), outputs=(Echo,))
    async with open_world(store_url, extensions=[extension]) as world:
        yield world


async def test_an_applications_route_answers_like_the_servers_own(world: World) -> None:
    reply = await world.client("agent", "bot").post("/v1/echo/e1", json={"words": "hello"})
    assert (reply.status_code, reply.json()) == (200, {"words": "hello", "by": "agent:bot"})
    assert "content-security-policy" in reply.headers


async def test_nobody_calls_an_applications_route_without_a_token(world: World) -> None:
    reply = await world.stranger().post("/v1/echo/e1", json={"words": "hello"})
    assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated")


async def test_an_applications_route_refuses_with_the_servers_problem_documents(world: World) -> None:
    reply = await world.client().post("/v1/echo/e1", json={"word": "hello"})
    assert (reply.status_code, reply.headers["content-type"]) == (422, "application/problem+json")
    missing = {"field": "words", "message": "Field required", "code": "required", "params": {}}
    assert missing in reply.json()["errors"]
    reply = await world.client().post("/v1/echo/e1", json={"words": "x" * 300_000})
    assert (reply.status_code, reply.json()["code"]) == (413, "too_large")


async def test_an_applications_route_stands_in_the_description_with_its_shapes(world: World) -> None:
    document = (await world.stranger().get("/openapi.json")).json()
    call = document["paths"]["/v1/echo/{id}"]["post"]
    assert call["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Greeting"}
    assert {"Greeting", "Echo", "Request"} <= set(document["components"]["schemas"])


async def test_a_server_without_the_application_does_not_know_its_route(store_url: str) -> None:
    async with open_world(store_url, extensions=()) as world:
        assert (await world.client().post("/v1/echo/e1", json={"words": "hello"})).status_code == 404
        assert "/v1/echo/{id}" not in (await world.stranger().get("/openapi.json")).json()["paths"]
