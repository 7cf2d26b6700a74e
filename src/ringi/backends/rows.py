"""Records and events as rows of SQL and as JSON: an unreadable record fails only direct reads of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from ringi.base.clock import EPOCH
from ringi.contracts.store import Finding, R
from ringi.domain.journal import Journal
from ringi.domain.record import Event, Key, Query, Record, UnreadableError, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.urgency import rank_of

TABLES: dict[str, str] = {"request": "requests", "thread": "threads", "journal": "journals"}
EVENT_COLUMNS = (
    *("tenant", "record", "record_id", "version", "type", "at"),
    *("payload", "payload_digest", "previous", "hash"),
)
Columns = dict[str, Any]
log = logging.getLogger(__name__)
Body = str | bytes


def record_columns(record: Record) -> Columns:
    """Return the stored columns of a record in all databases: the searchable ones, and the whole record as JSON.

    Lasting columns are written with the first version only: the indexes over them are not updated. `audiences` and the
    end of a request are stored in a form of each database.
    """
    columns: Columns = {"tenant": record.tenant, "id": record.id, "version": record.version}
    columns["body"] = record.model_dump_json()
    if record.version == 1:
        columns["created_at"] = unix_microseconds(record.created_at)
    if isinstance(record, Request):
        columns |= {
            "status": record.status,
            "ended_at": unix_microseconds(record.ended_at) if record.ended_at else None,
            "unacknowledged": record.is_unacknowledged,
            "attention": record.needs_attention,
            "unexecuted": record.is_unexecuted,
        }
        if record.version == 1:
            columns |= {"kind": record.kind, "priority": record.priority or "normal", "thread_id": record.thread_id}
        # An erasure removes the tool and perhaps the agent.
        return columns | order_columns(record) if record.version == 1 or record.erased else columns
    if isinstance(record, Thread):
        lease = unix_microseconds(record.lease_until) if record.lease_until else None
        return columns | {"status": record.status, "fence": record.fence, "lease_until": lease}
    if isinstance(record, Journal):
        return columns
    raise TypeError(type(record))


def order_columns(request: Request) -> Columns:
    """Return the columns of a request by which lists are filtered and ordered."""
    return {
        "tool": request.action.name if request.action else None,
        "agent": request.agent,
        "tier": request.tier or "low",
        "rank": rank_of(request),
        "deadline": unix_microseconds(request.deadline) if request.deadline else None,
    }


def event_row(event: Event) -> tuple[Any, ...]:
    """Return an event as the values of `EVENT_COLUMNS`."""
    payload = to_json(event.payload).decode()
    chain = (event.payload_digest, event.previous, event.hash)
    at = unix_microseconds(event.at)
    return (event.tenant, event.record, event.record_id, event.version, event.type, at, payload, *chain)


def event_from_row(row: Sequence[object]) -> Event:
    """Return the event of a row, which begins with its position; its content is not checked here.

    Raises:
        UnreadableError: The row is damaged.
    """
    try:
        return _event_of(row)
    except (ValueError, TypeError, OverflowError) as error:
        raise UnreadableError("event", str(row[0]), str(error)) from error


def _event_of(row: Sequence[Any]) -> Event:
    position, tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash = row
    return Event(
        position=str(position),
        tenant=tenant,
        record=record,
        record_id=record_id,
        version=version,
        type=type,
        at=EPOCH + timedelta(microseconds=at),
        payload=json.loads(payload),
        payload_digest=payload_digest,
        previous=previous,
        hash=hash,
    )


def wrong_columns(
    kind: type[Record],
    row: Mapping[str, Any],
    columns_of: Callable[[Record], Columns],
    differ: Callable[[Any, Any], bool],
) -> list[Finding]:
    """Return a finding for each column of a row that differs from its record, or for a record that cannot be read."""
    name = (kind.record, Key(str(row["tenant"]), str(row["id"])))
    try:
        record = record_of(kind, row["body"])
        # Some columns are written with the first version only.
        expected = columns_of(record.model_copy(update={"version": 1})) | {"version": record.version}
    except (UnreadableError, ValueError, TypeError) as error:
        return [Finding(*name, "", f"it cannot be read ({error})")]
    del expected["body"]
    wrong = sorted(column for column, value in expected.items() if differ(row.get(column), value))
    return [Finding(*name, "", f"the index column {column} is not what it says") for column in wrong]


def record_of(kind: type[R], body: Body) -> R:
    """Return the stored record, or raise `UnreadableError`."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        bare = _bare_or_none(body)
        raise UnreadableError(kind.record, bare.id if bare else "?", why) from error


async def page_of_readable_records(
    kind: type[R], query: Query, bodies_of: Callable[[Query], Awaitable[Sequence[Body]]]
) -> list[R]:
    """Return a page of records; unreadable ones are skipped, and later records take their place."""
    size = query.limit
    while True:
        bodies = await bodies_of(query.model_copy(update={"limit": size}))
        found = [record for body in bodies if (record := _record_or_none(kind, body))]
        if len(found) >= query.limit or len(bodies) < size:
            return found[: query.limit]
        # Read again with a larger size: unreadable records provide no cursor to continue after them.
        size += 2 * (len(bodies) - len(found))


def _record_or_none(kind: type[R], body: Body) -> R | None:
    try:
        return record_of(kind, body)
    except UnreadableError as error:
        _warn(str(error))
        return None


@lru_cache(1000)
def _warn(what: str) -> None:
    # Once: the lists that contain it are read several times a second.
    log.warning("left out of a list: %s", what)


def _bare_or_none(body: Body) -> Record | None:
    try:
        return Record.model_validate_json(body)
    except ValidationError:  # The record is damaged.
        return None
