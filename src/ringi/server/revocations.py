"""Tokens and sessions that were taken back before their end: kept in the store, known to every server."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from hashlib import sha256
from typing import NamedTuple

from ringi.backend import Backend
from ringi.errors import RingiError, UnavailableError
from ringi.record import Frozen, Key
from ringi.server.identity import Role
from ringi.stream import StreamItem

log = logging.getLogger(__name__)
KEY = Key("", "revoked")
TOPIC = "revoked"
PAGE = 500


class Issued(NamedTuple):
    """What is known of a token besides whom it stands for."""

    mark: str
    """What tells it from others, and cannot be used in its place."""
    at: float


class Revocation(Frozen):
    """What is worth nothing any more: one token, or all of a name that were made up to a time."""

    tenant: str
    name: str
    at: float
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
        self._seen = 0
        self._marks: set[str] = set()
        self._until: dict[tuple[str, str, Role | None], float] = {}
        self._following: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._is_known = False

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
        ends = (self._until.get((tenant, name, which), 0.0) for which in (role, None))
        return issued.at <= max(ends) or issued.mark in self._marks

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
                self._take(Revocation.model_validate(item.event))
            self._seen = items[-1].number
            self._changed()

    def _take(self, revocation: Revocation) -> None:
        if revocation.mark:
            self._marks.add(revocation.mark)
            return
        key = (revocation.tenant, revocation.name, revocation.role)
        self._until[key] = max(revocation.at, self._until.get(key, 0.0))


def mark_of(token: str) -> str:
    """Return what tells a token from others, and cannot be used in its place.

    Its signature does not count: the same one can be written in several ways.
    """
    return sha256(token.rpartition(".")[0].encode()).hexdigest()
