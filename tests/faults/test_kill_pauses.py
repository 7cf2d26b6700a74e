"""Workers that are killed while their agent is paused: nothing is paid before the end of the pause, and then once."""

from __future__ import annotations

import pytest
from tests.faults.test_kill_threads import LEASE, Shop, check, is_asking, killed, shop, url
from tests.runs.world import until

from ringi.domain.thread import Thread

__all__ = ["shop", "url"]


async def has_ended(shop: Shop) -> Thread | None:
    thread = await shop.world.thread()
    return thread if thread.status in ("done", "error") else None


@pytest.mark.parametrize("point", ["job.after_claim", "run.before_go"])
async def test_the_next_worker_heeds_the_pause_and_pays_once_after_it(shop: Shop, point: str) -> None:
    worker = shop.worker()
    await shop.world.start("paying", {})
    request = await until(lambda: is_asking(shop), "the question", 30)
    worker.kill()
    worker.join()
    dying = shop.worker(point)
    await shop.world.respond(request, "approve")
    await killed(dying)

    pause = await shop.world.inbox.pauses.begin("the wrong amount", by="ann", agent="paying")
    shop.worker()

    async def is_put_back() -> bool:
        rows = await shop.world.backend.store._database.read(  # type: ignore[attr-defined]
            lambda c: c.execute("SELECT max(tries), count(claimed_by) FROM jobs").fetchone()
        )
        return rows[0] is not None and rows[0] >= 3 and rows[1] == 0

    await until(is_put_back, "the next worker puts the run back", 30 + LEASE)
    assert shop.payments() == []
    await shop.world.inbox.pauses.end(pause.id, by="ann")
    thread = await until(lambda: has_ended(shop), "the run ends", 30)
    await check(shop, thread)
    assert len(shop.payments()) == 1
