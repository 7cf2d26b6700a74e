"""One run as its runtime sees it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from ringi.contracts.runtime import State
from ringi.domain.record import Key
from ringi.domain.usage import ModelCalls
from ringi.runs.agent import Agent
from ringi.runs.call_policy import CallPolicy
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
    policy: CallPolicy
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

    @property
    def asks(self) -> bool:
        """Whether people are asked."""
        return self.policy.asks

    async def must_pause(self, tool: str, args: Mapping[str, Any]) -> bool:
        """Return whether the run must pause at a call, at which its framework would not pause."""
        return await self.policy.must_pause(tool, args)
