"""The names of the events of requests, written once: everything that lists some of them takes them from here."""

from __future__ import annotations

from typing import Literal, get_args

FeedEventName = Literal[
    "request.created",
    "request.claimed",
    "request.released",
    "request.reassigned",
    "request.completed",
    "request.expired",
    "request.cancelled",
    "request.attention",
    "request.retried",
    "request.erased",
]
"""What the streams of requests tell: the page's TypeScript is generated from it (`npm run api`)."""

AuditEventName = Literal["request.acknowledged", "request.reminded", "request.memory_edited", "request.memory_deleted"]
"""What stands in the audit trail only."""

RequestEventName = FeedEventName | AuditEventName

FEED_EVENTS: tuple[FeedEventName, ...] = get_args(FeedEventName)
AUDIT_EVENTS: tuple[AuditEventName, ...] = get_args(AuditEventName)

WebhookEventName = Literal[
    "request.created",
    "request.claimed",
    "request.completed",
    "request.expired",
    "request.cancelled",
    "request.reminded",
    "request.erased",
]
"""What webhooks tell."""

WEBHOOK_EVENTS: tuple[WebhookEventName, ...] = get_args(WebhookEventName)
MAIL_EVENTS: tuple[RequestEventName, ...] = (
    "request.created",
    "request.reassigned",
    "request.reminded",
    "request.expired",
)
"""What mails tell."""

FINAL_EVENTS: tuple[FeedEventName, ...] = ("request.completed", "request.cancelled", "request.expired")
"""After which a request has ended."""
