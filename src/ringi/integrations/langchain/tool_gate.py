"""Approval of the tool calls of a LangChain agent: one question for each, and the call that may run."""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.errors import GraphBubbleUp
from langgraph.types import Command
from pydantic import SkipValidation

from ringi.base.loops import run_without_waiting
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError
from ringi.integrations.langchain.ask_human import AskHuman, messages_in_agent_state
from ringi.integrations.langchain.finish_gate import finish_tool
from ringi.integrations.langgraph import ask_question
from ringi.policy.question import (
    FactFunction,
    find_call_facts,
    policy_edit_denial,
    question_about_call,
    question_with_schema,
)
from ringi.policy.rules import OTHERWISE, Policy, PolicyDenial, Rule
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.context import RunContext, call_digest, find_run_context, question_content_digest
from ringi.runs.model_form import KEY
from ringi.runtimes.langgraph.graph_run import call_place_in_step, run_asks_people
from ringi.runtimes.langgraph.tool_arguments import (
    accept_all_arguments,
    check_tool_arguments,
    injected_arguments,
    tool_call_schema,
)
from ringi.runtimes.tool_calls import NOTE

LONGEST = 20_000
DENIED = "The policy denies this call of {tool}: {reason}. It did not run, and nobody was asked; do not repeat it."
REJECTED = "A person rejected this call of {tool}: {reason}. It did not run; do not repeat it as it is."
UNANSWERED = "Nobody consented to this call of {tool} ({status}). It did not run."
UNFIT = "This call of {tool} does not fit: {error}. Nobody was asked, and it did not run; correct it and call again."
TRIED = (
    "This call of {tool} was begun once already and needs a person's consent to be tried again. It was not; "
    "whether the first try had an effect is not known. Call the tool again if it has to run: then a person is asked."
)
RENAMED = "This call was changed from {tool} to {name} on its way. It did not run."
BEGUN = "ringi_begun"
"""The configuration key that records that a step's tool has begun."""
ToolResult = ToolMessage | Command[Any]
Tool = BaseTool | Callable[..., Any] | str | dict[str, Any]


class Approval(AgentMiddleware[Any, Any, Any]):
    """Asks a person before a tool runs, one question for each call.

    Only the authorized call runs, with exactly the authorized arguments. If other code changes the call before the tool
    starts, a person is asked again. After the start, a person is asked only if the model calls the tool again. A
    rejected, expired or canceled call never runs.

    A rule can deny a call: nobody is asked, and the model reads the reason. Such rules count right before the tool
    starts, even after an approval, and even if `RINGI_ENABLED=0` lets all other calls run.

    While an administrator has paused the agent, no tool starts: the run stops before it, and goes on after the pause.

    If Ringi does not run the agent, calls pause it with a plain LangGraph interrupt. Rules then approve nothing,
    because an approval would not be recorded, and a denial is not recorded.

    Args:
        policy: The rules that say which calls wait for a person, as a `Policy` or as plain data.
        tools: All tools of the agent; name the tools of other middleware as text.
        facts: Functions that look up what the policy's `facts` need, by name. Each takes the arguments of the call as a
            dict and returns JSON, or an awaitable of it. People see the results with the request, and its digest covers
            them. A fact whose function fails is unknown.

    Raises:
        InvalidError: The policy is invalid, or names another tool, argument or fact.
    """

    def __init__(
        self, policy: Policy | Mapping[str, Any], tools: Sequence[Tool], facts: Mapping[str, FactFunction] | None = None
    ) -> None:
        super().__init__()
        self.facts = dict(facts or {})
        self.policy = policy if isinstance(policy, Policy) else Policy.parse(dict(policy))
        # A tool described by a dict runs at the model's provider, where it cannot be gated.
        own = [each for each in tools if not isinstance(each, dict)]
        self.policy.check_tools(dict(langchain_argument_names(each) for each in own), self.facts)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Run the call, or return a message to the model instead."""
        gated = run_without_waiting(self._gated(request, is_blocking=True))
        return gated if isinstance(gated, ToolMessage) else handler(gated)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Run the call, or return a message to the model instead."""
        gated = await self._gated(request, is_blocking=False)
        return gated if isinstance(gated, ToolMessage) else await handler(gated)

    async def _gated(self, request: ToolCallRequest, *, is_blocking: bool) -> ToolCallRequest | ToolMessage:
        is_asking = run_asks_people()
        if not is_asking and not self.policy.denies:
            await check_agent_pauses(find_run_context(request.runtime.config), is_gated=False, is_blocking=is_blocking)
            return request
        gate = ToolCallGate(self.policy, request, self.facts, asks=is_asking)
        call = call_with_model_arguments(request.tool_call["name"], request.tool_call["args"], request.tool)
        grant = await gate.enter(call, request.tool, is_blocking=is_blocking)
        return grant if isinstance(grant, ToolMessage) else gate_tool_call_request(request, gate, grant.args)


