"""Receivers and mail servers behind TLS, with good certificates and bad ones."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, LoginPassword
from tests.delivery.certificates import Authority
from tests.delivery.office import endpoint, office, settings
from tests.delivery.receivers import receiving
from tests.delivery.test_mail import ANN, PostOffice, mailing
from tests.server.world import open_world, until
from tests.servers import free_port

from ringi.delivery.attempt_log import Delivery
from ringi.delivery.settings import DeliverySettings

LOGIN = "ann:s%40fe@"
Made = Callable[[Authority], ssl.SSLContext]
BAD: list[tuple[Made, str]] = [
    (lambda authority: authority.server(self_signed=True), "self-signed certificate"),
    (lambda authority: authority.server(expired=True), "certificate has expired"),
    (lambda authority: authority.server("127.0.0.2"), "not valid for '127.0.0.1'"),
]


async def delivered(store_url: str, delivery_settings: DeliverySettings, status: str) -> Delivery:
    async with office(store_url, delivery_settings) as here:
        (delivery,) = await here.settled(await here.asked(assignee="ann"), status)
        return delivery


async def test_a_receiver_with_a_certificate_of_an_authority_in_ssl_cert_file_is_told(
    store_url: str, authority: Authority
) -> None:
    async with receiving(tls=authority.server()) as crm:
        await delivered(store_url, settings(endpoint(crm.url)), "delivered")

    assert crm.types == ["request.created"]


@pytest.mark.parametrize(("made", "why"), BAD)
async def test_a_receiver_with_a_bad_certificate_is_told_nothing_and_why_is_shown(
    authority: Authority, made: Made, why: str
) -> None:
    async with receiving(tls=made(authority)) as crm:
        delivery_settings = settings(endpoint(crm.url), schedule=(0.0,))
        async with open_world("memory://", delivery=delivery_settings) as world:
            request = await world.asked()
            client = world.client("admin")

            async def failed() -> bool:
                found = (await client.get(f"/v1/deliveries?request_id={request.id}")).json()["items"]
                return [each["status"] for each in found] == ["failed"]

            await until(failed)
            (delivery,) = (await client.get(f"/v1/deliveries?request_id={request.id}")).json()["items"]

    assert delivery["tries"][0]["error"].startswith("TLS: its certificate is not trusted: ")
    assert why in delivery["tries"][0]["error"]
    assert crm.got == []


async def test_a_receiver_that_speaks_no_tls_is_named_as_one() -> None:
    async def speak(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 What?\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(speak, "127.0.0.1", 0) as plain:
        url = f"https://127.0.0.1:{plain.sockets[0].getsockname()[1]}/"
        delivery = await delivered("memory://", settings(endpoint(url), schedule=(0.0,)), "failed")

    assert delivery.tries[0].error == "TLS: wrong version number"


class Login:
    """Who may send."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, _: Any, __: Any, ___: Any, ____: str, data: LoginPassword) -> AuthResult:
        self.seen.append((data.login.decode(), data.password.decode()))
        return AuthResult(success=data.password == b"s@fe", handled=False)


@contextmanager
def post_office(scheme: str, tls: ssl.SSLContext | None) -> Iterator[tuple[PostOffice, Login]]:
    """A mail server that wants a password; without a certificate it can speak no TLS."""
    post, login, port = PostOffice(), Login(), free_port()
    own: dict[str, Any] = {"authenticator": login, "auth_required": True, "auth_require_tls": tls is not None}
    if scheme == "smtps":
        own |= {"ssl_context": tls, "auth_require_tls": False, "auth_required": False}
    else:
        own |= {"tls_context": tls, "require_starttls": tls is not None}
    controller = Controller(post, hostname="127.0.0.1", port=port, **own)
    controller.start()
    post.url = f"{scheme}://{LOGIN}127.0.0.1:{port}"
    try:
        yield post, login
    finally:
        controller.stop()


@pytest.mark.parametrize("scheme", ["smtp", "smtp+starttls", "smtps"])
async def test_a_mail_goes_under_tls_with_a_login(store_url: str, authority: Authority, scheme: str) -> None:
    with post_office(scheme, authority.server()) as (post, login):
        await delivered(store_url, mailing(post, ANN), "delivered")

    assert post.to == ["ann@example.com"]
    assert login.seen == [("ann", "s@fe")]


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
@pytest.mark.parametrize(("made", "why"), BAD)
async def test_a_mail_server_with_a_bad_certificate_sees_neither_password_nor_mail(
    authority: Authority, scheme: str, made: Made, why: str
) -> None:
    with post_office(scheme, made(authority)) as (post, login):
        delivery = await delivered("memory://", once(mailing(post, ANN)), "failed")

    assert why in str(delivery.tries[0].error)
    assert (login.seen, post.mails) == ([], [])


async def test_a_wrong_password_is_named_as_one(authority: Authority) -> None:
    with post_office("smtps", authority.server()) as (post, login):
        post.url = post.url.replace("s%40fe", "wrong")
        delivery = await delivered("memory://", once(mailing(post, ANN)), "failed")

    assert "rejected the password" in str(delivery.tries[0].error)
    assert set(login.seen) == {("ann", "wrong")}


@pytest.mark.parametrize(("scheme", "login"), [("smtp", LOGIN), ("smtp+starttls", ""), ("smtp+starttls", LOGIN)])
async def test_a_mail_server_without_tls_gets_nothing_that_needs_it(scheme: str, login: str, plain: PostOffice) -> None:
    plain.url = plain.url.replace("smtp://", f"{scheme}://{login}")
    delivery = await delivered("memory://", once(mailing(plain, ANN)), "failed")

    assert "offers no TLS" in str(delivery.tries[0].error)
    assert plain.mails == []


async def test_a_mail_server_that_speaks_no_tls_at_all_gets_nothing_by_smtps(plain: PostOffice) -> None:
    plain.url = plain.url.replace("smtp://", "smtps://")
    delivery = await delivered("memory://", once(mailing(plain, ANN)), "failed")

    assert str(delivery.tries[0].error).startswith("TLS: ")
    assert plain.mails == []


@pytest.fixture
def plain() -> Iterator[PostOffice]:
    """A mail server without TLS and without passwords."""
    post, port = PostOffice(), free_port()
    controller = Controller(post, hostname="127.0.0.1", port=port)
    controller.start()
    post.url = f"smtp://127.0.0.1:{port}"
    yield post
    controller.stop()


def once(delivery_settings: DeliverySettings) -> DeliverySettings:
    return delivery_settings.model_copy(update={"schedule": (0.0,)})
