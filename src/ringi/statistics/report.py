"""A report for auditors: how effective the oversight by people was in a period. No I/O."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from importlib.metadata import version

from ringi.base.model import StrictModel
from ringi.statistics import facts, figures
from ringi.statistics.counting import CountedDays, period_bounds_in_utc
from ringi.statistics.counts import ERROR, answer_time_quantile

AUTOMATIC = (facts.BY_POLICY, facts.BY_GRANT)
"""The prefixes of decisions about which nobody was asked."""


class OversightRow(StrictModel):
    """What happened to the calls and questions of one rule, tool or group."""

    name: str | None
    """Empty: no rule, no call, or one person. None: a group row for what is open to all. `other`: names beyond the
    limits."""
    asked: int
    """The requests that people were asked, planted checks included."""
    decided_by_people: int
    decided_by_policy: int
    decided_by_grant: int
    edited: int
    rejected: int
    """Rejected or declined by people."""
    expired: int
    cancelled: int
    seen: int
    """The ended requests that a person opened first, if the server records it."""
    median: float | None
    """Seconds from the asking to the answer of a person."""
    p90: float | None
    fast: list[figures.FastApprovals]
    checks: int
    """The planted checks that people answered; no other figure counts their answers."""
    caught: int
    """Those whose fault people noticed."""


class OversightReport(StrictModel):
    """How people decided in a period, by days in UTC, and which part of the audit trail the figures cover."""

    tenant: str
    since: datetime
    """The beginning of the first day."""
    until: datetime
    """The end of the last day."""
    made_at: datetime
    version: str
    """The version of Ringi."""
    complete: bool
    """False while older events are still being counted: call again."""
    share: float
    position: str
    """The position of the newest event of the tenant that is counted; empty without events."""
    head: str
    """The hash of that event."""
    error: float
    """The largest relative error of `median` and `p90`."""
    total: OversightRow
    rules: list[OversightRow]
    tools: list[OversightRow]
    groups: list[OversightRow]


def oversight_report(counts: CountedDays, tenant: str, since: date, until: date, now: datetime) -> OversightReport:
    """Return the report of a period.

    Args:
        counts: The counts of the period.
        tenant: The tenant of the counts.
        since: The first day.
        until: The last day.
        now: The current time.
    """
    rows = figures.readable_figure_rows(counts, since, until, lambda _: True)
    begin, end = period_bounds_in_utc(since, until)
    covered = counts.head.covered
    return OversightReport(
        tenant=tenant,
        since=begin,
        until=end,
        made_at=now,
        version=version("ringi"),
        complete=counts.is_complete,
        share=counts.share_at(now),
        position=covered.position if covered else "",
        head=covered.hash if covered else "",
        error=round(ERROR, 4),
        total=oversight_row("", figures.sum_rows_by_name(rows, lambda _: [None]).get(None, Counter())),
        rules=oversight_rows(figures.sum_rows_by_name(rows, lambda subject: [subject.rule])),
        tools=oversight_rows(figures.sum_rows_by_name(rows, lambda subject: [subject.tool])),
        groups=oversight_rows(figures.sum_rows_by_name(rows, figures.answer_time_groups)),
    )


def oversight_rows(found: dict[str | None, Counter[str]]) -> list[OversightRow]:
    """Return a row for each name, those with the most requests first."""
    ordered = figures.names_with_most_counts(found, count_handled_requests)
    return [oversight_row(name, counts) for name, counts in ordered]


def count_handled_requests(counts: Counter[str]) -> int:
    """Return the number of requests and decided calls."""
    return counts[facts.ASKED] + sum(number for name, number in counts.items() if name.startswith(AUTOMATIC))


def oversight_row(name: str | None, counts: Counter[str]) -> OversightRow:
    """Return the row of a sum."""
    decisions = figures.decision_counts(counts)
    return OversightRow(
        name=name,
        asked=counts[facts.ASKED],
        decided_by_people=figures.count_decisions_by_people(counts),
        decided_by_policy=decisions.policy_approved + decisions.policy_rejected,
        decided_by_grant=decisions.grant_approved,
        edited=decisions.edited,
        rejected=decisions.rejected + decisions.declined,
        expired=decisions.expired,
        cancelled=decisions.cancelled,
        seen=counts[facts.WAS_SEEN],
        median=answer_time_quantile(counts, 0.5),
        p90=answer_time_quantile(counts, 0.9),
        fast=figures.fast_approvals(counts),
        checks=counts[facts.CHECKS],
        caught=counts[facts.CAUGHT],
    )
