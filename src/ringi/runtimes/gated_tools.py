"""Functions with a gate of their own, as tools of an agent that can pause at calls of tools.

`ringi.gate` leaves a mark on its function. The runtime of a framework finds the gate by the mark, and
passes it before the tool runs: then the gate asks by a pause of the run, and not in the middle of the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol, cast

from ringi.base.canonical_json import digest
from ringi.base.settings import SettingError
from ringi.domain.ask import AGREEING, Ask
from ringi.domain.record import POLICY
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError
from ringi.policy.question import find_awaitable_call_facts
from ringi.policy.rules import PEOPLE, PolicyDenial

MARK = "__ringi_gate__"
"""The attribute of a function with its gate; `functools.wraps` copies it."""
Arguments = frozenset[str] | None
"""The names of a tool's arguments; None if they are unknown."""


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


async def current_policy_denial(run: Any, tool: str, args: Mapping[str, Any]) -> PolicyDenial | None:
    """Return why the policy of the agent of a run denies a call, with current facts; None if it does not."""
    policy = run.agent.policy
    if policy is None:
        return None
    facts = await find_awaitable_call_facts(run.agent.facts, policy.facts_of_denial(tool, args), tool, dict(args))
    return cast(PolicyDenial | None, policy.denial(tool, args, facts))


def schema_argument_names(schema: Mapping[str, Any] | None) -> Arguments:
    """Return the names of the arguments of a tool with this JSON Schema."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping) or (schema or {}).get("additionalProperties"):
        return None
    return frozenset(properties)
