"""What a hostile file costs, how many files one person can attach, and what a name becomes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from ringi import Attachment, Form, Number
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.connect import store_inbox
from ringi.contracts.backend import StreamItem
from ringi.domain.media import MAX_GIF_PARTS, MAX_SEGMENTS, read_image_header
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotFoundError, UnavailableError
from ringi.files.attachments import (
    ERASED,
    MAX_FILES,
    MAX_NAME,
    MAX_TOTAL,
    MAX_UPLOADS,
    PEOPLE,
    Attachments,
    IndexedFile,
    clean_file_name,
    file_key,
    file_numbers_stream_key,
    refuse_files_beyond_limit,
)
from ringi.forms.field_parts import MAX_FILE, AttachedFile
from ringi.inbox.inbox import StoreInbox
from ringi.privacy.erasure import Eraser

FORM = Form([Attachment("file", required=True)])
LARGE = 4 * 1024 * 1024


class Counted(bytes):
    """Bytes that count how often they are looked at, and remember by which threads."""

    looks: int = 0
    threads: frozenset[int] = frozenset()

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        self.threads |= {threading.get_ident()}
        return super().__getitem__(place)


GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00"
HOSTILE = {
    "segments of a JPEG": b"\xff\xd8" + b"\xff\xe0\x00\x02" * (LARGE // 4),
    "segments of no length": b"\xff\xd8\xff" + b"\xff\x00\x00" * (LARGE // 3),
    "parts of a GIF's block": GIF + b"!\xfe" + b"\x01x" * (LARGE // 2),
    "blocks of a GIF": GIF + b"!\xfe\x00" * (LARGE // 3),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_no_image_is_looked_at_without_end(what: str) -> None:
    content = Counted(HOSTILE[what])
    assert read_image_header(content) is None
    assert content.looks <= 4 * max(MAX_SEGMENTS, MAX_GIF_PARTS) + 10


async def test_a_file_is_looked_at_beside_the_event_loop_and_once() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("File?", form=FORM)
        content = Counted(GIF + b";" + b"\0" * 100)
        looks = Counted(content)
        read_image_header(looks)
        sniffed = Counted(content)
        file = await inbox.attach(request.id, "file", "a.gif", sniffed, by="ann")
        assert file["media_type"] == "image/gif"
        assert threading.get_ident() not in sniffed.threads
        # What is more are the parts that are stored.
        assert sniffed.looks == looks.looks + 1


@pytest.mark.parametrize(
    ("name", "cleaned"),
    [
        ("Quarterly report without any ending", "Quarterly report without any ending"),
        ("v1.2 of the report without any ending", "v1.2 of the report without any ending"),
        ("x" * 200, "x" * MAX_NAME),
        ("x" * 200 + ".pdf", "x" * (MAX_NAME - 4) + ".pdf"),
        ("a.b", "a.b"),
        (".env", "env"),
        ("...", "file"),
    ],
)
def test_a_name_keeps_what_comes_before_its_ending(name: str, cleaned: str) -> None:
    assert clean_file_name(name) == cleaned


FIELDS = Form([Attachment(f"f{n}", max_size=MAX_FILE) for n in range(5)])


async def test_another_file_for_a_field_replaces_the_one_before() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("File?", form=FORM)
        first = await inbox.attach(request.id, "file", "a.txt", b"of ben", by="ben")
        files = [await inbox.attach(request.id, "file", f"{n}.txt", b"x", by="ann") for n in range(MAX_FILES + 2)]
        assert await inbox.attachment(request.id, first["number"]) == b"of ben"
        for file in files[:-1]:
            with pytest.raises(NotFoundError):
                await inbox.attachment(request.id, file["number"])
        with pytest.raises(InvalidError, match="attach it again"):
            await respond(inbox, request, files[0], "ann")
        await respond(inbox, request, files[-1], "ann")
        assert await inbox.attachment(request.id, files[-1]["number"]) == b"x"


async def respond(inbox: StoreInbox, request: Request, file: AttachedFile, by: str) -> Request:
    return await inbox.respond(request, "approve", {"file": file}, by=by)


async def test_what_one_person_attaches_keeps_nobody_else_from_answering() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("Files?", form=FIELDS)
        content = b"x" * MAX_FILE
        for n in range(4):
            await inbox.attach(request.id, f"f{n}", "a", content, by="mallory")
        with pytest.raises(InvalidError, match=f"exceed {MAX_TOTAL} bytes"):
            await inbox.attach(request.id, "f4", "a", b"x", by="mallory")
        await inbox.attach(request.id, "f0", "a", content, by="mallory")
        file = await inbox.attach(request.id, "f4", "a", content, by="ann")
        done = await inbox.respond(request, "approve", {"f4": file}, by="ann")
        assert done.status == "completed"


@pytest.mark.parametrize(
    ("uploads", "says"),
    [
        ([("ben", 1)] * (MAX_FILES * PEOPLE - 1), ""),
        ([("ben", 1)] * (MAX_FILES * PEOPLE), f"{MAX_FILES * PEOPLE} files"),
        ([("ann", 1)] * MAX_FILES, f"{MAX_FILES} files"),
        ([("ben", MAX_TOTAL)] * PEOPLE, f"exceed {MAX_TOTAL * PEOPLE} bytes"),
        ([("ann", 0)] * (MAX_UPLOADS - 1), ""),
        ([("ann", 0)] * MAX_UPLOADS, f"{MAX_UPLOADS} files"),
        ([("ben", 0)] * MAX_UPLOADS * PEOPLE, f"{MAX_UPLOADS * PEOPLE} files"),
    ],
)
def test_a_person_and_all_people_together_have_limits(uploads: list[tuple[str, int]], says: str) -> None:
    """A size of 0 stands for a file that was replaced."""
    found = [IndexedFile(n, "file", by, size, is_gone=not size) for n, (by, size) in enumerate(uploads, 1)]
    if not says:
        return refuse_files_beyond_limit(found, "file", "ann", 1)
    with pytest.raises(InvalidError, match=says):
        refuse_files_beyond_limit(found, "file", "ann", 1)


async def test_a_file_that_an_answer_is_about_to_name_is_not_replaced() -> None:
    stream = MemoryStream()
    attachments = Attachments(stream)
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(1), eraser=Eraser(MemoryStore(), stream))
    request = await inbox.ask("File?", form=FORM)
    file = await inbox.attach(request.id, "file", "a.txt", b"sent", by="ann")
    read = partial(inbox.get, request.id)
    await attachments.check(request, {"file": file}, "ann", read=read, refuse=lambda _: None)
    other = await inbox.attach(request.id, "file", "b.txt", b"too late", by="ann")
    await respond(inbox, request, file, "ann")
    assert await inbox.attachment(request.id, file["number"]) == b"sent"
    with pytest.raises(NotFoundError):
        await inbox.attachment(request.id, other["number"])


async def test_an_answer_and_a_new_file_at_once_lose_no_file_of_an_answer() -> None:
    async with store_inbox("memory://") as inbox:
        for n in range(30):
            request = await inbox.ask(f"File {n}?", form=FORM)
            file = await inbox.attach(request.id, "file", "a.txt", b"sent", by="ann")
            other = inbox.attach(request.id, "file", "b.txt", b"other", by="ann")
            await asyncio.gather(other, respond(inbox, request, file, "ann"), return_exceptions=True)
            if (await inbox.get(request.id)).is_final:
                assert await inbox.attachment(request.id, file["number"]) == b"sent"


async def test_a_refused_answer_keeps_no_file_from_being_replaced() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("File?", form=Form([*FORM.fields, Number("amount", required=True)]))
        file = await inbox.attach(request.id, "file", "a.txt", b"first", by="ann")
        with pytest.raises(InvalidError, match="amount"):
            await respond(inbox, request, file, "ann")
        await inbox.attach(request.id, "file", "b.txt", b"second", by="ann")
        with pytest.raises(NotFoundError):
            await inbox.attachment(request.id, file["number"])


async def test_who_answers_a_moment_too_late_hears_who_won() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("File?", form=FORM)
        ann, ben = [await inbox.attach(request.id, "file", "a", b"x", by=by) for by in ("ann", "ben")]
        answers = respond(inbox, request, ann, "ann"), respond(inbox, request, ben, "ben")
        first, second = await asyncio.gather(*answers, return_exceptions=True)
        assert {getattr(each, "code", type(each)) for each in (first, second)} == {Request, "final"}


class Failing(MemoryStream):
    """A stream that is away when the files of an ended request are to go."""

    is_away = False

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        if self.is_away and fence == ERASED:
            raise UnavailableError("away")
        return await super().append(key, items, fence=fence)


@pytest.mark.parametrize("end", ["respond", "cancel"])
@pytest.mark.parametrize("is_away", [False, True])
async def test_files_that_were_never_sent_go_when_the_request_ends(end: str, is_away: bool) -> None:
    store, stream = MemoryStore(), Failing()
    inbox = StoreInbox(store, MemoryNotifier(1), eraser=Eraser(store, stream))
    request = await inbox.ask("File?", form=FORM)
    mine = await inbox.attach(request.id, "file", "a.txt", b"of ann", by="ann")
    await inbox.attach(request.id, "file", "b.txt", b"of ben", by="ben")
    stream.is_away = is_away
    if end == "respond":
        await respond(inbox, request, mine, "ann")
        assert await inbox.attachment(request.id, 1) == b"of ann"
    else:
        await inbox.cancel(request.id, by="bot")
    stream.is_away = False
    assert bool(await stream.read(file_key(request.key, 2))) == is_away
    # What was left an erasure finds.
    assert bool((await inbox.trail.erase(person="ben", by="root")).requests) == is_away
    assert await stream.read(file_key(request.key, 2)) == await stream.read(file_numbers_stream_key(request.key)) == []
    assert bool(await stream.read(file_key(request.key, 1))) == (end == "respond")
