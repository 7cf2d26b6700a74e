"""Jobs by PGQueuer, in tables of the same database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Self
from weakref import WeakValueDictionary

import asyncpg
from pgqueuer import Queries, QueueManager
from pgqueuer.adapters.drivers.asyncpg import AsyncpgPoolDriver
from pgqueuer.domain.errors import FailingListenerError, PgqException, RetryRequested
from pgqueuer.domain.models import HealthCheckEvent
from pgqueuer.domain.models import Job as QueuedJob
from pgqueuer.ports.driver import NotifyCallback

from ringi.backends.postgres.database import DOWN, WRONG, Database, refusing
from ringi.base.failpoints import failpoint
from ringi.base.log_limit import limited
from ringi.contracts.jobs import ANNOUNCEMENT_KEPT_SECONDS, Handler, Job, Jobs
from ringi.errors import JobNotDueError, RingiError, UnavailableError

log = limited(__name__)
HEARTBEAT = timedelta(seconds=6)
"""The time until another worker may take the job of a dead worker."""
RETRY_SECONDS = (0.1, 2.0, 5.0, 10.0, 30.0)
"""Seconds until a failed job is tried again."""
POLL_INTERVAL = timedelta(seconds=0.5)
"""Maximum delay before a retry is noticed: PGQueuer notifies only of new jobs."""
BUSY_RETRY_SECONDS = (0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Seconds before a job checks its partition again; waiting in the worker would block other partitions."""
MAX_UNNOTIFIED = 2
"""Maximum unnotified workers that may finish their jobs beside the active one; each may keep a connection."""
AGAIN_SECONDS = 1.0
"""Seconds for which a worker waits after an outage before it takes jobs again."""
CHANGED = "table_changed_event"
"""The event name in PGQueuer's notifications of jobs."""
NO_STATISTICS = timedelta(0)
TRIM_SECONDS = 600.0
TRIM = "DELETE FROM pgqueuer_log WHERE created < now() - interval '1 day'"
"""PGQueuer logs each step of each job, and never deletes the log."""
TABLES = "SELECT pg_advisory_lock(hashtext('ringi jobs'), hashtext(current_schema()))"
LOCK = "SELECT pg_try_advisory_lock(hashtextextended('ringi lane ' || current_schema() || $1, 0))"
UNLOCK = "SELECT pg_advisory_unlock(hashtextextended('ringi lane ' || current_schema() || $1, 0))"

LEAD = """
WITH mine AS (
  INSERT INTO duties AS duty VALUES ($1, $2, clock_timestamp() + $3::interval)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
  WHERE duty.owner = excluded.owner OR duty.until <= clock_timestamp() OR duty.until > excluded.until RETURNING 1
)
SELECT CASE WHEN EXISTS (SELECT FROM mine) THEN 0.0 ELSE coalesce(
  (SELECT greatest(extract(epoch FROM until - clock_timestamp()), 0) FROM duties WHERE name = $1), 0
) + 0.001 END
"""

ANNOUNCE = """
WITH gone AS (
  DELETE FROM workers WHERE name <> $1 AND until <= clock_timestamp()
  AND (until <= clock_timestamp() - $4::interval OR offers = $2)
)
INSERT INTO workers VALUES ($1, clock_timestamp(), clock_timestamp() + $3::interval, $2)
ON CONFLICT (name) DO UPDATE SET until = excluded.until, offers = excluded.offers
"""


class PostgresJobs(Jobs):
    """PGQueuer distributes, renews and retries jobs; a partition is an advisory lock on a connection of the process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def __aenter__(self) -> Self:
        with refusing():
            # When many start at once, each waits until the others have checked.
            connection = await self._database.connect(lock_timeout="0")
            try:
                await make_tables(connection)
            finally:
                await connection.close()
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def submit(self, job: Job) -> None:
        await self.submit_all([job])

    async def submit_all(self, jobs: Sequence[Job]) -> None:
        with refusing():
            await Queries.from_asyncpg_pool(self._database.pool).enqueue(
                [job.kind for job in jobs],
                [job.model_dump_json(exclude={"attempts"}).encode() for job in jobs],
                [0] * len(jobs),
                dedupe_key=[job.key for job in jobs],
                headers=[{"lane": job.partition_key} for job in jobs],
                on_conflict="skip",
            )

    async def lead(self, duty: str, owner: str, seconds: float) -> float:
        ((wait,),) = await self._database.write(LEAD, duty, owner, timedelta(seconds=seconds))
        return float(wait)

    async def announce(self, worker: str, offers: str, seconds: float) -> None:
        retention = timedelta(seconds=ANNOUNCEMENT_KEPT_SECONDS)
        await self._database.write(ANNOUNCE, worker, offers, timedelta(seconds=seconds), retention)

    async def announced(self, ended_within: float = 0.0) -> list[str]:
        sql = "SELECT offers FROM workers WHERE until > clock_timestamp() - $1::interval ORDER BY since DESC, name"
        return [offers for (offers,) in await self._database.fetch(sql, timedelta(seconds=ended_within))]

    async def work(self, handle: Handler, *, kinds: Collection[str], concurrency: int, stop: asyncio.Event) -> None:
        trimming = asyncio.create_task(self._keep_trimming())
        try:
            while not stop.is_set():
                await self._work_until_lost(JobWorker(handle, kinds, concurrency), stop)
        finally:
            trimming.cancel()
            await asyncio.gather(trimming, return_exceptions=True)

    async def _work_until_lost(self, worker: JobWorker, stop: asyncio.Event) -> None:
        try:
            with refusing():
                async with PartitionLocks(self._database) as locks:
                    await worker.run(locks, self._database.pool, stop)
        except (RingiError, PgqException) as error:
            log.warning("no jobs are taken, trying again: %s", error)
            with suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), AGAIN_SECONDS)

    async def _keep_trimming(self) -> None:
        while True:
            try:
                await self._database.write(TRIM)
            except RingiError as error:
                log.warning("the log of jobs is not trimmed, trying again: %s", error)
            await asyncio.sleep(TRIM_SECONDS)


async def make_tables(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """Create or migrate PGQueuer's tables; of several processes that start at once, one does it."""
    queries = Queries.from_asyncpg_connection(connection)
    await connection.execute(TABLES)
    if await queries.schema_is_installed():
        await queries.upgrade()
    else:
        await queries.install()


