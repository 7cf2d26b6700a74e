"""One SQLite file: a thread that writes in groups, a thread that reads, and a guard that sees when the file is lost.

A scrubber removes all traces of erased data from the file and its log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, Self, TypeVar

from ringi.backends.migrations import LISTED, StoreSchema, backend_migrations, refuse_unusable_schema
from ringi.base.settings import SettingError
from ringi.contracts.store import ClosedError
from ringi.errors import UnavailableError

log = logging.getLogger(__name__)


class FileGuard:
    """Compares the files of a database with those that this process opened.

    SQLite continues to write to an unlinked file: data acknowledged then is lost with the process.
    Once a file is lost, the database refuses all operations until the process is restarted.
    """

    def __init__(self, path: Path, connect: Callable[[], sqlite3.Connection]) -> None:
        self._path, self._connect = path, connect
        self._opened = file_identity(path)
        self._wal_path, self._wal, self._size = path, self._opened, 0
        self._why: str | None = None
        self._losing = threading.Lock()
        self._is_rescued = False

    def begin(self, writing: sqlite3.Connection) -> None:
        """Record the files that a connection has opened; raise `UnavailableError` if they changed meanwhile."""
        # SQLite names the log after the target of a link.
        (_, _, name), *_ = writing.execute("PRAGMA database_list").fetchall()
        self._wal_path = Path(f"{name}-wal")
        self._wal = file_identity(self._wal_path)
        self.check()

    def refuse_if_lost(self) -> None:
        """Raise `UnavailableError` once a file was found to be lost."""
        if self._why:
            raise UnavailableError(f"{self._why}: restore the database and restart the process")

    def check(self) -> None:
        """Check the files with two system calls, on any thread; raise `UnavailableError` if they were replaced."""
        self.refuse_if_lost()
        try:
            found = self._path.stat()
        except (FileNotFoundError, NotADirectoryError):
            return self._lose(f"{self._path.name} was deleted or moved")
        if (found.st_dev, found.st_ino) != self._opened:
            return self._lose(f"another file was put in the place of {self._path.name}")
        if found.st_size < self._size and self._is_cut_short(found.st_size):
            return self._lose(f"{self._path.name} was cut short")
        self._size = found.st_size
        if file_identity(self._wal_path) != self._wal:
            self._lose(f"{self._wal_path.name} was deleted or replaced")

    def explained(self, error: Exception) -> Exception:
        """Return the lost-file error behind an error of SQLite, else the error itself."""
        try:
            self.check()
        except UnavailableError as reason:
            return reason
        return error

    def rescue(self, connections: Sequence[sqlite3.Connection]) -> None:
        """Write acknowledged data into the database file, once, if the log next to it was deleted.

        No other process may write meanwhile. If another process has started a log in its place, nothing is written, and
        the end of this process deletes nothing.
        """
        if not self._why or self._is_rescued:
            return
        self._is_rescued = True
        if sys.version_info >= (3, 12):
            # A closing connection would write to the file and delete its log.
            for connection in connections:
                connection.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
        is_log_deleted = file_identity(self._path) == self._opened and file_identity(self._wal_path) is None
        if not is_log_deleted:
            return
        try:
            connections[0].execute("PRAGMA wal_checkpoint(FULL)")
        except sqlite3.Error:
            log.exception("what %s held could not be written to %s", self._wal_path, self._path)
        else:
            log.error("all that was acknowledged was written to %s", self._path)

    def _lose(self, why: str) -> None:
        with self._losing:  # Several threads check at once.
            if not self._why:
                self._why = f"{why} under this process"
                log.error("%s (%s): nothing is acknowledged any more; put it in order and restart", why, self._path)
        self.refuse_if_lost()

    def _is_cut_short(self, size: int) -> bool:
        """Return whether a file that became smaller lost pages; a vacuum by any process also shrinks it."""
        if size == 0:  # SQLite deletes the log of an empty file when it opens it.
            return True
        try:
            with closing(self._connect()) as other:
                pages = other.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
                is_short: bool = size < pages.fetchone()[0]
                return is_short and other.execute("PRAGMA quick_check(1)").fetchone() != ("ok",)
        except sqlite3.OperationalError as error:
            # Too many open files, or a lock, do not prove a damaged file: the next check decides.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_IOERR:
                raise UnavailableError(str(error)) from error
            return True
        except sqlite3.DatabaseError:
            return True


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if there is none."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


if sys.platform == "win32":  # SQLite's own busy handler decides, less fairly.
    LOCK_EX = LOCK_UN = 0

    def flock(fd: int, operation: int) -> None:
        """Do nothing."""
else:
    from fcntl import LOCK_EX, LOCK_UN, flock


T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
TaskRunner = Callable[[sqlite3.Connection, "DatabaseTask[Any]"], bool]
BATCH_SECONDS = 0.005
"""Seconds for which one group commit may collect; longer would delay the other processes."""
BATCH_TASKS = 64
"""Maximum results delivered at once; with more, the first would wait for the last."""
BUSY_SECONDS = 10.0
"""Seconds for which a write may wait before it is refused."""
ALARM_SECONDS = 0.5
"""Interval of the check for tasks that waited too long: a timer for each would cost more."""
OLDEST = (3, 35, 0)
"""The first SQLite version with RETURNING."""
INCREMENTAL = 2
"""The mode of `auto_vacuum` in which free pages are returned when the scrubber asks."""
SEARCH = "fts5"
"""The module for full-text search; few builds omit it."""
GIVEN_BACK = 200
"""Free pages returned to the disk in one transaction."""
MERGED = 500
"""Pages of the term index merged in one transaction; more would delay other writers."""
NAMES = "SELECT lower(name) FROM sqlite_master UNION SELECT 'migrations.' || name FROM pragma_table_info('migrations')"
MARK_PENDING = "INSERT OR REPLACE INTO cursors (name, position) SELECT 'scrub', max(position) FROM events"
CLEAR_PENDING = "DELETE FROM cursors WHERE name = 'scrub' AND position = ?"


class FairLock:
    """A queue of two locks: the holder of the first is the next to get the second.

    Without it a process that has just committed begins again before the others wake from
    SQLite's busy handler, and they starve.
    """

    def __init__(self, path: Path) -> None:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._next = os.open(f"{path}-next", flags, 0o600)
        self._turn = os.open(f"{path}-turn", flags, 0o600)

    def __enter__(self) -> None:
        flock(self._next, LOCK_EX)
        flock(self._turn, LOCK_EX)
        flock(self._next, LOCK_UN)

    def __exit__(self, *_: object) -> None:
        flock(self._turn, LOCK_UN)

    def close(self) -> None:
        """Close the files."""
        os.close(self._next)
        os.close(self._turn)


class DatabaseTask(Generic[T]):
    """A unit of work, and the future of its result."""

    __slots__ = ("_started", "_taken", "error", "future", "needs_turn", "result", "until", "work")

    def __init__(self, work: Work[T], future: asyncio.Future[T], needs_turn: bool, until: float) -> None:
        self.work, self.future, self.needs_turn, self.until = work, future, needs_turn, until
        self.result: T | None = None
        self.error: BaseException | None = None
        self._taken = threading.Lock()
        self._started = False

    def take(self) -> bool:
        """Return True to the first caller: the thread that executes it, or the caller that gives up.

        Without it a write could still happen after its caller was told that nothing was written.
        """
        return self._taken.acquire(blocking=False)

    def give_up(self) -> None:
        """Cancel the work permanently unless it was taken."""
        if not self.future.done() and self.take():
            error = UnavailableError(f"no turn in {BUSY_SECONDS:g} s")
            error.is_unwritten = True
            self.future.set_exception(error)

    def run(self, connection: sqlite3.Connection) -> None:
        """Do the work, again after a rollback, unless its caller gave up; an error is kept for the caller."""
        self._started = self._started or self.take()
        if not self._started:
            return
        try:
            self.result, self.error = self.work(connection), None
        except Exception as error:
            self.error = UnavailableError(str(error)) if isinstance(error, sqlite3.Error) else error


def settle_database_tasks(batch: Sequence[DatabaseTask[Any]]) -> None:
    """Deliver the results that callers wait for, on the loop's own thread."""
    for task in batch:
        if task.future.done():
            continue
        if task.error:
            task.future.set_exception(task.error)
        else:
            task.future.set_result(task.result)


