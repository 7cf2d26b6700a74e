"""JSON models of files: the upload, and the metadata in answers."""

from __future__ import annotations

from typing import Annotated, Any, get_type_hints

from pydantic import BaseModel, Field, create_model

from ringi.base.model import StrictModel
from ringi.base.validation import Name
from ringi.files.images import MAX_IMAGES
from ringi.forms import field_parts

MAX_BODY = field_parts.MAX_ENCODED + 8 * 1024
"""Maximum bytes of a call that attaches the largest file."""


class ImageUpload(StrictModel):
    """An image of a message."""

    name: Annotated[str, Field(max_length=1_000)] = "image"
    data: Annotated[str, Field(json_schema_extra={"contentEncoding": "base64"})]


class NewRun(StrictModel):
    """The agent, input and images of a new run."""

    agent: Name
    input: dict[str, Any] = {}
    images: Annotated[list[ImageUpload], Field(max_length=MAX_IMAGES)] = []
    """Images of the newest message; the agent must accept images."""


fields: dict[str, Any] = {name: (kind, ...) for name, kind in get_type_hints(field_parts.AttachedFile).items()}
AttachedFile: type[BaseModel] = create_model(
    "AttachedFile", __doc__="An attached file, as the answer's data contains it.", **fields
)
