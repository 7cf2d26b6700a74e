"""A form field with its label, help, changes and errors."""

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
from ringi.cli.terminal.controls import ChoiceControl, Control, InputError
from ringi.cli.terminal.slider import Slider
from ringi.cli.terminal.texts import ENGLISH as TEXTS


class FieldBox(Vertical):
    """A field. `path` is its name in validation errors."""

    BINDINGS = [Binding("ctrl+r", "reset", show=False)]

    class Typed(Message):
        """The content of the field changed."""

        def __init__(self, path: str, raw_value: Any, *, is_changed: bool) -> None:
            super().__init__()
            self.path, self.raw_value, self.is_changed = path, raw_value, is_changed

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
        """Create the widgets."""
        yield Static(Content(visible(self.label)), classes="label")
        yield self.control
        yield Static(Content(visible_lines(self.note)), classes="note")
        yield Static(classes="change")
        yield Static(classes="hidden-characters")
        yield Static(classes="error")

    def on_mount(self) -> None:
        """Hide empty lines."""
        self.query_one(".note").display = bool(self.note)
        self.complain("")
        self._show_changes()

    def relabel(self, label: str) -> None:
        """Change the label."""
        self.query_one(".label", Static).update(Content(visible(label)))

    @property
    def is_changed(self) -> bool:
        """Whether the content differs from the initial one."""
        return bool(self.control.raw_value() != self.untouched)

    @property
    def is_wrong(self) -> bool:
        """Whether the field shows an error."""
        return bool(self.query_one(".error").display)

    def read(self) -> Any:
        """Return the content as JSON data; raise `InputError` if it is invalid."""
        return self.control.read()

    def complain(self, why: str) -> None:
        """Show an error, or clear it."""
        self._line(".error", f"✗ {visible(why)}" if why else "")

    async def action_reset(self) -> None:
        """Reset the field to its initial content."""
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
        self._show_changes()
        self.post_message(self.Typed(self.path, self.control.raw_value(), is_changed=self.is_changed))

    def _show_changes(self) -> None:
        raw_value = self.control.raw_value()
        self._line(".change", self._change() if self.is_changed and self.before is not None else "")
        escaped = visible_lines(raw_value) if isinstance(raw_value, str) else raw_value
        hides = isinstance(raw_value, str) and escaped != raw_value.expandtabs(4)
        self._line(".hidden-characters", TEXTS.with_hidden.format(text=escaped) if hides else "")

    def _change(self) -> str:
        try:
            after = self.read()
        except InputError as error:
            return str(error)
        return TEXTS.becomes.format(before=visible_value(self.before), after=visible_value(after))

    def _line(self, name: str, text: str) -> None:
        line = self.query_one(name, Static)
        line.update(Content(text))
        line.display = bool(text)
