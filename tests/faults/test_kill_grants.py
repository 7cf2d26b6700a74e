"""Processes that die between a grant, its answer, a use and the approved request."""

from __future__ import annotations

import signal

import pytest
from tests.faults.processes import child

from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.domain.ask import Action

KILLED = -signal.SIGKILL


pytestmark = pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)


@pytest.mark.parametrize("point", ["grant.after_begin", "change.before_commit"])
async def test_a_death_before_the_answer_leaves_no_grant(url: str, point: str) -> None:
    async with store_inbox(url) as inbox:
        await inbox.ask("Go on?", id="r1", action=Action("refund", {"of": "r1"}))
    async with child(url, "grant", "r1", failpoint=point) as answering:
        assert await answering.death() == KILLED
    async with store_inbox(url) as inbox:
        assert (await inbox.get("r1")).status == "pending"
        assert await inbox.grants.list() == []
        assert (await inbox.ask("Go on?", action=Action("refund", {"of": "r1"}))).status == "pending"
    async with child(url, "grant", "r1") as again:
        await again.says("granted")
    async with store_inbox(url) as inbox:
        assert (await inbox.ask("Go on?", action=Action("refund", {"of": "r1"}))).status == "completed"
        assert (await verify_store(inbox.store))[1] == []


async def test_a_death_between_a_use_and_its_request_spends_the_use_and_asks_nothing_twice(url: str) -> None:
    async with store_inbox(url) as inbox:
        await inbox.ask("Go on?", id="r1", action=Action("refund", {"of": "r1"}))
    async with child(url, "grant", "r1") as answering:
        await answering.says("granted")
    async with child(url, "ask", "r2", failpoint="grant.after_use") as asking:
        assert await asking.death() == KILLED
    async with store_inbox(url) as inbox:
        assert [request.id for request in await inbox.find()] == ["r1"]
    async with child(url, "ask", "r2", failpoint="ask.after_commit") as asking:
        assert await asking.death() == KILLED
    async with child(url, "ask", "r2") as again:
        await again.says("asked")
    async with store_inbox(url) as inbox:
        request = await inbox.get("r2")
        assert request.response
        assert request.response.grant_use
        assert (request.status, request.response.grant_use.number) == ("completed", 2)
        assert [grant.uses for grant in await inbox.grants.list()] == [2]
        assert (await verify_store(inbox.store))[1] == []
