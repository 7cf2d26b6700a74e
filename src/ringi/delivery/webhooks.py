"""Webhooks: who is to be told of an event, and one call to tell them."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from hashlib import sha256
from typing import NamedTuple, Self

import httpx

from ringi.base.canonical_json import jsonable
from ringi.base.clock import Clock
from ringi.delivery.addresses import NO_ADDRESS, Address, Addresses, RefusedAddressError
from ringi.delivery.mail_settings import MAIL
from ringi.delivery.settings import DeliverySettings, Endpoint
from ringi.delivery.signing import signed
from ringi.delivery.tls import tls_fault, trusting
from ringi.domain.events import WEBHOOK_EVENTS
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.webhook import Webhook, host_of

log = logging.getLogger(__name__)
READ_AT_MOST = 16 * 1024
"""Bytes of a reply; nothing in it is looked at."""
CONNECT_SECONDS = 5.0
"""How long one of several addresses of a name may be silent before the next is tried."""
AGENT = "Ringi-Webhooks/1"
OF_ASK = "ask-"
"""How the names of receivers begin that an ask names."""
GONE = 410
TEST = "webhook.test"
"""The type of the event that `ringi webhooks test` sends."""
NO_NAME = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
CONFIGURED, ASKED, ASKED_SIGNED = "deliver", "deliver-asked", "deliver-asked-signed"
"""Kinds of jobs. What agents name has workers of its own: a thousand dead addresses are one agent's own harm.
Who is configured with no secrets leaves those that are signed to others."""


class Receiver(NamedTuple):
    """Where one event is delivered to."""

    name: str
    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...]
    max_tries: int | None
    switch: Key
    """Where it is kept that it is gone."""

    @property
    def host(self) -> str:
        """What may be shown of its address."""
        return host_of(self.url)

    @property
    def address(self) -> str:
        """What tells its address from another, and gives nothing away."""
        return sha256(self.url.encode()).hexdigest()


class Receivers:
    """Who is to be told of the events of a request."""

    def __init__(self, settings: DeliverySettings) -> None:
        self._settings = settings

    def of(self, type: str, request: Request) -> Iterator[Receiver]:
        """Return those who want to know of this event."""
        for endpoint in self._settings.endpoints:
            if endpoint.url and endpoint.hears(request.tenant) and type in endpoint.events:
                yield from self._named(request, endpoint.name)
        if type in WEBHOOK_EVENTS:
            for number in range(len(request.webhooks)):
                yield from self._named(request, f"{OF_ASK}{number}")

    def named(self, request: Request, name: str) -> Receiver | None:
        """Return the receiver with this name, unless it was taken out of the configuration."""
        return next(self._named(request, name), None)

    def _named(self, request: Request, name: str) -> Iterator[Receiver]:
        webhook = asked(request, name)
        if webhook:
            secrets = self._settings.secrets_of(webhook.secret_ref, request.tenant)
            if secrets is not None:
                switch = Key(request.tenant, f"off/{request.id}/{name}")
                yield Receiver(name, webhook.url, webhook.headers, secrets, webhook.max_tries, switch)
        for each in self._settings.endpoints:
            if name == each.name and each.url and each.hears(request.tenant):
                yield configured(each, each.url)


def configured(endpoint: Endpoint, url: str) -> Receiver:
    """Return an endpoint of the server's own as a receiver."""
    switch = Key("", f"off/{endpoint.name}")
    return Receiver(endpoint.name, url, endpoint.headers, endpoint.secrets, endpoint.max_tries, switch)


def asked(request: Request, name: str) -> Webhook | None:
    """Return what an ask said of the receiver with this name, if it named one."""
    named = {f"{OF_ASK}{number}": webhook for number, webhook in enumerate(request.webhooks)}
    return named.get(name)


def kind_of(request: Request, name: str) -> str:
    """Return the kind of the jobs of a receiver."""
    webhook = asked(request, name)
    if webhook:
        return ASKED_SIGNED if webhook.secret_ref else ASKED
    return CONFIGURED


def lane_of(request: Request, name: str) -> str:
    """Return the lane of a receiver: who is slow or dead holds up only what goes there too."""
    if name.startswith(MAIL):
        return "mail"
    webhook = asked(request, name)
    return f"webhook/{request.tenant}/{webhook.url}" if webhook else f"webhook/{name}"


class Outcome(NamedTuple):
    """What became of one call."""

    seconds: float
    code: int | None = None
    error: str | None = None
    retry_after: float | None = None
    """Seconds for which the receiver asked to be left alone."""
    is_final: bool = False
    """Whether another try is of no use: the address may not be called."""
    reply: bytes = b""
    """The beginning of what the receiver said."""

    @property
    def is_delivered(self) -> bool:
        """Whether the receiver took it."""
        return self.error is None


