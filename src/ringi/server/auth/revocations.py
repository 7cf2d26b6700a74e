"""Tokens and sessions that were taken back before their end: kept in the store, known to every server."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any, NamedTuple

from pydantic import FiniteFloat, ValidationError

from ringi.contracts.backend import Backend
from ringi.contracts.stream import StreamItem
from ringi.domain.record import Frozen, Key
from ringi.errors import RingiError, UnavailableError
from ringi.server.identity import Role

log = logging.getLogger(__name__)
KEY = Key("", "revoked")
TOPIC = "revoked"
PAGE = 500


Whose = tuple[str | None, str | None, Role | None]
"""A tenant, a name in it, and a role; None: all."""
EVERYBODYS: Whose = (None, None, None)


class Issued(NamedTuple):
    """What is known of a token besides whom it stands for."""

    mark: str
    """What tells it from others, and cannot be used in its place."""
    at: float
    parent: str | None = None
    """The mark of the token from which this session was made."""


class Revocation(Frozen):
    """What is worth nothing any more: one token, or all of a name that were made up to a time."""

    tenant: str
    name: str
    at: FiniteFloat
    """Seconds since 1970: whatever was made up to then."""
    by: str
    role: Role | None = None
    """None: whatever they may do."""
    mark: str | None = None
    """Only the token with this mark."""


class NotYetKnownError(UnavailableError):
    """Nobody can tell yet what was revoked."""

    def __init__(self) -> None:
        super().__init__("which tokens were revoked is not known yet")


class Revocations:
    """Reads what was revoked, and again whenever something is."""

    def __init__(self, backend: Backend, changed: Callable[[], None] = lambda: None) -> None:
        self._stream, self._notifier, self._changed = backend.stream, backend.notifier, changed
        self._clock = backend.clock
        self._seen = 0
        self._marks: set[str] = set()
        self._until: dict[Whose, float] = {}
        self._following: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._is_known = False

    def now(self) -> float:
        """Return the time by which all machines on the store revoke."""
        return self._clock().timestamp()

    async def revoke(self, revocation: Revocation) -> None:
        """Keep a revocation durably, and tell all servers; one that does not hear it finds it by polling."""
        await self._stream.append(KEY, [StreamItem(revocation.model_dump(mode="json"))], fence=0)
        await self._notifier.publish(TOPIC)

    async def begin(self) -> None:
        """Return once it was tried to read what is revoked; from the first call on it is read for ever."""
        if self._following is None:
            self._following = asyncio.create_task(self._follow())
        if not self._ready.is_set():
            await self._ready.wait()

    async def close(self) -> None:
        """Read no more."""
        if self._following:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def holds(self, tenant: str, name: str, role: Role, issued: Issued) -> bool:
        """Whether a token is worth nothing any more; raises `UnavailableError` before that can be told."""
        if not self._is_known:
            raise NotYetKnownError
        whose: tuple[Whose, ...] = ((tenant, name, role), (tenant, name, None), (tenant, None, None), EVERYBODYS)
        ends = (self._until.get(each, 0.0) for each in whose)
        return issued.at <= max(ends) or not self._marks.isdisjoint((issued.mark, issued.parent))

    async def _follow(self) -> None:
        async with self._notifier.subscribe(TOPIC) as wakeup:
            while True:
                try:
                    await self._read()
                    self._is_known = True
                except RingiError as error:
                    log.warning("what was revoked cannot be read, trying again: %s", error)
                except Exception:
                    log.exception("what was revoked cannot be read, trying again")
                self._ready.set()
                await wakeup.wait(self._notifier.recheck_after)

    async def _read(self) -> None:
        while items := await self._stream.read(KEY, self._seen, PAGE):
            for item in items:
                self._take(item)
            self._seen = items[-1].number
            self._changed()

    def _take(self, item: StreamItem) -> None:
        mark, whose, at = taken(item)
        if mark:
            self._marks.add(mark)
            return
        self._until[whose] = max(at, self._until.get(whose, 0.0))


def taken(item: StreamItem) -> tuple[str | None, Whose, float]:
    """Return the mark of what an entry takes back, or whose tokens until when; of one that cannot be read, the most."""
    try:
        one = Revocation.model_validate(item.event)
    except ValidationError:
        mark, whose, at = at_most(item.event, time.time())
        whom = "one token" if mark else "/".join(str(part) for part in whose if part) or "everybody"
        log.exception("revocation %d cannot be read, what it may mean is refused: %s", item.number, whom)
        return mark, whose, at
    return one.mark, (one.tenant, one.name, one.role), one.at


def at_most(said: Any, now: float) -> tuple[str | None, Whose, float]:
    """Return the most that such fields could take back of what was made until now."""
    fields = said if isinstance(said, dict) else {}
    names = (fields.get(name) for name in ("mark", "tenant", "name"))
    mark, tenant, name = (value if isinstance(value, str) and value else None for value in names)
    at = fields.get("at")
    until = float(at) if isinstance(at, int | float) and math.isfinite(at) else now
    return mark, (tenant, name if tenant else None, None), until


def mark_of(token: str) -> str:
    """Return what tells a token from others, and cannot be used in its place.

    Its signature does not count: the same one can be written in several ways.
    """
    return sha256(token.rpartition(".")[0].encode()).hexdigest()
