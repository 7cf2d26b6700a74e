"""The arguments of LangChain tools, and the tools of a graph."""

from __future__ import annotations

import copy
import inspect
import weakref
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from langchain_core.tools import BaseTool, InjectedToolArg
from langchain_core.tools.base import get_all_basemodel_annotations
from langgraph.prebuilt import InjectedState, InjectedStore, ToolNode, ToolRuntime
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from ringi.base.canonical_json import JsonObject
from ringi.base.validation import MAX_ERRORS, field_path, pydantic_error_rule
from ringi.errors import FieldError, InvalidError
from ringi.forms.arguments import UNKNOWN, check_call_arguments, refuse_unknown_arguments, schema_property_names
from ringi.runtimes.langgraph.graphs import graph_with_subgraphs

T = TypeVar("T")
Kinds = tuple[type, ...]
LANGGRAPH_KINDS: Kinds = (InjectedState, InjectedStore, ToolRuntime)
ADDITIONAL = "additionalProperties"
REFUSED_CALL = "the call does not match the schema of its tool ({error}). Nobody was asked; correct it and call again"


def once_per_tool_call(read: Callable[[BaseTool], T]) -> Callable[[BaseTool], T]:
    """Return a function that reads each tool once, until its schema is replaced: LangChain makes a model each time."""
    known: dict[int, tuple[weakref.ref[BaseTool], object, T]] = {}

    @wraps(read)
    def read_once(tool: BaseTool) -> T:
        key = id(tool)
        if (entry := known.get(key)) and entry[0]() is tool and entry[1] is tool.args_schema:
            return entry[2]
        found = read(tool)
        known[key] = weakref.ref(tool, lambda _: known.pop(key, None)), tool.args_schema, found
        return found

    return read_once


@once_per_tool_call
def injected_arguments(tool: BaseTool) -> frozenset[str]:
    """Return the arguments that the agent's code injects: the model neither sees nor may set them."""
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    hints = get_type_hints(function, include_extras=True) if function else {}
    hints |= get_all_basemodel_annotations(tool.get_input_schema())
    # LangGraph injects its runtime by the name alone.
    return frozenset(name for name, hint in hints.items() if name == "runtime" or is_injected(hint))


def is_injected(hint: Any, kinds: Kinds = (InjectedToolArg, ToolRuntime)) -> bool:
    """Return whether an annotation marks an argument that the agent's code injects."""
    kind = get_origin(hint) or hint
    if isinstance(hint, kinds) or (isinstance(kind, type) and issubclass(kind, kinds)):
        return True
    # LangChain reads `Annotated` alone, and LangGraph also the parts of other types.
    inner = kinds if kind is Annotated else LANGGRAPH_KINDS
    return any(is_injected(each, inner) for each in get_args(hint))


@once_per_tool_call
def tool_call_schema(tool: BaseTool) -> dict[str, Any] | None:
    """Return the JSON Schema of the arguments that the model may set."""
    schema = tool.tool_call_schema
    if isinstance(schema, dict):
        return schema
    if not issubclass(schema, BaseModel):
        return schema.schema()
    found = schema.model_json_schema()
    more = extra_arguments_schema(tool, found)
    return found if more is None else {**found, ADDITIONAL: more}


def extra_arguments_schema(tool: BaseTool, schema: Mapping[str, Any]) -> Any:
    """Return the schema of a tool's additional arguments; None if it accepts none.

    LangChain's `tool_call_schema` omits whether a model allows extra fields, and names `**kwargs` as an argument.
    """
    while isinstance(inner := getattr(tool, "inner", None), BaseTool):
        tool = inner
    model = tool.args_schema
    if isinstance(model, type) and issubclass(model, BaseModel) and model.model_config.get("extra") == "allow":
        return True
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None)
    parameters = inspect.signature(function).parameters.values() if function else ()
    variable = next((each.name for each in parameters if each.kind is each.VAR_KEYWORD), None)
    return schema.get("properties", {}).get(variable, {}).get(ADDITIONAL) if variable else None


