"""The help screen."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from ringi.cli.terminal.texts import ENGLISH as TEXTS


class HelpScreen(ModalScreen[None]):
    """A screen with all keys."""

    BINDINGS = [("escape,question_mark,q,enter", "dismiss", "")]

    def compose(self) -> ComposeResult:
        """Create one line for each key."""
        width = max(len(keys) for keys, _ in TEXTS.help)
        lines = [f"{keys:{width}}   {what}" for keys, what in TEXTS.help]
        box = Static(Content("\n".join([*lines, "", TEXTS.help_foot])), id="help")
        box.border_title = TEXTS.help_title
        yield box
