"""The table of keys, which the page and the terminal share."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from textual.binding import BindingType


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


def terminal_bindings(area: str, actions: dict[str, str], **options: Any) -> list[BindingType]:
    """Return bindings of the terminal, each with its label as the key of a text.

    Args:
        area: The area of the keys.
        actions: The action of the screen or the widget for each row of the area.
        options: Options of every binding, as in Textual.
    """
    from textual.binding import Binding

    return [Binding(terminal_keys_of_area(area, id), action, f"key.{id}", **options) for id, action in actions.items()]


def terminal_key_labels(language: str) -> dict[str, str]:
    """Return the labels of the terminal's keys in a language, as its texts."""
    rows = (row for rows in keyboard_table().values() for row in rows if row["terminal"])
    return {f"key.{row['id']}": row["label"][language] for row in rows}
