"""What the runtimes of frameworks that pause at tool calls share: settings, input, questions, gates, and stored runs.

`ringi.gate` leaves a mark on its function. The runtime of a framework finds the gate by the mark, and
passes it before the tool runs: then the gate asks by a pause of the run, and not in the middle of the tool.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, Protocol, cast

from ringi.base.canonical_json import digest, jsonable
from ringi.base.settings import SettingError
from ringi.contracts.runtime import Question, Standing, WorkerRun
from ringi.domain.ask import AGREEING, Ask, Decision, request_content_digest
from ringi.domain.display import Code
from ringi.domain.record import POLICY
from ringi.domain.request import Request
from ringi.domain.thread import ModelCalls
from ringi.errors import InvalidError, NotAuthorizedError
from ringi.policy.rules import PEOPLE
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.context import (
    CallDecision,
    approval_question,
    decision_on_call,
    question_content_digest,
    storable_call_arguments,
)
from ringi.runs.run import clean_json, storable_json_text

LANGGRAPH_ONLY = ("images", "subgraphs", "history", "memories", "answer_schema")
"""The settings of `Agent` that these runtimes cannot apply."""
MAX_NAME = 200
"""The number of characters of a model's name that are stored."""
TEXT_BLOCKS = ("text", "input_text", "output_text")
GATED = "gated"
"""The key of a stored question that says whether the gate of the tool asks it."""
PLACE = "place"
"""The key of a stored question with its place in the run."""
AGENT = "agent"
"""The key in the context of a request with the name of the agent that makes the call."""
NOTE = (
    "A person changed the arguments of this call before it ran, on purpose: it ran with {args}. "
    "Do not repeat the original call.\n\n"
)
"""What the model reads before the result of an edited call."""
REJECTED = "A person rejected this call. It did not run; do not repeat it as it is."
MARK = "__ringi_gate__"
"""The attribute of a function with its gate; `functools.wraps` copies it."""
Arguments = frozenset[str] | None
"""The names of a tool's arguments; None if they are unknown."""


class RunInputMessage(NamedTuple):
    """A message of a run's input."""

    role: str
    text: str


class ToolCall(NamedTuple):
    """A call of a tool that waits for people."""

    id: str
    """The framework's id of the call, with the path of its agents."""
    call_id: str
    name: str
    args: dict[str, Any]
    agent: str = ""
    """The name of the agent that makes the call, if it is another one than the agent of the run."""
    place: str = ""
    """The place of the call in the run, which a repetition gives again: turns, agents, positions; see `Question`."""

    def decision(self, request: Request) -> CallDecision:
        """Return the decision of an ended request about this call; silence is a rejection.

        Raises:
            NotAuthorizedError: The request is about another call, or the call that may run is not the authorized call.
        """
        known = request.action and (request.action.name, request.action.args)
        if not request.erased and known != (self.name, storable_call_arguments(self.args)[0]):
            raise NotAuthorizedError(request.id, f"the call of {self.name!r} has changed since the question; ask again")
        return decision_on_call(request)

    def question(
        self,
        allowed: Collection[Decision],
        *,
        description: str | None = None,
        schema: dict[str, Any] | None = None,
        context: Mapping[str, Any] | None = None,
        code: Code | None = None,
    ) -> Ask:
        """Return the question that asks for approval of this call."""
        ask = approval_question(self.name, f"Run {self.name}?", self.args, allowed, description, schema)
        about = {TOOL_CALL_ID: self.call_id, **({AGENT: self.agent} if self.agent else {}), **(context or {})}
        return ask.model_copy(update={"context": clean_json(jsonable(about)), "display": (code,) if code else None})


def refuse_unsupported_settings(agent: Any, framework: str, options: Collection[str]) -> None:
    """Raise `SettingError` for the first setting of an agent that its runtime cannot apply.

    Args:
        agent: The agent.
        framework: The name of its framework.
        options: The names of the framework's options that the runtime applies.
    """
    if unknown := sorted(agent.options.keys() - set(options)):
        what = f"{framework} takes {', '.join(options)} here: remove the others"
        raise SettingError(f"agents.{agent.name}.options", unknown, what)
    for name in LANGGRAPH_ONLY:
        if (value := getattr(agent, name, None)) not in (None, False):
            raise SettingError(f"agents.{agent.name}.{name}", value, f"{framework} cannot apply it: remove it")


