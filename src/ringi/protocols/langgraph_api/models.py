"""Request models of LangGraph's clients.

A field that would change what a request means, and that this server does not apply, is refused unless it has the value
with which it changes nothing. Fields that only say how a result is sent or stored are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ringi.base.model import StrictModel
from ringi.base.validation import FieldValidationError, Name, name_safe_for_message, safe_repr
from ringi.domain.ask import Id

END = "__end__"
OF_HOOK = ' (useStream: submit(…, {onDisconnect: "continue"}), or reconnectOnMount: true)'
"""The React hook sends "cancel" by default."""


def only_empty_or(*values: object, how: str = "") -> AfterValidator:
    """Return a validator that accepts nothing but null, empty values and these; `how` tells clients to send them."""

    def check(value: Any) -> Any:
        if value not in (None, [], {}, {"configurable": {}}, *values):
            known = f"send {', '.join(map(repr, values))}{how}, or remove it" if values else "remove it"
            raise FieldValidationError("", f"{safe_repr(value)} is not supported here: {known}", "unexpected")
        return value

    return AfterValidator(check)


Unsupported = Annotated[Any, only_empty_or()]
Ignored = Any


class PagedSearch(StrictModel):
    """The page of a search."""

    offset: int = Field(default=0, ge=0)
    sort_by: Ignored = None
    sort_order: Ignored = None
    select: Ignored = None


class AssistantSearch(PagedSearch):
    """The criteria of a search for assistants."""

    metadata: dict[str, Any] | None = None
    graph_id: str | None = None
    name: str | None = None
    limit: int = Field(default=1000, ge=1, le=1000)

    def matches(self, assistant: Mapping[str, Any]) -> bool:
        """Return whether an assistant has the graph, the metadata, and the text in its name, in any case."""
        more = dict(self.metadata or {})
        graphs = {each for each in (self.graph_id, more.pop("graph_id", None)) if each}
        return (
            graphs <= {assistant["graph_id"], assistant["assistant_id"]}
            and more.items() <= assistant["metadata"].items()
            and (self.name or "").casefold() in assistant["name"].casefold()
        )


def check_thread_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a thread search; raise for a key that threads here do not have."""
    for key in metadata.keys() - {"graph_id", "assistant_id"}:
        why = "is not stored here: search by graph_id or assistant_id"
        raise FieldValidationError(name_safe_for_message(key), why, "unexpected")
    return metadata


MAX_IDS = 200
"""The maximum number of threads that a search names."""


class ThreadSearch(PagedSearch):
    """The criteria of a thread search."""

    metadata: Annotated[dict[str, Any], AfterValidator(check_thread_metadata)] | None = None
    status: Literal["idle", "busy", "interrupted", "error"] | None = None
    limit: int = Field(default=10, ge=1, le=1000)
    ids: list[str] | None = Field(default=None, max_length=MAX_IDS)
    values: Unsupported = None
    extract: Ignored = None

    @property
    def graph(self) -> str | None:
        """The requested assistant, by name or id."""
        metadata_filter = self.metadata or {}
        name_or_id = metadata_filter.get("graph_id") or metadata_filter.get("assistant_id")
        return None if name_or_id is None else str(name_or_id)

    def matches(self, thread: Mapping[str, Any], graph: str | None) -> bool:
        """Return whether a thread has the status and is of the assistant."""
        is_of_graph = graph is None or thread["metadata"]["graph_id"] == graph
        return is_of_graph and self.status in (None, thread["status"])


class NewThread(StrictModel):
    """A thread that a client is about to use."""

    thread_id: Id | None = None
    metadata: dict[str, Any] | None = None
    if_exists: Literal["raise", "do_nothing"] | None = None
    supersteps: Unsupported = None
    ttl: Unsupported = None


class StateUpdate(StrictModel):
    """A state update from a client; it may only mark the thread as resolved."""

    values: Any = None
    as_node: str | None = None
    checkpoint: Unsupported = None
    checkpoint_id: Unsupported = None


class HistoryQuery(StrictModel):
    """The query of a thread's states."""

    limit: Ignored = None
    select: Ignored = None
    before: Unsupported = None
    metadata: Unsupported = None
    checkpoint: Unsupported = None


class Command(StrictModel):
    """The continuation of a run."""

    resume: Any = None
    goto: Any = None
    update: Any = None


class RunInput(StrictModel):
    """An answer to the waiting request, or the input of a new run."""

    assistant_id: Name
    input: dict[str, Any] | None = None
    command: Command | None = None
    checkpoint: dict[str, Any] | None = None
    stream_mode: str | list[str] | None = None
    stream_subgraphs: Ignored = None
    stream_resumable: Ignored = None
    feedback_keys: Ignored = None
    metadata: Ignored = None
    checkpoint_during: Ignored = None
    durability: Ignored = None
    config: Unsupported = None
    context: Unsupported = None
    interrupt_before: Unsupported = None
    interrupt_after: Unsupported = None
    checkpoint_id: Unsupported = None
    webhook: Unsupported = None
    langsmith_tracer: Unsupported = None
    after_seconds: Annotated[Any, only_empty_or(0)] = None
    strict_resume: Annotated[Any, only_empty_or(True)] = None
    multitask_strategy: Annotated[Any, only_empty_or("reject")] = None
    on_disconnect: Annotated[Any, only_empty_or("continue", how=OF_HOOK)] = None
    on_completion: Annotated[Any, only_empty_or("keep")] = None
    if_not_exists: Annotated[Any, only_empty_or("create")] = None

    @property
    def modes(self) -> frozenset[str]:
        """The requested stream modes."""
        modes = [self.stream_mode] if isinstance(self.stream_mode, str) else self.stream_mode
        return frozenset(modes or ["values"])
