"""Answers of a model with a form in them, sound ones and mangled ones."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

OPTIONS = [{"value": "running", "label": "跑步"}, {"value": 2, "label": "two"}]
FIELDS: list[dict[str, Any]] = [
    {"name": "sport", "type": "select", "label": "喜欢的运动", "required": True, "options": OPTIONS},
    {"name": "often", "type": "radio", "label": "Often", "options": OPTIONS},
    {"name": "some", "type": "multiselect", "label": "Some", "options": OPTIONS, "default": [2]},
    {"name": "more", "type": "checkbox", "label": "More", "options": OPTIONS},
    {"name": "note", "type": "text", "label": "Note", "placeholder": "…", "max_length": 20},
    {"name": "words", "type": "textarea", "label": "Words", "help": "h"},
    {"name": "age", "type": "number", "label": "Age", "min": 0, "max": 120, "step": 1},
    {"name": "level", "type": "slider", "label": "Level", "min": 0, "max": 1, "step": 0.1, "default": 0.5},
    {"name": "day", "type": "date", "label": "Day", "default": "2026-01-31"},
    {"name": "sure", "type": "boolean", "label": "Sure", "default": False},
]
BUTTONS = {"approve": {"label": "确认", "style": "primary"}, "reject": {"label": "跳过", "style": "secondary"}}
WHERE = (
    *("%s", " %s", "Well. %s Bye.", "```json\n%s\n```", "Look:\n```\n%s\n```\nDone.", '{"a": {"b": 1}} %s'),
    "`x` { %s }",
)
RAW = (
    *("null", "true", "[]", "{}", '""', "0", "-1", "1e999", "NaN", "-Infinity", "0.1", "1e-400", "9" * 18, "9" * 4_400),
    *('"\\ud800"', '"\\u0000"', "\ud800", "\x00", "\ufeff", '"' + "x" * 2_100 + '"', '"' + "🙂" * 300 + '"'),
    *('"__proto__"', '"\\n\\t "', '"approve"', '"slider"', '"2026-02-31"', '"id"', '{"value":"v","label":""}'),
    *("[" * 1_100, "[" * 30 + "]" * 30, '{"a":' * 1_100, "[" + "1," * 1_100 + "1]", '{"a":1,"a":2}'),
    *('{"hitl_request":{}}', '[{"name":"x","type":"text"}]'),
)
VALUE = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.]*|true|false|null|\[|\]|\{|\}|,|:')


def form(fields: list[dict[str, Any]], **rest: Any) -> dict[str, Any]:
    """Return a request for a form as a model writes it."""
    return {"id": "mine", "type": "form", "title": "运动偏好", "ttl_seconds": 10**9, "fields": fields, **rest}


def answer(request: Any, reply: str = "让我了解一下", where: str = "%s") -> str:
    """Return an answer with a form."""
    text = json.dumps({"response": reply, "hitl_request": request}, ensure_ascii=False)
    return where.replace("%s", text)


def some_sound() -> list[str]:
    """Return answers whose forms are sound, of every kind of field in every surrounding."""
    texts = []
    rest: Iterator[dict[str, Any]] = itertools.cycle(
        [{}, {"description": "d", "actions": BUTTONS}, {"context": {"a": [1]}}]
    )
    for where, start in itertools.product(WHERE, range(len(FIELDS))):
        fields = (FIELDS + FIELDS)[start : start + 1 + start % 5]
        texts.append(answer(form(fields, **next(rest)), where=where))
    return texts


SOUND = some_sound()


def mangled(*hows: str) -> st.SearchStrategy[str]:
    """Return sound answers after some accidents of these kinds."""
    return st.builds(lambda text, numbers: after_all(text, hows, numbers), st.sampled_from(SOUND), ACCIDENTS)


def ten_mangled(*hows: str) -> st.SearchStrategy[list[str]]:
    """Return ten mangled answers at a time: drawing them one by one takes longer than all that is tested."""
    return st.builds(lambda start, numbers: variants(start, numbers, hows), st.integers(0, len(SOUND) - 1), ACCIDENTS)


def variants(start: int, numbers: Sequence[int], hows: Sequence[str]) -> list[str]:
    """Return ten answers after as many accidents, each with others."""
    return [
        after_all(SOUND[(start + n) % len(SOUND)], hows, [number + n * 7_919 for number in numbers]) for n in range(10)
    ]


ACCIDENTS = st.lists(st.integers(0, 2**40), min_size=1, max_size=4)


def after_all(text: str, hows: Sequence[str], numbers: Sequence[int]) -> str:
    """Return a text after the accidents that these numbers stand for."""
    for number in numbers:
        number, how = divmod(number, len(hows))
        at, raw = divmod(number, len(RAW))
        text = after(text, hows[how], at, RAW[raw])
    return text


def after(text: str, how: str, at: int, raw: str) -> str:
    """Return a text after one accident."""
    if how == "value":
        places = list(VALUE.finditer(text))
        if not places:
            return raw
        place = places[at % len(places)]
        return text[: place.start()] + raw + text[place.end() :]
    place_at = at % (len(text) + 1)
    if how == "insert":
        return text[:place_at] + raw + text[place_at:]
    if how == "cut":
        return text[:place_at]
    if how == "drop":
        return text[:place_at] + text[place_at + 1 + at % 7 :]
    return text[:place_at] + text[max(0, place_at - at % 90) :]
