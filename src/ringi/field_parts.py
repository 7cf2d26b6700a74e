"""Which keyword arguments the fields of a form take, for type checkers."""

from __future__ import annotations

from typing import TypedDict


class Parts(TypedDict, total=False):
    """What all fields take."""

    name: str
    label: str
    required: bool
    placeholder: str | None
    help: str | None


class WritingParts(Parts, total=False):
    """What fields for text take."""

    min_length: int | None
    max_length: int | None
    default: str | None


class NumericParts(Parts, total=False):
    """What fields for numbers take."""

    min: float | None
    max: float | None
    step: float | None
    default: float | None


class DateParts(Parts, total=False):
    """What fields for days and moments take; bounds and defaults are text."""

    min: str | None
    max: str | None
    default: str | None


class BooleanParts(Parts, total=False):
    """What a yes or no takes."""

    default: bool | None
