"""Display blocks of a request: tables, images, code, diffs and links, all covered by the digest."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, check_number, check_text, safe_repr
from ringi.domain.media import MAX_PIXELS, MAX_SIDE, read_image_header

MAX_BLOCKS = 10
MAX_COLUMNS, MAX_ROWS = 20, 200
MAX_CELL, MAX_CODE = 2_000, 50_000
MAX_IMAGE = 100 * 1024
"""The maximum size of an image in bytes: it is stored with the request, and an ask has 256 KiB."""
ADDRESS = re.compile(r"[!-\[\]-~]{1,2000}")
"""Rejects backslashes: browsers read them as slashes, so the real host would differ from the displayed host."""


def _cell(value: object) -> object:
    if isinstance(value, str) and len(check_text(value).encode()) > MAX_CELL:
        raise FieldValidationError("", f"a cell has more than {MAX_CELL} bytes: shorten it")
    if value is not None and not isinstance(value, str | bool):
        check_number(value)
    return value


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        is_fit = bool(ADDRESS.fullmatch(value) and parts.scheme in ("https", "http") and parts.hostname)
    except ValueError:
        is_fit = False
    if not is_fit:
        raise FieldValidationError("", f"{safe_repr(value)} is not a link: give https://… or http://…, in ASCII")
    if parts.username is not None:
        raise FieldValidationError("", "a link with a user looks like another address: leave the user out")
    return value


def _base64(value: object) -> object:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _image(value: str) -> str:
    try:
        content = base64.b64decode(value, validate=True)
    except ValueError:
        raise FieldValidationError("", "is no base64: send the bytes of an image so written") from None
    if len(content) > MAX_IMAGE:
        raise FieldValidationError("", f"has {len(content)} bytes, at most {MAX_IMAGE} are allowed: make it smaller")
    if (picture := read_image_header(content)) is None:
        raise FieldValidationError("", "is no PNG, JPEG, GIF or WebP: send one of these")
    if picture.is_too_large:
        what = f"is {picture.width} × {picture.height} pixels"
        raise FieldValidationError("", f"{what}: at most {MAX_SIDE} a side and {MAX_PIXELS} in all are allowed")
    return value


_Label = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=200), AfterValidator(check_text)]
_Code = Annotated[str, StringConstraints(strict=True, max_length=MAX_CODE), AfterValidator(check_text)]
_Cell = Annotated[str | int | float | bool | None, BeforeValidator(_cell)]
_Row = Annotated[tuple[_Cell, ...], Field(max_length=MAX_COLUMNS)]


class _Block(StrictModel):
    title: _Label | None = None
    """The heading of the block."""


class Table(_Block):
    """Rows of values under named columns."""

    type: Literal["table"] = "table"
    columns: Annotated[tuple[_Label, ...], Field(min_length=1, max_length=MAX_COLUMNS)]
    rows: Annotated[tuple[_Row, ...], Field(max_length=MAX_ROWS)]

    @model_validator(mode="after")
    def _is_rectangular(self) -> Table:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                message = f"has {len(row)} cells under {len(self.columns)} columns: send one for each, or null"
                raise FieldValidationError(f"rows[{number}]", message)
        return self


class Image(_Block):
    """A PNG, JPEG, GIF or WebP; its bytes are part of the request, so that it cannot change after it was shown."""

    type: Literal["image"] = "image"
    data: Annotated[str, BeforeValidator(_base64), StringConstraints(strict=True), AfterValidator(_image)]
    """The bytes; base64 in JSON."""
    alt: _Label
    """A description for people who cannot see the image, and for text-only channels."""

    @property
    def media_type(self) -> str:
        """The media type of the bytes."""
        picture = read_image_header(base64.b64decode(self.data))
        return picture.media_type if picture else "application/octet-stream"


class Code(_Block):
    """Text that is shown character by character."""

    type: Literal["code"] = "code"
    text: _Code
    language: Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9+#.-]{1,30}$")] | None = None


class Diff(_Block):
    """What a text was and what it becomes."""

    type: Literal["diff"] = "diff"
    before: _Code
    after: _Code


class Link(_Block):
    """An address on the web; people see where it leads."""

    type: Literal["link"] = "link"
    url: Annotated[str, StringConstraints(strict=True), AfterValidator(_url)]
    """The address: `https` or `http` with a host, without a user; at most 2,000 ASCII characters."""


Block: TypeAlias = Annotated[Table | Image | Code | Diff | Link, Field(discriminator="type")]


KINDS = {"table": "Table", "image": "Image", "code": "Code", "diff": "Change", "link": "Link"}


def display_block_summary(block: Block, kinds: Mapping[str, str] = KINDS) -> str:
    """Return one line that describes a block; of its content it contains only the title."""
    size = f" {len(block.columns)} × {len(block.rows)}" if isinstance(block, Table) else ""
    title = block.title or (block.alt if isinstance(block, Image) else "")
    return f"{kinds[block.type]}{size}{title and f': {title}'}"
