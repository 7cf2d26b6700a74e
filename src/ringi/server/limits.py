"""Limits on the requests that a caller may create."""

from __future__ import annotations

import time

from ringi.base.bounded import Bounded
from ringi.contracts.store import find_record
from ringi.domain.ask import Ask
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.server.auth.authenticator import Principal
from ringi.server.auth.permissions import refuse_hidden_thread
from ringi.server.components import ServerComponents
from ringi.server.settings import ServerSettings

MAX_ASKERS = 10_000
"""Maximum number of askers whose rates are tracked."""


class AskLimits:
    """The limits on new requests and runs of each caller.

    Args:
        settings: The settings with the limits.
    """

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self._minutes = Bounded[tuple[str, str], tuple[float, int, int]](MAX_ASKERS)
        """The start of the minute of each asker, with the number of requests since then, and their bytes."""

    async def check(self, inbox: StoreInbox, caller: Principal, ask: Ask | None = None) -> None:
        """Count one more request or run of the caller.

        Args:
            inbox: The inbox of the caller's tenant.
            caller: The caller.
            ask: The request; None for a run. An existing request is never refused.

        Raises:
            UnavailableError: The caller creates requests too fast, or has too many open requests.
        """
        most = self._settings.max_open_requests
        try:
            self._count(caller, len(ask.model_dump_json().encode()) if ask else 0)
            if await inbox.count(Query(asked_by=caller.actor, statuses=("pending",), limit=most + 1)) >= most:
                what = f"{caller.name!r} has {most} open requests: wait for answers, or cancel some"
                raise UnavailableError(what, 30, code="limit")
        except UnavailableError as error:
            # Repeating a request creates none, and a replaying agent must not be stopped.
            key = Key(caller.tenant, ask.id) if ask and ask.id else None
            if error.code != "limit" or not (key and await find_record(inbox.store, Request, key)):
                raise

    def _count(self, caller: Principal, size: int) -> None:
        key, now, limit = (caller.tenant, caller.actor), time.monotonic(), self._settings.asks_per_minute
        began, number, total = self._minutes.get(key, (now, 0, 0))
        if now - began >= 60:
            began, number, total = now, 0, 0
        if number >= limit or total >= self._settings.ask_bytes_per_minute:
            what = f"{caller.name!r} asked {number} times within a minute"
            much = f", with {total} bytes" if number < limit else ""
            raise UnavailableError(f"{what}{much}: retry later", 60 - (now - began), code="limit")
        self._minutes[key] = (began, number + 1, total + size)


async def submit_for_caller(components: ServerComponents, limits: AskLimits, caller: Principal, ask: Ask) -> Request:
    """Store an ask of a caller, or return the stored request if its id exists with the same content.

    Args:
        components: The components of the server.
        limits: The limits on new requests.
        caller: The caller.
        ask: The question.

    Raises:
        InvalidError: The ask breaks a rule.
        UnavailableError: The caller creates requests too fast, or has too many open ones.
        NotFoundError: The caller may not read the thread.
        ConflictError: The id exists with other content (`different`).
    """
    components.deliveries.settings.check(ask.webhooks, caller.tenant)
    inbox = components.inbox.for_tenant(caller.tenant)
    if caller.role != "admin":
        await limits.check(inbox, caller, ask)
    if ask.thread_id is not None:
        await refuse_hidden_thread(inbox.store, caller, ask.thread_id)
    return await inbox.submit(ask, by=caller.asker)
