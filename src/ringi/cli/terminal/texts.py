"""The texts of `ringi watch`. Another language is another instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


def _table(**texts: str) -> Any:
    return field(default_factory=lambda: MappingProxyType(texts))


@dataclass(frozen=True)
class Texts:
    """The texts in English, with placeholders in braces."""

    inbox: str = "Inbox"
    waiting: str = "{count} open"
    found: str = "{count} found for “{text}”"
    many: str = "{count} or more"
    news: str = "{count} new"
    ended: str = "{count} ended"
    show_news: str = "press n"
    empty: str = "You're all caught up. New requests will show up here."
    empty_search: str = "No requests match “{text}”. Press esc to end the search."
    search: str = "Search titles, texts and actions"
    list_keys: str = "enter open · / search · c claim · u release · n refresh · ? help · q quit"

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

    facts: str = "Action"
    facts_ended: str = "Requested action"
    no_arguments: str = "without arguments"
    finish: str = "Finish task?"
    task: str = "task"
    summary: str = "summary"
    display: str = "Shown by the agent (unverified)"
    agent_words: str = "Description by the agent (unverified)"
    context: str = "Context from the agent (unverified)"
    history: str = "History"
    required: str = "required"
    answer: str = "Answer, as JSON"
    your_answer: str = "Your answer · enter sends · ctrl+j new line"
    reason: str = "Reason (sent to the agent as written) · enter rejects · ctrl+j new line"
    target: str = "Mistakes here are costly. Type {name} to confirm"
    target_argument: str = "Mistakes here are costly. Type the {label} to confirm: {name}"
    target_differs: str = "is not {name}: type it exactly, or press esc to go back"
    with_hidden: str = "With invisible characters: {text}"
    becomes: str = "{before} → {after}"
    not_set: str = "not set"
    range: str = "{least} to {most}"
    slider: str = "← → choose"
    yes: str = "Yes"
    no: str = "No"
    date: str = "YYYY-MM-DD"
    moment: str = "YYYY-MM-DDThh:mm:ss+00:00"
    attachment: str = "attach the file on the page, or with `ringi respond --file`"

    button: Mapping[str, str] = _table(approve="Approve", edit="Edit", reject="Reject", respond="Answer")
    called_by_agent: str = "{own} “{label}”"
    button_finish: Mapping[str, str] = _table(
        approve="Complete", edit="Change the task", reject="Not finished", respond="Answer"
    )
    send_edit: str = "Approve with changes"
    confirm: str = "Confirm"
    back: str = "Back"
    detail_keys: str = "tab fields · c claim · u release · j k next, previous · esc back · ? help"
    field_keys: str = "ctrl+s send · tab next field · ctrl+r reset field · esc leave field"
    mode_keys: str = "ctrl+s send · tab next field · esc back"
    dead_keys: str = "j k next, previous · esc back · ? help · q quit"

    sending: str = "sending…"
    done: str = "{what}: {title}"
    last_one: str = "That was the last request."
    ended_here: str = "{outcome}. Your text is kept so you can copy it."
    ended_silent: str = "{outcome}."
    expired: str = "expired at {at} without an answer, so nothing ran"
    expired_fallback: str = "expired at {at} without an answer; the run continued with {value}, without approval"
    cancelled: str = "cancelled at {at} by {name}"
    cancelled_because: str = "cancelled at {at} by {name}: {reason}"
    decided_by: str = "{what} by {name} at {at}"
    not_offered: str = "{decision} is not available here; choose {allowed}"
    change_first: str = "Change a value first, or press esc to go back"
    nothing_to_edit: str = "The action has no arguments to change"
    fix_fields: str = "Check the marked fields: nothing was sent"
    claimed: str = "Claimed by you until {at}: others cannot answer"
    released: str = "Released: others can answer"
    unsent: str = "You have unsent text. Press q again to quit without sending"

    no_number: str = "{text} is not a number: write digits, such as 12 or 12.5"
    no_json: str = "not JSON ({why}): put text in double quotes"

    help_title: str = "Keys"
    help: tuple[tuple[str, str], ...] = (
        ("j k ↓ ↑", "next, previous"),
        ("enter", "open a request; send a reason or an answer"),
        ("a", "approve, with the values of the form; answer a question"),
        ("e", "edit the arguments or the form; ctrl+s sends"),
        ("r", "reject, with a reason that the agent reads as written"),
        ("m", "answer with a text"),
        ("c u", "claim, so that others cannot answer; release"),
        ("tab", "next field; letters are typed into it until esc"),
        ("ctrl+s", "send, also from a field"),
        ("ctrl+r", "reset a field"),
        ("/", "search"),
        ("n", "show new requests, remove ended ones"),
        ("esc", "back"),
        ("q", "quit; ctrl+c too, from anywhere"),
    )
    help_foot: str = "esc closes this"


ENGLISH = Texts()