def run_input_messages(input: Any) -> list[RunInputMessage]:
    """Return the input of a run as messages: `{"messages": […]}`, text, or any other JSON as text."""
    if isinstance(input, Mapping) and isinstance(input.get("messages"), Sequence):
        return [
            RunInputMessage(str(each.get("role", "user")), message_content_text(each.get("content")))
            for each in input["messages"]
        ]
    return [RunInputMessage("user", input if isinstance(input, str) else storable_json_text(input))]


def message_content_text(content: Any) -> str:
    """Return the text of a message's content."""
    if isinstance(content, str) or not isinstance(content, Sequence):
        return content if isinstance(content, str) else storable_json_text(content)
    texts = (each.get("text", "") for each in content if each.get("type") in TEXT_BLOCKS)
    return "\n".join(texts)


def parse_call_arguments(text: str | dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the arguments of a call, which a model writes as a JSON object; None if they are no JSON object."""
    if text is None or text == "":
        return {}
    try:
        args = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def ids_made_unique(ids: Sequence[str]) -> list[str]:
    """Return ids that differ, in the same order: a repeated one gets its number."""
    numbers, unique = Counter[str](), list[str]()
    for id in ids:
        numbers[id] += 1
        unique.append(id if numbers[id] == 1 else f"{id}#{numbers[id]}")
    return unique


def question_to_json(id: str, ask: Ask, place: str, *, is_gated: bool) -> dict[str, Any]:
    """Return a question as JSON, for the state of a pause.

    Args:
        id: The id of the question.
        ask: What people are asked.
        place: The place of the question in the run.
        is_gated: Whether a gate asks it.
    """
    return {"id": id, PLACE: place, GATED: is_gated, "ask": ask.model_dump(mode="json", by_alias=True)}


def question_from_json(stored: Mapping[str, Any]) -> Question:
    """Return one question of the state of a pause."""
    ask, is_gated, place = Ask.parse_stored(stored["ask"]), stored[GATED], stored[PLACE]
    digest = question_content_digest(ask) if place else request_content_digest(ask)
    return Question(stored["id"], (ask,), (digest,), place=place, has_recipients=is_gated, must_ask=is_gated)


def model_usage_or_zeros(model: str, calls: int, seconds: float, *, read: int, cached: int, written: int) -> ModelCalls:
    """Return the use of a model; a provider without a report gives zeros."""
    tokens = {"input_tokens": read, "cached_tokens": cached, "output_tokens": written}
    reported = tokens if read + written > 0 else {"unreported_calls": calls}
    return ModelCalls(model=model[:MAX_NAME], calls=calls, seconds=round(seconds, 3), **reported)


def ended_run_values(agent: Any, result: Any, output: Any) -> dict[str, Any]:
    """Return what people see of an ended run."""
    value = agent.output(result) if agent.output else {"output": output}
    return cast(dict[str, Any], clean_json(json.loads(storable_json_text(value))))


class StoredRun:
    """The part of an open run that its framework has no say in; see `ringi.contracts.runtime.OpenRun`.

    The data of its state has `questions` while it waits, and `values` once it has ended.
    """

    failed: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def __init__(self, run: WorkerRun) -> None:
        self._run = run

    async def look(self) -> Standing:
        """Return the position of the run, from the stored state."""
        data = self._own_data()
        if data is None:
            return Standing("new")
        if "questions" in data:
            return Standing("paused", tuple(map(question_from_json, data["questions"])), values={})
        return Standing("done", values=data["values"])

    async def rewind(self, position: str) -> None:
        """Do nothing: the stored state is the only position of a run."""

    def _own_data(self) -> dict[str, Any] | None:
        state = self._run.state
        return state.data if state and state.run_id == self._run.id and isinstance(state.data, dict) else None


class FunctionGateProtocol(Protocol):
    """The gate of a function."""

    async def authorize_call(self, call: GatedCall) -> dict[str, Any]:
        """Return the arguments with which the function may run.

        Raises:
            AskFirst: People must be asked.
            NotAuthorizedError: The call may not run.
            InvalidError: The arguments do not fit the function.
            TypeError: The same.
        """


class AskFirst(Exception):  # noqa: N818 - it is no error: the run pauses.
    """A gate asks people about a call."""

    def __init__(self, question: Ask) -> None:
        self.question = question
        super().__init__(question.title)


@dataclass
class GatedCall:
    """A call of a tool, at which its run can pause."""

    run: Any
    """The run; see `ringi.contracts.runtime.WorkerRun`."""
    tool: str
    args: Mapping[str, Any]
    """The arguments by name, as JSON."""
    place: str
    """The place of the call in the run, which a run that a restored store repeats has again: no id of the model."""
    request: Request | None = None
    """The request that approves the call; None if nobody was asked about it."""
    gate: FunctionGateProtocol | None = None
    """The gate of the tool's function."""
    suspend: Callable[[Ask], NoReturn] | None = None
    """Pauses the run in the middle of the tool; None if the framework cannot."""
    passed: str | None = None
    """The digest of the arguments with which the gate was passed; None before that, and once the function has begun."""

    @property
    def is_approved(self) -> bool:
        """Whether a person approved exactly this call, at once or in advance, and not a rule."""
        request = self.request
        if request is None or request.response is None or request.granted is None:
            return False
        return request.response.grant_use is not None or not request.response.responder.startswith(POLICY)

    async def pass_gate(self) -> str | None:
        """Pass the gate; return why the call may not run, or None if it may.

        Raises:
            AskFirst: People must be asked.
        """
        if self.gate is None:
            return None
        try:
            self.passed = digest(await self.gate.authorize_call(self))
        except NotAuthorizedError as error:
            return str(error)
        except (InvalidError, TypeError):
            # The function itself says what is wrong.
            return None
        return None

    def begin(self, gate: FunctionGateProtocol, args: Mapping[str, Any]) -> bool:
        """Return whether a function begins whose gate was passed with exactly these arguments; true only once."""
        if self.gate is not gate or self.passed is None or self.passed != digest(args):
            return False
        self.passed = None
        return True


CURRENT: ContextVar[GatedCall | None] = ContextVar("ringi_gated_call", default=None)
"""The call of the tool that runs."""


def gate_of_function(function: object) -> FunctionGateProtocol | None:
    """Return the gate of a function; None if it has none."""
    return cast(FunctionGateProtocol | None, getattr(function, MARK, None))


def question_asked_by_gate(ask: Ask, gate: Ask) -> Ask:
    """Return the question about a call, as its gate asks it.

    Args:
        ask: The question of the framework.
        gate: The question of the gate.
    """
    # A framework may offer less than the gate allows, such as no edit.
    allowed = tuple(each for each in ask.resolved_allowed if each in gate.resolved_allowed)
    names = ("title", "priority", "expires_in", "assignee", "groups")
    changes = {name: getattr(gate, name) for name in names}
    # What the agent's policy says about people stands where the gate says nothing.
    changes |= {name: value for name in (*PEOPLE, "policy") if (value := getattr(gate, name))}
    if set(AGREEING).isdisjoint(allowed):
        # People vote only on what may run.
        changes["quorum"] = ()
    context = {**ask.context, **gate.context}
    return ask.model_copy(update={**changes, "context": context, "allowed": allowed or ("reject",)})


class AgentTools:
    """The tools of an agent, and of all agents that it reaches."""

    def __init__(self) -> None:
        self.arguments: dict[str, Arguments] = {}
        """The arguments of each tool at whose calls a run can pause."""
        self.unstoppable: set[str] = set()
        """The names of the tools whose calls a run cannot prevent."""
        self.is_complete = True
        """Whether all tools are known; those of an MCP server are known only while it is connected."""

    def add(self, name: str, arguments: Arguments) -> None:
        """Add a tool; agents may have different tools of the same name."""
        known = self.arguments.get(name, frozenset())
        self.arguments[name] = None if known is None or arguments is None else known | arguments

    def check(self, agent: Any) -> None:
        """Raise `SettingError` if the policy of an agent names a wrong tool, or cannot hold for one of the tools."""
        policy = agent.policy
        if policy is None:
            return
        place = f"agents.{agent.name}.policy"
        for name in sorted(self.unstoppable):
            if policy.decide(name, {}).effect != "allow":
                why = f"calls of {name!r} cannot be stopped: add a rule that allows all of them, or remove the tool"
                raise SettingError(place, name, why)
        tools = self.arguments | dict.fromkeys(self.unstoppable)
        try:
            policy.check_tools(tools, policy.fact_names, None if self.is_complete else tools.keys())
        except InvalidError as error:
            wrong = error.errors[0]
            raise SettingError(f"{place}.{wrong.field}", "…", wrong.message) from error


def schema_argument_names(schema: Mapping[str, Any] | None) -> Arguments:
    """Return the names of the arguments of a tool with this JSON Schema."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping) or (schema or {}).get("additionalProperties"):
        return None
    return frozenset(properties)