class Caller:
    """Calls receivers: each time the name is resolved and checked anew, and what was checked is called."""

    def __init__(self, settings: DeliverySettings, clock: Clock) -> None:
        self._timeout, self._addresses, self._clock = settings.timeout, Addresses(settings.allow), clock
        # A connection that is kept belongs to an address, and would serve another name there without a look at its
        # certificate. Proxies of the environment would resolve the name a second time.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        timeout = httpx.Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout))
        self._client = httpx.AsyncClient(
            limits=limits, timeout=timeout, trust_env=False, follow_redirects=False, verify=trusting()
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._addresses.close()
        await self._client.aclose()

    async def call(self, receiver: Receiver, id: str, body: bytes) -> Outcome:
        """Deliver once, and return what became of it; raises nothing."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout):
                response, reply = await self._post(receiver, id, body)
            wait = asked_wait(response.headers, self._clock())
            outcome = Outcome(0.0, response.status_code, misfit(response), wait, reply=reply)
        except TimeoutError:
            outcome = Outcome(0.0, error=f"no reply in {self._timeout:g} s")
        except RefusedAddressError as refused:
            log.warning("a delivery to %s is given up: %s", receiver.name, refused)
            outcome = Outcome(0.0, error=refused.told, is_final=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as failure:
            is_nowhere = isinstance(failure, socket.gaierror) and failure.errno in NO_NAME
            # An agent must not learn from a second try that a name is not one of the server's own network.
            is_final = is_nowhere and receiver.name.startswith(OF_ASK)
            outcome = Outcome(0.0, error=NO_ADDRESS if is_nowhere else reason(failure), is_final=is_final)
        return outcome._replace(seconds=round(time.monotonic() - began, 3))

    async def test(self, endpoint: Endpoint, url: str) -> Outcome:
        """Send an endpoint a signed event that says nothing, once, and return what came back; raises nothing."""
        data = {"title": f"A test of the endpoint {endpoint.name}"}
        body = json.dumps({"type": TEST, "timestamp": jsonable(self._clock()), "data": data}).encode()
        return await self.call(configured(endpoint, url), f"test_{uuid.uuid4().hex}", body)

    async def _post(self, receiver: Receiver, id: str, body: bytes) -> tuple[httpx.Response, bytes]:
        url = httpx.URL(receiver.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = await self._addresses.of(url.host, port, is_clear=url.scheme != "https")
        own = {"content-type": "application/json", "user-agent": AGENT, "host": url.netloc.decode()}
        headers = {**receiver.headers, **own, **signed(receiver.secrets, id, self._clock(), body)}
        return await self._first_reply(url, addresses, headers, body)

    async def _first_reply(
        self, url: httpx.URL, addresses: list[Address], headers: dict[str, str], body: bytes
    ) -> tuple[httpx.Response, bytes]:
        failure: Exception = OSError("the name stands for no address")
        for address in addresses:
            pinned = url.copy_with(host=str(address))
            extensions = {"sni_hostname": url.host}
            request = self._client.build_request("POST", pinned, headers=headers, content=body, extensions=extensions)
            try:
                response = await self._client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
                continue
            return response, await drained(response)
        raise failure


async def drained(response: httpx.Response) -> bytes:
    """Let the receiver finish a short reply, so that it sees no broken connection, and return the beginning of it."""
    reply = b""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(1):
            async for chunk in response.aiter_raw():
                reply += chunk
                if len(reply) > READ_AT_MOST:
                    break
    with suppress(httpx.HTTPError):
        await response.aclose()
    return reply[:READ_AT_MOST]


def body_of(type: str, at: datetime, request: Request) -> bytes:
    """Return what is sent: the event, with its request as it is now."""
    data = request.model_dump(mode="json", include=Request.public())
    return json.dumps({"type": type, "timestamp": jsonable(at), "data": data}, separators=(",", ":")).encode()


def misfit(response: httpx.Response) -> str | None:
    """Return why a reply does not count as taken; None when it does."""
    if response.is_success:
        return None
    if response.has_redirect_location:
        return f"{response.status_code}: redirects are not followed, configure the address that it leads to"
    return f"{response.status_code} {response.reason_phrase}".strip()


def asked_wait(headers: httpx.Headers, now: datetime) -> float | None:
    """Return the seconds that `Retry-After` says, as seconds or as a date; None when it says nothing."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, (parsedate_to_datetime(text) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def reason(error: Exception) -> str:
    """Return why there was no reply, in words that show nothing of the request."""
    if fault := tls_fault(error):
        return fault
    if isinstance(error, httpx.TimeoutException):
        return "no connection, or no reply, in time"
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
