"""One version after the other on one store, under load, and back again: nothing is lost and nobody is stopped."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.faults.chaos.__main__ import end_of, report, under_load
from tests.faults.chaos.checker import RULES, End
from tests.faults.chaos.fleet import Fleet
from tests.faults.chaos.history import History
from tests.faults.chaos.load import ORDER, Client
from tests.next_version import HERE, MARK, next_version

from ringi.contracts.backend import Wakeup

ZOE = "zoe"
"""Answers what waits for her over the deploys; nobody else can."""
LIMIT = 60.0


class Desk(NamedTuple):
    """Who starts runs that wait, and who ends their waiting."""

    agent: Client
    zoe: Client

    async def park(self, name: str, number: int) -> None:
        """Start runs, and return when all of them wait."""
        for n in range(number):
            body = {"agent": "payer", "input": {"order": f"{ORDER} {name} {n}", "payer": ZOE}}
            await self.agent.insist("start", "POST", f"/v1/threads/{name}-{n}/runs", f"{name}-{n}", body)
        async with asyncio.timeout(LIMIT):
            while sum(f"{ORDER} {name}" in request["title"] for request in await self.pending()) < number:
                await Wakeup().wait(0.1)

    async def decide(self, number: int) -> None:
        """Approve so many of those that wait longest."""
        waiting = await self.pending()
        assert len(waiting) >= number
        for request in waiting[-number:]:
            path, body = f"/v1/requests/{request['id']}/respond", {"decision": "approve", "digest": request["digest"]}
            await self.zoe.insist("respond", "POST", path, request["id"], body)

    async def pending(self) -> list[dict[str, Any]]:
        """Return what waits for her, newest first."""
        _, page = await self.zoe.call("list", "GET", f"/v1/requests?status=pending&assignee={ZOE}")
        return list(page.get("items", []))


async def deploys(running: Fleet, desk: Desk, newer: Path) -> None:
    """Go to the next version and back, with runs of each that are answered under the other."""
    await desk.park("old", 3)
    await running.roll(newer)
    await desk.decide(2)
    await desk.park("new", 3)
    await running.roll(HERE.parent)
    await desk.decide(3)
    await desk.decide(1)


async def roll(folder: Path, url: str) -> tuple[dict[str, Any], End]:
    """Deploy under load, wait until all is quiet, and return what the checker says and what is stored."""
    newer = next_version(folder / "newer")
    with History(folder / "history.jsonl") as history:
        async with Fleet(folder, url, workers=2) as running:
            desk = Desk(Client(running, history, "agent", "patient-bot"), Client(running, history, "person", ZOE))
            async with under_load(running, history):
                await deploys(running, desk, newer)
            for client in desk:
                await client.close()
            end = await end_of(running, url)
        return report(history, end, running), end


def answers(end: End, *, asked_by_new: bool, answered_by_new: bool) -> int:
    """Return how many requests of runs were asked by one version and answered by another."""
    wanted = (asked_by_new, answered_by_new)
    found = [r for r in end.requests.values() if r["thread_id"] and r["response"]]
    return sum((bool(r.get(MARK)), bool(r["response"].get(MARK))) == wanted for r in found)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_a_deploy_and_its_way_back_lose_nothing_that_either_version_wrote(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    if store == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"

    figures, end = await roll(tmp_path, url)

    assert figures["broken"] == {name: [] for name in RULES}
    assert answers(end, asked_by_new=False, answered_by_new=True) >= 2
    assert answers(end, asked_by_new=True, answered_by_new=False) >= 3
    noted = {event["record_id"] for event in end.events if event["type"] == "request.noted"}
    assert noted == {id for id, stored in end.requests.items() if stored.get("noted")} != set()
