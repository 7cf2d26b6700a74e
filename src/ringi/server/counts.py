"""The JSON models of counts and totals of requests."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ringi.domain.voting import Tier


def absent_if_none() -> Any:
    """Return a field that is absent from a reply while it is None."""
    return Field(default=None, exclude_if=lambda value: value is None)


class Count(BaseModel):
    """A number of records, counted up to 999."""

    count: int
    more: bool
    """True if the actual count is higher."""


class Counts(BaseModel):
    """The numbers of requests that the caller may read."""

    pending: Count
    mine: Count
    """Pending requests that are assigned to the caller, or claimed by the caller."""
    ended: Count | None = absent_if_none()
    """Requests that ended since the requested time; absent if no time was requested."""


class Amounts(BaseModel):
    """The totals of the amounts that the author of a tool declares."""

    unit: str | None
    sum: int | float
    least: int | float
    greatest: int | float


class Totals(BaseModel):
    """The pending requests that some filters select, counted up to 999."""

    count: int
    more: bool
    """True if there are more than counted; then the amounts and tiers are those of the newest."""
    tiers: list[Tier]
    """The tiers of the requests, the highest first."""
    amounts: Amounts | None
    """None unless all requests are about one tool whose author declares an amount of one unit."""
