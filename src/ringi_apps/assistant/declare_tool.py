"""The tool of the front model. It depends on the definitions only, so that providers can cache the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ringi.base import canonical, jsonable
from ringi_apps.assistant.declarations import ANY, Info
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.settings import AssistantSettings

DECLARE, ROUTE = "declare", "route"
TEXT = {"type": "string"}
LIGHT_AGENTS = ("listDataAgent", "planAgent", "none")
STRICT_KEYWORDS = frozenset(
    (
        *("type", "enum", "const", "description", "properties", "required", "items", "anyOf", "additionalProperties"),
        *(
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
            "minItems",
            "maxItems",
            "pattern",
        ),
    )
)
"""What providers accept in strict schemas: https://platform.openai.com/docs/guides/structured-outputs."""


def declare_tool(assistant: AssistantSettings) -> dict[str, Any]:
    """Return the tool of the front model. Every field is required: a list may be empty."""
    if assistant.light:
        return tool_spec(ROUTE, "Say who goes on, and reply.", {"agent": any_of(LIGHT_AGENTS), "reply": TEXT})
    definitions = assistant.definitions
    schemas = {
        "required_actions": action_schemas(definitions),
        "ops": op_schemas(definitions),
        "choice_context": choice_schemas(definitions),
    }
    lists = {name: array_of(items) for name, items in schemas.items() if items}
    about = "Declare what the person told and which actions they want, and reply."
    return tool_spec(DECLARE, about, {**lists, "reply": TEXT})


def action_schemas(definitions: Definitions) -> list[dict[str, Any]]:
    """Return what can be required: ids of actions, objects for those with arguments, and infos to fetch again.

    Infos that people tell are asked for by the actions that need them: small models take their keys for actions.
    """
    ids = [each.id for each in definitions.actions if not each.schema]
    ids += [info.key for info in definitions.infos if info.kind == "handler"]
    with_arguments = [each for each in definitions.actions if each.schema]
    return [
        *([any_of(ids)] if ids else []),
        *(
            object_of({"type": any_of([each.id]), "parameters": {"type": "object", **inline_schema(each.schema)}})
            for each in with_arguments
        ),
    ]


def op_schemas(definitions: Definitions) -> list[dict[str, Any]]:
    """Return the operations on infos that people can tell, grouped by the schema of their values."""
    infos = [info for info in definitions.infos if is_tellable(info, definitions)]
    schemas = {info.key: value_schema(info) for info in infos}
    ops = []
    for schema in {canonical(schema): schema for schema in schemas.values()}.values():
        keys = [key for key, each in schemas.items() if each == schema]
        ops.append(object_of({"op": any_of(["set"]), "key": any_of(keys), "quote": TEXT, "value": schema}))
    if infos:
        ops.append(object_of({"op": any_of(["clear", "not_needed"]), "key": any_of(schemas), "quote": TEXT}))
    if any(action.kind == "plan" for action in definitions.actions):
        ops.append(object_of({"op": any_of(["feedback"]), "quote": TEXT, "text": TEXT}))
    return ops


def value_schema(info: Info) -> dict[str, Any]:
    """Return the schema of the values that the model can set; an info that may be any also has the value `ANY`."""
    schema = inline_schema(info.schema)
    return {"anyOf": [any_of([ANY]), schema]} if info.may_be_any and schema else schema


def choice_schemas(definitions: Definitions) -> list[dict[str, Any]]:
    """Return the infos whose value can be chosen from a list, with filters of its items."""
    keys = [info.key for info in definitions.infos if info.choices]
    filters = array_of([object_of({"field": TEXT, "value": TEXT})])
    return [object_of({"data_type": any_of(keys), "filters": filters})] if keys else []


def inline_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that can stand inside another one; with references it cannot, and code checks the value.

    Its examples are for people: small models take them for values.
    """
    if b'"$ref"' in canonical(jsonable(dict(schema))):
        return {}
    return dict(without_examples(jsonable(dict(schema))))


def without_examples(schema: Any) -> Any:
    """Return a schema without examples, at any depth; a property of this name stays."""
    if isinstance(schema, list):
        return [without_examples(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {key: without_examples(each) for key, each in value.items()}
        if name == "properties" and isinstance(value, dict)
        else without_examples(value)
        for name, value in schema.items()
        if name != "examples"
    }


def is_tellable(info: Info, definitions: Definitions) -> bool:
    """Tell whether people can set the value of an info."""
    return info.kind == "ask" and info.key not in definitions.sole_producers


def any_of(names: Iterable[str]) -> dict[str, Any]:
    """Return the schema of one of these texts."""
    return {"type": "string", "enum": list(dict.fromkeys(names))}


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these fields."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def array_of(schemas: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the schema of a list of such objects."""
    return {"type": "array", "items": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}


def tool_spec(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    """Return a tool in the format of chat models."""
    function = {"name": name, "description": description, "parameters": object_of(properties)}
    return {"type": "function", "function": function}


def strict_tool(tool: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a tool in the subset of JSON Schema that providers enforce, or None if it does not fit into it."""
    parameters = enforceable_schema_or_none(tool["function"]["parameters"])
    return None if parameters is None else {**tool, "function": {**tool["function"], "parameters": parameters}}


def enforceable_schema_or_none(schema: object) -> dict[str, Any] | None:
    """Return a schema without the keywords that are not enforced, or None if it allows other fields or any value."""
    if not isinstance(schema, Mapping) or not (isinstance(schema.get("type"), str) or "anyOf" in schema):
        return None
    schema_subset = {name: value for name, value in schema.items() if name in STRICT_KEYWORDS}
    if schema.get("type") == "object":
        fields = {name: enforceable_schema_or_none(value) for name, value in schema.get("properties", {}).items()}
        # A field that is not required would have to allow null, which the definition does not.
        if not fields or None in fields.values() or set(schema.get("required", ())) != set(fields):
            return None
        schema_subset |= {"properties": fields, "additionalProperties": False}
    if schema.get("type") == "array":
        schema_subset["items"] = enforceable_schema_or_none(schema.get("items"))
    if "anyOf" in schema:
        schema_subset["anyOf"] = [enforceable_schema_or_none(each) for each in schema["anyOf"]]
    return None if schema_subset.get("items", {}) is None or None in schema_subset.get("anyOf", ()) else schema_subset
