"""Pauses of a run of Pydantic AI at the calls of tools that its policy or their own gates do not allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NoReturn

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ApprovalRequired, CallDeferred, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.native_tools import AbstractNativeTool
from pydantic_ai.toolsets import (
    AbstractToolset,
    CombinedToolset,
    ExternalToolset,
    FunctionToolset,
    ToolsetTool,
    WrapperToolset,
)

from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import WorkerRun
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.errors import NotAuthorizedError
from ringi.runs.context import set_context_variable
from ringi.runs.run import current_policy_denial
from ringi.runtimes.pydantic_ai.deferred_calls import (
    ApprovedToolCall,
    RewrittenArguments,
    deferred_question_id,
    newest_call_places,
    newest_calls,
)
from ringi.runtimes.tool_calls import (
    CURRENT,
    AgentTools,
    AskFirst,
    FunctionGateProtocol,
    GatedCall,
    gate_of_function,
    parse_call_arguments,
    question_asked_by_gate,
    schema_argument_names,
)

FALLBACK = "fallback:"
"""The prefix of the name of a `FallbackModel`, which does not say which model answers."""
TOOL_SEARCH = "tool_search"
"""The native tool that only loads the definitions of other tools."""
CHANGED = "a capability or toolset of the agent changed the arguments of {tool!r} after they were approved; ask again"
ANY: TypeAdapter[Any] = TypeAdapter(Any)
SAME_NAMES = ("ApprovalRequiredToolset", "SetMetadataToolset", "IncludeReturnSchemasToolset")
"""The wrappers whose tools have the names and arguments of the wrapped ones."""


class PydanticAICalls:
    """The calls of one stretch of a run.

    Args:
        run: The run.
        turn: The number of requests to the model before the stretch.
        approvals: The approved calls with which the stretch begins, by their ids.
        requests: The ended requests of the calls by the ids of the calls: a person or a rule approved them.
    """

    def __init__(
        self, run: WorkerRun, turn: int, approvals: Mapping[str, ApprovedToolCall], requests: Mapping[str, Request]
    ) -> None:
        self.run, self._requests = run, requests
        self.turn = turn
        """The number of requests to the model in this run."""
        self.model: str | None = None
        """The name of the newest requested model; None if only the server knows it."""
        self.approvals = dict(approvals)
        """The approved calls that have not run, by their ids."""
        self.rewrites: dict[str, RewrittenArguments] = {}
        """What the agent makes of the arguments of the calls at which it pauses."""
        self.gates: dict[str, FunctionGateProtocol] = {}
        """The gates of tools, by the names that the model sees."""
        self._asked: dict[str, Ask] = {}
        """What gates ask about calls, by the ids of the calls."""
        self.contents: dict[str, object] = {}
        """The contents of the arguments of calls that run, by the ids of the calls."""

    def begin(self, name: str, args: dict[str, Any], ctx: RunContext[Any], *, is_approved: bool) -> GatedCall:
        """Return a call that is about to run."""
        id = str(ctx.tool_call_id)

        def suspend(question: Ask) -> NoReturn:
            self._asked[id] = question
            raise ApprovalRequired

        place = newest_call_places(self.turn, ctx.messages).get(id, f"{self.turn}/{id}")
        request = self._requests.get(id) if is_approved else None
        return GatedCall(self.run, name, args, place, request, self.gates.get(name), suspend)

    def note_rewrite(self, tool: ToolsetTool[Any], tool_args: dict[str, Any], ctx: RunContext[Any]) -> None:
        """Note what the agent made of the arguments of a call at which it pauses."""
        id, calls = str(ctx.tool_call_id), newest_calls(ctx.messages)
        called = next((parse_call_arguments(part.args) for _, part in calls if part.tool_call_id == id), None)
        if called is not None and gives_other_arguments(tool, called, tool_args, ctx):
            self.rewrites[id] = RewrittenArguments(called, call_arguments_as_json(tool_args))

    async def ask(
        self, requests: DeferredToolRequests, asks: dict[str, Ask], turn: str, places: Mapping[str, str]
    ) -> set[str]:
        """Let gates ask about the calls of a pause; return the ids of the questions that they ask."""
        gated = set()
        for part in requests.approvals:
            id = deferred_question_id(part, turn)
            if question := self._asked.get(part.tool_call_id) or await self._question(part, places):
                asks[id] = question_asked_by_gate(asks[id], question)
                gated.add(id)
        return gated

    async def _question(self, part: ToolCallPart, places: Mapping[str, str]) -> Ask | None:
        """Return what a gate asks about a call at which the framework itself pauses."""
        gate, rewrite = self.gates.get(part.tool_name), self.rewrites.get(part.tool_call_id)
        args = rewrite.after if rewrite else parse_call_arguments(part.args)
        if gate is None or args is None:
            return None
        call = GatedCall(self.run, part.tool_name, args, places.get(part.tool_call_id, part.tool_call_id), gate=gate)
        try:
            await call.pass_gate()
        except AskFirst as error:
            return error.question
        return None


@dataclass
class PydanticAIToolPauses(AbstractCapability[Any]):
    """The capability of one run that pauses it; the agent keeps its own capabilities."""

    calls: PydanticAICalls

    def get_ordering(self) -> CapabilityOrdering:
        """Return the innermost position.

        What other capabilities make of a call is what the policy decides about, and they may select the model.
        """
        return CapabilityOrdering(position="innermost")

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        """Count the requests, and change nothing."""
        self.calls.turn += 1
        return request_context

    async def prepare_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        """Note the model of one attempt, and change nothing: the server may report a path, or a changing version."""
        name = str(request_context.model.model_name or "")
        self.calls.model = name if name and not name.startswith(FALLBACK) else None
        return request_context

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Return the tools of the run, with a check of what reaches those that are no functions.

        The SDK adds the tools for its output afterwards.
        """

        def checked(leaf: AbstractToolset[Any]) -> AbstractToolset[Any]:
            return leaf if isinstance(leaf, (FunctionToolset, ExternalToolset)) else CheckedToolset(leaf, self.calls)

        return PausingToolset(toolset.visit_and_replace(checked), self.calls)


