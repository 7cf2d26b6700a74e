"""Conversion of an agent's values to JSON that every store accepts."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

from pydantic_core import to_json

from ringi.runs.model_form import clean_text


def json_text(value: Any) -> str:
    """Return a value of the agent as JSON, without characters that a store refuses."""
    with suppress(ValueError):
        return to_json(value, by_alias=True, inf_nan_mode="null", fallback=str).decode()
    return clean_text(json.dumps(value, default=str, ensure_ascii=False, skipkeys=True))


def clean_json(value: Any) -> Any:
    """Return JSON data without characters that a store refuses.

    Args:
        value: Text, a number, a list or an object; nested values are cleaned too. Infinite numbers become None.
    """
    if isinstance(value, dict):
        return {clean_text(name): clean_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [clean_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return clean_text(value) if isinstance(value, str) else value
