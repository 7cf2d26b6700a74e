"""The contract of a runtime: it runs the agents of one framework to their next questions, and goes on with the answers.

Ringi keeps the state of a paused run, asks the questions, and calls the runtime again when they have ended, in any
process. A run may be ahead of the records after a crash; therefore it is asked for its position before it continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from ringi.base.model import StrictModel
from ringi.domain.ask import Ask
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import ModelCalls
from ringi.errors import RingiError, UnavailableError

UnreadCause = Literal["unread", "ungated", "changed", "skipped"]


class AgentServiceError(RingiError):
    """An agent's own code found a service unavailable, other than the store of its run."""

    def __init__(self, error: UnavailableError) -> None:
        self.error = error
        super().__init__(f"{type(error).__name__}: {error}")


class FrameworkState(StrictModel):
    """The state of a run in the format of its framework, as JSON. Other code does not read it."""

    framework: str
    """The name of the framework, such as `openai-agents`."""
    version: str
    """The version of the framework that wrote the state."""
    schema_number: int
    """The number of the format."""
    data: JsonValue
    run_id: str = ""
    """The id of the run, set when the state is stored. A new run of the thread finds the state of the previous one."""
    asks: bool = True
    """Whether the run asks people, set when the state is stored: `RINGI_ENABLED` counts when a run begins."""


@dataclass(frozen=True)
class Description:
    """The framework of an agent, and the states from which it can continue."""

    framework: str
    version: str
    """The installed version of the framework."""
    reads: range = range(1)
    """The numbers of the state formats that the runtime reads. A run with another one waits for an operator."""
    needs: Literal["each", "all"] = "each"
    """Whether the run continues on each answer, or only when all questions of a pause have ended."""
    has_checkpoints: bool = False
    """Whether runs use `Run.checkpoints` instead of `Run.state`."""
    steps: frozenset[str] = frozenset()
    """The names of the steps that can ask, if steps have names."""
    checks_calls: bool = False
    """Whether each call of a tool runs only if `Run.must_pause` was awaited with the arguments with which it runs, and
    returned False, or if its request was approved with them. Otherwise an agent with a policy is refused.
    """
    repeats: str = "give each question its own id"
    """How to avoid that an answered question is asked again."""


@dataclass(frozen=True)
class Question:
    """A place at which a run waits for people."""

    id: str
    """The id under which the run receives the answer, unique in the thread: it is the same as long as the run waits."""
    asks: tuple[Ask, ...]
    """What people are asked; most questions ask once."""
    digests: tuple[str, ...]
    """The digest of each ask as the agent made it, without ids that a repetition draws anew.

    `asks` can have the newest schema of a tool in addition.
    """
    place: str = ""
    """The place of the question in its run: the numbers and paths of its steps, and its position within the last one.

    The id of a request is derived from the thread, the run, the place, the digest, and the count of refused answers.
    The place must be unique in the run. If a restored store repeats the run, it must be the same again, so it contains
    no id that an attempt draws. If it is empty, `id` has these properties, and differs between the runs of a thread.
    """
    step: str = ""
    """The name of the step that asks, which a later deploy may have removed."""
    answered: frozenset[int] = frozenset()
    """The positions in `asks` about which no person is asked, because the runtime answers them."""
    has_recipients: bool = False
    """Whether the agent's defaults for assignee and expiry do not apply."""
    must_ask: bool = False
    """Whether people decide even if the policy of the agent allows the call: its tool has a gate that asks."""
    may_refuse: bool = False
    """Whether the agent may refuse an answer that matches the schema."""

    @property
    def positions(self) -> list[int]:
        """The positions of the asks that people are asked."""
        return [position for position in range(len(self.asks)) if position not in self.answered]


@dataclass(frozen=True)
class Standing:
    """The position of a run."""

    status: Literal["new", "ready", "paused", "done"]
    """`new`: the run has not begun. `ready`: it continues without an answer. `paused`: it waits. `done`: it ended."""
    questions: tuple[Question, ...] = ()
    """The questions of a paused run."""
    values: Mapping[str, JsonValue] | None = None
    """What people see of a paused or ended run."""
    lost: frozenset[str] = frozenset()
    """The ids of questions whose steps the deployed agent would not run next."""
    swallowed: tuple[str, ...] = ()
    """The titles of questions that the agent asked, and whose pauses its own code has caught."""
    is_interrupted: bool = False
    """Whether a step of a paused run has neither ended nor asked, because its worker has died."""
    position: str | None = None
    """The name of this position, to which `rewind` returns."""


class AnswerRefusedError(RingiError):
    """The agent refuses an answer, before any effect; the question `id` is asked again."""

    def __init__(self, id: str, why: str) -> None:
        self.id = id
        super().__init__(f"the agent refuses the answer to {id!r}: {why}")


class UnreadAnswersError(RingiError):
    """The deployed agent ended a step, or was about to run a call, without heeding the answer to its question.

    Nothing of the step was stored, and nothing after it has run.

    Args:
        ids: The ids of the questions whose answers nothing has heeded.
        started: The names of what has started meanwhile, for an operator.
        cause: `unread`: a step has ended without reading its answer. `ungated`: a tool has lost its gate. `changed`: a
            call is another one than people decided about. `skipped`: a step goes to the tools past their review.
        place: The name of the tool or the step, except for `unread`.
    """

    def __init__(
        self, ids: Iterable[str], started: Iterable[str] = (), cause: UnreadCause = "unread", place: str = ""
    ) -> None:
        self.ids, self.started, self.cause, self.place = frozenset(ids), tuple(started), cause, place
        super().__init__(f"the agent has not read the answers to {', '.join(sorted(self.ids))}")


