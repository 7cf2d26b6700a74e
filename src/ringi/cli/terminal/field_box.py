"""A field with its label, its help, what changed, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Select, Static, TextArea

from ringi.cli.format.visible import visible, visible_lines, visible_value
from ringi.cli.terminal.controls import ChoiceControl, Control, UnreadableError
from ringi.cli.terminal.slider import Slider
from ringi.cli.terminal.words import ENGLISH as WORDS


class FieldBox(Vertical):
    """One field. `path` is the name under which errors speak of it."""

    BINDINGS = [Binding("ctrl+r", "reset", show=False)]

    class Typed(Message):
        """The field holds something else."""

        def __init__(self, path: str, held: Any, *, is_changed: bool) -> None:
            super().__init__()
            self.path, self.held, self.is_changed = path, held, is_changed

    def __init__(
        self,
        path: str,
        label: str,
        make: Callable[[Any], Control],
        *,
        untouched: Any,
        typed: Any,
        before: Any = None,
        note: str = "",
    ) -> None:
        super().__init__()
        self.path, self.label, self.make, self.note = path, label, make, note
        self.untouched, self.before = untouched, before
        self.control = make(typed)

    def compose(self) -> ComposeResult:
        """Lay out the label, the control and the lines below it."""
        yield Static(Content(visible(self.label)), classes="label")
        yield self.control
        yield Static(Content(visible_lines(self.note)), classes="note")
        yield Static(classes="change")
        yield Static(classes="hidden-characters")
        yield Static(classes="error")

    def on_mount(self) -> None:
        """Show only the lines that say something."""
        self.query_one(".note").display = bool(self.note)
        self.complain("")
        self._tell_changes()

    def relabel(self, label: str) -> None:
        """Ask for something else."""
        self.query_one(".label", Static).update(Content(visible(label)))

    @property
    def is_changed(self) -> bool:
        """Whether it holds something else than at first."""
        return bool(self.control.held() != self.untouched)

    @property
    def is_wrong(self) -> bool:
        """Whether it was complained about and not changed since."""
        return bool(self.query_one(".error").display)

    def read(self) -> Any:
        """Return what is typed as JSON data; raise `UnreadableError` for what cannot be sent."""
        return self.control.read()

    def complain(self, why: str) -> None:
        """Show what is wrong with the field, or nothing."""
        self._line(".error", f"✗ {visible(why)}" if why else "")

    async def action_reset(self) -> None:
        """Put the field back as it was at first."""
        fresh = self.make(self.untouched)
        await self.mount(fresh, before=self.control)
        await self.control.remove()
        self.control = fresh
        fresh.focus()
        self._changed()

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    @on(ChoiceControl.Changed)
    @on(Slider.Changed)
    def _changed(self) -> None:
        self.complain("")
        self._tell_changes()
        self.post_message(self.Typed(self.path, self.control.held(), is_changed=self.is_changed))

    def _tell_changes(self) -> None:
        held = self.control.held()
        self._line(".change", self._change() if self.is_changed and self.before is not None else "")
        shown = visible_lines(held) if isinstance(held, str) else held
        hides = isinstance(held, str) and shown != held.expandtabs(4)
        self._line(".hidden-characters", WORDS.with_hidden.format(text=shown) if hides else "")

    def _change(self) -> str:
        try:
            after = self.read()
        except UnreadableError as error:
            return str(error)
        return WORDS.becomes.format(before=visible_value(self.before), after=visible_value(after))

    def _line(self, name: str, text: str) -> None:
        line = self.query_one(name, Static)
        line.update(Content(text))
        line.display = bool(text)
