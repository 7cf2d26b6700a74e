"""The routes of figures about requests and decisions."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import date
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query
from pydantic import BeforeValidator
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.base.loops import SingleFlight
from ringi.base.model import Time
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import READS_ALL, visible_query
from ringi.server.callers import AuditorCaller, ReaderCaller
from ringi.server.calls import reply
from ringi.server.components import ServerComponents
from ringi.server.language import language_for
from ringi.server.openapi import route_docs
from ringi.server.routes.requests import blank_filter_to_none
from ringi.statistics import Statistics
from ringi.statistics.counting import CountedDays, oldest_pending
from ringi.statistics.counts import Audience
from ringi.statistics.figures import MAX_DAYS, Interval, OverviewFigures, figures_period, overview_figures
from ringi.statistics.report import oversight_report
from ringi.statistics.report_html import oversight_report_html

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The beginnings of cells that a spreadsheet would run as a formula; the last are the full-width ones of Excel."""
SINCE = "The first day, as a time in it; by default seven days up to `until`"
UNTIL = "The last day, as a time in it; by default today"
OptionalTime = Annotated[Time | None, BeforeValidator(blank_filter_to_none)]


class StatisticsRoutes:
    """Figures over HTTP."""

    def __init__(self, components: ServerComponents) -> None:
        self._components = components
        self._statistics = Statistics(components.backend.store, components.inbox.clock)
        self._counting = SingleFlight()

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["statistics"])
        add("/v1/statistics", self.figures, methods=["GET"], **route_docs("OverviewFigures", file="text/csv"))
        add("/v1/report", self.report, methods=["GET"], **route_docs("OversightReport", file="text/html"))

    async def figures(
        self,
        http: HttpRequest,
        caller: ReaderCaller,
        since: Annotated[OptionalTime, Query(description=SINCE)] = None,
        until: Annotated[OptionalTime, Query(description=UNTIL)] = None,
        by: Interval = "day",
        format: Annotated[Literal["json", "csv"] | None, BeforeValidator(blank_filter_to_none)] = None,
    ) -> HttpResponse:
        """Count the queue and the decisions, by days in UTC: for people, of their groups and of what is open to all."""
        now = self._components.inbox.clock()
        first, last = figures_period(since, until, now, MAX_DAYS[by])
        counts = await self._count(caller.tenant, first, last)
        store = self._components.backend.store
        oldest = await oldest_pending(store, visible_query(caller), counts.head.first or now)
        found = overview_figures(counts, first, last, by, partial(may_read_figures_of, caller), oldest, now)
        wants_csv = format == "csv" or (format is None and "text/csv" in http.headers.get("accept", ""))
        return figures_csv_reply(found) if wants_csv else reply(found)

    async def report(
        self,
        http: HttpRequest,
        caller: AuditorCaller,
        since: Annotated[OptionalTime, Query(description=SINCE)] = None,
        until: Annotated[OptionalTime, Query(description=UNTIL)] = None,
        format: Annotated[Literal["json", "html"] | None, BeforeValidator(blank_filter_to_none)] = None,
    ) -> HttpResponse:
        """Report how people decided, by rule, tool and group. Auditors and admins only."""
        now = self._components.inbox.clock()
        first, last = figures_period(since, until, now, MAX_DAYS["day"])
        counts = await self._count(caller.tenant, first, last)
        found = oversight_report(counts, caller.tenant, first, last, now)
        if format != "html":
            return reply(found)
        text = oversight_report_html(found, language_for(http.scope))
        headers = {"content-disposition": 'attachment; filename="report.html"'}
        return HttpResponse(text, media_type="text/html; charset=utf-8", headers=headers)

    async def close(self) -> None:
        """Stop counting; what is not counted is counted by the next call."""
        await self._counting.close()

    async def _count(self, tenant: str, first: date, last: date) -> CountedDays:
        count = partial(self._statistics.count, tenant, first, last)
        return await self._counting.read((tenant, first, last), count)


def may_read_figures_of(caller: Principal, audience: Audience) -> bool:
    """Return whether the caller may read the figures of the requests with this audience."""
    if caller.role in READS_ALL:
        return True
    if audience is None or caller.role != "person":
        return False
    return not audience or not set(audience).isdisjoint(caller.groups)


def figures_csv_reply(figures: OverviewFigures) -> HttpResponse:
    """Return the figures as lines of a table."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["part", "name", "figure", "value"])
    writer.writerows(map(spreadsheet_cell, row) for row in figure_csv_rows(figures))
    headers = {"content-disposition": 'attachment; filename="statistics.csv"'}
    return HttpResponse(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def spreadsheet_cell(value: object) -> str:
    """Return a JSON value as the text of a cell that no spreadsheet takes for a formula; None is empty."""
    cell = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f"'{cell}" if cell.startswith(FORMULA) or cell.lstrip().startswith(FORMULA) else cell


def figure_csv_rows(figures: OverviewFigures) -> Iterator[list[Any]]:
    """Yield one row for each figure: its part, its name, what it is, and its value."""
    data: dict[str, Any] = figures.model_dump(mode="json")
    for name in ("since", "until", "by", "as_of", "complete", "share", "error", "pending", "oldest"):
        yield ["about", "", name, data[name]]
    for point in data["queue"]:
        yield from (["queue", point["at"], name, point[name]] for name in ("pending", "asked", "ended"))
    yield from (["decisions", "", *figure] for figure in data["decisions"].items())
    for part in ("agents", "tools"):
        for each in data[part]:
            yield from ([part, each["name"], *figure] for figure in each["decisions"].items())
    for part, key in (("times", "group"), ("fast", "measured_from")):
        for each in data[part]:
            yield from ([part, each[key], name, value] for name, value in each.items() if name != key)
