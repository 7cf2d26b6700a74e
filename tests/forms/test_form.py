"""Forms: what a sound definition is, which answers are taken, and what the person is told otherwise."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from ringi.errors import InvalidError
from ringi.forms.field_parts import Option
from ringi.forms.fields import (
    Boolean,
    Checkbox,
    Date,
    Field,
    MultiSelect,
    Number,
    Radio,
    Select,
    Slider,
    Text,
    TextArea,
)
from ringi.forms.form import Form

SEED_FORM = {
    "fields": [
        {
            "name": "sport",
            "type": "select",
            "label": "您最喜欢的运动",
            "required": True,
            "options": [{"value": "basketball", "label": "篮球"}, {"value": "football", "label": "足球"}],
        },
        {"name": "notes", "type": "textarea", "label": "补充说明", "placeholder": "可选填写", "required": False},
    ]
}
TEN = Form(
    [
        Text("text", max_length=9),
        TextArea("textarea"),
        Select("select", options=["a", "b"]),
        MultiSelect("multiselect", options=["a", "b"]),
        Radio("radio", options=[1, 2]),
        Checkbox("checkbox", options=[{"value": "a", "label": "An A"}]),
        Number("number", min=0),
        Slider("slider", min=0, max=1, step=0.1),
        Date("date", min="2026-01-01"),
        Boolean("boolean"),
    ]
)


def errors_of(call: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
    with pytest.raises(InvalidError) as caught:
        call(*args, **kwargs)
    return {error.field: error.message for error in caught.value.errors}


def test_each_type_is_tagged_with_its_name() -> None:
    assert [field.type for field in TEN.fields] == [field.name for field in TEN.fields]


def test_a_label_defaults_to_the_name_and_an_option_label_to_the_value() -> None:
    select = Select("reason", options=["late", 2])
    assert select.label == "reason"
    assert select.options == (Option(value="late", label="late"), Option(value=2, label="2"))


def test_the_wire_form_holds_only_what_was_given() -> None:
    assert Form([Select("reason", options=["late"])]).model_dump(mode="json") == {
        "fields": [
            {
                "name": "reason",
                "type": "select",
                "label": "reason",
                "required": False,
                "options": [{"value": "late", "label": "late"}],
            }
        ]
    }


def test_a_form_survives_its_json() -> None:
    assert Form.model_validate_json(TEN.model_dump_json()) == TEN
    assert Form.parse(TEN.model_dump(mode="json")) == TEN
    assert Form.parse(SEED_FORM).fields[0].label == "您最喜欢的运动"


def test_positional_and_named_fields_make_the_same_form() -> None:
    assert Form([Text("a")]) == Form(fields=[Text(name="a")]) == Form.parse({"fields": [{"type": "text", "name": "a"}]})


def test_a_form_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        TEN.fields = ()  # type: ignore[misc]


BAD_DEFINITIONS: list[tuple[object, str, str]] = [
    ({"type": "select", "name": "a", "options": []}, ".options", "has no entries: send at least 1"),
    ({"type": "select", "name": "a"}, ".options", "is missing"),
    ({"type": "select", "name": "a", "options": ["x", "x"]}, ".options", "'x' is a duplicate"),
    ({"type": "radio", "name": "a", "options": [True]}, ".options[0].value", "not true"),
    ({"type": "radio", "name": "a", "options": ["b", 1.5]}, ".options[1].value", "not 1.5"),
    ({"type": "radio", "name": "a", "options": [{"value": "b", "text": "B"}]}, ".options[0].text", "remove it"),
    ({"type": "radio", "name": "a", "options": [""]}, ".options[0].value", "is empty"),
    ({"type": "checkbox", "name": "a", "options": ["b"], "default": ["c"]}, ".default", "choose from 'b'"),
    ({"type": "checkbox", "name": "a", "options": ["b"], "default": ["b", "b"]}, ".default", "duplicate"),
    ({"type": "select", "name": "a", "options": ["b"], "default": "c"}, ".default", "choose from 'b'"),
    ({"type": "select", "name": "a", "options": [f"o{i}" for i in range(1001)]}, ".options", "at most 1000"),
    ({"type": "number", "name": "a", "min": 5, "max": 3}, ".min", "5 is above max 3"),
    ({"type": "number", "name": "a", "step": 0}, ".step", "above 0"),
    ({"type": "number", "name": "a", "min": "1"}, ".min", "not '1'"),
    ({"type": "number", "name": "a", "max": float("nan")}, ".max", "nan"),
    ({"type": "number", "name": "a", "max": 10**30}, ".max", "digits"),
    ({"type": "number", "name": "a", "default": "5"}, ".default", "without quotes"),
    ({"type": "number", "name": "a", "min": 5, "default": 4}, ".default", "at least 5"),
    ({"type": "slider", "name": "a", "min": 1}, ".max", "needs min and max"),
    ({"type": "date", "name": "a", "min": "2026-02-30"}, ".min", "YYYY-MM-DD"),
    ({"type": "date", "name": "a", "min": "2026-02-02", "max": "2026-02-01"}, ".min", "2026-02-01"),
    ({"type": "date", "name": "a", "default": "today"}, ".default", "'today'"),
    ({"type": "boolean", "name": "a", "default": 1}, ".default", "not 1"),
    ({"type": "text", "name": "a", "min_length": 5, "max_length": 3}, ".min_length", "above max_length 3"),
    ({"type": "text", "name": "a", "max_length": 0}, ".max_length", "at least 1"),
    ({"type": "text", "name": "a", "max_length": 20_001}, ".max_length", "20000"),
    ({"type": "text", "name": "a", "max_length": 3, "default": "long"}, ".default", "at most 3"),
    ({"type": "text", "name": "a", "required": "yes"}, ".required", "true or false"),
    ({"type": "text", "name": "a", "options": ["b"]}, ".options", "remove it"),
    ({"type": "text", "name": "a", "choices": None}, ".choices", "remove it"),
    ({"type": "select", "name": "a", "options": None}, ".options", "is missing"),
    ({"type": "slider", "name": "a", "min": 1, "max": None}, ".max", "needs min and max"),
    ({"type": [], "name": "a"}, ".type", "a list is not a field type"),
    (Option(value="a"), ".type", "is missing"),
    ({"type": "text", "name": "a", "label": ""}, ".label", "at least 1"),
    ({"type": "text", "name": "a", "label": "x" * 501}, ".label", "at most 500"),
    ({"type": "text", "name": "a", "help": "\ud800"}, ".help", "surrogate"),
    ({"type": "text", "name": "a", "help": "\0"}, ".help", "NUL"),
    ({"type": "text", "name": "a b"}, ".name", "'a b' is not a field name"),
    ({"type": "text", "name": "a" * 65}, ".name", "1-64"),
    ({"type": "text", "name": "a\n"}, ".name", "not a field name"),
    ({"type": "text", "name": 5}, ".name", "must be text, not 5"),
    ({"type": "text"}, ".name", "is missing"),
    ({"type": "colour", "name": "a"}, ".type", "'colour' is not a field type: use one of text,"),
    ({"name": "a"}, ".type", "use one of text,"),
    (5, "", "must be an object, not 5"),
]


@pytest.mark.parametrize(("definition", "path", "part"), BAD_DEFINITIONS, ids=range(len(BAD_DEFINITIONS)))
def test_a_bad_definition_is_told_by_its_path(definition: object, path: str, part: str) -> None:
    good = {"type": "text", "name": "good"}
    errors = errors_of(Form.parse, {"fields": [good, definition]})
    assert list(errors) == [f"form.fields[1]{path}"]
    assert part in errors[f"form.fields[1]{path}"]
    assert ": " in errors[f"form.fields[1]{path}"] or "slider" in part


def test_a_wrong_type_names_all_types_of_fields_and_no_path_contains_one() -> None:
    union = get_args(get_args(Field)[0])
    types = [each.model_fields["type"].default for each in union]
    message = errors_of(Form.parse, {"fields": [{"type": "?"}]})["form.fields[0].type"]
    assert message.endswith(f"use one of {', '.join(types)}")
    nameless = {"fields": [{"type": each} for each in types]}
    places = {path.rpartition(".")[0] for path in errors_of(Form.parse, nameless)}
    assert places == {f"form.fields[{n}]" for n in range(len(types))}


def test_all_bad_definitions_are_told_at_once() -> None:
    errors = errors_of(
        Form.parse, {"fields": [{"type": "zz"}, {"type": "text"}, {"type": "text", "name": "a", "x": 1}]}
    )
    assert list(errors) == ["form.fields[0].type", "form.fields[1].name", "form.fields[2].x"]


@pytest.mark.parametrize(
    ("data", "path"),
    [(5, "form"), ([], "form"), ({}, "form.fields"), ({"fields": []}, "form.fields"), ({"fields": "a"}, "form.fields")],
)
def test_what_is_no_form_at_all_is_told(data: object, path: str) -> None:
    assert list(errors_of(Form.parse, data)) == [path]


def test_a_form_takes_a_hundred_fields_and_no_more() -> None:
    assert len(Form([Text(f"f{i}") for i in range(100)]).fields) == 100
    assert "at most 100" in errors_of(Form, [Text(f"f{i}") for i in range(101)])["form.fields"]


def test_two_fields_cannot_share_a_name() -> None:
    assert "'a' is the name of two fields" in errors_of(Form, [Text("a"), Number("a")])["form.fields[1].name"]


def test_a_bad_field_in_python_is_told_when_it_is_made() -> None:
    assert list(errors_of(Select, "reason", options=[])) == ["reason.options"]
    assert list(errors_of(Text)) == ["Text.name"]
    assert list(errors_of(Text, "a", color="red")) == ["a.color"]


def test_a_form_inside_a_model_keeps_the_path_of_its_errors() -> None:
    class Body(BaseModel):
        form: Form

    with pytest.raises(ValidationError) as caught:
        Body.model_validate({"form": {"fields": [{"type": "select", "name": "a", "options": [{}]}]}})
    assert caught.value.errors()[0]["loc"][:3] == ("form", "fields", 0)


@pytest.mark.parametrize("width", [100_000])
def test_a_flood_of_errors_is_cut(width: int) -> None:
    assert (
        len(errors_of(Form.parse, {"fields": [{"type": "text", "name": "a"} | {f"x{i}": 1 for i in range(width)}]}))
        < 100
    )
    assert len(errors_of(TEN.check, {f"x{i}": 1 for i in range(width)})) < 100


ACCEPTED: list[tuple[Any, list[Any]]] = [
    (Text("x"), ["a", "日本", "", " ", "a\nb", "x" * 20_000]),
    (Text("x", required=True), ["a", "0"]),
    (Text("x", min_length=2, max_length=3), ["ab", "abc", "日本語", "😀😀"]),
    (TextArea("x"), ["a\n\nb"]),
    (Select("x", options=["a", "b"]), ["a", "b"]),
    (Select("x", options=[0, 1, "1"]), [0, 1, "1"]),
    (Radio("x", options=["a"], required=True), ["a"]),
    (MultiSelect("x", options=["a", "b"]), [[], ["a"], ["b", "a"]]),
    (Checkbox("x", options=[1, 2], required=True), [[1], [2, 1]]),
    (Number("x"), [0, -1, 1.5, 5.0, 1e300, 2**53 - 1]),
    (Number("x", min=1, max=2, required=True), [1, 2, 1.5, 1.0]),
    (Number("x", min=1, step=2), [1, 3, 5.0]),
    (Number("x", step=0.1), [0.3, 0.1 + 0.2, -0.7, 1, 1_000_000.1]),
    (Number("x", min=0.05, step=0.1), [0.05, 0.15, 0.35]),
    (Number("x", min=100_000_000.1, step=0.1), [100_000_000.3, 100_000_000.7]),
    (Slider("x", min=0, max=1, step=0.01), [0, 0.29, 0.57, 1]),
    (Date("x"), ["2024-02-29", "0001-01-01", "9999-12-31"]),
    (Date("x", min="2026-01-01", max="2026-01-31"), ["2026-01-01", "2026-01-31"]),
    (Boolean("x"), [True, False]),
    (Boolean("x", required=True), [True, False]),
]
REFUSED: list[tuple[Any, list[Any], str]] = [
    (Text("x"), [5, True, ["a"], {"a": 1}, 1.5, b"a"], "must be text, not"),
    (Text("x"), ["x" * 20_001], "at most 20000"),
    (Text("x"), ["a\ud800"], "surrogate"),
    (Text("x"), ["a\0"], "NUL"),
    (Text("x", required=True), ["", " ", "\n\t", "\u3000", None], "is required"),
    (Text("x", required=True), [0, False], "must be text"),
    (Text("x", min_length=2), ["", "a"], "at least 2"),
    (TextArea("x", max_length=3), ["abcd"], "has 4 characters, at most 3"),
    (Select("x", options=["1", "b"]), ["c", 1, True, ["1"], {}, ""], "is not an option: choose from '1', 'b'"),
    (Select("x", options=[1, 0]), ["1", True, False, 1.0], "is not an option: choose from 1, 0"),
    (Radio("x", options=["a"], required=True), ["", None], "is required"),
    (Radio("x", options=[f"o{i}" for i in range(12)]), ["z"], "'o9' or 2 others"),
    (MultiSelect("x", options=["a", "b"]), ["a", {"a": 1}, 1], "must be a list, not"),
    (MultiSelect("x", options=["a", "b"]), [["c"], ["a", 1], [None], [["a"]]], "is not an option"),
    (MultiSelect("x", options=["a", "b"]), [["a", "b", "a"]], "'a' is a duplicate"),
    (Checkbox("x", options=["a"], required=True), [[], None], "is required"),
    (Number("x"), ["5", True, False, [], "", {}], "must be a number, not"),
    (Number("x"), [float("nan"), float("inf"), -float("inf")], "not a JSON number"),
    (Number("x"), [2**53, -(2**53), 10**5000], "as text"),
    (Number("x", min=1, max=5), [0, 0.999, -1], "below 1: send at least 1"),
    (Number("x", min=1, max=5), [6, 5.001], "above 5: send at most 5"),
    (Number("x", min=1, step=2), [2, 1.5, 4], "steps of 2 from 1"),
    (Number("x", step=0.1), [0.25, 0.1001], "steps of 0.1"),
    (Number("x", step=5e-324), [1e308], "not on a step"),
    (Slider("x", min=0, max=1, step=0.25), [0.3], "steps of 0.25"),
    (Slider("x", min=0, max=1, required=True), [None], "is required"),
    (
        Date("x"),
        ["2026-02-29", "2026-13-01", "20260131", "2026-W01-1", "2026-1-1", "", "2026-01-01T00:00"],
        "is not a valid date",
    ),
    (Date("x"), [20260101, True, "２０２６-01-01", "0000-01-01"], "is not a valid date"),
    (Date("x", min="2026-01-01", max="2026-01-31"), ["2025-12-31"], "2026-01-01 or later"),
    (Date("x", min="2026-01-01", max="2026-01-31"), ["2026-02-01"], "2026-01-31 or earlier"),
    (Boolean("x"), [0, 1, "true", "", []], "must be true or false"),
    (Boolean("x", required=True), [None], "is required"),
]


def cases(table: list[Any]) -> list[Any]:
    """Return one case for each value, under a short id: some values are too long to be printed."""
    return [
        pytest.param(field, value, *part, id=f"{field.type}-{row}-{number}")
        for row, (field, values, *part) in enumerate(table)
        for number, value in enumerate(values)
    ]


@pytest.mark.parametrize(("field", "value"), cases(ACCEPTED))
def test_an_answer_that_fits_is_stored_as_it_is(field: Any, value: Any) -> None:
    assert Form([field]).check({"x": value}) == {"x": value}


@pytest.mark.parametrize(("field", "value", "part"), cases(REFUSED))
def test_an_answer_that_does_not_fit_is_refused_by_name_with_a_remedy(field: Any, value: Any, part: str) -> None:
    errors = errors_of(Form([field]).check, {"x": value})
    assert list(errors) == ["x"]
    assert part in errors["x"]
    assert ": " in errors["x"]


def test_a_whole_number_comes_back_as_int_where_steps_are_whole() -> None:
    answers = Form([Number("n", step=1), Number("f")]).check({"n": 5.0, "f": 5.0})
    assert [type(value) for value in answers.values()] == [int, float]


def test_every_wrong_field_is_told_at_once() -> None:
    form = Form([Select("reason", options=["late"], required=True), Number("amount"), Text("note")])
    errors = errors_of(form.check, {"amount": "5", "note": "ok", "extra": 1})
    assert list(errors) == ["reason", "amount", "extra"]
    assert errors["extra"] == "is not a field of this form: remove it"


def test_fields_without_an_answer_are_left_out_even_with_a_default() -> None:
    assert Form([Text("a", default="x"), Boolean("b"), Number("c")]).check({"b": None, "c": 0}) == {"c": 0}


def test_no_answers_at_all_are_fine_where_nothing_is_required() -> None:
    assert TEN.check({}) == TEN.check(None) == {}


@pytest.mark.parametrize("data", ["a", 5, [], True])
def test_answers_must_be_an_object(data: object) -> None:
    assert "must be an object of answers" in errors_of(TEN.check, data)["data"]


@pytest.mark.parametrize("name", ["a" * 1000, "\ud800", "a\nb", "", "x\u202ey"])
def test_an_unknown_field_with_a_hostile_name_can_be_printed(name: str) -> None:
    (field,) = errors_of(TEN.check, {name: 1})
    assert field.encode()
    assert field.isprintable()
    assert 0 < len(field) < 100


def test_a_million_wrong_entries_end_at_the_first() -> None:
    many = Form([MultiSelect("x", options=[f"o{i}" for i in range(1000)])])
    assert "is a duplicate" in errors_of(many.check, {"x": ["o999"] * 1_000_000})["x"]
