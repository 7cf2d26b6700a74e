"""Forms in a model's answer: extraction, validation and removal from the visible text.

Model output is never trusted: each part is text or a valid form, and parsing takes bounded time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from contextlib import suppress
from typing import Any, NamedTuple, get_args

from ringi.base.canonical_json import clean_text, refuse_repeated_json_keys
from ringi.base.validation import FieldValidationError, safe_repr
from ringi.domain.ask import Ask, Decision, request_content_digest
from ringi.domain.memories import CATEGORY, LONGEST_CATEGORY
from ringi.errors import InvalidError
from ringi.forms import fields
from ringi.forms.json_schema import check_json
from ringi.forms.repair import MAX_CHANGES, RepairedForm, drop_unknown_keys, repair_form_fields
from ringi.runs.text_calls import BLANKS, MAX_BLANKS, OPENING_TAG, split_text_calls

KEY = "hitl_request"
MAX_ANSWER = 100_000
"""Maximum characters of an answer that are searched for a form."""
MAX_FORM_BYTES = 64 * 1024
MAX_FORM_DEPTH = 16
MAX_STARTS = 20
"""Maximum number of places in one answer that are parsed as an object: each may span the rest of the answer."""
NO_OBJECT = "no object begins before it"
"""The error when a form's name appears in prose."""
IN_NO_OBJECT = 'it is outside an object: send {"response": …, "hitl_request": {…}}'

FORM_NAME = re.compile(rf'"{KEY}"\s*:')
# Adjacent parts of a pattern never match the same characters: a run of blanks would take quadratic time.
FENCED = rf"```(?:[ \t]{{0,{MAX_BLANKS}}}+json)?{BLANKS}"
START = re.compile(rf'\{{{BLANKS}"')
RESPONSE = re.compile(r'"response"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)
FENCE = re.compile(rf"{FENCED}\Z", re.IGNORECASE)
FENCE_END = re.compile(r"(?<!\s)\s*+```[ \t]*\n?")
OPENING = re.compile(rf'(?:{FENCED})?(\{{){BLANKS}"', re.IGNORECASE)
HALF_FENCED = rf"```(?:[ \t]{{0,{MAX_BLANKS}}}+j(?:s(?:on?)?)?)?{BLANKS}"
HALF_OPENING = re.compile(rf"(?:`{{1,2}}|{HALF_FENCED}(?:\{{{BLANKS})?|\{{{BLANKS})\Z", re.IGNORECASE)
BEGINNING = re.compile(r"[`{<]")
IN_TEXT = re.compile(r'"|\\.', re.DOTALL)
OUT_OF_TEXT = re.compile(r'["{}]')
PARTS = ("title", "description", "actions")
"""The parts of a form that a model may set; ids, deadlines and all other parts are excluded."""
BUTTON = ("label", "style")
"""The parts of a button that a model may set."""
NOTES = ("intent", CATEGORY)
"""The context keys that a model may set; other keys could pass for statements of Ringi or of the agent."""
TYPES = [kind.model_fields["type"].default for kind in get_args(get_args(fields.Field)[0])]
# An answer only names a file: the agent's code can read it, but a model cannot.
TYPES.remove("attachment")
NUMBER, TEXT, FLAG = {"type": "number"}, {"type": "string"}, {"type": "boolean"}
OPTION = {"type": "object", "properties": {"value": TEXT, "label": TEXT}, "required": ["value"]}
# No property that takes any text has a description: small models copy it into their call.
FIELD = {
    "type": "object",
    "properties": {
        "name": {**TEXT, "description": "Letters, digits and _; the answer comes back under it."},
        "type": {**TEXT, "enum": TYPES},
        "label": TEXT,
        "required": FLAG,
        "help": TEXT,
        "placeholder": TEXT,
        "default": {},
        "options": {"type": "array", "items": OPTION, "description": "For select, multiselect, radio and checkbox."},
        "min": {"description": "Least number or first day (YYYY-MM-DD); a slider needs min and max."},
        "max": {"description": "Greatest number or last day (YYYY-MM-DD)."},
        "step": NUMBER,
        "min_length": {"type": "integer"},
        "max_length": {"type": "integer"},
    },
    "required": ["name", "type"],
    "additionalProperties": False,
}
"""The JSON Schema of a field of a form, for the tools with which models ask."""


class ExtractedForm(NamedTuple):
    """A form in an answer, and the text around it."""

    visible_text: str
    """The visible part of the answer."""
    request: Any = None
    why: str | None = None
    """The reason that the form cannot be parsed."""


def extract_form(text: str) -> ExtractedForm | None:
    """Return the form in an answer; None if there is none."""
    if not FORM_NAME.search(text):
        return None
    if len(text) > MAX_ANSWER:
        return _unread(text, f"it is longer than {MAX_ANSWER} characters")
    why, at = NO_OBJECT, 0
    for _ in range(MAX_STARTS):
        start = START.search(text, at)
        if start is None:
            break
        try:
            answer, at = DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError) as error:
            if why in (NO_OBJECT, IN_NO_OBJECT) and (whole := _closed(text[start.start() :])):
                return _read(whole, text[: start.start()], "")
            why, at = f"it is not valid JSON ({error}): send one complete object", start.end()
            continue
        if KEY in answer and FORM_NAME.search(text, start.start(), at):
            return _read(answer, text[: start.start()], text[at:])
        why = IN_NO_OBJECT if why == NO_OBJECT else why
    return _unread(text, why)