class BusyPartitionError(Exception):
    """Another job of this partition is running."""


def delay_after(delays: Sequence[float], attempts: int) -> timedelta:
    """Return the delay after this number of attempts."""
    return timedelta(seconds=delays[min(attempts, len(delays) - 1)])


class PartitionLocks:
    """One job per partition at a time: by a lock in memory here, and by one in the database across processes.

    Locks belong to one connection. The database ends it after `HEARTBEAT` of silence: a suspended process would hold
    its
    partitions forever. The thread's fence stops a job that lost its partition with its connection.
    """

    def __init__(self, database: Database) -> None:
        self._database, self._querying = database, asyncio.Lock()
        self._connection: asyncpg.Connection[asyncpg.Record] | None = None
        # An entry lives as long as the lock is held or awaited.
        self._here: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        self._connection = await self._connected()
        self._keeping_alive = asyncio.create_task(self._keep_alive())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._keeping_alive.cancel()
        await asyncio.gather(self._keeping_alive, return_exceptions=True)
        if self._connection:
            self._connection.terminate()

    @asynccontextmanager
    async def hold(self, partition_key: str) -> AsyncIterator[None]:
        """Hold the partition, or raise `BusyPartitionError` while another job has it."""
        async with self._locked_here(partition_key):
            if not await self._query(LOCK, partition_key):
                raise BusyPartitionError
            try:
                yield
            finally:
                with suppress(*DOWN):
                    await self._query(UNLOCK, partition_key)

    @asynccontextmanager
    async def _locked_here(self, partition_key: str) -> AsyncIterator[None]:
        lock = self._here.setdefault(partition_key, asyncio.Lock())
        try:
            # A run that parks and is answered at once arrives while the previous job is still ending.
            async with asyncio.timeout(BUSY_RETRY_SECONDS[0]):
                await lock.acquire()
        except TimeoutError:
            raise BusyPartitionError from None
        try:
            yield
        finally:
            lock.release()

    async def _query(self, sql: str, partition_key: str) -> bool:
        async with self._querying:
            self._connection = await self._connected()
            return bool(await self._connection.fetchval(sql, partition_key))

    async def _connected(self) -> asyncpg.Connection[asyncpg.Record]:
        if self._connection and not self._connection.is_closed():
            return self._connection
        return await self._database.connect(idle_session_timeout=f"{HEARTBEAT.total_seconds() * 1000:.0f}")

    async def _keep_alive(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT.total_seconds() / 3)
            async with self._querying:
                with suppress(*DOWN, *WRONG, RingiError):
                    self._connection = await self._connected()
                    await self._connection.execute("SELECT 1")


class Driver(AsyncpgPoolDriver):
    """PGQueuer's driver with coalesced notifications; closing it sends nothing on a lost connection."""

    is_notified = False
    """True if a notification arrived since the queue last began to fetch jobs."""

    async def add_listener(self, channel: str, callback: NotifyCallback) -> None:
        def once(message: str | bytes | bytearray) -> None:
            if CHANGED not in str(message):
                callback(message)
            elif not self.is_notified:
                # PGQueuer queues each notification and fetches once for each, for minutes after a burst: one fetch is
                # enough.
                self.is_notified = True
                callback(message)

        await super().add_listener(channel, once)

    async def __aexit__(self, *_: object) -> None:
        try:
            await super().__aexit__()
        except (asyncpg.InterfaceError, asyncpg.InternalClientError, asyncpg.PostgresConnectionError, OSError):
            # It cannot be reset. The pool already has it back, or receives it closed.
            if self._listener_connection:
                with suppress(asyncpg.InterfaceError):
                    self._listener_connection.terminate()
            self._listener_connection = None


