"""What a request shows beside its words: bounded, checked, under the digest, and plain where there is no page."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raising import raises_code
from tests.tiers import examples

import ringi
from ringi.cli.format.requests import full_request_text
from ringi.domain import Code, Diff, Image, Link, Table
from ringi.domain.ask import Ask, request_content_digest
from ringi.domain.display import MAX_IMAGE, MAX_ROWS, Block, display_block_summary
from ringi.domain.media import read_image_header
from ringi.errors import InvalidError


def png(width: int = 2, height: int = 2, padding: int = 0) -> bytes:
    """Return a PNG, as long as wanted."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress(b"\0" * 9))
    return b"\x89PNG\r\n\x1a\n" + head + rows + chunk(b"teXt", b"x" * padding) + chunk(b"IEND", b"")


def text(content: bytes) -> str:
    return base64.b64encode(content).decode()


BLOCKS: list[Block] = [
    Table(title="Overdue", columns=["customer", "amount"], rows=[["c-77", 4000], ["c-78", None]]),
    Image(data=png(), alt="The damaged parcel"),
    Code(text="DELETE FROM orders\nWHERE id = 1182;", language="sql"),
    Diff(title="terms.md", before="30 days\nfree", after="14 days\nfree"),
    Link(title="The ticket", url="https://example.com/t/1?a=b"),
]

# As the last version without `display` wrote them.
BEFORE: list[tuple[dict[str, Any], str]] = [
    ({"title": "Go?"}, "sha256:0ad236f693dcea8305d67341a72aa5880c51b532651d685c5e8a8b6fa2f96411"),
    (
        {
            "title": "Refund?",
            "description": "It was late",
            "action": {"name": "refund", "args": {"order": 1182, "amount": 40.5}},
            "context": {"memory_category": "x"},
            "priority": "high",
            "actions": {"approve": {"label": "Pay"}},
        },
        "sha256:0e4dd6d8b79fed323801afb5f622ee04b01f4d75bbdc17a7feb7b85b9e0d5dff",
    ),
    (
        {
            "title": "Which?",
            "form": {
                "fields": [{"type": "select", "name": "a", "options": ["x", 1]}, {"type": "date", "name": "d"}],
            },
            "fallback": {"a": 1},
            "allowed": ["approve"],
        },
        "sha256:9bd2fddf3b2947801f0fb154503805ec85bbccdf850b7ac1e3051214b125a574",
    ),
]


@pytest.mark.parametrize(("body", "digest"), BEFORE)
def test_the_digest_of_an_ask_that_displays_nothing_is_what_it_always_was(body: dict[str, Any], digest: str) -> None:
    assert (
        request_content_digest(Ask.parse(body)) == request_content_digest(Ask.parse({**body, "display": []})) == digest
    )


async def test_what_is_displayed_is_under_the_digest_and_survives_the_store(tmp_path: Any) -> None:
    async with ringi.open(f"sqlite:///{tmp_path}/ringi.db") as inbox:
        asked = await inbox.ask("Pay?", id="r1", display=BLOCKS)
        assert (await inbox.get("r1")).display == tuple(BLOCKS)
        assert await inbox.ask("Pay?", id="r1", display=BLOCKS) == asked
        for other in (BLOCKS[:4], BLOCKS[::-1], [*BLOCKS[:4], Link(title="The ticket", url="https://example.com/t/2")]):
            with raises_code("different"):
                await inbox.ask("Pay?", id="r1", display=other)
        await inbox.cancel("r1", by="bot")
        erased = await inbox.erase("r1", by="root")
        assert (erased.display, erased.digest) == (None, asked.digest)


def test_python_and_json_say_the_same() -> None:
    body = {"title": "Pay?", "display": [block.model_dump(mode="json") for block in BLOCKS]}
    assert request_content_digest(Ask.parse(body)) == request_content_digest(Ask(title="Pay?", display=BLOCKS))


