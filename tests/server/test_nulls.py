"""Explicit nulls in an ask stand for absent fields; everything that is unknown is refused by its name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.world import World

from ringi.domain.ask import Ask

NULLS = dict.fromkeys(["default", "placeholder", "help", "min", "max", "step", "min_length", "max_length"])
FIELDS: list[dict[str, Any]] = [
    {"name": "a", "type": "text"},
    {"name": "b", "type": "select", "options": [{"value": "x"}]},
    {"name": "c", "type": "slider", "min": 0, "max": 9},
    {"name": "d", "type": "boolean"},
]
NULLED: list[dict[str, Any]] = [
    {"options": None, "required": None, "label": None, **NULLS, **FIELDS[0]},
    {**NULLS, **FIELDS[1], "options": [{"value": "x", "label": None}]},
    {"options": None, **NULLS, **FIELDS[2]},
    {"options": None, **NULLS, **FIELDS[3]},
]
ASK: dict[str, Any] = {"title": "Which?", "form": {"fields": FIELDS}}
OPTIONAL = [field.alias or name for name, field in Ask.model_fields.items() if not field.is_required()]


async def test_nulls_of_fields_are_absent_and_change_no_digest(world: World) -> None:
    client = world.client("agent", "bot")
    plain = await client.post("/v1/requests", json=ASK)
    nulled = await client.post("/v1/requests", json={**ASK, "form": {"fields": NULLED}})
    assert (plain.status_code, nulled.status_code) == (201, 201), nulled.json()
    assert nulled.json()["form"] == plain.json()["form"]
    assert nulled.json()["digest"] == plain.json()["digest"]


@pytest.mark.parametrize("name", OPTIONAL)
async def test_each_field_of_an_ask_may_be_null(world: World, name: str) -> None:
    client = world.client("agent", "bot")
    plain = await client.post("/v1/requests", json={"title": "Go?"})
    nulled = await client.post("/v1/requests", json={"title": "Go?", name: None})
    assert nulled.status_code == 201, nulled.json()
    assert nulled.json()["digest"] == plain.json()["digest"]


async def test_nulls_of_an_action_and_of_buttons_are_absent(world: World) -> None:
    action = {"name": "refund", "args": None, "schema": None}
    buttons = {"approve": {"label": "Yes", "style": None, "value": None}, "edit": None}
    body = {"title": "Go?", "action": action, "actions": buttons}
    request = (await world.client("agent", "bot").post("/v1/requests", json=body)).json()
    assert request["action"]["args"] == {}
    assert request["actions"] == {"approve": {"label": "Yes", "style": None}}


async def test_nulls_inside_of_what_is_the_callers_own_stay(world: World) -> None:
    body = {
        "title": "Go?",
        "context": {"a": None},
        "action": {"name": "pay", "args": {"to": None}},
        "display": [{"type": "table", "columns": ["a"], "rows": [[None]], "title": None}],
    }
    request = (await world.client("agent", "bot").post("/v1/requests", json=body)).json()
    assert (request["context"], request["action"]["args"]) == ({"a": None}, {"to": None})
    assert request["display"][0]["rows"] == [[None]]


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({**ASK, "colour": None}, "colour"),
    ({**ASK, "colour": 1}, "colour"),
    ({**ASK, "form": {"fields": FIELDS, "x": None}}, "form.x"),
    ({**ASK, "form": {"fields": [{**FIELDS[0], "x": None}]}}, "form.fields[0].x"),
    ({**ASK, "form": {"fields": [{**FIELDS[0], "options": ["x"]}]}}, "form.fields[0].options"),
    ({**ASK, "form": {"fields": [{"name": "喜欢", "type": "text"}]}}, "form.fields[0].name"),
    ({**ASK, "form": {"fields": [{"name": "a", "type": "slider", "min": None}]}}, "form.fields[0].min"),
    (
        {**ASK, "form": {"fields": [{**FIELDS[1], "options": [{"value": "x", "icon": None}]}]}},
        "form.fields[0].options[0].icon",
    ),
    ({"title": None}, "title"),
    ({**ASK, "form": {"fields": None}}, "form.fields"),
    ({"title": "Go?", "action": {"name": None}}, "action.name"),
    ({"title": "Go?", "actions": {"cancel": None}}, "actions.cancel"),
]


@pytest.mark.parametrize(("body", "field"), UNKNOWN)
async def test_what_is_unknown_or_needed_is_refused_by_its_name(world: World, body: Any, field: str) -> None:
    refused = await world.client("agent", "bot").post("/v1/requests", json=body)
    assert refused.status_code == 422
    assert field in [error["field"].removesuffix(".[key]") for error in refused.json()["errors"]]
