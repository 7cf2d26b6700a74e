"""The sheet of a request: facts before prose, the values that can be changed, the form, the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from ringi.cli.format.visible import visible
from ringi.cli.terminal import pieces
from ringi.cli.terminal.controls import (
    Control,
    JsonLinesControl,
    UnreadableError,
    control,
    initial,
    value_control,
    written,
)
from ringi.cli.terminal.draft import Draft, edit_path, editable, form_of
from ringi.cli.terminal.field_box import FieldBox
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import FieldError, InvalidError

WHOLE = "data"
"""The path of an answer that is written as one piece of JSON."""


class Sheet(VerticalScroll, can_focus=True):
    """All that is shown of a request, and all that is filled in."""

    def __init__(self, request: Request, draft: Draft) -> None:
        super().__init__()
        self.request, self.draft = request, draft
        self.form = form_of(request)

    def compose(self) -> ComposeResult:
        """Lay out the facts before the prose."""
        yield Static(Content.styled(visible(self.request.title), "bold"), id="title")
        if facts := pieces.facts(self.request):
            yield facts
        with Vertical(id="edits") as edits:
            edits.border_title = WORDS.finish if self.request.kind == "finish" else WORDS.facts
            if self.request.action:
                yield Static(Content.styled(visible(self.request.action.name), "bold"))
            yield from self._edit_boxes()
        yield from pieces.words(self.request)
        with Vertical(id="form"):
            yield from self._form_boxes()
        yield Static(id="history")

    @property
    def can_be_edited(self) -> bool:
        """Whether there is anything that an edit could change."""
        return bool(self._boxes())

    @property
    def is_changed(self) -> bool:
        """Whether any value is another than the agent's."""
        return any(box.is_changed for box in self._boxes())

    def edit(self, on: bool) -> None:
        """Show the values of the call as fields, or as facts."""
        edits = self.query_one("#edits")
        edits.display = on and bool(editable(self.request))
        for facts in self.query(".facts"):
            facts.display = not edits.display

    def freeze(self) -> None:
        """Take no more input; what is typed stays to be read."""
        for box in self._boxes():
            box.disabled = True
        for facts in (*self.query(".facts"), self.query_one("#edits")):
            facts.border_title = WORDS.facts_ended

    def tell_history(self, events: Sequence[Event]) -> None:
        """Show what has happened to the request so far."""
        self.query_one("#history", Static).update(pieces.history(events))

    def focus_first(self) -> None:
        """Put the cursor into the first field that is shown."""
        boxes = [box for box in self._boxes() if box.parent and box.parent.display]
        if boxes:
            boxes[0].control.focus()

    def data(self) -> dict[str, Any] | None:
        """Return what the form says, without the fields that say nothing; None where there is no form.

        Raises `InvalidError` for what cannot be sent.
        """
        if self.request.form is None and self.request.data_schema is None:
            return None
        values = _read(self.query("#form > FieldBox").results(FieldBox))
        if not self.form:
            whole: dict[str, Any] = values[WHOLE]
            return whole
        return {name: value for name, value in values.items() if value not in ("", None, [])}

    def edited(self) -> dict[str, Any]:
        """Return the whole arguments or the task as they stand in the fields, or raise `InvalidError`."""
        values = _read(self.query("#edits > FieldBox").results(FieldBox))
        return {name: values[edit_path(self.request, name)] for name in editable(self.request)}

    def complain(self, errors: Iterable[FieldError]) -> list[FieldError]:
        """Show each error at its field, go to the first; return those that belong to no field."""
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
        def speaks_of(box: FieldBox) -> bool:
            return path == box.path or path.startswith((f"{box.path}.", f"{box.path}["))

        return next((box for box in self._boxes() if speaks_of(box)), None)

    def _form_boxes(self) -> Iterator[FieldBox]:
        if not self.form and self.request.data_schema is not None:
            yield self._box(WHOLE, WORDS.answer, JsonLinesControl, "{}", note=written(self.request.data_schema))
        for field in self.form.fields if self.form else ():
            label = f"{field.label} ({WORDS.required})" if field.required else field.label
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
        except UnreadableError as error:
            errors.append(FieldError(box.path, str(error)))
    if errors:
        raise InvalidError(errors)
    return values
