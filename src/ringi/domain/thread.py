"""A conversation with an agent that may take months: a pure state machine with a lease and a fence.

idle ──> running ──> interrupted ──> running ──> done | error | idle (cancelled)      and again
error ──> running (retried) | idle (abandoned)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from ringi.domain.record import DEFAULT_TENANT, SYSTEM, THREAD, Event, Frozen, Key, Record
from ringi.errors import ConflictError, FenceError, ThreadBusyError

Savers = Callable[["Thread"], Any]
"""From a thread as its worker took it to a LangGraph checkpointer that writes for no other holder."""
ThreadStatus = Literal["idle", "running", "interrupted", "done", "error"]
TITLE = 80
"""So long is what names a thread, at most."""


def is_empty(value: object) -> bool:
    """Whether a field says nothing; then it is not stored."""
    return not value


class Run(Frozen):
    """One input to the agent and everything that follows from it, pauses included."""

    id: str
    traceparent: str | None = None
    """The OpenTelemetry span that started it; None where nobody traces."""
    input: dict[str, Any]
    by: str | None = None
    """Who started it; None in what was stored before this was kept."""
    attempt: int = 0
    """How often an operator had it go on after an error."""
    anew: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The requests that an operator had asked again: their answers do not count any more."""
    back_to: str | None = Field(default=None, exclude_if=is_empty)
    """The checkpoint from which it goes on next, in place of its newest one."""


