"""Files attached to requests: in forms and models, under the digest, erased with the answer, and verified."""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.domain.test_display import IMAGES
from tests.raising import raises_code

import ringi
from ringi import Attachment, Form
from ringi.audit.verify import verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.connect import open_backend, open_to_verify, store_inbox
from ringi.contracts.backend import StreamItem
from ringi.domain.ask import Ask
from ringi.domain.media import detect_media_type, read_image_header
from ringi.domain.record import Key, UnreadableError
from ringi.domain.request import Request
from ringi.domain.voting import Person
from ringi.errors import ForbiddenError, InvalidError, NotFoundError
from ringi.files.attachments import CHUNK, Attachments, file_key, file_numbers_stream_key
from ringi.forms.field_parts import AttachedFile
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.privacy.erasure import Eraser

FORM = Form([Attachment("file", required=True)])
CONTENT = bytes(range(256)) * 3_000
"""Of several parts, the last of them short."""
VALUE = AttachedFile(number=1, name="a.txt", size=3, media_type="text/plain", sha256="0" * 64)


class Expense(BaseModel):
    amount: int
    receipt: AttachedFile
    photo: AttachedFile | None = None


async def answered(inbox: StoreInbox, id: str = "r1", by: str = "ann", content: bytes = CONTENT) -> Request:
    request = await inbox.ask("File?", id=id, form=FORM)
    file = await inbox.attach(id, "file", "a.bin", content, by=by)
    return await inbox.respond(Seen(id, request.digest), "approve", {"file": file}, by=by)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def test_an_agent_reads_what_a_person_attached(url: str) -> None:
    async with store_inbox(url) as inbox:
        done = await answered(inbox)
        assert done.response
        data = done.response.data
        assert data
        assert data["file"]["size"] == len(CONTENT) > CHUNK
        assert await inbox.attachment("r1", data["file"]["number"]) == CONTENT
        # The digest of what was authorized covers the file's own.
        other = {"file": {**data["file"], "sha256": "0" * 64}}
        assert done.response.authorised_digest != done.authorised_digest("approve", other, None)
        with pytest.raises(NotFoundError):
            await inbox.attachment("r1", 2)


def test_a_program_without_async_does_the_same(url: str) -> None:
    with ringi.sync.open(url) as inbox:
        request = inbox.ask("File?", form=FORM)
        file = inbox.attach(request.id, "file", "a.txt", b"abc", by="ann")
        inbox.respond(request, "approve", {"file": file}, by="ann")
        assert inbox.attachment(request.id, file["number"]) == b"abc"


async def test_a_model_asks_for_files_and_gets_them_back() -> None:
    form = Form.of(Expense)
    assert [(field.name, field.type, field.required) for field in form.fields] == [
        ("amount", "number", True), ("receipt", "attachment", True), ("photo", "attachment", False),
    ]  # fmt: skip
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("Expense?", form=Expense)
        file = await inbox.attach(request.id, "receipt", "a.txt", b"abc", by="ann")
        data = {"amount": 4, "receipt": file}
        done = await inbox.respond(request, "approve", data, by="ann")
        assert done.response
        assert done.response.into(Expense) == Expense(amount=4, receipt=file)


def test_a_field_is_the_same_after_its_json_schema() -> None:
    form = Form(
        [Attachment("a", label="A", help="h", required=True, media_types=["image/*"], max_size=9), Attachment("b")]
    )
    assert Form.from_json_schema(form.json_schema()) == form
    assert Form.parse(form.model_dump(mode="json")) == form


UNSOUND: dict[str, dict[str, Any]] = {
    "a.media_types[0]: 'video/mp4' is not a known media type": {"media_types": ["video/mp4"]},
    "a.media_types[0]: 'image/svg+xml' is not a known media type": {"media_types": ["image/svg+xml"]},
    "a.media_types[0]: '*/*' is not a known media type": {"media_types": ["*/*"]},
    "a.max_size": {"max_size": 10 * 1024 * 1024 + 1},
    "a.default": {"default": "x"},
}


