"""Forms that a model puts into its answer: found, checked, and kept out of the words that people see.

Nothing here trusts the model: whatever it wrote is text, or a sound form, and is found out in bounded time.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, NamedTuple, get_args

from ringi.base.validation import FieldValidationError, shown
from ringi.domain.ask import Ask, Decision, digest_of
from ringi.domain.memories import CATEGORY, LONGEST_CATEGORY
from ringi.errors import InvalidError
from ringi.forms.json_schema import check_json
from ringi.forms.repair import MAX_CHANGES, Repaired, known, repair

KEY = "hitl_request"
MAX_ANSWER = 100_000
"""Characters of an answer in which a form is looked for."""
MAX_FORM_BYTES = 64 * 1024
MAX_FORM_DEPTH = 16
MAX_STARTS = 20
"""How many places of one answer are read as an object: each may be as long as the rest."""
NO_OBJECT = "no object begins before it"
"""Why the name of a form in prose is none."""
IN_NO_OBJECT = 'it is in no object: send {"response": …, "hitl_request": {…}}'
MAX_BLANKS = 200
"""Blanks in a row with which an object may begin: a model that writes nothing else is held back no longer than that."""

NAMED = re.compile(rf'"{KEY}"\s*:')
# Two neighbours in a pattern never take the same characters: the time for a run of blanks would grow with its square.
BLANKS = rf"\s{{0,{MAX_BLANKS}}}+"
FENCED = rf"```(?:[ \t]{{0,{MAX_BLANKS}}}+json)?{BLANKS}"
START = re.compile(rf'\{{{BLANKS}"')
SAID = re.compile(r'"response"\s*:\s*("(?:[^"\\]|\\.)*")', re.DOTALL)
FENCE = re.compile(rf"{FENCED}\Z", re.IGNORECASE)
FENCE_END = re.compile(r"(?<!\s)\s*+```[ \t]*\n?")
OPENING = re.compile(rf'(?:{FENCED})?(\{{){BLANKS}"', re.IGNORECASE)
HALF_FENCED = rf"```(?:[ \t]{{0,{MAX_BLANKS}}}+j(?:s(?:on?)?)?)?{BLANKS}"
HALF_OPENING = re.compile(rf"(?:`{{1,2}}|{HALF_FENCED}(?:\{{{BLANKS})?|\{{{BLANKS})\Z", re.IGNORECASE)
BEGINNING = re.compile(r"[`{]")
IN_TEXT = re.compile(r'"|\\.', re.DOTALL)
OUT_OF_TEXT = re.compile(r'["{}]')
PARTS = ("title", "description", "actions")
"""What a model may say of a form; ids, deadlines and everything else are not its business."""
BUTTON = ("label", "style")
"""What a model may say of a button."""
NOTES = ("intent", CATEGORY)
"""What a model may note in the context: with other names it could pass for what Ringi or the agent says there."""


class Found(NamedTuple):
    """A form in an answer, and the words around it."""

    before: str
    said: str
    after: str
    request: Any = None
    why: str | None = None
    """Why the form cannot be read."""

    @property
    def shown(self) -> str:
        """What people see of the answer."""
        return self.before + self.said + self.after


def found_in(text: str) -> Found | None:
    """Return the form in an answer, None in one that has none."""
    if not NAMED.search(text):
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
            why, at = f"it is no JSON ({error}): send one whole object", start.end()
            continue
        if KEY in answer and NAMED.search(text, start.start(), at):
            return _read(answer, text[: start.start()], text[at:])
        why = IN_NO_OBJECT if why == NO_OBJECT else why
    return _unread(text, why)


def _closed(text: str) -> dict[str, Any] | None:
    """Return an answer at whose end nothing is missing but braces: models forget the last ones."""
    body = FENCE_END.sub("", text).rstrip()
    for braces in ("}", "}}"):
        with suppress(ValueError, RecursionError):
            answer, end = DECODER.raw_decode(body + braces)
            if end == len(body + braces) and isinstance(answer.get(KEY), dict):
                return dict(answer)
    return None


def _read(answer: dict[str, Any], before: str, after: str) -> Found:
    if fence := FENCE.search(before):
        before, after = before[: fence.start()], FENCE_END.sub("", after, count=1)
    said = answer.get("response")
    return Found(before, clean(said) if isinstance(said, str) else "", after, answer[KEY])


def _unread(text: str, why: str) -> Found:
    before = Words().add(text)
    if said := SAID.search(text, len(before)):
        with suppress(ValueError):
            return Found(before, clean(json.loads(said[1], strict=False)), "", None, why)
    return Found(text, "", "", None, why)


def clean(text: str) -> str:
    """Return text without what no store can keep."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()


