"""Ids that Ringi derives for the questions of runs cannot be asked for: who came first would take their place."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.integrations.langchain.office import Till, agent, call, calls
from tests.runs.world import at_work
from tests.server.world import World, open_world, until

import ringi
import ringi.sync
from ringi import Approval
from ringi.connect import open
from ringi.domain.ask import DERIVED, Ask
from ringi.errors import InvalidError

TAKEN = ["q-" + "0" * 32, "p-" + "0123456789abcdef" * 2]
FREE = ["q-1", "q-" + "0" * 31, "q-" + "0" * 33, "q-" + "A" * 32, "x-" + "0" * 32, "0" * 32, "my.q-" + "0" * 32]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world("memory://", serves=True) as world:
        yield world


@pytest.mark.parametrize("id", TAKEN)
async def test_python_refuses_a_derived_id_that_a_caller_gives(id: str) -> None:
    async with ringi.open("memory://") as inbox:
        for asking in (inbox.ask("Go?", id=id), inbox.submit(Ask.parse({"title": "Go?", "id": id}))):
            with pytest.raises(InvalidError, match="choose another") as refused:
                await asking
            assert [error.field for error in refused.value.errors] == ["id"]


@pytest.mark.parametrize("id", FREE)
async def test_any_other_id_is_taken(id: str) -> None:
    async with ringi.open("memory://") as inbox:
        assert (await inbox.ask("Go?", id=id)).id == id


@pytest.mark.parametrize("role", ["agent", "person", "admin"])
async def test_http_refuses_it_from_everybody(world: World, role: str) -> None:
    for id in TAKEN:
        reply = await world.client(role, "mallory").post("/v1/requests", json={"title": "Go?", "id": id})
        (error,) = reply.json()["errors"]
        assert (reply.status_code, error["field"]) == (422, "id")
        assert "choose another" in error["message"]


async def test_the_client_refuses_it(world: World) -> None:
    async with open(world.url, token=world.token("agent", "bot")) as client:
        with pytest.raises(InvalidError, match="choose another"):
            await client.ask("Go?", id=TAKEN[0])


def test_the_blocking_inbox_refuses_it() -> None:
    with ringi.sync.open("memory://") as inbox, pytest.raises(InvalidError, match="choose another"):
        inbox.ask("Go?", id=TAKEN[0])


async def test_the_ids_of_a_runs_questions_have_that_form_and_are_its_own(world: World) -> None:
    await world.runner.start("default", "t1", "two_questions", {}, by="agent:bot")

    async def is_asked() -> bool:
        return len(await world.runner.pending(await world.runner.get("default", "t1"))) == 2

    await until(is_asked)
    for request in await world.runner.pending(await world.runner.get("default", "t1")):
        assert DERIVED.fullmatch(request.id)
        body = {"title": request.title, "id": request.id}
        assert (await world.client("agent", "mallory").post("/v1/requests", json=body)).status_code == 422
        assert request.asked_by == "agent:bot"


async def test_the_id_of_an_approval_by_a_rule_has_that_form() -> None:
    till = Till()
    policy = {"rules": [{"tools": ["refund"], "auto_approve": [{"name": "all"}]}]}
    office = agent(calls(call("refund", order=1, amount=2)), till.tools, [Approval(policy, till.tools)])
    async with at_work("memory://", [office]) as world:
        assert (await world.run("office", {})).status == "done"
        (request,) = await world.asked()
        assert DERIVED.fullmatch(request.id)
