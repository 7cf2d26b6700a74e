"""The pauses of agents in a store: a journal for each tenant."""

from __future__ import annotations

import uuid

from ringi.base.clock import Clock
from ringi.base.outages import PausedError
from ringi.contracts.store import Store, change_record, find_record
from ringi.domain.journal import Journal
from ringi.domain.pauses import (
    JOURNAL,
    NewPause,
    Pause,
    begin_pause_journal,
    find_pause,
    find_same_pause,
    read_pauses,
    with_pause,
    without_pause,
)
from ringi.domain.record import Event, Key
from ringi.errors import NotFoundError
from ringi.inbox.journals import change_journal

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

    after = await change_journal(store, Key(tenant, JOURNAL), begin_pause_journal(tenant, clock()), step)
    pause = find_same_pause(read_pauses(after), new, by)
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
