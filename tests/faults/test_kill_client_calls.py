"""Clients that die while they wait, and between the beginning of a call and its effect: it runs once, or never."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.faults.processes import child
from tests.runs.world import until

from ringi import Request
from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.domain import Query

KILLED = -signal.SIGKILL

pytestmark = pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)


async def answer(url: str, decision: Any = "approve") -> Request:
    async with store_inbox(url) as inbox:

        async def found() -> Request | None:
            return next(iter(await inbox.search(Query(statuses=("pending",)))), None)

        request = await until(found, "a request is open")
        return await inbox.respond(request, decision, by="ann")


async def outcome_of(url: str, id: str) -> str | None:
    async with store_inbox(url) as inbox:
        assert (await verify_store(inbox.store))[1] == []
        return (await inbox.get(id)).outcome


async def test_a_client_that_was_killed_while_it_waited_runs_its_call_once(url: str) -> None:
    async with child(url, "client_call", "c1") as first:
        await first.says("calling")
        await first.kill()
    request = await answer(url)
    async with child(url, "client_call", "c1") as second:
        assert await second.says("effect") == ["effect", "c1"]
        await second.says("returned")
    assert await outcome_of(url, request.id) == "committed"
    async with child(url, "client_call", "c1") as third:
        await third.says("calling")
        asked = await answer(url, "reject")
        assert await third.death() != 0
        assert "effect" not in [line[0] for line in third.lines]
    assert asked.id != request.id


@pytest.mark.parametrize(("point", "effects"), [("change.before_commit", 1), ("change.after_commit", 0)])
async def test_a_death_at_the_beginning_of_the_call(url: str, point: str, effects: int) -> None:
    async with child(url, "client_call", "c1", failpoint=point) as first:
        await first.says("calling")
        request = await answer(url)
        assert await first.death() == KILLED
        assert "effect" not in [line[0] for line in first.lines]
    assert await outcome_of(url, request.id) == (None if effects else "unknown")
    async with child(url, "client_call", "c1") as second:
        if effects:
            await second.says("returned")
            return
        # Nobody knows whether the call ran: people are asked about the next one.
        await second.says("calling")
        other = await answer(url)
        await second.says("returned")
    assert other.id != request.id


async def test_of_many_clients_that_wait_for_one_approval_one_runs_its_call(url: str) -> None:
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(child(url, "client_call", "c1")) for _ in range(4)]
        for client in clients:
            await client.says("calling")
        approved = await answer(url)
        rejecting = asyncio.create_task(reject_all(url))
        codes = sorted([await client.death() for client in clients])
        rejecting.cancel()
        effects = [line for client in clients for line in client.lines if line[0] == "effect"]
    assert (codes, effects) == ([0, 1, 1, 1], [["effect", "c1"]])
    assert await outcome_of(url, approved.id) == "committed"


async def reject_all(url: str) -> None:
    """Reject each request, also those of clients that come late."""
    while True:
        await answer(url, "reject")
