"""The base of all values: strict about what is given, forbearing about what was stored."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ringi.base.validation import invalid


class StrictModel(BaseModel):
    """An immutable value. Unknown fields are errors where it is made, and are kept where it is read from a store.

    A newer version that works beside this one may have written them: what this one dropped would be lost with its
    next change, and the audit trail would not verify any more. What comes from outside is validated with
    `extra="forbid"`; making one by its class raises `InvalidError`. A field that is new in a record is None where
    nobody has set it; one that is new in a value inside of it is then left out (`exclude_if`): older events, and
    older versions, say nothing of it.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    def __init__(self, /, **given: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(given, self_instance=self, extra="forbid")
        except ValidationError as error:
            raise invalid(error, self._error_root(given)) from None

    # Without the mark pydantic calls __init__ for each value inside a stored one too, and that refuses.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def _error_root(cls, given: dict[str, Any]) -> str:
        """Return what the path of an error begins with."""
        return cls.__name__

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        handler.resolve_ref_schema(schema)["additionalProperties"] = False
        return schema


def without_nulls(given: object, *models: type[BaseModel]) -> Any:
    """Return an object without the nulls under names of these models' fields; anything else as it is."""
    if not isinstance(given, dict) or not any(value is None for value in given.values()):
        return given
    names = {field.alias or name for model in models for name, field in model.model_fields.items()}
    return {name: value for name, value in given.items() if value is not None or name not in names}