class Failure(Frozen):
    """Why a run ended in an error, for people."""

    message: str
    code: str
    answers: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The requests whose answers the run had just been given: they can be asked again."""
    asked_at: str | None = Field(default=None, exclude_if=is_empty)
    """The checkpoint at which they were asked, if the run has got beyond it."""
    traceback: str | None = Field(default=None, exclude_if=is_empty)
    """Where the code failed, for operators only."""


class Thread(Record):
    """Where an agent's conversation stands, and which worker may write to it."""

    record: ClassVar[str] = "thread"
    unchained: ClassVar[frozenset[str]] = Record.unchained | {"lease_until"}

    agent: str
    title: str | None = None
    """The beginning of what a person said first; None where the agent was given no messages."""
    status: ThreadStatus = "idle"
    run: Run | None = None
    values: dict[str, Any] = {}
    error: Failure | None = None
    attention: str | None = None
    missed: tuple[str, ...] | None = None
    """The titles of what the present run meant to ask, and its agent's own code kept from being asked."""
    reason: str | None = None
    """What was said when a run was last cancelled, retried or abandoned."""
    started_by: str | None = None
    """Who began the thread; its later runs may be another's."""
    updated_at: datetime
    owner: str | None = None
    fence: int = 0
    """Rises each time another worker takes the thread; what carries an older one is refused."""
    lease_until: datetime | None = None
    tries: int = 0
    """How many workers have begun the present stretch of the run and not let go of it; 0 again after each pause."""
    outages: int | None = None
    """How many of them lived, and did not count because the store was away; None again after each pause."""
    images: tuple[int, ...] | None = Field(default=None, exclude_if=is_empty)
    """The numbers of the images in its messages. An image that is not listed here is one whose run never began."""

    @classmethod
    def begun(
        cls,
        id: str,
        agent: str,
        run: Run,
        *,
        by: str,
        now: datetime,
        tenant: str = DEFAULT_TENANT,
        images: tuple[int, ...] | None = None,
    ) -> tuple[Self, Event]:
        """Return a new thread whose first run waits for a worker; its message has these images."""
        told = {"agent": agent, "title": title_of(run.input), "run": run, "started_by": by, "images": images}
        thread = cls(tenant=tenant, id=id, status="running", created_at=now, updated_at=now, **told)
        return thread.created("started", by)

    @classmethod
    def without_run(
        cls, id: str, agent: str, *, by: str, now: datetime, tenant: str = DEFAULT_TENANT
    ) -> tuple[Self, Event]:
        """Return a new thread that has no run yet: an erasure finds what is stored for its first one."""
        thread = cls(tenant=tenant, id=id, agent=agent, started_by=by, created_at=now, updated_at=now)
        return thread.created("reserved", by)

    @property
    def run_id(self) -> str | None:
        """The id of the newest run."""
        return self.run.id if self.run else None

    @property
    def parent(self) -> Key | None:
        """The thread whose run began it."""
        by = self.started_by or ""
        return Key(self.tenant, by.removeprefix(THREAD)) if by.startswith(THREAD) else None

    @property
    def is_live(self) -> bool:
        """Whether its run goes on, or waits for a person."""
        return self.status in ("running", "interrupted")

    @property
    def needs_attention(self) -> bool:
        """Whether its run has failed, or cannot go on from where it waits."""
        return self.status == "error" or (self.status == "interrupted" and self.attention is not None)

    def is_leased(self, now: datetime) -> bool:
        """Whether some worker holds it now."""
        return self.owner is not None and self.lease_until is not None and self.lease_until > now

    def started(
        self, agent: str, run: Run, *, by: str, now: datetime, images: tuple[int, ...] = ()
    ) -> tuple[Self, Event]:
        """Return it with a new run, whose message has these images.

        Raises `ThreadBusyError` while it runs or waits for a person.
        """
        if self.is_live:
            raise ThreadBusyError(self.id, self.status)
        title = self.title or title_of(run.input)
        told = {"agent": agent, "title": title, "run": run}
        known: dict[str, Any] = {"missed": None} if self.missed else {}
        known |= {"images": (*(self.images or ()), *images)} if images else {}
        fresh = {**told, **known, "status": "running", "error": None, "attention": None, **self._afresh}
        # An erasure that began before works under the fence of then: it must not take away what comes now.
        fence = self.fence + 1
        return self.changed("started", by, now, **fresh, fence=fence, reason=None, erased=None, updated_at=now)

    def reserved(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return it under a higher fence, so that no run that was to begin before can begin any more."""
        return self.changed("reserved", by, now, fence=self.fence + 1, erased=None, updated_at=now)

    def acquired(self, owner: str, now: datetime, lease: timedelta) -> tuple[Self, Event]:
        """Return it held by one worker under a higher fence, running."""
        if not self.is_live:
            raise ThreadBusyError(self.id, self.status)
        if self.is_leased(now):
            raise ThreadBusyError(self.id, f"held by another worker until {self.lease_until}")
        held = {"owner": owner, "fence": self.fence + 1, "status": "running", "tries": self.tries + 1}
        after, event = self.changed("acquired", owner, now, **held)
        return after.model_copy(update={"lease_until": now + lease}), event

    def renewed(self, held: Self, now: datetime, lease: timedelta) -> tuple[Self, None]:
        """Return it held for longer; no event, for nothing happened."""
        self.refuse_old(held)
        return self.model_copy(update={"version": self.version + 1, "lease_until": now + lease}), None

    def parked(self, held: Self, now: datetime, values: dict[str, Any]) -> tuple[Self, Event]:
        """Return it waiting for people, held by nobody."""
        return self._let_go("interrupted", held, now, status="interrupted", values=values, **self._afresh)

    def finished(self, held: Self, now: datetime, values: dict[str, Any]) -> tuple[Self, Event]:
        """Return it with its run at the end."""
        return self._let_go("done", held, now, status="done", values=values, **self._afresh)

    def failed(self, held: Self, now: datetime, error: Failure) -> tuple[Self, Event]:
        """Return it with its run ended by an error; new input may follow."""
        return self._let_go("error", held, now, status="error", error=error)

    def released(self, held: Self, now: datetime, *, is_outage: bool = False) -> tuple[Self, Event]:
        """Return it still running but free for another worker at once, in the same stretch."""
        spared = self._without_try if is_outage else {"tries": self.tries - 1}
        return self._let_go("given_back", held, now, **spared, updated_at=self.updated_at)

    def attempt_refunded(self, owner: str, held: Self | None, now: datetime) -> tuple[Self, Event | None]:
        """Return it without the try of a worker that lives: it could not reach the store.

        `held` is the thread as it took it, None if it never learned that it had. Whoever holds it now goes on.
        """
        if self.owner == owner:
            return self.released(self, now, is_outage=True)
        # What ends or pauses a stretch sets this time, and the tries to 0.
        is_same_stretch = held and self.status == "running" and self.updated_at == held.updated_at
        if not held or not is_same_stretch or self.fence == held.fence:
            return self, None
        return self.changed("spared", owner, now, **self._without_try)

    def cancelled(self, by: str, now: datetime, reason: str | None = None) -> tuple[Self, Event]:
        """Return it idle under a higher fence, so that whoever runs it stops."""
        return self._stopped("cancelled", by, now, reason=reason)

    def retried(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return it fit to go on: a run that failed runs again, from where it stood; one that waits just waits."""
        again: dict[str, Any] = {"attention": None, "reason": reason, "updated_at": now}
        if self.status == "error" and self.run:
            run = self.run.model_copy(update={"attempt": self.run.attempt + 1})
            again |= {"status": "running", "run": run, "error": None, **self._afresh}
        return self.changed("retried", by, now, **again)

    def asked_again(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return it fit to ask anew what it failed on; raises `ConflictError` unless it failed on an answer."""
        if self.status != "error" or not self.run or not self.error or not self.error.answers:
            raise ConflictError.not_answered(self.id)
        anew = (*self.run.anew, *self.error.answers)
        run = self.run.model_copy(
            update={"attempt": self.run.attempt + 1, "anew": anew, "back_to": self.error.asked_at}
        )
        again = {"status": "running", "run": run, "error": None, "attention": None, "reason": reason, **self._afresh}
        return self.changed("asked_again", by, now, **again, updated_at=now)

    def went_back(self, now: datetime) -> tuple[Self, Event]:
        """Return it as it stands once its run is back at the checkpoint of its question."""
        run = self.run.model_copy(update={"back_to": None}) if self.run else None
        return self.changed("went_back", self.owner or SYSTEM, now, run=run)

    def abandoned(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return it idle as after a cancel, with the error that its run had: nobody goes on with it."""
        return self._stopped("abandoned", by, now, reason=reason)

    def needing_attention(self, why: str | None, now: datetime) -> tuple[Self, Event]:
        """Return it marked for an operator, or no longer so."""
        return self.changed("attention", SYSTEM, now, attention=why)

    def without_images(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return it with no images listed: their bytes are about to be erased."""
        return self.changed("images_erased", by, now, images=None)

    def missing(self, titles: tuple[str, ...], now: datetime) -> tuple[Self, Event]:
        """Return it with what its run has not asked; what waits goes on waiting."""
        return self.changed("missed", SYSTEM, now, missed=titles)

    def is_held_as(self, held: Self) -> bool:
        """Whether nobody has taken it over, or let go of it, since it was like this.

        A store that lost its last commits gives one fence to two workers; their names are never the same.
        """
        return (self.fence, self.owner) == (held.fence, held.owner)

    def refuse_old(self, held: Self) -> None:
        """Raise `FenceError` unless it is held, and by whom it was held then."""
        if self.owner is None or not self.is_held_as(held):
            raise FenceError(self.id, held.fence)

    @property
    def _afresh(self) -> dict[str, Any]:
        return {"tries": 0, "outages": None} if self.outages else {"tries": 0}

    @property
    def _without_try(self) -> dict[str, Any]:
        return {"tries": max(0, self.tries - 1), "outages": (self.outages or 0) + 1}

    def _stopped(self, type: str, by: str, now: datetime, **changes: Any) -> tuple[Self, Event]:
        idle = {"status": "idle", "attention": None, "owner": None, "lease_until": None, **self._afresh}
        return self.changed(type, by, now, **idle, fence=self.fence + 1, **changes, updated_at=now)

    def _let_go(self, type: str, held: Self, now: datetime, **changes: Any) -> tuple[Self, Event]:
        self.refuse_old(held)
        free = {"owner": None, "lease_until": None, "updated_at": now}
        return self.changed(type, self.owner or SYSTEM, now, **{**free, **changes})


def checkpoint_thread(key: Key) -> str:
    """Return the checkpointer's thread id: a hash, so that equal names of two tenants never meet."""
    return hashlib.sha256(f"{key.tenant}\0{key.id}".encode()).hexdigest()


def title_of(input: dict[str, Any]) -> str | None:
    """Return the first line of what a person says first in an input, or asks, shortened; None where nobody does."""
    asked = input.get("query")
    said = [message["content"] for message in words_in(input)] + ([asked] if isinstance(asked, str) else [])
    words = next((words for each in said if (words := each.strip())), None)
    if words is None:
        return None
    line: str = words.splitlines()[0]
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def words_in(input: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages in which people say something, in words, of a run's input; other inputs have none."""
    messages = input.get("messages")
    said = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return [m for m in said if m.get("role") == "user" and isinstance(m.get("content"), str)]
