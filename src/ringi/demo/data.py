"""What all demos share: their data files, schemas, and the pace of their scripted models."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

DELAY = 0.04
"""Seconds between words, which makes the stream visible."""


def object_schema(**properties: Any) -> dict[str, Any]:
    """Return the JSON Schema of an object that has all of these properties, and no others."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


TASK = object_schema(task={"type": "string", "minLength": 1})
"""The schema of the input of an agent that does a task."""


@cache
def package_toml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))
