"""The names of request events, defined once: every list of event names uses them."""

from __future__ import annotations

from typing import Literal, get_args

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
"""Events in the streams of requests; the types of the page have these names, and its feed listens to them."""

AuditEventName = Literal[
    "request.seen",
    "request.acknowledged",
    "request.reminded",
    "request.memory_edited",
    "request.memory_deleted",
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