@dataclass
class PausingToolset(WrapperToolset[Any]):
    """All tools of a run, with a pause before each call that the policy or a gate does not allow."""

    calls: PydanticAICalls

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools, and find their gates."""
        tools: dict[str, ToolsetTool[Any]] = await super().get_tools(ctx)
        self.calls.gates |= {
            name: gate for name, tool in tools.items() if (gate := gate_of_function(tool_function(tool)))
        }
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Run a call that people or the policy approve, with exactly the arguments that they approve."""
        id, args, run = str(ctx.tool_call_id), call_arguments_as_json(tool_args), self.calls.run
        approval = self.calls.approvals.pop(id, None) if ctx.tool_call_approved else None
        call = self.calls.begin(name, args, ctx, is_approved=approval is not None)
        must_pause = approval is None and await run.must_pause(name, args)
        if approval and gives_other_arguments(tool, approval.args, tool_args, ctx):
            if approval.is_rewritten:
                raise NotAuthorizedError(id, CHANGED.format(tool=name))
            self.calls.rewrites[id] = RewrittenArguments(approval.input_args, args)
            raise ApprovalRequired
        if approval and args != approval.args and (denial := await current_policy_denial(run.agent, name, args)):
            raise NotAuthorizedError(id, f"the rule {denial.rule!r} denies it: {denial.reason}")
        try:
            refusal = await call.pass_gate()
        except AskFirst as error:
            if ctx.tool_call_approved:
                raise NotAuthorizedError(id, f"a rule approved {name!r}, and its gate asks a person") from error
            assert call.suspend
            self.calls.note_rewrite(tool, tool_args, ctx)
            call.suspend(error.question)
        if refusal is not None:
            return refusal
        if must_pause:
            if ctx.tool_call_approved:
                raise NotAuthorizedError(id, f"a capability of the agent approved {name!r}, which its policy forbids")
            self.calls.note_rewrite(tool, tool_args, ctx)
            raise ApprovalRequired
        content = self.calls.contents[id] = arguments_without_defaults(tool_args)
        checked = tool_with_argument_check(tool, content, id)
        with (
            set_context_variable(CURRENT, call),
            run.host.outcomes.executing(call.request, (ApprovalRequired, CallDeferred)),
        ):
            return await super().call_tool(name, tool_args, ctx, checked)


