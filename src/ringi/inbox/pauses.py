"""The pauses of agents in a store: a journal for each tenant."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime

from ringi.base.clock import Clock
from ringi.contracts.backend import EVENTS
from ringi.contracts.store import Store, change_record, find_record
from ringi.domain.ask import parse_body
from ringi.domain.journal import Journal
from ringi.domain.pauses import (
    JOURNAL,
    NewPause,
    Pause,
    begun_journal,
    find_pause,
    read_pauses,
    same_pause,
    with_pause,
    without_pause,
)
from ringi.domain.record import Event, Key
from ringi.errors import NotFoundError, PausedError
from ringi.inbox.api import InboxAPI
from ringi.inbox.journals import change_journal
from ringi.inbox.lifetime import Closable

log = logging.getLogger(__name__)
MAX_SECONDS = 60.0
"""The longest time after which a caller repeats a call of a paused agent."""


async def read_tenant_pauses(store: Store, tenant: str) -> tuple[Pause, ...]:
    """Return the pauses of a tenant, also those that have ended by themselves.

    Args:
        store: The store.
        tenant: The tenant.

    Raises:
        UnavailableError: The pauses cannot be read: everything counts as paused.
    """
    return read_pauses(await find_record(store, Journal, Key(tenant, JOURNAL)))


async def begin_pause(store: Store, tenant: str, new: NewPause, *, by: str, clock: Clock) -> Pause:
    """Record a pause, and return it once it is stored.

    Args:
        store: The store.
        tenant: The tenant.
        new: The agent and the reason.
        by: The name of the administrator.
        clock: Returns the current time.

    Raises:
        InvalidError: The pause would end before it begins.
    """
    id = uuid.uuid4().hex

    def step(journal: Journal) -> tuple[Journal, Event | None]:
        return with_pause(journal, new, id, by, clock())

    after = await change_journal(store, Key(tenant, JOURNAL), begun_journal(tenant, clock()), step)
    pause = same_pause(read_pauses(after), new, by)
    assert pause
    return pause


async def end_pause(store: Store, tenant: str, id: str, *, by: str, clock: Clock) -> None:
    """Record the end of a pause.

    Args:
        store: The store.
        tenant: The tenant.
        id: The id of the pause.
        by: The name of the administrator.
        clock: Returns the current time.

    Raises:
        NotFoundError: No pause in force has this id.
    """
    try:
        await change_record(
            store, Journal, Key(tenant, JOURNAL), lambda journal: without_pause(journal, id, by, clock())
        )
    except NotFoundError:
        raise NotFoundError("pause", id) from None


def paused_error(pause: Pause, clock: Clock) -> PausedError:
    """Return the error for a call of a paused agent.

    Args:
        pause: The pause.
        clock: Returns the current time.
    """
    seconds = (pause.until - clock()).total_seconds() if pause.until else MAX_SECONDS
    return PausedError(str(pause), min(max(seconds, 1.0), MAX_SECONDS))


def refuse_paused(pauses: tuple[Pause, ...], agent: str | None, clock: Clock) -> None:
    """Raise `PausedError` if an agent is paused.

    Args:
        pauses: The pauses of its tenant.
        agent: The name of the agent; None for code that is no agent.
        clock: Returns the current time.
    """
    pause = find_pause(pauses, agent, clock())
    if pause:
        raise paused_error(pause, clock)


class PausableInbox(Closable, InboxAPI):
    """The part of an inbox that pauses agents."""

    tenant: str
    clock: Clock

    async def pause(self, reason: str, *, by: str, agent: str | None = None, until: datetime | None = None) -> Pause:
        new = parse_body(NewPause, {"agent": agent, "reason": reason, "until": until})
        pause = await begin_pause(self.store, self.tenant, new, by=by, clock=self.clock)
        await self._publish(EVENTS)
        return pause

    async def pauses(self) -> list[Pause]:
        now = self.clock()
        found = await read_tenant_pauses(self.store, self.tenant)
        return [pause for pause in found if not pause.has_ended(now)]

    async def resume(self, id: str, *, by: str) -> None:
        await end_pause(self.store, self.tenant, id, by=by, clock=self.clock)
        await self._publish(EVENTS)

    async def check_pauses(self, agent: str | None = None) -> None:
        found = await read_tenant_pauses(self.store, self.tenant)
        refuse_paused(found, agent, self.clock)

    async def _publish(self, *topics: str) -> None:
        try:
            for topic in topics:
                await self.notifier.publish(topic)
        except Exception:
            self.notifier.lost += 1
            log.exception("the notification of %s was lost; its waiters wake by polling", topics[0])
