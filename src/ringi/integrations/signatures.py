"""The arguments of a gated function: shown as JSON, edited as JSON, and bound by the function's signature."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import cached_property
from inspect import Parameter
from typing import Any, get_type_hints

from pydantic import ConfigDict, Field, PydanticUserError, create_model
from pydantic.errors import PydanticSchemaGenerationError

from ringi.base.canonical_json import JsonObject, canonical
from ringi.errors import InvalidError
from ringi.forms.arguments import CallCheck

NOT_JSON = "is not plain JSON, so a person could neither read nor edit it: pass text, numbers, lists and dicts"
MOST_PARTS = 100_000
"""The number of values in one argument; a list that contains itself has no end."""


class CallSignature:
    """The signature of a function, and the JSON Schema of its arguments.

    Args:
        function: The function.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._signature = inspect.signature(function)
        self.schema = function_arguments_schema(function, self._signature)

    @cached_property
    def _check_schema(self) -> CallCheck | None:
        return None if self.schema is None else CallCheck(self.schema)

    @property
    def names(self) -> frozenset[str]:
        """The names of the arguments."""
        return frozenset(self._signature.parameters)

    def bind(self, args: tuple[Any, ...], kwargs: JsonObject) -> JsonObject:
        """Return the arguments of a call by name, with the defaults that are JSON, as a copy.

        Args:
            args: The positional arguments.
            kwargs: The arguments by keyword.

        Raises:
            TypeError: The arguments do not fit the signature, as in a call of the function.
            InvalidError: An argument is not plain JSON, or does not fit its annotation.
        """
        bound = self._signature.bind(*args, **kwargs)
        passed = frozenset(bound.arguments)
        bound.apply_defaults()
        found = dict(bound.arguments)
        for name, value in found.items():
            if self._signature.parameters[name].kind is Parameter.VAR_POSITIONAL:
                found[name] = list(value)
        for name in [name for name, value in found.items() if not is_plain_json(value)]:
            if name in passed:
                raise InvalidError.of(f"args.{name}", NOT_JSON)
            del found[name]  # The function has a default that nobody passed.
        self.check(found)
        return copy.deepcopy(found)

    def check(self, args: JsonObject) -> None:
        """Raise `InvalidError` unless the function can be called with these arguments.

        Args:
            args: The arguments by name.
        """
        if self._check_schema is not None:
            self._check_schema(args)
        parameters = self._signature.parameters
        if unknown := [name for name in args if name not in parameters]:
            raise InvalidError.of(f"args.{unknown[0]}", "is no argument of the function: remove it")
        variable: dict[Any, type] = {Parameter.VAR_POSITIONAL: list, Parameter.VAR_KEYWORD: dict}
        for name, parameter in parameters.items():
            if name not in args and parameter.default is Parameter.empty and parameter.kind not in variable:
                raise InvalidError.of(f"args.{name}", "is missing: the function needs it")
            if name in args and not isinstance(args[name], variable.get(parameter.kind, object)):
                raise InvalidError.of(f"args.{name}", "has another type than the function takes: correct it")

    def call(self, function: Callable[..., Any], args: JsonObject) -> Any:
        """Call the function with arguments that were checked.

        Args:
            function: The function.
            args: The arguments by name.
        """
        bound = self._signature.bind_partial()
        bound.arguments = {name: args[name] for name in self._signature.parameters if name in args}
        bound.apply_defaults()
        return function(*bound.args, **bound.kwargs)


def is_plain_json(value: object) -> bool:
    """Return whether a value is plain JSON: not a subclass, which would reach the function as another type."""
    parts = [value]
    for part in parts:
        if type(part) is dict:
            if any(type(name) is not str for name in part):
                return False
            parts.extend(part.values())
        elif type(part) is list:
            parts.extend(part)
        elif type(part) not in (str, int, float, bool, type(None)):
            return False
        if len(parts) > MOST_PARTS:
            return False
    try:
        canonical(value)
    except InvalidError:
        return False
    return True


def function_arguments_schema(function: Callable[..., Any], signature: inspect.Signature) -> JsonObject | None:
    """Return the JSON Schema of a function's arguments; None if an annotation has none.

    Args:
        function: The function.
        signature: Its signature.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
        fields: Any = {
            f"a{number}": _field(parameter, hints.get(name, Any))
            for number, (name, parameter) in enumerate(signature.parameters.items())
        }
        model = create_model("Arguments", __config__=ConfigDict(extra="forbid"), **fields)
        schema: JsonObject = model.model_json_schema()
    except (PydanticUserError, PydanticSchemaGenerationError, NameError, TypeError, AttributeError, ValueError):
        return None
    return schema


def _field(parameter: Parameter, hint: Any) -> Any:
    # By alias: an argument may have the name of a method of pydantic's models.
    variable: dict[Any, Any] = {Parameter.VAR_POSITIONAL: list[hint], Parameter.VAR_KEYWORD: dict[str, hint]}
    is_required = parameter.default is Parameter.empty and parameter.kind not in variable
    field = Field(alias=parameter.name) if is_required else Field(alias=parameter.name, default_factory=lambda: None)
    return (variable.get(parameter.kind, hint), field)
