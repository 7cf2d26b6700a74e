"""Forms from pydantic models and JSON Schemas, and back."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field, field_validator
from tests.tiers import examples

from ringi.errors import InvalidError
from ringi.forms.field_parts import Option
from ringi.forms.fields import Boolean, Checkbox, Date, MultiSelect, Number, Radio, Select, Slider, Text, TextArea
from ringi.forms.form import Form, answers_as_model
from ringi.forms.json_schema import check_instance


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    S = 1
    L = 2


class Order(BaseModel):
    reason: Literal["late", "damaged"] = Field(title="Why?", description="Pick one")
    colour: Colour
    size: Size = Size.S
    extras: list[Literal["bow", "card"]] = []
    gift: bool = False
    amount: float = Field(ge=0, le=99.5)
    count: int = Field(ge=1, lt=10)
    stars: int = Field(3, ge=1, le=5, json_schema_extra={"widget": "slider"})
    day: date = Field(ge=date(2026, 1, 1), lt=date(2026, 2, 1))
    name: str = Field(min_length=2, max_length=50, examples=["Ann"])
    note: str = Field("", max_length=500)
    memo: str | None = Field(None, json_schema_extra={"widget": "textarea"})
    channel: Literal["mail", "phone"] | None = Field(None, json_schema_extra={"widget": "radio"})
    tags: set[Colour] = Field(default_factory=set, json_schema_extra={"widget": "checkbox"})
    weight: float | None


ANSWER = {"reason": "late", "colour": "red", "amount": 5, "count": 2, "day": "2026-01-02", "name": "Ann"}


def errors_of(call: Any, *args: Any) -> dict[str, str]:
    with pytest.raises(InvalidError) as caught:
        call(*args)
    return {error.field: error.message for error in caught.value.errors}


def test_a_model_becomes_the_form_that_asks_for_it() -> None:
    assert Form.of(Order).fields == (
        Select("reason", label="Why?", help="Pick one", options=["late", "damaged"], required=True),
        Select("colour", options=["red", "blue"], required=True),
        Select("size", options=[1, 2], default=1),
        MultiSelect("extras", options=["bow", "card"], default=[]),
        Boolean("gift", default=False),
        Number("amount", min=0, max=99.5, required=True),
        Number("count", min=1, max=9, step=1, required=True),
        Slider("stars", min=1, max=5, step=1, default=3),
        Date("day", min="2026-01-01", max="2026-01-31", required=True),
        Text("name", min_length=2, max_length=50, placeholder="Ann", required=True),
        TextArea("note", max_length=500, default=""),
        TextArea("memo"),
        Radio("channel", options=["mail", "phone"]),
        Checkbox("tags", options=["red", "blue"]),
        Number("weight"),
    )


def test_an_answer_comes_back_as_the_model() -> None:
    answers = Form.of(Order).check({**ANSWER, "count": 2.0, "tags": ["blue"], "size": 2})
    order = answers_as_model(Order, answers)
    assert order == Order(
        reason="late",
        colour=Colour.RED,
        amount=5,
        count=2,
        day=date(2026, 1, 2),
        name="Ann",
        tags={Colour.BLUE},
        size=Size.L,
        weight=None,
    )


def test_none_counts_as_no_answer() -> None:
    assert answers_as_model(Order, {**ANSWER, "stars": None}).stars == 3


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("count", "2", "must be a whole number, not '2'"),
        ("count", True, "must be a whole number, not true"),
        ("count", 2.5, "whole number"),
        ("gift", 1, "must be true or false, not 1"),
        ("day", 20_000, "20000"),
        ("day", "2026-02-30", "2026-02-30"),
        ("colour", "green", "'green'"),
        ("amount", "5", "'5'"),
        ("name", 5, "must be text, not 5"),
        ("count", None, "is missing"),
    ],
)
def test_a_model_takes_nothing_by_coercion(name: str, value: object, part: str) -> None:
    errors = errors_of(answers_as_model, Order, {**ANSWER, name: value})
    assert list(errors) == [name]
    assert part in errors[name]


def test_every_wrong_field_of_a_model_is_told_at_once() -> None:
    assert set(errors_of(answers_as_model, Order, {**ANSWER, "count": "2", "name": ""})) == {"count", "name"}


@pytest.mark.parametrize("data", [None, 5, [], "a"])
def test_a_model_needs_an_object(data: object) -> None:
    assert "must be an object" in errors_of(answers_as_model, Order, data)["data"]


def test_a_rule_of_the_model_itself_is_told_by_its_own_words() -> None:
    class Even(BaseModel):
        number: int

        @field_validator("number")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("must be even: add one")
            return value

    assert errors_of(answers_as_model, Even, {"number": 3}) == {"number": "must be even: add one"}


def test_an_alias_names_the_field() -> None:
    class Aliased(BaseModel):
        kind: str = Field(alias="type")

    assert Form.of(Aliased).fields[0].name == "type"
    assert answers_as_model(Aliased, {"type": "a"}).kind == "a"
    assert list(errors_of(answers_as_model, Aliased, {})) == ["type"]


class Nested(BaseModel):
    order: Order


@pytest.mark.parametrize(
    ("annotation", "path", "part"),
    [
        (dict[str, int], "", "an object does not fit"),
        (Nested, "", "an object does not fit"),
        (time, ".format", "use plain text, 'date' or 'date-time'"),
        (list[str], ".items", "list fixed options"),
        (list[list[Literal["a"]]], ".items", "list fixed options"),
        (int | str, "", "anything does not fit"),
        (Any, "", "anything does not fit"),
        (Annotated[str, Field(pattern="^a+$")], ".pattern", "check it after the answer"),
        (Annotated[float, Field(gt=0)], ".exclusiveMinimum", "ge in pydantic"),
        (Annotated[int, Field(ge=1, multiple_of=5)], ".minimum", "1 is not a multiple of 5"),
        (Annotated[list[Literal["a"]], Field(min_length=2)], ".minItems", "remove it"),
        (Annotated[str, Field(json_schema_extra={"widget": "slider"})], ".x-widget", "'slider' cannot show this type"),
        (Annotated[int, Field(json_schema_extra={"widget": "radio"})], ".x-widget", "use 'number' or 'slider'"),
    ],
    ids=range(13),
)
def test_a_type_that_no_form_shows_is_told_with_its_field(annotation: Any, path: str, part: str) -> None:
    model = type("Wrong", (BaseModel,), {"__annotations__": {"good": str, "bad": annotation}})
    errors = errors_of(Form.of, model)
    assert list(errors) == [f"Wrong.bad{path}"]
    assert part in errors[f"Wrong.bad{path}"]


def test_all_types_that_no_form_shows_are_told_at_once() -> None:
    class Wrong(BaseModel):
        one: dict[str, int]
        price: Decimal
        two: list[str]

    assert {path.split(".")[1] for path in errors_of(Form.of, Wrong)} == {"one", "price", "two"}


def test_a_recursive_model_is_refused() -> None:
    class Node(BaseModel):
        child: Node | None = None

    assert "is recursive" in " ".join(errors_of(Form.of, Node).values())


def test_a_slider_of_a_model_needs_bounds() -> None:
    class Rating(BaseModel):
        stars: int = Field(json_schema_extra={"widget": "slider"})

    assert errors_of(Form.of, Rating) == {"form.fields[0].min": "is missing: a slider needs min and max"}


def test_the_schema_of_each_type_is_the_usual_one() -> None:
    form = Form(
        [
            Text("text", label="T", help="H", placeholder="P", default="d", min_length=1, max_length=9, required=True),
            TextArea("area"),
            Radio("radio", options=[Option(value="a", label="A")]),
            MultiSelect("many", options=["a"], required=True),
            Number("number", min=0, step=0.5),
            Slider("slider", min=1, max=5, step=2),
            Number("whole", step=1),
            Date("day", max="2026-01-01"),
            Boolean("yes"),
        ]
    )
    assert form.json_schema() == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "text": {
                "type": "string",
                "title": "T",
                "description": "H",
                "default": "d",
                "x-placeholder": "P",
                "minLength": 1,
                "maxLength": 9,
                "pattern": "\\S",
            },
            "area": {"type": "string", "title": "area", "x-widget": "textarea"},
            "radio": {
                "type": "string",
                "title": "radio",
                "oneOf": [{"const": "a", "title": "A"}],
                "x-widget": "radio",
            },
            "many": {
                "type": "array",
                "title": "many",
                "uniqueItems": True,
                "items": {"type": "string", "oneOf": [{"const": "a", "title": "a"}]},
                "minItems": 1,
            },
            "number": {"type": "number", "title": "number", "minimum": 0, "multipleOf": 0.5},
            "slider": {
                "type": "number",
                "title": "slider",
                "minimum": 1,
                "maximum": 5,
                "x-step": 2,
                "x-widget": "slider",
            },
            "whole": {"type": "integer", "title": "whole"},
            "day": {"type": "string", "title": "day", "format": "date", "formatMaximum": "2026-01-01"},
            "yes": {"type": "boolean", "title": "yes"},
        },
        "required": ["text", "many"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("schema", "field"),
    [
        ({"type": "string"}, Text("x")),
        ({"type": ["string", "null"]}, Text("x")),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, Text("x")),
        ({"allOf": [{"type": "string"}], "title": "X"}, Text("x", label="X")),
        ({"$ref": "#/$defs/Colour", "title": "C"}, Select("x", label="C", options=["red"])),
        ({"$ref": "#/definitions/Old"}, Number("x")),
        ({"enum": ["a", None]}, Select("x", options=["a"])),
        ({"const": "a"}, Select("x", options=["a"])),
        (
            {"anyOf": [{"const": "a", "title": "A"}, {"const": 1}]},
            Select("x", options=[Option(value="a", label="A"), 1]),
        ),
        ({"type": "string", "maxLength": 201}, TextArea("x", max_length=201)),
        ({"type": "string", "maxLength": 201, "x-widget": "text"}, Text("x", max_length=201)),
        ({"type": "integer", "minimum": 0.5, "exclusiveMaximum": 5}, Number("x", min=1, max=4, step=1)),
        ({"type": "integer", "multipleOf": 5, "minimum": 10}, Number("x", min=10, step=5)),
        ({"type": "number", "x-other": 1, "$comment": "c", "readOnly": True}, Number("x")),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, MultiSelect("x", options=["a", "b"])),
    ],
    ids=range(15),
)
def test_a_property_becomes_a_field(schema: Any, field: Any) -> None:
    whole = {
        "type": "object",
        "properties": {"x": schema},
        "$defs": {"Colour": {"enum": ["red"], "title": "Colour", "description": "d"}},
        "definitions": {"Old": {"type": "number"}},
    }
    assert Form.from_json_schema(whole) == Form([field])


@pytest.mark.parametrize(
    ("schema", "path", "part"),
    [
        (5, "schema", "must be a JSON Schema object, not 5"),
        ({}, "schema.type", "use 'object'"),
        ({"type": "array", "items": {}}, "schema.type", "'array' is not a form"),
        ({"type": "object", "properties": {"a": {"type": "object"}}}, "schema.properties.a", "an object does not fit"),
        ({"type": "object", "properties": {"a": True}}, "schema.properties.a", "must be an object, not true"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": True}},
            "schema.properties.a",
            "anything",
        ),
        (
            {"type": "object", "properties": {"a": {"type": "strin"}}},
            "schema.properties.a.type",
            "not a valid JSON Schema",
        ),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "if": {}}, "schema.if", "remove it"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "schema.additionalProperties", "use false"),
        ({"type": "object", "properties": {}}, "form.fields", "send at least 1"),
        ({"type": "object", "properties": {"a b": {"type": "string"}}}, "form.fields[0].name", "'a b'"),
        ({"type": "object", "properties": {"a": {"enum": [{}]}}}, "form.fields[0].options[0].value", "an object"),
        (
            {
                "type": "object",
                "properties": {"a": {"$ref": "#/$defs/b", "minimum": 0}},
                "$defs": {"b": {"minimum": 5}},
            },
            "schema.properties.a.minimum",
            "is set twice",
        ),
    ],
    ids=range(13),
)
def test_a_schema_that_is_no_form_is_told_by_its_path(schema: object, path: str, part: str) -> None:
    errors = errors_of(Form.from_json_schema, schema)
    assert list(errors) == [path]
    assert part in errors[path]


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,9}", fullmatch=True)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
whole = st.integers(-1000, 1000)
numbers = whole | st.floats(-1e6, 1e6)
days = st.dates().map(date.isoformat)


@st.composite
def bounds(draw: st.DrawFn, values: Any, *, both: bool = False) -> dict[str, Any]:
    low, high = sorted(draw(st.tuples(values, values)))
    keep = {"min", "max"} if both else draw(st.sets(st.sampled_from(["min", "max"])))
    return {key: value for key, value in (("min", low), ("max", high)) if key in keep}


@st.composite
def form_fields(draw: st.DrawFn, name: str) -> Any:
    kind = draw(st.sampled_from([Text, TextArea, Select, Radio, MultiSelect, Checkbox, Number, Slider, Date, Boolean]))
    parts: dict[str, Any] = {"required": draw(st.booleans())}
    for part in ("label", "help", "placeholder"):
        parts |= {part: draw(words)} if draw(st.booleans()) else {}
    if kind in (Select, Radio, MultiSelect, Checkbox):
        values = draw(st.lists(words | whole, min_size=1, max_size=5, unique=True))
        parts["options"] = [Option(value=value, label=draw(words)) for value in values]
        default = st.sampled_from(values)
        many = kind in (MultiSelect, Checkbox)
        parts |= {"default": draw(st.lists(default, unique=True) if many else default)} if draw(st.booleans()) else {}
    if kind in (Text, TextArea):
        lengths = draw(bounds(st.integers(1, 300)))
        parts |= {f"{key}_length": value for key, value in lengths.items()}
        fitting = st.text("ab", min_size=parts.get("min_length", 0), max_size=parts.get("max_length", 300))
        parts |= {"default": draw(fitting)} if draw(st.booleans()) else {}
    if kind in (Number, Slider):
        parts |= draw(bounds(numbers, both=kind is Slider))
        parts |= {"step": draw(st.sampled_from([1, 2, 0.5, 0.1, 3.0, 1.0, 7.3]))} if draw(st.booleans()) else {}
    if kind is Date:
        parts |= draw(bounds(days))
    if kind is Boolean:
        parts |= {"default": draw(st.booleans())}
    return kind(name, **parts)


@st.composite
def any_form(draw: st.DrawFn) -> Form:
    return Form([draw(form_fields(name)) for name in draw(st.lists(names, min_size=1, max_size=5, unique=True))])


@given(any_form())
def test_a_form_is_the_same_after_its_schema(form: Form) -> None:
    assert Form.from_json_schema(form.json_schema()) == form


@given(any_form())
def test_a_form_is_the_same_after_its_json(form: Form) -> None:
    assert Form.model_validate_json(form.model_dump_json()) == form


anything = st.recursive(
    st.none() | st.booleans() | whole | numbers | words | st.sampled_from(["a", "2026-01-01", "", float("nan"), 2**70]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)


@given(any_form(), st.data())
@settings(max_examples=examples(200))
def test_whatever_is_answered_is_taken_as_it_is_or_refused_by_name(form: Form, data: st.DataObject) -> None:
    given_answers = data.draw(st.fixed_dictionaries({field.name: anything for field in form.fields}))
    refused_fields: set[str] = set()
    answers: dict[str, Any] = {}
    try:
        answers = form.check(given_answers)
    except InvalidError as error:
        refused_fields = {one.field for one in error.errors}
    assert refused_fields <= {field.name for field in form.fields}
    assert refused_fields or answers == {name: value for name, value in given_answers.items() if value is not None}


@st.composite
def simple_answers(draw: st.DrawFn) -> tuple[Form, dict[str, Any]]:
    """Return a form without fractions and an answer that may fit."""
    form = Form(
        [
            Text("text", required=draw(st.booleans()), min_length=draw(st.none() | st.integers(0, 2)), max_length=3),
            Select("select", options=["a", 1], required=draw(st.booleans())),
            Checkbox("many", options=["a", "b"], required=draw(st.booleans())),
            Number(
                "number", min=draw(st.none() | st.sampled_from([0, 2])), max=5, step=draw(st.sampled_from([None, 1, 2]))
            ),
            Date("day"),
            Boolean("yes", required=draw(st.booleans())),
        ]
    )
    answers = st.fixed_dictionaries(
        {},
        optional={
            "text": st.text("ab ", max_size=4) | whole,
            "select": st.sampled_from(["a", 1, "1", True, "b"]),
            "many": st.lists(st.sampled_from(["a", "b", "c", 1]), max_size=3),
            "number": st.integers(-1, 6) | st.sampled_from([0.5, 2.0, "2", True]),
            "day": st.sampled_from(["2026-01-01", "2026-02-30", "20260101", "", 1]),
            "yes": st.sampled_from([True, False, 0, "true"]),
            "other": st.none() | whole,
        },
    )
    return form, draw(answers)


@given(simple_answers())
@settings(max_examples=examples(300))
def test_a_form_and_its_schema_take_the_same_answers(case: tuple[Form, dict[str, Any]]) -> None:
    form, answers = case
    verdicts = []
    for check in (form.check, lambda data: check_instance(form.json_schema(), data, field="data")):
        try:
            check(answers)
            verdicts.append(True)
        except InvalidError:
            verdicts.append(False)
    assert verdicts[0] == verdicts[1]
