"""The data files of the demo: what the scripted models understand and say."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

TASK = {
    "type": "object",
    "properties": {"task": {"type": "string", "minLength": 1}},
    "required": ["task"],
    "additionalProperties": False,
}
"""The schema of the input of an agent that does a task."""


@cache
def toml_of(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))
