"""The keys, on one page."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ringi.cli.terminal.words import ENGLISH as WORDS


class HelpScreen(ModalScreen[None]):
    """All keys and what they do."""

    BINDINGS = [("escape,question_mark,q,enter", "dismiss", "")]

    def compose(self) -> ComposeResult:
        """Lay out one line for each key."""
        width = max(len(keys) for keys, _ in WORDS.help)
        lines = [f"{keys:{width}}   {what}" for keys, what in WORDS.help]
        box = Static(Content("\n".join([*lines, "", WORDS.help_foot])), id="help")
        box.border_title = WORDS.help_title
        yield box
