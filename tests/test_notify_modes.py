"""The four values of `notify`, each without notifications, and those with notifications also without the poll."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.delivery.office import SECRET
from tests.delivery.receivers import receiving
from tests.server.world import until

from ringi.connect import Notify, open_backend, open_inbox_on_backend, store_inbox
from ringi.domain.events import Webhook
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox

HOUR = 3_600.0
LIMIT = 20.0
MODES: tuple[Notify, ...] = ("auto", "polling", "pubsub", "webhook")
SHARED = ("sqlite", "postgres", "redis")


def url_of(store: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    own = f"t{uuid.uuid4().hex}"
    if store == "sqlite":
        return f"sqlite:///{tmp_path}/ringi.db"
    if store == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema={own}"
    return f"{request.getfixturevalue('durable_redis_url')}?prefix={own}"


@asynccontextmanager
async def asked(here: StoreInbox) -> AsyncIterator[tuple[Request, asyncio.Task[Request]]]:
    """Ask, and give the question with somebody who waits for its answer."""
    request = await here.ask("Go?")
    waiting = asyncio.create_task(here.wait(request.id, timeout=LIMIT))
    try:
        # It has read that nobody answered, and sleeps.
        await until(lambda: here.feed.position is not None)
        yield request, waiting
    finally:
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)


async def answer(there: StoreInbox, request: Request) -> None:
    await there.respond(request, "respond", message="yes", by="ann")


def pairs() -> list[tuple[str, Notify]]:
    return [(store, mode) for store in SHARED for mode in MODES if (store, mode) != ("sqlite", "pubsub")]


@pytest.mark.parametrize(("store", "mode"), pairs())
async def test_a_wait_ends_by_polling_when_its_notifier_is_dead(
    store: str, mode: Notify, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = url_of(store, request, tmp_path)
    async with (
        open_backend(url, notify=mode, poll_interval=0.1) as backend,
        open_inbox_on_backend(backend) as here,
        store_inbox(url, notify="polling") as there,
    ):
        await backend.notifier.__aexit__(None, None, None)
        async with asked(here) as (question, waiting):
            await answer(there, question)

            assert (await waiting).status == "completed"


@pytest.mark.parametrize("mode", ["auto", "pubsub"])
@pytest.mark.parametrize("store", ["postgres", "redis"])
async def test_a_wait_ends_by_a_message_when_nobody_polls(
    store: str, mode: Notify, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = url_of(store, request, tmp_path)
    async with (
        store_inbox(url, notify=mode, poll_interval=HOUR) as here,
        store_inbox(url, notify=mode, poll_interval=HOUR) as there,
        asked(here) as (question, waiting),
    ):
        await answer(there, question)

        assert (await waiting).status == "completed"


@pytest.mark.parametrize("url", ["memory://", "sqlite:///{}/ringi.db"])
async def test_a_wait_in_the_process_of_the_answer_ends_without_a_poll(url: str, tmp_path: Path) -> None:
    async with (
        store_inbox(url.format(tmp_path), poll_interval=HOUR) as here,
        asked(here) as (question, waiting),
    ):
        await answer(here, question)

        assert (await waiting).status == "completed"


@pytest.mark.parametrize("mode", ["polling", "webhook"])
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
async def test_polling_and_webhook_are_woken_by_nothing_but_the_poll(
    store: str, mode: Notify, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = url_of(store, request, tmp_path)
    async with store_inbox(url, notify=mode, poll_interval=HOUR) as here, store_inbox(url) as there:
        question = await here.ask("Go?")
        has_looked, look = asyncio.Event(), here._ended_request

        async def looked(id: str) -> Request | None:
            found = await look(id)
            has_looked.set()
            return found

        monkeypatch.setattr(here, "_ended_request", looked)
        waiting = asyncio.create_task(here.wait(question.id, timeout=LIMIT))
        await has_looked.wait()
        await answer(there, question)

        assert not (await asyncio.wait({waiting}, timeout=0.5))[0]
        waiting.cancel()


@pytest.mark.parametrize("store", ["memory", "sqlite", "postgres", "redis"])
async def test_in_the_mode_webhook_an_inbox_without_a_server_tells_the_receivers(
    store: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "memory://" if store == "memory" else url_of(store, request, tmp_path)
    async with receiving() as crm, receiving() as own:
        endpoints = [{"name": "crm", "url": crm.url, "secrets": [SECRET]}]
        monkeypatch.setenv("RINGI_WEBHOOKS", json.dumps(endpoints))
        monkeypatch.setenv("RINGI_WEBHOOK_ALLOW", "127.0.0.0/8")
        async with store_inbox(url, notify="webhook", poll_interval=0.1) as inbox:
            question = await inbox.ask("Go?", webhooks=[Webhook(url=own.url)])
            await answer(inbox, question)
            await crm.calls(2)
            await own.calls(2)

    assert sorted(crm.types) == sorted(own.types) == ["request.completed", "request.created"]
