"""Mails through a real mail server, and a scanner that opens every link in them."""

from __future__ import annotations

import email
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from email.message import EmailMessage
from email.policy import default
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller
from tests.delivery.office import office, settings
from tests.server.world import open_world, until
from tests.servers import free_port

from ringi.base.clock import utc_now
from ringi.base.settings import SettingError, Settings
from ringi.delivery.settings import DeliverySettings, Mailbox, MailSettings
from ringi.domain.voting import Decider, Person

ANN = Mailbox(name="ann", address="ann@example.com", language="ja")
BEN = Mailbox(name="ben", address="ben@example.com", groups=("support",), language="zh")
EVE = Mailbox(name="eve", address="eve@example.com", tenant="other")


ROOT = Mailbox(name="root", address="root@example.com", admin=True)


class PostOffice:
    """A mail server that keeps what it takes, and turns away as often as it was told."""

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.to: list[str] = []
        self.refusals = 0
        self.url = ""

    async def handle_QUIT(self, _: Any, __: Any, ___: Any) -> str:  # noqa: N802
        return "250 a wrong word at the end"

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:  # noqa: N802
        if self.refusals:
            self.refusals -= 1
            return "451 come back later"
        self.mails.append(email.message_from_bytes(envelope.content, policy=default))
        self.to += envelope.rcpt_tos
        return "250 taken"


@pytest.fixture
def post() -> Iterator[PostOffice]:
    post = PostOffice()
    port = free_port()
    controller = Controller(post, hostname="127.0.0.1", port=port)
    controller.start()
    post.url = f"smtp://127.0.0.1:{port}"
    yield post
    controller.stop()


def mailing(post: PostOffice, *mailboxes: Mailbox, page: str = "https://inbox.example.com") -> DeliverySettings:
    return settings(mail=MailSettings(server=post.url, sender="ringi@example.com", page=page, mailboxes=mailboxes))


def text_of(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body((kind,))
    assert part
    return str(part.get_content())


@pytest.mark.parametrize("to", [{"assignee": "zoe"}, {"groups": ["nobody"]}], ids=["a name", "a group"])
async def test_what_nobody_known_may_answer_is_told_to_who_administers(
    store_url: str, post: PostOffice, to: dict[str, Any]
) -> None:
    async with office(store_url, mailing(post, ANN, ROOT, EVE)) as here:
        await here.settled(await here.asked(assignee="ann"), "delivered")
        assert post.to == ["ann@example.com"]
        lost = await here.asked(**to)
        await here.settled(lost, "delivered")
        assert post.to[1:] == ["root@example.com"]
        await here.inbox.reassign(lost.id, assignee="ann", by=Decider("root", is_admin=True))
        await here.settled(lost, "delivered", "delivered")
        assert post.to[2:] == ["ann@example.com"]


async def test_that_nobody_at_all_is_told_stands_in_the_log(
    store_url: str, post: PostOffice, caplog: pytest.LogCaptureFixture
) -> None:
    async with office(store_url, mailing(post, ANN, EVE)) as here:
        lost = await here.asked(assignee="zoe", groups=["none"])
        await here.settled(await here.asked(), "delivered")
        assert f"may answer request {lost.id}, for zoe, none; add them or an admin" in caplog.text
        assert post.to == ["ann@example.com"]


async def test_who_may_answer_is_told_in_their_language(store_url: str, post: PostOffice) -> None:
    async with office(store_url, mailing(post, ANN, BEN, EVE)) as here:
        action = {"name": "refund", "args": {"iban": "DE99"}}
        await here.asked(id="q1", title="Refund 40?", assignee="ann", action=action)
        await here.asked(id="q2", title="Ship it?", groups=["support"])
        await until(lambda: len(post.mails) == 2)

    assert sorted(post.to) == ["ann@example.com", "ben@example.com"]
    mail = next(mail for mail in post.mails if mail["To"] == "ann@example.com")
    assert mail["Subject"] == "回答待ちの依頼があります: Refund 40?"
    for kind in ("plain", "html"):
        assert "https://inbox.example.com/r/q1" in text_of(mail, kind)
        assert "refund" in text_of(mail, kind)
        assert "DE99" not in text_of(mail, kind)


async def test_the_deputy_of_a_person_who_is_away_gets_the_mail_too(store_url: str, post: PostOffice) -> None:
    dee = Mailbox(name="dee", address="dee@example.com")
    async with office(store_url, mailing(post, ANN, BEN, dee, ROOT)) as here:
        await here.inbox.people.leave("dee", utc_now() + timedelta(days=1), by=Person("ben", ("support",)))
        to_name, to_group = await here.asked(assignee="ben"), await here.asked(groups=["support"])
        for request in (to_name, to_group):
            await here.settled(request, "delivered", "delivered")
        assert sorted(post.to) == ["ben@example.com", "ben@example.com", "dee@example.com", "dee@example.com"]
        await here.inbox.people.come_back(by="ben")
        await here.settled(await here.asked(assignee="ben"), "delivered")
        assert post.to[4:] == ["ben@example.com"]


async def test_a_mail_server_that_is_busy_gets_the_mail_later_and_once(store_url: str, post: PostOffice) -> None:
    post.refusals = 2
    async with office(store_url, mailing(post, ANN)) as here:
        request = await here.asked(assignee="ann")
        (delivery,) = await here.settled(request, "delivered")

    assert [each.code for each in delivery.tries] == [451, 451, 250]
    assert (len(post.mails), delivery.host) == (1, "mail to ann")


async def test_a_mail_server_that_hangs_up_rudely_gets_no_mail_twice(store_url: str, post: PostOffice) -> None:
    async with office(store_url, mailing(post, ANN)) as here:
        request = await here.asked(assignee="ann")
        (delivery,) = await here.settled(request, "delivered")

    assert (len(post.mails), len(delivery.tries)) == (1, 1)


async def test_a_mail_that_nobody_needs_any_more_is_not_sent(store_url: str, post: PostOffice) -> None:
    post.refusals = 1
    async with office(store_url, mailing(post, ANN).model_copy(update={"schedule": (0.0, 0.5, 0.5)})) as here:
        request = await here.asked(assignee="ann")
        await here.settled(request, "waiting")
        await here.answered(request)
        await here.settled(request, "failed")

    assert post.mails == []


async def test_an_expiry_and_a_request_that_was_passed_on_are_told(store_url: str, post: PostOffice) -> None:
    ahead = timedelta()
    async with office(store_url, mailing(post, ANN, BEN), lambda: utc_now() + ahead) as here:
        request = await here.asked(assignee="ann", expires_in=3600)
        await until(lambda: len(post.mails) == 1)
        await here.inbox.reassign(request.id, assignee="ben", by="ann")
        await until(lambda: len(post.mails) == 2)
        ahead = timedelta(hours=1)
        await here.inbox.expire_due()
        await until(lambda: len(post.mails) == 3)

    assert post.to == ["ann@example.com", "ben@example.com", "ben@example.com"]
    assert [str(mail["Subject"]).partition(":")[0] for mail in post.mails[1:]] == [
        "有一项请求转交给您",
        "请求已过期，无人答复",
    ]


async def test_the_words_of_an_agent_do_nothing_in_a_mail(store_url: str, post: PostOffice) -> None:
    evil = "Hi\r\nBcc: all@example.com\r\n\r\n<script>alert(1)</script>\u202eoffer <a href=https://evil.example>x</a>"
    async with office(store_url, mailing(post, ANN)) as here:
        await here.asked(assignee="ann", title=evil)
        await until(lambda: len(post.mails) == 1)

    (mail,) = post.mails
    assert (mail["Bcc"], post.to) == (None, ["ann@example.com"])
    assert "\u202e" not in str(mail["Subject"])
    assert "<script" not in text_of(mail, "html")
    own = f"https://inbox.example.com/r/{link(mail)}"
    assert re.findall(r'<a href="([^"]+)', text_of(mail, "html")) == [own]
    # A program that shows mail makes links of what looks like one.
    assert re.findall(r"https?://\S+", text_of(mail, "plain")) == [own]


def link(mail: EmailMessage) -> str:
    found = re.search(r"/r/(\w+)", text_of(mail, "plain"))
    assert found
    return found[1]


@asynccontextmanager
async def scanner() -> AsyncIterator[httpx.AsyncClient]:
    """What a mail server sends ahead of a person."""
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False, timeout=10) as client:
        yield client