def check_tool_arguments(tool: BaseTool | None, args: JsonObject) -> None:
    """Raise `InvalidError` for arguments that a tool's own schema refuses, and for those that it does not name."""
    if tool is None or (schema := tool_call_schema(tool)) is None:
        return
    model = tool.args_schema
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return check_call_arguments(schema, args)
    if (names := schema_property_names(schema)) is not None:
        refuse_unknown_arguments(args, names)
    check_model_arguments(model, args, injected_arguments(tool))
    try:
        check_call_arguments(schema, args)
    except InvalidError:
        # Tools convert some text to numbers. A value with dropped parts would run as a different call.
        refuse_dropped_arguments(tool, args)
        unnamed = {name: value for name, value in args.items() if name not in schema.get("properties", {})}
        check_call_arguments({"type": "object", ADDITIONAL: schema.get(ADDITIONAL, False)}, unnamed)


def accept_all_arguments(tool: BaseTool, args: JsonObject) -> BaseTool:
    """Return the tool as one that receives all of these arguments: LangChain drops those meant for `**kwargs`."""
    model = tool.args_schema
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or args.keys() <= model.model_fields.keys():
        return tool
    if model.model_config.get("extra") == "allow" or extra_arguments_schema(tool, tool_call_schema(tool) or {}) is None:
        return tool
    whole = type(model.__name__, (model,), {"model_config": ConfigDict(extra="allow"), "__doc__": model.__doc__})
    return tool.model_copy(update={"args_schema": whole})


def check_model_arguments(model: type[BaseModel], args: JsonObject, injected_names: frozenset[str]) -> None:
    """Raise `InvalidError` for arguments that the tool's model refuses."""
    try:
        model.model_validate(copy.deepcopy(args))
    except ValidationError as error:
        # The arguments that the agent's code injects are not set yet.
        wrong = [e for e in error.errors(include_url=False) if not e["loc"] or e["loc"][0] not in injected_names]
        found = [
            FieldError(field_path("args", e["loc"]), e["msg"], *pydantic_error_rule(e)) for e in wrong[:MAX_ERRORS]
        ]
        if found:
            raise InvalidError(found) from error


def refuse_dropped_arguments(tool: BaseTool, args: JsonObject) -> None:
    """Raise `InvalidError` for each part of the arguments that the tool would drop."""
    model: Any = tool.tool_call_schema
    try:
        converted = model.model_validate(copy.deepcopy(args)).model_dump(mode="json", by_alias=True, fallback=str)
    except (ValidationError, PydanticSerializationError, ValueError, TypeError) as error:
        raise InvalidError.of("args", f"does not fit the schema: {type(error).__name__}") from error
    # Fields that a schema allows but does not name are missing in the model made from it.
    named_arguments = {name: value for name, value in args.items() if name in converted}
    errors = [FieldError(path, UNKNOWN, "unexpected") for path in dropped_paths(named_arguments, converted, "args")]
    if errors:
        raise InvalidError(errors[:MAX_ERRORS])


def dropped_paths(original: Any, converted: Any, path: str) -> Iterator[str]:
    """Yield the paths of a value that are missing in the converted value."""
    if isinstance(original, dict) and isinstance(converted, dict):
        for name, value in original.items():
            if name in converted:
                yield from dropped_paths(value, converted[name], field_path(path, [name]))
            else:
                yield field_path(path, [name])
    elif isinstance(original, list) and isinstance(converted, list) and len(original) == len(converted):
        for place, value in enumerate(original):
            yield from dropped_paths(value, converted[place], field_path(path, [place]))


def graph_tools(graph: Any) -> dict[str, BaseTool]:
    """Return the tools that a graph and its subgraphs run, by name; a shared name is left out."""
    nodes = [node.bound for each in graph_with_subgraphs(graph) for node in getattr(each, "nodes", {}).values()]
    found = [tool for node in nodes if isinstance(node, ToolNode) for tool in node.tools_by_name.values()]
    by_name = {tool.name: tool for tool in found}
    return {tool.name: tool for tool in found if all(by_name[t.name] is t for t in found if t.name == tool.name)}


def invalid_tool_call_reason(tool: BaseTool, args: JsonObject) -> str | None:
    """Return the validation error of a tool call; None if it is valid."""
    try:
        check_tool_arguments(tool, args)
    except InvalidError as error:
        return REFUSED_CALL.format(error=error)
    return None
