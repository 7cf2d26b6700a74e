"""The twelve field types of a form: each validates its definition and its answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Never, Required, Self, TypeAlias, Unpack

import pydantic
from pydantic import AfterValidator, BeforeValidator, StringConstraints, model_validator
from typing_extensions import TypedDict

from ringi.base import validation
from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, field_path, safe_repr
from ringi.errors import InvalidError
from ringi.forms.field_parts import MAX_FILE, MEDIA_TYPES, AttachedFile, Label, Option, Value, attached_file

MAX_OPTIONS = 1_000
MAX_HELP = 2_000
MAX_TEXT = 20_000
GROUPS = ("image/*", "text/*")
"""The media types that stand for several."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


def _name(value: object) -> object:
    if isinstance(value, str) and not NAME.fullmatch(value):
        why = f"{safe_repr(value)} is not a field name: use 1-64 letters, digits and _, and no digit first"
        raise FieldValidationError("", why)
    return value


def _media_type(value: str) -> str:
    if value not in MEDIA_TYPES and value not in GROUPS:
        why = f"{safe_repr(value)} is not a known media type: use one of {', '.join((*GROUPS, *MEDIA_TYPES))}"
        raise FieldValidationError("", why)
    return value


FieldName = Annotated[str, BeforeValidator(_name), StringConstraints(strict=True)]
Words = Annotated[str, StringConstraints(strict=True, max_length=MAX_HELP), AfterValidator(validation.check_text)]
Num = Annotated[int | float, BeforeValidator(validation.check_number)]
Length = Annotated[int, pydantic.Field(strict=True, ge=0, le=MAX_TEXT)]
Flag = Annotated[bool, pydantic.Field(strict=True)]
FileSize = Annotated[int, pydantic.Field(strict=True, ge=1, le=MAX_FILE)]
MediaType = Annotated[str, StringConstraints(strict=True), AfterValidator(_media_type)]
PlainText = Annotated[str, StringConstraints(strict=True)]
LEFT_OUT: Any = pydantic.Field(default=None, exclude_if=lambda value: value is None)


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


class OptionFieldParts(FieldParts, total=False):
    """The arguments of a field with options."""

    options: Required[Sequence[Option | Mapping[str, str | int] | str | int]]
    default: Sequence[str | int] | str | int | None


class _Field(StrictModel):
    name: FieldName
    """The key of the answer: 1 to 64 letters, digits and `_`, and no digit first."""
    label: Label = pydantic.Field(default_factory=lambda values: values["name"])
    """The label that a person sees; the name by default."""
    required: Flag = False
    """True if a person must answer."""
    placeholder: Words | None = LEFT_OUT
    """An example, visible while the field is empty."""
    help: Words | None = LEFT_OUT
    """An explanation beside the field."""

    def __init__(self, name: str | None = None, /, *more: Never, **arguments: Any) -> None:
        if more:
            raise InvalidError.of(str(name), f"takes its other arguments by name: {type(self).__name__}('…', label=…)")
        super().__init__(**(arguments if name is None else {**arguments, "name": name}))

    @classmethod
    def _error_root(cls, arguments: dict[str, Any]) -> str:
        return field_path("", [arguments.get("name") or cls.__name__])

    def accept(self, value: object) -> Any:
        """Return the answer to store.

        Args:
            value: An answer, as JSON.

        Raises:
            FieldValidationError: The field rejects the answer; the error says what to send instead.
        """
        raise NotImplementedError

    @model_validator(mode="after")
    def _sound(self) -> Self:
        self._check_parts()
        if (default := getattr(self, "default", None)) is not None:
            try:
                self.accept(list(default) if isinstance(default, tuple) else default)
            except ValueError as error:
                raise FieldValidationError("default", str(error)) from None
        return self

    def _check_parts(self) -> None:
        """Raise FieldValidationError for contradictory arguments."""


class _Writing(_Field):
    min_length: Length | None = LEFT_OUT
    """The minimum number of characters."""
    max_length: Length | None = LEFT_OUT
    """The maximum number of characters; at most, and by default, 20,000."""
    default: PlainText | None = LEFT_OUT
    """The text that the field contains at first."""

    def accept(self, value: object) -> str:
        if not isinstance(value, str):
            why = f"must be text, not {safe_repr(value)}: send it in quotes"
            raise FieldValidationError("", why, "wrong_type", types=["string"])
        validation.check_text(value)
        least, most = self.min_length or 0, MAX_TEXT if self.max_length is None else self.max_length
        if (length := len(value)) < least:
            why = f"has {length} characters, at least {least} are needed: write more"
            raise FieldValidationError("", why, "too_short", length=length, min=least)
        if length > most:
            why = f"has {length} characters, at most {most} are allowed: shorten it"
            raise FieldValidationError("", why, "too_long", length=length, max=most)
        return value

    def _check_parts(self) -> None:
        if self.max_length == 0:
            raise FieldValidationError("max_length", "0 allows no answer: use at least 1")
        _check_order("min_length", self.min_length, "max_length", self.max_length)


