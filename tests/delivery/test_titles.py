"""A mail gives the titles that Ringi itself wrote in the language of its reader."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ringi.delivery.mail import compose
from ringi.delivery.mail_settings import Language, Mailbox, MailSettings
from ringi.delivery.titles import NO_TEXT, NO_TEXTS, TITLES, title_of
from ringi.domain.ask import Ask, Kind
from ringi.domain.request import Request

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]


def request_of(title: str, kind: Kind) -> Request:
    return Request.asked(Ask(title=title, kind=kind), id="r1", now=NOON, by="agent:bot")[0]


@pytest.mark.parametrize(
    ("title", "kind", "ja", "zh"),
    [
        ("Is this finished: 俳句を書く", "finish", "完了してよいですか：俳句を書く", "任务完成了吗：俳句を書く"),
        (
            f"Is this finished: {NO_TEXT}",
            "finish",
            "完了してよいですか：内容のないタスク",
            "任务完成了吗：没有内容的任务",
        ),
        ("Stopped before its end: x", "finish", "途中で止まりました：x", "中途停止：x"),
        ("Is the task before completed?", "finish", "これまでのタスクは完了ですか？", "之前的任务完成了吗？"),
        ("What is the new task?", "question", "新しいタスクは何ですか？", "新任务是什么？"),
        ("Learn: “Clamp first”", "learning", "学習：「Clamp first」", "学习：“Clamp first”"),
    ],
)
def test_a_title_of_ringi_is_translated(title: str, kind: Kind, ja: str, zh: str) -> None:
    request = request_of(title, kind)
    assert [title_of(request, language) for language in ("en", "ja", "zh")] == [title, ja, zh]


def test_the_title_of_an_agent_stays_as_it_is() -> None:
    assert title_of(request_of("Is this finished: x", "form"), "ja") == "Is this finished: x"
    assert title_of(request_of("May I say: Is this finished: x", "finish"), "ja") == "May I say: Is this finished: x"
    assert title_of(request_of("Is this finished: {} {0}", "finish"), "ja") == "完了してよいですか：{} {0}"


@pytest.mark.parametrize(
    ("language", "title"), [("en", "Is this finished: x"), ("ja", "完了してよいですか：x"), ("zh", "任务完成了吗：x")]
)
def test_a_mail_has_the_title_in_the_language_of_its_reader(language: Language, title: str) -> None:
    mailbox = Mailbox(name="ann", address="ann@example.com", language=language)
    settings = MailSettings(
        server="smtp://127.0.0.1", sender="ringi@example.com", page="https://ringi.example", mailboxes=(mailbox,)
    )
    mail = compose(settings, mailbox, "evt", "request.created", request_of("Is this finished: x", "finish"))
    plain = mail.get_body(("plain",))
    assert mail["Subject"].endswith(f": {title}")
    assert plain is not None
    assert title in plain.get_content()


def test_the_gate_asks_with_these_titles_and_the_page_translates_them_alike() -> None:
    gate = (ROOT / "src/ringi/integrations/langchain/finish_gate.py").read_text("utf-8")
    learning = (ROOT / "src/ringi/engrammer/learning.py").read_text("utf-8")
    pages = {language: (ROOT / f"ui/src/strings/{language}/request.ts").read_text("utf-8") for language in ("ja", "zh")}
    for english, translations in (pair for titles in TITLES.values() for pair in titles):
        assert english.removesuffix(": {}").removesuffix("{}”") in gate + learning
        for language, text in translations.items():
            for part in text.split("{}"):
                assert part in pages[language]
    assert NO_TEXT in gate
    assert all(text in pages[language] for language, text in NO_TEXTS.items() if language in pages)
