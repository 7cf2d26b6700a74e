"""Pauses of a run of the SDK, and of its nested agents, at calls that neither policy nor their gates allow.

The SDK cannot change the arguments of an approved call. The tools of copies of the agents look up each call that a
person has decided, and run it with the authorized arguments or not at all.
"""

from __future__ import annotations

import copy
import inspect
import json
import weakref
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from contextvars import ContextVar
from types import CellType, FunctionType
from typing import Any, NamedTuple, TypeAlias, cast

from agents import (
    Agent,
    AgentHooks,
    ApplyPatchTool,
    CustomTool,
    FunctionTool,
    Handoff,
    HostedMCPTool,
    ShellTool,
    ToolInputGuardrailData,
)
from agents.exceptions import ToolInputGuardrailTripwireTriggered
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
    NOTE,
    AgentTools,
    AskFirst,
    FunctionGateProtocol,
    GatedCall,
    ToolCall,
    gate_of_function,
    parse_call_arguments,
    schema_argument_names,
)

NeedsApproval: TypeAlias = bool | Callable[[Any, Any, str], Any]
"""Whether a tool needs approval; a function gets the SDK's context, the arguments, and the id of the call."""
Invoke: TypeAlias = Callable[[Any, str], Awaitable[Any]]
OUTER: ContextVar[str] = ContextVar("ringi_outer_call", default="")
"""The place of the call that runs an agent that is a tool, before the places of its calls; empty outside of one."""
AGENT_CELL = "self"
"""The name by which the SDK's function holds the agent that it runs."""
BIND = "__agents_bind_function_tool__"
"""The SDK's own method that binds an invoker to a copy of its tool."""
HARMLESS = ("tool_search", "programmatic_tool_calling")
"""The tools of the provider that only find or call other tools."""


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


class ApprovedCall(NamedTuple):
    """A call that a person approved, and the request that authorizes it."""

    call: ToolCall
    request: Request

    @property
    def args(self) -> dict[str, Any]:
        """The authorized arguments."""
        granted = self.request.granted
        if granted is None:
            raise NotAuthorizedError(self.request.id, "it was not approved")
        return granted.args


class GuardedInvoker:
    """The function of a tool, which runs a decided call with the authorized arguments."""

    def __init__(self, invoke: Invoke, tool: FunctionTool, agent: str, agents: GuardedAgents) -> None:
        self._invoke, self._tool, self._agent, self._agents = invoke, tool, agent, agents

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # The SDK recognizes its own invokers by their class, and inspects arguments only for those.
        return type(self._invoke)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._invoke, name)

    def __agents_bind_function_tool__(self, tool: FunctionTool) -> GuardedInvoker:
        """Return the invoker for a copy of the tool: the SDK copies tools, and a copy must be guarded too."""
        bind = getattr(self._invoke, BIND, None)
        invoke = bind(tool) if bind else self._invoke
        return GuardedInvoker(invoke, tool, self._agent, self._agents)

    async def __call__(self, ctx: ToolContext[Any], input: str) -> Any:
        """Run the call."""
        name, pauses = self._tool.qualified_name, self._agents.pauses
        approved_call = self._agents.find(self._agent, name, ctx.tool_call_id, input)
        call = ToolInvocation(self._tool, self._agent, ctx, input)
        if approved_call is None:
            return await pauses.invoke(self._invoke, call)
        approved_call.request.authorize(name, approved_call.args)
        if approved_call.args == approved_call.call.args:
            return await pauses.invoke(self._invoke, call, approved_call.request)
        edited = json.dumps(approved_call.args, ensure_ascii=False)
        ctx.tool_arguments = edited
        result: Any = await self._refusal(ctx)
        if result is None:
            result = await pauses.invoke(self._invoke, call._replace(input=edited), approved_call.request)
        return NOTE.format(args=edited) + result if isinstance(result, str) else result

    async def _refusal(self, ctx: ToolContext[Any]) -> str | None:
        """Return what the tool's own guardrails say against edited arguments: the SDK has checked the original ones."""
        agent: Any = ctx.agent
        for guardrail in self._tool.tool_input_guardrails or ():
            output = await guardrail.run(ToolInputGuardrailData(context=ctx, agent=agent))
            if output.behavior["type"] == "reject_content":
                return str(output.behavior["message"])
            if output.behavior["type"] == "raise_exception":
                raise ToolInputGuardrailTripwireTriggered(guardrail, output)
        return None


class GuardedHooks:
    """The hooks of an agent; after they have seen a call, its tool must still compare the arguments."""

    def __init__(self, hooks: AgentHooks[Any], agents: GuardedAgents) -> None:
        self._hooks, self._agents = hooks, agents

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        # The SDK accepts only its own classes as hooks.
        return type(self._hooks)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hooks, name)

    async def on_tool_start(self, context: Any, agent: Agent[Any], tool: Any) -> None:
        """Call the hook, and check the tool of an approved call right before it runs."""
        await self._hooks.on_tool_start(context, agent, tool)
        self._agents.check_tool(agent.name, tool, getattr(context, "tool_call_id", ""))


