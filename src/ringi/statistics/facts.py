"""What an event says about a request, without people's names: no clock and no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ringi.domain.events import FINAL_EVENTS
from ringi.domain.record import AGENT, GRANT, POLICY, Event
from ringi.statistics.counts import MAX_GROUPS, MAX_NAME, Audience, CountedSubject, DayCounts, answer_time_bucket

CREATED, REASSIGNED, SEEN = "request.created", "request.reassigned", "request.seen"
COUNTED = frozenset({CREATED, REASSIGNED, *FINAL_EVENTS})
ASKS: frozenset[str] = frozenset({"form", "choice", "question"})
"""The kinds of requests whose approval is an answer."""
FAST = timedelta(seconds=2)
ASKED, EXPIRED, CANCELLED, WAS_SEEN = "asked", "expired", "cancelled", "seen"
PERSON, BY_POLICY, BY_GRANT = "person.", "policy.", "grant."
APPROVALS, QUICK = "approvals.", "quick."
"""The prefixes of the approvals whose time was measured, and of those in under two seconds; then `seen` or `asked`."""
CHECKS, CAUGHT = "checks", "caught"
"""The planted checks that people have answered, and those whose fault they noticed."""
IN, OUT = "in", "out"
MOVED_IN, MOVED_OUT = "moved_in", "moved_out"
DECISIONS = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "answered"}


class EventFacts(NamedTuple):
    """What an event and its record say together."""

    event: Event
    fields: Mapping[str, Any]
    """The request as JSON data; only the fields of the event for one that began with it."""
    seen_at: datetime | None = None
    """The time at which the person who decided first opened the request; None if it is not recorded."""
    before: Audience = None
    """The audience before the event."""


def count_event_in_day(days: dict[str, DayCounts], facts: EventFacts) -> None:
    """Count an event in its day.

    A planted check is in the queue like any request: leaving it out would tell people which one it is.
    """
    event, fields = facts.event, facts.fields
    if _is_rule(facts):
        return
    at = event.at.astimezone(UTC)
    day = days.setdefault(at.date().isoformat(), DayCounts())
    subject = counted_subject_of_request(fields)
    if event.type == REASSIGNED:
        after = groups_of_request(event.changed)
        if after != facts.before:
            day.count_hour(facts.before, at.hour, MOVED_OUT)
            day.count_hour(after, at.hour, MOVED_IN)
        return
    if event.type == CREATED:
        day.count_hour(subject.audience, at.hour, IN)
        day.count(subject, ASKED)
        return
    if event.version > 1:
        day.count_hour(subject.audience, at.hour, OUT)
    day.count(subject, *_end(facts))


def _is_rule(facts: EventFacts) -> bool:
    """Return whether the event records a rule that a person has switched on, which nobody was asked about."""
    responder = (facts.fields.get("response") or {}).get("responder", POLICY)
    is_completed_at_once = (facts.event.version, facts.event.type) == (1, "request.completed")
    return is_completed_at_once and not responder.startswith(POLICY)


def _end(facts: EventFacts) -> list[str]:
    if facts.fields.get("check") or facts.fields.get("check_result"):
        # Nothing but its result: its answer decides about no call.
        caught = (facts.fields.get("check_result") or {}).get("caught")
        return [] if caught is None else [CHECKS, *([CAUGHT] if caught else [])]
    fields, response = facts.fields, facts.fields.get("response")
    names = [WAS_SEEN] if fields.get("seen_by") else []
    if facts.event.type != "request.completed" or not response:
        return [*names, EXPIRED if facts.event.type == "request.expired" else CANCELLED]
    by, decision = response["responder"], DECISIONS[response["decision"]]
    if by.startswith(POLICY):
        return [*names, (BY_GRANT if by.startswith(f"{POLICY}{GRANT}") else BY_POLICY) + decision]
    if fields["kind"] in ASKS:
        decision = {"approved": "answered", "rejected": "declined"}.get(decision, decision)
    at, asked = datetime.fromisoformat(response["at"]), datetime.fromisoformat(fields["created_at"])
    names += [PERSON + decision, answer_time_bucket((at - asked).total_seconds())]
    if response["decision"] == "approve":
        base = "seen" if facts.seen_at else "asked"
        is_quick = at - (facts.seen_at or asked) < FAST
        names += [APPROVALS + base, *([QUICK + base] if is_quick else [])]
    return names


def counted_subject_of_request(fields: Mapping[str, Any]) -> CountedSubject:
    """Return the names under which a request is counted."""
    action, policy = fields.get("action") or {}, fields.get("policy") or {}
    names = (asking_agent_of_event(fields), str(action.get("name") or ""), str(policy.get("rule") or ""))
    agent, tool, rule = (name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…" for name in names)
    return CountedSubject(agent, tool, groups_of_request(fields), rule)


def asking_agent_of_event(fields: Mapping[str, Any]) -> str:
    """Return the name of the agent that asked; empty if a person did."""
    if target := (fields.get("continuation") or {}).get("target"):
        return str(target)
    if (agent := fields.get("agent")) and agent != fields.get("asked_by"):
        return str(agent)  # A planted check has no run, and is counted like a real request.
    client = (fields.get("context") or {}).get("client")
    name = client.get("name") if isinstance(client, dict) else client
    if name and isinstance(name, str):
        return name
    asked_by = str(fields.get("asked_by") or "")
    return asked_by.removeprefix(AGENT) if asked_by.startswith(AGENT) else ""


def groups_of_request(fields: Mapping[str, Any]) -> Audience:
    """Return the groups to whom a request is open."""
    groups = sorted({str(name) for name in fields.get("groups") or ()})
    if len(groups) > MAX_GROUPS or (not groups and fields.get("assignee")):
        return None
    return tuple(groups)
