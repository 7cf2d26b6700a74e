"""The table of keys: what the page and the terminal bind is in it, and nothing else."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from tests.sources import UI, files, source_of
from textual.binding import Binding

from ringi.base.texts import LANGUAGES
from ringi.cli.keys import keyboard_table, terminal_keys_of_area
from ringi.cli.terminal import app, fields, inbox_screen, list_screen, request_screen

BOUND = re.compile(
    r'\bkey: "([^"]+)", label[^}]*\brun\b|\b\w+Key = "(.)";'
    r'|\bpageKey: "([^"]+)"'
    r'|aria-keyshortcuts="(Alt[^"]+)"|decideKeys: [^=]+= \{([^}]+)\}'
)
BY_NUMBER = "key: String(index + 1)"
"""Choices by number are bound one by one; the table has the first of them."""
ROWS = "useListKeys(list, "
"""Binds the two keys that move between the rows of a page."""
FOLDERS_OF_AREAS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("everywhere",): ("shell", "apps"),
    ("list", "request"): ("inbox", "sessions", "request", "values"),
    ("field",): ("form",),
    ("threads", "thread"): ("thread", "pauses"),
    ("chat",): ("chat", "assistant"),
    ("learning",): ("learning",),
    ("memory",): ("memory",),
    ("grants",): ("grants",),
    ("operations",): ("operations", "pauses"),
}
"""The areas of the table, and the folders of the page that bind their keys."""


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


def bound_in(text: str) -> set[str]:
    """Return the keys that a file of the page binds."""
    found = {"j", "k"} if ROWS in text else set()
    found |= {"1"} if BY_NUMBER in text else set()
    for *keys, decisions in BOUND.findall(text):
        found |= {*keys, *re.findall(r'"([^"]+)"', decisions)} - {""}
    return found


def folder_of(path: Path) -> str:
    """Return the folder of the page that has a file: that of the application, but for what it gives to every page."""
    first, *others = path.relative_to(UI).parts
    return others[0] if first == "apps" and path.name != "index.ts" else first


def bound_by_page() -> dict[str, set[str]]:
    """Return the keys that the page binds, by the folder that binds them; widgets bind keys of pages around them."""
    found: dict[str, set[str]] = {}
    for path in files(UI, "*.ts*"):
        if ".test." not in path.name and folder_of(path) != "widgets" and (keys := bound_in(source_of(path))):
            found.setdefault(folder_of(path), set()).update(keys)
    return found


def test_the_terminal_binds_exactly_the_keys_of_the_table() -> None:
    expected = {
        (row["id"], key) for area, rows in keyboard_table().items() for row in rows for key in row["terminal"] if area
    }

    assert bound_by_terminal() == expected


@pytest.mark.parametrize("areas", FOLDERS_OF_AREAS)
def test_a_page_binds_exactly_the_keys_of_its_areas(areas: tuple[str, ...]) -> None:
    expected = {key for area in areas for row in keyboard_table()[area] for key in row["page"]}
    bound = bound_by_page()

    assert set().union(*(bound.get(folder, set()) for folder in FOLDERS_OF_AREAS[areas])) == expected


def test_no_key_is_bound_outside_the_areas_of_the_table() -> None:
    assert bound_by_page().keys() <= {folder for folders in FOLDERS_OF_AREAS.values() for folder in folders}
    assert {area for areas in FOLDERS_OF_AREAS for area in areas} == keyboard_table().keys()


def test_each_binding_of_the_page_is_seen_by_these_tests() -> None:
    for path in files(UI, "*.ts*"):
        text = source_of(path)
        if ".test." not in path.name and "useKeys(" in text and path.name != "keys.tsx":
            assert bound_in(text) or "useRowKeys(" in text, path


@pytest.mark.parametrize("area", keyboard_table())
def test_no_key_of_an_area_does_two_things_in_the_terminal(area: str) -> None:
    counts = Counter(key for row in keyboard_table()[area] for key in row["terminal"])

    assert [key for key, count in counts.items() if count > 1] == []


def test_a_decision_has_the_same_key_in_page_and_terminal() -> None:
    for row in keyboard_table()["request"]:
        if row["id"] in ("approve", "edit", "reject", "respond", "claim", "next", "previous"):
            assert row["page"][0] == row["terminal"][0]
    assert terminal_keys_of_area("request", "respond") == "d,m"


def test_every_key_has_a_label_in_each_language() -> None:
    rows = [row for each in keyboard_table().values() for row in each]

    assert {tuple(row["label"]) for row in rows} == {LANGUAGES}
    assert all(text.strip() for row in rows for text in row["label"].values())