@dataclass
class CheckedToolset(WrapperToolset[Any]):
    """A toolset that makes its calls itself, such as that of an MCP server, with the arguments that were decided."""

    calls: PydanticAICalls

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Make a call if no toolset around this one has changed its arguments."""
        id, content = str(ctx.tool_call_id), arguments_without_defaults(tool_args)
        if self.calls.contents.get(id, content) != content:
            raise NotAuthorizedError(id, CHANGED.format(tool=name))
        return await super().call_tool(name, tool_args, ctx, tool)


def gives_other_arguments(
    tool: ToolsetTool[Any], args: dict[str, Any], tool_args: dict[str, Any], ctx: RunContext[Any]
) -> bool:
    """Return whether the framework gives a tool other arguments than `tool_args` for these, or refuses these."""
    try:
        validated = tool.args_validator.validate_python(args, context=ctx.validation_context)
    except ValidationError:
        return True
    return arguments_without_defaults(validated) != arguments_without_defaults(tool_args)


def arguments_without_defaults(value: Any) -> object:
    """Return the content of arguments, without the defaults that a model makes anew each time.

    Fields count as they are: a serializer may round, mask or leave out what the tool gets.
    """
    if isinstance(value, BaseModel):
        return {name: arguments_without_defaults(getattr(value, name)) for name in value.model_fields_set}
    if is_dataclass(value):
        return {each.name: arguments_without_defaults(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {name: arguments_without_defaults(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [arguments_without_defaults(each) for each in value]
    return ANY.dump_python(value)


def tool_with_argument_check(tool: ToolsetTool[Any], content: object, id: str) -> ToolsetTool[Any]:
    """Return a tool whose function runs only with these arguments: toolsets of the agent may wrap it.

    Args:
        tool: The tool.
        content: The content of the arguments.
        id: The id of the call.
    """
    inner: Any = tool
    if source := getattr(inner, "source_tool", None):
        return replace(inner, source_tool=tool_with_argument_check(source, content, id))
    call_func = getattr(inner, "call_func", None)
    if call_func is None:
        return tool

    async def run(tool_args: dict[str, Any], ctx: RunContext[Any]) -> Any:
        if arguments_without_defaults(tool_args) != content:
            raise NotAuthorizedError(id, CHANGED.format(tool=tool.tool_def.name))
        return await call_func(tool_args, ctx)

    return replace(inner, call_func=run)


def tool_function(tool: ToolsetTool[Any]) -> Any:
    """Return the function of a tool; None if it has none."""
    while inner := getattr(tool, "source_tool", None):
        tool = inner
    schema = getattr(getattr(tool, "call_func", None), "__self__", None)
    return getattr(schema, "function", None)


def call_arguments_as_json(args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call as JSON, without those that have none: conditions on them are unknown."""
    found = {}
    for name, value in args.items():
        with suppress(ValueError):
            found[name] = jsonable(value)
    return found


def pydantic_ai_agent_tools(agent: PydanticAgent[Any, Any]) -> AgentTools:
    """Return the tools of an agent."""
    tools = AgentTools()
    add_toolset_tools(tools, agent.toolsets)
    for native in agent.root_capability.get_native_tools():
        name = native.kind if isinstance(native, AbstractNativeTool) else getattr(native, "__name__", "native tool")
        if name != TOOL_SEARCH:
            tools.unstoppable.add(name)
    return tools


def add_toolset_tools(tools: AgentTools, toolsets: Sequence[AbstractToolset[Any]]) -> None:
    """Add the tools of some toolsets."""
    for toolset in toolsets:
        match toolset:
            case FunctionToolset():
                for name, tool in toolset.tools.items():
                    tools.add(name, schema_argument_names(tool.function_schema.json_schema))
            case CombinedToolset():
                add_toolset_tools(tools, toolset.toolsets)
            case WrapperToolset() if type(toolset).__name__ in SAME_NAMES:
                add_toolset_tools(tools, [toolset.wrapped])
            case ExternalToolset():
                for definition in toolset.tool_defs:
                    tools.add(definition.name, schema_argument_names(definition.parameters_json_schema))
            case _:
                tools.is_complete = False
