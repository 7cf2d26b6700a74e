"""The command `report`: how people decided, for auditors."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from ringi.cli.format.output import progress
from ringi.cli.options import Json, Tenant, Url
from ringi.cli.session import run, with_inbox
from ringi.cli.texts import language, text_of
from ringi.domain.record import DEFAULT_TENANT
from ringi.inbox.inbox import Inbox
from ringi.statistics import Statistics
from ringi.statistics.figures import MAX_DAYS, period_of
from ringi.statistics.report import OversightReport, report_of
from ringi.statistics.report_html import report_html

DAY = ["%Y-%m-%d"]
SECONDS = 1.0
"""The time between two lines of progress."""


def report(
    since: Annotated[
        datetime | None, typer.Option(help="The first day, in UTC; by default six days before the last.", formats=DAY)
    ] = None,
    until: Annotated[datetime | None, typer.Option(help="The last day, in UTC; by default today.", formats=DAY)] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Print a report for auditors: how people decided, by rule, tool and group.

    It states its period, the version of Ringi, and the event up to which the audit trail is counted.
    """

    async def work(inbox: Inbox) -> OversightReport:
        now = inbox.clock()
        first, last = (each and each.replace(tzinfo=UTC) for each in (since, until))
        days = period_of(first, last, now, MAX_DAYS["day"])
        statistics = Statistics(inbox.store, inbox.clock)
        with progress(text_of("reading_trail")):
            while not (counts := await statistics.count(tenant, *days, seconds=SECONDS)).is_complete:
                pass
        return report_of(counts, tenant, *days, now)

    found = run(with_inbox(url, tenant, work))
    if json_:
        sys.stdout.write(f"{found.model_dump_json(indent=2)}\n")
    else:
        sys.stdout.write(report_html(found, language()))
