"""Pauses of a run of the SDK, and of its nested agents, at calls that neither policy nor their gates allow."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from types import CellType, FunctionType
from typing import Any, NamedTuple, TypeAlias, cast

from agents import Agent, ApplyPatchTool, CustomTool, FunctionTool, HostedMCPTool, ShellTool
from agents.items import ModelResponse
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall

from ringi.contracts.runtime import WorkerRun
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.errors import NotAuthorizedError
from ringi.runs.context import set_context_variable
from ringi.runtimes.tool_calls import (
    CURRENT,
    AskFirst,
    FunctionGateProtocol,
    GatedCall,
    ToolCall,
    gate_of_function,
    parse_call_arguments,
)

NeedsApproval: TypeAlias = bool | Callable[[Any, Any, str], Any]
"""Whether a tool needs approval; a function gets the SDK's context, the arguments, and the id of the call."""
Invoke: TypeAlias = Callable[[Any, str], Awaitable[Any]]
OUTER: ContextVar[str] = ContextVar("ringi_outer_call", default="")
"""The place of the call that runs an agent that is a tool, before the places of its calls; empty outside of one."""
AGENT_CELL = "self"
"""The name by which the SDK's function holds the agent that it runs."""


class ToolInvocation(NamedTuple):
    """A call of a function tool as the SDK makes it."""

    tool: FunctionTool
    agent: str
    context: ToolContext[Any]
    input: str


class AgentCallKey(NamedTuple):
    """A call of an agent."""

    agent: str
    tool: str
    id: str
    args: str
    outer: str = ""
    """The place of the call that runs the agent, if the agent is a tool."""


class OpenAIToolPauses:
    """Decides at which calls a run pauses."""

    def __init__(self, run: WorkerRun, turn: int) -> None:
        self._run, self.has_policy, self._turn = run, run.agent.policy is not None, turn
        self._places: dict[tuple[str, str, str], str] = {}
        """The places of calls by the name of their agent, their ids and their arguments."""
        self._gates: dict[tuple[str, str], FunctionGateProtocol] = {}
        """The gates by the names of the agent and its tool."""
        self._calls: dict[AgentCallKey, GatedCall] = {}
        """The calls that run without a pause."""
        self._refusals: dict[AgentCallKey, str] = {}
        """Why a gate denies a call."""
        self._asked: dict[AgentCallKey, Ask] = {}
        """What gates ask about calls."""

    def note_answer(self, agent: str, response: ModelResponse) -> None:
        """Note the places of the calls in a model's answer: the number of its turn, and their positions."""
        self._turn += 1
        # The first of equal calls counts, and that of a later turn: some models use the id of a call again.
        for n, item in reversed(list(enumerate(response.output))):
            if isinstance(item, ResponseFunctionToolCall):
                key = (agent, item.call_id, str(parse_call_arguments(item.arguments) or {}))
                self._places[key] = f"{self._turn}/{agent}/{n}"

    def of_function(self, tool: FunctionTool, agent: str) -> Any:
        """Return whether a function tool of an agent needs approval."""
        own, name, gate = tool.needs_approval, tool.qualified_name, gate_of_openai_tool(tool)
        if gate:
            self._gates[agent, name] = gate
        if own is True or not (self.has_policy or gate):
            return own

        async def needs_approval(context: Any, args: dict[str, Any], call_id: str) -> bool:
            key = AgentCallKey(agent, name, call_id, str(args), OUTER.get())
            is_needed = await tool_needs_approval(own, context, args, call_id)
            must_pause = is_needed or await self._run.must_pause(name, args)
            return await self._is_asked(key, args) or (must_pause and key not in self._refusals)

        return needs_approval

    async def question(self, agent: str, call: ToolCall) -> Ask | None:
        """Return what a gate asks about a call of an agent at which the run pauses; None if it asks nothing."""
        key = AgentCallKey(agent, call.name, call.call_id, str(call.args))
        if key not in self._asked and (agent, call.name) in self._gates:
            await self._is_asked(key, call.args)
        return self._asked.get(key)

    async def _is_asked(self, key: AgentCallKey, args: dict[str, Any]) -> bool:
        call = self._gated_call(key, args)
        try:
            refusal = await call.pass_gate()
        except AskFirst as error:
            self._asked[key._replace(outer="")] = error.question
            return True
        self._calls[key] = call
        if refusal is not None:
            self._refusals[key] = refusal
        return False

    def _gated_call(self, key: AgentCallKey, args: dict[str, Any], request: Request | None = None) -> GatedCall:
        own = f"{key.agent}/{key.id}"
        # The SDK tells nobody about the answers within an agent that is a tool.
        place = key.outer + own if key.outer else self._places.get((key.agent, key.id, key.args), own)
        return GatedCall(self._run, key.tool, args, place, request, self._gates.get((key.agent, key.tool)))

    async def invoke(self, invoke: Invoke, call: ToolInvocation, request: Request | None = None) -> Any:
        """Return the result of a call that may run, or why its gate denies it.

        Args:
            invoke: The function of the tool.
            call: The call.
            request: The request that authorizes the call; None if nobody was asked.

        Raises:
            NotAuthorizedError: The call would run without the approval that it needs.
        """
        args, id = parse_call_arguments(call.input) or {}, call.context.tool_call_id
        key = AgentCallKey(call.agent, call.tool.qualified_name, id, str(args), OUTER.get())
        if key in self._refusals:
            return self._refusals.pop(key)
        gated = self._calls.pop(key, None)
        if gated is None:
            # An agent that is a tool is called again when its own run resumes.
            is_unasked = request is None and self.has_policy and agent_inside_tool(call.tool) is None
            if is_unasked and await self._run.must_pause(key.tool, args):
                raise NotAuthorizedError(id, f"the policy does not allow this call of {key.tool!r}")
            gated = self._gated_call(key, args, request)
            try:
                refusal = await gated.pass_gate()
            except AskFirst as error:
                raise NotAuthorizedError(id, f"the gate of {key.tool!r} asks a person, and none approved") from error
            if refusal is not None:
                return refusal
        with ExitStack() as variables:
            if gated.gate:
                variables.enter_context(set_context_variable(CURRENT, gated))
            if agent_inside_tool(call.tool) is not None:
                variables.enter_context(set_context_variable(OUTER, f"{gated.place}/"))
            return await self._recorded(invoke, request)(call.context, call.input)

    def _recorded(self, invoke: Invoke, request: Request | None) -> Invoke:
        """Return the function of a tool, recording what becomes of its call.

        The SDK's own invoker turns errors of the function into text for the model: only inside are they seen.
        """
        if request is None:
            return invoke
        inner: Invoke = getattr(invoke, "_invoke_tool_impl", invoke)

        async def recorded(context: Any, input: str) -> Any:
            with self._run.host.outcomes.executing(request):
                return await inner(context, input)

        if inner is invoke:
            return recorded
        outer: Any = copy.copy(invoke)
        outer._invoke_tool_impl = recorded
        return cast(Invoke, outer)

    def of_other(self, tool: Any) -> Any:
        """Return a copy of a tool that is no function, which pauses at its calls; the tool itself without a policy."""
        if not self.has_policy or not can_pause_at_tool(tool):
            return tool
        paused = copy.copy(tool)
        if isinstance(paused, HostedMCPTool):
            config: Any = {**paused.tool_config, "require_approval": "always"}
            paused.tool_config, paused.on_approval_request = config, None
            return paused
        own, name = tool.needs_approval, tool.name

        async def needs_approval(context: Any, call: Any, call_id: str) -> bool:
            # The arguments are in no format that a policy knows: only a rule that allows all calls allows this one.
            return await tool_needs_approval(own, context, call, call_id) or await self._run.must_pause(name, {})

        # A function of the agent's author would approve in place of the policy.
        paused.needs_approval, paused.on_approval = needs_approval, None
        return paused


