"""The records of Ringi, their events and their state machines, without any input or output."""

from ringi.base.validation import Name
from ringi.domain.ask import Answer, Ask, AskOptions, Button, Decision, Id, Wording, parse_body
from ringi.domain.display import Code, Diff, Image, Link, Table
from ringi.domain.events import Webhook
from ringi.domain.journal import Journal, JournalEntry, entries_in
from ringi.domain.memories import Memory, is_name_of_person
from ringi.domain.record import (
    AGENT,
    SCRIPTS_WITHOUT_SPACES,
    START,
    SYSTEM,
    THREAD,
    Key,
    Page,
    Position,
    Query,
    UnreadableError,
    Viewer,
    record_topic,
)
from ringi.domain.request_data import Status
from ringi.domain.thread import Thread, ThreadStatus
from ringi.domain.voting import Tier

__all__ = [
    "AGENT",
    "SCRIPTS_WITHOUT_SPACES",
    "START",
    "SYSTEM",
    "THREAD",
    "Answer",
    "Ask",
    "AskOptions",
    "Button",
    "Code",
    "Decision",
    "Diff",
    "Id",
    "Image",
    "Journal",
    "JournalEntry",
    "Key",
    "Link",
    "Memory",
    "Name",
    "Page",
    "Position",
    "Query",
    "Status",
    "Table",
    "Thread",
    "ThreadStatus",
    "Tier",
    "UnreadableError",
    "Viewer",
    "Webhook",
    "Wording",
    "entries_in",
    "is_name_of_person",
    "parse_body",
    "record_topic",
]