class TaskThread:
    """A thread with one connection that executes tasks in batches."""

    def __init__(self, name: str, connection: sqlite3.Connection) -> None:
        self._loop = asyncio.get_running_loop()
        self._gathered: list[DatabaseTask[Any]] = []
        self._open: dict[DatabaseTask[Any], None] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._queue: SimpleQueue[list[DatabaseTask[Any]]] = SimpleQueue()
        self._connection, self._is_closed = connection, False
        self._thread = threading.Thread(target=self._run, name=f"ringi-{name}", daemon=True)
        self._thread.start()

    async def do(self, work: Work[T], *, needs_turn: bool = True) -> T:
        """Run the work on the thread; raise `UnavailableError` if its turn does not come in time."""
        if self._is_closed:
            raise ClosedError("store")
        future, until = self._loop.create_future(), self._loop.time() + BUSY_SECONDS
        task: DatabaseTask[T] = DatabaseTask(work, future, needs_turn, until)
        # If passed one by one, the thread would wake at the first and compete with the loop for the interpreter.
        if not self._gathered:
            self._loop.call_soon(self._pass_on)
        self._gathered.append(task)
        self._open[task] = None
        if not self._alarm:
            self._alarm = self._loop.call_later(ALARM_SECONDS, self._give_up_late)
        try:
            return await task.future
        except asyncio.CancelledError:
            task.take()
            raise
        finally:
            del self._open[task]

    async def close(self) -> None:
        """Finish the queued work, then end the thread."""
        self._is_closed = True
        self._pass_on()
        if self._alarm:
            self._alarm.cancel()
        self._queue.put([])
        await asyncio.to_thread(self._thread.join)

    def _give_up_late(self) -> None:
        now = self._loop.time()
        for task in takewhile(lambda task: task.until <= now, self._open):
            task.give_up()
        self._alarm = self._loop.call_later(ALARM_SECONDS, self._give_up_late) if self._open else None

    def _pass_on(self) -> None:
        gathered, self._gathered = self._gathered, []
        for start in range(0, len(gathered), BATCH_TASKS):
            self._queue.put(gathered[start : start + BATCH_TASKS])

    def _run(self) -> None:
        while batch := self._next_batch():
            try:
                self._do(self._connection, batch)
            except Exception as error:
                refuse_task_batch(batch, error)
            with suppress(RuntimeError):  # The loop is closed: no caller waits for the results.
                self._loop.call_soon_threadsafe(settle_database_tasks, batch)
        self._connection.close()

    def _next_batch(self) -> list[DatabaseTask[Any]]:
        batch = self._queue.get()
        while batch and len(batch) < BATCH_TASKS and not self._queue.empty():  # No other thread takes from it.
            more = self._queue.get()
            if not more:
                self._queue.put(more)
                break
            batch += more
        return batch

    def _do(self, connection: sqlite3.Connection, batch: Sequence[DatabaseTask[Any]]) -> None:
        for task in batch:
            task.run(connection)


