"""The fields of a form and of an edited action: a widget for each type, with its label, changes and errors."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from functools import partial
from typing import Any

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, OptionList, Select, Static, TextArea

from ringi.base.validation import MAX_WHOLE_NUMBER
from ringi.cli.format.output import (
    escape_hidden_characters,
    escape_hidden_in_lines,
    json_value_for_people,
    mark_mixed_alphabets,
)
from ringi.cli.keys import terminal_bindings
from ringi.cli.texts import cli_text, cli_text_or
from ringi.errors import FieldError, InvalidError
from ringi.forms import fields as types

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.[0-9]+")
LONGEST_NUMBER = 400
STEPS = 100
"""The number of steps of a slider without a step size."""
MOVES = {"less": -1, "more": 1, "less_by_ten": -10, "more_by_ten": 10, "least": -(10**9), "greatest": 10**9}
"""The steps by which a key moves the handle of a slider."""
LabelledOptions = list[tuple[str, Any]]


class ValueChanged(Message):
    """The value of a `ChoiceList` or a `SliderBar` changed."""


class ChoiceList(OptionList):
    """A list of which one or several options can be selected; unlike Textual's own, its marks need no color."""

    BINDINGS = terminal_bindings("field", {"choose": "select"}, show=False)

    def __init__(self, options: LabelledOptions, value: Any, *, many: bool) -> None:
        chosen = value if many else [value]
        self.choices, self.many = options, many
        # True equals 1, but they are different options.
        self.marked = {
            at for at, (_, own) in enumerate(options) if any(type(own) is type(one) and own == one for one in chosen)
        }
        super().__init__(*map(self._prompt, range(len(options))), compact=True)

    @property
    def value(self) -> Any:
        """The selected value; with `many`, a list in the order of the options."""
        values = [self.choices[at][1] for at in sorted(self.marked)]
        return values if self.many else next(iter(values), None)

    def on_focus(self) -> None:
        """Highlight the first selected option."""
        if self.highlighted is None:
            self.highlighted = min(self.marked, default=0)

    @on(OptionList.OptionSelected)
    def _toggle(self, selected: OptionList.OptionSelected) -> None:
        selected.stop()
        before, toggled = self.marked, self.marked ^ {selected.option_index}
        self.marked = toggled if self.many else toggled - before
        for at in before ^ self.marked:
            self.replace_option_prompt_at_index(at, self._prompt(at))
        self.post_message(ValueChanged())

    def _prompt(self, at: int) -> Content:
        mark = ("[x]" if self.many else "(•)") if at in self.marked else ("[ ]" if self.many else "( )")
        return Content(f"{mark} {escape_hidden_characters(self.choices[at][0])}")


class SliderBar(Widget, can_focus=True):
    """A number that is chosen with the arrow keys. It has no value until a key is pressed."""

    BINDINGS = terminal_bindings("field", {name: f"move({steps})" for name, steps in MOVES.items()}, show=False)
    value: reactive[int | float | None] = reactive(None)

    def __init__(self, field: types.Slider, value: int | float | None) -> None:
        super().__init__()
        self.least, self.most = field.min or 0, field.max or 0
        whole = isinstance(self.least, int) and isinstance(self.most, int)
        self.step = field.step or (1 if whole else (self.most - self.least) / STEPS) or 1
        self.steps = int((self.most - self.least) / self.step + 1e-9)
        self.set_reactive(SliderBar.value, value)

    def render(self) -> Content:
        """Draw the line, the handle and the value."""
        width = max(10, min(40, self.size.width - 30))
        handle = -1 if self.value is None else round(self._position / max(1, self.steps) * (width - 1))
        line = "".join("●" if place == handle else "─" for place in range(width))
        ends = cli_text("range", least=f"{self.least:g}", most=f"{self.most:g}")
        return Content(f"{line} {cli_text('not_set') if self.value is None else self.value} ({ends})")

    def watch_value(self) -> None:
        """Post that the value changed."""
        self.post_message(ValueChanged())

    def action_move(self, steps: int) -> None:
        """Move the handle; the first key sets it to the left end."""
        number = self.least + min(self.steps, max(0, self._position + steps)) * self.step
        self.value = number if isinstance(number, int) else float(f"{number:.12g}")

    @property
    def _position(self) -> int:
        return -1 if self.value is None else round((self.value - self.least) / self.step)


