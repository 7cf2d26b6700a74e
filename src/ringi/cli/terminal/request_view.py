"""The parts of a request as text: status, action, description, outcome, history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from textual.content import Content
from textual.widgets import Static

from ringi.cli.format.requests import clock, plain, remaining
from ringi.cli.format.visible import visible, visible_lines, visible_value
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.domain.record import POLICY, SYSTEM, Event
from ringi.domain.request import Request

SOON = 0.2
"""The part of the time to a deadline in which it is highlighted."""


def status_line(request: Request, now: datetime) -> Content:
    """Return a line with the kind, the assignees and the deadline of a request."""
    asked = TEXTS.asked_by if request.asked_by else TEXTS.asked
    names = ", ".join(visible(name) for name in (request.assignee, *request.candidate_groups) if name)
    parts = [
        Content(TEXTS.kind[request.kind]),
        Content.styled(TEXTS.priority[request.priority or "normal"], "bold"),
        Content(asked.format(at=clock(request.created_at), name=visible(request.asked_by or ""))),
        Content(TEXTS.meant_for.format(names=names) if names else ""),
        Content(claim_text(request, now)),
        deadline_text(request, now),
    ]
    return Content(" · ").join(part for part in parts if part.plain)


def claim_text(request: Request, now: datetime) -> str:
    """Return the claim of a request; empty if there is none."""
    is_claimed = request.claimed_by and request.claimed_until and request.claimed_until > now
    return (
        TEXTS.claimed_by.format(name=visible(request.claimed_by or "")) if is_claimed and not request.is_final else ""
    )


def deadline_text(request: Request, now: datetime) -> Content:
    """Return the time to the deadline."""
    if request.is_final or not (until := request.expires_at or request.due_at):
        return Content("")
    left = (until - now).total_seconds()
    text = TEXTS.left if request.expires_at else TEXTS.due_in
    if left < 0:
        return Content.styled(TEXTS.deadline_passed if request.expires_at else TEXTS.overdue, "bold $warning")
    near = left < (until - request.created_at).total_seconds() * SOON
    return Content.styled(text.format(time=remaining(left)), "bold $warning" if near else "")


def outcome_text(request: Request, events: Sequence[Event] = ()) -> str:
    """Return the outcome of a request: the decision, the person, the time and the effect."""
    last = next((event for event in reversed(events) if event.type == f"request.{request.status}"), None)
    at, actor = (clock(last.at), visible(last.actor)) if last else ("", SYSTEM)
    if response := request.response:
        return TEXTS.decided_by.format(
            what=decision_name(request), name=person_or_rule(response.responder), at=clock(response.at)
        )
    if request.status == "expired":
        words = TEXTS.expired if request.fallback is None else TEXTS.expired_fallback
        return words.format(at=at, value=visible_value(request.fallback))
    words = TEXTS.cancelled_because if request.reason else TEXTS.cancelled
    return words.format(at=at, name=actor, reason=visible(request.reason or ""))


def short_outcome(request: Request) -> str:
    """Return a short outcome: the decision and the person."""
    if response := request.response:
        return TEXTS.ended_by.format(what=decision_name(request), name=person_or_rule(response.responder))
    return TEXTS.status[request.status]


def decision_name(request: Request) -> str:
    """Return the name of the decision, or the status if there is none."""
    words = TEXTS.decided_finish if request.kind == "finish" else TEXTS.decided
    return words[request.response.decision] if request.response else request.status


def person_or_rule(name: str) -> str:
    """Return the name of a person or a rule for display."""
    return TEXTS.rule.format(name=visible(name.removeprefix(POLICY))) if name.startswith(POLICY) else visible(name)


def action_box(request: Request) -> Static | None:
    """Return the action and its arguments as they will run."""
    if request.kind == "finish":
        named = {TEXTS.task: request.context.get("task"), TEXTS.summary: request.context.get("summary")}
        lines = [f"{name}  {visible_lines(str(value))}" for name, value in named.items() if value]
        return _box(Content("\n".join(lines)), TEXTS.finish, "facts")
    if not request.action:
        return None
    name = Content.styled(visible(request.action.name), "bold")
    drawn = table_text(request.action.args) if request.action.args else Content(TEXTS.no_arguments)
    return _box(Content("\n").join([name, drawn]), TEXTS.facts, "facts")


def agent_boxes(request: Request) -> list[Static]:
    """Return the agent's display blocks, description and context, marked as unverified."""
    boxes = [_box(Content("\n".join(plain(block))), TEXTS.display, "display") for block in request.display or ()]
    if request.description:
        boxes.append(_quiet(Content(visible_lines(request.description)), TEXTS.agent_words))
    if request.context and request.kind != "finish":
        boxes.append(_quiet(table_text(request.context), TEXTS.context))
    return boxes


def history_text(events: Sequence[Event]) -> Content:
    """Return the history of a request."""
    steps = (f"{clock(e.at)} {e.type.partition('.')[2]} · {visible(e.actor)}" for e in events if e.record == "request")
    return Content("\n".join([TEXTS.history, *steps]))


def table_text(values: Mapping[str, Any]) -> Content:
    """Return names and values, one per line."""
    width = min(24, max((len(visible(name)) for name in values), default=0))
    lines = []
    for name, value in values.items():
        first, *rest = visible_value(value).split("\n")
        lines += [f"  {visible(name):{width}}  {first}", *(f"  {'':{width}}  {line}" for line in rest)]
    return Content("\n".join(lines))


def _box(content: Content, title: str, name: str) -> Static:
    box = Static(content, classes=f"box {name}")
    box.border_title = title
    return box


def _quiet(content: Content, title: str) -> Static:
    return Static(Content("\n").join([Content.styled(title, "italic"), content]), classes="agent")
