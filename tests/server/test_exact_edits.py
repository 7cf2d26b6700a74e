"""Edited arguments over HTTP: only what the call has, or its schema names."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.world import World

SCHEMA = {"type": "object", "properties": {"order": {"type": "integer"}, "note": {"type": "string"}}}
OPEN = {**SCHEMA, "additionalProperties": True}
CASES = [
    (None, {"order": 2}, 200),
    (None, {}, 200),
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
