"""Checks that the steps of a graph read the answers that they are given: otherwise a rejected call could run."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import LLMResult
from langchain_core.tools import BaseTool
from langchain_core.tracers.context import register_configure_hook
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.prebuilt import ToolRuntime

from ringi.backends.fenced_saver import ERROR_SOURCE_NODE, FencedCheckpointSaver
from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import UnreadAnswersError, UnreadCause
from ringi.domain.thread import FenceError
from ringi.errors import InvalidError, UnavailableError
from ringi.runs.context import call_digest
from ringi.runtimes.langgraph.graphs import RunningGraphs
from ringi.runtimes.langgraph.interrupt_formats import reviews_calls
from ringi.runtimes.langgraph.tool_arguments import injected_arguments

CONTROL = frozenset((ERROR, ERROR_SOURCE_NODE, INTERRUPT, RESUME))
"""The channels in which LangGraph stores what happened to a task; all others hold the results of one that has ended."""
REVIEWED = "ringi_reviewed"
"""The metadata key of a checkpoint with the run in which people have reviewed calls before they start."""
GRANTED = "ringi_granted"
"""The metadata key of a checkpoint with what a review has let run, by the ids of the calls; see `WaitingCalls`."""
REFUSED = "!"
"""What stands before the tool of a call that a review has not let run."""
JUMP = "jump_to"
"""The channel in which a middleware of LangChain names the node to go to."""


class WaitingCalls(NamedTuple):
    """The calls that wait for the answer to an interrupt; none for a question about something else."""

    call: tuple[str, str] | None
    """The id and the tool of the call that starts after the answer; None if something else asks."""
    calls: frozenset[str]
    """The keys of all calls that the answer decides; see `ringi.runs.context.call_key`."""
    reviews: tuple[tuple[str, str], ...] = ()
    """The digests of each call that a gate without a check of its own has shown, and of what may run in its place; for
    a call that may not run, its tool after `REFUSED`.
    """


class AnswerReads(BaseCallbackHandler):
    """The answers of one stretch of a run, and which of them the code of its steps has not read yet.

    LangGraph stores the values of a task in a list, from which `interrupt` reads them. A task of a later deploy that
    does not call `interrupt` any more does not read its list: nothing that it returns may be stored.

    Args:
        values: The answers by the ids of their interrupts.
        waiting: The calls by the ids of all interrupts that wait, answered or not.
        refused: The calls that a gate has refused without reading the answers about them, which is safe too.
        run_id: The id of the run; empty for its first stretch, before which it has asked nobody.
        tools: The tools of the graph by name, as far as they are known.
        graphs: The graphs that run.
    """

    raise_error = True
    run_inline = True

    def __init__(
        self,
        values: Mapping[str, Any],
        waiting: Mapping[str, WaitingCalls],
        refused: Set[str],
        run_id: str = "",
        tools: Mapping[str, BaseTool] | None = None,
        graphs: RunningGraphs | None = None,
    ) -> None:
        self.values = _ResumeValues(values, self)
        self._waiting, self._refused, self._run_id, self._known_tools = waiting, refused, run_id, tools or {}
        self._graphs = graphs or RunningGraphs()
        self._lock = threading.Lock()
        # What is no call may be decided without its answer until somebody has given one.
        self._unread = {id for id, each in waiting.items() if each.calls or id in values}
        self._has_review = any(each.calls and each.call is None for each in waiting.values())
        self._notes = dict[str, Any]()
        self._handed = dict[int, str]()
        self._tasks = dict[str, frozenset[str]]()
        self._running = dict[UUID, str]()
        self._refused_for: tuple[UnreadCause, str] | None = None
        """The first cause for which all that follows is refused, and its place."""
        self._granted = {each.call[0]: may for each in waiting.values() if each.call for _, may in each.reviews}
        # The gate of such a call compares what runs, and asks again about another call.
        self._gated = {each.call[0] for each in waiting.values() if each.call and not each.reviews}
        self._redrawn = set[str]()
        """The ids of the calls in newer answers of a model: some models use an id again for another call."""
        self._sent = dict[UUID | None, dict[str | None, str]]()
        self._bodies = set[UUID | None]()
        self.tools = set[str]()
        """The tools that have started."""

    @contextmanager
    def watching(self, saver: FencedCheckpointSaver) -> Iterator[None]:
        """Watch the reads and writes of a saver, and the tools, in the body of the `with` statement.

        Raises:
            UnreadAnswersError: A step has ended without reading its answer, or a call was about to run without it.
        """
        token = READS.set(self if self._waiting or self._run_id else None)
        saver.after_read, saver.check_write, saver.notes = self.observe, self.check, self._notes
        try:
            yield
        except Exception as error:
            # Code of the agent may have caught the first error and raised another one.
            if self._refused_for and not isinstance(error, FenceError | UnavailableError | UnreadAnswersError):
                raise self._refusal() from error
            raise
        finally:
            READS.reset(token)
            del saver.after_read, saver.check_write, saver.notes
        if self.unread & self.values.keys():
            raise self._refusal()

    @property
    def unread(self) -> frozenset[str]:
        """The interrupts whose answers no code has read."""
        with self._lock:
            waiting = {id: self._waiting[id].calls for id in self._unread}
        return frozenset(id for id, calls in waiting.items() if not calls or not calls <= self._refused)

    def observe(self, saved: CheckpointTuple | None) -> CheckpointTuple | None:
        """Return a stored checkpoint with a list for each task that asked, which records what the task reads."""
        if saved is None:
            return None
        writes = saved.pending_writes or []
        asking = open_task_interrupts(writes)
        self._notice_review(saved)
        # An inner graph that no longer waits for an answer has stored the step that read it. The task that runs the
        # inner graph still has its interrupt, because a later step of that graph failed.
        outer = saved.config["configurable"].get("checkpoint_ns", "").rpartition(":")[2]
        for id in self._tasks.get(outer, frozenset()).difference(*asking.values()):
            self.read(id)
        asked = {task: ids for task, each in asking.items() if (ids := each & self._waiting.keys())}
        self._tasks |= asked
        known = {task: value for task, channel, value in writes if channel == RESUME and task in asked}
        others = [write for write in writes if write[1] != RESUME or write[0] not in asked]
        lists = [(task, RESUME, _ResumeList(known.get(task, ()), self)) for task in asked]
        return saved._replace(pending_writes=[*others, *lists])

    def _notice_review(self, saved: CheckpointTuple) -> None:
        """Note that people review calls in this run: a jump to the tools would run those that they rejected.

        The checkpoints of a graph that a function calls are the only place that shows its earlier reviews.
        """
        asked = [each for _, channel, value in saved.pending_writes or () if channel == INTERRUPT for each in value]
        if self._run_id and (saved.metadata.get(REVIEWED) == self._run_id or any(map(reviews_calls, asked))):
            self._has_review, self._notes[REVIEWED] = True, self._run_id
            self._note_granted(dict[str, Any](saved.metadata).get(GRANTED, {}) if REVIEWED in saved.metadata else {})

    def check(self, task_id: str | None, writes: Sequence[tuple[str, Any]]) -> None:
        """Refuse the results of a task that has not read its answer, and all that would be stored after them.

        Args:
            task_id: The task; None for a whole checkpoint.
            writes: The results of the task.

        Raises:
            UnreadAnswersError: The task has not read its answer, or another one has not.
        """
        if (self._has_review and (JUMP, "tools") in writes) or self._graphs.skips_review(task_id, writes):
            raise self._refusal("skipped", self._graphs.step(task_id) or str(task_id))
        channels = {channel for channel, _ in writes}
        is_failed = ERROR in channels and ERROR_SOURCE_NODE not in channels
        unread = self._tasks.get(task_id or "", frozenset()) & self.unread
        if INTERRUPT in channels:
            # What nobody has answered is asked again.
            unread &= self.values.keys()
        if self._refused_for or (unread and not is_failed):
            raise self._refusal()

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Let nothing start after a step that has not read its answer, such as the next task of a workflow."""
        if self._refused_for:
            raise self._refusal()
        if calls := calls_sent_to_step(inputs):
            self._sent[run_id] = calls
        task_id = str((metadata or {}).get("langgraph_checkpoint_ns")).rpartition(":")[2]
        # The first run in a task is the task itself; those within it end earlier.
        if task_id in self._tasks and task_id not in self._running.values():
            self._running[run_id] = task_id
            self._grant_turn(self._tasks[task_id], inputs)

    def _grant_turn(self, ids: Set[str], state: Any) -> None:
        """Note what may run of the calls of a turn, which a review of the whole turn names without their ids."""
        reviews = [pair for id in ids if not self._waiting[id].call for pair in self._waiting[id].reviews]
        messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", None)
        turns = (each for each in reversed(messages or ()) if isinstance(each, AIMessage)) if reviews else iter(())
        for call in getattr(next(turns, None), "tool_calls", ()):
            reviewed = langchain_call_digest(call["name"], call["args"])
            if pair := next((each for each in reviews if each[0] == reviewed), None):
                reviews.remove(pair)
                if call["id"]:
                    self._granted[call["id"]] = pair[1]
        self._note_granted({})

    def _note_granted(self, earlier: Mapping[str, str]) -> None:
        self._granted = {id: digest for id, digest in {**earlier, **self._granted}.items() if id not in self._redrawn}
        if self._granted or GRANTED in self._notes:
            self._notes[GRANTED] = self._granted

    def on_llm_end(self, response: LLMResult, **_: Any) -> None:
        """Forget what people granted under the ids of newer calls."""
        messages = [getattr(each, "message", None) for answers in response.generations for each in answers]
        self._redrawn |= {call["id"] for each in messages for call in getattr(each, "tool_calls", ()) if call["id"]}
        self._note_granted({})

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        """Refuse the result of a task that has not read its answer, before other code receives it."""
        self._sent.pop(run_id, None)
        if task_id := self._running.pop(run_id, None):
            self.check(task_id, ())

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Forget the run of a task, which may be repeated."""
        self._sent.pop(run_id, None)
        self._running.pop(run_id, None)

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        inputs: dict[str, Any] | None = None,
        tool_call_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Stop a tool whose call waits for an answer that nothing has read, or is not the call that people approved."""
        name = str((serialized or {}).get("name"))
        sent = self._sent.get(parent_run_id, {})
        # A middleware may give the call another id, or call the tool itself.
        ids = {tool_call_id, *(id for id, tool in sent.items() if tool == name and tool_call_id not in sent)}
        if {(id, name) for id in ids} & {self._waiting[id].call for id in self.unread}:
            raise self._refusal("ungated", name)
        reviewed = {self._granted[id] for id in ids - self._gated if id in self._granted}
        may = {each for each in reviewed if not each.startswith(REFUSED) or each == REFUSED + name}
        known = self._known_tools.get(name)
        # A tool may pass its own call on to another tool.
        if may and parent_run_id not in self._bodies and langchain_call_digest(name, inputs or {}, known) not in may:
            if REFUSED + name in may:
                raise self._refusal("skipped", str((metadata or {}).get("langgraph_node")))
            raise self._refusal("changed", name)
        self._bodies.add(run_id)
        self.tools.add(name)

    def give(self, id: str) -> None:
        """Record that a task receives the answer to an interrupt; unless its list is observed, it counts as read."""
        self._handed[threading.get_ident()] = id
        self.read(id)

    def take_handed(self) -> str | None:
        """Return the answer that this thread has just received into a list, which is unread again."""
        with self._lock:
            id = self._handed.pop(threading.get_ident(), None)
            if id is not None:
                self._unread.add(id)
            return id

    def read(self, id: str) -> None:
        """Record that code has read the answer to an interrupt."""
        with self._lock:
            self._unread.discard(id)

    def _refusal(self, cause: UnreadCause = "unread", place: str = "") -> UnreadAnswersError:
        """Refuse all that follows, and return the error; the first cause stays."""
        cause, place = self._refused_for = self._refused_for or (cause, place)
        ids = self.unread if cause in ("unread", "ungated") else self.values.keys()
        return UnreadAnswersError(ids, [f"tool {name!r}" for name in sorted(self.tools)], cause, place)


