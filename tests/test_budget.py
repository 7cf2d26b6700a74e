"""What the hot paths cost is what the budget says: no change spends more, or less, without saying so."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest
from benchmarks.budget import costs_on, excesses, read_budget, store_of

from ringi.inbox.grants import GrantJournals

PYTHON = (3, 11)
"""The Python of the budget; others make other calls."""


@pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
def test_the_hot_paths_cost_what_the_budget_says(url: str) -> None:
    budget, costs = read_budget()[store_of(url)], asyncio.run(costs_on(url))
    if sys.version_info[:2] != PYTHON:
        for cost in (*budget.values(), *costs.values()):
            cost.pop("calls", None)
    assert not excesses(costs, budget), "write the new numbers with python -m benchmarks.budget, and say why"


def test_an_answer_that_is_made_twice_exceeds_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def find(*_: object) -> tuple[str, ...]:
        return ("rule",)

    for name in ("rules_covering", "refute"):
        monkeypatch.setattr(GrantJournals, name, find)
    costs = asyncio.run(costs_on(f"sqlite:///{tmp_path / 'ringi.db'}", runs=False))
    found = excesses(costs, {name: cost for name, cost in read_budget()["sqlite"].items() if name in costs})
    assert any(each.startswith("rejection: ") and "calls" in each for each in found)
