"""The answer schemas that an agent declares for its plain interrupts."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from ringi.errors import InvalidError, SettingError
from ringi.forms import form as forms

EVERY_NODE = ""
"""The key of the schema that applies to every node."""
CONSTRAINTS = {"type", "enum", "const", "properties", "anyOf", "oneOf", "allOf", "not", "if", "$ref"}
"""A JSON Schema has at least one of these keywords, unless it allows any value."""
REMEDY = "use a JSON Schema or a type, or one for each node"
Schema: TypeAlias = dict[str, Any]


class AnswerSpec(NamedTuple):
    """The schema and rejection value of a plain interrupt, which the graph itself does not declare."""

    schema: Schema | None = None
    """JSON Schema of the answer; None allows any JSON value except null."""
    rejection_value: Any = False
    """The value that `interrupt` returns for a rejection; None if a rejection is not allowed."""


ANY_ANSWER = AnswerSpec()


def answer_schemas(declaration: Any, nodes: Collection[str]) -> dict[str, Schema]:
    """Return the schemas by node from an agent's `answer_schema`; raise `SettingError` if an entry is invalid."""
    if declaration is None:
        return {}
    if not isinstance(declaration, dict) or not set(nodes) & set(declaration):
        return {EVERY_NODE: declared_schema("answer_schema", declaration)}
    if unknown := ", ".join(sorted(map(str, set(declaration) - set(nodes)))):
        raise SettingError(
            "answer_schema", unknown, f"the graph has no such node; its nodes are {', '.join(sorted(nodes))}"
        )
    return {node: declared_schema(f"answer_schema.{node}", each) for node, each in declaration.items()}


def declared_schema(name: str, declaration: Any) -> Schema:
    """Return a JSON Schema unchanged, or the schema of a type."""
    try:
        schema = declaration if isinstance(declaration, dict) else TypeAdapter(declaration).json_schema()
        forms.check_schema(schema, field=name)
    except (PydanticUserError, InvalidError) as error:
        raise SettingError(name, declaration, f"{error}: {REMEDY}") from error
    if schema and not CONSTRAINTS & set(schema):
        # Otherwise a misspelled node name would be taken for a schema that allows any value.
        raise SettingError(name, ", ".join(map(str, schema)), f"neither a schema nor a node of the graph: {REMEDY}")
    return schema
