"""The routes for operators of the server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import get_args

from fastapi import FastAPI
from prometheus_client import Metric, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.responses import PlainTextResponse
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import Kind
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi.server.calls import reply
from ringi.server.components import ServerComponents
from ringi.server.openapi import route_docs
from ringi.server.schemas import Health
from ringi.server.sse.sse import Streams

READY_SECONDS = 2.0
VALID = timedelta(days=180)
COUNTED = 10_000
"""Maximum number of pending requests that are counted per kind."""
PENDING = ("ringi_pending_requests", f"Pending requests of a kind, counted up to {COUNTED}.")
UNANSWERABLE = ("ringi_unanswerable_requests", f"Pending requests nobody can answer, counted up to {COUNTED}.")
DELIVERIES = ("ringi_unfinished_deliveries", "Unfinished deliveries of an endpoint, of all tenants.")


class HealthRoutes:
    """Liveness, readiness and load, without data of any tenant."""

    def __init__(self, components: ServerComponents, streams: Streams) -> None:
        self._components, self._streams = components, streams

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, methods=["GET"], tags=["health"])
        add("/healthz", self.healthz, **route_docs("Health"))
        add("/readyz", self.readyz, **route_docs("Health"))
        add("/metrics", self.metrics, response_class=PlainTextResponse)
        if self._components.settings.security_contact:
            add("/.well-known/security.txt", self.security_txt, include_in_schema=False)

    async def healthz(self) -> HttpResponse:
        """Return success while the process responds."""
        return reply(Health(status="ok"))

    async def readyz(self) -> HttpResponse:
        """Return success while the store responds."""
        if self._streams.is_closed:
            raise UnavailableError("the server is stopping")
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._components.backend.store.tail()
        except TimeoutError:
            raise UnavailableError(f"the store did not reply within {READY_SECONDS:g} s") from None
        backend = self._components.backend
        return reply(Health(status="ready", store=backend.url.partition(":")[0], durability=backend.durability))

    async def security_txt(self) -> HttpResponse:
        """Return where to report a weakness, as RFC 9116 describes it."""
        until = datetime.now(UTC).replace(microsecond=0) + VALID
        lines = f"Contact: {self._components.settings.security_contact}\nExpires: {until.isoformat()}\n"
        return PlainTextResponse(lines)

    async def metrics(self) -> HttpResponse:
        """Return the metrics in the text format of Prometheus."""
        current = CurrentMetrics([*await self._pending(), await self._deliveries(), *self._metrics()])
        text = generate_latest(current) + generate_latest(self._components.inbox.metrics.registry)
        return HttpResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _pending(self) -> list[Metric]:
        store, family = self._components.backend.store, GaugeMetricFamily(*PENDING, labels=("kind",))
        for kind in get_args(Kind):
            query = Query(statuses=("pending",), kind=kind, limit=COUNTED)
            family.add_metric((kind,), await store.count(Request, query))
        nobody = await store.count(Request, Query(statuses=("pending",), unanswerable=True, limit=COUNTED))
        return [family, GaugeMetricFamily(*UNANSWERABLE, nobody)]

    async def _deliveries(self) -> Metric:
        family = GaugeMetricFamily(*DELIVERIES, labels=("endpoint", "state"))
        for each in await self._components.deliveries.counts():
            for state, number in each.model_dump(exclude={"endpoint"}).items():
                family.add_metric((each.endpoint, state), number)
        return family

    def _metrics(self) -> list[Metric]:
        lost, failures = self._components.backend.notifier.lost, self._components.inbox.feed.failures
        return [
            GaugeMetricFamily("ringi_open_streams", "Open event streams of this process.", len(self._streams)),
            CounterMetricFamily("ringi_lost_notifications", "Wake-ups that were not published.", lost),
            CounterMetricFamily("ringi_feed_failures", "Reads of the feed that failed.", failures),
        ]


class CurrentMetrics(Collector):
    """Current metrics."""

    def __init__(self, metrics: list[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> list[Metric]:
        """Return the metrics."""
        return self._metrics