class Output(Protocol):
    """The output of a run for people. A repetition of the run gives the same ids; what was written is not repeated."""

    def begin(self) -> None:
        """Begin a stretch: steps are about to run, some of them again."""

    def text(self, message_id: str, delta: str) -> None:
        """Append to a message of the agent."""

    def end_text(self, message_id: str) -> None:
        """End a message."""

    def whole_text(self, origin: str, text: str) -> None:
        """Add a whole message, once for each `origin`, its place in the run."""

    def supersede(self, message_id: str) -> None:
        """Hide a message, because the next one repeats its content."""

    def tool_call(self, call_id: str, name: str, args: str) -> None:
        """Add a call of a tool; `args` is JSON."""

    def tool_result(self, call_id: str, content: str) -> None:
        """Add the result of a call."""

    def custom(self, origin: str, name: str, value: Any) -> None:
        """Add an event of the agent's own; `origin` is its place in the run."""

    async def flush(self) -> None:
        """Return when all output so far is stored."""


class AgentSettings(Protocol):
    """The settings of an agent that each runtime needs; `ringi.Agent` has them all."""

    @property
    def name(self) -> str:
        """The name of the agent."""

    @property
    def target(self) -> Any:
        """The object of the framework that runs."""

    @property
    def input(self) -> Callable[[dict[str, Any]], Any]:
        """Converts the input of a run."""

    @property
    def context(self) -> Callable[[dict[str, Any], str | None], Any]:
        """Returns the context of a run from its input and the name of its starter."""

    @property
    def output(self) -> Callable[[Any], dict[str, Any]] | None:
        """Converts the result of a run; None for the runtime's own conversion."""

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of the framework for each run."""


class WorkerRun(Protocol):
    """One run on the worker that holds its thread."""

    @property
    def agent(self) -> Any:
        """The agent with its settings; see `ringi.Agent`."""

    @property
    def key(self) -> Key:
        """The tenant and the id of the thread."""

    @property
    def id(self) -> str:
        """The id of the run."""

    @property
    def by(self) -> str | None:
        """The name of the person who started the run; None if it is no longer known."""

    @property
    def input(self) -> dict[str, Any]:
        """The input of the run. Images of its messages are content blocks."""

    @property
    def state(self) -> FrameworkState | None:
        """The newest state of the thread: of this run, of an earlier one, or None."""

    @property
    def checkpoints(self) -> Any:
        """The checkpoints of the thread, writable only while this worker holds it."""

    @property
    def host(self) -> Any:
        """The `RunContext` of the run."""

    @property
    def asks(self) -> bool:
        """Whether people are asked; `RINGI_ENABLED` counts when a run begins."""

    @property
    def max_fields(self) -> int:
        """The maximum number of fields of a form."""

    @property
    def is_first(self) -> bool:
        """Whether no worker has held the thread before."""

    async def must_pause(self, tool: str, args: Mapping[str, JsonValue]) -> bool:
        """Return whether the run must pause at a call, at which its framework would not pause.

        The policy of the agent does not allow the call: people decide, or the denial is recorded.

        Args:
            tool: The name of the tool.
            args: The arguments by name; a condition on a missing one is unknown.
        """

    async def prune_checkpoints(self) -> None:
        """Delete the checkpoints that no run needs."""

    def count_usage(self, calls: ModelCalls) -> None:
        """Count calls of a model."""


class OpenRun(Protocol):
    """A run of a runtime, while one worker holds its thread."""

    @property
    def failed(self) -> frozenset[str]:
        """The ids of the questions whose steps failed when they were answered."""

    @property
    def read(self) -> frozenset[str]:
        """The ids of the questions whose answers code of the agent had read when `advance` failed.

        Other answers are not acknowledged: an operator has to act. If the runtime cannot tell, it names none.
        """

    async def look(self) -> Standing:
        """Return the position of the run, from what is stored. No code of the agent runs."""

    async def advance(self, answers: Mapping[str, Sequence[Request]], out: Output) -> FrameworkState | None:
        """Run to the next pause or the end; `look` then gives the position.

        Args:
            answers: The ended requests of each answered question; empty to begin, or to continue after a crash.
            out: Receives the output.

        Returns:
            The state to store, which `Run.state` has afterwards; None if the run is in `Run.checkpoints`.

        Raises:
            AnswerRefusedError: An answer does not fit.
            UnreadAnswersError: A later deploy has removed the code that asked: a step did not read its answer.
        """

    async def rewind(self, position: str) -> None:
        """Return the run to a position, with all its questions open."""


class Runtime(Protocol):
    """Runs the agents of one framework."""

    def describe(self, agent: AgentSettings) -> Description | None:
        """Return the description of an agent; None for an object of another framework.

        A later deploy may have removed the gate of a call that waits. A runtime stops before such a call, or reads the
        answer from its own state. What it cannot see before the call stands in the documentation of the runtime.

        Raises:
            SettingError: The object belongs to the framework, and cannot be served.
        """

    def open(self, run: WorkerRun) -> OpenRun:
        """Return a run, before any of its code has run."""
