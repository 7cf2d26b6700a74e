"""What the server refuses can be told in each language: every code has a text, with all its values."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from tests.server.test_every_route import calls, filled
from tests.server.world import World, open_world

from ringi.base.texts import Language, field_error_text, problem_text, text_catalogue
from ringi.errors import FieldError

OTHERS: tuple[Language, ...] = ("ja", "zh")
BODIES: tuple[Any, ...] = (
    {},
    [],
    {
        "title": " ",
        "id": "-x",
        "kind": "odd",
        "priority": 1,
        "expires_in": -1,
        "due_at": "soon",
        "form": {"fields": []},
    },
    {"title": "x" * 501, "assignee": "", "allowed": ["no"], "actions": [], "context": 1, "thread_id": "/"},
    {"decision": "agree", "digest": 1, "message": ["x"], "data": 1, "items": [], "request_id": "", "session_id": None},
    {"agent": "", "input": [], "thread_id": "-no-id-", "messages": [], "id": "!", "token": 5, "replace": "yes"},
    {"agent": "none", "input": {}, "question": " ", "bullet": 1, "op": "odd", "reason": 1, "before": "soon"},
)
QUERIES = ("", "?limit=0", "?limit=many&status=odd&cursor=none&after=none", "?unknown=1")
NAMES = re.compile(r"NUL|JSON|PNG|JPEG|GIF|WebP|Ringi|`[^`]*`|\bID\b|2026-11-24T09:30:00\+09:00")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world("memory://") as world:
        yield world


def untranslated(document: dict[str, Any]) -> Iterator[str]:
    """Yield each code of a problem document without a text, and each text with an English word or a missing value."""
    texts = text_catalogue("en")
    if document["code"] not in texts["problems"]:
        yield document["code"]
    for each in document.get("errors", []):
        if each["code"] not in texts["fields"]:
            yield each["code"]
        error = FieldError(each["field"], each["message"], each["code"], each["params"])
        # The values are data, such as the pattern of an agent's own schema.
        nameless = error._replace(params={name: _value(name, value) for name, value in error.params.items()})
        for text in (field_error_text(nameless, language) for language in OTHERS):
            if "…" in text or re.search("[A-Za-z]{2}", NAMES.sub("", text)):
                yield text
    for text in (problem_text(document["code"], language) for language in OTHERS):
        if re.search("[A-Za-z]{2}", NAMES.sub("", text)):
            yield text


def _value(name: str, value: Any) -> Any:
    return value if name == "types" else 1


async def test_every_refusal_of_every_route_can_be_told_in_each_language(world: World) -> None:
    clients, found, wrong = (world.client("admin", "root"), world.client("agent", "bot")), set[str](), set[str]()
    await world.asked(id="x1")
    for method, path, _ in calls(world):
        if method == "GET" and path.endswith(("/stream", "/events")):
            continue
        for client in clients:
            for body in (None,) if method == "GET" else BODIES:
                for query in QUERIES:
                    reply = await client.request(method, filled(path) + query, json=body)
                    if reply.headers.get("content-type") == "application/problem+json":
                        document = reply.json()
                        found |= {document["code"], *(each["code"] for each in document.get("errors", []))}
                        wrong |= {f"{method} {path}: {each}" for each in untranslated(document)}
    assert wrong == set()
    assert found >= {"not_found", "invalid", "forbidden", "unexpected", "required", "wrong_type", "not_an_option"}
    assert found >= {"invalid_id", "invalid_time", "too_long", "below_minimum"}


@pytest.mark.parametrize("language", OTHERS)
async def test_a_refused_form_can_be_told_in_each_language(world: World, language: Language) -> None:
    fields = [
        {"name": "who", "type": "text", "label": "名前", "required": True, "min_length": 3},
        {"name": "n", "type": "number", "label": "数", "max": 3},
        {"name": "day", "type": "date", "label": "日", "min": "2026-01-31"},
        {"name": "one", "type": "select", "label": "色", "options": ["赤", "青"]},
        {"name": "many", "type": "multiselect", "label": "複数", "options": ["a", "b"]},
    ]
    request = await world.asked(id="f", form={"fields": fields})
    data = {"who": "x", "n": 4, "day": "2026-01-01", "one": "緑", "many": ["a", "a"], "more": 1}
    for sent in (data, {}, {"who": 1, "n": "x", "day": "2026-02-30", "one": [], "many": 1}):
        body = {"decision": "approve", "digest": request.digest, "data": sent}
        client = world.client("person", "ann")
        reply = await client.post("/v1/requests/f/respond", json=body, headers={"accept-language": language})
        assert reply.status_code == 422
        assert [*untranslated(reply.json())] == []
        assert "invalid" not in {each["code"] for each in reply.json()["errors"]}