class RequestedToolCall(NamedTuple):
    """A tool and the arguments given by the model, or by later changes."""

    tool: str
    args: dict[str, Any]

    @property
    def digest(self) -> str:
        """The digest of exactly this call; raises `InvalidError` if the arguments are not JSON."""
        return call_digest(self.tool, self.args)


class AuthorizedToolCall(NamedTuple):
    """The authorized call."""

    args: dict[str, Any]
    request: Request | None = None
    """The request that approves the call; None if nobody was asked about it."""
    is_edited: bool = False


class ToolCallGate:
    """The authorization of one call: each set of arguments is asked once, and nothing else runs.

    Args:
        policy: The rules.
        request: The call of the tool.
        facts: The functions that look up facts, by name.
        asks: False if the run asks nobody: then only denied calls are stopped.
    """

    def __init__(
        self, policy: Policy, request: ToolCallRequest, facts: Mapping[str, FactFunction], *, asks: bool
    ) -> None:
        self._policy, self._facts, self._config, self._asks = policy, facts, request.runtime.config, asks
        self._id, self._words = str(request.tool_call["id"]), model_text_beside_call(request)
        self._host = find_run_context(self._config)
        self._about = {TOOL_CALL_ID: self._id}
        self._grants: dict[str, AuthorizedToolCall] = {}
        self._refused: dict[str, ToolMessage] = {}
        self._known_facts: dict[str, dict[str, Any]] = {}
        self._gate: Rule | None = None

    async def enter(
        self, call: RequestedToolCall, tool: BaseTool | None, *, is_blocking: bool
    ) -> AuthorizedToolCall | ToolMessage:
        """Return the authorized call, or a message to the model instead.

        A rule approves it if Ringi runs the agent and records that; a person is asked if a rule requires it.

        Args:
            call: The call.
            tool: Its tool; None if the agent has none.
            is_blocking: Whether the caller cannot await: then no rule approves, and a fact that has to be awaited is
                unknown.
        """
        try:
            needed = self._policy.facts_of_denial(*call)
            current = await find_call_facts(self._facts, needed, *call, is_blocking=is_blocking)
            if denial := self._denial(call, tool, current):
                if self._host:
                    question = question_about_call(self._policy, None, *call, facts=current, context=self._about)
                    if is_blocking:
                        self._host.deny_without_await(question, *denial)
                    else:
                        await self._host.deny(question, *denial)
                return self.message(call, DENIED.format(tool=call.tool, reason=denial.reason))
            if not self._asks:
                return AuthorizedToolCall(call.args)
            facts, names = self._facts_about(call, current)
            facts |= await find_call_facts(self._facts, names, *call, is_blocking=is_blocking)
            rule = self._rule(call, tool, facts)
            if rule is None:
                return AuthorizedToolCall(call.args)
            # No rule approves a call that people were asked about, or another one in place of an approved call.
            approver = None if self._gate or self._has_asked(call) else rule.approver(call.args, facts)
            if approver and self._host and not is_blocking:
                question = self._question(call, tool, rule, facts)
                place = call_place_in_step(self._config, question_content_digest(question), self._id)
                return self._apply_answer(call, rule, await self._host.approve(question, approver, place))
            known = self._known_result(call)
            return known or self._apply_answer(call, rule, ask_question(self._question(call, tool, rule, facts)))
        except InvalidError as error:
            return self.message(call, UNFIT.format(tool=call.tool, error=error))

    def _facts_about(self, call: RequestedToolCall, current: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the facts about a call, and the names of those that the caller looks up and adds to them.

        Facts that people are shown stand until the call has run. If Ringi does not run the agent, nobody remembers what
        was asked, so facts are unknown: a changed fact could let a rejected call run.

        Args:
            call: The call.
            current: The facts that were just looked up.
        """
        try:
            digest = call.digest
        except InvalidError:
            return {}, []
        if self._host is None:
            return {}, []
        if digest in self._known_facts:
            return self._known_facts[digest], []
        asked = self._host.facts_of(self._id, digest)
        facts = self._known_facts[digest] = dict(current if asked is None else asked)
        return facts, sorted(self._policy.facts_of(*call) - current.keys()) if asked is None else []

    async def begin(self, *, is_blocking: bool) -> None:
        """Record that the tool begins; raise `PausedError` instead if the agent is paused."""
        await check_agent_pauses(self._host, is_gated=self._gate is not None, is_blocking=is_blocking)
        self._step[BEGUN] = self._step.get("checkpoint_ns")

    def executing(self, grant: AuthorizedToolCall) -> AbstractContextManager[None]:
        """Record what becomes of an approved call, which runs in the `with` statement."""
        return self._host.outcomes.executing(grant.request, (GraphBubbleUp,)) if self._host else nullcontext()

    def result(self, grant: AuthorizedToolCall, result: object) -> Any:
        """Return a tool's result for the model, with a note if its call was changed; record a failure."""
        if not isinstance(result, ToolMessage):
            return result
        if self._host and result.status == "error":
            self._host.outcomes.record(grant.request, "failed")
        if not grant.is_edited:
            return result
        note = NOTE.format(args=json.dumps(grant.args, ensure_ascii=False))
        return result.model_copy(update={"content": message_content_with_note(note, result.content)})

    def message(self, call: RequestedToolCall, text: str, status: object = "error") -> ToolMessage:
        """Return a message to the model in place of the tool's result."""
        if self._host:
            self._host.refused_calls.add(self._id)
        return ToolMessage(text, name=call.tool, tool_call_id=self._id, status=status)

    def _denial(self, call: RequestedToolCall, tool: BaseTool | None, facts: Mapping[str, Any]) -> PolicyDenial | None:
        denial = self._policy.denial(*call, facts)
        return None if denial and denial.rule == OTHERWISE and is_exempt_tool(tool) else denial

    def _rule(self, call: RequestedToolCall, tool: BaseTool | None, facts: Mapping[str, Any]) -> Rule | None:
        verdict = self._policy.decide(*call, facts)
        found = verdict.rule if verdict.effect == "ask" else None
        # A fact that people were shown may differ from the current one: then a denial becomes a question.
        if found is None and verdict.effect != "allow" and (verdict.rule or not is_exempt_tool(tool)):
            found = Rule(tools=(call.tool,))
        # Without the gate, an approved call changed to one that no rule covers would run unasked.
        found = found or self._gate
        return found or (Rule(tools=(call.tool,)) if self._has_asked(call) else None)

    def _has_asked(self, call: RequestedToolCall) -> bool:
        try:
            return self._host is not None and self._host.facts_of(self._id, call.digest) is not None
        except InvalidError:
            return False

    def _known_result(self, call: RequestedToolCall) -> AuthorizedToolCall | ToolMessage | None:
        known: AuthorizedToolCall | ToolMessage | None = None
        if self._gate:  # Otherwise nothing was asked yet, and the question reports errors of the call best.
            known = self._grants.get(call.digest) or self._refused.get(call.digest)
        # A question now would repeat the step up to here after its answer, and run the tool again.
        is_begun = BEGUN in self._step and self._step[BEGUN] == self._step.get("checkpoint_ns")
        return known or (self.message(call, TRIED.format(tool=call.tool)) if is_begun else None)

    def _question(self, call: RequestedToolCall, tool: BaseTool | None, rule: Rule, facts: Mapping[str, Any]) -> Ask:
        check_tool_arguments(tool, call.args)
        question = question_about_call(
            self._policy, rule, *call, facts=facts, context=self._about, description=self._words
        )
        # A schema may be too large to check a person's edit: then the tool checks it, as always.
        return question_with_schema(question, tool_call_schema(tool) if tool else None)

    def _apply_answer(self, call: RequestedToolCall, rule: Rule, request: Request) -> AuthorizedToolCall | ToolMessage:
        self._gate = rule
        granted, response = request.granted, request.response
        if granted is None:
            answer = self._refusal(call, request)
            self._refused[call.digest] = answer
            return answer
        try:
            request.authorize(call.tool, granted.args)
        except NotAuthorizedError as error:
            return self.message(call, str(error))
        if denial := policy_edit_denial(self._policy, request):
            return self.message(call, denial.reason)
        grant = AuthorizedToolCall(granted.args, request, bool(response and response.decision == "edit"))
        self._grants[RequestedToolCall(call.tool, granted.args).digest] = grant
        return grant

    def _refusal(self, call: RequestedToolCall, request: Request) -> ToolMessage:
        response = request.response
        if response is None:
            return self.message(call, UNANSWERED.format(tool=call.tool, status=request.status))
        if response.decision == "respond":
            return self.message(call, response.message or json.dumps(response.data), "success")
        return self.message(call, REJECTED.format(tool=call.tool, reason=response.message or "no reason given"))

    @property
    def _step(self) -> dict[str, Any]:
        # LangGraph creates it for each attempt of a step; wrappers of a call share it.
        return self._config["configurable"]


class GuardedTool(BaseTool):
    """A tool that runs only authorized calls, however a call was changed before."""

    inner: BaseTool
    gate: SkipValidation[ToolCallGate]

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Run the tool with the authorized call, or return a message to the model instead."""
        grant = run_without_waiting(self._entered(input, is_blocking=True))
        if isinstance(grant, ToolMessage):
            return grant
        tool = accept_all_arguments(self.inner, grant.args)
        with self.gate.executing(grant):
            result = tool.invoke(self._with(input, grant), config, **kwargs)
        return self.gate.result(grant, result)

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Run the tool with the authorized call, or return a message to the model instead."""
        grant = await self._entered(input, is_blocking=False)
        if isinstance(grant, ToolMessage):
            return grant
        tool = accept_all_arguments(self.inner, grant.args)
        with self.gate.executing(grant):
            result = await tool.ainvoke(self._with(input, grant), config, **kwargs)
        return self.gate.result(grant, result)

    def _run(self, *args: object, **kwargs: object) -> Any:
        raise NotImplementedError

    async def _entered(self, input: Any, *, is_blocking: bool) -> AuthorizedToolCall | ToolMessage:
        name = input["name"]
        if name != self.inner.name:
            return self.gate.message(RequestedToolCall(name, {}), RENAMED.format(tool=self.inner.name, name=name))
        call = call_with_model_arguments(name, input["args"], self.inner)
        grant = await self.gate.enter(call, self.inner, is_blocking=is_blocking)
        # The guard of another gate may still ask.
        if isinstance(grant, AuthorizedToolCall) and not isinstance(self.inner, GuardedTool):
            await self.gate.begin(is_blocking=is_blocking)
        return grant

    def _with(self, input: Any, grant: AuthorizedToolCall) -> Any:
        own = injected_arguments(self.inner)
        injected_args = {name: value for name, value in input["args"].items() if name in own}
        # The tool gets its own copy: other code may change the arguments while the tool runs.
        return {**input, "args": {**copy.deepcopy(grant.args), **injected_args}}


@dataclass
class GatedToolCallRequest(ToolCallRequest):
    """A request whose tool runs only authorized calls, even a tool replaced by a middleware."""

    gate: ToolCallGate

    def __post_init__(self) -> None:
        self.__dict__["tool"] = guard_tool(self.tool, self.gate)

    def __setattr__(self, name: str, value: Any) -> None:
        is_late = name == "tool" and "gate" in self.__dict__
        super().__setattr__(name, guard_tool(value, self.gate) if is_late else value)


def gate_tool_call_request(
    request: ToolCallRequest, gate: ToolCallGate, args: Mapping[str, object]
) -> GatedToolCallRequest:
    """Return the request with these arguments, for all middleware between here and the tool."""
    call = {**request.tool_call, "args": copy.deepcopy(dict(args))}
    return GatedToolCallRequest(call, request.tool, request.state, request.runtime, gate)  # type: ignore[arg-type]


async def check_agent_pauses(host: RunContext | None, *, is_gated: bool, is_blocking: bool) -> None:
    """Raise `PausedError` if the agent of a run is paused."""
    if host and is_blocking:
        host.check_pauses_without_await(is_gated=is_gated)
    elif host:
        await host.check_pauses(is_gated=is_gated)


def call_with_model_arguments(name: str, args: Mapping[str, Any], tool: BaseTool | None) -> RequestedToolCall:
    """Return a call without arguments that the model may not set: the agent's own code overwrites them anyway."""
    own = injected_arguments(tool) if tool else frozenset()
    return RequestedToolCall(name, {name: value for name, value in args.items() if name not in own})


def guard_tool(tool: BaseTool | None, gate: ToolCallGate) -> BaseTool | None:
    """Return a tool that only this ToolGate lets run."""
    if tool is None or (isinstance(tool, GuardedTool) and tool.gate is gate):
        return tool
    names = ("name", "description", "args_schema", "metadata", "tags", "extras", "return_direct")
    return GuardedTool(**{name: getattr(tool, name) for name in names}, inner=tool, gate=gate)


def message_content_with_note(note: str, content: str | list[str | dict[str, Any]]) -> str | list[str | dict[str, Any]]:
    """Return a message's content, preceded by a note."""
    return note + content if isinstance(content, str) else [{"type": "text", "text": note}, *content]


def model_text_beside_call(request: ToolCallRequest) -> str | None:
    """Return the model's text next to its call: people are shown it with the call."""
    answers = [each for each in messages_in_agent_state(request.state) if isinstance(each, AIMessage)]
    return (answers[-1].text.strip()[:LONGEST] or None) if answers else None


def is_exempt_tool(tool: BaseTool | None) -> bool:
    """Return whether `otherwise` does not apply: nothing can run, or the tool itself asks, which needs no consent."""
    while isinstance(inner := getattr(tool, "inner", None), BaseTool):
        tool = inner
    return tool is None or isinstance(tool, AskHuman) or tool is finish_tool or tool.name == KEY


def langchain_argument_names(tool_or_name: BaseTool | Callable[..., Any] | str) -> tuple[str, frozenset[str] | None]:
    """Return a tool's name, and the names of the arguments that a model may set; None if they are unknown."""
    if isinstance(tool_or_name, str):
        return tool_or_name, None
    made = tool_or_name if isinstance(tool_or_name, BaseTool) else tool(tool_or_name)
    schema = tool_call_schema(made) or {}
    return made.name, None if schema.get("additionalProperties") else frozenset(schema.get("properties", {}))
