"""Tokens and sessions revoked before their expiry: stored durably, and enforced by every server."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from pydantic import FiniteFloat, ValidationError

from ringi.base.loops import cancel_all
from ringi.base.model import StrictModel
from ringi.base.outages import FailureLog
from ringi.contracts.backend import REVOCATIONS, Backend, StreamItem
from ringi.domain.record import Key
from ringi.errors import UnavailableError
from ringi.server.identity import Role

log = logging.getLogger(__name__)
KEY = Key("", "revoked")
PAGE = 500


Holder = tuple[str | None, str | None, Role | None]
"""A tenant, a name in it, and a role; None matches all."""
ALL_HOLDERS: Holder = (None, None, None)


class TokenMetadata(NamedTuple):
    """Identifiers and issue time of a token, besides its principal."""

    mark: str
    """The digest that identifies the token and cannot be used in its place."""
    at: float
    parent: str | None = None
    """The mark of the token from which this session was created."""


class Revocation(StrictModel):
    """A revocation of one token, or of all tokens of a name that were issued up to a time."""

    tenant: str
    name: str
    at: FiniteFloat
    """Seconds since 1970: tokens issued up to this time are revoked."""
    by: str
    role: Role | None = None
    """None matches any role."""
    mark: str | None = None
    """The mark of the only token that is revoked."""


class LoadedRevocations:
    """Loads the revocations, and reloads them after each change."""

    def __init__(self, backend: Backend, on_change: Callable[[], None] = lambda: None) -> None:
        self._stream, self._notifier, self._on_change = backend.stream, backend.notifier, on_change
        self._clock = backend.clock
        self._last_number = 0
        self._marks: set[str] = set()
        self._revoked_until: dict[Holder, float] = {}
        self._following: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._is_loaded = False

    def now(self) -> float:
        """Return the time that all machines on the store use for revocations."""
        return self._clock().timestamp()

    async def revoke(self, revocation: Revocation) -> None:
        """Store a revocation durably and notify all servers; a server that misses the notification polls."""
        await self._stream.append(KEY, [StreamItem(revocation.model_dump(mode="json"))], fence=0)
        await self._notifier.publish(REVOCATIONS)

    async def begin(self) -> None:
        """Return after the first attempt to load the revocations; loading then continues in the background."""
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
        await self._ready.wait()

    async def close(self) -> None:
        """Stop loading revocations."""
        await cancel_all(self._following)

    def is_revoked(self, tenant: str, name: str, role: Role, metadata: TokenMetadata) -> bool:
        """Return whether a token is revoked; raises `UnavailableError` before the revocations are loaded."""
        if not self._is_loaded:
            raise UnavailableError("the revoked tokens have not been loaded yet")
        if not self._marks and not self._revoked_until:
            return False
        holders: tuple[Holder, ...] = ((tenant, name, role), (tenant, name, None), (tenant, None, None), ALL_HOLDERS)
        end = max(self._revoked_until.get(each, 0.0) for each in holders)
        return metadata.at <= end or not self._marks.isdisjoint((metadata.mark, metadata.parent))

    async def _follow(self) -> None:
        async with self._notifier.subscribe(REVOCATIONS) as wakeup:
            while True:
                seconds = self._notifier.recheck_after
                with FailureLog(log, "the revocations cannot be read, retrying"):
                    await self._read()
                    self._is_loaded = True
                    seconds = self._notifier.pulse_after
                self._ready.set()
                await wakeup.wait(seconds)

    async def _read(self) -> None:
        while items := await self._stream.read(KEY, self._last_number, PAGE):
            for mark, holder, at in map(parse_revocation, items):
                if mark:
                    self._marks.add(mark)
                else:
                    self._revoked_until[holder] = max(at, self._revoked_until.get(holder, 0.0))
            self._last_number = items[-1].number
            self._on_change()


def parse_revocation(item: StreamItem) -> tuple[str | None, Holder, float]:
    """Return an entry's revoked mark, or its names and time; an unreadable entry revokes as much as possible."""
    try:
        revocation = Revocation.model_validate(item.event)
    except ValidationError:
        mark, holder, at = broadest_revocation(item.event, time.time())
        scope = "one token" if mark else "/".join(str(part) for part in holder if part) or "everybody"
        log.exception("revocation %d cannot be read, revoking as much as it may mean: %s", item.number, scope)
        return mark, holder, at
    return revocation.mark, (revocation.tenant, revocation.name, revocation.role), revocation.at


def broadest_revocation(event: object, now: float) -> tuple[str | None, Holder, float]:
    """Return the broadest revocation that these fields allow, for tokens issued until now."""
    fields = event if isinstance(event, dict) else {}
    names = (fields.get(name) for name in ("mark", "tenant", "name"))
    mark, tenant, name = (value if isinstance(value, str) and value else None for value in names)
    at = fields.get("at")
    until = float(at) if isinstance(at, int | float) and math.isfinite(at) else now
    return mark, (tenant, name if tenant else None, None), until


def token_digest(token: str) -> str:
    """Return the digest that identifies a token and cannot be used in its place.

    The signature is excluded: the same signature can be encoded in several ways.
    """
    return sha256(token.rpartition(".")[0].encode()).hexdigest()
