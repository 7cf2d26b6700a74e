"""What all demos share: their data files, and the pace of their scripted models."""

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
DELAY = 0.04
"""Seconds between words, which makes the stream visible."""


@cache
def package_toml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))
