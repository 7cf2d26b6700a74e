"""One run as its runtime sees it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ringi.contracts.runtime import State
from ringi.domain.record import Key
from ringi.domain.usage import ModelCalls
from ringi.runs.agent import Agent
from ringi.runs.context import RunContext
from ringi.runs.images import RunImages


@dataclass
class ExecutedRun:
    """A run on the worker that holds its thread; see `ringi.contracts.runtime.Run`."""

    agent: Agent
    key: Key
    id: str
    by: str | None
    host: RunContext
    checkpoints: Any
    max_fields: int
    is_first: bool
    images: RunImages
    raw_input: dict[str, Any]
    """The input, with the names of its images."""
    count_usage: Callable[[ModelCalls], None]
    prune_checkpoints: Callable[[], Coroutine[Any, Any, None]]
    state: State | None = None

    @property
    def input(self) -> dict[str, Any]:
        """The input of the run. Images of its messages are content blocks."""
        return self.images.resolve_input(self.raw_input)
