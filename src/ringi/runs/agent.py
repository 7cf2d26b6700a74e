"""An agent that Ringi runs: an object of its framework with its input, output and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ringi.base.settings import SettingError
from ringi.domain.ask import Ask, parse_body
from ringi.errors import FieldError, InvalidError
from ringi.forms import InstanceCheck, json_schema
from ringi.policy.question import FactFunction
from ringi.policy.rules import Policy
from ringi.runs.frameworks import ServedAgent, find_runtime

State = Mapping[str, Any]
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def no_output(state: State) -> dict[str, Any]:
    """Return an empty object: no part of the state is shown.

    Args:
        state: The state of the graph; it is ignored.
    """
    return {}


class UnfitValuesError(InvalidError):
    """The values that an agent shows of its state are not a storable JSON object."""

    def __init__(self, agent: str, why: str) -> None:
        super().__init__([FieldError("output", f"agent {agent!r} has invalid output: {why}")])


@dataclass(frozen=True)
class Agent:
    """A name, the agent of a framework, and the settings of its runs."""

    name: str
    target: Any
    """A LangGraph graph compiled without a checkpointer, or an agent of another framework."""
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any] = field(default_factory=lambda: ANY_OBJECT)
    """JSON Schema of the run input."""
    input: Callable[[dict[str, Any]], Any] = lambda input: input
    """Converts the run input to the graph's input."""
    context: Callable[[dict[str, Any], str | None], Any] = lambda input, by: None
    """Returns `runtime.context` for the graph's `context_schema`, from the run input and the name of the run's starter.

    It is called each time the run resumes. Without it, the schema's defaults are used if all fields have one.
    """
    output: Callable[[State], dict[str, Any]] | None = None
    """Converts the graph's state to the JSON that people may see. None shows the final messages, else the output."""
    expires_in: float | None = None
    """Seconds until a question asked without Ringi's own `ask` expires; None for never."""
    assignee: str | None = None
    """The assignee of such a question."""
    groups: tuple[str, ...] = ()
    """The groups whose members may answer such a question."""
    is_internal: bool = False
    """True if only runs of other agents may start this agent; it is not offered to people or programs."""
    answer_schema: Any = None
    """The schema of answers to a plain `interrupt()`: a JSON Schema, a type, or a mapping of either by node.

    None allows any JSON value except null.
    """
    rejection_value: Any = False
    """The value that a plain `interrupt()` returns for a rejection; None if a rejection is not allowed."""
    memories: bool = False
    """True if `runtime.store` holds the memories of the run's starter, in place of the agent's own store."""
    subgraphs: bool = False
    """True to also stream messages of graphs that the nodes call, like LangGraph's `subgraphs=True`."""
    history: bool = False
    """True to keep all checkpoints of the agent's threads.

    By default an ended run keeps the newest one, from which the next run continues. A run that waits for a person keeps
    all of its checkpoints, and so does a thread with a `DeltaChannel`.
    """
    images: bool = False
    """True if people may attach images to a message; the graph receives them as LangChain content blocks."""
    policy: Policy | None = None
    """The rules for the tool calls of an agent of another framework than LangGraph.

    A rule can allow or deny a call, and says who is asked. None asks about each call at which the framework pauses.
    For LangGraph, give the policy to `Approval`. Plain data is read, as `Policy.parse` does.
    """
    facts: Mapping[str, FactFunction] = field(default_factory=dict)
    """Functions that look up what the policy's `facts` need, by name, as in `Approval`."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the framework for each run. OpenAI Agents: `run_config`, `max_turns`. Pydantic AI: `model`,
    `model_settings`, `usage_limits`.
    """

    def __post_init__(self) -> None:
        """Read a policy that is given as plain data."""
        plain: object = self.policy
        if isinstance(plain, Mapping):
            object.__setattr__(self, "policy", Policy.parse(dict(plain)))

    @property
    def ask_defaults(self) -> dict[str, Any]:
        """Return the default assignee and expiry of a question whose graph sets neither."""
        return {"expires_in": self.expires_in, "assignee": self.assignee, "groups": self.groups}

    @cached_property
    def served(self) -> ServedAgent:
        """The runtime of the agent, and its description."""
        return find_runtime(self)

    def check_input(self, input: dict[str, Any]) -> None:
        """Check a run input against `input_schema`.

        Args:
            input: The run input.

        Raises:
            InvalidError: The schema does not allow the input; each error names a field of `input`.
        """
        self._check_input(input, field="input")

    @cached_property
    def _check_input(self) -> InstanceCheck:
        return InstanceCheck(self.input_schema)


def agents_by_name(agents: Iterable[Agent]) -> dict[str, Agent]:
    """Return the agents by name.

    Args:
        agents: The agents of a process.

    Raises:
        SettingError: Two agents share a name, or a runtime refuses an agent.
        UnsupportedError: An installed library is too old for an agent.
    """
    by_name: dict[str, Agent] = {}
    for agent in agents:
        if agent.name in by_name:
            raise SettingError("agents", agent.name, "give each agent its own name")
        json_schema.check_schema(agent.input_schema, field=f"agents.{agent.name}.input_schema")
        parse_body(Ask, {"title": agent.name, **agent.ask_defaults})
        _ = agent.served
        check_facts(agent)
        by_name[agent.name] = agent
    return by_name


def check_facts(agent: Agent) -> None:
    """Raise `SettingError` unless the agent has a policy for its facts, and each fact that the policy needs."""
    place = f"agents.{agent.name}.facts"
    if agent.facts and agent.policy is None:
        raise SettingError(place, sorted(agent.facts), "they are for `policy`: set it, or remove them")
    if unknown := sorted(agent.policy.fact_names - agent.facts.keys()) if agent.policy else []:
        needed = f"the policy needs {', '.join(map(repr, unknown))}: pass a function for each by this name"
        raise SettingError(place, sorted(agent.facts), needed)
