"""The pauses of agents in a store: a journal for each tenant."""

from __future__ import annotations

from ringi.base.clock import Clock
from ringi.base.outages import PausedError
from ringi.contracts.store import Store, find_record
from ringi.domain.journal import Journal
from ringi.domain.pauses import JOURNAL, Pause, find_pause, read_pauses
from ringi.domain.record import Key

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
