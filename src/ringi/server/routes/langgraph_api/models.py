"""Request models of LangGraph's clients; unknown fields are ignored."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ringi.base.model import StrictModel
from ringi.domain.ask import Id, Name

END = "__end__"


class ThreadSearch(StrictModel):
    """The criteria of a thread search."""

    metadata: dict[str, Any] | None = None
    status: Literal["idle", "busy", "interrupted", "error"] | None = None
    limit: int = Field(default=10, ge=1, le=1000)
    offset: int = Field(default=0, ge=0)
    ids: list[str] | None = None

    @property
    def graph(self) -> str | None:
        """The requested assistant, by name or id."""
        metadata_filter = self.metadata or {}
        name_or_id = metadata_filter.get("graph_id") or metadata_filter.get("assistant_id")
        return None if name_or_id is None else str(name_or_id)


class NewThread(StrictModel):
    """A thread that a client is about to use."""

    thread_id: Id | None = None
    metadata: dict[str, Any] | None = None
    if_exists: Literal["raise", "do_nothing"] | None = None


class StateUpdate(StrictModel):
    """A state update from a client; it may only mark the thread as resolved."""

    values: Any = None
    as_node: str | None = None


class Command(StrictModel):
    """The continuation of a run."""

    resume: Any = None
    goto: Any = None
    update: Any = None

    @property
    def ends(self) -> bool:
        """Return whether the thread is to be marked as resolved."""
        return self.goto in (END, [END])


class RunInput(StrictModel):
    """An answer to the waiting request, or the input of a new run."""

    assistant_id: Name
    input: dict[str, Any] | None = None
    command: Command | None = None
    checkpoint: dict[str, Any] | None = None
    stream_mode: str | list[str] | None = None

    @property
    def modes(self) -> set[str]:
        """The requested stream modes."""
        modes = [self.stream_mode] if isinstance(self.stream_mode, str) else self.stream_mode
        return set(modes or ["values"])
