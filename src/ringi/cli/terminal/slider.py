"""A slider that is moved with the arrow keys."""

from __future__ import annotations

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.forms.fields import Slider as SliderField

STEPS = 100
"""The number of steps of a range without a step size."""


class Slider(Widget, can_focus=True):
    """A slider. It has no value until a key is pressed."""

    BINDINGS = [
        Binding("left,down", "move(-1)", show=False),
        Binding("right,up", "move(1)", show=False),
        Binding("pagedown", "move(-10)", show=False),
        Binding("pageup", "move(10)", show=False),
        Binding("home", "go(0)", show=False),
        Binding("end", "go(1)", show=False),
    ]

    position: var[int | None] = var(None)
    """Steps from the left end; None if there is no value."""

    class Changed(Message):
        """The value changed."""

    def __init__(self, field: SliderField, value: float | None) -> None:
        super().__init__()
        self.least, self.most = field.min or 0, field.max or 0
        whole = isinstance(self.least, int) and isinstance(self.most, int)
        self.step = field.step or (1 if whole else (self.most - self.least) / STEPS)
        self.steps = int((self.most - self.least) / self.step + 1e-9) if self.step else 0
        if value is not None:
            self.set_reactive(Slider.position, round((value - self.least) / self.step) if self.step else 0)

    @property
    def value(self) -> int | float | None:
        """The value; None before the first key."""
        if self.position is None:
            return None
        number = self.least + self.position * self.step
        return number if isinstance(number, int) else float(f"{number:.12g}")

    def render(self) -> Content:
        """Draw the line, the handle and the value."""
        width = max(10, min(40, self.size.width - 30))
        at = None if self.position is None else round(self.position / max(1, self.steps) * (width - 1))
        line = "".join("●" if place == at else "─" for place in range(width))
        ends = TEXTS.range.format(least=f"{self.least:g}", most=f"{self.most:g}")
        number = TEXTS.not_set if self.value is None else f"{self.value}"
        return Content(f"{line} {number} ({ends})")

    def watch_position(self) -> None:
        """Redraw and post `Changed`."""
        self.refresh()
        self.post_message(self.Changed())

    def action_move(self, steps: int) -> None:
        """Move the handle; the first key sets it to the left end."""
        self.position = 0 if self.position is None else min(self.steps, max(0, self.position + steps))

    def action_go(self, end: int) -> None:
        """Move the handle to an end."""
        self.position = self.steps if end else 0
