"""The names of events stand in one place, and everything that lists them agrees with it."""

from __future__ import annotations

import ast
import re

from tests.sources import SOURCES, nodes_of

from ringi.domain.events import (
    AUDIT_EVENTS,
    FEED_EVENTS,
    FINAL_EVENTS,
    MAIL_EVENTS,
    TENANT_EVENTS,
    WEBHOOK_EVENTS,
)
from ringi.domain.request import Request
from ringi.server.sse.event_hub import NAMES

ROOT = SOURCES.parent
ALL = {*FEED_EVENTS, *AUDIT_EVENTS}
FINAL = {name.removeprefix(f"{Request.record}.") for name in FINAL_EVENTS}
"""What `Request.ended` makes."""
BY_RECORD = {"created", "erased"}
"""What each kind of record does by itself."""


def changes_in(file: str) -> set[str]:
    """Return the events that a file makes of a request: the first argument of each `changed(…)`."""
    calls = (node for node in nodes_of(SOURCES / "ringi" / file) if isinstance(node, ast.Call))
    named = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "changed"]
    return {str(call.args[0].value) for call in named if isinstance(call.args[0], ast.Constant)}


def test_every_event_that_a_request_can_have_has_its_name_there() -> None:
    files = ("domain/request.py", "domain/decisions.py", "domain/memories.py")
    made = {change for file in files for change in changes_in(file)} | {*FINAL} | BY_RECORD
    assert {f"{Request.record}.{what}" for what in made} == ALL


def test_no_name_is_told_twice_and_parts_are_parts() -> None:
    assert len(ALL) == len(FEED_EVENTS) + len(AUDIT_EVENTS)
    assert {*WEBHOOK_EVENTS, *MAIL_EVENTS, *FINAL_EVENTS} <= ALL
    assert frozenset(FEED_EVENTS) == NAMES


def test_the_page_listens_to_the_names_of_the_server() -> None:
    written = (ROOT / "ui/src/api/feed.ts").read_text("utf-8")
    for constant, names in (("feedEvents", FEED_EVENTS), ("tenantEvents", TENANT_EVENTS)):
        found = re.search(rf"const {constant} = Object\.keys\(\{{([^}}]*)\}}", written)
        assert found
        assert re.findall(r'"([^"]+)": true', found[1]) == list(names)
    assert "names: [...feedEvents, ...tenantEvents]," in written


def test_the_reference_lists_the_names_of_the_server() -> None:
    page = (ROOT / "docs/reference/events.md").read_text("utf-8")
    assert re.findall(r"^\| `(request\.\w+)` \|", page, re.MULTILINE) == list(FEED_EVENTS)
    assert {name for name in (*AUDIT_EVENTS, *TENANT_EVENTS) if f"`{name}`" not in page} == set()
    webhooks = (ROOT / "docs/how-to/send-webhooks.md").read_text("utf-8")
    (row,) = (line for line in webhooks.splitlines() if line.startswith("| `events` |"))
    types = {name if name.startswith("request") else f"request{name}" for name in re.findall(r"`(\S+)`", row)[1:]}
    assert types == set(WEBHOOK_EVENTS)
