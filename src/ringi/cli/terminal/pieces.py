"""The parts of a request as they are drawn: its standing, the facts, the agent's own words, its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from textual.content import Content
from textual.widgets import Static

from ringi.cli.format.requests import clock, plain, remaining
from ringi.cli.format.visible import visible, visible_lines, visible_value
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.domain.record import POLICY, SYSTEM, Event
from ringi.domain.request import Request

SOON = 0.2
"""The last part of the time to a deadline, in which it is drawn as near."""


def standing(request: Request, now: datetime) -> Content:
    """Return in a line what kind of request it is, who it is for, and until when."""
    asked = WORDS.asked_by if request.asked_by else WORDS.asked
    names = ", ".join(visible(name) for name in (request.assignee, *request.candidate_groups) if name)
    parts = [
        Content(WORDS.kind[request.kind]),
        Content.styled(WORDS.priority[request.priority or "normal"], "bold"),
        Content(asked.format(at=clock(request.created_at), name=visible(request.asked_by or ""))),
        Content(WORDS.meant_for.format(names=names) if names else ""),
        Content(claim(request, now)),
        deadline(request, now),
    ]
    return Content(" · ").join(part for part in parts if part.plain)


def claim(request: Request, now: datetime) -> str:
    """Return who holds the request now."""
    held = request.claimed_by and request.claimed_until and request.claimed_until > now
    return WORDS.claimed_by.format(name=visible(request.claimed_by or "")) if held and not request.is_final else ""


def deadline(request: Request, now: datetime) -> Content:
    """Return how much time there is left."""
    if request.is_final or not (until := request.expires_at or request.due_at):
        return Content("")
    left = (until - now).total_seconds()
    words = WORDS.left if request.expires_at else WORDS.due_in
    if left < 0:
        return Content.styled(WORDS.deadline_passed if request.expires_at else WORDS.overdue, "bold $warning")
    near = left < (until - request.created_at).total_seconds() * SOON
    return Content.styled(words.format(time=remaining(left)), "bold $warning" if near else "")


def ending(request: Request, events: Sequence[Event] = ()) -> str:
    """Return how a request ended, who ended it, when, and what follows from it."""
    last = next((event for event in reversed(events) if event.type == f"request.{request.status}"), None)
    at, actor = (clock(last.at), visible(last.actor)) if last else ("", SYSTEM)
    if response := request.response:
        return WORDS.decided_by.format(what=decided(request), name=who(response.responder), at=clock(response.at))
    if request.status == "expired":
        words = WORDS.expired if request.fallback is None else WORDS.expired_fallback
        return words.format(at=at, value=visible_value(request.fallback))
    words = WORDS.cancelled_because if request.reason else WORDS.cancelled
    return words.format(at=at, name=actor, reason=visible(request.reason or ""))


def ended(request: Request) -> str:
    """Return in a few words that a request has ended, and through whom."""
    if response := request.response:
        return WORDS.ended_by.format(what=decided(request), name=who(response.responder))
    return WORDS.status[request.status]


def decided(request: Request) -> str:
    """Return what a decision did, or how it ended without one."""
    words = WORDS.decided_finish if request.kind == "finish" else WORDS.decided
    return words[request.response.decision] if request.response else request.status


def who(name: str) -> str:
    """Return a name as people read it: a person's, or a rule's."""
    return WORDS.rule.format(name=visible(name.removeprefix(POLICY))) if name.startswith(POLICY) else visible(name)


def facts(request: Request) -> Static | None:
    """Return what will happen, from the real call and from nothing that anybody wrote about it."""
    if request.kind == "finish":
        named = {WORDS.task: request.context.get("task"), WORDS.summary: request.context.get("summary")}
        lines = [f"{name}  {visible_lines(str(value))}" for name, value in named.items() if value]
        return _box(Content("\n".join(lines)), WORDS.finish, "facts")
    if not request.action:
        return None
    name = Content.styled(visible(request.action.name), "bold")
    drawn = table(request.action.args) if request.action.args else Content(WORDS.no_arguments)
    return _box(Content("\n").join([name, drawn]), WORDS.facts, "facts")


def words(request: Request) -> list[Static]:
    """Return what the agent shows, then its prose and context, set apart because nobody has checked them."""
    boxes = [_box(Content("\n".join(plain(block))), WORDS.display, "display") for block in request.display or ()]
    if request.description:
        boxes.append(_quiet(Content(visible_lines(request.description)), WORDS.agent_words))
    if request.context and request.kind != "finish":
        boxes.append(_quiet(table(request.context), WORDS.context))
    return boxes


def history(events: Sequence[Event]) -> Content:
    """Return what has happened to the request, and who did it."""
    steps = (f"{clock(e.at)} {e.type.partition('.')[2]} · {visible(e.actor)}" for e in events if e.record == "request")
    return Content("\n".join([WORDS.history, *steps]))


def table(values: Mapping[str, Any]) -> Content:
    """Return names and values below each other."""
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
