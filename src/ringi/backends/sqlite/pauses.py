"""A look at the pauses in a SQLite store, without opening it as a store: a hook takes it for each call of a tool."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

OWN_SCRIPTS = Path(__file__).parent / "sql"
PAUSES = "SELECT body FROM journals WHERE tenant = 'default' AND id = 'pauses'"
SECONDS = 2.0


def is_certainly_unpaused(file: Path, agent: str) -> bool:
    """Return whether nobody has paused an agent; False also for a store of another version.

    Args:
        file: The store.
        agent: The name of the agent.

    Raises:
        sqlite3.Error: The store cannot be read.
    """
    known = sum(each.suffix == ".sql" for each in OWN_SCRIPTS.iterdir())
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=SECONDS)) as connection:
        applied = [number for (number,) in connection.execute("SELECT number FROM migrations ORDER BY number")]
        journals = [json.loads(body) for (body,) in connection.execute(PAUSES)]
    pauses = [pause for journal in journals for pause in journal["state"]["pauses"]]
    return applied == [*range(1, known + 1)] and not any(_may_apply(pause, agent) for pause in pauses)


def _may_apply(pause: dict[str, Any], agent: str) -> bool:
    until = pause["until"]
    is_over = until is not None and datetime.fromisoformat(until) <= datetime.now(UTC)
    return not is_over and (not isinstance(pause["agent"], str) or pause["agent"] == agent)