class WriterThread(TaskThread):
    """The only writing thread of a process: many changes, one flush."""

    def __init__(self, connections: Sequence[sqlite3.Connection], fair_lock: FairLock, guard: FileGuard) -> None:
        self._fair_lock, self._guard, self._all = fair_lock, guard, connections
        super().__init__("writer", connections[0])

    def look(self, connection: sqlite3.Connection) -> int:
        """Return a number that changes with writes of other processes; save recoverable data of lost files."""
        try:
            self._guard.check()
        except UnavailableError:
            with self._fair_lock:
                self._guard.rescue(self._all)
            raise
        return int(connection.execute("PRAGMA data_version").fetchone()[0])

    def _do(self, connection: sqlite3.Connection, batch: Sequence[DatabaseTask[Any]]) -> None:
        super()._do(connection, [task for task in batch if not task.needs_turn])
        rest = [task for task in batch if task.needs_turn]
        try:
            while rest:
                with self._fair_lock:
                    rest = rest[self._commit_some(connection, rest) :]
        except OSError as error:
            refuse_task_batch(rest, error)

    def _commit_some(self, connection: sqlite3.Connection, batch: Sequence[DatabaseTask[Any]]) -> int:
        try:
            self._guard.refuse_if_lost()
            return self._commit(connection, batch, run_task_without_savepoint) or self._commit(
                connection, batch, run_task_in_savepoint
            )
        except (sqlite3.Error, UnavailableError) as error:
            refuse_task_batch(batch, self._guard.explained(error))
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._guard.rescue(self._all)
            return len(batch)

    def _commit(self, connection: sqlite3.Connection, batch: Sequence[DatabaseTask[Any]], run: TaskRunner) -> int:
        done, stop_at = 0, time.monotonic() + BATCH_SECONDS
        connection.execute("BEGIN IMMEDIATE")
        while done < len(batch) and (not done or time.monotonic() < stop_at):
            if not run(connection, batch[done]):
                connection.execute("ROLLBACK")
                return 0
            done += 1
        connection.execute("COMMIT")
        self._guard.check()
        return done