def calls_sent_to_step(inputs: Any) -> dict[str | None, str]:
    """Return the tools of the calls that LangChain sends to a step, by their ids; empty for another input."""
    calls = [inputs.get("tool_call")] if isinstance(inputs, dict) else inputs if isinstance(inputs, list) else ()
    shaped = (each for each in calls if isinstance(each, dict) and {"id", "name", "args"} <= each.keys())
    return {each["id"]: each["name"] for each in shaped if isinstance(each["id"], str | None)}


def langchain_call_digest(name: str, args: Mapping[str, Any], tool: BaseTool | None = None) -> str | None:
    """Return the digest of a call without the arguments that the agent's code injects; None if it is no JSON."""
    own = injected_arguments(tool) if tool else frozenset()
    own_args = {n: value for n, value in args.items() if n not in own and not isinstance(value, ToolRuntime)}
    try:
        return call_digest(name, jsonable(own_args))
    except (InvalidError, ValueError):
        return None


def open_task_interrupts(writes: Sequence[tuple[str, str, Any]]) -> dict[str, frozenset[str]]:
    """Return the interrupts of each task that has asked and not ended; a task that ended has read its answers.

    A task that has ended keeps its interrupts until the next checkpoint. One that failed may have stored results too.
    """
    failed = {task for task, channel, _ in writes if channel == ERROR}
    ended = {task for task, channel, _ in writes if channel not in CONTROL} - failed
    return {
        task: frozenset(each.id for each in value)
        for task, channel, value in writes
        if channel == INTERRUPT and task not in ended
    }


class _ResumeValues(dict[str, Any]):
    """The answers as LangGraph looks them up when it prepares a task."""

    def __init__(self, values: Mapping[str, Any], reads: AnswerReads) -> None:
        super().__init__(values)
        self._reads = reads

    def __getitem__(self, id: str) -> Any:
        self._reads.give(id)
        return super().__getitem__(id)


class _ResumeList(list[Any]):
    """The answers to a task's interrupts, in the order in which it asks; the last one is new."""

    def __init__(self, values: Sequence[Any], reads: AnswerReads) -> None:
        super().__init__(values)
        self._reads, self._new = reads, dict[int, str]()

    def append(self, value: Any) -> None:
        new = self._reads.take_handed()
        if new not in self._new.values():
            super().append(value)
        if new is not None:
            self._new.setdefault(len(self) - 1, new)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, int) and place in self._new:
            self._reads.read(self._new[place])
        return super().__getitem__(place)


READS: ContextVar[AnswerReads | None] = ContextVar("ringi_answer_reads", default=None)
register_configure_hook(READS, inheritable=True)
