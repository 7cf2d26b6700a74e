"""Form: what a person is asked to fill in, and the check of what came back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self, TypeAlias, TypeVar, get_args

import pydantic
from pydantic import BaseModel, model_validator

from ringi.base.model import StrictModel, without_nulls
from ringi.base.validation import FieldValidationError, invalid, path_of, shown
from ringi.errors import FieldError, InvalidError
from ringi.forms import conversions
from ringi.forms.field_parts import Option
from ringi.forms.fields import (
    Attachment,
    Boolean,
    Checkbox,
    Date,
    DateTime,
    Field,
    MultiSelect,
    Number,
    Radio,
    Select,
    Slider,
    Text,
    TextArea,
)
from ringi.forms.json_schema import check_instance, check_json, check_schema

__all__ = [
    "Attachment",
    "Boolean",
    "Checkbox",
    "Date",
    "DateTime",
    "Field",
    "Form",
    "MultiSelect",
    "Number",
    "Option",
    "Radio",
    "Select",
    "Slider",
    "Text",
    "TextArea",
    "check_instance",
    "check_schema",
    "into",
]

FIELDS: tuple[type[BaseModel], ...] = get_args(get_args(Field)[0])
"""The classes of fields."""
MAX_FIELDS = 100
MAX_UNKNOWN = 20

Json: TypeAlias = Any
M = TypeVar("M", bound=BaseModel)


class Form(StrictModel):
    """An ordered list of fields."""

    fields: Annotated[tuple[Field, ...], pydantic.Field(min_length=1, max_length=MAX_FIELDS)]

    def __init__(self, fields: Sequence[Field] | None = None, /, **given: Any) -> None:
        super().__init__(**(given if fields is None else {**given, "fields": fields}))

    # Without the mark pydantic calls __init__ for a form inside a request too, and its errors lose their path.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    def __repr_args__(self) -> Iterator[tuple[str, str]]:
        return ((field.name, field.type) for field in self.fields)

    @classmethod
    def _error_root(cls, given: dict[str, Any]) -> str:
        return "form"

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: set[str] = set()
        for position, field in enumerate(self.fields):
            if field.name in seen:
                raise FieldValidationError(
                    f"fields[{position}].name", f"{shown(field.name)} is there twice: rename one"
                )
            seen.add(field.name)
        return self

    @classmethod
    def parse(cls, data: object) -> Form:
        """Return the form that JSON describes, or raise InvalidError with a path such as `form.fields[1].options`.

        An explicit null is no value, for a part that other types of fields have too.
        """
        try:
            return cls.model_validate(_without_nulls(data), extra="forbid")
        except pydantic.ValidationError as error:
            raise invalid(error, "form") from None

    @classmethod
    def of(cls, model: type[BaseModel]) -> Form:
        """Return the form that asks for a pydantic model; `into` turns its answer into the model."""
        return cls.parse({"fields": conversions.fields_of_model(model)})

    @classmethod
    def from_json_schema(cls, schema: object) -> Form:
        """Return the form for a flat JSON Schema object; raise InvalidError that names each part that does not fit."""
        return cls.parse({"fields": conversions.fields_of(schema, field="schema")})

    def json_schema(self) -> dict[str, Json]:
        """Return the JSON Schema of an answer; `from_json_schema` turns it back into this form."""
        return conversions.schema_of(self.model_dump(mode="json")["fields"])

    def check(self, data: object) -> dict[str, Json]:
        """Return the answers to store; raise InvalidError with one error for each wrong field.

        Nothing is coerced: `"5"` is no number. None is no answer. Fields without an answer are left out, defaults
        included: a default is shown to the person, who sends it or does not.
        """
        if not isinstance(data, dict | None):
            raise InvalidError.of("data", f"must be an object of answers, not {shown(data)}")
        given = {name: value for name, value in (data or {}).items() if value is not None}
        errors: list[FieldError] = []
        answers: dict[str, Json] = {}
        for field in self.fields:
            try:
                answers |= _answer(field, given)
            except FieldValidationError as error:
                errors.append(FieldError(field.name, str(error)))
        unknown = [name for name in data or {} if name not in {field.name for field in self.fields}]
        errors += [FieldError(path_of("", [n]), "is no field of this form: remove it") for n in unknown[:MAX_UNKNOWN]]
        if errors:
            raise InvalidError(errors)
        return answers


def into(model: type[M], data: object) -> M:
    """Return the answers as the pydantic model whose form was asked; raise InvalidError with an error for each field.

    Nothing is coerced, but a day becomes a `date` and a value its Enum member. None is no answer.
    """
    check_json(data, field="data")
    if not isinstance(data, dict):
        raise InvalidError.of("data", f"must be an object of answers, not {shown(data)}")
    given = {name: value for name, value in data.items() if value is not None}
    nothing = {_key(name, field): None for name, field in model.model_fields.items() if field.is_required()}
    try:
        # Strict pydantic takes a day and an Enum's value from JSON text, but not from Python objects.
        return model.model_validate_json(json.dumps(nothing | given), strict=True)
    except pydantic.ValidationError as error:
        raise invalid(error, "") from None


def _without_nulls(data: object) -> object:
    if not isinstance(data, dict) or not isinstance(fields := data.get("fields"), list | tuple):
        return data
    return {**data, "fields": [_field_without_nulls(each) for each in fields]}


def _field_without_nulls(field: object) -> object:
    found = without_nulls(field, *FIELDS)
    if isinstance(found, dict) and isinstance(options := found.get("options"), list):
        return {**found, "options": [without_nulls(each, Option) for each in options]}
    return found


def _key(name: str, field: pydantic.fields.FieldInfo) -> str:
    return field.validation_alias if isinstance(field.validation_alias, str) else name


def _answer(field: Field, given: dict[str, object]) -> dict[str, Json]:
    value = given.get(field.name)
    if field.required and (value is None or field.is_empty(value)):
        raise FieldValidationError("", "is required: answer it")
    return {} if value is None else {field.name: field.accept(value)}
