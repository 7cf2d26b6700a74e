"""Records and events as rows of SQL and as JSON, and the names under which stores list requests."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache
from itertools import product
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import to_json

from ringi.base.clock import EPOCH
from ringi.contracts.store import Finding, R
from ringi.domain.ask import Kind, Priority
from ringi.domain.memories import person_of_memory
from ringi.domain.record import CutPage, Event, Key, Query, Record, UnreadableError, Viewer, unix_microseconds
from ringi.domain.request import Request
from ringi.domain.request_data import Status
from ringi.domain.thread import Thread
from ringi.domain.urgency import urgency_rank

TABLES: dict[str, str] = {"request": "requests", "thread": "threads", "journal": "journals"}
EVENT_COLUMNS = (
    *("tenant", "record", "record_id", "version", "type", "at"),
    *("payload", "payload_digest", "previous", "hash"),
)
PAYLOAD = 1 + EVENT_COLUMNS.index("payload")
"""Where the row of an event, which begins with its position, has the payload."""
Columns = dict[str, Any]
log = logging.getLogger(__name__)
Body = str | bytes
LOW = "low"
"""The tier of most requests, which has no index."""
LARGE = 8192
"""Bytes of a stored record above which a bounded page reads it alone: first the page has only a reference to it."""


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
        if record.version == 1 or record.erased:  # An erasure removes the tool and perhaps the agent.
            columns |= {
                "tool": record.action.name if record.action else None,
                "agent": record.agent,
                "tier": record.tier or LOW,
                "rank": urgency_rank(record),
                "deadline": unix_microseconds(record.deadline) if record.deadline else None,
            }
    elif isinstance(record, Thread):
        lease = unix_microseconds(record.lease_until) if record.lease_until else None
        columns |= {"status": record.status, "fence": record.fence, "lease_until": lease}
    return columns


def event_to_row(event: Event) -> tuple[Any, ...]:
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
        columns: Columns = dict(zip(EVENT_COLUMNS, row[1:], strict=True))
        columns["at"] = EPOCH + timedelta(microseconds=columns["at"])
        columns["payload"] = json.loads(columns["payload"])
        columns["position"] = str(row[0])
        return Event.model_validate(columns)
    except (ValueError, TypeError, OverflowError) as error:
        raise UnreadableError("event", str(row[0]), str(error)) from error


def find_wrong_columns(
    kind: type[Record],
    row: Mapping[str, Any],
    columns_of: Callable[[Record], Columns],
    differ: Callable[[Any, Any], bool],
) -> list[Finding]:
    """Return a finding for each column of a row that differs from its record, or for a record that cannot be read."""
    name = (kind.record, Key(str(row["tenant"]), str(row["id"])))
    try:
        record = record_from_body(kind, row["body"])
        # Some columns are written with the first version only.
        expected = columns_of(record.model_copy(update={"version": 1})) | {"version": record.version}
    except (UnreadableError, ValueError, TypeError) as error:
        return [Finding(*name, "", f"it cannot be read ({error})")]
    del expected["body"]
    wrong = sorted(column for column, value in expected.items() if differ(row.get(column), value))
    return [Finding(*name, "", f"the index column {column} is not what it says") for column in wrong]


def record_from_body(kind: type[R], body: Body) -> R:
    """Return the stored record, or raise `UnreadableError`."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        id = "?"
        with suppress(ValidationError):  # Raised if even the parts of all records are damaged.
            id = Record.model_validate_json(body).id
        raise UnreadableError(kind.record, id, why) from error


async def page_of_readable_records(
    kind: type[R],
    query: Query,
    bodies_of: Callable[[Query], Awaitable[Sequence[Body]]],
    body_at: Callable[[Body], Awaitable[Body | None]],
) -> list[R]:
    """Return a page of records; unreadable ones are skipped, and later records take their place.

    Args:
        kind: The class of the records.
        query: The conditions and the bounds of the page.
        bodies_of: Reads the bodies of a query in order. If the page is bounded, `@` and a reference may stand for one.
        body_at: Reads the body behind a reference; None if it is gone.
    """
    size = query.limit
    while True:
        bodies = await bodies_of(query.model_copy(update={"limit": size}))
        found, total = list[R](), 0
        for body in bodies:
            whole = await body_at(body[1:]) if body[:1] in ("@", b"@") else body
            if whole is None:
                continue
            try:
                found.append(record_from_body(kind, whole))
            except UnreadableError as error:
                _warn(str(error))
                continue
            if query.max_bytes is not None and (total := total + size_of_text(whole)) >= query.max_bytes:
                return CutPage(found[: query.limit])
        if len(found) >= query.limit or len(bodies) < size:
            return found[: query.limit]
        # Read again with a larger size: unreadable records provide no cursor to continue after them.
        size += 2 * (len(bodies) - len(found))


def events_of_rows(rows: Iterable[Sequence[Any]], max_bytes: int | None) -> list[Event]:
    """Return the events of rows, read only as far as the bytes allow."""
    found, total = list[Event](), 0
    for row in rows:
        found.append(event_from_row(row))
        if max_bytes is not None and (total := total + size_of_text(row[PAYLOAD])) >= max_bytes:
            return CutPage(found)
    return found