@pytest.mark.parametrize("says", UNSOUND)
def test_an_unsound_field_names_its_part(says: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Attachment("a", **UNSOUND[says])
    assert says in str(refused.value)


def test_file_stays_an_unknown_type() -> None:
    with pytest.raises(InvalidError, match=r"'file' is not a field type: use one of text,.* attachment"):
        Form.parse({"fields": [{"name": "a", "type": "file"}]})


@pytest.mark.parametrize("media_type", IMAGES)
def test_an_image_is_told_by_its_bytes_whatever_its_name(media_type: str) -> None:
    content = IMAGES[media_type][0]
    assert detect_media_type(content, "a.txt", read_image_header(content)) == media_type


@pytest.mark.parametrize(
    ("content", "name", "media_type"),
    [
        (b"%PDF-1.7\n", "a.png", "application/pdf"),
        (b"PK\x03\x04..", "a.zip", "application/zip"),
        (b"PK\x03\x04..", "a.XLSX", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        (b"MZ\0", "a.docx", "application/octet-stream"),
        (b"{}", "a.json", "application/json"),
        (b"a,b", "a.html", "text/plain"),
        ("語".encode(), "", "text/plain"),
        ("語".encode("shift-jis"), "a.txt", "application/octet-stream"),
    ],
)
def test_other_types_are_told_as_far_as_bytes_tell_them(content: bytes, name: str, media_type: str) -> None:
    assert detect_media_type(content, name, read_image_header(content)) == media_type


async def bytes_left(url: str, id: str = "r1") -> list[str]:
    async with open_backend(url) as backend:
        key = Key("default", id)
        streams = [file_numbers_stream_key(key), *(file_key(key, number) for number in range(1, 4))]
        return [each.id for each in streams if each != streams[0] and await backend.stream.read(each)]


async def test_an_erasure_leaves_no_byte_of_a_file(url: str, tmp_path: Path) -> None:
    secret = b"the secret of ann " * 20_000
    async with store_inbox(url) as inbox:
        await answered(inbox, content=secret)
        await inbox.erase("r1", by="root")
        with pytest.raises(NotFoundError):
            await inbox.attachment("r1", 1)
    assert await bytes_left(url) == []
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # noqa: ASYNC240
    assert b"dGhlIHNlY3JldCBvZiBhbm4g" not in left
    assert "a.bin" not in left.decode(errors="replace")
    assert await findings(url) == []


async def test_a_persons_erasure_takes_their_files_and_no_other_persons(url: str) -> None:
    async with store_inbox(url) as inbox:
        request = await inbox.ask("File?", id="r1", form=FORM)
        await inbox.attach("r1", "file", "ben.txt", b"of ben, never sent", by="ben")
        file = await inbox.attach("r1", "file", "ann.txt", b"of ann", by="ann")
        assert (await inbox.trail.erase(person="ben", by="root")).left.keys() == {"r1"}
        await inbox.respond(Seen("r1", request.digest), "approve", {"file": file}, by="ann")
        assert await bytes_left(url) == ["attachments/r1/2"]
        assert (await inbox.trail.erase(person="ben", by="root")).requests == ()
        assert await inbox.attachment("r1", 2) == b"of ann"
        with pytest.raises(NotFoundError):
            await inbox.attachment("r1", 1)
        assert (await inbox.trail.erase(person="ann", by="root")).requests == ("r1",)
    assert await bytes_left(url) == []
    assert await findings(url) == []


async def test_retention_erases_files(url: str) -> None:
    async with store_inbox(url) as inbox:
        await answered(inbox)
        assert await inbox.retain(1e-9) == 1
    assert await bytes_left(url) == []


async def findings(url: str) -> list[str]:
    async with open_to_verify(url) as (store, stream):
        return [f"{found.key.id}: {found.what}" for found in (await verify_store(store, stream=stream))[1]]


TAMPERED = {
    "r1: the file attached as file was changed": (
        "UPDATE stream_items SET event = replace(event, 'AAEC', 'AAED') WHERE id = 'attachments/r1/1' AND number = 3"
    ),
    "r1: the file attached as file is missing": "DELETE FROM stream_items WHERE id = 'attachments/r1/1'",
}


@pytest.mark.parametrize("says", TAMPERED)
async def test_verify_names_a_file_that_is_not_what_was_attached(url: str, tmp_path: Path, says: str) -> None:
    async with store_inbox(url) as inbox:
        await answered(inbox)
        await answered(inbox, "r2")
    assert await findings(url) == []
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        assert database.execute(TAMPERED[says]).rowcount
    assert await findings(url) == [says]
    async with store_inbox(url) as inbox:
        with pytest.raises((UnreadableError, NotFoundError)):
            await inbox.attachment("r1", 1)


class Interrupted(MemoryStream):
    """A stream in which something happens right before a file's bytes are stored."""

    def __init__(self) -> None:
        super().__init__()
        self.before: list[Any] = []

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        while self.before and key.id.count("/") == 2:
            await self.before.pop()
        return await super().append(key, items, fence=fence)


async def interrupted(ends: Any) -> tuple[MemoryStream, Request]:
    store, stream = MemoryStore(), Interrupted()
    inbox = StoreInbox(store, MemoryNotifier(1), eraser=Eraser(store, stream))
    request = await inbox.ask("File?", form=FORM)
    stream.before = [ends(inbox, request.id)]
    with raises_code("final"):
        await inbox.attach(request.id, "file", "a.txt", b"abc", by="ann")
    return stream, request


async def cancelled(inbox: StoreInbox, id: str) -> None:
    await inbox.cancel(id, by="bot")


async def erased(inbox: StoreInbox, id: str) -> None:
    await inbox.cancel(id, by="bot")
    await inbox.erase(id, by="root")


@pytest.mark.parametrize("ends", [cancelled, erased])
async def test_an_upload_that_an_end_or_an_erasure_overtakes_leaves_nothing(ends: Any) -> None:
    stream, request = await interrupted(ends)
    assert await Attachments(stream).find(request.key, 1) is None
    assert await stream.read(file_key(request.key, 1)) == []


async def test_a_file_that_an_answer_names_stays_when_its_upload_hears_of_the_end() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("File?", form=FORM)
        attaching = [inbox.attach(request.id, "file", f"{n}.txt", b"abc", by="ann") for n in range(8)]
        file = await attaching.pop()
        answer = inbox.respond(request, "approve", {"file": file}, by="ann")
        await asyncio.gather(answer, *attaching, return_exceptions=True)
        assert await inbox.attachment(request.id, file["number"]) == b"abc"


KILLED = """
import asyncio, json, os, signal, sys, ringi
from ringi import Attachment, Form

async def main():
    async with ringi.open(sys.argv[1]) as inbox:
        await inbox.ask("File?", id="r1", form=Form([Attachment("file")]))
        print(json.dumps(await inbox.attach("r1", "file", "a.txt", b"abc", by="ann")), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


async def test_a_file_outlives_a_process_that_is_killed_before_the_answer(url: str) -> None:
    command = [sys.executable, "-c", KILLED, url]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    file = json.loads(done.stdout)
    async with store_inbox(url) as inbox:
        request = await inbox.get("r1")
        await inbox.respond(Seen("r1", request.digest), "approve", {"file": file}, by="ann")
        assert await inbox.attachment("r1", file["number"]) == b"abc"
    assert await findings(url) == []


@pytest.mark.parametrize("value", [None, {}, {**VALUE, "number": "1"}, {**VALUE, "x": 1}, "a.txt", [VALUE]])
def test_what_names_no_file_is_no_answer(value: Any) -> None:
    assert FORM.check({"file": VALUE}) == {"file": VALUE}
    with pytest.raises(InvalidError, match="file: "):
        FORM.check({"file": value})


async def test_only_people_who_may_answer_attach_a_file() -> None:
    async with store_inbox("memory://") as inbox:
        tomorrow = inbox.clock() + timedelta(days=1)
        await inbox.people.leave("dee", tomorrow, by="ann", unknown=True)
        asked: list[dict[str, Any]] = [
            {"assignee": "ann"},
            {"groups": ["finance"]},
            {"exclude": ["asker"], "groups": ["finance"]},
        ]
        requests = [await inbox.submit(Ask(title="File?", form=FORM, **each), by="kim") for each in asked]
        people = [("ann", ()), ("dee", ()), ("bob", ()), ("bob", ("finance",)), ("kim", ("finance",))]
        found: list[list[str]] = []
        for request in requests:
            able = list[str]()
            for name, groups in people:
                with suppress(ForbiddenError):
                    await inbox.attach(request.id, "file", "a.txt", b"abc", by=Person(name, groups))
                    able.append(name + "".join(groups))
            found.append(able)
        assert found == [["ann", "dee"], ["bobfinance", "kimfinance"], ["bobfinance"]]
