"""What a backend implements besides its store: streams, notifications and jobs."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypeAlias

from pydantic import Field

from ringi.base.clock import Clock, utc_now
from ringi.base.model import StrictModel
from ringi.contracts.store import Change, Store
from ringi.domain.events import FINAL_EVENTS, FeedEventName
from ringi.domain.record import Event, Key
from ringi.domain.request import Request
from ringi.domain.thread import Savers, Thread
from ringi.errors import RingiError

AgentStores = Callable[..., Any]
"""Returns LangGraph's store for a tenant and an agent name; without a name, the store for all agents."""
EVENTS, JOBS, EXPIRY, REVOCATIONS, STRANDED = "events", "jobs", "expiry", "revoked", "stranded"
"""The topics of new events, due jobs, overdue requests, revoked tokens, and runs that should continue."""
ABSENCES = "away"
"""The topic of people who left or came back."""
RUN, RESUME = "run", "resume"
"""The kinds of the two run jobs: `run` starts or continues a thread's run, `resume` passes it an ended request."""


class JobNotDueError(RingiError):
    """A job is not due yet: its handler is called again after `seconds`. This is not a failure."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"not due for another {seconds:g} s")


class OtherConflictError(Exception):
    """A record that was to be saved together with a thread has changed."""


class Moment(NamedTuple):
    """The next version of a thread, and what is saved with it."""

    thread: Thread
    event: Event | None
    items: Sequence[StreamItem] | None = None
    """New items of the thread's stream, appended under the fence of this version; None leaves the stream and its fence
    as they are.
    """
    others: Sequence[Change] = ()
    """Next versions of other records. Their events precede that of the thread."""
    jobs: Sequence[Job] = ()
    """New jobs; one with the key of an unfinished job is dropped."""
    done: Job | None = None
    """A claimed job that this change finishes."""
    prunes: bool = False
    """Whether the checkpoints of the thread that no run needs are deleted too; if that fails, they stay until its next
    run. None of its steps is pending.
    """


PutTogether: TypeAlias = Callable[[Moment], Awaitable[bool]]
"""Saves a moment as `Store.put` saves a record, in one transaction: all of it or nothing.

Returns whether another job with the partition or concurrency key of the finished one may be due.

