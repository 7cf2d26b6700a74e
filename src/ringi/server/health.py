"""The routes for those who run the server."""

from __future__ import annotations

import asyncio
from functools import partial

from fastapi import FastAPI
from starlette.responses import PlainTextResponse
from starlette.responses import Response as HttpResponse

from ringi.record import Query
from ringi.request import Request
from ringi.server.openapi import documented
from ringi.server.platform import Platform
from ringi.server.refusals import NotReadyError, StoppingError
from ringi.server.shapes import dumped, reply
from ringi.server.sse import Streams

READY_SECONDS = 2.0
COUNTED = 10_000
"""Pending requests beyond this are not counted."""


class HealthRoutes:
    """Alive, ready, and how busy; nothing of any tenant."""

    def __init__(self, platform: Platform, streams: Streams) -> None:
        self._platform, self._streams = platform, streams

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, methods=["GET"], tags=["health"])
        add("/healthz", self.healthz, **documented("Health"))
        add("/readyz", self.readyz, **documented("Health"))
        add("/metrics", self.metrics, response_class=PlainTextResponse)

    async def healthz(self) -> HttpResponse:
        """Say that the process answers."""
        return reply(dumped({"status": "ok"}))

    async def readyz(self) -> HttpResponse:
        """Say that the store answers."""
        if self._streams.is_closed:
            raise StoppingError()
        try:
            async with asyncio.timeout(READY_SECONDS):
                await self._platform.backend.store.tail()
        except TimeoutError:
            raise NotReadyError(READY_SECONDS) from None
        return reply(dumped({"status": "ready", "store": self._platform.backend.url.partition(":")[0]}))

    async def metrics(self) -> HttpResponse:
        """Return the figures in Prometheus' text format."""
        backend, inbox = self._platform.backend, self._platform.inbox
        pending = await backend.store.count(Request, Query(statuses=("pending",), limit=COUNTED))
        text = "".join(
            [
                gauge("ringi_pending_requests", f"Pending requests, counted up to {COUNTED}.", pending),
                gauge("ringi_open_streams", "Open event streams of this process.", len(self._streams)),
                counter("ringi_lost_notifications_total", "Wake-ups that were not published.", backend.notifier.lost),
                counter("ringi_feed_failures_total", "Reads of the feed that failed.", inbox.feed.failures),
            ]
        )
        return HttpResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def gauge(name: str, help: str, value: float, kind: str = "gauge") -> str:
    """Return one figure as Prometheus reads it."""
    return f"# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"


def counter(name: str, help: str, value: float) -> str:
    """Return one figure that only grows."""
    return gauge(name, help, value, "counter")
