"""A forgotten person is gone from the list of known people; all others stay, also if something comes between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.faults.test_decision_crashes import Crash, dying_at
from tests.tiers import WIDE

from ringi.connect import open_backend
from ringi.contracts.backend import Backend, StreamItem
from ringi.domain.record import Key
from ringi.inbox.people import KnownPeople, key_of

TENANT = "default"


@asynccontextmanager
async def open_people(url: str, *names: str) -> AsyncIterator[tuple[Backend, KnownPeople, KnownPeople]]:
    """Note people in a store; return it, and the people of two processes."""
    async with open_backend(url) as backend:
        here, there = KnownPeople(backend.stream), KnownPeople(backend.stream)
        for name in names:
            await here.note(TENANT, name, [f"{name}s"])
        yield backend, here, there


async def known_in(backend: Backend) -> set[str]:
    """Return who is known to a process that has just started."""
    return {*(await KnownPeople(backend.stream).known(TENANT)).people}


async def stored(backend: Backend) -> str:
    return str(await backend.stream.read(key_of(TENANT)))


@WIDE
async def test_a_person_noted_meanwhile_stays_known(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_people(url, "ann", "bob") as (backend, here, there):
        replace = backend.stream.replace

        async def note_and_replace(key: Key, items: Sequence[StreamItem], *, last: int) -> int:
            await there.note(TENANT, "zoe")
            return await replace(key, items, last=last)

        monkeypatch.setattr(backend.stream, "replace", note_and_replace)
        assert await here.forget(TENANT, "bob")
        for people in (here, there, KnownPeople(backend.stream)):
            assert {*(await people.known(TENANT)).people} == {"ann", "zoe"}
        assert "bob" not in await stored(backend)
        assert not await here.forget(TENANT, "bob")


@WIDE
async def test_several_people_are_forgotten_at_once(url: str) -> None:
    async with open_people(url, "ann", "bob", "carl", "zoe") as (backend, here, there):
        await there.known(TENANT)
        await asyncio.gather(here.forget(TENANT, "bob"), there.forget(TENANT, "carl"), here.note(TENANT, "dora"))
        assert await known_in(backend) == {"ann", "zoe", "dora"}
        assert not {"bob", "carl"} & {each.event["name"] for each in await backend.stream.read(key_of(TENANT))}


@WIDE
async def test_a_crash_forgets_one_person_or_nobody(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_people(url, "ann", "bob") as (backend, here, _):
        with dying_at("people.before_replace"), pytest.raises(Crash):
            await here.forget(TENANT, "bob")
        assert await known_in(backend) == {"ann", "bob"}
        replace = backend.stream.replace

        async def replace_and_die(*args: Any, **more: Any) -> int:
            await replace(*args, **more)
            raise Crash

        monkeypatch.setattr(backend.stream, "replace", replace_and_die)
        with pytest.raises(Crash):
            await here.forget(TENANT, "bob")
        known = await KnownPeople(backend.stream).known(TENANT)
        assert ({*known.people}, {*known.groups}) == ({"ann"}, {"anns"})
        assert "bob" not in await stored(backend)
