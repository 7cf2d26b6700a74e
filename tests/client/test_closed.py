"""An inbox or a client that is closed, or that a forked process has inherited, says so; it never hangs."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import Desk, token

import ringi
from ringi.connect import store_inbox
from ringi.contracts.store import ClosedError
from ringi.inbox.api import Inbox, Seen

NOW = datetime(2026, 1, 1, tzinfo=UTC)
VERBS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "ask": lambda inbox: inbox.ask("Go?"),
    "get": lambda inbox: inbox.get("r1"),
    "find": lambda inbox: inbox.find(),
    "events": lambda inbox: inbox.events(),
    "follow": lambda inbox: anext(inbox.follow("")),
    "follow the news": lambda inbox: anext(inbox.follow()),
    "respond": lambda inbox: inbox.respond(Seen("r1", "d"), "reject", by="ann"),
    "claim": lambda inbox: inbox.claim("r1", by="ann"),
    "release": lambda inbox: inbox.release("r1", by="ann"),
    "reassign": lambda inbox: inbox.reassign("r1", assignee="bob", by="ann"),
    "leave": lambda inbox: inbox.people.leave("bob", datetime.now(UTC) + timedelta(days=1), by="ann"),
    "undo": lambda inbox: inbox.undo("r1", by="ann"),
    "absences": lambda inbox: inbox.people.absences(),
    "grants": lambda inbox: inbox.grants.list(),
    "pauses": lambda inbox: inbox.pauses.list(),
    "checks": lambda inbox: inbox.checks.report(),
    "suggestions": lambda inbox: inbox.suggestions.list(),
    "attach": lambda inbox: inbox.attach("r1", "file", "a.txt", b"a", by="ann"),
    "cancel": lambda inbox: inbox.cancel("r1", by="ann"),
    "report_outcome": lambda inbox: inbox.report_outcome("r1", "committed"),
    "erase": lambda inbox: inbox.erase("r1", by="ann"),
    "erase_all": lambda inbox: inbox.trail.erase(before=NOW, by="ann"),
    "memories": lambda inbox: inbox.memories.list("ann"),
    "memory": lambda inbox: inbox.memories.get("r1", "ann"),
    "edit_memory": lambda inbox: inbox.memories.edit("r1", {}, by="ann"),
    "delete_memory": lambda inbox: inbox.memories.delete("r1", by="ann"),
    "wait": lambda inbox: inbox.wait("r1"),
    "wait a moment": lambda inbox: inbox.wait("r1", 0.01),
}


async def refused(inbox: Any) -> list[str]:
    """Return the verbs that did not raise `ClosedError`."""
    outcomes = dict[str, object]()
    for name, call in VERBS.items():
        async with asyncio.timeout(10):
            try:
                outcomes[name] = await call(inbox)
            except ClosedError as error:
                assert "open it again" in str(error)  # noqa: PT017
    return list(outcomes)


@asynccontextmanager
async def client_of(server: DemoServer) -> AsyncIterator[Inbox]:
    async with ringi.open(server.url, token=token(server, "ann", "admin")) as client:
        yield client


async def test_every_verb_after_the_block_is_told(url: str) -> None:
    async with store_inbox(url) as inbox:
        await inbox.ask("Go?", id="r1")

    assert await refused(inbox) == []
    assert await refused(inbox.for_tenant("another")) == []


async def test_every_verb_of_a_closed_client_is_told(server: DemoServer) -> None:
    async with client_of(server) as client:
        pass

    assert await refused(Desk(client, is_blocking=False, has_token=True)) == []


async def test_what_waits_when_it_is_closed_is_told(url: str) -> None:
    async with store_inbox(url) as inbox:
        asked = await inbox.ask("Go?")
        follower = inbox.follow()
        waits = [asyncio.create_task(inbox.wait(asked.id)) for _ in range(3)]
        waits += [asyncio.create_task(anext(follower))]  # type: ignore[arg-type]
        await asyncio.wait(waits, timeout=0.1)

    async with asyncio.timeout(10):
        for outcome in await asyncio.gather(*waits, return_exceptions=True):
            assert isinstance(outcome, ClosedError)


async def test_what_waits_when_a_client_is_closed_is_told(server: DemoServer) -> None:
    async with client_of(server) as client:
        asked = await client.ask("Go?")
        waiting = [asyncio.create_task(client.wait(asked.id)), asyncio.create_task(anext(client.follow()))]
        await asyncio.wait(waiting, timeout=0.3)

    async with asyncio.timeout(10):
        for outcome in await asyncio.gather(*waiting, return_exceptions=True):
            assert isinstance(outcome, ClosedError)


BREAKS_OFF = """
import asyncio, sys
import ringi

