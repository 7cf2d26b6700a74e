"""Deliveries, when who delivers is killed at the worst moment."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.delivery.receivers import OK, answers, hangs, receiving
from tests.server.world import until

from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.delivery.attempt_log import AttemptLog
from ringi.domain.request import Request

SCRIPT = Path(__file__).with_name("delivery_process.py")


@asynccontextmanager
async def delivering(store: str, receiver: str, failpoint: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a process that delivers, armed with a fail-point."""
    armed = {"RINGI_FAILPOINT": f"{failpoint}:kill9" if failpoint else "", "PYTHONPATH": str(SCRIPT.parents[2])}
    armed = os.environ | armed
    process = await asyncio.create_subprocess_exec(sys.executable, str(SCRIPT), store, receiver, env=armed)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.fixture
async def asked(tmp_path: Path) -> AsyncIterator[tuple[str, Backend, Request]]:
    store = f"sqlite:///{tmp_path}/ringi.db"
    async with open_backend(store) as backend, open_inbox_on_backend(backend) as inbox:
        yield store, backend, await inbox.ask("Go?")


async def is_delivered(backend: Backend, request: Request) -> bool:
    found = await AttemptLog(backend.stream).of_request(request.tenant, request.id)
    return [each.status for each in found] == ["delivered"]


@pytest.mark.parametrize(
    ("failpoint", "calls"), [("follower.after_submit", 1), ("job.after_claim", 1), ("deliver.after_call", 2)]
)
async def test_what_a_killed_server_did_not_deliver_the_next_one_does(
    asked: tuple[str, Backend, Request], failpoint: str, calls: int
) -> None:
    store, backend, request = asked
    async with receiving(OK) as crm:
        async with delivering(store, crm.url, failpoint) as doomed:
            assert await doomed.wait() == -signal.SIGKILL
        async with delivering(store, crm.url):
            await until(lambda: is_delivered(backend, request))

    assert [got.id for got in crm.got] == [(await backend.store.events())[0].id] * calls


async def test_a_server_that_was_killed_between_two_tries_is_followed_by_one_that_goes_on(
    asked: tuple[str, Backend, Request],
) -> None:
    store, backend, request = asked
    async with receiving(answers(500), hangs, OK) as crm:
        async with delivering(store, crm.url) as first:
            await crm.calls(2)
            first.kill()
        async with delivering(store, crm.url):
            await until(lambda: is_delivered(backend, request))

    (delivery,) = await AttemptLog(backend.stream).of_request(request.tenant, request.id)
    assert [(each.status, each.code) for each in delivery.tries] == [("waiting", 500), ("delivered", 200)]
    assert len({got.id for got in crm.got}) == 1


async def test_two_servers_on_one_store_deliver_each_event_once(asked: tuple[str, Backend, Request]) -> None:
    store, backend, _ = asked
    async with receiving(OK) as crm, delivering(store, crm.url), delivering(store, crm.url):
        async with open_inbox_on_backend(backend) as inbox:
            requests = [await inbox.ask(f"Go {n}?") for n in range(30)]
        for request in requests:
            await until(lambda request=request: is_delivered(backend, request))  # type: ignore[misc]

    assert len(crm.got) == len({got.id for got in crm.got}) == 31
