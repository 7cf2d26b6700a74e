"""Random calls, answers and kills: none ran before its answer, none ran twice, none with other arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.gateways.mcp_gate.random_calls import random_calls


@pytest.mark.timeout(180)
async def test_random_calls(tmp_path: Path) -> None:
    figures = await random_calls(tmp_path, 200, seed=13)
    assert figures["calls"] >= 200
    assert figures["kills"] >= 1
    assert figures["outcome committed"] >= 10