class FetchQueries(Queries):
    """PGQueuer's statements; the driver is told when a fetch of jobs begins."""

    async def dequeue(self, *args: Any, **kwargs: Any) -> list[QueuedJob]:
        """Return jobs to do; later notifications may refer to jobs that this fetch does not see."""
        if isinstance(self.driver, Driver):
            self.driver.is_notified = False
        return await super().dequeue(*args, **kwargs)


@dataclass
class Queue(QueueManager):
    """A PGQueuer queue that ends if notifications fail and few earlier queues are still finishing their jobs."""

    unnotified: set[asyncio.Task[None]] = field(default_factory=set)

    async def listener_healthy(self, timeout: timedelta = timedelta(seconds=10)) -> HealthCheckEvent:
        """Return the returned probe; raise `FailingListenerError` once this queue may end."""
        # PGQueuer sends the first probe while it begins to listen: an early probe is never received.
        for part in (0.1, 0.9):
            with suppress(FailingListenerError):
                return await super().listener_healthy(timeout * part)
        while len(self.unnotified) >= MAX_UNNOTIFIED:
            await asyncio.wait(self.unnotified, return_when=asyncio.FIRST_COMPLETED)
        raise FailingListenerError


class JobWorker:
    """Takes jobs until it is stopped; on cancellation it releases the jobs that it has begun."""

    def __init__(self, handle: Handler, kinds: Collection[str], concurrency: int) -> None:
        self._handle, self._kinds, self._concurrency = handle, kinds, concurrency
        self._slots = asyncio.Semaphore(concurrency)
        self._running = set[asyncio.Task[object]]()
        self._unnotified = set[asyncio.Task[None]]()

    async def run(self, locks: PartitionLocks, pool: asyncpg.Pool[asyncpg.Record], stop: asyncio.Event) -> None:
        """Take jobs until `stop`, then wait for running ones."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                await self._take(locks, pool, stopping)
            await asyncio.gather(*self._unnotified, return_exceptions=True)
        finally:
            for task in (stopping, *self._running, *self._unnotified):
                task.cancel()
            await asyncio.gather(stopping, *self._unnotified, return_exceptions=True)

    async def _take(
        self, locks: PartitionLocks, pool: asyncpg.Pool[asyncpg.Record], stopping: asyncio.Task[Any]
    ) -> None:
        """Take jobs until stopped, or until notifications fail; running jobs then continue by themselves."""
        queue = Queue(FetchQueries(Driver(pool)), unnotified=self._unnotified)
        for kind in self._kinds:
            queue.entrypoint(kind)(partial(self._do, locks))
        running, unnotified = asyncio.create_task(self._run(queue)), asyncio.create_task(queue.shutdown.wait())
        try:
            await asyncio.wait((running, stopping, unnotified), return_when=asyncio.FIRST_COMPLETED)
            queue.shutdown.set()
            if unnotified.done() and not stopping.done():
                log.warning("the connection for notifications of jobs was lost: opening another")
                self._unnotified.add(running)
                running.add_done_callback(self._ended)
            else:
                await running
        finally:
            unnotified.cancel()
            if running not in self._unnotified:
                for task in (*self._running, running):
                    task.cancel()
                await asyncio.gather(running, return_exceptions=True)

    def _ended(self, unnotified: asyncio.Task[None]) -> None:
        self._unnotified.discard(unnotified)
        error = None if unnotified.cancelled() else unnotified.exception()
        if error:
            log.warning("jobs of a lost connection are left to others: %s", error)

    async def _run(self, queue: Queue) -> None:
        batch = max(1, self._concurrency // 2)
        with suppress(FailingListenerError):
            await queue.run(
                POLL_INTERVAL,
                batch,
                max_concurrent_tasks=max(2 * batch, self._concurrency),
                shutdown_on_listener_failure=True,
                heartbeat_timeout=HEARTBEAT,
                log_aggregation_interval=NO_STATISTICS,
            )

    async def _do(self, locks: PartitionLocks, queued: QueuedJob) -> None:
        job = Job.model_validate_json(queued.payload or b"{}").model_copy(update={"attempts": queued.attempts})
        failpoint("job.after_claim")
        task = asyncio.current_task()
        if task:
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        try:
            async with locks.hold(job.partition_key), self._slots:
                await self._handle(job)
        except asyncio.CancelledError as error:
            raise RetryRequested(timedelta(0), "its worker ends") from error
        except BusyPartitionError as error:
            raise RetryRequested(delay_after(BUSY_RETRY_SECONDS, job.attempts), "its partition is busy") from error
        except JobNotDueError as error:
            raise RetryRequested(timedelta(seconds=error.seconds), str(error)) from error
        except (UnavailableError, *DOWN) as error:
            log.warning("job %s waits for the database: %s", job.key, error)
            raise RetryRequested(delay_after(BUSY_RETRY_SECONDS, job.attempts), "the database went away") from error
        except Exception as error:
            log.exception("job %s failed on attempt %s", job.key, job.attempts + 1)
            raise RetryRequested(delay_after(RETRY_SECONDS, job.attempts), str(error)) from error