async def test_a_scanner_that_opens_every_link_changes_nothing(post: PostOffice) -> None:
    configuration = mailing(post, ANN)
    async with open_world("memory://", serves=True, delivery=configuration) as world, scanner() as client:
        request = await world.asked(assignee="ann", action={"name": "refund", "args": {}})
        await until(lambda: len(post.mails) == 1)
        (mail,) = post.mails
        before = await world.inbox.events()

        seen, waiting = set[str](), [f"/r/{link(mail)}", *re.findall(r'href="([^"]+)"', text_of(mail, "html"))]
        while waiting:
            path = waiting.pop().replace("https://inbox.example.com", "")
            if path in seen or not path.startswith("/"):
                continue
            seen.add(path)
            for method in ("HEAD", "GET"):
                reply = await client.request(method, world.url + path)
            waiting += re.findall(r"""(?:href|src|action)=["']?([^"' >]+)""", reply.text)
            waiting += re.findall(r"/v1/requests[\w/{}-]*", reply.text) if "json" in path else []
        for verb in ("respond", "claim", "release", "cancel", "reassign", ""):
            for method in ("HEAD", "GET"):
                reply = await client.request(method, f"{world.url}/v1/requests/{request.id}/{verb}".rstrip("/"))
                assert reply.status_code in (401, 404, 405)

        assert await world.inbox.events() == before
        assert (await world.inbox.get(request.id)).status == "pending"
        reply = await world.client("person", "ann").post(
            f"/v1/requests/{request.id}/respond", json={"decision": "approve", "digest": request.digest}
        )
        assert reply.status_code == 200


PEOPLE = json.dumps([{"name": "ann", "address": "ann@example.com"}])
WHOLE = {
    "RINGI_SMTP_URL": "smtp://a:b@127.0.0.1:2525",
    "RINGI_MAIL_FROM": "ringi@example.com",
    "RINGI_PUBLIC_URL": "https://inbox.example.com/",
    "RINGI_MAIL_TO": PEOPLE,
}


def test_the_environment_says_who_gets_mail() -> None:
    mail = DeliverySettings.of(Settings.load(WHOLE)).mail

    assert mail
    assert mail.parts == ("smtp", "127.0.0.1", 2525, "a", "b")
    assert (mail.page, [box.name for box in mail.mailboxes]) == ("https://inbox.example.com", ["ann"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RINGI_SMTP_URL", "mail.example.com"),
        ("RINGI_SMTP_URL", "https://mail.example.com"),
        ("RINGI_SMTP_URL", "smtp://"),
        ("RINGI_SMTP_URL", "smtp://:587"),
        ("RINGI_MAIL_FROM", ""),
        ("RINGI_PUBLIC_URL", ""),
        ("RINGI_MAIL_TO", "nowhere.json"),
        ("RINGI_MAIL_TO", '[{"name": "ann", "address": "ann@example.com\\nBcc: b@example.com"}]'),
    ],
)
def test_mail_that_could_not_be_sent_is_refused_at_the_start(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        DeliverySettings.of(Settings.load({**WHOLE, name: value}))
