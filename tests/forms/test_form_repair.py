"""Fields that a model wrote are repaired where they have one sound reading; sound ones stay as they are."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runs.mangled import FIELDS
from tests.tiers import examples

from ringi.errors import InvalidError
from ringi.forms.form import Form
from ringi.forms.repair import repair_form_fields
from ringi.runs.model_form import question_from_model_ask

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def repaired(*fields: Any) -> list[dict[str, Any]]:
    """Return the fields of the form that is asked."""
    form = Form.parse({"fields": repair_form_fields(list(fields)).fields})
    dumped: list[dict[str, Any]] = form.model_dump(mode="json")["fields"]
    return dumped


NULLS = dict.fromkeys(["default", "placeholder", "help", "min", "max", "step", "min_length", "max_length", "options"])


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field["type"]))
def test_explicit_nulls_are_no_values(field: dict[str, Any]) -> None:
    assert repaired({**NULLS, "required": None, "label": None, **field}) == repaired(field)


def test_nulls_of_options_are_no_values() -> None:
    (field,) = repaired({"name": "a", "type": "radio", "options": [{"value": "x", "label": None, "help": None}]})
    assert field["options"] == [{"value": "x", "label": "x"}]


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field["type"]))
def test_unknown_keys_are_left_out_and_told(field: dict[str, Any]) -> None:
    found = repair_form_fields(
        [{**field, "icon": "🏃", "validation": {"pattern": "x"}, "min_length": 3, "x\u202e\n": 1}]
    )
    assert Form.parse({"fields": found.fields}) == Form.parse(
        {"fields": [{**field, **({"min_length": 3} if field["type"] in ("text", "textarea") else {})}]}
    )
    assert found.changes[:2] == (
        "fields[0].icon: is unknown and was left out",
        "fields[0].validation: is unknown and was left out",
    )
    assert all(change.isprintable() for change in found.changes)


def test_unknown_keys_of_options_are_left_out() -> None:
    found = repair_form_fields([{"name": "a", "type": "select", "options": [{"value": 1, "label": "x", "id": 7}]}])
    assert found.fields[0]["options"] == [{"value": 1, "label": "x"}]
    assert found.changes == ("fields[0].options[0].id: is unknown and was left out",)


def test_options_that_a_model_repeats_are_asked_once() -> None:
    ski, board = {"value": "滑雪", "label": "滑雪"}, {"value": "滑板", "label": "滑板"}
    found = repair_form_fields(
        [{"name": "a", "type": "select", "options": [board, ski, *5 * [{**board, "help": None}], 1, "1", 1]}]
    )
    assert found.fields[0]["options"] == [board, ski, 1, "1"]
    assert found.changes == ("fields[0].options: 6 repeated ones were left out",)


def test_options_of_a_field_without_options_are_not_dropped_unless_empty() -> None:
    assert repaired({"name": "a", "type": "text", "options": []})[0]["type"] == "text"
    with pytest.raises(InvalidError, match=re.escape("fields[0].options: is not a known field")):
        repaired({"name": "a", "type": "text", "options": ["x"]})


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("favourite sport", "favourite_sport"),
        ("first-name", "first_name"),
        ("user.email", "user_email"),
        ("2nd choice?", "_2nd_choice"),
        ("喜欢的运动", "field_91e051d1"),
        ("运动 sport", "sport_e18cff00"),
        ("？！", "field_"),
        ("名" * 600, "field_"),
        ("a" * 65, "a" * 40),
        ("ａｇｅ", "age"),
        ("🙂", "field_"),
        ("-", "field_"),
    ],
)
def test_a_name_that_is_none_gets_one_and_becomes_the_label(text: str, name: str) -> None:
    found = repair_form_fields([{"name": text, "type": "text"}])
    (field,) = repaired({"name": text, "type": "text"})
    assert field["name"].startswith(name)
    assert NAME.fullmatch(field["name"])
    assert field["label"] == text[:500]
    assert found.answers({field["name"]: "so"}) == {text: "so"}
    assert (
        repair_form_fields([{"name": "x", "type": "date"}, {"name": text, "type": "text"}]).fields[1]["name"]
        == field["name"]
    )


def test_a_label_that_the_model_wrote_stays() -> None:
    (field,) = repaired({"name": "喜欢的运动", "type": "text", "label": "您最喜欢的运动"})
    assert field["label"] == "您最喜欢的运动"


def test_a_field_without_a_name_is_called_by_its_label() -> None:
    found = repair_form_fields([{"name": None, "label": "Age", "type": "number"}, {"label": "年龄", "type": "number"}])
    assert found.fields[0] == {"name": "Age", "label": "Age", "type": "number"}
    assert found.answers({"Age": 1, found.fields[1]["name"]: 2}) == {"Age": 1, "年龄": 2}


def test_of_two_fields_with_one_name_the_second_is_renamed_and_the_model_can_tell_them_apart() -> None:
    text = {"type": "text"}
    found = repair_form_fields([{**text, "name": name} for name in ("a", "a", "a_2", "a b", "名", "名", "a_b")])
    names = [field["name"] for field in found.fields]
    assert names[:5] == ["a", "a_3", "a_2", "a_b_2", "field_51a5d681"]
    assert [field.get("label") for field in found.fields] == [None, "a", None, "a b", "名", "名", None]
    assert found.answers(dict.fromkeys(names, "x")) == dict.fromkeys(
        ["a", "a_3", "a_2", "a b", "名", names[5], "a_b"], "x"
    )
    assert "fields[1].name: 'a' is asked as 'a_3', and its answer is under 'a_3'" in found.changes


def test_a_nameless_field_takes_no_other_fields_name() -> None:
    found = repair_form_fields([{"label": "sport", "type": "text"}, {"name": "sport", "type": "text"}])
    assert [field["name"] for field in found.fields] == ["sport_2", "sport"]
    assert found.answers({"sport": 1, "sport_2": 2}) == {"sport": 1, "sport_2": 2}


@pytest.mark.parametrize(
    "bounds",
    [{}, {"min": 1}, {"max": 9}, {"min": None, "max": None, "step": 2}, {"default": 3}, {"min": 0, "max": None}],
)
def test_a_slider_without_both_bounds_is_asked_as_a_number(bounds: dict[str, Any]) -> None:
    (field,) = repaired({"name": "level", "type": "slider", **bounds})
    assert field == {
        "type": "number", "name": "level", "label": "level", "required": False,
        **{name: value for name, value in bounds.items() if value is not None},
    }  # fmt: skip
    assert repair_form_fields([{"name": "level", "type": "slider", **bounds}]).changes


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field["type"]))
def test_a_sound_field_stays_as_it_is(field: dict[str, Any]) -> None:
    found = repair_form_fields([field])
    assert (found.fields, found.names, found.changes) == ([field], {}, ())


@pytest.mark.parametrize(
    "field",
    [
        {"name": "a", "type": "dropdown", "options": ["x"]},
        {"name": "a", "options": ["x"]},
        {"name": "a", "type": "select", "options": []},
        {"name": "a", "type": "select", "options": ["x", {"value": "x", "label": "X"}]},
        {"name": "a", "type": "number", "min": "1"},
        {"name": "a", "type": "slider", "min": 5, "max": 1},
        {"name": 5, "type": "text"},
        {"name": "", "type": "text"},
        {"name": "a", "type": "date", "default": "today"},
        {"name": "\ud800", "type": "text"},
        {"name": "a", "type": ["text"]},
        "sport",
        None,
        [],
    ],
)
def test_what_has_no_one_sound_reading_is_refused(field: Any) -> None:
    with pytest.raises(InvalidError):
        repaired(field)


def test_a_form_of_too_many_fields_is_refused_in_an_ordinary_time() -> None:
    with pytest.raises(InvalidError, match="entries: send at most 100"):
        repaired(*[{"name": "a", "type": "text"}] * 20_000)


def test_the_changes_that_are_told_are_few() -> None:
    found = repair_form_fields([{"name": "a", "type": "text", **{f"x{n}": 1 for n in range(500)}}])
    assert len(found.changes) == 21
    assert found.changes[-1] == "480 more changes"


def test_buttons_without_what_no_button_has() -> None:
    actions = {
        "approve": {"label": "确认", "style": None, "icon": "ok", "value": 1},
        "edit": None,
        "reject": {"label": None},
        "cancel": {"label": "Stop"},
    }
    wanted = {
        "title": "T",
        "fields": FIELDS[:1],
        "actions": actions,
        "description": None,
        "type": None,
        "context": None,
    }
    found = question_from_model_ask(wanted, max_fields=5, expires_in=None)
    assert {name: button.model_dump(exclude_none=True) for name, button in found.ask.actions.items()} == {
        "approve": {"label": "确认"},
        "reject": {},
    }
    assert set(found.form.changes) == {
        f"actions.{part}: is unknown and was left out" for part in ("cancel", "approve.icon", "approve.value")
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(["a", "A", "a_2", "a b", "名", "ａ", "", " ", "2", "__proto__", "\u202e"]) | st.text(
    max_size=70
)
ODD = st.fixed_dictionaries(
    {},
    optional={
        "name": WORDS | JSON,
        "label": WORDS | JSON,
        "type": st.sampled_from(["text", "slider", "select", "date", "number", "x"]) | JSON,
        "options": st.lists(st.fixed_dictionaries({}, optional={"value": WORDS | JSON, "label": JSON, "x": JSON}))
        | JSON,
        "min": JSON,
        "max": JSON,
        "default": JSON,
        "x": JSON,
    },
)


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(ODD | JSON, max_size=6) | JSON)
def test_whatever_a_model_writes_is_repaired_or_refused(fields: Any) -> None:
    before = copy.deepcopy(fields)
    found = repair_form_fields(fields)
    assert json.dumps(fields) == json.dumps(before), "what the model wrote is still there"
    again = repair_form_fields(found.fields)
    assert json.dumps(again.fields) == json.dumps(found.fields)
    assert not again.changes
    try:
        form = Form.parse({"fields": found.fields})
    except InvalidError:
        return
    names = [field.name for field in form.fields]
    assert len(set(names)) == len(names)
    answers = found.answers(dict.fromkeys(names))
    assert answers is not None
    assert len(answers) == len(names), "each answer has a name of its own"


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.text(min_size=1, max_size=80).filter(str.strip), min_size=1, max_size=8, unique=True))
def test_each_field_is_answered_under_the_very_name_that_the_model_wrote(texts: list[str]) -> None:
    found = repair_form_fields([{"name": text, "type": "text", "label": "?"} for text in texts])
    names = [field["name"] for field in found.fields]
    assert all(NAME.fullmatch(name) for name in names)
    assert found.answers(dict(zip(names, texts, strict=True))) == {text: text for text in texts}
