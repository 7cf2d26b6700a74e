"""A conversation with an agent that may take months: a pure state machine with a lease and a fence.

idle ──> running ──> interrupted ──> running ──> done | error | idle (cancelled)      then new runs error ──> running
(retried) | idle (abandoned)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from ringi.base.model import StrictModel, is_empty
from ringi.domain.record import DEFAULT_TENANT, SYSTEM, THREAD, Event, Key, Record
from ringi.errors import ConflictError, RingiError

Savers = Callable[["Thread"], Any]
"""Returns a LangGraph checkpointer for a thread as its worker acquired it; writes of other holders are rejected."""
ThreadStatus = Literal["idle", "running", "interrupted", "done", "error"]
TITLE = 80
"""The maximum length of a thread's title."""


class FenceError(RingiError):
    """A newer worker holds the thread; this one may neither commit nor write output."""

    code = "conflict"

    def __init__(self, id: str, fence: int) -> None:
        self.id, self.fence = id, fence
        super().__init__(f"thread {id!r}: fence {fence} is outdated: a newer worker took over")


class ModelCalls(StrictModel):
    """The calls of one model by one run."""

    model: str
    """The requested name of the model, else the name in its answer."""
    calls: int
    """The number of calls, failed ones included."""
    unreported_calls: int = 0
    """The calls for which the provider reported no tokens; they are not part of the sums."""
    input_tokens: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """The tokens that the model read, cached ones included; None if no call reported any."""
    cached_tokens: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """The part of `input_tokens` that the provider read from its cache; None if no call reported any."""
    output_tokens: int | None = Field(default=None, exclude_if=lambda value: value is None)
    """The tokens that the model wrote; None if no call reported any."""
    seconds: float
    """The sum of the durations of the calls; calls at the same time count each."""

    def plus(self, other: ModelCalls) -> ModelCalls:
        """Return the sum of two uses, under the name of this one."""
        sums: dict[str, Any] = {}
        for name in ("calls", "unreported_calls", "input_tokens", "cached_tokens", "output_tokens"):
            known = [number for number in (getattr(self, name), getattr(other, name)) if number is not None]
            sums[name] = sum(known) if known else None
        return ModelCalls(model=self.model, seconds=round(self.seconds + other.seconds, 3), **sums)


Usage = tuple[ModelCalls, ...]
"""The calls of models by a run."""


