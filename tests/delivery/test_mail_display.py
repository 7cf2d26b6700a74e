"""A mail shows the beginning of what a request displays, as plain text that leads nowhere."""

from __future__ import annotations

from typing import Any

import pytest
from tests.domain.test_display import BLOCKS

import ringi
from ringi.delivery.mail import compose_mail
from ringi.delivery.settings import Mailbox, MailSettings
from ringi.domain import Code, Diff, Link, Table
from ringi.domain.display import Block


async def mailed(blocks: list[Block], language: Any = "en") -> tuple[str, str]:
    """Return the text and the HTML of the mail about a request."""
    async with ringi.open("memory://") as inbox:
        asked = await inbox.ask("Pay?", display=blocks)
    box = Mailbox(address="ann@example.com", name="ann", language=language)
    settings = MailSettings(
        server="smtp://localhost", sender="ringi@example.com", page="https://inbox", mailboxes=(box,)
    )
    mail = compose_mail(settings, box, "m1", "request.created", asked)
    (body, html) = mail.iter_parts()
    return body.get_content(), html.get_content()


@pytest.mark.parametrize(("language", "word"), [("en", "Table"), ("ja", "表"), ("zh", "表格")])
async def test_rows_code_changes_and_links_are_shown_and_images_named(language: Any, word: str) -> None:
    for text in await mailed(BLOCKS, language):
        lines = text.splitlines()
        assert f"{word} 2 × 2: Overdue" in lines
        for line in ("  customer | amount", "  c-77 | 4000", "  c-78 |", "  DELETE FROM orders", "  WHERE id = 1182;"):
            assert line in lines, line
        for line in ("  - 30 days", "  + 14 days"):
            assert line in lines, line
        assert "free" not in text
        assert "The damaged parcel" in text
        assert "https: //example.com/t/1?a=b" in text.replace("&amp;", "&")


async def test_what_is_long_is_cut_and_says_how_much_is_left() -> None:
    table = Table(columns=["n"], rows=[[n] for n in range(100)])
    text, _ = await mailed([table, Code(text="x" * 5_000), Diff(before="", after="\n".join(map(str, range(30))))])
    lines = text.splitlines()
    assert "  18" in lines
    assert "  19" not in lines
    assert "  … 81 more on the page" in lines
    assert "  … 10 more on the page" in lines
    assert max(map(len, lines)) <= 202


async def test_nothing_in_it_is_a_link_a_header_or_markup() -> None:
    evil = "see https://evil.example\r\nBcc: eve@example.com \u202e <img src=x>"
    blocks: list[Block] = [
        Table(title="a\r\nBcc: eve@example.com", columns=["<b>"], rows=[[evil]]),
        Code(text=evil),
        Diff(before=evil, after="x"),
        Link(url="https://evil.example/"),
    ]
    for text in await mailed(blocks):
        assert "://evil" not in text
        assert "\nBcc" not in text
        assert "\u202e" not in text
    assert "<img" not in (await mailed(blocks))[1]
    assert "<b>" not in (await mailed(blocks))[1]


async def test_a_difference_of_many_equal_lines_is_no_puzzle() -> None:
    before, after = ("\n".join(f"{n % step}" for n in range(12_000)) for step in (211, 223))
    text, _ = await mailed([Diff(before=before, after=after)])
    assert "more on the page" in text


async def test_words_that_mix_alphabets_are_named() -> None:
    for text in await mailed([Table(columns=["to"], rows=[["ann@ex\u0430mple.com"], ["bob@example.com"]])]):
        assert "Look-alike letters of another alphabet: ann@ex\u0430mple.com: \u0430 (U+0430)" in text
    assert "Look-alike" not in (await mailed([Table(columns=["to"], rows=[["bob@example.com"]])]))[0]
