"""Machines whose clocks on the wall are wrong by ten minutes, and jump: what counts is the time of their store."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from tests.delivery.receivers import receiving
from tests.faults import delivery_process, thread_worker
from tests.faults.processes import Child, child
from tests.raising import raises_code
from tests.runs.world import World, opened, until

from ringi.connect import Backend, open_backend
from ringi.delivery.signing import new_secret, verify
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox
from ringi.runs.lease import Lease, PendingReleases, hold_thread_lease

WRONG = 600.0
SLACK = 60.0
"""Far less than clocks are wrong by, far more than anything here takes."""
skews = pytest.mark.parametrize("skew", [WRONG, -WRONG], ids=["ahead", "behind"])


@pytest.fixture
def postgres(postgres_url: str) -> str:
    return f"{postgres_url}?schema=t{uuid.uuid4().hex}"


@pytest.fixture(params=["postgres", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres"))
    return f"{request.getfixturevalue('durable_redis_url')}?prefix=t{uuid.uuid4().hex}"


@pytest.fixture
async def backend(url: str) -> AsyncIterator[Backend]:
    async with open_backend(url, poll_interval=0.1) as backend:
        yield backend


@pytest.fixture
def inbox(backend: Backend) -> StoreInbox:
    """An inbox that ends nothing by itself: others have to."""
    return StoreInbox(backend.store, backend.notifier, clock=backend.clock)


async def wrong_by(skew: float, process: Child) -> None:
    """Return once its clock on the wall is wrong by so much, and fail if the time that it goes by is."""
    while True:
        _, wall, times = await process.says("clock")
        assert abs(float(times) - time.time()) < SLACK
        if abs(float(wall) - time.time() - skew) < SLACK:
            return


@skews
async def test_a_server_whose_clock_is_wrong_or_jumps_ends_nothing_early_and_nothing_late(
    url: str, inbox: StoreInbox, skew: float
) -> None:
    async with child(url, "sit", skew=skew) as server:
        for wrong in (skew, -skew):
            await wrong_by(wrong, server)
            waiting = await inbox.ask("Wait?", expires_in=WRONG / 2)
            short = await inbox.ask("Go on?", expires_in=0.5)
            ended = await ends(inbox, short)
            assert ended.status == "expired"
            assert ended.ended_at
            assert ended.expires_at
            assert ended.ended_at >= ended.expires_at
            assert (await inbox.get(waiting.id)).status == "pending"
            server.jump()
    events = await inbox.events()
    assert [event.at for event in events] == sorted(event.at for event in events)


async def ends(inbox: StoreInbox, request: Request) -> Request:
    return await inbox.wait(request, 20)


@skews
async def test_what_it_asks_and_claims_lasts_as_long_as_it_says(url: str, inbox: StoreInbox, skew: float) -> None:
    async with child(url, "ask_for", "r1", str(WRONG / 2), skew=skew) as asker:
        await asker.says("asked")
    request = await inbox.get("r1")
    assert request.expires_at
    assert abs((request.expires_at - inbox.clock()).total_seconds() - WRONG / 2) < SLACK
    async with child(url, "claim", "r1", skew=skew) as claimer:
        await claimer.says("claimed")
    claimed = await inbox.get("r1")
    assert claimed.claimed_until
    lasts = (claimed.claimed_until - inbox.clock()).total_seconds()
    assert abs(lasts - inbox.limits.claim_seconds) < SLACK
    async with child(url, "answer", "r1", skew=skew) as late:
        assert (await late.says("answered")) == ["answered", "r1"]


@skews
async def test_leases_are_kept_by_and_from_a_worker_whose_clock_is_wrong(
    postgres: str, tmp_path: Path, skew: float
) -> None:
    effects = tmp_path / "effects"
    script = Path(thread_worker.__file__)
    async with (
        opened(postgres, thread_worker.agents(effects).values()) as world,
        child(postgres, str(effects), skew=skew, script=script),
    ):
        await world.start("patient", {}, "theirs")
        await until(lambda: has_begun(effects), "it begins", 30)
        with raises_code("busy"):
            async with held(world, "theirs"):
                ...  # Two hold it.
        await world.start("two_questions", {}, "before")
        await world.rest("before", limit=30)
        async with held(world, "before") as lease:
            for request in await world.pending("before"):
                await world.respond(request, "respond", message="yes")
            # Whoever takes up this one has found the other before it.
            await world.start("two_questions", {}, "after")
            await world.rest("after", limit=30)
            await lease.renew()
        effects.with_name("go on").touch()
        thread = await world.rest("theirs", limit=30)
        assert (thread.status, thread.fence) == ("done", 1)


async def has_begun(effects: Path) -> bool:
    return bool(thread_worker.lines_of(effects))


def held(world: World, id: str) -> AbstractAsyncContextManager[Lease]:
    """Hold a thread in this process, whose clock is right."""
    store, clock = world.backend.store, world.inbox.clock
    return hold_thread_lease(store, clock, Key("default", id), "here", PendingReleases(store, clock))


@skews
async def test_receivers_take_what_a_server_signs_whose_clock_is_wrong(postgres: str, skew: float) -> None:
    secret, script = new_secret(), Path(delivery_process.__file__)
    async with (
        receiving() as receiver,
        opened(postgres, []) as world,
        child(postgres, receiver.url, secret, skew=skew, script=script),
    ):
        request = await world.inbox.ask("Go on?")
        (got,) = await receiver.calls(1)
    assert verify([secret], got.headers, got.body)["data"]["id"] == request.id
