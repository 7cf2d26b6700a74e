"""A stretch ends together with its requests, and looks again at those that others have changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runs.world import World, checked, opened, until, working

from ringi.domain.request import Request
from ringi.runs.executor import LeasedRun

REFUND = {"order": 1182, "amount": 40}


async def has_status(world: World, status: str) -> bool:
    """Return whether the thread has a status."""
    return (await world.thread()).status == status


@pytest.fixture
def settled_before(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let another worker, which dies at once, save the requests of each stretch first; return the ids."""
    settle, saved = LeasedRun.settle, list[str]()

    async def save_first(leased_run: LeasedRun, step: Any, **options: Any) -> bool:
        for change in leased_run.changes:
            await change.save()
            saved.append(change.change[0].id)
        return await settle(leased_run, step, **options)

    monkeypatch.setattr(LeasedRun, "settle", save_first)
    return saved


async def test_a_question_that_another_worker_has_saved_is_asked_once(url: str, settled_before: list[str]) -> None:
    async with opened(url) as world, working(world):
        await world.start("refund", REFUND)
        await until(lambda: has_status(world, "interrupted"), "parked")
        request = await world.one()
        await world.respond(request, "approve")
        await until(lambda: has_status(world, "done"), "done")
        assert await world.asked() == [await world.inbox.get(request.id)]
        # Saved as a question, and as an acknowledgment.
        assert settled_before == [request.id, request.id]
        checked(await world.items())


async def test_an_answer_to_a_question_that_another_worker_has_saved_counts(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = LeasedRun.settle

    async with opened(url) as world:

        async def answer_first(leased_run: LeasedRun, step: Any, **options: Any) -> bool:
            for change in leased_run.changes:
                saved = await change.save()
                if isinstance(saved, Request) and not saved.is_final:
                    await world.respond(saved, "approve")
            return await settle(leased_run, step, **options)

        monkeypatch.setattr(LeasedRun, "settle", answer_first)
        async with working(world):
            await world.start("refund", REFUND)
            await until(lambda: has_status(world, "done"), "done")
        (request,) = await world.asked()
        assert request.status == "completed"
        assert request.acknowledged_at
        checked(await world.items())
