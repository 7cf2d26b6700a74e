"""A run on a leased thread: its status updates and its release."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from ag_ui.core import UserMessage

from ringi.connect import Backend
from ringi.contracts.stream import StreamItem
from ringi.domain.record import SYSTEM, Event
from ringi.domain.thread import Failure, Run, Thread, words_in
from ringi.errors import FenceError, RingiError, UnavailableError
from ringi.files.images import IMAGES, named_by
from ringi.inbox.inbox import Inbox
from ringi.runs.cleanup import CANCELLED, close_orphans, notify_watchers, withdraw_requests
from ringi.runs.lease import Lease
from ringi.runs.message_ids import client_id
from ringi.runs.stream_writer import Emitter

log = logging.getLogger(__name__)


def user_messages(run: Run) -> list[UserMessage]:
    """Return the user messages that began a run; empty if the input is not a conversation."""
    own = [(client_id(m.get("id") or f"{run.id}-{n}"), m) for n, m in enumerate(words_in(run.input))]
    return [UserMessage(id=id, content=m["content"], metadata=metadata_of(m)) for id, m in own]


def metadata_of(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return the metadata of a message: the images that it names."""
    files = named_by(message)
    return {IMAGES: files} if files else None


class LeasedRun:
    """The store, the stream and the requests of one thread under one lease."""

    def __init__(self, backend: Backend, inbox: Inbox, lease: Lease) -> None:
        assert lease.thread.run
        self.backend, self.inbox, self.lease, self.run = backend, inbox, lease, lease.thread.run
        identity = (lease.key, self.run.id, lease.fence)
        self.emitter = Emitter(
            backend.stream, backend.notifier, *identity, clock=inbox.clock, user_messages=user_messages(self.run)
        )

    @property
    def thread(self) -> Thread:
        """The thread as this worker knows it."""
        return self.lease.thread

    async def settle(self, step: Callable[[Thread], tuple[Thread, Event]]) -> None:
        """Save the new version of the thread with the collected output, and notify its watchers."""

        async def save(items: Sequence[StreamItem]) -> None:
            together = self.backend.put_with_items
            if items and together:
                await self.lease.change(step, lambda thread, event: together(thread, event, items))
            else:
                await self.emitter.append(items)
                await self.lease.change(step)

        await self.emitter.store(save)
        await notify_watchers(self.backend, self.thread)

    async def fail(self, failure: Failure) -> None:
        """End the run with an error, and withdraw its open requests."""
        self.emitter.fail(failure.message, failure.code)
        await self.settle(lambda t: t.failed(self.thread, self.inbox.clock(), failure))
        await close_orphans(self.backend, self.inbox, self.thread)

    async def mark(self, why: str | None) -> None:
        """Mark the thread for an operator, or remove the mark."""
        await self.lease.change(lambda t: t.needing_attention(why, self.inbox.clock()))

    async def give_up(self, why: str) -> None:
        """Mark the run as failed, for an operator to inspect."""
        await self.emitter.take_over(has_fence=True)
        await self.mark(why)
        await self.fail(Failure(message=why, code="attention"))

    async def release(self, *, is_outage: bool) -> None:
        """Release the run to another worker at once; if that fails, it becomes available when the lease expires."""
        try:
            self.emitter.stop()
            await self.lease.change(lambda t: t.released(self.thread, self.inbox.clock(), is_outage=is_outage))
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
