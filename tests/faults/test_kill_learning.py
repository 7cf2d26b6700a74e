"""Workers that are killed while they learn: what a person approved is learned once, and nothing else ever is."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from multiprocessing.context import ForkServerProcess as Process
from pathlib import Path

import pytest
from tests.apps.engrammer import learner
from tests.runs.world import World, checked, opened, until
from tests.warm import FORKS

from ringi.domain.request import Request
from ringi.errors import NotFoundError
from ringi.runs.lease import LEASE_SECONDS
from ringi_apps.engrammer.persistence import append_entry, read_entries, read_playbook, turns_in_newest_checkpoint
from ringi_apps.engrammer.playbook import Playbook, fold

LEASE = 2.0
MANY = 40
TALK, NAME = "talk", "engrammer"
FIRST, SECOND = learner.LESSONS
POINTS = (
    *("tag.entered", "run.before_park", "curate.begun", "curate.begun:2"),
    *("playbook.entered", "playbook.entered:2", "playbook.entered:3", "curate.entered", "curate.entered:2"),
    *("change.before_commit:2", "change.before_commit:4", "change.before_commit:6", "run.before_finish"),
)


class School:
    """A store, its workers, and a person."""

    def __init__(self, world: World) -> None:
        self.world, self.workers = world, list[Process]()

    def worker(self, failpoint: str = "", lease: float = LEASE_SECONDS) -> Process:
        process = FORKS.Process(target=learner.work, args=(self.world.backend.url, lease, failpoint))
        process.start()
        self.workers.append(process)
        return process

    async def playbook(self) -> Playbook:
        return await read_playbook(self.world.backend.store, "default", NAME)

    async def waiting(self) -> list[Request]:
        try:
            return await self.world.pending(TALK)
        except NotFoundError:
            return []

    async def decided(self) -> bool:
        """Decide what waits, as a person who looks again and again would; true once the run has ended."""
        for request in await self.waiting():
            await self.world.respond(request, "approve" if FIRST in request.title else "reject")
        return (await self.world.thread(TALK)).status == "done"


@pytest.fixture(params=["sqlite", "postgres"])
async def school(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[School]:
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    if request.param == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=t{tmp_path.name.replace('-', '_')[:40].lower()}"
    async with opened(url, learner.engrammer().agents()) as world:
        school = School(world)
        try:
            yield school
        finally:
            for process in school.workers:
                process.kill()
                process.join()


@pytest.mark.parametrize("point", POINTS)
async def test_a_killed_worker_loses_nothing_that_was_approved_and_learns_nothing_that_was_not(
    school: School, point: str
) -> None:
    world = school.world
    known = await append_entry(
        world.backend,
        "default",
        NAME,
        lambda now: now.add_entry("strategies", learner.KNOWN),
        by="ann",
        now=world.inbox.clock(),
    )
    await world.start(NAME, {"query": "How?"}, TALK)
    dying = school.worker(point, LEASE)

    async def is_over() -> bool:
        return await school.decided() or not dying.is_alive()

    await until(is_over, "the worker dies", 30)
    before = {bullet.content.text for bullet in (await school.playbook()).active}
    assert before <= {learner.KNOWN, FIRST}
    school.worker()
    await until(school.decided, "the run ends", 30)
    playbook = await school.playbook()
    assert [bullet.content.text for bullet in playbook.active] == [learner.KNOWN, FIRST]
    assert [rejected.text for rejected in playbook.rejected] == [SECOND]
    assert (playbook.bullets["b-00001"].used, playbook.bullets["b-00001"].helpful) == (1, 1)
    written = await read_entries(world.backend.store, "default", NAME)
    assert sorted(each.entry.op for each in written) == ["add", "add", "reject", "tag"]
    assert fold([(each.entry, each.at) for each in written]) == playbook
    assert playbook.version == known.version + 3
    (turn,) = await turns_in_newest_checkpoint(world.backend, await world.thread(TALK))
    assert sorted(each["status"] for each in turn["outcomes"].values()) == ["learned", "rejected"]
    assert list(checked(await world.items(TALK)).values()) == ["As I learned [b-00001]."]
    await world.verified()
    await asyncio.to_thread(dying.join, 30)
    assert dying.exitcode == -signal.SIGKILL


@pytest.mark.timeout(180)
async def test_what_a_person_approves_in_many_conversations_at_once_two_workers_learn_once_each(
    school: School,
) -> None:
    world, names = school.world, [f"talk-{number}" for number in range(MANY)]
    lessons = [f"Rule {number}: wait {number * 7919} seconds." for number in range(MANY)]
    both = [school.worker(), school.worker()]
    for name, lesson in zip(names, lessons, strict=True):
        await world.start(NAME, {"query": f"{learner.TEACHES}{lesson}"}, name)
    for name in names:
        await world.rest(name, limit=60)
    waiting = [await world.one(name) for name in names]
    await asyncio.gather(*(world.respond(request, "approve") for request in waiting))
    threads = [await world.rest(name, limit=60) for name in names]
    assert [(thread.status, thread.error) for thread in threads] == [("done", None)] * MANY
    playbook, written = await school.playbook(), await read_entries(world.backend.store, "default", NAME)
    assert sorted(bullet.content.text for bullet in playbook.active) == sorted(lessons)
    assert set(playbook.applied) == {request.id for request in waiting}
    assert [each.entry.op for each in written] == ["add"] * MANY
    assert fold([(each.entry, each.at) for each in written]) == playbook
    await world.verified()
    assert all(worker.is_alive() for worker in both)
