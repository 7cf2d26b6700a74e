"""What the demos of the applications share: their data files, and their scripted models."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from ringi.testing import ScriptedModel

DELAY = 0.04
"""Seconds between words, which makes the stream visible."""


@cache
def toml_of(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))


def scripted_model(say: Callable[[Sequence[BaseMessage]], str | AIMessage | BaseModel]) -> ScriptedModel:
    """Return a model that answers with a function of the messages."""
    return ScriptedModel(script=say, delay=DELAY)
