"""The base of all values, strict about new input and tolerant of stored data, and times in UTC."""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from ringi.base.validation import invalid_error

is_empty = operator.not_
"""Returns whether a field is empty; then it is not stored. A function in Python would double the time of a dump."""


def reject_number_time(value: object) -> object:
    """Reject a number: it is ambiguous between seconds and milliseconds."""
    if not isinstance(value, str | datetime):
        raise PydanticCustomError("time", "send a time such as 2026-11-22T10:00:00Z")
    return value


def utc_time(at: datetime) -> datetime:
    """Return the time in UTC; raise for a time without a zone or outside the calendar's range."""
    if at.tzinfo is None:
        raise PydanticCustomError("time", "give a time zone, such as Z")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("time", "this time is outside the calendar's range: give a nearer one") from None


Time = Annotated[datetime, BeforeValidator(reject_number_time), AfterValidator(utc_time)]


class StrictModel(BaseModel):
    """An immutable value. Unknown fields raise an error in new input and are preserved in stored data.

    A newer version that runs beside this one may have written the unknown fields. If this version dropped them, its
    next change would lose them, and the audit trail would no longer verify. External input is validated with
    `extra="forbid"`; the constructor raises `InvalidError`. A new field of a record is None until it is set. A new
    field of a nested value is omitted while it is unset (`exclude_if`), because older events and older versions do not
    have it.

    Args:
        data: The fields, by name or by alias.

    Raises:
        InvalidError: A field is missing, unknown or invalid; there is one error for each, at most 50.
    """

    model_config = ConfigDict(frozen=True, extra="allow", serialize_by_alias=True, validate_by_name=True)

    def __init_subclass__(cls, **options: Any) -> None:
        # Without this mark pydantic also calls __init__ for nested stored values, and __init__ rejects unknown fields.
        cls.__init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]
        super().__init_subclass__(**options)

    def __init__(self, /, **data: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self, extra="forbid")
        except ValidationError as error:
            raise invalid_error(error, self._error_root(data), field_names(type(self))) from None

    @classmethod
    def _error_root(cls, data: dict[str, Any]) -> str:
        """Return the prefix of error paths."""
        return cls.__name__

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler(core)
        handler.resolve_ref_schema(schema)["additionalProperties"] = False
        return schema


def field_names(model: type[BaseModel]) -> list[str]:
    """Return the names of a model's fields in JSON."""
    return [field.alias or name for name, field in model.model_fields.items()]


def without_null_fields(data: object, *models: type[BaseModel]) -> Any:
    """Return an object without the null values of these models' fields; return any other value unchanged."""
    if not isinstance(data, dict) or not any(value is None for value in data.values()):
        return data
    names = {name for model in models for name in field_names(model)}
    return {name: value for name, value in data.items() if value is not None or name not in names}
