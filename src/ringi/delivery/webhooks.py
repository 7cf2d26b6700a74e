"""Webhooks: the HTTP call to one receiver. Only a process that delivers something imports this."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
import uuid
from contextlib import suppress
from typing import Self

import httpx

from ringi.base.canonical_json import jsonable
from ringi.base.clock import Clock, retry_after_seconds
from ringi.delivery.addresses import NO_ADDRESS, AddressResolver, RefusedAddressError, find_tls_error
from ringi.delivery.receivers import ASK_PREFIX, DeliveryResult, WebhookReceiver, receiver_of_endpoint
from ringi.delivery.settings import DeliverySettings, Endpoint
from ringi.delivery.signing import signature_headers

log = logging.getLogger(__name__)
MAX_REPLY_BYTES = 16 * 1024
"""The maximum number of bytes read from a reply; its content is not evaluated."""
CONNECT_SECONDS = 5.0
"""Seconds to wait for one of several addresses of a name before the next is tried."""
USER_AGENT = "Ringi-Webhooks/1"
MAX_REASON = 200
"""The number of characters of a receiver's own words that an attempt keeps."""
TEST = "webhook.test"
"""The type of the event that `ringi webhooks test` sends."""
NAME_NOT_FOUND = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


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
