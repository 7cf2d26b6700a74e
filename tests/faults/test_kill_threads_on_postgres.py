"""The same accidents on PostgreSQL, those that its jobs, its locks and its transactions have a part in."""

from __future__ import annotations

import uuid

import pytest
from tests.faults import test_kill_threads as accidents
from tests.faults.test_kill_threads import Shop, shop

__all__ = ["shop"]
POINTS = ["job.after_claim", "saver.before_commit:2", "saver.after_commit", "run.after_go", "run.before_park"]
LATER_POINTS = ["job.after_claim", "saver.before_commit:2", "saver.after_commit", "run.before_finish"]


@pytest.fixture
def url(postgres_url: str) -> str:
    return f"{postgres_url}?schema=t{uuid.uuid4().hex}"


@pytest.mark.parametrize("point", POINTS)
async def test_a_worker_killed_on_the_way_to_the_question(shop: Shop, point: str) -> None:
    await accidents.test_a_worker_killed_on_the_way_to_the_question(shop, point)


@pytest.mark.parametrize("point", LATER_POINTS)
async def test_a_worker_killed_on_the_way_from_the_answer(shop: Shop, point: str) -> None:
    await accidents.test_a_worker_killed_on_the_way_from_the_answer(shop, point)


@pytest.mark.parametrize("point", accidents.PRUNING)
async def test_a_worker_killed_before_it_removes_the_old_checkpoints(shop: Shop, point: str) -> None:
    await accidents.test_a_worker_killed_before_it_removes_the_old_checkpoints(shop, point)


test_a_worker_killed_in_the_middle_of_a_message = accidents.test_a_worker_killed_in_the_middle_of_a_message
test_a_half_message = accidents.test_the_half_message_of_a_killed_worker_is_superseded_by_the_whole_one
test_workers_killed_one_after_another = accidents.test_workers_killed_one_after_another_are_given_up_after_five
test_standing_still = accidents.test_a_worker_that_stood_still_past_its_lease_changes_nothing_any_more
test_two_processes = accidents.test_two_processes_run_many_threads_once_each
