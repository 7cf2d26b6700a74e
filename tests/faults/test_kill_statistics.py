"""Processes that die while they count: no event is counted twice, and none is lost."""

from __future__ import annotations

import signal

import pytest
from tests.faults.processes import child

from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.domain.ask import Action
from ringi.inbox.api import Seen
from ringi.statistics import Statistics
from ringi.statistics.counting import utc_day_of_time
from ringi.statistics.figures import overview_figures

pytestmark = pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)


@pytest.mark.parametrize("point", ["statistics.before_days", "statistics.after_day"])
async def test_a_death_while_counting_counts_each_event_once(url: str, point: str) -> None:
    async with store_inbox(url) as inbox:
        for n in range(3):
            await inbox.ask("Go on?", id=f"r{n}", action=Action("refund", {}))
    async with child(url, "count", failpoint=point) as counting:
        assert await counting.death() == -signal.SIGKILL
    async with store_inbox(url) as inbox:
        request = await inbox.get("r0")
        await inbox.respond(Seen("r0", request.digest), "approve", by="ann")
    async with child(url, "count") as first, child(url, "count") as second:
        await first.says("counted")
        await second.says("counted")
    async with store_inbox(url) as inbox:
        now = inbox.clock()
        counts = await Statistics(inbox.store, inbox.clock).count(
            "default", utc_day_of_time(request.created_at), utc_day_of_time(now)
        )
        figures = overview_figures(
            counts, utc_day_of_time(request.created_at), utc_day_of_time(now), "day", lambda _: True, None, now
        )
        assert counts.is_complete
        assert (figures.pending, figures.decisions.approved) == (2, 1)
        assert sum(point.asked for point in figures.queue) == 3
        assert (await verify_store(inbox.store))[1] == []
