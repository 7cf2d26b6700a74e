"""One reading for all who want the same at the same time."""

from __future__ import annotations

import asyncio
import contextvars

from ringi.base.loops import SingleFlight


async def test_a_shared_reading_knows_nothing_of_who_asked_first() -> None:
    caller, shared = contextvars.ContextVar("caller", default="nobody"), SingleFlight()

    async def read() -> str:
        return caller.get()

    async def ask(name: str) -> str:
        caller.set(name)
        return await shared.read("what", read)

    assert [*await asyncio.gather(ask("ann"), ask("ben"))] == ["nobody", "nobody"]
