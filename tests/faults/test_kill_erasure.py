"""Whoever is killed while they erase leaves what can be erased again, and then nothing of it is in any file."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.faults.processes import child

import ringi
from ringi.audit.verify import verify_store
from ringi.connect import open_backend, open_inbox_on_backend, store_inbox
from ringi.delivery.attempt_log import AttemptLog
from ringi.delivery.deliveries import DeliveryTask
from ringi.domain import Query
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.testing.clock import NOON

PLANTED = "zwetschge4711"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


def has_planted(folder: Path) -> bool:
    """Whether what was to be erased is in any file of the store."""
    return any(PLANTED.encode() in path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def plant(url: str) -> None:
    """Keep two answered requests, the older one with the words, and a delivery that was tried."""
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        for id, word in (("r1", PLANTED), ("r2", "plain")):
            asked = await inbox.ask(f"May {word} go?", id=id, action=ringi.Action("go", {"what": word}))
            await inbox.respond(Seen(id, asked.digest), "approve", by="ann", message=word)
        task = DeliveryTask(
            tenant="default", request_id="r1", version=2, event="e", type="request.completed",
            happened_at=NOON, endpoint="crm",
        )  # fmt: skip
        tried = task.attempt("https://crm.example.com", NOON, "waiting", error=f"550 <{PLANTED}@example.com>")
        await AttemptLog(backend.stream).add("default", "r1", tried)


async def is_whole(inbox: StoreInbox) -> bool:
    return not (await verify_store(inbox.store))[1]


async def test_an_erasure_that_was_killed_before_its_commit_is_done_by_the_next(url: str, tmp_path: Path) -> None:
    await plant(url)
    async with child(url, "erase", "r1", failpoint="erase.before_commit") as erasing:
        assert await erasing.death() == -signal.SIGKILL
    assert has_planted(tmp_path)

    async with store_inbox(url) as inbox:
        assert (await inbox.get("r1")).erased is None
        assert await is_whole(inbox)
        assert (await inbox.erase("r1", by="root")).erased
        assert not has_planted(tmp_path)
        assert await is_whole(inbox)
    assert not has_planted(tmp_path)


@pytest.mark.parametrize("again", ["the next start", "a second erasure"])
async def test_of_an_erasure_that_was_killed_after_its_commit_nothing_is_left_in_a_file(
    url: str, tmp_path: Path, again: str
) -> None:
    await plant(url)
    async with child(url, "erase", "r1", failpoint="erase.after_commit") as erasing:
        assert await erasing.death() == -signal.SIGKILL
    assert has_planted(tmp_path)

    if again == "a second erasure":
        async with child(url, "erase", "r1") as second:
            assert await second.death() == 0
    else:
        async with store_inbox(url):
            assert not has_planted(tmp_path)

    assert not has_planted(tmp_path)
    async with store_inbox(url) as inbox:
        assert (await inbox.get("r1")).erased
        assert [request.id for request in await inbox.search(Query(text="plain"))] == ["r2"]
        assert await is_whole(inbox)


async def test_what_a_killed_erasure_left_goes_although_others_have_the_file_open(url: str, tmp_path: Path) -> None:
    await plant(url)
    async with store_inbox(url) as inbox:
        async with child(url, "erase", "r1", failpoint="erase.after_commit") as erasing:
            assert await erasing.death() == -signal.SIGKILL
        assert has_planted(tmp_path)

        assert (await inbox.erase("r1", by="root")).erased

        assert not has_planted(tmp_path)
