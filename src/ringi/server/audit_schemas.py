"""The JSON models of what auditors read: the trail of changes, and the log of their own reading."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel


class AuditEvent(BaseModel):
    """One change of one record, linked by its hash to the previous change."""

    id: str
    record: str
    record_id: str
    version: int
    type: str
    at: datetime
    payload_digest: str
    previous: str
    hash: str
    position: str
    actor: str
    changed: dict[str, Any]


class AuditPage(BaseModel):
    """A page of the audit trail, oldest first; `next` is the `after` of the following page."""

    items: list[AuditEvent]
    next: str | None


class Access(BaseModel):
    """What an auditor read at about the same time."""

    at: datetime
    by: str
    """The auditor's name; `erased:person` after its erasure."""
    read: list[str]
    """The paths of the calls."""


class AccessPage(BaseModel):
    """A page of the access log, oldest first; `next` is the `after` of the following page."""

    items: list[Access]
    next: str | None
