"""The audiences of requests: the names under which the stores list them."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import get_args

from ringi.domain.ask import Kind, Priority
from ringi.domain.memories import person_in
from ringi.domain.record import Query, Viewer
from ringi.domain.request import Request
from ringi.domain.request_data import Status

EVERYTHING, TO_ALL = "*", "all"
"""The audience that sees every request, and the audience of requests without a particular addressee."""
NOBODY = "nobody"
"""The audience of requests that nobody who is known here can answer."""
ADDED = "added:"
"""The prefix of the audience of a person who may decide by an escalation."""
LISTED = {
    "tenant",
    "statuses",
    "kind",
    "priority",
    "tool",
    "group",
    "assignee",
    "assigned_or_claimed_by",
    "asked_by",
    "remembered_by",
    "viewer",
    "unanswerable",
}
"""Query conditions that the partitions of an audience's requests answer by themselves."""
ENDED = {
    *("tenant", "ended_since", "tool", "group", "assignee", "assigned_or_claimed_by"),
    *("asked_by", "remembered_by", "viewer", "unanswerable"),
}
"""Query conditions that an audience's requests by end time answer by themselves."""


def audiences_of(request: Request) -> list[str]:
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
    person = person_in(request)
    memory_owners = [f"memory:{person}"] if person else []
    nobody = [NOBODY] if request.unanswerable else []
    return [EVERYTHING, *nobody, *(assignees + groups or [TO_ALL]), *added, *askers, *claimants, *memory_owners]


def tool_list(tool: str) -> str:
    """Return the name under which the requests about a tool are listed, beside the audiences."""
    return f"tool:{tool}"


def required_lists(query: Query) -> list[list[str]]:
    """Return sets of lists; a match is on one list of each set. The set with the fewest requests is probably first."""
    tool = [[tool_list(query.tool)]] if query.tool is not None else []
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


def list_partitions(query: Query) -> tuple[str, ...]:
    """Return the partitions that a query reads."""
    return index_partitions(query.statuses, query.kind, query.priority)


@lru_cache
def index_partitions(statuses: tuple[str, ...], kind: str | None, priority: str | None) -> tuple[str, ...]:
    """Return the partitions with one of these statuses, or any, with a kind, or any, and with a priority, or any."""
    kinds = [kind] if kind is not None else get_args(Kind)
    priorities = [priority] if priority is not None else get_args(Priority)
    return tuple(" ".join(names) for names in product(statuses or get_args(Status), kinds, priorities))


def conditions_of(query: Query) -> set[str]:
    """Return the conditions that a query sets, except its limit."""
    return {name for name, value in query if value != type(query).model_fields[name].default} - {"limit"}


def has_index(query: Query) -> bool:
    """Return whether a query asks for rare records that have their own index."""
    return query.thread_id is not None or bool(
        query.expired_at or query.unacknowledged or query.attention or query.unsettled or query.unexecuted
    )
