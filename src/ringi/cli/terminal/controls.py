"""Input widgets: one for each field type, with its raw content and its value."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

from textual import events, on
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Select, TextArea

from ringi.cli.format.visible import visible
from ringi.cli.terminal.slider import Slider
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.errors import RingiError
from ringi.forms.fields import Attachment, Boolean, Checkbox, Date, DateTime, Field, MultiSelect, Number, Radio
from ringi.forms.fields import Select as SelectField
from ringi.forms.fields import Slider as SliderField
from ringi.forms.fields import TextArea as TextAreaField

NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?|[+-]?\.[0-9]+")


class InputError(RingiError):
    """The content of a field is invalid."""

    @classmethod
    def number(cls, text: str) -> InputError:
        """Return the error for a text that is not a number."""
        return cls(TEXTS.no_number.format(text=f"“{visible(text)}”"))

    @classmethod
    def json(cls, error: ValueError) -> InputError:
        """Return the error for a text that is not JSON."""
        return cls(TEXTS.no_json.format(why=error))


class LineControl(Input):
    """One line of text."""

    def __init__(self, typed: str, placeholder: str = "") -> None:
        super().__init__(typed, placeholder=visible(placeholder), compact=True, select_on_focus=False)

    def raw_value(self) -> str:
        """Return the raw content."""
        return self.value

    def read(self) -> Any:
        """Return the value."""
        return self.value


class NumberControl(LineControl):
    """A number."""

    def read(self) -> int | float | None:
        """Return the number; raise `InputError` for anything else."""
        # Japanese and Chinese keyboards write full-width digits.
        text = unicodedata.normalize("NFKC", self.value).strip()
        if not text:
            return None
        if not NUMBER.fullmatch(text):
            raise InputError.number(self.value)
        return int(text) if text.lstrip("+-").isdigit() else float(text)


class JsonControl(LineControl):
    """A value other than text, as JSON."""

    def read(self) -> Any:
        """Return the value; raise `InputError` for invalid JSON."""
        return _parsed(self.value)


class LinesControl(TextArea):
    """Several lines of text."""

    def __init__(self, typed: str, placeholder: str = "") -> None:
        super().__init__(typed, placeholder=Content(visible(placeholder)), compact=True, highlight_cursor_line=False)

    def raw_value(self) -> str:
        """Return the raw content."""
        return self.text

    def read(self) -> Any:
        """Return the value."""
        return self.text


class JsonLinesControl(LinesControl):
    """A list or an object, as JSON."""

    def read(self) -> Any:
        """Return the value; raise `InputError` for invalid JSON."""
        return _parsed(self.text)


class MessageControl(LinesControl):
    """A reason or an answer; enter sends it."""

    BINDINGS = [Binding("ctrl+j,shift+enter,alt+enter", "new_line", show=False, priority=True)]

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


class SelectControl(Select[Any]):
    """A drop-down list of options."""

    def __init__(self, options: list[tuple[str, Any]], typed: Any, placeholder: str = "") -> None:
        labels = [(Content(visible(label)), value) for label, value in options]
        chosen = Select.NULL if typed is None else typed
        super().__init__(labels, prompt=visible(placeholder) or TEXTS.not_set, value=chosen, compact=True)

    def raw_value(self) -> Any:
        """Return the selected value."""
        return None if self.is_blank() else self.value

    read = raw_value


class ChoiceControl(OptionList):
    """A list of options, of which one or several can be selected; the marks need no color."""

    BINDINGS = [Binding("space", "select", show=False)]

    class Changed(Message):
        """The selection changed."""

    def __init__(self, options: list[tuple[str, Any]], chosen: list[Any], *, many: bool) -> None:
        self.choices, self.many = options, many
        self.marked = {at for at, (_, value) in enumerate(options) if any(_same(value, other) for other in chosen)}
        super().__init__(*map(self._prompt, range(len(options))), compact=True)

    def raw_value(self) -> Any:
        """Return the selected value; with `many`, a list in the order of the options."""
        values = [self.choices[at][1] for at in sorted(self.marked)]
        return values if self.many else next(iter(values), None)

    read = raw_value

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
        self.post_message(self.Changed())

    def _prompt(self, at: int) -> Content:
        mark = ("[x]" if self.many else "(•)") if at in self.marked else ("[ ]" if self.many else "( )")
        return Content(f"{mark} {visible(self.choices[at][0])}")


class SliderControl(Slider):
    """A number between two ends."""

    def raw_value(self) -> int | float | None:
        """Return the selected value."""
        return self.value

    read = raw_value


Control = LineControl | LinesControl | SelectControl | ChoiceControl | SliderControl


HINTS = {"date": TEXTS.date, "datetime": TEXTS.moment, "attachment": TEXTS.attachment}


def initial(field: Field) -> Any:
    """Return the initial content of a field."""
    default = field.default
    if isinstance(field, Number):
        return "" if default is None else json.dumps(default)
    if isinstance(field, MultiSelect | Checkbox):
        return list(field.default or ())
    if isinstance(field, SelectField | Radio | SliderField | Boolean):
        return default
    return default or ""


def control(field: Field, typed: Any) -> Control:
    """Return the widget of a field with its content."""
    hint = field.placeholder or ""
    match field:
        case TextAreaField():
            return LinesControl(typed, hint)
        case Number():
            return NumberControl(typed, hint)
        case Date() | DateTime() | Attachment():
            return LineControl(typed, hint or HINTS[field.type])
        case SliderField():
            return SliderControl(field, typed)
        case Boolean():
            return ChoiceControl([(TEXTS.yes, True), (TEXTS.no, False)], _listed(typed), many=False)
        case MultiSelect() | Checkbox():
            return ChoiceControl(_labelled(field), typed, many=True)
        case Radio():
            return ChoiceControl(_labelled(field), _listed(typed), many=False)
        case SelectField():
            return SelectControl(_labelled(field), typed, hint)
    return LineControl(typed, hint)


def written(value: Any) -> str:
    """Return a value as a text to edit: text as it is, everything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, indent=2 if isinstance(value, dict | list) else None)


def value_control(before: Any, typed: str) -> Control:
    """Return the widget to edit a value of the same type."""
    if isinstance(before, str):
        return LinesControl(typed) if "\n" in before or len(before) > 60 else LineControl(typed)
    return JsonLinesControl(typed) if isinstance(before, dict | list) else JsonControl(typed)


def _labelled(field: SelectField | Radio | MultiSelect | Checkbox) -> list[tuple[str, Any]]:
    return [(option.label, option.value) for option in field.options]


def _listed(value: Any) -> list[Any]:
    return [] if value is None else [value]


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError.json(error) from error
