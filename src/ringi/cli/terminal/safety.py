"""A filter for everything that widgets draw: no control characters reach the terminal."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from ringi.cli.format.output import is_hidden_character


class ControlCharacterFilter(LineFilter):
    """Replaces hidden characters by blanks: widgets draw typed and pasted text unchanged."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without control characters."""
        return [Segment(without_control_characters(text), style, control) for text, style, control in segments]


@lru_cache(4096)
def without_control_characters(text: str) -> str:
    """Return a text of the same width without hidden characters."""
    if text.isascii() and text.isprintable():
        return text
    visible_text = "".join(character for character in text if not is_hidden_character(character))
    return set_cell_size(visible_text, cell_len(text))
