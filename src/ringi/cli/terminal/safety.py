"""The last gate before the terminal: whatever a widget draws, nothing that a terminal obeys gets through."""

from __future__ import annotations

from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from ringi.cli.format.visible import is_hidden


class Harmless(LineFilter):
    """Replaces what hides by blanks of the same width: what people type or paste is drawn by widgets as it is."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments without a character that a terminal would obey."""
        return [Segment(harmless(text), style, control) for text, style, control in segments]


@lru_cache(4096)
def harmless(text: str) -> str:
    """Return the text in as many cells, without a hidden character."""
    if text.isascii() and text.isprintable():
        return text
    kept = "".join(character for character in text if not is_hidden(character))
    return set_cell_size(kept, cell_len(text))