async def main():
    async with ringi.open(sys.argv[1], token=sys.argv[2]) as client:
        await client.ask("Go?")
        async for event in client.follow(""):
            break
    print("over")

asyncio.run(main())
"""


async def test_who_stops_following_and_closes_hears_nothing_more_of_it(server: DemoServer) -> None:
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", BREAKS_OFF, server.url, token(server, "ann", "admin")],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


async def test_a_wait_that_its_caller_cancels_is_cancelled(server: DemoServer) -> None:
    async with client_of(server) as client:
        waiting = asyncio.create_task(client.wait((await client.ask("Go?")).id))
        await asyncio.wait([waiting], timeout=0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_an_inbox_is_opened_by_await_and_closed_by_hand(url: str) -> None:
    inbox = await ringi.open(url)
    asked = await inbox.ask("Go?")
    waiting = asyncio.create_task(inbox.wait(asked.id))
    await asyncio.wait([waiting], timeout=0.1)

    await inbox.close()
    await inbox.close()

    with pytest.raises(ClosedError, match="the inbox is closed"):
        await waiting
    with pytest.raises(ClosedError, match="the inbox is closed"):
        await inbox.get(asked.id)


async def test_a_block_may_end_with_a_close(url: str) -> None:
    async with store_inbox(url) as inbox:
        await inbox.close()


async def test_a_store_that_cannot_be_opened_is_no_open_inbox() -> None:
    with pytest.raises(ringi.RingiError):
        await ringi.open("nonsense")


def test_without_async_it_is_closed_by_hand_too(tmp_path: Path) -> None:
    inbox = ringi.sync.open(f"sqlite:///{tmp_path}/ringi.db")
    asked = inbox.ask("Go?")
    begun = threading.Event()

    def wait() -> None:
        begun.set()
        inbox.wait(asked.id)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(wait)
        assert begun.wait(10)
        inbox.close()
        inbox.close()
        with pytest.raises(ClosedError, match="the inbox is closed"):
            waiting.result(10)
    with pytest.raises(ClosedError, match="the inbox is closed"):
        inbox.get(asked.id)


FORK = """
import asyncio, os, sys
import ringi

def child(work):
    pid = os.fork()
    if pid:
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        return
    try:
        work()
    except ringi.RingiError as error:
        os._exit(0 if "which forked this one" in str(error) else 3)
    os._exit(4)

async def main():
    async with ringi.open(sys.argv[1]) as inbox:
        asked = await inbox.ask("Go?")
        follow = lambda: anext(inbox.follow())
        for verb in (inbox.find, lambda: inbox.ask("Again?"), lambda: inbox.wait(asked.id), follow):
            def work():
                step = verb().__await__()
                while True:
                    next(step)
            child(work)
        await inbox.ask("Still here?")

asyncio.run(main())
with ringi.sync.open(sys.argv[1]) as inbox:
    child(inbox.find)
    child(lambda: (inbox.close(), inbox.ask("Again?")))
    inbox.ask("Still here?")
left = ringi.sync.open(sys.argv[1])
left.ask("Who closes me?")
print("done")
"""


def test_a_forked_process_is_told_and_harms_nobody(url: str) -> None:
    done = subprocess.run([sys.executable, "-c", FORK, url], capture_output=True, text=True, timeout=50, check=False)

    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
