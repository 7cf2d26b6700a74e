"""The arguments of an action fit its own schema when they are asked; those of a run's call are checked by its tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from tests.integrations.langchain.office import agent, call, calls
from tests.runs.world import at_work
from tests.server.world import open_world

import ringi
from ringi import Approval
from ringi.errors import InvalidError

SCHEMA = {
    "type": "object",
    "properties": {"order": {"type": "integer"}, "to": {"type": "object", "properties": {"city": {"type": "string"}}}},
    "required": ["order"],
    "additionalProperties": False,
}
BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"order": "1182"}, "action.args.order"),
    ({"order": None}, "action.args.order"),
    ({}, "action.args.order"),
    ({"order": 1, "to": {"city": 5}}, "action.args.to.city"),
    ({"order": 1, "account": "mine"}, "action.args.account"),
]


@pytest.mark.parametrize(("args", "field"), BROKEN)
async def test_arguments_that_break_their_schema_are_refused_by_http_and_python_alike(
    args: dict[str, Any], field: str
) -> None:
    async with open_world("memory://") as world:
        body = {"title": "Go?", "id": "r1", "action": {"name": "refund", "args": args, "schema": SCHEMA}}
        refused = await world.client("agent", "bot").post("/v1/requests", json=body)
        assert (refused.status_code, [each["field"] for each in refused.json()["errors"]]) == (422, [field])
        assert await world.inbox.find() == []
        with pytest.raises(InvalidError) as failure:
            await world.inbox.ask("Go?", action=ringi.Action("refund", args, schema=SCHEMA))
        assert [error.field for error in failure.value.errors] == [field]


async def test_arguments_that_fit_or_have_no_schema_are_asked() -> None:
    async with open_world("memory://") as world:
        fit = {"order": 1, "to": {"city": "Kyoto", "zip": 7}}
        for action in (
            {"args": fit, "schema": SCHEMA},
            {"args": {"order": "x"}},
            {"args": {"order": "x"}, "schema": {}},
        ):
            body = {"title": "Go?", "action": {"name": "refund", **action}}
            assert (await world.client("agent", "bot").post("/v1/requests", json=body)).status_code == 201


async def test_a_call_whose_tool_takes_text_for_a_number_is_asked_as_before(tmp_path: Path) -> None:
    paid = []

    @tool
    def refund(order: int) -> str:
        """Pay money back."""
        paid.append(order)
        return "done"

    asking = agent(
        calls(call("refund", order="1182")), [refund], [Approval({"rules": [{"tools": ["refund"]}]}, [refund])]
    )
    async with at_work(f"sqlite:///{tmp_path}/ringi.db", [asking]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.action
        assert request.action.args == {"order": "1182"}
        assert request.action.args_schema
        assert (await world.answer(request, "approve")).status == "done"
    assert paid == [1182]
