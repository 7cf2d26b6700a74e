"""What an agent says of the answers that its plain interrupts take."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from ringi.errors import InvalidError, SettingError
from ringi.forms import form as forms

EVERY_NODE = ""
"""The key of the schema that holds for every node."""
TELLING = {"type", "enum", "const", "properties", "anyOf", "oneOf", "allOf", "not", "if", "$ref"}
"""The keywords of which a JSON Schema has at least one, unless it allows anything."""
REMEDY = "give a JSON Schema or a type, or one for each node"
Schema: TypeAlias = dict[str, Any]


class Terms(NamedTuple):
    """What a plain interrupt takes: the graph itself says nothing of it."""

    schema: Schema | None = None
    """JSON Schema of the answer; None for any JSON but null."""
    rejected: Any = False
    """What `interrupt` returns for a rejection; None where nobody can reject."""


ANYTHING = Terms()


def answers_of(answers: Any, nodes: Collection[str]) -> dict[str, Schema]:
    """Return the schemas by node from the `answers` of an agent; raise `SettingError` for what is neither."""
    if answers is None:
        return {}
    if not isinstance(answers, dict) or not set(nodes) & set(answers):
        return {EVERY_NODE: schema_of("answers", answers)}
    if unknown := ", ".join(sorted(map(str, set(answers) - set(nodes)))):
        raise SettingError("answers", unknown, f"the graph has no such node, but {', '.join(sorted(nodes))}")
    return {node: schema_of(f"answers.{node}", each) for node, each in answers.items()}


def schema_of(name: str, given: Any) -> Schema:
    """Return a JSON Schema as it is, or that of a type."""
    try:
        schema = given if isinstance(given, dict) else TypeAdapter(given).json_schema()
        forms.check_schema(schema, field=name)
    except (PydanticUserError, InvalidError) as error:
        raise SettingError(name, given, f"{error}: {REMEDY}") from error
    if schema and not TELLING & set(schema):
        # Else a misspelled node would be a schema that allows anything.
        raise SettingError(name, ", ".join(map(str, schema)), f"neither a schema nor a node of the graph: {REMEDY}")
    return schema
