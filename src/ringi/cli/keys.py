"""The table of keys, which the page and the terminal share."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TypedDict


class KeyRow(TypedDict):
    """What a key does, the keys of the page and of the terminal, and a label in each language."""

    id: str
    page: list[str]
    """Names as in `KeyboardEvent.key`; `mod+k` is Ctrl or Command with k, `g i` is g and then i."""
    terminal: list[str]
    """Names as in Textual."""
    label: dict[str, str]


@cache
def keyboard_table() -> dict[str, list[KeyRow]]:
    """Return the rows of each area: everywhere, the list, a request, a field, and the other pages."""
    table: dict[str, list[KeyRow]] = json.loads((files("ringi.base") / "keys.json").read_text("utf-8"))
    return table


def terminal_keys_of_area(area: str, id: str) -> str:
    """Return the keys of the terminal that do something in an area, as Textual writes several."""
    return ",".join(next(row["terminal"] for row in keyboard_table()[area] if row["id"] == id))


def terminal_key_labels(language: str) -> dict[str, str]:
    """Return the labels of the terminal's keys in a language, as its texts."""
    rows = (row for rows in keyboard_table().values() for row in rows if row["terminal"])
    return {f"key.{row['id']}": row["label"][language] for row in rows}
