"""Pauses of agents by administrators: pure, without clock or I/O. A journal for each tenant records them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import StringConstraints, ValidationError

from ringi.base.clock import Clock
from ringi.base.model import StrictModel, Time
from ringi.base.outages import PausedError
from ringi.base.validation import Name
from ringi.domain.journal import Journal
from ringi.domain.record import Event, UnreadableError
from ringi.errors import InvalidError, NotFoundError

JOURNAL = "pauses"
"""The id of the journal of each tenant."""
PAUSES = "pauses"
"""The key of the pauses in the state of the journal."""
MAX_SECONDS = 60.0
"""The longest time after which a caller repeats a call of a paused agent."""


class NewPause(StrictModel):
    """The agent to pause, and why."""

    agent: Name | None = None
    """The name of the agent; None pauses all agents of the tenant."""
    reason: Annotated[str, StringConstraints(min_length=1, max_length=2000)]
    """The reason, for people and for the audit trail."""
    until: Time | None = None
    """The time at which the pause ends by itself; None for no end."""


class Pause(StrictModel):
    """A pause of one agent, or of all agents of a tenant."""

    id: str
    agent: Name | None = None
    """The name of the agent; None for all agents of the tenant."""
    reason: str
    by: str
    """The name of the administrator."""
    since: datetime
    until: datetime | None = None
    """The time at which the pause ends by itself; None for no end."""

    def has_ended(self, now: datetime) -> bool:
        """Return whether the pause has ended by itself.

        Args:
            now: The current time.
        """
        return self.until is not None and self.until <= now

    def applies_to(self, agent: str | None) -> bool:
        """Return whether the pause stops an agent; a pause of one agent does not stop code that is no agent.

        Args:
            agent: The name of the agent; None for code that is no agent.
        """
        return self.agent is None or self.agent == agent

    def __str__(self) -> str:
        what = "all agents are paused" if self.agent is None else f"agent {self.agent!r} is paused"
        return f"{what} by {self.by!r} since {self.since:%Y-%m-%d %H:%M %Z}: {self.reason}"


class PausePage(StrictModel):
    """The pauses in force, oldest first."""

    items: list[Pause]
    next: None


def pauses_in_force(journal: Journal | None, now: datetime) -> tuple[Pause, ...]:
    """Return the pauses in force, oldest first.

    Args:
        journal: The journal of a tenant; None if nobody has paused anything.
        now: The current time.

    Raises:
        UnreadableError: This version cannot read the state: everything counts as paused.
    """
    return tuple(pause for pause in read_pauses(journal) if not pause.has_ended(now))


def read_pauses(journal: Journal | None) -> tuple[Pause, ...]:
    """Return the pauses that nobody has ended, oldest first; see `pauses_in_force`."""
    if journal is None:
        return ()
    try:
        return tuple(Pause.model_validate(each) for each in journal.state[PAUSES])
    except (ValidationError, KeyError, TypeError) as error:
        raise UnreadableError(Journal.record, JOURNAL, str(error)) from error


def find_pause(pauses: Sequence[Pause], agent: str | None, now: datetime) -> Pause | None:
    """Return the first pause in force that stops an agent.

    Args:
        pauses: The pauses of its tenant.
        agent: The name of the agent; None for code that is no agent.
        now: The current time.
    """
    return next((each for each in pauses if each.applies_to(agent) and not each.has_ended(now)), None)


def paused_error(pause: Pause, clock: Clock) -> PausedError:
    """Return the error for a call of a paused agent.

    Args:
        pause: The pause.
        clock: Returns the current time.
    """
    seconds = (pause.until - clock()).total_seconds() if pause.until else MAX_SECONDS
    return PausedError(str(pause), min(max(seconds, 1.0), MAX_SECONDS))


def with_pause(journal: Journal, new: NewPause, id: str, by: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal with a pause and its event; unchanged and None if the same pause is in force.

    Args:
        journal: The journal of the tenant.
        new: The agent and the reason.
        id: The id of the pause.
        by: The name of the administrator.
        now: The current time.

    Raises:
        InvalidError: The pause would end before it begins.
    """
    if new.until is not None and new.until <= now:
        raise InvalidError.of("until", "is in the past: give a later time")
    pauses = pauses_in_force(journal, now)
    if find_same_pause(pauses, new, by):
        return journal, None
    pause = Pause(id=id, agent=new.agent, reason=new.reason, by=by, since=now, until=new.until)
    entry = {"pause": id, "agent": new.agent, "until": new.until, "reason": new.reason}
    return journal.written(entry, {PAUSES: [*pauses, pause]}, by=by, now=now)


def find_same_pause(pauses: Sequence[Pause], new: NewPause, by: str) -> Pause | None:
    """Return the pause that a repeated call has already begun."""
    wanted = (new.agent, new.reason, new.until, by)
    return next((each for each in pauses if (each.agent, each.reason, each.until, each.by) == wanted), None)


def without_pause(journal: Journal, id: str, by: str, now: datetime) -> tuple[Journal, Event]:
    """Return the journal without a pause, and its event.

    Args:
        journal: The journal of the tenant.
        id: The id of the pause.
        by: The name of the administrator.
        now: The current time.

    Raises:
        NotFoundError: No pause in force has this id.
    """
    pauses = pauses_in_force(journal, now)
    left = [each for each in pauses if each.id != id]
    if len(left) == len(pauses):
        raise NotFoundError("pause", id)
    return journal.written({"resume": id}, {PAUSES: left}, by=by, now=now)
