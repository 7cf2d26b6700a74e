"""The components of fields: options, checked types, and keyword arguments for type checkers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Required

import pydantic
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
    with_config,
)
from typing_extensions import TypedDict

from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, check_number, check_text, check_whole_number, safe_repr

MAX_LABEL = 500
MAX_HELP = 2_000
MAX_TEXT = 20_000
MAX_VALUE = 500
MAX_FILE = 10 * 1024 * 1024
"""The maximum size in bytes of an attached file, for any field."""
MAX_ENCODED = 4 * -(-MAX_FILE // 3)
"""The maximum size of its base64."""
MEDIA_TYPES = (
    "image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf", "text/plain", "text/csv",
    "application/json", "application/zip",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
)  # fmt: skip
"""The media types that are detected from a file's bytes."""
GROUPS = ("image/*", "text/*")

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def _name(value: object) -> object:
    if isinstance(value, str) and not NAME.fullmatch(value):
        raise FieldValidationError(
            "", f"{safe_repr(value)} is not a field name: use 1-64 letters, digits and _, and no digit first"
        )
    return value


def _option_value(value: object) -> object:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise FieldValidationError("", f"must be text or a whole number, not {safe_repr(value)}: change it")
    check_whole_number(value)
    return value


def _short(value: str) -> str:
    if not value or len(check_text(value).encode()) > MAX_VALUE:
        raise FieldValidationError("", f"{safe_repr(value)} is empty or longer than {MAX_VALUE} bytes: change it")
    return value


def _media_type(value: str) -> str:
    if value not in MEDIA_TYPES and value not in GROUPS:
        raise FieldValidationError(
            "", f"{safe_repr(value)} is not a known media type: use one of {', '.join((*GROUPS, *MEDIA_TYPES))}"
        )
    return value


def _absent(value: object) -> bool:
    return value is None


FieldName = Annotated[str, BeforeValidator(_name), StringConstraints(strict=True)]
Label = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=MAX_LABEL), AfterValidator(check_text)]
Words = Annotated[str, StringConstraints(strict=True, max_length=MAX_HELP), AfterValidator(check_text)]
Value = Annotated[str | int, BeforeValidator(_option_value)]
Num = Annotated[int | float, BeforeValidator(check_number)]
Length = Annotated[int, pydantic.Field(strict=True, ge=0, le=MAX_TEXT)]
Flag = Annotated[bool, pydantic.Field(strict=True)]
FileSize = Annotated[int, pydantic.Field(strict=True, ge=1, le=MAX_FILE)]
MediaType = Annotated[str, StringConstraints(strict=True), AfterValidator(_media_type)]
PlainText = Annotated[str, StringConstraints(strict=True)]
LEFT_OUT: Any = pydantic.Field(default=None, exclude_if=_absent)


class FieldParts(TypedDict, total=False):
    """The arguments of all fields."""

    name: str
    label: str
    required: bool
    placeholder: str | None
    help: str | None


class TextFieldParts(FieldParts, total=False):
    """The arguments of text fields; lengths in characters."""

    min_length: int | None
    max_length: int | None
    default: str | None


class NumberFieldParts(FieldParts, total=False):
    """The arguments of number fields."""

    min: float | None
    max: float | None
    step: float | None
    default: float | None


class DateFieldParts(FieldParts, total=False):
    """The arguments of day and time fields; bounds and defaults are text."""

    min: str | None
    max: str | None
    default: str | None


class BooleanFieldParts(FieldParts, total=False):
    """The arguments of a boolean field."""

    default: bool | None


class FileFieldParts(FieldParts, total=False):
    """The arguments of a file field: media types such as `image/*`, and the maximum size in bytes."""

    media_types: Sequence[str]
    max_size: int


class Upload(StrictModel):
    """A file for a field of a request."""

    field: Annotated[str, pydantic.Field(max_length=64)]
    name: Annotated[str, pydantic.Field(max_length=1_000)]
    data: Annotated[str, pydantic.Field(max_length=MAX_ENCODED, json_schema_extra={"contentEncoding": "base64"})]


@with_config(ConfigDict(extra="forbid", json_schema_extra={"format": "attachment"}))
class AttachedFile(TypedDict):
    """A file that a person attached to a request: its entry in an answer, and its type in a pydantic model."""

    number: int
    """The number of the file within the request."""
    name: str
    size: int
    media_type: str
    """The media type detected from the bytes; `application/octet-stream` if it is unknown."""
    sha256: str


_ATTACHED = TypeAdapter(AttachedFile)


def attached_file(value: object) -> AttachedFile:
    """Return the reference to a file; raise FieldValidationError for any other value."""
    try:
        return _ATTACHED.validate_python(value, strict=True)
    except ValidationError:
        raise FieldValidationError(
            "", "is not an attached file: attach it to this request and send the returned reference", "file_missing"
        ) from None


class Option(StrictModel):
    """One choice: the value that is stored, and the label that a person sees (by default the value)."""

    value: Value
    """The value that an answer contains: text of 1 to 500 bytes, or a whole number."""
    label: Label = pydantic.Field(default_factory=lambda values: str(values["value"]))
    """The label that a person sees; the value by default."""

    @model_validator(mode="before")
    @classmethod
    def _from_value(cls, value: object) -> object:
        return value if isinstance(value, dict | Option) else {"value": value}


class OptionFieldParts(FieldParts, total=False):
    """The arguments of a field with options."""

    options: Required[Sequence[Option | Mapping[str, str | int] | str | int]]
    default: Sequence[str | int] | str | int | None