class Text(_Writing):
    """One line of text."""

    type: Literal["text"] = "text"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[TextFieldParts]) -> None: ...


class TextArea(_Writing):
    """Several lines of text."""

    type: Literal["textarea"] = "textarea"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[TextFieldParts]) -> None: ...


class _Options(_Field):
    options: Annotated[tuple[Option, ...], pydantic.Field(min_length=1, max_length=MAX_OPTIONS)]
    """1 to 1,000 options: values, or `Option`s with a value and a label."""

    def _member(self, value: object) -> str | int:
        """Return the value if it is an option; the error lists the options."""
        for option in self.options:
            # Without the type comparison, True would match the option 1.
            if type(value) is type(option.value) and value == option.value:
                return option.value
        choices = ", ".join(safe_repr(option.value) for option in self.options[:10])
        more = f" or {len(self.options) - 10} others" if len(self.options) > 10 else ""
        why = f"{safe_repr(value)} is not an option: choose from {choices}{more}"
        raise FieldValidationError("", why, "not_an_option")

    def _check_parts(self) -> None:
        seen: set[str | int] = set()
        for option in self.options:
            if option.value in seen:
                raise FieldValidationError("options", f"{safe_repr(option.value)} is a duplicate: remove one")
            seen.add(option.value)


class _One(_Options):
    default: Value | None = LEFT_OUT
    """The value that is selected at first."""

    def accept(self, value: object) -> str | int:
        return self._member(value)


class Select(_One):
    """One of several options, in a list that opens."""

    type: Literal["select"] = "select"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[OptionFieldParts]) -> None: ...


class Radio(_One):
    """One of several options, all visible."""

    type: Literal["radio"] = "radio"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[OptionFieldParts]) -> None: ...


class _Many(_Options):
    default: tuple[Value, ...] | None = LEFT_OUT
    """The values that are selected at first."""

    def accept(self, value: object) -> list[str | int]:
        if not isinstance(value, list):
            why = f"must be a list, not {safe_repr(value)}: send [{safe_repr(self.options[0].value)}, …]"
            raise FieldValidationError("", why, "wrong_type", types=["array"])
        seen: set[str | int] = set()
        for item in value:
            if (member := self._member(item)) in seen:
                why = f"{safe_repr(item)} is a duplicate: send each option once"
                raise FieldValidationError("", why, "duplicate")
            seen.add(member)
        return value


class MultiSelect(_Many):
    """Any number of several options, in a list that opens."""

    type: Literal["multiselect"] = "multiselect"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[OptionFieldParts]) -> None: ...


class Checkbox(_Many):
    """Any number of several options, all visible."""

    type: Literal["checkbox"] = "checkbox"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[OptionFieldParts]) -> None: ...


class _Numeric(_Field):
    min: Num | None = LEFT_OUT
    """The least number that is allowed."""
    max: Num | None = LEFT_OUT
    """The greatest number that is allowed."""
    step: Num | None = LEFT_OUT
    """The distance between allowed numbers, counted from `min` or from 0; whole steps make whole numbers."""
    default: Num | None = LEFT_OUT
    """The number that the field contains at first."""

    def accept(self, value: object) -> int | float:
        number = validation.check_number(value)
        if self.min is not None and number < self.min:
            why = f"{safe_repr(number)} is below {self.min}: send at least {self.min}"
            raise FieldValidationError("", why, "below_minimum", min=self.min)
        if self.max is not None and number > self.max:
            why = f"{safe_repr(number)} is above {self.max}: send at most {self.max}"
            raise FieldValidationError("", why, "above_maximum", max=self.max)
        if self.step is not None and not validation.is_number_on_step(number, self.min or 0, self.step):
            start = f" from {self.min}" if self.min else ""
            why = f"{safe_repr(number)} is not on a step: use steps of {self.step}{start}"
            raise FieldValidationError("", why, "off_step", step=self.step)
        # 5.0 and 5 are one JSON number; without this, an int field of a model would reject its own form's answer.
        if self.step is not None and self.step % 1 == 0 and number == int(number) and abs(number) < 2**53:
            return int(number)
        return number

    def _check_parts(self) -> None:
        if self.step is not None and self.step <= 0:
            raise FieldValidationError("step", f"{self.step} is not a valid step: use a number above 0")
        _check_order("min", self.min, "max", self.max)


class Number(_Numeric):
    """A number; steps count from `min`, or from 0 without one."""

    type: Literal["number"] = "number"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[NumberFieldParts]) -> None: ...


