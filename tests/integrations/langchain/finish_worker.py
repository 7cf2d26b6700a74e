"""A worker whose agents have a finish gate, to be killed."""

from __future__ import annotations

import asyncio

from tests.integrations.langchain.finishing import gated, hearing
from tests.runs.world import opened, working

from ringi.backends import claimed_jobs as jobs
from ringi.contracts.backend import Wakeup
from ringi.integrations.langchain import FinishGate
from ringi.runs import lease
from ringi.runs.agent import Agent


def agents() -> list[Agent]:
    """Return one agent of each kind of gate."""
    return [gated(hearing([])), gated(hearing([]), gate=FinishGate(anew=True), agent_name="careful")]


def work(url: str) -> None:
    """Work until killed, and hold nothing for long."""
    lease.LEASE_SECONDS = jobs.CLAIM_SECONDS = 0.5
    asyncio.run(main(url))


async def main(url: str) -> None:
    """Run threads for ever."""
    async with opened(url, agents()) as world, working(world):
        while True:
            await Wakeup().wait(1.0)