def _closed(text: str) -> dict[str, Any] | None:
    """Return an answer that lacks only closing braces at its end: models often omit the last ones."""
    body = FENCE_END.sub("", text).rstrip()
    for braces in ("}", "}}"):
        with suppress(ValueError, RecursionError):
            answer, end = DECODER.raw_decode(body + braces)
            if end == len(body + braces) and isinstance(answer.get(KEY), dict):
                return dict(answer)
    return None


def _read(answer: dict[str, Any], before: str, after: str) -> ExtractedForm:
    if fence := FENCE.search(before):
        before, after = before[: fence.start()], FENCE_END.sub("", after, count=1)
    response = answer.get("response")
    return ExtractedForm(before + (clean_text(response) if isinstance(response, str) else "") + after, answer[KEY])


def _unread(text: str, why: str) -> ExtractedForm:
    before = VisibleText().add(text)
    if match := RESPONSE.search(text, len(before)):
        with suppress(ValueError):
            return ExtractedForm(before + clean_text(json.loads(match[1], strict=False)), None, why)
    return ExtractedForm(text, None, why)


class ModelAsk(NamedTuple):
    """A model's request, converted to a question."""

    ask: Ask
    form: RepairedForm
    """The changes made to its form."""


def question_from_model_ask(request: object, *, max_fields: int, expires_in: float | None) -> ModelAsk:
    """Return a model's request as a question with a repaired form; raise `InvalidError` with the problem."""
    check_json(request, field=KEY, max_bytes=MAX_FORM_BYTES, max_depth=MAX_FORM_DEPTH)
    if not isinstance(request, dict):
        raise InvalidError.of(KEY, f"must be an object, not {safe_repr(request)}")
    request = {name: value for name, value in request.items() if value is not None}
    if request.get("type", "form") != "form":
        raise InvalidError.of(f"{KEY}.type", f"{safe_repr(request['type'])} is unknown: use 'form'")
    repaired, changes = repair_form_fields(request.get("fields")), list[str]()
    parts = {name: request[name] for name in PARTS if name in request}
    if "actions" in parts:
        parts["actions"] = buttons_from_model(parts["actions"], changes)
    parts |= {"context": context_from_model(request.get("context")), "kind": "form", "expires_in": expires_in}
    ask = Ask.parse({**parts, "form": {"fields": repaired.fields}}).checked(max_fields=max_fields)
    request_content_digest(ask)
    return ModelAsk(ask, repaired._replace(changes=(*repaired.changes, *changes[:MAX_CHANGES])))


