"""The figures of a period, as replies have them: no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from typing import Literal

from ringi.base.model import StrictModel
from ringi.errors import InvalidError
from ringi.statistics import facts
from ringi.statistics.counting import CountedDays, hourly_queue_change, period_bounds_in_utc, utc_day_of_time
from ringi.statistics.counts import ERROR, OTHER, CountedSubject, Visible, answer_time_quantile

Interval = Literal["hour", "day"]
MAX_NAMES = 100
"""The number of agents, tools, rules or groups in a reply; the others are added up as `other`."""
PERIOD = timedelta(days=6)
MAX_DAYS: dict[Interval, int] = {"hour": 31, "day": 366}
"""The longest period of one reply, by the length of its points."""


class QueuePoint(StrictModel):
    """One hour or day of the queue."""

    at: datetime
    """Its beginning, in UTC."""
    pending: int
    """The requests that were pending at its end."""
    asked: int
    ended: int


class DecisionCounts(StrictModel):
    """How requests ended: first the decisions of people, then how else they ended, then calls that nobody was asked."""

    approved: int
    edited: int
    """Approved with changed arguments."""
    rejected: int
    answered: int
    """Questions and forms that a person answered."""
    declined: int
    """Questions and forms that a person declined."""
    expired: int
    cancelled: int
    policy_approved: int
    """Calls that a rule of a policy approved."""
    policy_rejected: int
    """Calls that a rule of a policy rejected."""
    grant_approved: int
    """Calls that an earlier decision of a person approved by a grant."""


class NamedDecisions(StrictModel):
    """The decisions about the calls of one agent, or of one tool."""

    name: str
    """Empty: a person asked, or the request is about no call. `other`: the names beyond the limits."""
    decisions: DecisionCounts


class AnswerTimes(StrictModel):
    """How long people took to answer, from the time at which a request was asked."""

    group: str | None
    """The group; None for requests that are open to all; empty for those of one person."""
    answers: int
    median: float | None
    """Seconds."""
    p90: float | None
    """Seconds: nine of ten answers came within this time."""


class FastApprovals(StrictModel):
    """Approvals by people in under two seconds."""

    measured_from: Literal["seen", "asked"]
    """`seen`: from the time at which the person first opened the request, if the server records it. `asked`: from the
    time at which it was asked."""
    approvals: int
    """The approvals whose time was measured so."""
    under_2s: int


class OverviewFigures(StrictModel):
    """Figures about the requests that the caller may read, by days in UTC."""

    since: datetime
    """The beginning of the first day."""
    until: datetime
    """The end of the last day."""
    by: Interval
    as_of: datetime
    """The time up to which events are counted."""
    complete: bool
    """False while older events are still being counted: call again."""
    share: float
    """The share of the time since the first event that is counted, from 0 to 1."""
    error: float
    """The largest relative error of `median` and `p90`."""
    queue: list[QueuePoint]
    pending: int
    """The requests that are pending now."""
    oldest: datetime | None
    """The time at which the oldest pending request was asked, to the second; None if none is pending."""
    decisions: DecisionCounts
    agents: list[NamedDecisions]
    tools: list[NamedDecisions]
    times: list[AnswerTimes]
    fast: list[FastApprovals]


def figures_period(since: datetime | None, until: datetime | None, now: datetime, most: int) -> tuple[date, date]:
    """Return the first and the last day of a period: by default the last seven days.

    Args:
        since: A time in the first day.
        until: A time in the last day.
        now: The current time.
        most: The number of days that it may have.

    Raises:
        InvalidError: The period is empty or too long.
    """
    last = utc_day_of_time(until or now)
    first = utc_day_of_time(since) if since else last - PERIOD
    if first > last:
        raise InvalidError.of("since", "give a time before `until`", "since_after_until")
    if (last - first).days >= most:
        raise InvalidError.of("since", f"ask for at most {most} days", "period_too_long", max=most)
    return first, last


def readable_figure_rows(
    counts: CountedDays, since: date, until: date, visible: Visible
) -> list[tuple[CountedSubject, Counter[str]]]:
    """Return the rows of a period that the caller may read."""
    days = [day for at, day in counts.days.items() if since <= at <= until]
    return [row for day in days for row in day.rows.items() if visible(row[0].audience)]


def sum_rows_by_name(
    rows: Iterable[tuple[CountedSubject, Counter[str]]], names: Callable[[CountedSubject], Iterable[str | None]]
) -> dict[str | None, Counter[str]]:
    """Return the sum of the rows under each name."""
    found: dict[str | None, Counter[str]] = {}
    for subject, counts in rows:
        for name in names(subject):
            found.setdefault(name, Counter()).update(counts)
    return found


def names_with_most_counts(
    found: dict[str | None, Counter[str]], weight: Callable[[Counter[str]], int]
) -> list[tuple[str | None, Counter[str]]]:
    """Return the names with the most counts first; those beyond the limit are added up as `other`."""
    ordered = sorted(found.items(), key=lambda each: (-weight(each[1]), each[0] or ""))
    rest = sum((counts for _, counts in ordered[MAX_NAMES:]), Counter[str]())
    return [*ordered[:MAX_NAMES], *([(OTHER, rest)] if rest else [])]


def answer_time_groups(subject: CountedSubject) -> list[str | None]:
    """Return the groups under which a row is counted; see `AnswerTimes.group`."""
    if subject.audience is None:
        return [""]
    return [*subject.audience] or [None]


def decision_counts(counts: Counter[str]) -> DecisionCounts:
    """Return the decisions in a sum of rows."""
    people = {name: counts[facts.PERSON + name] for name in ("approved", "edited", "rejected", "answered", "declined")}
    return DecisionCounts(
        **people,
        expired=counts[facts.EXPIRED],
        cancelled=counts[facts.CANCELLED],
        policy_approved=counts[f"{facts.BY_POLICY}approved"],
        policy_rejected=counts[f"{facts.BY_POLICY}rejected"],
        grant_approved=counts[f"{facts.BY_GRANT}approved"],
    )


def count_decisions_by_people(counts: Counter[str]) -> int:
    """Return the number of decisions of people."""
    return sum(number for name, number in counts.items() if name.startswith(facts.PERSON))


def count_ended_requests(counts: Counter[str]) -> int:
    """Return the number of ended requests."""
    return sum(dict(decision_counts(counts)).values())


def named_decisions(found: dict[str | None, Counter[str]]) -> list[NamedDecisions]:
    """Return the decisions under each name, those with the most first; without names that nothing was decided about."""
    return [
        NamedDecisions(name=str(name), decisions=decision_counts(counts))
        for name, counts in names_with_most_counts(found, count_ended_requests)
        if count_ended_requests(counts)
    ]


def fast_approvals(counts: Counter[str]) -> list[FastApprovals]:
    """Return the fast approvals, by what they were measured from."""
    bases: tuple[Literal["seen", "asked"], ...] = ("seen", "asked")
    return [
        FastApprovals(measured_from=base, approvals=number, under_2s=counts[facts.QUICK + base])
        for base in bases
        if (number := counts[facts.APPROVALS + base])
    ]


def answer_times(group: str | None, counts: Counter[str]) -> AnswerTimes:
    """Return the times to answer of a group."""
    median, p90 = answer_time_quantile(counts, 0.5), answer_time_quantile(counts, 0.9)
    return AnswerTimes(group=group, answers=count_decisions_by_people(counts), median=median, p90=p90)


def queue_points(
    counts: CountedDays, since: date, until: date, by: Interval, visible: Visible, now: datetime
) -> list[QueuePoint]:
    """Return the queue at the end of each hour or day."""
    pending = counts.pending(visible, since)
    found: list[QueuePoint] = []
    for n in range((until - since).days + 1):
        day = since + timedelta(days=n)
        begin, _ = period_bounds_in_utc(day, day)
        hours = {hour: Counter[str]() for hour in range(24)}
        for (audience, hour), each in counts.days[day].hours.items() if day in counts.days else ():
            if visible(audience):
                hours[hour].update(each)
        points: list[QueuePoint] = []
        for hour, each in hours.items():
            pending += hourly_queue_change(each)
            at = begin + timedelta(hours=hour)
            points.append(QueuePoint(at=at, pending=max(0, pending), asked=each[facts.IN], ended=each[facts.OUT]))
        if by == "day":
            whole = {name: sum(getattr(point, name) for point in points) for name in ("asked", "ended")}
            points = [QueuePoint(at=begin, pending=points[-1].pending, **whole)]
        found += [point for point in points if point.at <= now]
    return found


def overview_figures(
    counts: CountedDays,
    since: date,
    until: date,
    by: Interval,
    visible: Visible,
    oldest: datetime | None,
    now: datetime,
) -> OverviewFigures:
    """Return the figures of a period.

    Args:
        counts: The counts of all days from the beginning of the month of `since` to `until`.
        since: The first day.
        until: The last day.
        by: The length of the points of the queue.
        visible: Whether the caller may read the figures of an audience.
        oldest: The time at which the oldest pending request was asked.
        now: The current time.
    """
    rows = readable_figure_rows(counts, since, until, visible)
    total = sum_rows_by_name(rows, lambda _: [None]).get(None, Counter())
    groups = names_with_most_counts(sum_rows_by_name(rows, answer_time_groups), count_decisions_by_people)
    queue = queue_points(counts, since, until, by, visible, now)
    begin, end = period_bounds_in_utc(since, until)
    covered = counts.head.covered
    return OverviewFigures(
        since=begin,
        until=end,
        by=by,
        as_of=now if counts.is_complete else covered.at if covered else begin,
        complete=counts.is_complete,
        share=counts.share_at(now),
        error=round(ERROR, 4),
        queue=queue,
        pending=max(0, counts.pending(visible)),
        oldest=oldest,
        decisions=decision_counts(total),
        agents=named_decisions(sum_rows_by_name(rows, lambda subject: [subject.agent])),
        tools=named_decisions(sum_rows_by_name(rows, lambda subject: [subject.tool])),
        times=[answer_times(name, each) for name, each in groups if count_decisions_by_people(each)],
        fast=fast_approvals(total),
    )
