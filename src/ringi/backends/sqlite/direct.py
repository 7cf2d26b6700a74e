"""A connection of the caller's own thread, for synchronous code for which the event loop may be waiting."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

from ringi.backends.sqlite.database import Database
from ringi.backends.sqlite.fair_lock import FairLock
from ringi.errors import UnavailableError


@contextmanager
def reading(database: Database) -> Iterator[sqlite3.Connection]:
    """Yield a connection for reading."""
    try:
        with closing(database.connect()) as connection:
            yield connection
    except sqlite3.Error as error:
        raise UnavailableError(str(error)) from error


@contextmanager
def writing(database: Database) -> Iterator[sqlite3.Connection]:
    """Yield a connection in a transaction: committed at the end of the block, rolled back by an error."""
    # The writer's own lock does not lock between threads: `flock` admits all users of one open file.
    fair_lock = FairLock(database.path)
    try:
        with fair_lock, reading(database) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            database.check_files()
    finally:
        fair_lock.close()
