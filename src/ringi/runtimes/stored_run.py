"""A run whose position is in its stored state alone."""

from __future__ import annotations

from typing import Any

from ringi.contracts.runtime import Run, Standing
from ringi.runtimes.tool_calls import read_questions


class StoredRun:
    """The part of an open run that its framework has no say in; see `ringi.contracts.runtime.OpenRun`.

    The data of its state has `questions` while it waits, and `values` once it has ended.
    """

    failed: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def __init__(self, run: Run) -> None:
        self._run = run

    async def look(self) -> Standing:
        """Return the position of the run, from the stored state."""
        data = self._own_data()
        if data is None:
            return Standing("new")
        if "questions" in data:
            return Standing("paused", read_questions(data["questions"]), values={})
        return Standing("done", values=data["values"])

    async def rewind(self, position: str) -> None:
        """Do nothing: the stored state is the only position of a run."""

    def _own_data(self) -> dict[str, Any] | None:
        state = self._run.state
        return state.data if state and state.run_id == self._run.id and isinstance(state.data, dict) else None
