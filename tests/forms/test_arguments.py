"""Arguments of a call: what a schema does not name, nobody adds."""

from __future__ import annotations

from typing import Any

import pytest

from ringi.errors import InvalidError
from ringi.forms.arguments import check_call_arguments, check_edited_arguments, close_schema

PERSON = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ORDER = {
    "type": "object",
    "properties": {
        "order": {"type": "integer"},
        "to": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
        "copies": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
        "notes": {"type": "object"},
    },
    "required": ["order"],
    "$defs": {"Person": PERSON},
}
EITHER = {
    "type": "object",
    "properties": {"a": {}},
    "anyOf": [{"required": ["a"]}, {"required": ["b"], "properties": {"b": {}}}],
}
BOTH = {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {}}}], "$defs": {"A": {"properties": {"a": {}}}}}
TREE = {
    "$ref": "#/$defs/Node",
    "$defs": {"Node": {"type": "object", "properties": {"v": {}, "next": {"$ref": "#/$defs/Node"}}}},
}
MANY = {"type": "object", "properties": {f"a{n}": {} for n in range(200)}}


@pytest.mark.parametrize(
    ("schema", "args"),
    [
        (ORDER, {"order": 1}),
        (ORDER, {"order": 1, "to": {"name": "ann"}, "copies": [{"name": "bob"}], "notes": {"any": 1}}),
        ({"type": "object"}, {}),
        ({"type": "object", "additionalProperties": True}, {"z": 1}),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"z": 1}),
        ({**ORDER, "additionalProperties": {}}, {"order": 1, "z": 1}),
        ({"type": "object", "patternProperties": {"^x-": {}}}, {"x-a": 1}),
        (EITHER, {"a": 1, "b": 2}),
        (BOTH, {"a": 1, "b": 2}),
        (TREE, {"v": 1, "next": {"v": 2}}),
        (MANY, {"a7": 1}),
    ],
)
def test_what_a_schema_names_or_lets_in_is_taken(schema: dict[str, Any], args: dict[str, Any]) -> None:
    check_call_arguments(schema, args)


@pytest.mark.parametrize(
    ("schema", "args", "place"),
    [
        (ORDER, {"order": 1, "z": 1}, r"args\.z: is not in the schema"),
        (ORDER, {"order": 1, "to": {"name": "ann", "z": 1}}, r"args\.to"),
        (ORDER, {"order": 1, "copies": [{"name": "ann"}, {"name": "ann", "z": 1}]}, r"args\.copies\[1\]\.z"),
        (ORDER, {}, r"args\.order: is missing"),
        (ORDER, {"order": "1"}, r"args\.order"),
        ({"type": "object"}, {"z": 1}, r"args\.z"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"z": "1"}, r"args\.z"),
        ({"type": "object", "patternProperties": {"^x-": {}}}, {"y": 1}, r"args\.y"),
        ({"type": "object", "properties": {}, "additionalProperties": False}, {"z": 1}, r"args\.z"),
        (EITHER, {"a": 1, "z": 2}, r"args\.z"),
        (BOTH, {"a": 1, "b": 2, "z": 3}, r"args\.z"),
        (TREE, {"v": 1, "z": 2}, r"args\.z"),
        (MANY, {"z": 1}, r"args\.z"),
        (ORDER, {"order": 1, "\u202eo": 1}, r"args\."),
    ],
)
def test_all_else_is_refused(schema: dict[str, Any], args: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidError, match=place):
        check_call_arguments(schema, args)


@pytest.mark.parametrize(
    ("schema", "edited", "fits"),
    [
        (None, {"order": 1, "amount": 2}, True),
        (None, {"order": 1}, False),
        (None, {"order": 1, "amount": 2, "to": "eve"}, False),
        ({}, {"order": 1, "amount": 2, "to": "eve"}, False),
        ({"properties": {"amount": {"type": "number"}}}, {"order": 1, "amount": 2}, True),
        ({"properties": {"amount": {"type": "number"}}}, {"order": 1, "amount": "2"}, False),
        ({"properties": {"amount": {}, "note": {}}}, {"order": 1, "note": "x"}, True),
        ({"properties": {"amount": {}}}, {"amount": 3}, False),
        ({"properties": {"amount": {}}}, {"order": 1, "to": "eve"}, False),
        ({"properties": {"amount": {}}, "additionalProperties": True}, {"order": 1, "to": "eve"}, True),
        ({"properties": {"amount": {}}, "additionalProperties": True}, {"amount": 3}, False),
    ],
)
def test_an_edit_has_what_was_shown_and_what_the_schema_names(
    schema: dict[str, Any] | None, edited: dict[str, Any], *, fits: bool
) -> None:
    if fits:
        check_edited_arguments(schema, {"order": 1, "amount": 2}, edited)
    else:
        with pytest.raises(InvalidError, match="args"):
            check_edited_arguments(schema, {"order": 1, "amount": 2}, edited)


def test_an_edit_of_one_argument_names_those_that_it_would_drop() -> None:
    with pytest.raises(InvalidError, match=r"args\.order: is missing: send every argument of the call, changed or not"):
        check_edited_arguments(None, {"order": 1, "amount": 2}, {"amount": 3})


INNER = {"properties": {"to": PERSON}}


@pytest.mark.parametrize(
    ("to", "fits"),
    [
        ({"name": "ann", "vip": True}, True),
        ({"name": "bob", "vip": False}, True),
        ({"name": "bob"}, True),
        ({"name": 7, "vip": True}, False),
        ({"name": "ann", "vip": True, "iban": "DE1"}, False),
    ],
)
def test_what_was_shown_inside_of_an_argument_may_stay(to: dict[str, Any], *, fits: bool) -> None:
    args = {"to": {"name": "ann", "vip": True}}
    if fits:
        check_edited_arguments(INNER, args, {"to": to})
    else:
        with pytest.raises(InvalidError, match=r"args\.to\.(name|iban)"):
            check_edited_arguments(INNER, args, {"to": to})


def test_closing_a_schema_leaves_it_as_it_is() -> None:
    before = repr(ORDER)
    assert close_schema(ORDER) != ORDER
    assert repr(ORDER) == before