class GuardedAgents:
    """The copies of agents for one stretch of a run, and its approved calls; the agents themselves stay unchanged."""

    def __init__(self, pauses: OpenAIToolPauses) -> None:
        self.pauses = pauses
        self._approved: dict[tuple[str, str, str], list[ApprovedCall]] = {}
        self._copies: dict[int, Agent[Any]] = {}
        self._originals: list[Agent[Any]] = []
        """Held, so that no other object gets the id of one."""

    def add(self, agent: str, approved_call: ApprovedCall) -> None:
        """Add an approved call of an agent."""
        call = approved_call.call
        self._approved.setdefault((agent, call.name, call.call_id), []).append(approved_call)

    def check_tool(self, agent: str, tool: Any, call_id: str) -> None:
        """Raise `NotAuthorizedError` for an approved call of a function tool that would not compare its arguments."""
        approved_calls = self._approved.get((agent, getattr(tool, "qualified_name", tool.name), call_id), [])
        if approved_calls and isinstance(tool, FunctionTool) and type(tool.on_invoke_tool) is not GuardedInvoker:
            raise NotAuthorizedError(approved_calls[0].request.id, f"the tool {tool.name!r} was replaced; ask again")

    def find(self, agent: str, name: str, call_id: str, args: str) -> ApprovedCall | None:
        """Return the approval of a call; None for a call that nobody was asked about.

        Raises:
            NotAuthorizedError: The call was approved with other arguments.
        """
        approved_calls = self._approved.get((agent, name, call_id), [])
        found = next((each for each in approved_calls if each.call.args == parse_call_arguments(args)), None)
        if approved_calls and not found:
            why = f"the arguments of {name!r} are not those that were shown"
            raise NotAuthorizedError(approved_calls[0].request.id, why)
        return found

    def copy_of(self, agent: Agent[Any]) -> Agent[Any]:
        """Return the copy of an agent, with copies of all agents that it reaches."""
        if id(agent) in self._copies:
            return self._copies[id(agent)]
        guarded: Any = copy.copy(agent)
        self._originals.append(agent)
        self._copies |= {id(agent): guarded, id(guarded): guarded}
        guarded.tools = [self._tool(tool, agent.name) for tool in agent.tools]
        guarded.handoffs = [self._handoff(each) for each in agent.handoffs]
        get_all_tools = guarded.get_all_tools

        async def all_tools(context: Any) -> list[Any]:
            # The tools of MCP servers are made in each turn.
            return [self._tool(tool, agent.name) for tool in await get_all_tools(context)]

        guarded.get_all_tools = all_tools
        guarded.hooks = agent.hooks and GuardedHooks(agent.hooks, self)
        return cast(Agent[Any], guarded)

    def _tool(self, tool: Any, agent: str) -> Any:
        if not isinstance(tool, FunctionTool):
            return self.pauses.of_other(tool)
        if type(tool.on_invoke_tool) is GuardedInvoker:
            return tool
        guarded = copy.copy(tool)
        invoke: Any = guarded.on_invoke_tool
        if nested := agent_inside_tool(tool):
            # The SDK restores the paused run of an agent that is a tool with this agent.
            guarded._agent_instance = self.copy_of(nested)
            invoke = tool_invoker_with_agent(tool, guarded._agent_instance) or invoke
        invoke = GuardedInvoker(invoke, guarded, agent, self)
        guarded.on_invoke_tool, guarded.needs_approval = invoke, self.pauses.of_function(tool, agent)
        return guarded

    def _handoff(self, handoff: Any) -> Any:
        if isinstance(handoff, Agent):
            return self.copy_of(handoff)
        if not isinstance(handoff, Handoff):
            return handoff
        guarded, invoke = copy.copy(handoff), handoff.on_invoke_handoff

        async def hand_off(*args: Any) -> Any:
            return self.copy_of(await invoke(*args))

        guarded.on_invoke_handoff = hand_off
        if target := agent_of_handoff(handoff):
            guarded._agent_ref = weakref.ref(self.copy_of(target))
        return guarded


def reachable_openai_tools(agent: Agent[Any]) -> AgentTools:
    """Return the tools of an agent, and of all agents that it reaches."""
    tools, seen = AgentTools(), set[int]()
    add_tools_of_agent(tools, agent, seen)
    return tools


def add_tools_of_agent(tools: AgentTools, agent: Agent[Any], seen: set[int]) -> None:
    """Add the tools of an agent; `seen` are the ids of the agents that were added."""
    if id(agent) in seen:
        return
    seen.add(id(agent))
    # The capabilities of a `SandboxAgent` add tools to a copy of it in the run.
    if type(agent).get_all_tools is not Agent.get_all_tools or hasattr(agent, "capabilities"):
        tools.unstoppable.add(f"the tools of {type(agent).__name__}")
    tools.is_complete = tools.is_complete and not agent.mcp_servers
    for tool in agent.tools:
        add_reachable_tool(tools, tool, seen)
    for handoff in agent.handoffs:
        if target := agent_of_handoff(handoff):
            add_tools_of_agent(tools, target, seen)
        else:
            tools.is_complete = False


def add_reachable_tool(tools: AgentTools, tool: Any, seen: set[int]) -> None:
    """Add a tool, and the agent that it is."""
    if isinstance(tool, FunctionTool):
        tools.add(tool.qualified_name, schema_argument_names(tool.params_json_schema))
        if nested := agent_inside_tool(tool):
            add_tools_of_agent(tools, nested, seen)
            if tool_invoker_with_agent(tool, nested) is None:
                tools.unstoppable.add(f"the tools of {nested.name}")
    elif isinstance(tool, HostedMCPTool):
        tools.is_complete = False
    elif can_pause_at_tool(tool):
        tools.add(tool.name, None)
    elif tool.name not in HARMLESS:
        tools.unstoppable.add(tool.name)


def agent_of_handoff(handoff: Any) -> Agent[Any] | None:
    """Return the agent of a handoff; None if only its function knows it."""
    if isinstance(handoff, Handoff):
        reference = getattr(handoff, "_agent_ref", None)
        handoff = reference() if reference else None
    return handoff if isinstance(handoff, Agent) else None