def size_of_text(text: str | bytes) -> int:
    """Return the bytes of a stored text."""
    return len(text.encode() if isinstance(text, str) else text)


@lru_cache(1000)
def _warn(what: str) -> None:
    # Once: the lists that contain it are read several times a second.
    log.warning("left out of a list: %s", what)


EVERYTHING, TO_ALL = "*", "all"
"""The audience that sees every request, and the audience of requests without a particular addressee."""
NOBODY = "nobody"
"""The audience of requests that nobody who is known here can answer."""
ADDED = "added:"
"""The prefix of the audience of a person who may decide by an escalation."""
BY_NAME = {
    *("tenant", "tool", "group", "assignee", "assigned_or_claimed_by"),
    *("asked_by", "remembered_by", "viewer", "unanswerable"),
}
"""Query conditions that the tenant and the name of a list answer by themselves."""
LISTED = BY_NAME | {"statuses", "kind", "priority"}
"""Query conditions that the partitions of an audience's requests answer by themselves."""
ENDED = BY_NAME | {"ended_since"}
"""Query conditions that an audience's requests by end time answer by themselves."""


def request_audiences(request: Request) -> list[str]:
    """Return the audiences of a request: the names under which it is listed."""
    groups = [f"group:{name}" for name in dict.fromkeys(request.groups)]
    assignees = [f"to:{request.assignee}"] if request.assignee else []
    added: list[str] = []
    if request.quorum or request.escalated:
        people, in_groups = request.recipients
        groups += [f"group:{name}" for name in sorted(in_groups.difference(request.groups))]
        # Not under `to:`, which lists the requests with an assignee.
        added = [f"{ADDED}{name}" for name in sorted(people - {request.assignee})]
    # A check is listed under no asker: an agent must not find it among its own requests.
    askers = [f"by:{request.asked_by}"] if request.asked_by is not None and not request.is_check else []
    claimants = [f"claim:{request.claimed_by}"] if request.claimed_by else []
    person = person_of_memory(request)
    memory_owners = [f"memory:{person}"] if person else []
    nobody = [NOBODY] if request.unanswerable else []
    return [EVERYTHING, *nobody, *(assignees + groups or [TO_ALL]), *added, *askers, *claimants, *memory_owners]


def tool_list_name(tool: str) -> str:
    """Return the name under which the requests about a tool are listed, beside the audiences."""
    return f"tool:{tool}"


def required_index_lists(query: Query) -> list[list[str]]:
    """Return sets of lists; a match is on one list of each set. The set with the fewest requests is probably first."""
    tool = [[tool_list_name(query.tool)]] if query.tool is not None else []
    audiences = required_audiences(query)
    # Only what is assigned to one person, or asked by one, is less than what is about one tool.
    is_of_one = query.remembered_by is not None or query.assignee is not None
    return [*audiences[:1], *tool, *audiences[1:]] if is_of_one else [*tool, *audiences]


def required_audiences(query: Query) -> list[list[str]]:
    """Return sets of audiences; a match has one audience of each set. The set with the fewest requests is first."""
    sets = [
        [NOBODY] if query.unanswerable else [],
        [f"memory:{query.remembered_by}"] if query.remembered_by is not None else [],
        [f"to:{query.assignee}"] if query.assignee is not None else [],
        [f"to:{person}", f"claim:{person}"] if (person := query.assigned_or_claimed_by) is not None else [],
        [f"by:{query.asked_by}"] if query.asked_by is not None else [],
        [f"group:{query.group}"] if query.group is not None else [],
        viewer_audiences(query.viewer) if query.viewer else [],
    ]
    return [names for names in sets if names]


def viewer_audiences(viewer: Viewer) -> list[str]:
    """Return the audiences to which a person belongs."""
    able = (viewer, *viewer.deputy_for)
    people = [f"{prefix}{each.name}" for each in able for prefix in ("to:", ADDED)]
    groups = [f"group:{name}" for each in able for name in each.groups]
    return list(dict.fromkeys([TO_ALL, f"by:{viewer.name}", *people, *groups]))


def query_partitions(query: Query) -> tuple[str, ...]:
    """Return the partitions that a query reads."""
    return index_partitions(query.statuses, query.kind, query.priority)


@lru_cache
def index_partitions(statuses: tuple[str, ...], kind: str | None, priority: str | None) -> tuple[str, ...]:
    """Return the partitions with one of these statuses, or any, with a kind, or any, and with a priority, or any."""
    kinds = [kind] if kind is not None else get_args(Kind)
    priorities = [priority] if priority is not None else get_args(Priority)
    return tuple(" ".join(names) for names in product(statuses or get_args(Status), kinds, priorities))


def query_conditions(query: Query) -> set[str]:
    """Return the conditions that a query sets, except its bounds."""
    found = {name for name, value in query if value != type(query).model_fields[name].default}
    return found - {"limit", "max_bytes"}


def query_has_own_index(query: Query) -> bool:
    """Return whether a query asks for rare records that have their own index."""
    return query.thread_id is not None or bool(
        query.expired_at or query.unacknowledged or query.attention or query.unsettled or query.unexecuted
    )
