"""A mail gives the titles that Ringi itself wrote in the language of its reader."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ringi.base.texts import Language, Sentence, sentences_text
from ringi.delivery.mail import compose_mail
from ringi.delivery.settings import Mailbox, MailSettings
from ringi.domain.ask import Ask, Wording
from ringi.domain.request import Request

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)


def subject(request: Request, language: Language) -> str:
    """Return the title in the subject of a mail, which its text repeats."""
    mailbox = Mailbox(name="ann", address="ann@example.com", language=language)
    settings = MailSettings(
        server="smtp://127.0.0.1", sender="ringi@example.com", page="https://ringi.example", mailboxes=(mailbox,)
    )
    mail = compose_mail(settings, mailbox, "evt", "request.created", request)
    plain = mail.get_body(("plain",))
    title = str(mail["Subject"]).partition(": ")[2]
    assert plain is not None
    assert title in plain.get_content()
    return title


def request_of(title: str, *wording: Sentence, **more: Any) -> Request:
    own = Wording(title=wording) if wording else None
    return Request.asked(Ask(title=title, wording=own, **more), id="r1", now=NOON, by="agent:bot")[0]


@pytest.mark.parametrize(
    ("sentence", "ja", "zh"),
    [
        (
            Sentence(code="finished", params={"task": "俳句を書く {} {0}"}),
            "完了してよいですか：俳句を書く {} {0}",
            "任务完成了吗：俳句を書く {} {0}",
        ),
        (
            Sentence(code="finished_untitled"),
            "完了してよいですか：内容のないタスク",
            "任务完成了吗：没有内容的任务",
        ),
        (Sentence(code="stopped", params={"task": "x"}), "途中で止まりました：x", "中途停止：x"),
        (Sentence(code="previous_task"), "これまでのタスクは完了ですか？", "之前的任务完成了吗？"),
        (Sentence(code="new_task"), "新しいタスクは何ですか？", "新任务是什么？"),
        (Sentence(code="learn", params={"insight": "Clamp first"}), "学習：「Clamp first」", "学习：“Clamp first”"),
    ],
)
def test_a_title_of_ringi_is_translated(sentence: Sentence, ja: str, zh: str) -> None:
    english = sentences_text([sentence], "en")
    request = request_of(english, sentence)

    assert [subject(request, language) for language in ("en", "ja", "zh")] == [english, ja, zh]


def test_an_agent_cannot_show_one_title_under_the_digest_of_another() -> None:
    request = request_of("Delete the database?", Sentence(code="finished", params={"task": "a haiku"}))

    assert subject(request, "ja") == "Delete the database?"


def test_a_title_without_codes_stays_as_it_is_stored() -> None:
    assert subject(request_of("Is this finished: x", kind="finish"), "ja") == "Is this finished: x"


def test_the_digest_of_a_request_does_not_depend_on_its_codes() -> None:
    sentence = Sentence(code="new_task")

    assert request_of("What is the new task?", sentence).digest == request_of("What is the new task?").digest