class Slider(_Numeric):
    """A number between `min` and `max`, set by dragging."""

    type: Literal["slider"] = "slider"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[NumberFieldParts]) -> None: ...

    def _check_parts(self) -> None:
        for part in ("min", "max"):
            if getattr(self, part) is None:
                raise FieldValidationError(part, "is missing: a slider needs min and max")
        super()._check_parts()


class _Moment(_Field):
    min: PlainText | None = LEFT_OUT
    """The first day or time that is allowed."""
    max: PlainText | None = LEFT_OUT
    """The last day or time that is allowed."""
    default: PlainText | None = LEFT_OUT
    """The day or time that the field contains at first."""

    def accept(self, value: object) -> str:
        moment = self._read(value)
        if self.min is not None and moment < self._read(self.min):
            why = f"{safe_repr(value)} is too early: send {self.min} or later"
            raise FieldValidationError("", why, "too_early", min=self.min)
        if self.max is not None and moment > self._read(self.max):
            why = f"{safe_repr(value)} is too late: send {self.max} or earlier"
            raise FieldValidationError("", why, "too_late", max=self.max)
        return str(value)

    def _read(self, value: object) -> Any:
        """Return the comparable form of an answer, or raise `FieldValidationError`."""
        raise NotImplementedError

    def _check_parts(self) -> None:
        bounds = {}
        for part in ("min", "max"):
            if (bound := getattr(self, part)) is not None:
                try:
                    bounds[part] = self._read(bound)
                except ValueError as error:
                    raise FieldValidationError(part, str(error)) from None
        if len(bounds) == 2 and bounds["min"] > bounds["max"]:
            why = f"{safe_repr(self.min)} is later than max {safe_repr(self.max)}: swap them"
            raise FieldValidationError("min", why)


class Date(_Moment):
    """A day, as YYYY-MM-DD."""

    type: Literal["date"] = "date"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[DateFieldParts]) -> None: ...

    def _read(self, value: object) -> str:
        return validation.check_date_text(value)


class DateTime(_Moment):
    """A time, as RFC 3339 with its offset from UTC; bounds with other offsets are compared correctly."""

    type: Literal["datetime"] = "datetime"

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[DateFieldParts]) -> None: ...

    def _read(self, value: object) -> datetime:
        return validation.check_time_text(value)


class Boolean(_Field):
    """Yes or no; for a required field, no is an answer too."""

    type: Literal["boolean"] = "boolean"
    default: Flag | None = LEFT_OUT
    """The choice that is selected at first."""

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[BooleanFieldParts]) -> None: ...

    def accept(self, value: object) -> bool:
        if not isinstance(value, bool):
            why = f"must be true or false, not {safe_repr(value)}: send one of the two"
            raise FieldValidationError("", why, "wrong_type", types=["boolean"])
        return value


class Attachment(_Field):
    """A file of one of the media types, or of any if there are none; `Inbox.attachment` returns its bytes."""

    type: Literal["attachment"] = "attachment"
    media_types: tuple[MediaType, ...] = ()
    """The media types that are allowed, such as `application/pdf` or `image/*`; all if there are none."""
    max_size: FileSize = 5 * 1024 * 1024
    """The maximum size in bytes; at most 10 MiB."""
    default: None = LEFT_OUT
    """A file has no default."""

    if TYPE_CHECKING:

        def __init__(self, name: str = "", /, **arguments: Unpack[FileFieldParts]) -> None: ...

    def accept(self, value: object) -> AttachedFile:
        # The inbox checks that the file exists.
        file = attached_file(value)
        self.check_file(file["size"], file["media_type"])
        return file

    def check_file(self, size: int, media_type: str) -> None:
        """Check a file before it is stored.

        Args:
            size: The size in bytes.
            media_type: The media type, detected from the bytes.

        Raises:
            FieldValidationError: The file is empty, too large, or of a media type that the field rejects.
        """
        if not 0 < size <= self.max_size:
            why = f"has {size} bytes: send a file of 1 to {self.max_size} bytes"
            raise FieldValidationError("", why, "file_size", max_bytes=self.max_size)
        if self.media_types and not {media_type, f"{media_type.partition('/')[0]}/*"} & set(self.media_types):
            why = f"is {media_type} by its content: send {', '.join(self.media_types)}"
            raise FieldValidationError("", why, "file_type")


Field: TypeAlias = Annotated[
    Text
    | TextArea
    | Select
    | MultiSelect
    | Radio
    | Checkbox
    | Number
    | Slider
    | Date
    | DateTime
    | Boolean
    | Attachment,
    pydantic.Field(discriminator="type"),
]


def _check_order(low_name: str, low: Any, high_name: str, high: Any) -> None:
    if low is not None and high is not None and low > high:
        raise FieldValidationError(low_name, f"{safe_repr(low)} is above {high_name} {safe_repr(high)}: swap them")
