"""The statements that all stores in SQL have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from ringi.backends.orders import OrderedListing
from ringi.backends.rows import required_audiences
from ringi.domain.record import Query, query_terms, unix_microseconds
from ringi.domain.urgency import urgency_rank_spans

EQUAL = ("kind", "priority", "thread_id", "tool", "agent", "tier")
"""The conditions on requests that are the value of a column."""
MARKS = ("unacknowledged", "attention", "unexecuted")
"""The conditions on requests that have a column and an index of their own."""


class SqlWhere(ABC):
    """Conditions of one statement, and their values in the order of their placeholders."""

    is_marked: ClassVar[str]
    """The condition that a column of truth values is true, as in the partial indexes."""
    is_due: ClassVar[str]
    """The condition that a request is due at a time."""
    has_text: ClassVar[str]
    """The condition that the text of a request contains a piece."""
    is_jobless: ClassVar[dict[str, str]]
    """The condition that a record of a table has no unfinished job."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.values: list[Any] = []

    def add(self, sql: str, *values: Any) -> None:
        """Add a condition; each `?` in it stands for the next value."""
        for value in values:
            sql = sql.replace("?", self.mark(value), 1)
        self.parts.append(sql)

    @abstractmethod
    def mark(self, value: Any) -> str:
        """Return the placeholder of a value."""

    def constant(self, number: int) -> str:
        """Return the placeholder of a number, with its type if the database needs it."""
        return self.mark(number)

    @abstractmethod
    def add_audience(self, names: list[str]) -> None:
        """Add the condition that a request has one of these audiences."""

    def add_query(self, table: str, query: Query) -> None:
        """Add all conditions of a query; those on requests do not apply to other tables."""
        self.add_equal(table, query, ("tenant",))
        if query.statuses:
            self.add(f"status IN ({', '.join('?' * len(query.statuses))})", *query.statuses)
        if table == "requests":
            self._add_of_requests(query)
        elif query.unleased_at:
            at = unix_microseconds(query.unleased_at)
            self.add("status = 'running' AND (lease_until IS NULL OR lease_until <= ?)", at)
        if query.jobless and table in self.is_jobless:
            self.add(self.is_jobless[table])

    def add_equal(self, table: str, query: Query, names: Sequence[str]) -> None:
        """Add those of some conditions of a query that are set; each is the value of a column."""
        for name in names:
            if (value := getattr(query, name)) is not None:
                self.add(f"{table}.{name} = ?", value)

    def _add_of_requests(self, query: Query) -> None:
        self.add_equal("requests", query, EQUAL)
        for names in required_audiences(query):
            self.add_audience(names)
        if query.ended_since:
            self.add("ended_at >= ?", unix_microseconds(query.ended_since))
        if query.expired_at:
            self.add(self.is_due, unix_microseconds(query.expired_at))
        self.parts += [self.is_marked.format(name) for name in MARKS if getattr(query, name)]
        if query.unsettled:
            marks = " OR ".join(self.is_marked.format(name) for name in MARKS[:2])
            self.add(f"(status = 'pending' OR {marks})")
        self.add_text(query)

    def add_text(self, query: Query) -> None:
        """Add the condition that the text of a request contains each piece of a query's text."""
        for piece in query_terms(query.text) if query.text else ():
            self.add(self.has_text, piece)

    def place(self, table: str, listing: OrderedListing) -> list[str]:
        """Return the columns or expressions that are the place of a record."""
        created = [f"{table}.created_at", f"{table}.id"]
        if listing.soon is not None:
            is_rest, key = (
                f"({table}.deadline IS NULL OR {table}.deadline > {self.constant(listing.soon)})" for _ in range(2)
            )
            return [is_rest, f"CASE WHEN {key} THEN {table}.rank ELSE {table}.deadline END", *created]
        return [f"{table}.ended_at", *created] if listing.spans[0].key == "ended_at" else [*created, f"{table}.tenant"]

    def add_later(self, table: str, listing: OrderedListing) -> None:
        """Add the condition that a record is behind the previous page."""
        if listing.after:
            sign, marks = ">" if listing.is_ascending else "<", ", ".join("?" * len(listing.after))
            self.add(f"({', '.join(self.place(table, listing))}) {sign} ({marks})", *listing.after)

    def __str__(self) -> str:
        return " AND ".join(self.parts) or "true"


def order_and_limit_clause(place: Sequence[str], listing: OrderedListing) -> str:
    """Return the end of a statement that puts records in the order of their places, up to the limit."""
    direction = " ASC, " if listing.is_ascending else " DESC, "
    return f"ORDER BY {direction.join(place)}{direction[:-2]} LIMIT {listing.query.limit:d}"


def query_urgency_ranks(query: Query) -> list[int]:
    """Return the ranks that have the priority and the tier of a query."""
    return [rank for first, last in urgency_rank_spans(query.priority, query.tier) for rank in range(first, last + 1)]