def buttons_from_model(actions: object, changes: list[str]) -> Any:
    """Return a model's buttons without nulls and unknown keys."""
    buttons = drop_unknown_keys(actions, get_args(Decision), "actions", changes)
    if not isinstance(buttons, dict):
        return buttons
    return {
        decision: drop_unknown_keys(each, BUTTON, f"actions.{decision}", changes) for decision, each in buttons.items()
    }


def context_from_model(context: object) -> dict[str, str]:
    """Return the allowed part of a model's context."""
    sent = context if isinstance(context, dict) else {}
    notes = {name: sent.get(name) for name in NOTES}
    return {name: note for name, note in notes.items() if isinstance(note, str) and len(note) <= LONGEST_CATEGORY}


def _refuse_number(text: str) -> None:
    raise FieldValidationError("", f"{text} is not a number")


DECODER = json.JSONDecoder(object_pairs_hook=refuse_repeated_json_keys, parse_constant=_refuse_number, strict=False)


class VisibleText:
    """The visible text of a streamed answer, without a form and without calls of tools that came as text."""

    def __init__(self, tools: Collection[str] = ()) -> None:
        self._text, self._tools = "", tools
        self._at = self._sent = 0
        self._object = _Object(0)

    def add(self, delta: str) -> str:
        """Return the text that can be shown now; text that may belong to a form is held back."""
        self._text += delta
        safe = self._safe()
        visible, self._sent = self._text[self._sent : safe], safe
        return visible

    def finish(self) -> str:
        """Return the text held back, or the text shown in place of a form."""
        form = extract_form(self._text)
        text = form.visible_text if form else self._text
        return (split_text_calls(text, self._tools).text if self._tools else text)[self._sent :]

    def _safe(self) -> int:
        while beginning := BEGINNING.search(self._text, self._at):
            past = self._past(beginning.start())
            if past is None:
                return beginning.start()
            self._at = past
        self._at = len(self._text)
        return self._at

    def _past(self, start: int) -> int | None:
        """Return the position after text that is not a form; None while it is or may be one."""
        if opening := OPENING.match(self._text, start):
            if self._object.start != opening.start(1):
                self._object = _Object(opening.start(1))
            end = self._object.end(self._text)
            return None if end is None or self._is_hidden(start, end) else end
        if self._text[start] == "<":
            tag = self._text[start : start + len(OPENING_TAG)].lower()
            return None if self._tools and OPENING_TAG.startswith(tag) else start + 1
        return None if HALF_OPENING.match(self._text, start) else start + 1

    def _is_hidden(self, start: int, end: int) -> bool:
        """Return whether an object is a form or a call."""
        if FORM_NAME.search(self._text, start, end):
            return True
        return bool(self._tools and split_text_calls(self._text[start:end], self._tools).calls)


class _Object:
    """Incremental search for the end of a JSON object."""

    def __init__(self, start: int) -> None:
        self.start = self._at = start
        self._depth = 0
        self._is_text = False
        self._end: int | None = None

    def end(self, text: str) -> int | None:
        """Return the position after the last brace; None until it arrives."""
        mark: re.Match[str] | None = None
        while self._end is None and (mark := (IN_TEXT if self._is_text else OUT_OF_TEXT).search(text, self._at)):
            # Both characters of an escape are consumed together: the second may be a quote.
            self._at = mark.end()
            if mark[0] == '"':
                self._is_text = not self._is_text
            elif mark[0] in "{}":
                self._depth += 1 if mark[0] == "{" else -1
                self._end = None if self._depth else self._at
        if mark is None:
            # The text may end within an escape.
            self._at = max(self._at, len(text) - 1)
        return self._end
