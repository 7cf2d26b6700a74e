"""A damaged file is named, and stops neither the verification nor the erasure of anything else."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ringi import Attachment, Form
from ringi.audit.verify import verify_store
from ringi.connect import open_backend, open_to_verify, store_inbox
from ringi.contracts.backend import StreamItem
from ringi.domain.events import delivery_stream_key
from ringi.domain.record import UnreadableError
from ringi.errors import NotFoundError
from ringi.files.attachments import CHUNK
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox

FORM = Form([Attachment("file", required=True)])
CONTENT = bytes(range(256)) * (CHUNK // 128)
"""Of two parts."""
DAMAGED = ('{"data":"abcde"}', '{"data":', '{"x":1}', '{"data":5}', "[]", "5", "null", "[" * 100_000)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def answered(inbox: StoreInbox, id: str) -> None:
    request = await inbox.ask("File?", id=id, form=FORM)
    file = await inbox.attach(id, "file", "a.bin", CONTENT, by="ann")
    await inbox.respond(Seen(id, request.digest), "approve", {"file": file}, by="ann")


def damage(tmp_path: Path, stream: str, number: int, event: str) -> None:
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        sql = "UPDATE stream_items SET event = ? WHERE id = ? AND number = ?"
        assert database.execute(sql, (event, stream, number)).rowcount == 1


async def findings(url: str) -> list[str]:
    async with open_to_verify(url) as (store, stream):
        return [f"{found.key.id}: {found.what}" for found in (await verify_store(store, stream=stream))[1]]


@pytest.mark.parametrize("event", DAMAGED)
@pytest.mark.parametrize("number", [1, 2])
async def test_a_damaged_file_is_named_and_the_rest_is_verified(
    url: str, tmp_path: Path, number: int, event: str
) -> None:
    async with store_inbox(url) as inbox:
        await answered(inbox, "r1")
        await answered(inbox, "r2")
    damage(tmp_path, "attachments/r1/1", number, event)
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        database.execute("DELETE FROM stream_items WHERE id = 'attachments/r2/1'")
    assert sorted(await findings(url)) == [
        "r1: the file attached as file cannot be read",
        "r2: the file attached as file is missing",
    ]
    async with store_inbox(url) as inbox:
        with pytest.raises(UnreadableError, match="attachment 'r1/1' cannot be read"):
            await inbox.attachment("r1", 1)


async def test_verify_names_a_file_whose_description_was_changed(url: str, tmp_path: Path) -> None:
    async with store_inbox(url) as inbox:
        await answered(inbox, "r1")
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        sql = "UPDATE stream_items SET event = replace(event, 'a.bin', 'b.bin') WHERE id = 'attachments/r1/1'"
        assert database.execute(sql).rowcount
    assert await findings(url) == ["r1: the file attached as file was changed"]


@pytest.mark.parametrize("stream", ["attachments/r1/1", "deliveries/r1"])
async def test_a_damaged_item_stops_no_other_persons_erasure(url: str, tmp_path: Path, stream: str) -> None:
    async with store_inbox(url) as inbox:
        await answered(inbox, "r1")
        await spoken(inbox)
    async with open_backend(url) as backend:
        await backend.stream.append(delivery_stream_key("default", "r1"), [StreamItem({"by": "ben"})], fence=0)
    damage(tmp_path, stream, 1, "[]")
    async with store_inbox(url) as inbox:
        done = await inbox.trail.erase(person="zoe", by="root")
        assert done.requests == ("r2",)
        assert ("cannot be read" in done.left.get("r1", "")) == (stream == "deliveries/r1")
        # Erasing the request itself reads none of it.
        await inbox.erase("r1", by="root")
        assert (await inbox.trail.erase(person="zoe", by="root")).left == {}
    assert await findings(url) == []


async def test_a_damaged_index_stops_no_other_persons_erasure_and_no_answer(url: str, tmp_path: Path) -> None:
    async with store_inbox(url) as inbox:
        request = await inbox.ask("File?", id="r1", form=FORM)
        await inbox.attach("r1", "file", "b.bin", CONTENT, by="ben")
        file = await inbox.attach("r1", "file", "a.bin", CONTENT, by="ann")
        await spoken(inbox)
    damage(tmp_path, "attachments/r1", 1, "[]")
    async with store_inbox(url) as inbox:
        done = await inbox.trail.erase(person="zoe", by="root")
        assert (done.requests, list(done.left)) == (("r2",), ["r1"])
        await inbox.respond(Seen("r1", request.digest), "approve", {"file": file}, by="ann")
        assert await inbox.attachment("r1", 2) == CONTENT
        with pytest.raises(NotFoundError):
            await inbox.attachment("r1", 1)


async def spoken(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Other?", id="r2")
    await inbox.respond(Seen("r2", asked.digest), "respond", message="my secret", by="zoe")