WRONG: dict[str, dict[str, Any]] = {
    "display.0.url: 'javascript:alert(1)' is not a link": {"type": "link", "url": "javascript:alert(1)"},
    "'data:text/html,x' is not a link": {"type": "link", "url": "data:text/html,x"},
    "'https://a.example\\n.evil' is not a link": {"type": "link", "url": "https://a.example\n.evil"},
    "'//evil.example' is not a link": {"type": "link", "url": "//evil.example"},
    "'https://bаnk.example' is not a link": {"type": "link", "url": "https://bаnk.example"},
    r".bank.example/' is not a link": {"type": "link", "url": "https://evil.example\\.bank.example/"},
    "looks like another address": {"type": "link", "url": "https://bank.example@evil.example/"},
    "is no base64": {"type": "image", "data": "https://example.com/x.png", "alt": "x"},
    "is no PNG, JPEG, GIF or WebP": {"type": "image", "data": text(b"<svg onload='x()'/>"), "alt": "x"},
    "is no PNG": {"type": "image", "data": text(b"<!-- " + png() + b"-->"), "alt": "x"},
    f"at most {MAX_IMAGE} are allowed": {"type": "image", "data": text(png(padding=MAX_IMAGE)), "alt": "x"},
    "is 40000 × 40000 pixels": {"type": "image", "data": text(png(40_000, 40_000)), "alt": "x"},
    "alt": {"type": "image", "data": text(png())},
    "display.0.rows[1]: has 2 cells": {"type": "table", "columns": ["a"], "rows": [[1], [1, 2]]},
    "rows": {"type": "table", "columns": ["a"], "rows": [[1]] * (MAX_ROWS + 1)},
    "must be a number": {"type": "table", "columns": ["a"], "rows": [[{"b": 1}]]},
    "a cell has more than": {"type": "table", "columns": ["a"], "rows": [["x" * 2001]]},
    "language": {"type": "code", "text": "x", "language": "<script>"},
    "display.0": {"type": "video", "url": "https://example.com"},
    "html": {"type": "code", "text": "x", "html": "<b>"},
}


@pytest.mark.parametrize("says", WRONG)
def test_a_block_that_breaks_a_rule_is_refused_by_name(says: str) -> None:
    with pytest.raises(InvalidError) as refused:
        Ask.parse({"title": "Go?", "display": [WRONG[says]]})
    assert says in str(refused.value)
    assert all(error.field.startswith("display.0") for error in refused.value.errors)


def test_an_image_of_the_last_byte_fits() -> None:
    padding = MAX_IMAGE - len(png())
    block = {"type": "image", "data": text(png(padding=padding)), "alt": "x"}
    assert Ask.parse({"title": "Go?", "display": [block]}).display


def test_more_blocks_than_ten_are_refused() -> None:
    with pytest.raises(InvalidError, match="display"):
        Ask.parse({"title": "Go?", "display": [{"type": "code", "text": "x"}] * 11})


JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x20\x00\x10\x01\x01\x11\x00"
IMAGES = {
    "image/png": (png(3, 5), (3, 5)),
    "image/gif": (b"GIF89a" + struct.pack("<HH", 7, 9) + b"\0\0\0;", (7, 9)),
    "image/jpeg": (JPEG, (16, 32)),
    "image/webp": (b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0" + b"\0\0\0\0" + b"\x03\0\0" + b"\x04\0\0", (4, 5)),
}


@pytest.mark.parametrize("media_type", IMAGES)
def test_an_image_is_known_by_its_bytes_however_they_are_cut(media_type: str) -> None:
    content, size = IMAGES[media_type]
    assert read_image_header(content) == (media_type, *size)
    for end in range(len(content)):
        found = read_image_header(content[:end])
        assert found is None or found.media_type == media_type


def gif(*blocks: bytes, flags: int = 0, screen: tuple[int, int] = (7, 9)) -> bytes:
    return b"GIF89a" + struct.pack("<HHB", *screen, flags) + b"\0\0" + b"".join(blocks) + b";"


def frame(left: int, top: int, width: int, height: int, *, flags: int = 0) -> bytes:
    colors = b"\1" * (3 << (flags & 7) + 1) if flags & 0x80 else b""
    return b"," + struct.pack("<HHHHB", left, top, width, height, flags) + colors + b"\x02\x02L\x01\x01,\0"


CONTROL = b"!\xf9\x04\0\0\0\0\0"
COMMENT = b"!\xfe\x03a;,\x01;\0"
GIFS: dict[str, tuple[bytes, tuple[int, int] | None]] = {
    "one frame": (gif(frame(0, 0, 7, 9)), (7, 9)),
    "a frame that is larger than the screen": (gif(frame(0, 0, 60_000, 50_000)), (60_000, 50_000)),
    "a frame that reaches out of the screen": (gif(frame(5, 8, 7, 9)), (12, 17)),
    "a large frame behind others": (gif(CONTROL, frame(0, 0, 7, 9), COMMENT, CONTROL, frame(0, 0, 80, 5)), (80, 9)),
    "behind tables of colors": (gif(b"," * 12, frame(0, 0, 1, 1, flags=0x87), frame(0, 0, 9, 20), flags=0x81), (9, 20)),
    "cut off in its data": (gif(frame(0, 0, 99, 9))[:-3], (99, 9)),
    "something else between frames": (gif(frame(0, 0, 7, 9), b"\0", frame(0, 0, 60_000, 9)), None),
    "behind more parts than anybody draws": (gif(b"!\xfe" + b"\x01a" * 200_000 + b"\0", frame(0, 0, 60_000, 9)), None),
    "behind more blocks than anybody draws": (gif(b"!\xfe\0" * 200_000, frame(0, 0, 60_000, 9)), None),
}  # fmt: skip


@pytest.mark.parametrize("how", GIFS)
def test_a_gif_is_as_large_as_all_of_its_frames(how: str) -> None:
    content, size = GIFS[how]
    assert read_image_header(content) == (size and ("image/gif", *size))


def test_a_gif_whose_frame_is_too_large_is_refused() -> None:
    block = {"type": "image", "data": text(gif(frame(0, 0, 60_000, 50_000))), "alt": "x"}
    with pytest.raises(InvalidError, match="is 60000 × 50000 pixels"):
        Ask.parse({"title": "Go?", "display": [block]})


@settings(max_examples=examples(300), deadline=None)
@given(
    st.lists(
        st.sampled_from([CONTROL, COMMENT, frame(0, 0, 7, 9), b"!", b",", b"\xff", b"\0"]) | st.binary(max_size=12)
    )
)
def test_any_bytes_behind_the_beginning_of_a_gif_are_a_picture_or_none(blocks: list[bytes]) -> None:
    found = read_image_header(gif(*blocks))
    assert found is None or (found.width >= 7 and found.height >= 9)


async def test_a_terminal_shows_it_in_lines() -> None:
    async with ringi.open("memory://") as inbox:
        hidden = Code(text="safe\u202e# gnp.exe")
        asked = await inbox.ask("Pay?", display=[*BLOCKS, hidden, Diff(before="a\n" * 9_000, after="b\n" * 9_000)])
    lines = full_request_text(asked, []).split("\n")
    wanted = ("Table 2 × 2: Overdue", "  customer | amount", "  c-77 | 4000", "Image: The damaged parcel",
              "  WHERE id = 1182;", "  -30 days", "  +14 days", "   free", "  https://example.com/t/1?a=b")  # fmt: skip
    assert [line for line in wanted if line not in lines] == []
    assert "\u202e" not in "".join(lines)
    assert lines.count("  -a") == lines.count("  +b") == 9_000


def test_a_summary_is_one_line_for_each_kind() -> None:
    assert [display_block_summary(block) for block in BLOCKS] == [
        "Table 2 × 2: Overdue", "Image: The damaged parcel", "Code", "Change: terms.md", "Link: The ticket",
    ]  # fmt: skip
