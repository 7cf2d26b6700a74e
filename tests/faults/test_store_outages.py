"""A store that is away is no fault of the runs that were under way: they go on when it is back, however often."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from tests.faults.test_kill_threads import LEASE, Shop, shop
from tests.runs.world import until
from tests.servers import MortalPostgres, mortal_postgres

from ringi.contracts.backend import Wakeup
from ringi.domain.thread import Thread
from ringi.runs.executor import MAX_ATTEMPTS

__all__ = ["shop"]


@pytest.fixture
def store() -> Iterator[MortalPostgres]:
    with mortal_postgres() as server:
        yield server


@pytest.fixture
def url(store: MortalPostgres) -> str:
    return store.url


@pytest.mark.timeout(120)
async def test_a_run_goes_on_though_its_store_dies_more_often_than_its_workers_may(
    shop: Shop, store: MortalPostgres
) -> None:
    shop.worker(), shop.worker()
    await shop.world.start("patient", {})
    for times in range(1, MAX_ATTEMPTS + 2):
        await until(partial(has_begun, shop, times), f"it begins for the {times}. time", 30)
        store.kill()
        # Longer than the lease: the other worker may be the one who takes the run up.
        await Wakeup().wait(2 * LEASE)
        store.start()
    await until(lambda: has_begun(shop, MAX_ATTEMPTS + 2), "it begins once more", 30)
    shop.effects.with_name("go on").touch()
    thread = await until(lambda: at_its_end(shop), "the run ends", 30)
    assert (thread.status, thread.values["outcome"], thread.attention) == ("done", "went on", None)
    await shop.world.verified()


async def has_begun(shop: Shop, times: int) -> bool:
    return shop.payments().count("begun") >= times


async def at_its_end(shop: Shop) -> Thread | None:
    thread = await shop.world.thread()
    return thread if thread.status in ("done", "error") else None
