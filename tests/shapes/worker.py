"""A worker that serves all shapes, to be killed."""

from __future__ import annotations

import asyncio
import sys

from tests.runs.world import opened
from tests.shapes import bakery, library, shop

SHAPES = (*bakery.SHAPES, *library.SHAPES, *shop.SHAPES)


async def work(url: str) -> None:
    """Run threads until the process is killed."""
    async with opened(url, [shape.agent for shape in SHAPES]) as world:
        await world.runner.work(asyncio.Event())


asyncio.run(work(sys.argv[1]))
