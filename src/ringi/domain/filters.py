"""What a list of requests may be narrowed to: the same names in Python and in the URL."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BeforeValidator, Field, model_validator

from ringi.base.model import StrictModel, Time
from ringi.domain.ask import Kind, Priority
from ringi.domain.record import MAX_SEARCH
from ringi.domain.request_data import Status
from ringi.domain.voting import Tier

Order = Literal["newest", "urgent", "ended"]


class FindOptions(TypedDict, total=False):
    """What requests must match, and their order; None counts as absent."""

    status: Status | Sequence[Status] | None
    """The status, or several."""
    kind: Kind | None
    """The kind."""
    priority: Priority | None
    """The priority; a request without one counts as `normal`."""
    tier: Tier | None
    """What is at stake; a request without a tier counts as `low`."""
    assignee: str | None
    """The person to whom they are assigned."""
    thread_id: str | None
    """The thread of the agent."""
    tool: str | None
    """Requests about a call of this tool or action."""
    agent: str | None
    """The agent that asked, as `agent` of the request names it."""
    group: str | None
    """Requests that the members of this group may decide."""
    unexecuted: bool
    """Only approved calls that are not known to have begun."""
    unanswerable: bool
    """Only pending requests that nobody who is known here can answer."""
    ended_since: datetime | None
    """Only requests that ended at this time or later."""
    q: str | None
    """Words that the request must contain."""
    order: Order
    """`newest` first; `urgent`: pending requests, the overdue first; `ended`: ended requests, the latest end first."""


def _statuses(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _described(text: str) -> Any:
    return Field(default=None, description=text)


ORDER = (
    "`newest` first, or `urgent`: pending requests; the overdue, those due within an hour (both by the nearer of due_at"
    " and expires_at), then the rest by priority, tier, first of its kind, and the oldest first; or `ended`: ended"
    " requests, the latest end first"
)
UNEXECUTED = "Only approved calls that are not known to have begun: nobody has acknowledged the approval"
UNANSWERABLE = "Only pending requests that nobody here can answer, except administrators: their people are unknown"
MINE = "Only requests that are assigned to the caller, or claimed by the caller"
SEARCH = "Text that the request must contain: the beginnings of words, or any part of a Chinese or Japanese text"


class Filter(StrictModel):
    """What requests must match."""

    status: Annotated[tuple[Status, ...] | None, BeforeValidator(_statuses)] = None
    kind: Kind | None = None
    priority: Priority | None = None
    tier: Tier | None = _described("Only requests with this tier; a request without a tier counts as `low`")
    assignee: str | None = None
    thread_id: str | None = None
    tool: str | None = _described("Only requests about a call of this tool or action")
    agent: str | None = _described("Only requests of this agent, as `agent` of the request names it")
    group: str | None = _described("Only requests that the members of this group may decide")
    unexecuted: Annotated[bool, Field(description=UNEXECUTED)] = False
    unanswerable: Annotated[bool, Field(description=UNANSWERABLE)] = False
    ended_since: Time | None = _described("Only requests that ended at this time or later")
    q: Annotated[str | None, Field(max_length=MAX_SEARCH, description=SEARCH)] = None

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions, as fields of a query."""
        same = {name: getattr(self, name) for name in Filter.model_fields if name not in ("status", "q")}
        return {**same, "statuses": self.status or (), "text": self.q}


class OrderedFilter(Filter):
    """What requests must match, and their order."""

    order: Annotated[Order | None, Field(description=ORDER)] = None

    @property
    def conditions(self) -> dict[str, Any]:
        """The conditions and the order, as fields of a query."""
        return {**super().conditions, "order": self.order or "newest"}


class CallerFilter(Filter):
    """What requests must match over HTTP; an empty condition counts as absent, as a page sends it."""

    mine: Annotated[bool, Field(description=MINE)] = False

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        optional = {name for name, field in cls.model_fields.items() if field.default is None}
        lists = {name: list(filter(None, value)) for name, value in values.items() if isinstance(value, list)}
        return {name: value for name, value in {**values, **lists}.items() if value or name not in optional}


class ListQuery(OrderedFilter, CallerFilter):
    """A page of a list over HTTP."""

    limit: Annotated[int, Field(ge=1)] = 50
    cursor: str | None = _described("`next` of the previous page")
