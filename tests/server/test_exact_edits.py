"""Edited arguments over HTTP: only what the call has, or its schema names."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.world import World

SCHEMA = {"type": "object", "properties": {"order": {"type": "integer"}, "note": {"type": "string"}}}
OPEN = {**SCHEMA, "additionalProperties": True}
CASES = [
    (None, {"order": 2}, 200),
    (None, {"order": 1, "to": "eve"}, 422),
    (SCHEMA, {"order": 1, "note": "x"}, 200),
    (SCHEMA, {"order": 1, "to": "eve"}, 422),
    (OPEN, {"order": 1, "to": "eve"}, 200),
]


@pytest.mark.parametrize(("schema", "edited", "status"), CASES)
async def test_an_edit_adds_no_argument_that_nobody_named(
    world: World, schema: dict[str, Any] | None, edited: dict[str, Any], status: int
) -> None:
    action = {"name": "refund", "args": {"order": 1}, **({"schema": schema} if schema else {})}
    request = await world.asked(id="a", action=action)
    body = {"decision": "edit", "args": edited, "digest": request.digest}
    answer = await world.client().post("/v1/requests/a/respond", json=body)
    assert answer.status_code == status
    if status == 422:
        unknown = {"field": "args.to", "message": "is not in the schema: remove it", "code": "unexpected", "params": {}}
        assert answer.json()["errors"] == [unknown]
        assert (await world.client().get("/v1/requests/a")).json()["status"] == "pending"
        many = {"items": [{"id": "a", **body}]}
        several = await world.client().post("/v1/requests/respond", json=many)
        assert "args.to" in several.text


@pytest.mark.parametrize("schema", [None, {"type": "object", "additionalProperties": True}])
async def test_an_edit_drops_no_argument_that_the_schema_does_not_name(world: World, schema: Any) -> None:
    action = {"name": "refund", "args": {"order": 1, "amount": 4}, **({"schema": schema} if schema else {})}
    request = await world.asked(id="a", action=action)
    body = {"decision": "edit", "args": {"amount": 3}, "digest": request.digest}
    refused = await world.client().post("/v1/requests/a/respond", json=body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "args.order")
    assert (await world.client().get("/v1/requests/a")).json()["status"] == "pending"


@pytest.mark.parametrize(
    ("step", "amount"), [(0.01, 19.99), (0.01, 0.07), (0.01, 9007199254740.99), (0.05, 1.15), (0.05, 0.3)]
)
async def test_a_decimal_on_a_step_is_approved_and_stored_as_typed(world: World, step: float, amount: float) -> None:
    schema = {"type": "object", "properties": {"amount": {"type": "number", "multipleOf": step}}}
    request = await world.asked(id="a", action={"name": "refund", "args": {"amount": 1}, "schema": schema})
    body = {"decision": "edit", "digest": request.digest}
    off = await world.client().post("/v1/requests/a/respond", json={**body, "args": {"amount": 19.995}})
    assert (off.status_code, [each["code"] for each in off.json()["errors"]]) == (422, ["off_step"])
    answer = await world.client().post("/v1/requests/a/respond", json={**body, "args": {"amount": amount}})
    assert answer.status_code == 200, answer.text
    assert f'"args":{{"amount":{amount}}}' in (await world.client().get("/v1/requests/a")).text
    stored = (await world.inbox.get("a")).granted
    assert stored
    assert stored.args == {"amount": amount}


@pytest.mark.parametrize(("number", "status"), [("9007199254740993", 422), ('"9007199254740993"', 200)])
async def test_a_number_that_would_lose_digits_is_refused_in_words_and_its_text_is_kept(
    world: World, number: str, status: int
) -> None:
    request = await world.asked(id="a", action={"name": "pay", "args": {"account": "1"}})
    body = f'{{"decision": "edit", "digest": "{request.digest}", "args": {{"account": {number}}}}}'
    headers = {"content-type": "application/json"}
    answer = await world.client().post("/v1/requests/a/respond", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["response"]["args"] == {"account": "9007199254740993"}
    else:
        assert "send it as text" in answer.text
        assert (await world.inbox.get("a")).status == "pending"
