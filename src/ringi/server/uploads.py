"""The JSON of files: what is sent to attach one, and what is said of it then."""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, Field, create_model

from ringi import field_parts
from ringi.record import Frozen

MOST_TEXT = 4 * -(-field_parts.MAX_FILE // 3)
MAX_BODY = MOST_TEXT + 8 * 1024
"""Bytes of a call that attaches the largest file."""


class Upload(Frozen):
    """A file for a field of a request."""

    field: Annotated[str, Field(max_length=64)]
    name: Annotated[str, Field(max_length=1_000)]
    data: Annotated[str, Field(max_length=MOST_TEXT, json_schema_extra={"contentEncoding": "base64"})]


fields: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(field_parts.AttachedFile).items()}
AttachedFile: type[BaseModel] = create_model(
    "AttachedFile", __doc__="A file that was attached: what the answer's data says of it.", **fields
)
