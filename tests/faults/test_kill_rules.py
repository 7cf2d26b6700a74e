"""Processes that die while a suggested rule begins, or while a refusal ends it."""

from __future__ import annotations

import signal

import pytest
from tests.faults.processes import child

import ringi
from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.domain.ask import Action
from ringi.domain.suggestions import FEWEST
from ringi.inbox.inbox import StoreInbox

KILLED = -signal.SIGKILL


async def ask(inbox: StoreInbox, number: int, id: str | None = None) -> ringi.Request:
    return await inbox.ask("Refund?", id=id, action=Action("refund", {"amount": number % 100, "to": "desk"}))


async def decide_all(inbox: StoreInbox) -> None:
    for number in range(FEWEST):
        request = await ask(inbox, number)
        await inbox.respond(request, "approve", by="ann")


@pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
async def test_a_death_leaves_no_rule_half_on_and_none_on_that_was_refuted(url: str) -> None:
    async with store_inbox(url) as inbox:
        await decide_all(inbox)
        waiting = await ask(inbox, 5, "waiting")
        (suggestion,) = await inbox.suggestions.list()
    async with child(url, "accept", suggestion.id, failpoint="rule.before_put") as accepting:
        assert await accepting.death() == KILLED
    async with store_inbox(url) as inbox:
        assert await inbox.grants.list() == []
        assert [(await ask(inbox, number)).status for number in range(6)] == ["pending"] * 6
        (suggestion,) = await inbox.suggestions.list()
    async with child(url, "accept", suggestion.id) as accepting:
        await accepting.says("accepted")
    async with child(url, "refuse", waiting.id, failpoint="rule.after_refute") as refusing:
        assert await refusing.death() == KILLED
    async with store_inbox(url) as inbox:
        assert (await inbox.get("waiting")).status == "pending"
        assert [view.status for view in await inbox.grants.list()] == ["revoked"]
        assert [(await ask(inbox, number)).status for number in range(6)] == ["pending"] * 6
        assert (await verify_store(inbox.store))[1] == []
