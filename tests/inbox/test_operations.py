"""The table of operations: each verb has a row, and nothing in a row has another name in the signature."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ringi.base.model import StrictModel
from ringi.inbox import api
from ringi.inbox.api import Inbox
from ringi.inbox.operations import TABLE, Operation, check_table

MADE_OF_OTHERS = {"submit", "wait", "follow", "check", "close", "lifetime"}
"""Not calls of their own: `ask` submits, `wait` and `follow` repeat calls, and `pauses.check` reads the list."""
PARTS = (api.Grants, api.Suggestions, api.Pauses, api.People, api.Checks, api.Memories, api.Trail)


class Pinned(StrictModel):
    """A body with a field that no verb has."""

    pinned: bool


def row_of(verb: object) -> Operation:
    return next(row for row in TABLE if row.verb is verb)


@pytest.mark.parametrize("verbs", [Inbox, *PARTS])
def test_each_abstract_verb_has_a_row(verbs: type) -> None:
    rooms = {each.__name__.lower() for each in PARTS}
    rows = {row.name for row in TABLE if vars(verbs).get(row.name) is row.verb}
    abstract: frozenset[str] = getattr(verbs, "__abstractmethods__")  # noqa: B009
    assert abstract - rows - MADE_OF_OTHERS - rooms == frozenset()


def test_no_two_rows_are_the_same_call() -> None:
    assert len({(row.method, row.path) for row in TABLE}) == len({row.verb for row in TABLE}) == len(TABLE)


def test_a_field_of_the_wire_that_is_no_parameter_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match=r"requests\.undo: only in the signature or only on the wire: \['pinned'\]"):
        check_table((replace(row_of(Inbox.undo), body=Pinned),))


def test_a_parameter_that_the_wire_does_not_have_is_refused_at_import() -> None:
    with pytest.raises(TypeError, match=r"pauses\.begin: only in .*\['agent', 'reason', 'until'\]"):
        check_table((replace(row_of(api.Pauses.begin), body=None),))


def test_what_changes_something_is_no_get_and_names_who_did_it() -> None:
    for row in TABLE:
        assert (row.caller == "by") is (row.method != "GET" and row.verb is not Inbox.ask) or row.room in (
            "memories",
            "people",
        ), row.place
