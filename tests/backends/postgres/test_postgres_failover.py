"""A standby that took over without the last commits: what it gives out a second time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from langgraph.checkpoint.base import empty_checkpoint

from ringi.base.clock import utc_now
from ringi.connect import open_backend
from ringi.contracts.store import change_record
from ringi.domain.thread import FenceError, Thread
from ringi.runs.lease import Lease
from ringi.testing.factories import a_thread

LENGTH = timedelta(seconds=30)
LOSE = """
UPDATE threads SET version = $1, body = $2, fence = $3, lease_until = NULL;
DELETE FROM unsealed WHERE version > $1;
DELETE FROM events WHERE version > $1;
"""


async def lose_all_since(thread: Thread, url: str, schema: str) -> None:
    """Put the only thread back to what it was, as a standby has it that was not sent the rest."""
    connection = await asyncpg.connect(url, server_settings={"search_path": schema})
    for sql in LOSE.strip().splitlines():
        values = (thread.version, thread.model_dump_json(), thread.fence)
        await connection.execute(sql, *values[: sql.count("$")])
    await connection.close()


async def put(saver: Any) -> None:
    config: Any = {"configurable": {"thread_id": "x", "checkpoint_ns": ""}}
    await saver.aput(config, empty_checkpoint(), {}, {})


async def test_of_two_workers_that_were_given_one_fence_only_the_one_that_the_store_knows_commits(
    schema_url: str,
) -> None:
    async with open_backend(schema_url) as one, open_backend(schema_url) as two:
        begun, event = a_thread()
        await one.store.put(begun, event)

        async def taken(store: Any, owner: str) -> Lease:
            _, thread = await change_record(store, Thread, begun.key, lambda t: t.acquired(owner, utc_now(), LENGTH))
            return Lease(store, utc_now, thread)

        lost = await taken(one.store, "one")
        await lose_all_since(begun, *schema_url.split("?schema="))
        known = await taken(two.store, "two")
        assert lost.fence == known.fence

        steps: list[Callable[[Lease, Any], Awaitable[Any]]] = [
            lambda lease, savers: lease.renew(),
            lambda lease, savers: put(savers(lease.thread)),
            lambda lease, savers: lease.change(lambda t: t.needing_attention("no", utc_now())),
            lambda lease, savers: lease.change(lambda t: t.finished(lease.thread, utc_now(), {})),
        ]
        for step in steps:
            with pytest.raises(FenceError):
                await step(lost, one.savers)
            await step(known, two.savers)
        assert (await two.store.get(Thread, *begun.key)).status == "done"
