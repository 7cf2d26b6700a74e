"""An agent and all agents that it reaches: their tools, and copies whose tools run with the authorized arguments.

The SDK cannot change the arguments of an approved call. The tools of the copies look up each call that a person has
decided, and run it with the authorized arguments or not at all.
"""

from __future__ import annotations

import copy
import json
import weakref
from typing import Any, NamedTuple, cast

from agents import Agent, AgentHooks, FunctionTool, Handoff, HostedMCPTool, ToolInputGuardrailData
from agents.exceptions import ToolInputGuardrailTripwireTriggered
from agents.tool_context import ToolContext

from ringi.domain.request import Request
from ringi.errors import NotAuthorizedError
from ringi.runtimes.openai_agents.tool_pauses import (
    Invoke,
    OpenAIToolPauses,
    ToolInvocation,
    agent_inside_tool,
    can_pause_at_tool,
    tool_invoker_with_agent,
)
from ringi.runtimes.tool_calls import NOTE, AgentTools, ToolCall, parse_call_arguments, schema_argument_names

BIND = "__agents_bind_function_tool__"
"""The SDK's own method that binds an invoker to a copy of its tool."""
HARMLESS = ("tool_search", "programmatic_tool_calling")
"""The tools of the provider that only find or call other tools."""


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