Raises `ConflictError` if the stored version of the thread is not exactly one less, `OtherConflictError` if that of
another record is not, and `FenceError` if a higher fence was used on the stream before.
"""


@dataclass(frozen=True)
class Backend:
    """The open services behind one URL."""

    url: str
    store: Store
    notifier: Notifier
    stream: Stream
    jobs: Jobs
    savers: Savers
    durability: str | None = None
    """The failures that an acknowledged change survives, if the server has a setting for it."""
    clock: Clock = utc_now
    """The clock for deadlines: the store's time if several machines share the store, else this machine's time."""
    runs_agents: bool = True
    """True if the store has what runs need: a checkpointer."""
    another_store: Callable[[], AbstractAsyncContextManager[Store]] | None = None
    """Opens the store again, for a thread with its own event loop; None if the store holds no leases."""
    agent_stores: AgentStores | None = None
    """The data that agents keep beyond their threads; None if agents cannot run."""
    put_together: PutTogether | None = None
    """Saves a thread with items, records and jobs in one transaction; None if the parts of the store share none."""

    async def put_fenced(self, thread: Thread, event: Event | None) -> None:
        """Save the next version of a thread, and set the fence of its stream to that of the thread.

        Args:
            thread: The next version.
            event: The event of this change.

        Raises:
            ConflictError: The stored version is not exactly one less.
            FenceError: A higher fence was used on the stream before.
        """
        if self.put_together:
            await self.put_together(Moment(thread, event, items=()))
        else:
            await self.store.put(thread, event)
            await self.stream.append(thread.key, (), fence=thread.fence)


class StreamItem(NamedTuple):
    """One item of output. `origin` identifies the step of the run that produced it; it is internal."""

    event: dict[str, Any]
    origin: str | None = None
    number: int = 0
    """1, 2, 3 … without gaps; assigned by the stream."""


class Stream(ABC):
    """Numbered items per key, kept until they are deleted."""

    @abstractmethod
    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        """Append items durably and atomically.

        Args:
            key: The key of the stream.
            items: The items to append; an empty sequence only records the fence.
            fence: The fence of the writer.

        Returns:
            The number of the last item.

        Raises:
            FenceError: A higher fence was used on this key before, even by an append without items.
        """

    @abstractmethod
    async def delete(self, key: Key, *, fence: int) -> int:
        """Delete all items permanently; later items continue the numbering.

        Args:
            key: The key of the stream.
            fence: The fence of the caller.

        Returns:
            The number of the last item.

        Raises:
            FenceError: A higher fence was used on this key before.
        """

    @abstractmethod
    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        """Delete all items permanently and append others, in one transaction; the fence stays.

        Args:
            key: The key of the stream.
            items: The items to append; their numbers continue the numbering.
            last: The number of the last item that the caller has read; 0 for an unknown key.

        Returns:
            The number of the last item.

        Raises:
            ConflictError: Another item was the last one; nothing was changed.
        """

    @abstractmethod
    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        """Return items in order; none for an unknown key.

        Args:
            key: The key of the stream.
            after: The number after which to read.
            limit: The maximum number of items.
        """

    @abstractmethod
    async def read_last(self, key: Key, limit: int, before: int | None = None) -> list[StreamItem]:
        """Return the last items, in order; none for an unknown key.

        Args:
            key: The key of the stream.
            limit: The maximum number of items.
            before: The number before which to read; None for the end of the stream.
        """


async def read_whole_stream(stream: Stream, key: Key, page_size: int = 500) -> list[StreamItem]:
    """Return all items of a key, read in pages.

    Args:
        stream: The streams of a store.
        key: The key of the stream.
        page_size: The maximum number of items of one page.
    """
    items: list[StreamItem] = []
    while page := await stream.read(key, items[-1].number if items else 0, page_size):
        items += page
    return items


class Wakeup:
    """A signal that stays set until the next wait."""

    __slots__ = ("_is_set", "_waiter")

    def __init__(self) -> None:
        self._is_set = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self, items: Sequence[StreamItem] = ()) -> None:
        """Wake the waiter, or else the next one.

        Args:
            items: The items that the topic's stream has gained, if known; a listener that uses them need not wake.
        """
        self._is_set = True
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def wait(self, timeout: float | None) -> bool:
        """Wait for the signal and clear it.

        Args:
            timeout: Seconds to wait; None waits without a limit.

        Returns:
            True if the signal was set, False after `timeout` seconds without a signal.
        """
        if not self._is_set and (timeout is None or timeout > 0):
            self._waiter = asyncio.get_running_loop().create_future()
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._waiter
        was_set, self._is_set = self._is_set, False
        return was_set


class Subscription:
    """A listener of one topic for the duration of an `async with` block.

    Args:
        listeners: The listeners by topic; the block adds its own, and removes it at its end.
        topic: The topic.
        wakeup: The listener.
    """

    __slots__ = ("_listeners", "_topic", "_wakeup")

    def __init__(self, listeners: dict[str, set[Wakeup]], topic: str, wakeup: Wakeup | None = None) -> None:
        self._listeners, self._topic, self._wakeup = listeners, topic, wakeup or Wakeup()

    async def __aenter__(self) -> Wakeup:
        self._listeners[self._topic].add(self._wakeup)
        return self._wakeup

    async def __aexit__(self, *_: object) -> None:
        listeners = self._listeners[self._topic]
        listeners.discard(self._wakeup)
        if not listeners:
            del self._listeners[self._topic]


class Notifier(ABC):
    """Wakes the listeners of a topic, in this process and in others."""

    recheck_after: float
    """Seconds after which a listener without a signal must read the store."""
    pulse_after: float
    """The same for listeners of the topics above: longer if the store itself looks for them."""
    is_leader: bool = False
    """True while this process looks for runs that should continue; one process per store does."""
    lost: int = 0
    """The number of failed publications. Their listeners wake by polling. Exposed as a metric."""

    def __init__(self, recheck_after: float) -> None:
        self.recheck_after = self.pulse_after = recheck_after
        self._listeners: dict[str, set[Wakeup]] = defaultdict(set)

    @abstractmethod
    async def publish(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        """Notify all processes. A notification may be lost; a topic without listeners is no error.

        Args:
            topic: The topic that changed.
            items: The stored items that the topic's stream has gained. Only listeners in this process receive them.
        """

    def subscribe(self, topic: str, wakeup: Wakeup | None = None) -> Subscription:
        """Return an `async with` block that yields the topic's `Wakeup`.

        Args:
            topic: The topic to listen to.
            wakeup: The listener; by default a new one.
        """
        return Subscription(self._listeners, topic, wakeup)

    def wake(self, topic: str, items: Sequence[StreamItem] = ()) -> None:
        """Wake the listeners of a topic in this process.

        Args:
            topic: The topic that changed.
            items: The items that the topic's stream has gained, if known.
        """
        for wakeup in self._listeners.get(topic, ()):
            wakeup.set(items)

    def wake_all(self, except_prefixes: tuple[str, ...] = ()) -> None:
        """Wake the listeners in this process if the changed topic is unknown.

        Args:
            except_prefixes: Prefixes of the topics whose listeners are not woken.
        """
        for topic in [topic for topic in self._listeners if not topic.startswith(except_prefixes)]:
            self.wake(topic)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


class Job(StrictModel):
    """One unit of work. A handler must first check whether the work is already done."""

    key: str
    """Unique among unfinished jobs."""
    kind: str
    partition_key: str = Field(alias="lane")
    """Jobs with the same partition key run one after another."""
    concurrency_key: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """At most `MAX_CONCURRENT` jobs with the same concurrency key run at once, of all workers; retries come first."""
    payload: dict[str, Any] = {}
    attempts: int = 0
    """The number of earlier attempts."""


class JobCounts(NamedTuple):
    """The numbers of unfinished jobs of one kind with one concurrency key."""

    kind: str
    concurrency_key: str
    waiting: int
    """Jobs before their first attempt."""
    running: int
    retrying: int
    """Jobs that wait for another attempt."""


JobHandler = Callable[[Job], Awaitable[bool | None]]
"""Does a job. Returns None; or, if the handler has finished it with its last change, what that change returned."""
MAX_CONCURRENT = 8
RUNNER = "langgraph"
"""The runner in the continuation of a request that a run waits for."""
WAKING = frozenset[FeedEventName]((*FINAL_EVENTS, "request.retried"))
"""The events of requests after which a run may go on."""

ANNOUNCEMENT_KEPT_SECONDS = 86_400.0
"""Seconds for which the announcement of a worker is kept after the worker ended."""


class Jobs(ABC):
    """Delivers each job to some worker at least once. The reconciler recreates jobs that the queue loses."""

    @abstractmethod
    async def submit(self, job: Job) -> None:
        """Save the job durably; do nothing if an unfinished job has the same key.

        Args:
            job: The job to save.
        """

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        """Submit several jobs concurrently.

        Args:
            jobs: The jobs to save.
        """
        await asyncio.gather(*(self.submit(job) for job in jobs))

    async def lead(self, duty: str, owner: str, seconds: float) -> float:
        """Acquire or renew a duty that one process at a time performs.

        By default every caller holds the duty. A queue that several processes share grants it to one of them.

        Args:
            duty: The name of the duty.
            owner: The name of the process that asks.
            seconds: How long the grant lasts, from now.

        Returns:
            0 if `owner` holds the duty, else the seconds after which to ask again.
        """
        return 0.0

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        """Announce the work that a worker offers.

        By default the announcement is dropped: only a queue that several processes share needs to pass it on.

        Args:
            worker: The name of the worker.
            offers: The work that the worker offers.
            seconds: How long the announcement is valid, from now; 0 announces the worker's end.
        """

    async def announced(self, ended_within: float = 0.0) -> list[str]:
        """Return the current announcements of workers.

        The last announcement of an ended worker is kept for a day, unless another worker announces the same.

        Args:
            ended_within: Seconds; also return announcements that were valid until this long ago.

        Returns:
            The `offers` of the announcements; the worker that started last comes first.
        """
        return []

    @abstractmethod
    async def counts(self) -> list[JobCounts]:
        """Count the unfinished jobs that have a concurrency key, by kind and key."""

    @abstractmethod
    async def work(
        self,
        handle: JobHandler,
        *,
        kinds: Collection[str],
        concurrency: int,
        stop: asyncio.Event,
        reserve: int = 0,
        takes_new: Callable[[Job], bool] | None = None,
    ) -> None:
        """Do jobs of these kinds until `stop` is set, then wait for the jobs in progress.

        If a handler raises, the job is retried with growing delays, or at the time that its `JobNotDueError` gives.
        If a worker dies, other workers take over its jobs. A job that waits for a retry does not block the others
        with its partition key.

        Args:
            handle: The function that does one job.
            kinds: The kinds of jobs to take.
            concurrency: The maximum number of jobs at once.
            stop: Ends the work when it is set.
            reserve: The number of places that a job with a concurrency key takes only if no job with this key is
                running and the last one here did not fail.
            takes_new: Whether this process takes a job right as it saves it; None leaves new jobs to whoever is first.
        """


def job_partition_key(tenant: str, thread_id: str) -> str:
    """Return the partition key of a thread's jobs. It must never change: stores look it up in their job tables."""
    return f"{tenant}/{thread_id}"