async def tool_needs_approval(own: NeedsApproval, context: Any, args: Any, call_id: str) -> bool:
    """Return whether a tool's own setting asks for approval of a call."""
    if not callable(own):
        return own
    found = own(context, args, call_id)
    return bool(await found if inspect.isawaitable(found) else found)


def can_pause_at_tool(tool: Any) -> bool:
    """Return whether a run can pause at the calls of a tool that is no function."""
    if type(tool) is ShellTool:
        environment: Any = tool.environment or {}
        return bool(environment.get("type") == "local")
    return type(tool) in (ApplyPatchTool, CustomTool, HostedMCPTool)


def gate_of_openai_tool(tool: FunctionTool) -> FunctionGateProtocol | None:
    """Return the gate of a tool's function; None if it has none, or if the SDK hides the function.

    The function is in the closure of the invoker. A gate that is not found waits in this process, and says so.
    """
    invoker: Any = tool.on_invoke_tool
    function = getattr(invoker, "_invoke_tool_impl", invoker)
    for cell in getattr(function, "__closure__", None) or ():
        with suppress(ValueError):  # The cell is empty.
            if gate := gate_of_function(cell.cell_contents):
                return gate
    return gate_of_function(getattr(tool, "__wrapped__", None))


def agent_inside_tool(tool: FunctionTool) -> Agent[Any] | None:
    """Return the agent that a tool is; None for other tools."""
    agent = getattr(tool, "_agent_instance", None)
    return agent if isinstance(agent, Agent) else None


def tool_invoker_with_agent(tool: FunctionTool, agent: Agent[Any]) -> Any:
    """Return the invoker of an agent that is a tool, with another agent; None if this version of the SDK has another.

    The tools of the agent itself run without the guards of its copy.

    Args:
        tool: The tool.
        agent: The agent that the invoker runs in place of the agent of the tool.
    """
    invoker: Any = tool.on_invoke_tool
    function = getattr(invoker, "_invoke_tool_impl", None)
    if not isinstance(function, FunctionType) or AGENT_CELL not in function.__code__.co_freevars:
        return None
    position = function.__code__.co_freevars.index(AGENT_CELL)
    cells = list(function.__closure__ or ())
    if cells[position].cell_contents is not agent_inside_tool(tool):
        return None
    cells[position] = CellType(agent)
    other = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, tuple(cells)
    )
    other.__kwdefaults__ = function.__kwdefaults__
    other.__dict__.update(function.__dict__)
    bound = copy.copy(invoker)
    bound._invoke_tool_impl = other
    return bound
