"""Requests as JSON for programs and as text for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import unified_diff
from itertools import islice
from typing import Any

from ringi.cli.format.visible import visible, visible_lines, visible_value
from ringi.domain.display import Block, Code, Diff, Link, Table, summary_of
from ringi.domain.record import AGENT, Event
from ringi.domain.request import Request

MAX_DIFF_LINES = 2_000
"""Maximum lines of both texts of a diff together."""
DECIDED = {"approve": "approved", "edit": "approved with changes", "reject": "rejected", "respond": "answered"}


def public(request: Request) -> Any:
    """Return a request as the API returns it."""
    from ringi.server.serialize import request_json

    return json.loads(request_json(request))


def line(request: Request) -> str:
    """Return the id, the status and the decision of a request in one line for scripts."""
    response = request.response
    decided = f"  {response.decision} by {visible(response.responder)}" if response else ""
    return f"{request.id}  {request.status}{decided}"


def outcome(request: Request) -> str:
    """Return the status of a request; after a decision, who decided and when."""
    if request.response:
        decision = f"{DECIDED[request.response.decision]} by {visible(request.response.responder)}"
        return f"{decision} at {clock(request.response.at)}"
    return f"{request.status}: {visible(request.reason)}" if request.reason else request.status


def clock(at: datetime) -> str:
    """Return a time in the local time zone, with the day unless it is today."""
    here = at.astimezone()
    return f"{here:%H:%M}" if here.date() == datetime.now().astimezone().date() else f"{here:%Y-%m-%d %H:%M}"


def age(request: Request, now: datetime) -> str:
    """Return the age of a request in the largest unit: 12 s, 5 min, 3 h, 2 d."""
    seconds = max(0, int((now - request.created_at).total_seconds()))
    units = ((86_400, "d"), (3_600, "h"), (60, "min"))
    return next((f"{seconds // size} {name}" for size, name in units if seconds >= size), f"{seconds} s")


def agent(request: Request) -> str:
    """Return the agent that waits for the answer, else the client that asked."""
    return request.continuation.target if request.continuation else (request.asked_by or "").removeprefix(AGENT)


def remaining(seconds: float) -> str:
    """Return a duration in readable units: 3:41, 2:05:00, 3 d."""
    minutes, rest = divmod(max(0, int(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d"
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def picture(request: Request, events: Sequence[Event]) -> str:
    """Return a request as text: first the action, then the agent's description."""
    return "\n".join(
        [
            visible(request.title),
            *_standing(request),
            *_facts(request),
            *_display(request),
            *_words(request),
            *_past(events),
        ]
    )


def _standing(request: Request) -> Iterator[str]:
    asked = f"asked {clock(request.created_at)}" + (f" by {visible(request.asked_by)}" if request.asked_by else "")
    people = ", ".join(visible(name) for name in (request.assignee, *request.candidate_groups) if name)
    parts = [request.kind, outcome(request), asked, people and f"for {people}", request.priority or ""]
    yield " · ".join(part for part in parts if part)
    yield f"id      {request.id}"
    yield f"digest  {request.digest}"
    if request.thread_id:
        yield f"thread  {visible(request.thread_id)}"
    for name, at in (("due", request.due_at), ("expires", request.expires_at)):
        if at and not request.is_final:
            yield f"{name:7} {at.astimezone():%Y-%m-%d %H:%M:%S %Z}"
    if request.erased:
        yield f"erased  {clock(request.erased.at)} by {visible(request.erased.by)}"
    if request.attention:
        yield f"needs attention: {visible(request.attention)}"
    if not request.is_final:
        yield f"answer  {', '.join(request.allowed)}"


def _facts(request: Request) -> Iterator[str]:
    if request.action:
        yield from (
            "",
            f"{'Requested action' if request.is_final else 'Action'}: {visible(request.action.name)}",
        )
        yield from _table(request.action.args)
    if request.form:
        yield from ("", "Form")
        for field in request.form.fields:
            options = ", ".join(visible_value(option.value) for option in getattr(field, "options", ()))
            needed = ", required" if field.required else ""
            yield f"  {field.name}  {field.type}{needed}  {visible(field.label)}{options and f': {options}'}"
    if request.data_schema is not None:
        yield from ("", "Form", *_indented(visible_value(request.data_schema)))
    if request.answer_schema is not None:
        yield from ("", "Answers to the agent", *_answers(request, request.answer_schema))
    if response := request.response:
        yield from ("", "Answer", *_table(response.data or {}), *_table(response.args or {}))
        yield from _indented(visible_lines(response.message or ""))


def plain(block: Block) -> list[str]:
    """Return a display block as lines of text."""
    lines = [visible(summary_of(block))]
    match block:
        case Table(columns=columns, rows=rows):
            cells = [[visible(column) for column in columns], *([cell_text(cell) for cell in row] for row in rows)]
            return lines + ["  " + " | ".join(cell.replace("\n", " ") for cell in row) for row in cells]
        case Code(text=text):
            return [*lines, *_indented(visible_lines(text))]
        case Diff(before=before, after=after):
            return [*lines, *_indented("\n".join(_changes(visible_lines(before), visible_lines(after))))]
        case Link(url=url):
            return [*lines, f"  {visible(url)}"]
    return lines


def cell_text(cell: object) -> str:
    """Return the text of a table cell; empty if it has no value."""
    if isinstance(cell, str):
        return visible(cell)
    return "" if cell is None else visible_value(cell)


def _changes(before: str, after: str) -> Iterator[str]:
    old, new = before.split("\n"), after.split("\n")
    if len(old) + len(new) > MAX_DIFF_LINES:
        # The time of a diff grows with the square of the lines, and the agent chose their number.
        return iter([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    return islice(unified_diff(old, new, lineterm=""), 2, None)


def _display(request: Request) -> Iterator[str]:
    for block in request.display or ():
        yield from ("", *plain(block))


def _answers(request: Request, schema: dict[str, Any]) -> Iterator[str]:
    for decision, button in request.actions.items():
        if button.value is not None:
            yield f"  {decision} sends {visible_value(button.value)}"
    fitting = f" that fits {visible_value(schema)}" if schema else ""
    yield f"""  respond sends the message; with --data '{{"answer": …}}' it sends JSON{fitting}"""


def _words(request: Request) -> Iterator[str]:
    if request.description:
        yield from ("", "Description by the agent (unverified)", *_indented(visible_lines(request.description), "  | "))
    if request.context:
        yield from ("", "Context from the agent (unverified)", *_table(request.context))


def _past(events: Sequence[Event]) -> Iterator[str]:
    yield from ("", "History")
    for event in events:
        yield f"  {clock(event.at)}  {event.type.partition('.')[2]} by {visible(event.actor)}"


def _table(values: dict[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        first, *rest = visible_value(value).split("\n")
        yield f"  {visible(name)}: {first}"
        yield from _indented("\n".join(rest), "    ")


def _indented(text: str, by: str = "  ") -> Iterator[str]:
    yield from (f"{by}{line}" for line in text.split("\n") if text)
