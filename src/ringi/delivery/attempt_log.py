"""Delivery attempts: items in one stream per request, each with the id of its delivery."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Literal, NamedTuple

from ringi.base.model import StrictModel
from ringi.contracts.backend import Stream, StreamItem, read_whole_stream
from ringi.domain.events import delivery_stream_key
from ringi.domain.record import Key
from ringi.errors import NotFoundError

DeliveryStatus = Literal["queued", "waiting", "delivered", "failed", "gone", "disabled"]
DELIVERY = re.compile(r"([a-z0-9][a-z0-9_-]*)\.([0-9]{1,18})\.(.+)", re.DOTALL)


class DeliveryTarget(NamedTuple):
    """One receiver of one event of one request."""

    endpoint: str
    version: int
    request_id: str

    @property
    def id(self) -> str:
        """The id of the delivery."""
        return f"{self.endpoint}.{self.version}.{self.request_id}"

    @classmethod
    def parse(cls, id: str) -> DeliveryTarget:
        """Return the target that a delivery's id encodes, or raise `NotFoundError`."""
        parts = DELIVERY.fullmatch(id)
        if not parts:
            raise NotFoundError("delivery", id)
        return cls(parts[1], int(parts[2]), parts[3])


class Attempt(StrictModel):
    """One attempt of one delivery."""

    at: datetime
    status: DeliveryStatus
    """`queued` by an operator, `waiting` for the next attempt, or the result."""
    code: int | None = None
    error: str | None = None
    seconds: float | None = None
    """The receiver's response time in seconds."""
    next_at: datetime | None = None
    by: str | None = None
    """The person who requested the redelivery."""


class LoggedAttempt(Attempt):
    """An attempt and the delivery that it belongs to."""

    delivery: str
    event: str
    type: str
    happened_at: datetime
    endpoint: str
    host: str
    series: int = 0
    """0 for the first series; each redelivery starts another."""


class Delivery(StrictModel):
    """One event on its way to one receiver."""

    id: str
    request_id: str
    event: str
    """The id of the event, which the receiver sees."""
    type: str
    happened_at: datetime
    endpoint: str
    host: str
    status: DeliveryStatus
    next_at: datetime | None
    tries: tuple[Attempt, ...]

    @classmethod
    def of(cls, entries: list[LoggedAttempt]) -> Delivery:
        """Return the delivery that these attempts belong to."""
        last = entries[-1]
        shared = {name: getattr(last, name) for name in ("event", "type", "happened_at", "endpoint", "host", "status")}
        attempts = tuple(Attempt(**each.model_dump(include=set(Attempt.model_fields))) for each in entries)
        request_id = DeliveryTarget.parse(last.delivery).request_id
        return cls(id=last.delivery, request_id=request_id, next_at=last.next_at, tries=attempts, **shared)


class EndpointCounts(StrictModel):
    """The unfinished deliveries of one endpoint."""

    endpoint: str
    """Its name; `per request` for all webhooks of requests together, and `mail server` for all mails."""
    waiting: int
    """Deliveries before their first attempt."""
    running: int
    retrying: int
    """Deliveries that wait for another attempt."""


class AttemptLog:
    """The attempts of all deliveries, and the endpoints that replied 410 Gone, stored in streams."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    async def add(self, tenant: str, request_id: str, attempt: LoggedAttempt) -> None:
        """Store an attempt durably."""
        item = StreamItem(attempt.model_dump(mode="json", exclude_defaults=True))
        await self._stream.append(delivery_stream_key(tenant, request_id), [item], fence=0)

    async def forget(self, tenant: str, request_id: str) -> None:
        """Delete all attempts to deliver a request's events."""
        await self._stream.delete(delivery_stream_key(tenant, request_id), fence=0)

    async def of_request(self, tenant: str, request_id: str) -> list[Delivery]:
        """Return the deliveries of a request, ordered by first attempt."""
        grouped: dict[str, list[LoggedAttempt]] = {}
        for attempt in await self._read(tenant, request_id):
            grouped.setdefault(attempt.delivery, []).append(attempt)
        return [Delivery.of(attempts) for attempts in grouped.values()]

    async def of_target(self, tenant: str, target: DeliveryTarget) -> list[LoggedAttempt]:
        """Return the attempts of one delivery."""
        return [attempt for attempt in await self._read(tenant, target.request_id) if attempt.delivery == target.id]

    async def _read(self, tenant: str, request_id: str) -> list[LoggedAttempt]:
        items = await read_whole_stream(self._stream, delivery_stream_key(tenant, request_id))
        return [LoggedAttempt.model_validate(item.event) for item in items]

    async def is_off(self, key: Key, address: str) -> bool:
        """Return whether the latest state of an endpoint is gone, as long as its address is unchanged."""
        items = await read_whole_stream(self._stream, key)
        return bool({item.event["address"]: item.event["off"] for item in items}.get(address))

    async def set_off(self, key: Key, address: str, *, off: bool) -> None:
        """Record that an address is gone or available again; do nothing if that is already recorded."""
        if off != await self.is_off(key, address):
            await self._stream.append(key, [StreamItem({"address": address, "off": off})], fence=0)
