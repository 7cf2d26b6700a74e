"""No jobs and no checkpoints: who needs them is told which stores have them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import NoReturn

from ringi.errors import UnsupportedError
from ringi.jobs import Handler, Job, Jobs
from ringi.thread import Thread


class RedisJobs(Jobs):
    """Says which stores have jobs."""

    async def submit(self, job: Job) -> None:
        raise UnsupportedError.of_agents("Redis")

    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        raise UnsupportedError.of_agents("Redis")


def redis_savers(held: Thread) -> NoReturn:
    """Say which stores have checkpoints."""
    raise UnsupportedError.of_agents("Redis")
