"""Every shape of an agent, asked, answered in each way, and killed while it waits."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.runs.world import World, at_work, of_type, opened, until
from tests.shapes import bakery, library, shop
from tests.shapes.shape import DONE, EFFECTS, Answer, Case, Shape

from ringi.domain.request import Request
from ringi.domain.thread import Thread

ROOT = Path(__file__).parents[2]
SHAPES = (*bakery.SHAPES, *library.SHAPES, *shop.SHAPES)
CASES = [pytest.param(shape, case, id=f"{shape.name}-{case.name}") for shape in SHAPES for case in shape.cases]
WORKER = Path(__file__).with_name("worker.py")
LIMIT = 60.0


async def answered(world: World, case: Case, id: str) -> Thread:
    """Send all answers of a case, one after the other, and return the thread."""
    thread = await world.rest(id, limit=LIMIT)
    for number, answer in enumerate(case.answers):
        assert thread.status == "interrupted", (number, thread.status, thread.error)
        await respond(world, await open_request(world, answer, id), answer)
        thread = await world.rest(id, limit=LIMIT)
    return thread


async def open_request(world: World, answer: Answer, id: str) -> Request:
    found = [each for each in await world.pending(id) if answer.about in each.title]
    return sorted(found, key=lambda each: repr(each.action and each.action.args))[0]


async def respond(world: World, request: Request, answer: Answer) -> None:
    answers = {"message": answer.message, "args": answer.args}
    await world.respond(request, answer.decision, answer.data, **answers)


def check(thread: Thread, case: Case, effects: list[str]) -> None:
    assert thread.status == "done", thread.error
    shows: Mapping[str, Any] = {name: thread.values.get(name) for name in case.shows}
    assert shows == case.shows
    assert sorted(effects) == sorted(case.does)


@pytest.mark.parametrize(("shape", "case"), CASES)
async def test_a_shape_is_asked_answered_and_goes_on(tmp_path: Path, shape: Shape, case: Case) -> None:
    DONE.clear()
    async with at_work(f"sqlite:///{tmp_path}/ringi.db", [shape.agent]) as world:
        await world.start(shape.name, shape.input)
        check(await answered(world, case, "t1"), case, DONE)
        assert await world.pending() == []


class Killed:
    """What became of all shapes after their worker was killed while each of them waited."""

    def __init__(self, folder: Path) -> None:
        self.url, self.effects = f"sqlite:///{folder}/ringi.db", folder / "effects"
        self.threads = dict[str, Thread]()
        self.streams = dict[str, list[str]]()

    def worker(self) -> subprocess.Popen[bytes]:
        """Start a process that serves all shapes."""
        environment = {**os.environ, EFFECTS: str(self.effects), "PYTHONPATH": str(ROOT)}
        return subprocess.Popen([sys.executable, str(WORKER), self.url], env=environment)

    async def run(self) -> None:
        """Let all shapes ask, kill the worker, answer, and let another one go on."""
        async with opened(self.url, [shape.agent for shape in SHAPES]) as world:
            for shape in SHAPES:
                await world.start(shape.name, shape.input, shape.name)
            first = self.worker()
            try:
                await asyncio.gather(*(self._waits(world, shape) for shape in SHAPES))
            finally:
                first.send_signal(signal.SIGKILL)
            assert first.wait() == -signal.SIGKILL
            for shape in SHAPES:
                answer = shape.cases[0].answers[0]
                await respond(world, await open_request(world, answer, shape.name), answer)
            second = self.worker()
            try:
                await asyncio.gather(*(self._goes_on(world, shape) for shape in SHAPES))
            finally:
                second.kill()
                second.wait()
            await world.verified()

    async def _waits(self, world: World, shape: Shape) -> None:
        async def is_asking() -> bool:
            return (await world.thread(shape.name)).status == "interrupted"

        await until(is_asking, f"{shape.name} asks", LIMIT)

    async def _goes_on(self, world: World, shape: Shape) -> None:
        rest = Case("rest", shape.cases[0].answers[1:], {})
        thread = await world.rest(shape.name, limit=LIMIT)
        self.threads[shape.name] = await answered(world, rest, shape.name) if rest.answers else thread
        self.streams[shape.name] = [str(each["name"]) for each in of_type(await world.items(shape.name), "CUSTOM")]


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    """All shapes, killed once while they waited."""
    killed = Killed(tmp_path_factory.mktemp("killed"))
    asyncio.run(killed.run())
    return killed


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_whose_worker_was_killed_while_it_waited_goes_on(killed: Killed, shape: Shape) -> None:
    check(killed.threads[shape.name], shape.cases[0], list(shape.cases[0].does))


def test_nothing_was_done_twice_or_not_at_all(killed: Killed) -> None:
    done = sorted(effect for shape in SHAPES for effect in shape.cases[0].does)
    assert sorted(killed.effects.read_text().splitlines()) == done


def test_what_a_node_wrote_to_its_stream_is_there_once(killed: Killed) -> None:
    assert killed.streams["streaming-modes"] == ["oven", "oven"]


def test_the_documentation_says_what_each_shape_needs() -> None:
    page = (ROOT / "docs" / "how-to" / "serve-an-existing-graph.md").read_text("utf-8")
    table = re.findall(r"^\| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", page, re.MULTILINE)
    assert table == [(shape.name, shape.elsewhere, shape.answer) for shape in SHAPES]
    assert all(bool(shape.needs) == (shape.answer != "nothing") for shape in SHAPES)
    assert len(SHAPES) >= 15
