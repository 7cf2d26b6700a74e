"""A run on a leased thread: its status updates and its release."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from ag_ui.core import UserMessage

from ringi.connect import Backend
from ringi.contracts.backend import Moment, OtherConflictError, StreamItem
from ringi.contracts.store import Change
from ringi.domain.record import SYSTEM, Event
from ringi.domain.request import Request
from ringi.domain.thread import ATTENTION, Failure, FenceError, Run, Thread, words_in
from ringi.errors import RingiError, UnavailableError
from ringi.files.images import IMAGES, named_by
from ringi.inbox.inbox import StoreInbox
from ringi.runs.cleanup import CANCELLED, close_orphans, notify_watchers, withdraw_requests
from ringi.runs.context import CallOutcomes
from ringi.runs.lease import Lease
from ringi.runs.messages import client_id
from ringi.runs.stream_writer import Emitter

log = logging.getLogger(__name__)
MAX_TOGETHER = 8
"""The number of requests that are saved in one transaction with their thread."""


def user_messages(run: Run) -> list[UserMessage]:
    """Return the user messages that began a run; empty if the input is not a conversation."""
    own = [(client_id(m.get("id") or f"{run.id}-{n}"), m, named_by(m)) for n, m in enumerate(words_in(run.input))]
    return [UserMessage(id=id, content=m["content"], metadata={IMAGES: f} if f else None) for id, m, f in own]


class RequestChange(NamedTuple):
    """A change of a request that is saved when its run settles."""

    change: Change
    announce: Callable[[], Awaitable[object]]
    """Called once the change was saved together with the thread."""
    save: Callable[[], Awaitable[object]]
    """Saves and announces the change alone, or keeps what others have made of the request."""


class LeasedRun:
    """The store, the stream and the requests of one thread under one lease."""

    def __init__(self, backend: Backend, inbox: StoreInbox, lease: Lease) -> None:
        assert lease.thread.run
        self.backend, self.inbox, self.lease, self.run = backend, inbox, lease, lease.thread.run
        self._changes: list[RequestChange] = []
        self.outcomes = CallOutcomes()
        identity = (lease.key, self.run.id, lease.fence)
        self.emitter = Emitter(
            backend.stream, backend.notifier, *identity, clock=inbox.clock, user_messages=user_messages(self.run)
        )

    @property
    def thread(self) -> Thread:
        """The thread as this worker knows it."""
        return self.lease.thread

    def add_change(self, change: RequestChange) -> None:
        """Collect a change of a request, which `settle` saves together with the thread."""
        self._changes.append(change)

    def acknowledge(self, request: Request) -> None:
        """Collect the change that the run has taken up the outcome of a request."""
        receipt = self.outcomes.take(request.id)
        after, event = request.acknowledged(SYSTEM, self.inbox.clock(), receipt)
        announce = partial(self.inbox.announce_change, request, after)
        save = partial(self.inbox.acknowledge, request.id, SYSTEM, receipt=receipt)
        self.add_change(RequestChange((after, event), announce, save))

    async def save_changes(self) -> None:
        """Save the collected changes one after another, because the run goes on."""
        while self._changes:
            await self._changes.pop(0).save()

    async def settle(self, step: Callable[[Thread], tuple[Thread, Event]]) -> bool:
        """Save the new version of the thread with the collected changes and output, and notify the watchers.

        Returns False, with the thread as it was, if a request has changed meanwhile: the run must look at it again.
        """
        is_settled = True
        for request in self.outcomes.approved_by_rules():
            self.acknowledge(request)

        async def save(items: Sequence[StreamItem]) -> None:
            nonlocal is_settled
            together = self.backend.put_together
            if together and len(self._changes) <= MAX_TOGETHER:
                others = [each.change for each in self._changes]
                try:
                    await self.lease.change(step, lambda thread, event: together(Moment(thread, event, items, others)))
                except OtherConflictError:
                    is_settled = False
                    await self.emitter.append(items)
                    await self.save_changes()
                    return
                while self._changes:
                    await self._changes.pop(0).announce()
            else:
                await self.save_changes()
                await self.emitter.append(items)
                await self.lease.change(step)

        await self.emitter.store(save)
        await notify_watchers(self.backend, self.thread)
        return is_settled

    async def fail(self, failure: Failure, read: Iterable[Request] = ()) -> None:
        """End the run with an error, and withdraw its open requests; `read` are those whose answers its code has read.

        The others that have ended are not acknowledged: they wait for an operator.
        """
        self._changes.clear()  # What it has not asked yet is not asked any more.
        for request in read:
            self.acknowledge(request)
        await self.save_changes()
        self.emitter.fail(failure.message, failure.code)
        await self.settle(lambda t: t.failed(self.thread, self.inbox.clock(), failure, self.lease.usage()))
        await close_orphans(self.backend, self.inbox, self.thread, self.outcomes.receipts)

    async def mark(self, why: str | None) -> None:
        """Mark the thread for an operator, or remove the mark."""
        await self.lease.change(lambda t: t.needing_attention(why, self.inbox.clock()))

    async def give_up(self, why: str) -> None:
        """Mark the run as failed, for an operator to inspect."""
        await self.emitter.take_over(has_fence=True)
        await self.stop(why)

    async def stop(self, why: str, answers: tuple[str, ...] = (), read: Iterable[Request] = ()) -> None:
        """End the run for an operator; `answers` are the requests whose answers no code of the agent has read."""
        await self.mark(why)
        await self.fail(Failure(message=why, code=ATTENTION, answers=answers), read)

    async def release(self, *, is_outage: bool) -> None:
        """Release the run to another worker at once; if that fails, it becomes available when the lease expires."""
        try:
            self.emitter.stop()
            await self.lease.change(
                lambda t: t.released(self.thread, self.inbox.clock(), self.lease.usage(), is_outage=is_outage)
            )
            await notify_watchers(self.backend, self.thread)
        except FenceError:
            await self.withdraw_after_loss()
        except RingiError as error:
            self.lease.is_cut_off = isinstance(error, UnavailableError)
            log.warning("thread %s stays held until its lease ends: %s", self.thread.id, error)

    async def withdraw_after_loss(self) -> None:
        """After the loss of a canceled thread, withdraw the requests that were created during the cancellation."""
        current = await self.backend.store.get(Thread, *self.lease.key)
        if current.run_id != self.run.id or current.status == "idle":
            await withdraw_requests(self.backend, self.inbox, self.thread, SYSTEM, CANCELLED)
