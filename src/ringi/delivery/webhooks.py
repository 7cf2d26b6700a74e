"""Webhooks: the receivers of an event, and the HTTP call to one of them."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
import uuid
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple, Self

import httpx

from ringi.base.canonical_json import jsonable
from ringi.base.clock import Clock, retry_after_seconds
from ringi.delivery.addresses import NO_ADDRESS, AddressResolver, RefusedAddressError, find_tls_error
from ringi.delivery.settings import MAIL, DeliverySettings, Endpoint
from ringi.delivery.signing import signature_headers
from ringi.domain.events import WEBHOOK_EVENTS, Webhook, displayable_host
from ringi.domain.record import Key
from ringi.domain.request import Request

log = logging.getLogger(__name__)
MAX_REPLY_BYTES = 16 * 1024
"""The maximum number of bytes read from a reply; its content is not evaluated."""
CONNECT_SECONDS = 5.0
"""Seconds to wait for one of several addresses of a name before the next is tried."""
USER_AGENT = "Ringi-Webhooks/1"
ASK_PREFIX = "ask-"
"""The prefix of the names of receivers that asks name."""
MAX_REASON = 200
"""The number of characters of a receiver's own words that an attempt keeps."""
GONE = 410
TEST = "webhook.test"
"""The type of the event that `ringi webhooks test` sends."""
NAME_NOT_FOUND = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
PER_REQUEST, MAIL_SERVER = "per request", "mail server"
"""Names of counts; no endpoint can have them."""
CONFIGURED, ASKED, ASKED_SIGNED = "deliver", "deliver-asked", "deliver-asked-signed"
"""Kinds of jobs. Receivers in asks have workers of their own, so that an agent's dead addresses delay nobody else. A
process without secrets leaves signed deliveries to other processes."""


class WebhookReceiver(NamedTuple):
    """The receiver of one event."""

    name: str
    url: str
    headers: dict[str, str]
    secrets: tuple[str, ...]
    max_tries: int | None
    state_key: Key
    """The key of its endpoint state."""

    @property
    def host(self) -> str:
        """The displayable part of its address."""
        return displayable_host(self.url)

    @property
    def address(self) -> str:
        """A value that identifies the address without revealing it."""
        return sha256(self.url.encode()).hexdigest()


def receiver_names(settings: DeliverySettings, type: str, request: Request) -> list[str]:
    """Return the names of the receivers of a request's event."""
    names = [endpoint.name for endpoint in settings.endpoints if type in endpoint.events]
    if type in WEBHOOK_EVENTS:
        names += [f"{ASK_PREFIX}{number}" for number in range(len(request.webhooks))]
    return [name for name in names if find_receiver(settings, request, name)]


def find_receiver(settings: DeliverySettings, request: Request, name: str) -> WebhookReceiver | None:
    """Return the receiver with this name; None if it was removed from the configuration."""
    if webhook := asked_webhook(request, name):
        secrets = settings.secrets_of(webhook.secret_ref, request.tenant)
        if secrets is None:
            return None
        key = Key(request.tenant, f"off/{request.id}/{name}")
        return WebhookReceiver(name, webhook.url, webhook.headers, secrets, webhook.max_tries, key)
    for each in settings.endpoints:
        if name == each.name and each.url and each.receives_from(request.tenant):
            return receiver_of_endpoint(each, each.url)
    return None


def receiver_of_endpoint(endpoint: Endpoint, url: str) -> WebhookReceiver:
    """Return a configured endpoint of the server as a receiver."""
    state_key = Key("", f"off/{endpoint.name}")
    return WebhookReceiver(endpoint.name, url, endpoint.headers, endpoint.secrets, endpoint.max_tries, state_key)


def asked_webhook(request: Request, name: str) -> Webhook | None:
    """Return the webhook of an ask for the receiver with this name, if there is one."""
    named = {f"{ASK_PREFIX}{number}": webhook for number, webhook in enumerate(request.webhooks)}
    return named.get(name)


def delivery_queue_of_receiver(request: Request, name: str) -> tuple[str, str, str]:
    """Return the kind of a receiver's jobs, their concurrency key, and the name by which they take turns in a request.

    A slow or dead endpoint delays no others, and an asker's receivers delay those of no other asker, however many they
    are: each claim visits every key. Among the receivers of one ask, one that hangs delays no others.
    """
    if webhook := asked_webhook(request, name):
        kind = ASKED_SIGNED if webhook.secret_ref else ASKED
        # Older versions have stored jobs with this name, whose order with new ones is kept.
        return kind, f"asker/{request.tenant}/{request.asked_by}", f"webhook/{request.tenant}/{webhook.url}"
    key = "mail" if name.startswith(MAIL) else f"webhook/{name}"
    return CONFIGURED, key, key


def receiver_of_queue(kind: str, concurrency_key: str) -> str:
    """Return the name under which the deliveries of a concurrency key are counted, which reveals no address."""
    if kind != CONFIGURED:
        return PER_REQUEST
    return MAIL_SERVER if concurrency_key == "mail" else concurrency_key.removeprefix("webhook/")