class MessageArea(TextArea):
    """A reason or an answer; enter sends it."""

    BINDINGS = terminal_bindings("field", {"newline": "new_line"}, show=False, priority=True)

    class Sent(Message):
        """Enter was pressed."""

    async def _on_key(self, event: events.Key) -> None:
        if event.key != "enter":
            return await super()._on_key(event)
        event.stop()
        event.prevent_default()
        self.post_message(self.Sent())

    def action_new_line(self) -> None:
        """Begin a new line."""
        self.insert("\n")


Control = Input | TextArea | Select[Any] | ChoiceList | SliderBar


class FieldBox(Vertical):
    """A field. `path` is its name in validation errors."""

    BINDINGS = terminal_bindings("field", {"reset": "reset"})

    def __init__(
        self,
        path: str,
        label: str,
        make: Callable[[Any], Control],
        untouched: Any,
        *,
        read: Callable[[Any], Any] | None = None,
        before: Any = None,
        note: str = "",
    ) -> None:
        super().__init__()
        self.path, self.label, self.note = path, label, note
        self.make, self.untouched, self.before, self._read = make, untouched, before, read or (lambda content: content)
        self.control, self.error = make(untouched), ""

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        yield Static(Content(escape_hidden_characters(self.label)), classes="label")
        yield self.control
        yield Static(classes="notes")

    def on_mount(self) -> None:
        """Show the help."""
        self.complain("")

    @property
    def content(self) -> Any:
        """The content as it was typed or chosen."""
        if isinstance(self.control, TextArea):
            return self.control.text
        return None if self.control.value is Select.NULL else self.control.value

    @property
    def is_changed(self) -> bool:
        """Whether the content differs from the initial one."""
        return bool(self.content != self.untouched)

    def owns(self, path: str) -> bool:
        """Return whether an error at this path is about this field."""
        return path == self.path or path.startswith((f"{self.path}.", f"{self.path}["))

    def read(self) -> Any:
        """Return the content as JSON data; raise `InvalidError` if it is invalid."""
        try:
            return self._read(self.content)
        except ValueError as error:
            raise InvalidError.of(self.path, str(error)) from error

    def relabel(self, label: str) -> None:
        """Change the label; it may have several lines."""
        self.query_one(".label", Static).update(Content(escape_hidden_in_lines(label)))

    def complain(self, error: str) -> None:
        """Show an error, or clear it."""
        self.error = error
        notes = [Content(note) for note in (escape_hidden_in_lines(self.note), *self._changes()) if note]
        content = [*notes, Content.styled(f"✗ {escape_hidden_characters(error)}", "bold $error")] if error else notes
        self.query_one(".notes", Static).update(Content("\n").join(content))
        self.query_one(".notes").display = bool(content)

    async def action_reset(self) -> None:
        """Reset the field to its initial content."""
        fresh = self.make(self.untouched)
        await self.mount(fresh, before=self.control)
        await self.control.remove()
        self.control = fresh
        fresh.focus()
        self.complain("")

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    @on(ValueChanged)
    def _changed(self) -> None:
        self.complain("")

    def _changes(self) -> Iterator[str]:
        content = self.content
        if self.is_changed and self.before is not None:
            try:
                after = json_value_for_people(self._read(content))
                yield cli_text("becomes", before=json_value_for_people(self.before), after=after)
            except ValueError as error:
                yield str(error)
        if isinstance(content, str) and (escaped := escape_hidden_in_lines(content)) != content.expandtabs(4):
            yield cli_text("with_hidden", text=mark_mixed_alphabets(escaped))
        elif isinstance(content, str) and (noted := mark_mixed_alphabets(content)) != content:
            yield noted


def read_field_boxes(boxes: Iterable[FieldBox]) -> dict[str, Any]:
    """Return the values of fields by their paths; raise `InvalidError` with all errors."""
    values: dict[str, Any] = {}
    errors: list[FieldError] = []
    for box in boxes:
        try:
            values[box.path] = box.read()
        except InvalidError as error:
            errors += error.errors
    if errors:
        raise InvalidError(errors)
    return values


