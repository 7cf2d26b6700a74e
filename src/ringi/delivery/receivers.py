"""The receivers of an event: configured endpoints, and those that an ask names."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

from ringi.base.canonical_json import jsonable, short_json_hash
from ringi.delivery.settings import MAIL, DeliverySettings, Endpoint
from ringi.domain.events import WEBHOOK_EVENTS, Webhook, displayable_host
from ringi.domain.record import Key
from ringi.domain.request import Request

GONE = 410
ASK_PREFIX = "ask-"
"""The prefix of the names of receivers that asks name."""
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
        # A digest: the name of a person may not wait here for a retry after it was erased.
        shared = f"asker/{request.tenant}/{short_json_hash(request.asked_by)}"
        # Older versions have stored jobs with this name, whose order with new ones is kept.
        turn = f"webhook/{request.tenant}/{webhook.url}"
        return ASKED_SIGNED if webhook.secret_ref else ASKED, shared, turn
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


def webhook_body(type: str, at: datetime, request: Request) -> bytes:
    """Return the body: the event, with its request in the present state."""
    data = request.for_readers().model_dump(mode="json", include=Request.public())
    return json.dumps({"type": type, "timestamp": jsonable(at), "data": data}, separators=(",", ":")).encode()