def run_task_without_savepoint(connection: sqlite3.Connection, task: DatabaseTask[Any]) -> bool:
    """Run a task without its own savepoint, and return whether it succeeded.

    A savepoint around each task would cost as much as the task, and nearly all succeed.
    """
    task.run(connection)
    if task.error and not connection.in_transaction:  # A full disk rolls back the whole batch.
        raise task.error
    return not task.error


def run_task_in_savepoint(connection: sqlite3.Connection, task: DatabaseTask[Any]) -> bool:
    """Run a task so that its failure rolls back only the task itself."""
    connection.execute("SAVEPOINT task")
    if not run_task_without_savepoint(connection, task):
        connection.execute("ROLLBACK TO task")
    connection.execute("RELEASE task")
    return True


def refuse_task_batch(batch: Sequence[DatabaseTask[Any]], error: Exception) -> None:
    """Report the error to all callers in the batch: nothing was written."""
    for task in batch:
        task.error = UnavailableError(str(error)) if not isinstance(error, UnavailableError) else error


class SqliteDatabase:
    """A file in WAL mode at full durability, shared by all parts of Ringi that use it."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()
        self.url = f"sqlite:///{self.path}"
        self.has_checkpoints = False
        self.scrubber = ErasureScrubber(self)

    async def __aenter__(self) -> Self:
        if sqlite3.sqlite_version_info < OLDEST:
            raise SettingError("sqlite", sqlite3.sqlite_version, "Ringi needs SQLite 3.35 or newer")
        if not has_sqlite_module(SEARCH):
            raise SettingError("sqlite", sqlite3.sqlite_version, f"this build has no {SEARCH}: use one of python.org's")
        self._prepare_folder()
        self._fair_lock = FairLock(self.path)
        try:
            writing, reading, self._near = await asyncio.to_thread(self._open)
        except BaseException as error:
            self._fair_lock.close()
            if isinstance(error, sqlite3.OperationalError):
                raise UnavailableError(str(error)) from error
            if isinstance(error, sqlite3.Error):
                raise SettingError("url", self.url, f"choose another file: {error}") from error
            raise
        self._writer = WriterThread((writing, reading, self._near), self._fair_lock, self.guard)
        self._reader = TaskThread("reader", reading)
        await self.scrubber.begin()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.scrubber.close()
        for thread in (self._reader, self._writer):
            await thread.close()
        self._near.close()
        self._fair_lock.close()

    async def write(self, work: Work[T]) -> T:
        """Run the work in a transaction; return when it is on disk, or raise and change nothing."""
        return await self._writer.do(work)

    async def read(self, work: Work[T]) -> T:
        """Run the work on the reading connection."""
        self.guard.refuse_if_lost()
        return await self._reader.do(work)

    async def check(self) -> None:
        """Raise `UnavailableError` if the files are not those that were opened."""
        await asyncio.to_thread(self.guard.check)

    async def look(self, work: Work[T]) -> T:
        """Run a read by key on the caller's thread: it takes microseconds, another thread tens of them."""
        self.guard.refuse_if_lost()
        try:
            return work(self._near)
        except sqlite3.Error:
            return await self._reader.do(work)

    async def data_version(self) -> int:
        """Return a number that changes whenever another process has written to the file."""
        return await self._writer.do(self._writer.look, needs_turn=False)

    def _prepare_folder(self) -> None:
        if self.path.is_dir():
            raise SettingError("url", self.url, f"it is a folder: name a file in it, such as {self.url}/ringi.db")
        # The folder too: SQLite creates files beside its own.
        files = [self.path, *(self.path.with_name(self.path.name + end) for end in ("-wal", "-shm")), self.path.parent]
        if locked := [file for file in files if file.exists() and not os.access(file, os.W_OK)]:
            why = f"{locked[0]} is not writable by this user: choose another file or user"
            raise SettingError("url", self.url, why)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch(mode=0o600, exist_ok=True)
        except OSError as error:
            raise SettingError("url", self.url, f"cannot write there: {error.strerror}") from error

    def connect(self) -> sqlite3.Connection:
        """Return a new connection to the opened files; raise `UnavailableError` if they were replaced."""
        # Before it connects: SQLite would create a new log in place of a deleted one, and prevent a rescue.
        self.guard.check()
        with ExitStack() as opened:
            connection = opened.enter_context(closing(self._connect()))
            self.guard.check()
            opened.pop_all()
        return connection

    def _connect(self) -> sqlite3.Connection:
        # Never a new file in place of one that was deleted meanwhile.
        address = f"{self.path.as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA busy_timeout = {int(BUSY_SECONDS * 1000)}")
        # Applies to a new file; another one adopts it with its next VACUUM. Setting it writes to the file.
        if connection.execute("PRAGMA auto_vacuum").fetchone() != (INCREMENTAL,):
            connection.execute(f"PRAGMA auto_vacuum = {INCREMENTAL}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        # Otherwise erased or replaced data would stay in the file until its space is reused.
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _open(self) -> tuple[sqlite3.Connection, sqlite3.Connection, sqlite3.Connection]:
        self.guard = FileGuard(self.path, self._connect)
        with ExitStack() as opened, self._fair_lock:
            # If two processes switch a new file to WAL at once, one fails at once, regardless of its busy timeout.
            writing = opened.enter_context(closing(self._connect()))
            migrate_sqlite(writing, self.url)
            self.guard.begin(writing)
            reading, near = (opened.enter_context(closing(self._connect())) for _ in range(2))
            near.execute("PRAGMA busy_timeout = 0")
            self.guard.check()
            opened.pop_all()
            return writing, reading, near


class ErasureScrubber:
    """Scrubs once for all concurrent erasures."""

    def __init__(self, file: SqliteDatabase) -> None:
        self._file = file
        self._scrubbing: asyncio.Task[None] | None = None
        self._has_begun = False

    async def close(self) -> None:
        """Stop a scrub in progress."""
        if self._scrubbing:
            await asyncio.gather(self._scrubbing, return_exceptions=True)

    async def scrub(self) -> None:
        """Remove all traces of deleted data from the term index and from the log."""
        if self._scrubbing is None or self._has_begun:
            self._scrubbing, self._has_begun = asyncio.create_task(self._scrub(self._scrubbing)), False
        await asyncio.shield(self._scrubbing)

    async def scrub_if_owed(self) -> None:
        """Scrub if a process was killed between an erasure and its scrub."""
        if await self._file.read(newest_unscrubbed_erasure):
            await self.scrub()

    async def begin(self) -> None:
        """Complete the pending scrub of the last process; the next erasure retries a failed one."""
        try:
            await self.scrub_if_owed()
        except UnavailableError as error:
            log.warning("%s still holds what was erased: %s", self._file.path, error)

    async def _scrub(self, before: asyncio.Task[None] | None) -> None:
        if before:
            await asyncio.gather(before, return_exceptions=True)
        self._has_begun = True
        upto = await self._file.read(newest_unscrubbed_erasure)
        for step in (merge_term_index, return_pages_to_disk):
            while await self._file.write(step):
                pass
        if await self._empty_log():
            await self._file.write(lambda connection: connection.execute(CLEAR_PENDING, [upto]))

    async def _empty_log(self) -> bool:
        try:
            is_busy = await asyncio.to_thread(self._is_log_kept)
        except sqlite3.Error as error:
            raise UnavailableError(str(error)) from error
        if is_busy:
            log.warning("others read %s-wal, which holds what was erased until all of them close it", self._file.path)
        return not is_busy

    def _is_log_kept(self) -> bool:
        with closing(self._file.connect()) as connection:
            return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])