def resume_job_key(tenant: str, request_id: str) -> str:
    """Return the key of the job that passes an ended request to its run. Stores look it up too."""
    return f"{RESUME}:{tenant}/{request_id}"


def resumes_run(request: Request) -> bool:
    """Return True if a run waits for the request.

    Args:
        request: The request.
    """
    return request.continuation is not None and request.continuation.runner == RUNNER


def run_resume_job(request: Request) -> Job:
    """Return the job that passes an ended request to its run."""
    assert request.continuation
    thread = Key(request.tenant, request.continuation.key)
    return thread_job(RESUME, resume_job_key(request.tenant, request.id), thread, request.continuation.target)


def thread_job(kind: str, key: str, thread: Key, agent: str) -> Job:
    """Return a job for the worker of a thread."""
    payload = {"tenant": thread.tenant, "thread": thread.id, "agent": agent}
    return Job(key=key, kind=kind, partition_key=job_partition_key(*thread), payload=payload)


def wake_up_jobs(changes: Iterable[Change]) -> list[Job]:
    """Return the jobs for the runs that go on after some changes; a store saves them in the same transaction."""
    return [
        run_resume_job(record)
        for record, event in changes
        if event and event.type in WAKING and isinstance(record, Request)
        if record.is_unacknowledged and resumes_run(record)
    ]
