"""What a mail server receives, byte by byte, when an agent writes headers and encoded words into its question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from hypothesis import given
from hypothesis import strategies as st
from tests.delivery.office import office, settings
from tests.server.world import until
from tests.servers import free_port

from ringi.base.settings import SettingError, Settings
from ringi.delivery.mail import compose_mail, mail_line_of_text
from ringi.delivery.settings import Mailbox, MailSettings
from ringi.domain.ask import Ask
from ringi.domain.request import Request

ANN = Mailbox(name="ann", address="ann@example.com")
HEADERS = ["Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted", "MIME-Version", "Content-Type"]
INJECTION = "=?utf-8?q?hi=0d=0aReply-To:_e=40x.test=0d=0a=0d=0a<h1>x</h1>?="
HOSTILE = (
    INJECTION,
    "=?utf-8?b?aGkNClJlcGx5LVRvOiBlQHgudGVzdA0KDQo8aDE+eDwvaDE+?=",
    "=?utf-8?q?hi=0aReply-To:_e=40x.test=0a=0a<h1>x</h1>?=",
    f"Pay {INJECTION} now",
    f"請求書 {INJECTION} ✓",
    f"{'long ' * 40}{INJECTION}",
    "=?utf-8?q?one?= =?utf-8?q?=0d=0aReply-To:_e=40x.test?=",
    "=?us-ascii*en?q?hi=0d=0aReply-To:_e=40x.test?=",
    "hi\r\nReply-To: e@x.test\r\n\r\n<h1>x</h1>",
    "hi\u2028Reply-To: e@x.test\x85\x0b\x0c\x1c",
    "=?utf-8?q?=F0=9F?=",
    "=?unknown-8bit?b?////?=",
    "=?utf-8?q?" + "=?utf-8?q?x?=" * 20 + "?=",
)


class RawReceiver:
    """A mail server that keeps the bytes of each mail."""

    def __init__(self) -> None:
        self.mails: list[bytes] = []
        self.recipients: list[str] = []

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:  # noqa: N802
        self.mails.append(envelope.original_content)
        self.recipients += envelope.rcpt_tos
        return "250 taken"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[RawReceiver, str]]:
    receiver, port = RawReceiver(), free_port()
    controller = Controller(receiver, hostname="127.0.0.1", port=port)
    controller.start()
    yield receiver, f"smtp://127.0.0.1:{port}"
    controller.stop()


def mailing(url: str, sender: str = "Ringi <ringi@example.com>") -> MailSettings:
    return MailSettings(server=url, sender=sender, page="https://inbox.example.com", mailboxes=(ANN,))


async def test_no_title_or_name_of_an_action_writes_headers_or_a_body(server: tuple[RawReceiver, str]) -> None:
    receiver, url = server
    async with office("memory://", settings(mail=mailing(url))) as here:
        for number, text in enumerate(HOSTILE):
            action = {"name": text[:200], "args": {}}
            # A name with a control character is refused before any mail.
            by = f"agent:{''.join(filter(str.isprintable, text))}"
            await here.inbox.submit(Ask.parse({"title": text, "assignee": "ann", "action": action}), by=by)
            await until(lambda count=number: len(receiver.mails) > count)  # type: ignore[misc]

    assert receiver.recipients == ["ann@example.com"] * len(HOSTILE)
    for text, raw in zip(HOSTILE, receiver.mails, strict=True):
        check(raw, text, "A question waits for you")


def check(raw: bytes, title: str, words: str) -> None:
    head, _, _ = raw.partition(b"\r\n\r\n")
    names = [line.partition(b":")[0].decode() for line in head.split(b"\r\n") if not line.startswith((b" ", b"\t"))]
    assert sorted(names) == sorted(HEADERS)
    # Besides the subject no header has an encoded word, and the subject's decode, once, to what the agent wrote.
    mail = message_from_bytes(raw)
    assert not [name for name in names if name != "Subject" and "=?" in mail[name]]
    words_of_subject = re.sub(r"=\?utf-8\?[qb]\?[!->@-~]*\?=", "", mail["Subject"])
    assert not words_of_subject.strip()
    assert str(make_header(decode_header(mail["Subject"]))) == f"{words}: {mail_line_of_text(title)}"[:200]
    assert [part.get_content_type() for part in mail.walk()] == ["multipart/alternative", "text/plain", "text/html"]
    html = next(part.get_payload(decode=True) for part in mail.walk() if part.get_content_type() == "text/html")
    assert isinstance(html, bytes)
    assert html.startswith(b"<!doctype html>")
    assert html.count(b"<h1>") == 1


@given(
    title=st.lists(
        st.one_of(
            st.text(max_size=8),
            st.sampled_from(["=?", "?=", "utf-8", "?q?", "?b?", "=0d=0a", "\r\n", " ", "\t", "DQo=", ":", "<", "稟議"]),
        ),
        min_size=1,
    ).map("".join)
)
def test_whatever_the_text_a_mail_has_the_same_headers(title: str) -> None:
    at = datetime(2026, 11, 23, tzinfo=UTC)
    ask = Ask(title="x", assignee="ann", id="q1")
    request = Request.asked(ask, tenant="default", id="q1", now=at, by="agent:a")[0]
    request = request.model_copy(update={"title": title, "asked_by": title})

    mail = compose_mail(mailing("smtp://localhost"), ANN, "0" * 32, "request.created", request)

    check(mail.as_bytes(policy=policy.SMTP), title, "A question waits for you")


@pytest.mark.parametrize("local", ["=?utf-8?q?a=0d=0aBcc:_b?=", "a,b", "a<b", 'a"b', "a:b", "a b"])
def test_an_address_that_is_more_than_one_address_is_refused_at_the_start(local: str) -> None:
    variables = {
        "RINGI_SMTP_URL": "smtp://localhost",
        "RINGI_MAIL_FROM": "ringi@example.com",
        "RINGI_PUBLIC_URL": "https://inbox.example.com",
        "RINGI_MAIL_TO": f'[{{"name": "ann", "address": "{local.replace(chr(34), chr(92) + chr(34))}@example.com"}}]',
    }
    with pytest.raises(SettingError, match=r"RINGI_MAIL_TO.*address"):
        MailSettings.of(Settings.load(variables))
