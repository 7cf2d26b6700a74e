"""Times that arrive as JSON: with a time zone, stored in UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator
from pydantic_core import PydanticCustomError


def reject_number_time(value: object) -> object:
    """Reject a number: it is ambiguous between seconds and milliseconds."""
    if not isinstance(value, str | datetime):
        raise PydanticCustomError("time", "send a time such as 2026-11-22T10:00:00Z")
    return value


def utc_time(at: datetime) -> datetime:
    """Return the time in UTC; raise for a time without a zone or outside the calendar's range."""
    if at.tzinfo is None:
        raise PydanticCustomError("time", "give a time zone, such as Z")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("time", "this time is outside the calendar's range: give a nearer one") from None


Time = Annotated[datetime, BeforeValidator(reject_number_time), AfterValidator(utc_time)]