class ModelAsk(NamedTuple):
    """What a model asks for, as people are asked it."""

    ask: Ask
    form: Repaired
    """What was changed of its form."""


def ask_of(request: object, *, max_fields: int, expires_in: float | None) -> ModelAsk:
    """Return what a model asks for as a question with a repaired form, or raise `InvalidError` with what is wrong."""
    check_json(request, field=KEY, max_bytes=MAX_FORM_BYTES, max_depth=MAX_FORM_DEPTH)
    if not isinstance(request, dict):
        raise InvalidError.of(KEY, f"must be an object, not {shown(request)}")
    request = {name: value for name, value in request.items() if value is not None}
    if request.get("type", "form") != "form":
        raise InvalidError.of(f"{KEY}.type", f"{shown(request['type'])} is unknown: use 'form'")
    repaired, changes = repair(request.get("fields")), list[str]()
    given = {name: request[name] for name in PARTS if name in request}
    if "actions" in given:
        given["actions"] = buttons_of(given["actions"], changes)
    given |= {"context": noted(request.get("context")), "kind": "form", "expires_in": expires_in}
    ask = Ask.parse({**given, "form": {"fields": repaired.fields}}).checked(max_fields=max_fields)
    digest_of(ask)
    return ModelAsk(ask, repaired._replace(changes=(*repaired.changes, *changes[:MAX_CHANGES])))


def buttons_of(actions: object, changes: list[str]) -> Any:
    """Return a model's buttons without nulls and what no button has."""
    found = known(actions, get_args(Decision), "actions", changes)
    if not isinstance(found, dict):
        return found
    return {decision: known(each, BUTTON, f"actions.{decision}", changes) for decision, each in found.items()}


def noted(context: object) -> dict[str, str]:
    """Return what of a model's context is kept."""
    found = context if isinstance(context, dict) else {}
    notes = {name: found.get(name) for name in NOTES}
    return {name: note for name, note in notes.items() if isinstance(note, str) and len(note) <= LONGEST_CATEGORY}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise FieldValidationError("", "a name stands twice in one object")
    return found


def _no_number(text: str) -> None:
    raise FieldValidationError("", f"{text} is no number")


DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number, strict=False)


class Words:
    """What people see of an answer while it arrives: all but a form."""

    def __init__(self) -> None:
        self._text = ""
        self._at = self._told = 0
        self._object = _Object(0)

    def add(self, delta: str) -> str:
        """Return what can be said now; what may be a form is held back."""
        self._text += delta
        safe = self._safe()
        said, self._told = self._text[self._told : safe], safe
        return said

    def rest(self) -> str:
        """Return what was held back, or what is said in place of a form."""
        found = found_in(self._text)
        if found is None:
            return self._text[self._told :]
        return found.before[self._told :] + found.said + found.after

    def _safe(self) -> int:
        while beginning := BEGINNING.search(self._text, self._at):
            past = self._past(beginning.start())
            if past is None:
                return beginning.start()
            self._at = past
        self._at = len(self._text)
        return self._at

    def _past(self, start: int) -> int | None:
        """Return where to go on after what is no form, None while it is or may be one."""
        if opening := OPENING.match(self._text, start):
            if self._object.start != opening.start(1):
                self._object = _Object(opening.start(1))
            end = self._object.end(self._text)
            return None if end is None or NAMED.search(self._text, start, end) else end
        return None if HALF_OPENING.match(self._text, start) else start + 1


class _Object:
    """Where a JSON object ends, looked for as it grows."""

    def __init__(self, start: int) -> None:
        self.start = self._at = start
        self._depth = 0
        self._is_text = False
        self._end: int | None = None

    def end(self, text: str) -> int | None:
        """Return the place behind its last brace, None while that has not come."""
        mark: re.Match[str] | None = None
        while self._end is None and (mark := (IN_TEXT if self._is_text else OUT_OF_TEXT).search(text, self._at)):
            # Of an escape both characters are taken at once: a quote may be the second.
            self._at = mark.end()
            if mark[0] == '"':
                self._is_text = not self._is_text
            elif mark[0] in "{}":
                self._depth += 1 if mark[0] == "{" else -1
                self._end = None if self._depth else self._at
        if mark is None:
            # Half an escape may stand at the end.
            self._at = max(self._at, len(text) - 1)
        return self._end
