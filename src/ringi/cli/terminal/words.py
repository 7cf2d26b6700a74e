"""All that `ringi watch` says, in one place: another language is another instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


def _table(**words: str) -> Any:
    return field(default_factory=lambda: MappingProxyType(words))


@dataclass(frozen=True)
class Words:
    """English; braces stand for what is filled in."""

    inbox: str = "Inbox"
    waiting: str = "{count} waiting"
    found: str = "{count} found for “{text}”"
    many: str = "{count} or more"
    news: str = "{count} new"
    ended: str = "{count} ended"
    show_news: str = "n shows"
    empty: str = "Nothing waits for you. New requests appear here by themselves."
    empty_search: str = "Nothing fits “{text}”. Esc ends the search."
    search: str = "Search: words of the title, the text or the action"
    list_keys: str = "enter open · / search · c claim · u release · n news · ? help · q quit"

    kind: Mapping[str, str] = _table(
        approval="approval", form="form", choice="choice", question="question", finish="finish", learning="learning"
    )
    short_priority: Mapping[str, str] = _table(high="high", urgent="urgent")
    priority: Mapping[str, str] = _table(low="low priority", normal="", high="high priority", urgent="urgent")
    decided: Mapping[str, str] = _table(
        approve="approved", edit="approved with changes", reject="rejected", respond="answered"
    )
    decided_finish: Mapping[str, str] = _table(
        approve="completed", edit="task changed", reject="sent back", respond="answered"
    )
    rule: str = "rule {name}"
    status: Mapping[str, str] = _table(completed="decided", cancelled="cancelled", expired="expired")
    ended_by: str = "{what} by {name}"
    asked: str = "asked {at}"
    asked_by: str = "asked {at} by {name}"
    meant_for: str = "for {names}"
    claimed_by: str = "claimed by {name}"
    left: str = "{time} left"
    due_in: str = "due in {time}"
    overdue: str = "overdue"
    deadline_passed: str = "deadline passed"

    facts: str = "What will happen, from the real call"
    facts_ended: str = "What was asked"
    no_arguments: str = "without arguments"
    finish: str = "What the agent wants to end"
    task: str = "task"
    summary: str = "summary"
    display: str = "Shown by the agent (not checked)"
    agent_words: str = "The agent's words (not checked)"
    context: str = "Context from the agent (not checked)"
    history: str = "History"
    required: str = "required"
    answer: str = "Answer, as JSON"
    your_answer: str = "Your answer · enter sends it · ctrl+j new line"
    reason: str = "Reason (the agent reads it word for word) · enter rejects · ctrl+j new line"
    target: str = "This costs if it is wrong. Type to go on: {name}"
    target_argument: str = "This costs if it is wrong. Type the {label} to go on: {name}"
    target_differs: str = "is not {name}: type it exactly, or go back with esc"
    with_hidden: str = "With its invisible characters: {text}"
    becomes: str = "{before} → {after}"
    not_set: str = "not set"
    range: str = "{least} to {most}"
    slider: str = "← → choose"
    yes: str = "Yes"
    no: str = "No"
    date: str = "YYYY-MM-DD"
    moment: str = "YYYY-MM-DDThh:mm:ss+00:00"
    attachment: str = "attach it on the page, or with `ringi respond --file`"

    button: Mapping[str, str] = _table(approve="Approve", edit="Edit", reject="Reject", respond="Answer")
    called_by_agent: str = "{own} “{given}”"
    button_finish: Mapping[str, str] = _table(
        approve="Complete", edit="Change the task", reject="Not finished", respond="Answer"
    )
    send_edit: str = "Approve with changes"
    confirm: str = "Confirm"
    back: str = "Back"
    detail_keys: str = "tab fields · c claim · u release · j k next · esc back · ? help"
    field_keys: str = "ctrl+s send · tab next field · ctrl+r reset it · esc leave it"
    mode_keys: str = "ctrl+s send · tab next field · esc back to the decision"
    dead_keys: str = "j k next · esc back · ? help · q quit"

    sending: str = "sending…"
    done: str = "{what}: {title}"
    last_one: str = "That was the last one."
    ended_here: str = "{outcome}. What you typed is still here, but cannot be sent."
    ended_silent: str = "{outcome}."
    expired: str = "expired at {at}: nobody answered in time, so nothing was allowed"
    expired_fallback: str = "expired at {at}: nobody answered in time; the run goes on with {value}, no consent"
    cancelled: str = "cancelled at {at} by {name}"
    cancelled_because: str = "cancelled at {at} by {name}: {reason}"
    decided_by: str = "{what} by {name} at {at}"
    not_offered: str = "{decision} is not offered here; there is {allowed}"
    change_first: str = "Change a value first: esc goes back to the decision"
    nothing_to_edit: str = "The call has no arguments to change"
    fix_fields: str = "Look at the marked fields: nothing was sent"
    claimed: str = "You hold it until {at}: nobody else can answer"
    released: str = "You gave it up: anybody can answer"
    unsent: str = "You have typed what is not sent yet: q once more quits without it"

    no_number: str = "{text} is no number: write digits, such as 12 or 12.5"
    no_json: str = "not JSON ({why}): text stands in double quotes"

    help_title: str = "Keys"
    help: tuple[tuple[str, str], ...] = (
        ("j k ↓ ↑", "the next, the one before"),
        ("enter", "open; send, where you write a reason or an answer"),
        ("a", "approve, with what the form holds; answer a question"),
        ("e", "edit the arguments or the form, then ctrl+s"),
        ("r", "reject, with a reason that goes to the agent word for word"),
        ("m", "answer in words"),
        ("c u", "claim: others cannot answer; release"),
        ("tab", "to the next field; letters are its own until esc"),
        ("ctrl+s", "send, also from inside a field"),
        ("ctrl+r", "put a field back as it was"),
        ("/", "search"),
        ("n", "show what is new, drop what has ended"),
        ("esc", "back"),
        ("q", "quit; ctrl+c too, from anywhere"),
    )
    help_foot: str = "esc closes this"


ENGLISH = Words()
