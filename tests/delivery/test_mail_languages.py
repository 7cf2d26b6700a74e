"""A mail is in the language of its reader: subject, text, button and the descriptions of what is shown."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.message import EmailMessage
from string import Formatter

import pytest
from tests.delivery.office import office
from tests.delivery.test_mail import PostOffice, mailing, post, text_of
from tests.server.world import until

from ringi.base.texts import LANGUAGES, Language
from ringi.delivery.mail import TEXTS, compose_mail
from ringi.delivery.settings import Mailbox, MailSettings
from ringi.domain import display
from ringi.domain.ask import Action, Ask
from ringi.domain.events import MAIL_EVENTS
from ringi.domain.request import Request

__all__ = ["post"]

OTHERS: tuple[Language, ...] = ("ja", "zh")
NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
DATA = re.compile(r"https://\S+|<[^>]*>|&\w+;|refund|agent:bot|ann|UTC|https|shop|example|com")
BLOCKS = (
    display.Table(columns=("額",), rows=(("40",),) * 30),
    display.Code(text="40"),
    display.Diff(before="40", after="41"),
    display.Link(title="注文", url="https://shop.example.com/1"),
)


def english_words(mail: EmailMessage) -> list[str]:
    """Return the words in a mail that are neither data nor markup."""
    texts = (str(mail["Subject"]), text_of(mail, "plain"), text_of(mail, "html"))
    return [word for text in texts for word in re.findall("[A-Za-z]{2,}", DATA.sub("", text))]


def placeholders(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def test_each_language_has_every_text_of_a_mail() -> None:
    assert TEXTS.keys() == {*LANGUAGES}
    for language in OTHERS:
        assert TEXTS[language].keys() == TEXTS["en"].keys() >= {*MAIL_EVENTS}
        for name, text in TEXTS["en"].items():
            own = TEXTS[language][name]
            assert placeholders(own) == placeholders(text)
            assert not re.search("[A-Za-z]", re.sub(r"\{\w+\}", "", own)), name


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("event", MAIL_EVENTS)
def test_no_english_word_is_in_a_mail(language: Language, event: str) -> None:
    mailbox = Mailbox(name="ann", address="ann@example.com", language=language)
    settings = MailSettings(server="smtp://x", sender="r@example.com", page="https://x.example", mailboxes=(mailbox,))
    ask = Ask(title="返金", action=Action("refund"), due_at=NOON, expires_in=60, display=BLOCKS)
    request, _ = Request.asked(ask, id="r1", now=NOON, by="ann")

    assert english_words(compose_mail(settings, mailbox, "e1", event, request)) == []


@pytest.mark.parametrize("language", OTHERS)
async def test_the_mail_that_arrives_has_no_english_word(store_url: str, post: PostOffice, language: Language) -> None:
    reader = Mailbox(name="ann", address="ann@example.com", language=language)
    async with office(store_url, mailing(post, reader)) as here:
        await here.asked(id="q1", title="返金", assignee="ann", action={"name": "refund"})
        await until(lambda: len(post.mails) == 1)

    assert english_words(post.mails[0]) == []