class Run(StrictModel):
    """One input to the agent and everything that follows from it, pauses included."""

    id: str
    traceparent: str | None = None
    """The OpenTelemetry span that started the run; None without tracing."""
    input: dict[str, Any]
    by: str | None = None
    """The person or agent that started the run; None if nobody is known."""
    subject: str = Field(default="", exclude_if=is_empty)
    """The issuer and the subject of the sign-in of who started the run; empty if only the name is known."""
    attempt: int = 0
    """The number of times that an operator retried the run after an error."""
    anew: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The requests that an operator had asked again: their previous answers no longer count."""
    back_to: str | None = Field(default=None, exclude_if=is_empty)
    """The checkpoint from which the run continues next, instead of the newest one."""


ATTENTION = "attention"
"""The code of the failure of a run whose answers no code of its agent has read: an operator has to act first."""


class Failure(StrictModel):
    """The cause of a run's error, for people."""

    message: str
    code: str
    answers: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The requests whose answers the run had just received: they can be asked again."""
    asked_at: str | None = Field(default=None, exclude_if=is_empty)
    """The checkpoint at which they were asked, if the run has passed it."""
    traceback: str | None = Field(default=None, exclude_if=is_empty)
    """The location of the failure in the code, for operators only."""


class Thread(Record):
    """The state of an agent's conversation, and the worker that may write to it."""

    record: ClassVar[str] = "thread"
    unchained: ClassVar[frozenset[str]] = Record.unchained | {"lease_until", "usage"}

    agent: str
    title: str | None = None
    """The beginning of the person's first message; None if the agent received no messages."""
    status: ThreadStatus = "idle"
    run: Run | None = None
    values: dict[str, Any] = {}
    error: Failure | None = None
    attention: str | None = None
    missed: tuple[str, ...] | None = None
    """The titles of questions that the present run tried to ask, but that its agent's own code swallowed."""
    reason: str | None = None
    """The reason given for the latest cancellation, retry or abandonment of a run."""
    started_by: str | None = None
    """The person or agent that started the thread; others may start its later runs."""
    updated_at: datetime
    owner: str | None = None
    fence: int = 0
    """Increases each time another worker acquires the thread; writes with an older fence are rejected."""
    lease_until: datetime | None = None
    attempts: int = Field(default=0, alias="tries")
    """The workers that started the present stretch of the run without releasing it; reset to 0 at each pause."""
    outages: int | None = None
    """The attempts not counted because the store was unavailable; reset to None at each pause."""
    images: tuple[int, ...] | None = Field(default=None, exclude_if=is_empty)
    """The numbers of the images in its messages. An unlisted image belongs to a run that never started."""
    usage: Usage | None = Field(default=None, exclude_if=is_empty)
    """The calls of models by the newest run. Renewals of the lease write it too, so only some events contain it."""

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
        """Return a new thread whose first run waits for a worker.

        Args:
            id: The id of the thread.
            agent: The name of the agent.
            run: The first run, with its input.
            by: The person or agent that starts the run.
            now: The current time.
            tenant: The tenant of the thread.
            images: The numbers of the images in the run's message, if any.

        Returns:
            The running thread without a holder, and its event, to be stored together.

        Raises:
            InvalidError: The input of the run is not portable JSON.
        """
        fields = {"agent": agent, "title": thread_title(run.input), "run": run, "started_by": by, "images": images}
        thread = cls(tenant=tenant, id=id, status="running", created_at=now, updated_at=now, **fields)
        return thread.created("started", by)

    @classmethod
    def without_run(
        cls, id: str, agent: str, *, by: str, now: datetime, tenant: str = DEFAULT_TENANT
    ) -> tuple[Self, Event]:
        """Return a new thread without a run, so that an erasure finds the data stored for the first run.

        Args:
            id: The id of the thread.
            agent: The name of the agent.
            by: The person or agent that is about to start the first run.
            now: The current time.
            tenant: The tenant of the thread.

        Returns:
            The idle thread and its event, to be stored together.
        """
        thread = cls(tenant=tenant, id=id, agent=agent, started_by=by, created_at=now, updated_at=now)
        return thread.created("reserved", by)

    @property
    def run_id(self) -> str | None:
        """The id of the newest run."""
        return self.run.id if self.run else None

    @property
    def parent(self) -> Key | None:
        """The thread whose run started this one."""
        by = self.started_by or ""
        return Key(self.tenant, by.removeprefix(THREAD)) if by.startswith(THREAD) else None

    @property
    def is_live(self) -> bool:
        """Return whether the run is in progress or waits for a person."""
        return self.status in ("running", "interrupted")

    @property
    def needs_attention(self) -> bool:
        """Return whether the run has failed, or cannot continue from its wait."""
        return self.status == "error" or (self.status == "interrupted" and self.attention is not None)

    def is_leased(self, now: datetime) -> bool:
        """Return whether a worker holds the thread now.

        Args:
            now: The current time; an expired lease does not count.
        """
        return self.owner is not None and self.lease_until is not None and self.lease_until > now

    def started(
        self, agent: str, run: Run, *, by: str, now: datetime, images: tuple[int, ...] = ()
    ) -> tuple[Self, Event]:
        """Return the thread with a new run, under a higher fence.

        Args:
            agent: The name of the agent.
            run: The new run, with its input.
            by: The person or agent that starts the run.
            now: The current time.
            images: The numbers of the images in the run's message.

        Raises:
            ConflictError: The thread is running or waits for a person (`busy`).
            InvalidError: The input of the run is not portable JSON.
        """
        if self.is_live:
            raise ConflictError.busy(self.id, self.status)
        fresh: dict[str, Any] = {"agent": agent, "title": self.title or thread_title(run.input), "run": run}
        # An erasure in progress uses the earlier fence: the higher fence keeps it from deleting the new run's data.
        fresh |= {"status": "running", "fence": self.fence + 1, "updated_at": now, **self._reset_attempts}
        fresh |= dict.fromkeys(("error", "attention", "reason", "erased"))
        fresh |= {name: None for name in ("missed", "usage") if getattr(self, name)}
        fresh |= {"images": (*(self.images or ()), *images)} if images else {}
        return self.changed("started", by, now, **fresh)

    def reserved(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return the thread under a higher fence, so that no run prepared before can start.

        Args:
            by: The person or agent that is about to start a run.
            now: The current time.
        """
        return self.changed("reserved", by, now, fence=self.fence + 1, erased=None, updated_at=now)

    def acquired(self, owner: str, now: datetime, lease: timedelta) -> tuple[Self, Event]:
        """Return the thread running and held by one worker, under a higher fence.

        Args:
            owner: The name of the holder, unique to this acquisition.
            now: The current time.
            lease: The duration of the lease; its end is not part of the event.

        Raises:
            ConflictError: The thread neither runs nor waits for people, or another worker holds it (`busy`).
        """
        if not self.is_live:
            raise ConflictError.busy(self.id, self.status)
        if self.is_leased(now):
            raise ConflictError.busy(self.id, f"held by another worker until {self.lease_until}")
        held = {"owner": owner, "fence": self.fence + 1, "status": "running", "attempts": self.attempts + 1}
        after, event = self.changed("acquired", owner, now, **held)
        return after.model_copy(update={"lease_until": now + lease}), event

    def renewed(self, held: Self, now: datetime, lease: timedelta, usage: Usage = ()) -> tuple[Self, None]:
        """Return the thread with a renewed lease; there is no event, because nothing happened.

        Args:
            held: The thread as the worker acquired it.
            now: The current time.
            lease: The duration of the lease from now.
            usage: The calls of models by the run so far.

        Raises:
            FenceError: The holder in `held` does not hold the thread any more.
        """
        self.refuse_old(held)
        until = {"version": self.version + 1, "lease_until": now + lease}
        return self.model_copy(update={**until, **_with_usage(usage)}), None

    def parked(self, held: Self, now: datetime, values: dict[str, Any], usage: Usage = ()) -> tuple[Self, Event]:
        """Return the thread waiting for people, without a worker.

        Args:
            held: The thread as the worker acquired it.
            now: The current time.
            values: The visible part of the agent's state, as plain JSON data.
            usage: The calls of models by the run so far.

        Raises:
            FenceError: The holder in `held` does not hold the thread any more.
            InvalidError: The values are not portable JSON.
        """
        left = {"values": values, **self._reset_attempts}
        return self._without_holder("interrupted", held, now, usage, status="interrupted", **left)

    def finished(self, held: Self, now: datetime, values: dict[str, Any], usage: Usage = ()) -> tuple[Self, Event]:
        """Return the thread with its run done, without a worker.

        Args:
            held: The thread as the worker acquired it.
            now: The current time.
            values: The visible part of the agent's final state, as plain JSON data.
            usage: The calls of models by the run.

        Raises:
            FenceError: The holder in `held` does not hold the thread any more.
            InvalidError: The values are not portable JSON.
        """
        return self._without_holder("done", held, now, usage, status="done", values=values, **self._reset_attempts)

    def failed(self, held: Self, now: datetime, error: Failure, usage: Usage = ()) -> tuple[Self, Event]:
        """Return the thread with its run ended by an error; new input may follow.

        Args:
            held: The thread as the worker acquired it.
            now: The current time.
            error: The cause, for people.
            usage: The calls of models by the run so far.

        Raises:
            FenceError: The holder in `held` does not hold the thread any more.
        """
        return self._without_holder("error", held, now, usage, status="error", error=error)

    def released(self, held: Self, now: datetime, usage: Usage = (), *, is_outage: bool = False) -> tuple[Self, Event]:
        """Return the thread running but free for another worker at once, in the same stretch.

        The worker's attempt no longer counts.

        Args:
            held: The thread as the worker acquired it.
            now: The current time.
            usage: The calls of models by the run so far.
            is_outage: True to count the attempt in `outages`, because the store was unavailable.

        Raises:
            FenceError: The holder in `held` does not hold the thread any more.
        """
        refund = self._without_attempt if is_outage else {"attempts": self.attempts - 1}
        return self._without_holder("given_back", held, now, usage, **refund, updated_at=self.updated_at)

    def attempt_refunded(self, owner: str, held: Self | None, now: datetime) -> tuple[Self, Event | None]:
        """Return the thread without the attempt of a worker that survived but could not reach the store.

        If another worker holds the thread now, that worker continues.

        Args:
            owner: The name under which the worker acquired the thread, or tried to.
            held: The thread as the worker acquired it; None if the worker never learned of it.
            now: The current time.

        Returns:
            The thread and its event; the thread unchanged and None if there is no attempt to refund.
        """
        if self.owner == owner:
            return self.released(self, now, is_outage=True)
        # The end or pause of a stretch sets this time and resets the attempts to 0.
        is_same_stretch = held and self.status == "running" and self.updated_at == held.updated_at
        if not held or not is_same_stretch or self.fence == held.fence:
            return self, None
        return self.changed("spared", owner, now, **self._without_attempt)

    def cancelled(self, by: str, now: datetime, reason: str | None = None) -> tuple[Self, Event]:
        """Return the thread idle under a higher fence, so that a worker that runs it stops.

        Args:
            by: The person or agent that cancels the run.
            now: The time of the cancellation.
            reason: The reason for the audit trail, if any.
        """
        return self._stopped("cancelled", by, now, reason=reason, **_with_usage(self.usage))

    def retried(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return the thread ready to continue: a failed run continues from its last state; a waiting run waits.

        Args:
            by: The name of the operator.
            now: The current time.
            reason: The reason for the audit trail, if any.
        """
        again: dict[str, Any] = {"attention": None, "reason": reason, "updated_at": now}
        if self.status == "error" and self.run:
            run = self.run.model_copy(update={"attempt": self.run.attempt + 1})
            again |= {"status": "running", "run": run, "error": None, **self._reset_attempts}
        return self.changed("retried", by, now, **again)

    def asked_again(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return the thread ready to repeat the questions whose answers made its run fail.

        Args:
            by: The name of the operator.
            now: The current time.
            reason: The reason for the audit trail, if any.

        Raises:
            ConflictError: The run has not failed, or had received no answer.
        """
        if self.status != "error" or not self.run or not self.error or not self.error.answers:
            what = f"thread {self.id!r} did not fail after an answer, so no question can be repeated"
            raise ConflictError(f"{what}: retry it instead")
        anew = (*self.run.anew, *self.error.answers)
        changes = {"attempt": self.run.attempt + 1, "anew": anew, "back_to": self.error.asked_at}
        again = {"status": "running", "run": self.run.model_copy(update=changes), "error": None, "attention": None}
        return self.changed("asked_again", by, now, **again, **self._reset_attempts, reason=reason, updated_at=now)

    def went_back(self, now: datetime) -> tuple[Self, Event]:
        """Return the thread after its run has returned to the checkpoint of its question.

        Args:
            now: The current time.
        """
        run = self.run.model_copy(update={"back_to": None}) if self.run else None
        return self.changed("went_back", self.owner or SYSTEM, now, run=run)

    def abandoned(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return the thread idle as after a cancellation, with the error of its run; the run is never continued.

        Args:
            by: The name of the operator.
            now: The current time.
            reason: The reason for the audit trail, if any.
        """
        return self._stopped("abandoned", by, now, reason=reason)

    def needing_attention(self, why: str | None, now: datetime) -> tuple[Self, Event]:
        """Return the thread with or without the mark for an operator.

        Args:
            why: The reason, for operators; None removes the mark.
            now: The current time.
        """
        return self.changed("attention", SYSTEM, now, attention=why)

    def without_images(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return the thread without listed images: their bytes are about to be erased.

        Args:
            by: The actor of the erasure.
            now: The time of the erasure.
        """
        return self.changed("images_erased", by, now, images=None)

    def missing(self, titles: tuple[str, ...], now: datetime) -> tuple[Self, Event]:
        """Return the thread with the questions that its run failed to ask; pending questions keep waiting.

        Args:
            titles: The titles of all such questions of the run; they replace the recorded ones.
            now: The current time.
        """
        return self.changed("missed", SYSTEM, now, missed=titles)

    def is_held_as(self, held: Self) -> bool:
        """Return whether the holder is unchanged since `held` was read.

        A store that lost its last commits can give one fence to two workers; their names always differ.

        Args:
            held: An earlier version of the thread.
        """
        return (self.fence, self.owner) == (held.fence, held.owner)

    def refuse_old(self, held: Self) -> None:
        """Check that the holder in `held` still holds the thread; the end of its lease is not checked.

        Args:
            held: The thread as the worker acquired it.

        Raises:
            FenceError: The thread has no holder, or another one.
        """
        if self.owner is None or not self.is_held_as(held):
            raise FenceError(self.id, held.fence)

    @property
    def _reset_attempts(self) -> dict[str, Any]:
        return {"attempts": 0, "outages": None} if self.outages else {"attempts": 0}

    @property
    def _without_attempt(self) -> dict[str, Any]:
        return {"attempts": max(0, self.attempts - 1), "outages": (self.outages or 0) + 1}

    def _stopped(self, type: str, by: str, now: datetime, **changes: object) -> tuple[Self, Event]:
        idle = {"status": "idle", "attention": None, "owner": None, "lease_until": None, **self._reset_attempts}
        return self.changed(type, by, now, **idle, fence=self.fence + 1, **changes, updated_at=now)

    def _without_holder(
        self, type: str, held: Self, now: datetime, usage: Usage, **changes: object
    ) -> tuple[Self, Event]:
        self.refuse_old(held)
        free = {"owner": None, "lease_until": None, "updated_at": now}
        return self.changed(type, self.owner or SYSTEM, now, **{**free, **changes, **_with_usage(usage)})


def _with_usage(usage: Usage | None) -> dict[str, Any]:
    """Return the change of a thread by a run with this usage; a run that called no model changes nothing."""
    return {"usage": usage} if usage else {}


@lru_cache(maxsize=1_000)
def checkpoint_thread(key: Key) -> str:
    """Return the checkpointer's thread id: a hash, so that equal ids of two tenants never collide."""
    return hashlib.sha256(f"{key.tenant}\0{key.id}".encode()).hexdigest()


def thread_state_streams(key: Key) -> tuple[Key, Key]:
    """Return the keys of the streams with the state of a thread whose framework has no checkpoints."""
    return Key(key.tenant, f"states/{key.id}/0"), Key(key.tenant, f"states/{key.id}/1")


def conversation_stream(key: Key) -> Key:
    """Return the key of the stream with a conversation that an application stores in a thread without runs."""
    return Key(key.tenant, f"conversations/{key.id}")


def thread_title(input: dict[str, Any]) -> str | None:
    """Return the first line of a person's first message, or of the query, shortened; None if there is neither."""
    query = input.get("query")
    texts = [message["content"] for message in user_texts_in_input(input)] + ([query] if isinstance(query, str) else [])
    words = next((words for each in texts if (words := each.strip())), None)
    if words is None:
        return None
    line: str = words.splitlines()[0]
    return line if len(line) <= TITLE else f"{line[: TITLE - 1].rstrip()}…"


def user_texts_in_input(input: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the text messages of people in a run's input; other inputs have none."""
    messages = input.get("messages")
    texts = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return [m for m in texts if m.get("role") == "user" and isinstance(m.get("content"), str)]
