"""The SQL that deletes the checkpoints of a thread that no run needs any more, in LangGraph's tables."""

from __future__ import annotations

import logging
import sqlite3

from ringi.base.failpoints import failpoint

log = logging.getLogger(__name__)

DELTA = "counters_since_delta_snapshot"
"""Metadata key of a checkpoint whose `DeltaChannel` is readable only together with earlier checkpoints."""
HAS_DELTA = "SELECT 1 FROM checkpoints WHERE thread_id = ? AND instr(metadata, ?)"
# A subgraph call's namespace ends with a colon and its task; it is not needed after the call.
REMOVE_OLD = """
    DELETE FROM checkpoints WHERE thread_id = ? AND (instr(checkpoint_ns, ':') OR EXISTS (
        SELECT 1 FROM checkpoints newer WHERE newer.thread_id = checkpoints.thread_id
        AND newer.checkpoint_ns = checkpoints.checkpoint_ns AND newer.checkpoint_id > checkpoints.checkpoint_id
    ))
"""
REMOVE_WRITES = """
    DELETE FROM writes WHERE thread_id = ? AND NOT EXISTS (
        SELECT 1 FROM checkpoints kept WHERE kept.thread_id = writes.thread_id
        AND kept.checkpoint_ns = writes.checkpoint_ns AND kept.checkpoint_id = writes.checkpoint_id
    )
"""
ORPHAN = "UPDATE checkpoints SET parent_checkpoint_id = NULL WHERE thread_id = ? AND parent_checkpoint_id IS NOT NULL"


def log_kept_checkpoints(thread_id: str) -> None:
    """Log the exception for which a thread keeps its old checkpoints: its run is done, and must not fail by that."""
    log.warning("thread %s keeps its old checkpoints until its next run", thread_id, exc_info=True)


def keep_newest_in_sqlite(connection: sqlite3.Connection, thread_id: str) -> None:
    """Delete the checkpoints of a thread that no run needs.

    Args:
        connection: The connection, in a transaction.
        thread_id: The id of the thread in the checkpoints.
    """
    if connection.execute(HAS_DELTA, (thread_id, f'"{DELTA}"'.encode())).fetchone():
        return
    for sql in (REMOVE_OLD, REMOVE_WRITES, ORPHAN):
        connection.execute(sql, (thread_id,))
    failpoint("prune.before_commit")


IS_OLD = """
position(':' IN checkpoint_ns) > 0 OR checkpoint_id < (
    SELECT max(checkpoint_id) FROM checkpoints AS newest
    WHERE newest.thread_id = stored.thread_id AND newest.checkpoint_ns = stored.checkpoint_ns
)
"""
IS_PRUNABLE = "EXISTS (SELECT FROM prunable) AND thread_id = {thread}"
# LangGraph's own `prune` needs a dozen statements, and runs end often. All parts of this one see one snapshot, in which
# the thread is as its worker left it, without a checkpoint of a later worker. It takes no lock: data that this run no
# longer needs, no later worker needs either.
KEEP_NEWEST_IN_POSTGRES = f"""
prunable AS (
    SELECT FROM {{held}}
    WHERE NOT EXISTS (SELECT FROM checkpoints WHERE thread_id = {{thread}} AND metadata ? '{DELTA}')
), of_checkpoints AS (
    DELETE FROM checkpoints AS stored WHERE {IS_PRUNABLE} AND ({IS_OLD})
), of_writes AS (
    DELETE FROM checkpoint_writes AS stored WHERE {IS_PRUNABLE} AND ({IS_OLD})
), of_blobs AS (
    DELETE FROM checkpoint_blobs AS stored WHERE {IS_PRUNABLE} AND (
        position(':' IN checkpoint_ns) > 0 OR version IS DISTINCT FROM (
            SELECT checkpoint -> 'channel_versions' ->> stored.channel FROM checkpoints AS newest
            WHERE newest.thread_id = stored.thread_id AND newest.checkpoint_ns = stored.checkpoint_ns
            ORDER BY checkpoint_id DESC LIMIT 1
        )
    )
), of_parents AS (
    UPDATE checkpoints AS stored SET parent_checkpoint_id = NULL
    WHERE {IS_PRUNABLE} AND NOT ({IS_OLD}) AND parent_checkpoint_id IS NOT NULL
)
"""
"""Placeholders: `held`, a part that has a row if they may be deleted, and `thread`, the id in the checkpoints."""
