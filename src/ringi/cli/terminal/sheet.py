"""The view of a request: the action, the fields to edit, the description, the form and the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ringi.cli.format.visible import visible
from ringi.cli.terminal import request_view
from ringi.cli.terminal.controls import (
    Control,
    InputError,
    JsonLinesControl,
    control,
    initial,
    value_control,
    written,
)
from ringi.cli.terminal.draft import Draft, edit_path, editable, form_of
from ringi.cli.terminal.field_box import FieldBox
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import FieldError, InvalidError

JSON_PATH = "data"
"""The path of an answer that is typed as one JSON value."""


class Sheet(VerticalScroll, can_focus=True):
    """The content of a request and its fields."""

    def __init__(self, request: Request, draft: Draft) -> None:
        super().__init__()
        self.request, self.draft = request, draft
        self.form = form_of(request)

    def compose(self) -> ComposeResult:
        """Create the widgets; the action comes before the agent's description."""
        yield Static(Content.styled(visible(self.request.title), "bold"), id="title")
        if facts := request_view.action_box(self.request):
            yield facts
        with Vertical(id="edits") as edits:
            edits.border_title = TEXTS.finish if self.request.kind == "finish" else TEXTS.facts
            if self.request.action:
                yield Static(Content.styled(visible(self.request.action.name), "bold"))
            yield from self._edit_boxes()
        yield from request_view.agent_boxes(self.request)
        with Vertical(id="form"):
            yield from self._form_boxes()
        yield Static(id="history")

    @property
    def can_be_edited(self) -> bool:
        """Whether the request has values to edit."""
        return bool(self._boxes())

    @property
    def is_changed(self) -> bool:
        """Whether any value was changed."""
        return any(box.is_changed for box in self._boxes())

    def edit(self, on: bool) -> None:
        """Show the arguments as fields or as text."""
        edits = self.query_one("#edits")
        edits.display = on and bool(editable(self.request))
        for facts in self.query(".facts"):
            facts.display = not edits.display

    def freeze(self) -> None:
        """Disable the fields; their content stays readable."""
        for box in self._boxes():
            box.disabled = True
        for facts in (*self.query(".facts"), self.query_one("#edits")):
            facts.border_title = TEXTS.facts_ended

    def tell_history(self, events: Sequence[Event]) -> None:
        """Show the history of the request."""
        self.query_one("#history", Static).update(request_view.history_text(events))

    def focus_first(self) -> None:
        """Focus the first visible field."""
        boxes = [box for box in self._boxes() if box.parent and box.parent.display]
        if boxes:
            boxes[0].control.focus()

    def data(self) -> dict[str, Any] | None:
        """Return the values of the form without empty fields; None if there is no form.

        Raises `InvalidError` if a field is invalid.
        """
        if self.request.form is None and self.request.data_schema is None:
            return None
        values = _read(self.query("#form > FieldBox").results(FieldBox))
        if not self.form:
            whole: dict[str, Any] = values[JSON_PATH]
            return whole
        return {name: value for name, value in values.items() if value not in ("", None, [])}

    def edited(self) -> dict[str, Any]:
        """Return the edited arguments or the edited task; raise `InvalidError` if a field is invalid."""
        values = _read(self.query("#edits > FieldBox").results(FieldBox))
        return {name: values[edit_path(self.request, name)] for name in editable(self.request)}

    def complain(self, errors: Iterable[FieldError]) -> list[FieldError]:
        """Show errors at their fields and focus the first; return errors without a field."""
        rest = []
        for error in errors:
            if not (box := self._box_of(error.field)):
                rest.append(error)
                continue
            box.complain(error.message)
        marked = [box for box in self._boxes() if box.is_wrong]
        if marked:
            marked[0].control.focus()
        return rest

    def _boxes(self) -> list[FieldBox]:
        return list(self.query(FieldBox))

    def _box_of(self, path: str) -> FieldBox | None:
        def matches(box: FieldBox) -> bool:
            return path == box.path or path.startswith((f"{box.path}.", f"{box.path}["))

        return next((box for box in self._boxes() if matches(box)), None)

    def _form_boxes(self) -> Iterator[FieldBox]:
        if not self.form and self.request.data_schema is not None:
            yield self._box(JSON_PATH, TEXTS.answer, JsonLinesControl, "{}", note=written(self.request.data_schema))
        for field in self.form.fields if self.form else ():
            label = f"{field.label} ({TEXTS.required})" if field.required else field.label
            make = partial(control, field)
            yield self._box(field.name, label, make, initial(field), before=field.default, note=field.help or "")

    def _edit_boxes(self) -> Iterator[FieldBox]:
        for name, value in editable(self.request).items():
            path, make = edit_path(self.request, name), partial(value_control, value)
            yield self._box(path, name, make, written(value), before=value)

    def _box(
        self, path: str, label: str, make: Callable[[Any], Control], untouched: Any, before: Any = None, note: str = ""
    ) -> FieldBox:
        typed = self.draft.typed.get(path, untouched)
        return FieldBox(path, label, make, untouched=untouched, typed=typed, before=before, note=note)


def _read(boxes: Iterable[FieldBox]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    errors: list[FieldError] = []
    for box in boxes:
        try:
            values[box.path] = box.read()
        except InputError as error:
            errors.append(FieldError(box.path, str(error)))
    if errors:
        raise InvalidError(errors)
    return values
