"""With which arguments an action is called: those that its schema names, whoever presses it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.apps.assistant.office import NOON, OFFICE, with_values

from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.declare_tool import action_schemas
from ringi_apps.assistant.definitions import DefinitionError, Definitions
from ringi_apps.assistant.event_context import TurnResult
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.sentences import LANGUAGES, render_sentences

LIMIT = {"properties": {"limit": {"type": "integer", "maximum": 50}}}
REFERRED = {"$ref": "#/$defs/limit", "$defs": {"limit": LIMIT}}
EITHER = {"anyOf": [LIMIT, {"properties": {"all": {"type": "boolean"}}}]}
READY = with_values(ContextMemory(), topic="lamps")


def taking(**action: Any) -> Definitions:
    search = ActionDefinition("search", "immediate", "Search", workflow="searching", requires=("topic",))
    others = tuple(each for each in OFFICE.actions if each.id != "search")
    return replace(OFFICE, actions=(*others, replace(search, **action)))


def heard(definitions: Definitions, parameters: dict[str, Any]) -> TurnResult:
    needed = {"type": "search", "parameters": parameters}
    turn = ConversationReducer(definitions, "chat", NOON, "ann", "run")
    return turn.apply(READY, {"type": "said", "message": "m1", "required": [needed]})


@pytest.mark.parametrize(
    ("schema", "parameters", "named"),
    [
        ({}, {"topic": "weapons"}, "args.topic"),
        ({}, {"limit": 5}, "args.limit"),
        (LIMIT, {"limit": 500}, "args.limit"),
        (LIMIT, {"limit": "all"}, "args.limit"),
        (LIMIT, {"limit": 5, "sudo": True}, "args.sudo"),
        (REFERRED, {"limit": 5, "sudo": True}, "args.sudo"),
        ({**LIMIT, "required": ["limit"]}, {}, "args.limit"),
    ],
)
def test_what_a_model_adds_to_an_action_is_refused_in_words(
    schema: dict[str, Any], parameters: dict[str, Any], named: str
) -> None:
    outcome = heard(taking(schema=schema), parameters)
    assert not outcome.calls
    for language in LANGUAGES:
        words = render_sentences(outcome.sentences, language)
        assert named in words
        assert "Search" in words
    assert len({render_sentences(outcome.sentences, language) for language in LANGUAGES}) == 3


@pytest.mark.parametrize(
    ("schema", "parameters"),
    [({}, {}), (LIMIT, {}), (LIMIT, {"limit": 5}), (REFERRED, {"limit": 5}), (EITHER, {"all": True})],
)
def test_what_the_schema_names_is_handed_over(schema: dict[str, Any], parameters: dict[str, Any]) -> None:
    (call,) = heard(taking(schema=schema), parameters).calls
    assert call.args == parameters


def test_a_schema_that_takes_more_says_so() -> None:
    (call,) = heard(taking(schema={**LIMIT, "additionalProperties": True}), {"colour": "red"}).calls
    assert call.args == {"colour": "red"}


def test_the_model_is_told_what_an_action_takes() -> None:
    (search,) = [each for each in action_schemas(taking(schema=LIMIT)) if each["type"] == "object"]
    assert search["properties"]["type"]["enum"] == ["search"]
    assert search["properties"]["parameters"] == {"type": "object", **LIMIT}
    (names,) = action_schemas(OFFICE)
    assert (names["type"], "search" in names["enum"]) == ("string", True)


@pytest.mark.parametrize(
    ("action", "says"),
    [
        ({"schema": {"type": "nonsense"}}, "action 'search' schema"),
        ({"schema": {"type": "array"}}, "action 'search' schema: is of type 'array'"),
        ({"schema": LIMIT, "kind": "plan"}, "action 'search': has a schema, but only an immediate action takes"),
    ],
)
def test_a_schema_that_cannot_be_is_named_at_the_start(action: dict[str, Any], says: str) -> None:
    with pytest.raises(DefinitionError, match=says):
        taking(**action)
