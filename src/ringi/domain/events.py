"""The names of request events, defined once, and the webhooks that receive the events."""

from __future__ import annotations

import re
from typing import Annotated, Literal, get_args
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from ringi.base.model import StrictModel
from ringi.domain.record import Key

FeedEventName = Literal[
    "request.created",
    "request.claimed",
    "request.released",
    "request.reassigned",
    "request.escalated",
    "request.voted",
    "request.held",
    "request.unheld",
    "request.withdrawn",
    "request.completed",
    "request.expired",
    "request.cancelled",
    "request.attention",
    "request.retried",
    "request.erased",
]
"""Events in the streams of requests; the page's TypeScript is generated from this list (`npm run api`)."""
AuditEventName = Literal[
    "request.seen", "request.acknowledged", "request.reminded", "request.memory_edited", "request.memory_deleted"
]
"""Events that appear only in the audit trail."""
TenantEventName = Literal["pauses.changed"]
"""Events in the stream of all requests that concern every reader of a tenant."""
RequestEventName = FeedEventName | AuditEventName
FEED_EVENTS: tuple[FeedEventName, ...] = get_args(FeedEventName)
AUDIT_EVENTS: tuple[AuditEventName, ...] = get_args(AuditEventName)
TENANT_EVENTS: tuple[TenantEventName, ...] = get_args(TenantEventName)
WebhookEventName = Literal[
    "request.created",
    "request.claimed",
    "request.escalated",
    "request.voted",
    "request.withdrawn",
    "request.completed",
    "request.expired",
    "request.cancelled",
    "request.reminded",
    "request.erased",
]
"""Events that are sent to webhooks."""
WEBHOOK_EVENTS: tuple[WebhookEventName, ...] = get_args(WebhookEventName)
MAIL_EVENTS: tuple[RequestEventName, ...] = (
    "request.created",
    "request.reassigned",
    "request.escalated",
    "request.reminded",
    "request.expired",
)
"""Events that are sent by mail."""
FINAL_EVENTS: tuple[FeedEventName, ...] = ("request.completed", "request.cancelled", "request.expired")
"""Events that end a request."""
MOST = 5
"""The maximum number of receivers of one ask."""
MOST_TRIES = 100
ADDRESS = re.compile(r"https?://[!-~]{1,1990}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
VALUE = re.compile(r"[\t -~]{0,2000}")
OURS = {"host", "connection", "content-length", "content-type", "transfer-encoding", "upgrade", "expect", "te"}


def check_webhook_url(url: str) -> str:
    """Return the address if deliveries can be sent to it; raise otherwise."""
    try:
        parts = urlsplit(url)
        is_fit = bool(ADDRESS.fullmatch(url) and parts.hostname) and parts.port != 0
    except ValueError:
        is_fit = False
    if not is_fit:
        raise PydanticCustomError("url", "give an address such as https://example.com/hook")
    if parts.username is not None or parts.fragment:
        raise PydanticCustomError("url", "give an address without user and fragment: send secrets as headers")
    return url


def check_webhook_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return headers that may be added to a delivery, with lower-case names; raise for others."""
    for name, value in headers.items():
        if not HEADER.fullmatch(name) or not VALUE.fullmatch(value):
            raise PydanticCustomError("header", "a header has a name and one line of ASCII text")
        if name.lower() in OURS or name.lower().startswith("webhook-"):
            raise PydanticCustomError("header", "{name} is set by the delivery itself: remove it", {"name": name})
    return {name.lower(): value for name, value in headers.items()}


WebhookUrl = Annotated[str, AfterValidator(check_webhook_url)]

Headers = Annotated[dict[str, str], Field(max_length=20), AfterValidator(check_webhook_headers)]

Tries = Annotated[int, Field(strict=True, ge=1, le=MOST_TRIES)]


class Webhook(StrictModel):
    """A receiver that an ask names, for the events of this one request."""

    url: WebhookUrl
    headers: Headers = {}
    secret_ref: str | None = None
    """The server's endpoint whose secrets sign the deliveries; without it nothing is signed."""
    max_tries: Tries | None = None


def displayable_host(url: str) -> str:
    """Return the displayable part of an address; the rest may be a secret."""
    parts = urlsplit(url)
    name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    return f"{parts.scheme}://{name}" + (f":{parts.port}" if parts.port else "")


def delivery_stream_key(tenant: str, request_id: str) -> Key:
    """Return the key of the stream with the delivery attempts of a request's events."""
    return Key(tenant, f"deliveries/{request_id}")
