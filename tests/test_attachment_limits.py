"""What a hostile file costs, and what its name becomes."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import ringi
from ringi import Attachment, Form
from ringi.attachments import MAX_NAME, clean_name
from ringi.domain.media import MAX_GIF_PARTS, MAX_SEGMENTS, picture_of

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
    assert picture_of(content) is None
    assert content.looks <= 4 * max(MAX_SEGMENTS, MAX_GIF_PARTS) + 10


async def test_a_file_is_looked_at_beside_the_event_loop_and_once() -> None:
    async with ringi.open("memory://") as inbox:
        request = await inbox.ask("File?", form=FORM)
        content = Counted(GIF + b";" + b"\0" * 100)
        looks = Counted(content)
        picture_of(looks)
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
    assert clean_name(name) == cleaned
