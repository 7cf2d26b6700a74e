"""Counts of one day that can be added up: no clock and no I/O."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, Self

MAX_ROWS = 500
"""The number of combinations of names that one day distinguishes; the others are counted under `OTHER`."""
MAX_AUDIENCES = 100
MAX_GROUPS = 10
MAX_NAME = 100
OTHER = "other"
FASTEST = 0.1
"""Seconds: shorter times count as this."""
GROWTH = 1.1
"""Each bucket of the histogram ends this much later than the one before."""
ERROR = (GROWTH - 1) / (GROWTH + 1)
"""The largest relative error of a time that is read from the histogram."""
TIME = "t"
"""The prefix of the names of buckets."""

Audience = tuple[str, ...] | None
"""The groups of a request; empty if it is open to all, None if it is open only to one person or to many groups."""
Visible = Callable[[Audience], bool]
"""Whether the caller may read the figures of an audience."""


class CountedSubject(NamedTuple):
    """What is counted together: one row of a day."""

    agent: str
    tool: str
    audience: Audience
    rule: str


class DayCounts:
    """The counts of one day: by subject, and by audience and hour."""

    def __init__(self) -> None:
        self.rows: dict[CountedSubject, Counter[str]] = {}
        self.hours: dict[tuple[Audience, int], Counter[str]] = {}

    def count(self, subject: CountedSubject, *names: str) -> None:
        """Count one event under each name."""
        self.rows.setdefault(subject, Counter()).update(names)

    def count_hour(self, audience: Audience, hour: int, name: str) -> None:
        """Count one event in an hour of the queue."""
        self.hours.setdefault((audience, hour), Counter())[name] += 1

    def add(self, more: DayCounts) -> None:
        """Add the counts of the same day; what exceeds the limits is added under `OTHER`."""
        known = {subject.audience for subject in self.rows} | {audience for audience, _ in self.hours}
        for (audience, hour), counts in more.hours.items():
            self.hours.setdefault((audience_within_limit(known, audience), hour), Counter()).update(counts)
        for subject, counts in more.rows.items():
            audience = audience_within_limit(known, subject.audience)
            fits = subject in self.rows or len(self.rows) < MAX_ROWS
            place = subject._replace(audience=audience) if fits else CountedSubject(OTHER, OTHER, audience, OTHER)
            self.rows.setdefault(place, Counter()).update(counts)

    def dump(self) -> dict[str, Any]:
        """Return the counts as JSON data."""
        rows = [[*subject, dict(counts)] for subject, counts in self.rows.items()]
        return {"rows": rows, "hours": [[*place, dict(counts)] for place, counts in self.hours.items()]}

    @classmethod
    def load(cls, data: dict[str, Any]) -> Self:
        """Return the counts that `dump` wrote."""
        found = cls()
        for agent, tool, audience, rule, counts in data.get("rows", ()):
            found.rows[CountedSubject(agent, tool, audience_from_json(audience), rule)] = Counter(counts)
        for audience, hour, counts in data.get("hours", ()):
            found.hours[audience_from_json(audience), hour] = Counter(counts)
        return found


def audience_from_json(groups: list[str] | None) -> Audience:
    """Return the audience that JSON data names."""
    return None if groups is None else tuple(groups)


def audience_within_limit(known: set[Audience], audience: Audience) -> Audience:
    """Return the audience, or None if it would be one too many; note it as known."""
    if audience not in known and len(known) >= MAX_AUDIENCES:
        return None
    known.add(audience)
    return audience


def answer_time_bucket(seconds: float) -> str:
    """Return the name of the bucket of a time."""
    return f"{TIME}{math.ceil(math.log(max(seconds, FASTEST)) / math.log(GROWTH))}"


def answer_time_quantile(counts: Counter[str], share: float) -> float | None:
    """Return the time in seconds below which this share of the answers lies; None without answers.

    Args:
        counts: The counts of a row, or a sum of them.
        share: The share, such as 0.5 for the median.

    Returns:
        The time of the answer at that rank, with a relative error of at most `ERROR`.
    """
    buckets = sorted((int(name[1:]), number) for name, number in counts.items() if name[0] == TIME)
    rank = math.ceil(share * sum(number for _, number in buckets))
    for index, number in buckets:
        rank -= number
        if rank <= 0:
            return round(2 * GROWTH**index / (GROWTH + 1), 3)
    return None
