"""Options, and files that people attach; the limits of labels, values and files."""

from __future__ import annotations

from typing import Annotated

import pydantic
from pydantic import AfterValidator, BeforeValidator, StringConstraints, model_validator
from typing_extensions import TypedDict

from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, check_text, check_whole_number, safe_repr

MAX_LABEL = 500
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


def _option_value(value: object) -> object:
    if isinstance(value, str):
        if not value or len(check_text(value).encode()) > MAX_VALUE:
            raise FieldValidationError("", f"{safe_repr(value)} is empty or longer than {MAX_VALUE} bytes: change it")
    elif isinstance(value, bool) or not isinstance(value, int):
        raise FieldValidationError("", f"must be text or a whole number, not {safe_repr(value)}: change it")
    else:
        check_whole_number(value)
    return value


Label = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=MAX_LABEL), AfterValidator(check_text)]
Value = Annotated[str | int, BeforeValidator(_option_value)]


class Upload(StrictModel):
    """A file for a field of a request."""

    field: Annotated[str, pydantic.Field(max_length=64)]
    name: Annotated[str, pydantic.Field(max_length=1_000)]
    data: Annotated[str, pydantic.Field(max_length=MAX_ENCODED, json_schema_extra={"contentEncoding": "base64"})]


@pydantic.with_config(pydantic.ConfigDict(extra="forbid", json_schema_extra={"format": "attachment"}))
class AttachedFile(TypedDict):
    """A file that a person attached to a request: its entry in an answer, and its type in a pydantic model."""

    number: int
    """The number of the file within the request."""
    name: str
    size: int
    media_type: str
    """The media type detected from the bytes; `application/octet-stream` if it is unknown."""
    sha256: str


_ATTACHED = pydantic.TypeAdapter(AttachedFile)


def attached_file(value: object) -> AttachedFile:
    """Return the reference to a file; raise FieldValidationError for any other value."""
    try:
        return _ATTACHED.validate_python(value, strict=True)
    except pydantic.ValidationError:
        why = "is not an attached file: attach it to this request and send the returned reference"
        raise FieldValidationError("", why, "file_missing") from None


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