class DeliveryResult(NamedTuple):
    """The outcome of one call."""

    seconds: float
    code: int | None = None
    error: str | None = None
    retry_after: float | None = None
    """Seconds that the receiver asked to wait."""
    is_final: bool = False
    """True if a retry is useless: the address may not be called."""
    reply: bytes = b""
    """The beginning of the receiver's reply."""

    @property
    def is_delivered(self) -> bool:
        """Return whether the receiver accepted the delivery."""
        return self.error is None


class WebhookClient:
    """Calls receivers: each call resolves and checks the name again, and connects to the checked address."""

    def __init__(self, settings: DeliverySettings, clock: Clock) -> None:
        self._timeout, self._addresses, self._clock = settings.timeout, AddressResolver(settings.allow), clock
        # A pooled connection belongs to an address, and would serve another name there without verifying its
        # certificate. Proxies from the environment would resolve the name again.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        timeout = httpx.Timeout(settings.timeout, connect=min(CONNECT_SECONDS, settings.timeout))
        self._client = httpx.AsyncClient(
            limits=limits, timeout=timeout, trust_env=False, follow_redirects=False, verify=httpx.create_ssl_context()
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._addresses.close()
        await self._client.aclose()

    async def call(self, receiver: WebhookReceiver, id: str, body: bytes) -> DeliveryResult:
        """Deliver once and return the outcome; never raises."""
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._timeout):
                response, reply = await self._post(receiver, id, body)
            wait = retry_after_seconds(response.headers.get("retry-after"), self._clock())
            result = DeliveryResult(0.0, response.status_code, webhook_refusal_reason(response), wait, reply=reply)
        except TimeoutError:
            result = DeliveryResult(0.0, error=f"no reply in {self._timeout:g} s")
        except RefusedAddressError as refused:
            log.warning("a delivery to %s failed permanently: %s", receiver.name, refused)
            result = DeliveryResult(0.0, error=refused.public_message, is_final=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as failure:
            is_unknown_host = isinstance(failure, socket.gaierror) and failure.errno in NAME_NOT_FOUND
            # A retry must not reveal to an agent that a name is not in the server's own network.
            is_final = is_unknown_host and receiver.name.startswith(ASK_PREFIX)
            error = NO_ADDRESS if is_unknown_host else webhook_failure_reason(failure)
            result = DeliveryResult(0.0, error=error, is_final=is_final)
        return result._replace(seconds=round(time.monotonic() - began, 3))

    async def test(self, endpoint: Endpoint, url: str) -> DeliveryResult:
        """Send an endpoint one signed test event and return the outcome; never raises."""
        data = {"title": f"A test of the endpoint {endpoint.name}"}
        body = json.dumps({"type": TEST, "timestamp": jsonable(self._clock()), "data": data}).encode()
        return await self.call(receiver_of_endpoint(endpoint, url), f"test_{uuid.uuid4().hex}", body)

    async def _post(self, receiver: WebhookReceiver, id: str, body: bytes) -> tuple[httpx.Response, bytes]:
        url = httpx.URL(receiver.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        addresses = await self._addresses.resolve(url.host, port, is_unencrypted=url.scheme != "https")
        own = {"content-type": "application/json", "user-agent": USER_AGENT, "host": url.netloc.decode()}
        headers = {**receiver.headers, **own, **signature_headers(receiver.secrets, id, self._clock(), body)}
        extensions = {"sni_hostname": url.host}
        failure: Exception = OSError("the name has no address")
        for address in addresses:
            pinned = url.copy_with(host=str(address))
            request = self._client.build_request("POST", pinned, headers=headers, content=body, extensions=extensions)
            try:
                response = await self._client.send(request, stream=True)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
            else:
                return response, await read_rest_of_reply(response)
        raise failure


async def read_rest_of_reply(response: httpx.Response) -> bytes:
    """Read the rest of a short reply, so that the receiver sees no broken connection; return its beginning."""
    reply = b""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(1):
            async for chunk in response.aiter_raw():
                reply += chunk
                if len(reply) > MAX_REPLY_BYTES:
                    break
    with suppress(httpx.HTTPError):
        await response.aclose()
    return reply[:MAX_REPLY_BYTES]


def webhook_body(type: str, at: datetime, request: Request) -> bytes:
    """Return the body: the event, with its request in the present state."""
    data = request.for_readers().model_dump(mode="json", include=Request.public())
    return json.dumps({"type": type, "timestamp": jsonable(at), "data": data}, separators=(",", ":")).encode()


def webhook_refusal_reason(response: httpx.Response) -> str | None:
    """Return the reason why a reply does not count as accepted; None if it does."""
    if response.is_success:
        return None
    if response.has_redirect_location:
        return f"{response.status_code}: redirects are not followed; configure the target address"
    return f"{response.status_code} {response.reason_phrase[:MAX_REASON]}".strip()


def webhook_failure_reason(error: Exception) -> str:
    """Return the reason for a missing reply, without any content of the request."""
    if fault := find_tls_error(error):
        return fault
    if isinstance(error, httpx.TimeoutException):
        return "no connection or no reply in time"
    return f"{type(error).__name__}: {str(error)[:MAX_REASON]}" if str(error) else type(error).__name__
