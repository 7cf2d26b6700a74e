"""Schemas and data that a model or a stranger wrote: valid ones work, hostile ones end at once."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.errors import InvalidError
from ringi.forms.json_schema import MAX_SCHEMA_BYTES, check_instance, check_json, check_schema

REFUND = {
    "type": "object",
    "properties": {
        "order": {"type": "integer", "minimum": 1},
        "amount": {"type": "number", "maximum": 100},
        "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
        "pattern": {"type": "string", "pattern": "^[a-z]{1,3}$"},
    },
    "required": ["order", "amount"],
    "additionalProperties": False,
    "$defs": {"item": {"type": "object", "properties": {"price": {"type": "number"}}, "required": ["price"]}},
}
FIT = {"order": 1182, "amount": 40, "items": [{"price": 1.5}], "pattern": "abc"}


def errors_of(call: Any, *args: Any, **kwargs: Any) -> dict[str, str]:
    with pytest.raises(InvalidError) as caught:
        call(*args, **kwargs)
    return {error.field: error.message for error in caught.value.errors}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "schema",
    [
        {},
        REFUND,
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]},
        {"properties": {"$ref": {"type": "string"}, "pattern": {}, "$id": {}, "enum": {}}},
        {"enum": [{"$ref": "http://elsewhere"}, {"pattern": "(?=a)"}]},
        {"definitions": {"a": {"type": "string"}}, "$ref": "#/definitions/a"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}}, "anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]},
        {"properties": {f"p{i}": {} for i in range(100)}},
        {"enum": list(range(1000))},
        {"patternProperties": {r"^\d+$": {"type": "integer"}}},
        {"type": "string", "pattern": r"^[^@\s]+@[^@\s]+\.[a-z]{2,}$"},
        {"type": "string", "pattern": r"^\p{L}+$"},
    ],
    ids=range(13),
)
def test_an_ordinary_schema_is_taken(schema: dict[str, Any]) -> None:
    check_schema(schema, field="schema")


DOUBLING = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(16)} | {"d16": {}}
BAD_SCHEMAS: list[tuple[object, str, str]] = [
    (5, "schema", "must be a JSON Schema object, not 5"),
    (True, "schema", "not true"),
    ("{}", "schema", "not '{}'"),
    ({"type": "strin"}, "schema.type", "not a valid JSON Schema"),
    ({"minLength": "x"}, "schema.minLength", "not of type"),
    ({"properties": {"a": {"type": 5}}}, "schema.properties.a.type", "not a valid JSON Schema"),
    ({"$ref": "http://127.0.0.1:9/x"}, "schema.$ref", "'http://127.0.0.1:9/x' is not local"),
    ({"$ref": "#"}, "schema.$ref", "refer to '#/$defs/…' only"),
    ({"$ref": "#/properties/a", "properties": {"a": {}}}, "schema.$ref", "not local"),
    ({"$ref": 5}, "schema.$ref", "5 is not local"),
    ({"$ref": "#/$defs/a"}, "schema", "'#/$defs/a' has no definition"),
    ({"$defs": {"a": {"$ref": "#/$defs/a"}}}, "schema", "is recursive"),
    (
        {"$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        "schema",
        "write out the levels that you need",
    ),
    ({"properties": {"a": {"$id": "http://x/"}}}, "schema.properties.a.$id", "not allowed"),
    ({"$dynamicRef": "#a"}, "schema.$dynamicRef", "not allowed"),
    ({"$recursiveRef": "#"}, "schema.$recursiveRef", "not allowed"),
    ({"$schema": "http://127.0.0.1:9/meta"}, "schema.$schema", "is unknown: use"),
    ({"$schema": 5}, "schema.$schema", "5 is unknown"),
    ({"items": {"$schema": "http://json-schema.org/draft-07/schema"}}, "schema.items.$schema", "not allowed"),
    ({"pattern": "(?=a)b"}, "schema.pattern", "without look-around"),
    ({"pattern": "(?<!a)b"}, "schema.pattern", "without look-around"),
    ({"pattern": r"(a)\1"}, "schema.pattern", "back-references"),
    ({"pattern": "(a{1000}){1000}"}, "schema.pattern", "use a shorter pattern"),
    ({"pattern": "("}, "schema.pattern", "use a shorter pattern"),
    ({"pattern": "a" * 501}, "schema.pattern", "has 501 characters"),
    ({"patternProperties": {"(?!a)": {}}}, "schema.patternProperties.(?!a)", "without look-around"),
    ({"allOf": [{"pattern": f"a{i}"} for i in range(201)]}, "schema", "201 patterns: use at most 200"),
    ({"$ref": "#/$defs/d0", "$defs": DOUBLING}, "schema", "keywords: use at most 20000"),
    ({"properties": {f"p{i}": {} for i in range(101)}}, "schema.properties", "more than 100"),
    ({"items": {"enum": list(range(1001))}}, "schema.items.enum", "more than 1000"),
    ({"description": "x" * MAX_SCHEMA_BYTES}, "schema", f"larger than {MAX_SCHEMA_BYTES} bytes"),
    ({"default": nested(30)}, "schema", "deeper than 24"),
    ({"const": float("nan")}, "schema.const", "nan"),
    ({"const": 2**53}, "schema.const", "as text"),
    ({"const": "\ud800"}, "schema.const", "surrogate"),
    ({"const": (1, 2)}, "schema.const", "not a JSON value"),
    ({"const": {5: 1}}, "schema.const", "key 5"),
]


@pytest.mark.parametrize(("schema", "path", "part"), BAD_SCHEMAS, ids=range(len(BAD_SCHEMAS)))
def test_a_bad_schema_is_told_by_its_path(schema: object, path: str, part: str) -> None:
    errors = errors_of(check_schema, schema, field="schema")
    assert list(errors) == [path]
    assert part in errors[path]


def test_the_path_of_a_schema_begins_with_the_callers_name() -> None:
    assert list(errors_of(check_schema, {"type": "x"}, field="action.schema")) == ["action.schema.type"]


def test_data_that_fits_passes() -> None:
    check_instance(REFUND, FIT, field="args")


@pytest.mark.parametrize(
    ("change", "path", "part"),
    [
        ({"amount": 101}, "args.amount", "101 is greater than the maximum of 100: send a value that fits"),
        ({"amount": "5"}, "args.amount", "not of type"),
        ({"amount": True}, "args.amount", "not of type"),
        ({"order": 1.5}, "args.order", "not of type"),
        ({"items": [{"price": 1}, {"price": "1"}]}, "args.items[1].price", "not of type"),
        ({"items": [{}]}, "args.items[0].price", "is missing: add it"),
        ({"other": 1}, "args.other", "is not in the schema: remove it"),
        ({"pattern": "A" * 100_000}, "args.pattern", 'does not match "^[a-z]{1,3}$"'),
        ({"amount": float("nan")}, "args.amount", "nan"),
        ({"amount": 10**5000}, "args.amount", "more than 30 digits"),
        ({"pattern": "\ud800"}, "args.pattern", "surrogate"),
        ({"pattern": "\0"}, "args.pattern", "NUL"),
        ({"items": nested(100)}, "args", "deeper than 64"),
        ({"pattern": "x" * 300_000}, "args", "larger than 262144 bytes"),
    ],
    ids=range(14),
)
def test_data_that_does_not_fit_is_told_by_its_path(change: dict[str, Any], path: str, part: str) -> None:
    errors = errors_of(check_instance, REFUND, FIT | change, field="args")
    assert list(errors) == [path]
    assert part in errors[path]
    assert len(errors[path]) < 400


def test_every_broken_place_is_told_at_once() -> None:
    errors = errors_of(check_instance, REFUND, {"amount": "5", "x": 1, "y": 2}, field="args")
    assert set(errors) == {"args.order", "args.amount", "args.x", "args.y"}


def test_a_flood_of_errors_is_cut() -> None:
    assert len(errors_of(check_instance, {"items": {"type": "string"}}, list(range(1000)), field="args")) == 50


def test_large_data_under_a_large_schema_is_refused_without_counting_its_errors() -> None:
    schema = {"items": {"allOf": [{"type": "string"}] * 1000}}
    assert "send less" in errors_of(check_instance, schema, [1] * 200, field="args")["args"]
    assert "is too large for its schema" in errors_of(check_instance, schema, [1] * 50_000, field="args")["args"]


def test_long_text_under_many_patterns_is_refused_before_it_is_matched() -> None:
    schema = {"anyOf": [{"pattern": "^[ab]*a[ab]{600}x$"}, {"pattern": "^a+$"}]}
    check_instance(schema, "a" * 130_000, field="args")
    assert "is too large for its schema" in errors_of(check_instance, schema, "a" * 140_000, field="args")["args"]


def test_an_instance_is_never_checked_by_a_schema_that_would_be_refused() -> None:
    assert list(errors_of(check_instance, {"pattern": r"(a)\1"}, "aa", field="args")) == ["schema.pattern"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
keywords = st.sampled_from(
    ["type", "properties", "items", "$ref", "$defs", "enum", "pattern", "required", "anyOf", "not", "minimum", "format"]
)
schema_values = st.recursive(
    json_values | st.sampled_from(["#/$defs/a", "#", "string", "object", "^a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keywords | st.just("a"), inner, max_size=4),
)


@given(schema_values, json_values)
def test_whatever_comes_in_is_taken_or_refused_in_words(schema: object, data: object) -> None:
    texts: list[str] = []
    try:
        check_instance(schema, data, field="args")
    except InvalidError as error:
        texts = [part for one in error.errors for part in (*one[:3], json.dumps(one.params, ensure_ascii=False))]
    assert all(part.encode() for part in texts)


@given(json_values)
def test_a_size_is_never_more_than_what_is_written(value: object) -> None:
    try:
        size = check_json(value, field="args")
    except InvalidError:
        return
    assert size.bytes <= 4 + 8 * len(repr(value))
    assert size.nodes <= len(repr(value))


BOMBS = {
    "a pattern that backtracks": """
        check_instance({"type": "string", "pattern": "^(a+)+$"}, "a" * 28 + "!", field="args")
    """,
    "a pattern that needs the slow engine on every character": """
        check_instance({"pattern": "^[ab]*a[ab]{600}x$"}, "ab" * 130_000, field="args")
    """,
    "many slow patterns": """
        patterns = [{"pattern": "^[ab]*a[ab]{%d}x$" % (400 + i)} for i in range(200)]
        check_instance({"items": {"anyOf": patterns}}, ["ab" * 6_000] * 20, field="args")
    """,
    "references that double": """
        defs = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(25)}
        check_instance({"$ref": "#/$defs/d0", "$defs": {**defs, "d25": {"type": "string"}}}, 1, field="args")
    """,
    "references that double up to the limit": """
        defs = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(11)}
        check_instance({"$ref": "#/$defs/d0", "$defs": {**defs, "d11": {"type": "string"}}}, 1, field="args")
    """,
    "references that double a thousand times": """
        defs = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(900)}
        check_instance({"$ref": "#/$defs/d0", "$defs": {**defs, "d900": {"type": "string"}}}, 1, field="args")
    """,
    "a chain of references": """
        defs = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(1500)}
        check_instance({"$ref": "#/$defs/d0", "$defs": {**defs, "d1500": {"type": "string"}}}, 1, field="args")
    """,
    "a ring of references": """
        defs = {f"d{i}": {"$ref": f"#/$defs/d{(i + 1) % 1500}"} for i in range(1500)}
        check_schema({"$ref": "#/$defs/d0", "$defs": defs}, field="args")
    """,
    "a schema nested too deep": """
        schema = {}
        for _ in range(10_000):
            schema = {"items": schema}
        check_schema(schema, field="args")
    """,
    "data nested too deep": """
        data = []
        for _ in range(10_000):
            data = [data]
        check_instance({}, data, field="args")
    """,
    "an answer nested too deep": """
        data = []
        for _ in range(100_000):
            data = [data]
        Form([Text("a")]).check({"a": data})
    """,
    "a form nested too deep": """
        data = {}
        for _ in range(100_000):
            data = {"fields": [data]}
        Form.parse({"fields": [data]})
    """,
    "a model's answer nested too deep": """
        data = []
        for _ in range(100_000):
            data = [data]
        answers_as_model(Model, {"a": data})
    """,
    "a list that holds itself": """
        data = []
        data.extend([data] * 8)
        check_instance({}, data, field="args")
    """,
    "a huge number": """
        check_instance({"multipleOf": 0.0001}, 10**1_000_000, field="args")
    """,
    "a huge number in a form": """
        Form([Number("a", step=0.1)]).check({"a": 10**1_000_000})
    """,
    "much data under many rules": """
        schema = {"items": {"allOf": [{"multipleOf": 0.1, "maximum": i} for i in range(1000)]}}
        check_instance(schema, [1] * 100_000, field="args")
    """,
    "many rules that each look at every entry": """
        schema = {"unevaluatedItems": False, "anyOf": [{"contains": {"const": i}} for i in range(1000)]}
        check_instance(schema, [7000] * 100_000, field="args")
    """,
    "many errors with long values": """
        schema = {"additionalProperties": {"allOf": [{"type": "object"}] * 900}}
        check_instance(schema, {f"k{i}": "x" * 10_000 for i in range(20)}, field="args")
    """,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_ends_in_an_error_not_in_a_hang(bomb: str) -> None:
    prelude = """
        from pydantic import BaseModel
        from ringi.errors import InvalidError
        from ringi.forms.fields import Number, Text
        from ringi.forms.form import Form, answers_as_model
        from ringi.forms.json_schema import check_instance, check_schema
        class Model(BaseModel):
            a: str
        try:
    """
    body = textwrap.indent(textwrap.dedent(BOMBS[bomb]), "    ")
    ending = "except InvalidError as error:\n    print('refused:', str(error)[:80])\n"
    program = textwrap.dedent(prelude) + body + ending
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=20, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("refused:")


def test_a_schema_is_compiled_once_whatever_its_field(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, compile_schema = list[object](), jsonschema_rs.validator_for

    def counting(schema: Any, **options: Any) -> Any:
        compiled.append(schema)
        return compile_schema(schema, **options)

    monkeypatch.setattr(jsonschema_rs, "validator_for", counting)
    schema = {"type": "object", "title": "Compiled once"}

    for field in ("schema", "action.schema", "agents.a.input_schema"):
        check_schema(schema, field=field)

    assert compiled == [schema]