def newest_unscrubbed_erasure(connection: sqlite3.Connection) -> str | None:
    """Return the position of the newest erasure that has not been scrubbed."""
    row = connection.execute("SELECT position FROM cursors WHERE name = 'scrub'").fetchone()
    return str(row[0]) if row else None


def return_pages_to_disk(connection: sqlite3.Connection) -> bool:
    """Return some free pages to the disk; return whether more are left. An older file keeps them."""
    before = count_free_pages(connection)
    connection.execute(f"PRAGMA incremental_vacuum({GIVEN_BACK})").fetchall()
    return 0 < count_free_pages(connection) < before


def count_free_pages(connection: sqlite3.Connection) -> int:
    """Return the number of free pages."""
    return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


def merge_term_index(connection: sqlite3.Connection) -> bool:
    """Merge a part of the term index, which removes deleted terms; return whether more is left."""
    before = connection.total_changes
    connection.execute("INSERT INTO search (search, rank) VALUES ('merge', ?)", [-MERGED])
    return connection.total_changes - before >= 2


def has_sqlite_module(name: str) -> bool:
    """Return whether SQLite was built with a module of this name."""
    with closing(sqlite3.connect(":memory:")) as connection:
        return bool(connection.execute("SELECT 1 FROM pragma_module_list WHERE name = ?", [name]).fetchall())


