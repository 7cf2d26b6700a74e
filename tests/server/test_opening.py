"""A client that has seen its stream open misses nothing that is committed afterwards, on each store."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from subprocess import Popen

import pytest
from tests.server.opening import Stream, ask, open_app

from ringi.domain.record import START, Position
from ringi.errors import UnavailableError
from ringi.inbox.inbox import StoreInbox

OPENINGS, AT_ONCE = 2_500, 25
"""How many streams are opened beside a full load on each of the four stores, and how many of them at once."""
BURN = "while True: pass"


class BusyTail:
    """A store in which something is committed before and after the tail is read, the first times."""

    def __init__(self, inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch, times: int = 4) -> None:
        self._inbox, self._tail, self._left, self._asked = inbox, inbox.store.tail, times, 0
        monkeypatch.setattr(inbox.store, "tail", self._busy_tail)

    async def commit(self) -> None:
        self._asked += 1
        await ask(self._inbox, f"tail-{self._asked}")

    async def _busy_tail(self) -> Position:
        self._left -= 1
        if self._left < 0:
            return await self._tail()
        await self.commit()
        found = await self._tail()
        await self.commit()
        return found


@pytest.mark.parametrize("others", [0, 1], ids=["the first stream of a server", "beside another stream"])
async def test_what_is_committed_after_the_headers_arrives_once_and_in_order(
    url: str, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(url) as (app, inbox):
        for n in range(others):
            await Stream(lambda n=n: ask(inbox, f"other-{n}")).read(app, "/v1/events", f"other-{n}")  # type: ignore[misc]
        BusyTail(inbox, monkeypatch)
        stream = Stream(lambda: ask(inbox, "open"))

        async def go_on() -> None:
            await stream.until("open")
            await ask(inbox, "last")

        going_on = asyncio.create_task(go_on())
        ids = await stream.read(app, "/v1/events", "last")
        await going_on
        committed = [event.record_id for event in await inbox.store.events(START, 100)]
    assert ids == committed[-len(ids) :]
    assert "open" in ids


async def test_a_store_that_is_away_as_the_first_stream_opens_makes_no_later_one_deaf(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(url) as (app, inbox):
        tail, replies = inbox.store.tail, ["is there", "is away"]

        async def flaky() -> Position:
            if replies and replies.pop(0) == "is away":
                raise UnavailableError("the store is away", 1)
            return await tail()

        monkeypatch.setattr(inbox.store, "tail", flaky)
        await Stream(lambda: ask(inbox, "first")).read(app, "/v1/events", until_id=None)
        assert not replies
        assert await Stream(lambda: ask(inbox, "second")).read(app, "/v1/events", "second") == ["second"]


@pytest.fixture
def busy_machine() -> Iterator[None]:
    """A machine whose processors are all at work."""
    with ExitStack() as load:
        for _ in range(os.cpu_count() or 1):
            load.callback(load.enter_context(Popen([sys.executable, "-c", BURN])).kill)
        yield


@pytest.mark.tier("all")
@pytest.mark.timeout(1_800)
async def test_thousands_of_openings_beside_a_full_load_miss_nothing(url: str, busy_machine: None) -> None:
    async with open_app(url) as (app, inbox):
        numbers = iter(range(OPENINGS))

        async def open_many() -> int:
            read = 0
            for number in numbers:
                id = f"r{number}"
                # The commit begins as the headers leave, while other streams open and read.
                ids = await Stream(lambda id=id: ask(inbox, id)).read(app, "/v1/events", id)  # type: ignore[misc]
                assert len(set(ids)) == len(ids)
                read += 1
            return read

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(open_many()) for _ in range(AT_ONCE)]
    assert sum(task.result() for task in tasks) == OPENINGS
