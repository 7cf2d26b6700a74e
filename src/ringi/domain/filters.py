"""What a list of requests may be narrowed to: the same names in Python and in the URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, TypedDict

from pydantic import BeforeValidator, Field, StrictBool

from ringi.base.model import StrictModel, Time
from ringi.domain.ask import Kind, Priority, parse_body
from ringi.domain.record import MAX_SEARCH, Query
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
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


class Filter(StrictModel):
    """The conditions of a list, checked."""

    status: Annotated[tuple[Status, ...], BeforeValidator(_statuses)] = ()
    kind: Kind | None = None
    priority: Priority | None = None
    tier: Tier | None = None
    assignee: str | None = None
    thread_id: str | None = None
    tool: str | None = None
    agent: str | None = None
    group: str | None = None
    unexecuted: StrictBool = False
    unanswerable: StrictBool = False
    ended_since: Time | None = None
    q: Annotated[str | None, Field(max_length=MAX_SEARCH)] = None
    order: Order = "newest"

    @classmethod
    def parse(cls, conditions: Mapping[str, Any]) -> Filter:
        """Return checked conditions.

        Raises:
            InvalidError: A condition is unknown or invalid.
        """
        return parse_body(cls, dict(conditions))

    def query(self, *, limit: int, cursor: str | None) -> Query:
        """Return the query of a page.

        Args:
            limit: The maximum number of requests.
            cursor: `next` of the page before; None for the first page.
        """
        same = self.model_dump(exclude={"status", "q"})
        return Query(**same, statuses=self.status, text=self.q, limit=limit, before=cursor)
