"""The table of keys: what the page and the terminal bind is in it, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from textual.binding import Binding

from ringi.base.texts import LANGUAGES
from ringi.cli.keys import key_table, keys_of
from ringi.cli.terminal import app, fields, inbox_screen, list_screen, request_screen

UI = Path(__file__).parents[2] / "ui/src"
BOUND = re.compile(r'\bkey: "([^"]+)", label[^}]*\brun\b|\b\w+Key = "(.)";|decideKeys: [^=]+= \{([^}]+)\}')
FOLDERS = ("inbox", "request", "values", "shell")
"""The folders of the page with keys that the terminal can have too, and those of everywhere."""


def bound_by_terminal() -> set[tuple[str, str]]:
    """Return what each key of the terminal does, from the screens and widgets themselves."""
    owners = [
        owner
        for module in (app, fields, inbox_screen, list_screen, request_screen)
        for owner in vars(module).values()
        if isinstance(owner, type) and owner.__module__ == module.__name__
    ]
    bindings = [binding for owner in owners for binding in owner.__dict__.get("BINDINGS", ())]
    assert all(isinstance(binding, Binding) for binding in bindings)
    return {(each.description.removeprefix("key."), key) for each in bindings for key in each.key.split(",")}


def bound_by_page() -> set[str]:
    """Return the keys that the page binds by name in these folders; choices by number are not among them."""
    found: set[str] = set()
    for folder in FOLDERS:
        for path in (UI / folder).rglob("*.ts*"):
            if ".test." not in path.name:
                for key, constant, decisions in BOUND.findall(path.read_text("utf-8")):
                    found |= {key, constant, *re.findall(r'"([^"]+)"', decisions)} - {""}
    return found


def test_the_terminal_binds_exactly_the_keys_of_the_table() -> None:
    expected = {
        (row["id"], key) for area, rows in key_table().items() for row in rows for key in row["terminal"] if area
    }

    assert bound_by_terminal() == expected


def test_the_page_binds_exactly_the_keys_of_the_table() -> None:
    expected = {key for rows in key_table().values() for row in rows for key in row["page"]}

    assert bound_by_page() == expected


@pytest.mark.parametrize("area", key_table())
def test_no_key_of_an_area_does_two_things_in_the_terminal(area: str) -> None:
    counts = Counter(key for row in key_table()[area] for key in row["terminal"])

    assert [key for key, count in counts.items() if count > 1] == []


def test_a_decision_has_the_same_key_in_page_and_terminal() -> None:
    for row in key_table()["request"]:
        if row["id"] in ("approve", "edit", "reject", "respond", "claim", "release", "next", "previous"):
            assert row["page"][0] == row["terminal"][0]
    assert keys_of("request", "respond") == "d,m"


def test_every_key_has_a_label_in_each_language() -> None:
    rows = [row for each in key_table().values() for row in each]

    assert {tuple(row["label"]) for row in rows} == {LANGUAGES}
    assert all(text.strip() for row in rows for text in row["label"].values())