def migrate_sqlite(connection: sqlite3.Connection, url: str) -> None:
    """Migrate the tables completely or not at all; refuse an incompatible newer version, and damaged tables."""
    known = backend_migrations("sqlite")
    connection.execute("BEGIN IMMEDIATE")
    schema = read_sqlite_schema(connection)
    refuse_unusable_schema(url, schema, known)
    connection.execute("CREATE TABLE IF NOT EXISTS migrations (number INTEGER PRIMARY KEY, oldest INTEGER NOT NULL)")
    for number, script, oldest in known[schema.number :]:
        for statement in split_sql_script(script):
            connection.execute(statement)
        connection.execute("INSERT INTO migrations (number, oldest) VALUES (?, ?)", (number, oldest))
        connection.execute(f"PRAGMA user_version = {number}")
    connection.execute("COMMIT")


def read_sqlite_schema(connection: sqlite3.Connection) -> StoreSchema:
    """Return what a file holds; the caller has begun a transaction."""
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    names = {name for (name,) in connection.execute(NAMES)}
    applied = connection.execute("SELECT number, oldest FROM migrations") if LISTED in names else ()
    return StoreSchema(number, dict(applied), names)


def split_sql_script(script: str) -> Iterator[str]:
    """Yield the statements of a script; a trigger contains semicolons."""
    statement = ""
    for line in script.splitlines():
        statement += f"{line}\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    yield statement


@contextmanager
def sqlite_read_connection(database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    """Yield a connection for reading."""
    try:
        with closing(database.connect()) as connection:
            yield connection
    except sqlite3.Error as error:
        raise UnavailableError(str(error)) from error


@contextmanager
def sqlite_transaction(database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    """Yield a connection in a transaction: committed at the end of the block, rolled back by an error."""
    # The writer's own lock does not lock between threads: `flock` admits all users of one open file.
    with closing(FairLock(database.path)) as fair_lock, fair_lock, sqlite_read_connection(database) as connection:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
        database.guard.check()
