"""Form: the questions that a person fills in, and the validation of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self, TypeVar, get_args

import pydantic
from pydantic import BaseModel, model_validator

from ringi.base.canonical_json import JsonObject
from ringi.base.model import StrictModel, without_null_fields
from ringi.base.validation import FieldValidationError, field_path, invalid_error, safe_repr
from ringi.errors import FieldError, InvalidError
from ringi.forms import conversions
from ringi.forms.field_parts import Option
from ringi.forms.fields import Field
from ringi.forms.json_schema import check_json

FIELDS: tuple[type[BaseModel], ...] = get_args(get_args(Field)[0])
"""The classes of fields."""
MAX_FIELDS = 100
ASKED_FIELDS, MODEL_FIELDS = 12, 5
"""The maximum number of fields by default: of a form of code, and of one that a model writes."""
MAX_UNKNOWN = 20

M = TypeVar("M", bound=BaseModel)


class Form(StrictModel):
    """An ordered list of fields."""

    fields: Annotated[tuple[Field, ...], pydantic.Field(min_length=1, max_length=MAX_FIELDS)]

    def __init__(self, fields: Sequence[Field] | None = None, /, *more: Field, **arguments: Any) -> None:
        """Create a form.

        Args:
            fields: The fields in the order of the page, with distinct names.
            more: Refused: the fields are one list.
            arguments: `fields` as a keyword.

        Raises:
            InvalidError: A field is invalid, or two fields have one name.
        """
        if more:
            raise InvalidError.of("fields", "must be one list: Form([Text(…), Select(…)])")
        super().__init__(**(arguments if fields is None else {**arguments, "fields": fields}))

    def __repr_args__(self) -> Iterator[tuple[str, str]]:
        return ((field.name, field.type) for field in self.fields)

    @classmethod
    def _error_root(cls, arguments: dict[str, Any]) -> str:
        return "form"

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: set[str] = set()
        for position, field in enumerate(self.fields):
            if field.name in seen:
                why = f"{safe_repr(field.name)} is the name of two fields: rename one"
                raise FieldValidationError(f"fields[{position}].name", why)
            seen.add(field.name)
        return self

    @classmethod
    def parse(cls, data: object) -> Form:
        """Return the form that JSON describes.

        An explicit null counts as absent, even for an argument that only other field types have.

        Args:
            data: The form as plain JSON data: `{"fields": [...]}`.

        Raises:
            InvalidError: The form is invalid; paths look like `form.fields[1].options`.
        """
        try:
            return cls.model_validate(_without_nulls(data), extra="forbid")
        except pydantic.ValidationError as error:
            raise invalid_error(error, "form") from None

    @classmethod
    def of(cls, model: type[BaseModel]) -> Form:
        """Return the form for a pydantic model; `into` converts its answer to the model.

        Args:
            model: The class of the model; each of its fields must have a form field.

        Raises:
            InvalidError: A field of the model has no form field; there is one error for each.
        """
        return cls.parse({"fields": conversions.fields_from_model(model)})

    @classmethod
    def from_json_schema(cls, schema: object) -> Form:
        """Return the form for a flat JSON Schema object.

        Args:
            schema: A flat schema of type object.

        Raises:
            InvalidError: A part of the schema has no form field; there is one error for each.
        """
        return cls.parse({"fields": conversions.fields_from_json_schema(schema, field="schema")})

    def json_schema(self) -> JsonObject:
        """Return the JSON Schema of an answer; `from_json_schema` converts it back to this form."""
        return conversions.form_json_schema(self.model_dump(mode="json")["fields"])

    def check(self, data: object) -> JsonObject:
        """Return the answers to store.

        Values are not coerced: `"5"` is not a number. None means no answer. Fields without an answer are omitted, and a
        default is not filled in: the person sees it and decides whether to send it.

        Args:
            data: The answers by field name; None for no answers.

        Returns:
            The valid answers by field name, as plain JSON.

        Raises:
            InvalidError: An answer is wrong, missing or unknown; there is one error for each field.
        """
        if not isinstance(data, dict | None):
            raise _not_answers(data)
        present = {name: value for name, value in (data or {}).items() if value is not None}
        errors: list[FieldError] = []
        answers: JsonObject = {}
        for field in self.fields:
            try:
                answers |= _answer(field, present)
            except FieldValidationError as error:
                errors.append(error.at(field.name))
        unknown = [name for name in data or {} if name not in {field.name for field in self.fields}]
        errors += [
            FieldError(field_path("", [n]), "is not a field of this form: remove it", "unexpected")
            for n in unknown[:MAX_UNKNOWN]
        ]
        if errors:
            raise InvalidError(errors)
        return answers


def answers_as_model(model: type[M], data: object) -> M:
    """Return the answers as an instance of the pydantic model from which the form was made.

    Values are not coerced, but a day becomes a `date` and an option its Enum member. None means no answer.

    Args:
        model: The class of the model.
        data: The answers by field name.

    Raises:
        InvalidError: An answer does not fit the model; there is one error for each field.
    """
    check_json(data, field="data")
    if not isinstance(data, dict):
        raise _not_answers(data)
    present = {name: value for name, value in data.items() if value is not None}
    nothing = {_key(name, field): None for name, field in model.model_fields.items() if field.is_required()}
    try:
        # Strict pydantic accepts a day and an Enum's value from JSON text, but not from Python objects.
        return model.model_validate_json(json.dumps(nothing | present), strict=True)
    except pydantic.ValidationError as error:
        raise invalid_error(error, "") from None


def _not_answers(data: object) -> InvalidError:
    why = f"must be an object of answers, not {safe_repr(data)}"
    return InvalidError.of("data", why, "wrong_type", types=["object"])


def _without_nulls(data: object) -> object:
    if not isinstance(data, dict) or not isinstance(fields := data.get("fields"), list | tuple):
        return data
    return {**data, "fields": [_field_without_nulls(each) for each in fields]}


def _field_without_nulls(field: object) -> object:
    found = without_null_fields(field, *FIELDS)
    if isinstance(found, dict) and isinstance(options := found.get("options"), list):
        return {**found, "options": [without_null_fields(each, Option) for each in options]}
    return found


def _key(name: str, field: pydantic.fields.FieldInfo) -> str:
    return field.validation_alias if isinstance(field.validation_alias, str) else name


def _answer(field: Field, present: dict[str, object]) -> JsonObject:
    value = present.get(field.name)
    is_empty = value in (None, [], ()) or (isinstance(value, str) and not value.strip())
    if field.required and is_empty:
        raise FieldValidationError("", "is required: answer it", "required")
    return {} if value is None else {field.name: field.accept(value)}