def form_field_box(field: types.Field) -> FieldBox:
    """Return the box of a form field."""
    default: Any = field.default
    hint = field.placeholder or cli_text_or(f"hint.{field.type}", "")
    read = parse_typed_number if isinstance(field, types.Number) else None
    make: Callable[[Any], Control]
    match field:
        case types.MultiSelect() | types.Checkbox():
            default, make = list(field.default or ()), partial(ChoiceList, _labeled(field), many=True)
        case types.Radio():
            make = partial(ChoiceList, _labeled(field), many=False)
        case types.Boolean():
            make = partial(ChoiceList, [(cli_text("yes"), True), (cli_text("no"), False)], many=False)
        case types.Select():
            make = partial(_drop_down, _labeled(field), hint)
        case types.Slider():
            make = partial(SliderBar, field)
        case types.Number():
            default, make = "" if default is None else json.dumps(default), partial(one_line_input, hint=hint)
        case types.TextArea():
            default, make = default or "", partial(several_lines_input, hint=hint)
        case _:
            default, make = default or "", partial(one_line_input, hint=hint)
    label = f"{field.label} ({cli_text('required')})" if field.required else field.label
    return FieldBox(field.name, label, make, default, read=read, before=field.default, note=field.help or "")


def json_value_box(path: str, name: str, value: object) -> FieldBox:
    """Return the box to edit a value: a text as it is, everything else as JSON."""
    make: Callable[[Any], Control]
    if isinstance(value, str):
        make = several_lines_input if "\n" in value or len(value) > 60 else one_line_input
        return FieldBox(path, name, make, value, before=value)
    is_long = isinstance(value, dict | list)
    make = several_lines_input if is_long else one_line_input
    written = json.dumps(value, ensure_ascii=False, indent=2 if is_long else None)
    return FieldBox(path, name, make, written, read=parse_typed_json, before=value)


def one_line_input(content: str, hint: str = "") -> Input:
    """Return an input of one line."""
    return Input(content, placeholder=escape_hidden_characters(hint), compact=True, select_on_focus=False)


def several_lines_input(content: str, hint: str = "", area: type[TextArea] = TextArea) -> TextArea:
    """Return an input of several lines."""
    return area(content, placeholder=Content(escape_hidden_characters(hint)), compact=True, highlight_cursor_line=False)


def parse_typed_number(text: str) -> int | float | None:
    """Return the number in a text such as `1234.56`, None without one; digits may be those of any script."""
    plain = "".join(map(_narrow, text)).strip()
    if plain and not NUMBER.fullmatch(plain):
        raise ValueError(cli_text("no_number", text=cli_text("quoted", text=escape_hidden_characters(text))))
    return exact_literal_number(plain) if plain else None


def exact_literal_number(text: str) -> int | float:
    """Return the number of a literal; raise `ValueError` if JSON would carry another one."""
    number = int(text) if len(text) < LONGEST_NUMBER and text.lstrip("+-").isdigit() else float(text)
    is_safe = isinstance(number, float) or abs(number) <= MAX_WHOLE_NUMBER
    if is_safe and len(text) < LONGEST_NUMBER and Decimal(text) == Decimal(repr(number)):
        return number
    raise ValueError(cli_text("inexact_number", text=text[:40], most=MAX_WHOLE_NUMBER))


def _narrow(letter: str) -> str:
    """Return the ASCII form of a digit or a full-width sign; `²` and `½` stay, which are no digits."""
    digit = unicodedata.decimal(letter, None)
    if digit is not None:
        return str(digit)
    return chr(ord(letter) - 0xFEE0) if "\uff01" <= letter <= "\uff5e" else letter


def parse_typed_json(text: str) -> Any:
    """Return the JSON value in a text; every number is the one that was typed."""
    try:
        return json.loads(text, parse_int=exact_literal_number, parse_float=exact_literal_number)
    except json.JSONDecodeError as error:
        raise ValueError(cli_text("no_json", why=error, line=error.lineno, column=error.colno)) from error


def _drop_down(options: LabelledOptions, hint: str, value: object) -> Select[Any]:
    labels = [(Content(escape_hidden_characters(label)), own) for label, own in options]
    chosen = Select.NULL if value is None else value
    return Select(labels, prompt=escape_hidden_characters(hint) or cli_text("not_set"), value=chosen, compact=True)


def _labeled(field: types.Select | types.Radio | types.MultiSelect | types.Checkbox) -> LabelledOptions:
    return [(option.label, option.value) for option in field.options]
