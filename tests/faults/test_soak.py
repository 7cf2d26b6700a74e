"""Cycles of load and faults, and what a server holds afterwards: what it held before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.faults.soak.__main__ import WARM, soaked
from tests.faults.soak.load import OPERATIONS

CYCLES = 3


@pytest.mark.timeout(300)
async def test_after_load_and_faults_a_server_holds_what_it_held_before(tmp_path: Path) -> None:
    async with soaked(tmp_path, f"sqlite:///{tmp_path}/ringi.db") as server:
        for _ in range(WARM):
            await server.cycle()
        before = await server.rest()
        for _ in range(CYCLES):
            await server.cycle()
        after = await server.rest(before.held)
        request = await server.request_bytes()

    assert after.held == before.held
    # Whatever an operation leaves behind, an object, a task, a key of a dict, is one block at least.
    assert after.blocks - before.blocks < CYCLES * OPERATIONS
    # Blocks say nothing of their size. An answered request was five texts in this process: three replies, two events.
    assert after.resident - before.resident < CYCLES * OPERATIONS * 5 * request
