"""The authorization of one tool call: its question, and the call that may run."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import SkipValidation

from ringi.domain.ask import Action, Ask, parse_body
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError
from ringi.integrations.langgraph import put
from ringi.policy.rules import Policy, Rule
from ringi.runs.context import TOOL_CALL_ID, call_digest, find_run_context
from ringi.runs.tool_arguments import accept_all_arguments, call_schema, check_tool, injected

LONGEST = 20_000
EDITED = (
    "A person changed the arguments of this call before it ran, on purpose: it ran with {args}. "
    "Do not repeat the original call.\n\n"
)
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
Result = ToolMessage | Command[Any]


class Call(NamedTuple):
    """A tool and the arguments given by the model, or by later changes."""

    tool: str
    args: dict[str, Any]

    @property
    def digest(self) -> str:
        """The digest of exactly this call; raises `InvalidError` if the arguments are not JSON."""
        return call_digest(self.tool, self.args)


class Grant(NamedTuple):
    """The authorized call."""

    args: dict[str, Any]
    is_edited: bool = False

    def noted(self, result: Any) -> Any:
        """Return the tool's result for the model, with a note if its call was changed."""
        if not self.is_edited or not isinstance(result, ToolMessage):
            return result
        note = EDITED.format(args=json.dumps(self.args, ensure_ascii=False))
        return result.model_copy(update={"content": with_note(note, result.content)})


class ToolGate:
    """The authorization of one call: each set of arguments is asked once, and nothing else runs."""

    def __init__(self, policy: Policy, request: ToolCallRequest) -> None:
        self._policy, self._config = policy, request.runtime.config
        self._id, self._words = str(request.tool_call["id"]), words_of(request)
        self._host = find_run_context(self._config)
        self._permitted: dict[str, Grant] = {}
        self._refused: dict[str, ToolMessage] = {}
        self._gate: Rule | None = None

    def enter(self, call: Call, tool: BaseTool | None) -> Grant | ToolMessage:
        """Return the authorized call, or a message to the model instead; a person is asked if a rule requires it."""
        try:
            rule = self._rule(call)
            if rule is None:
                return Grant(call.args)
            known = self._known(call) or self._tried(call)
            return known or self._taken(call, rule, put(self._question(call, tool, rule)))
        except InvalidError as error:
            return self.told(call, UNFIT.format(tool=call.tool, error=error))

    async def aenter(self, call: Call, tool: BaseTool | None) -> Grant | ToolMessage:
        """Do the same, but let a rule approve instead of a person if Ringi runs the agent and records it."""
        try:
            rule = self._rule(call)
            approver = self._approver(call, rule) if rule else None
            if rule is None or approver is None or self._host is None:
                return self.enter(call, tool)
            question, place = self._question(call, tool, rule), str(self._place())
            return self._taken(call, rule, await self._host.approve(question, approver, place))
        except InvalidError as error:
            return self.told(call, UNFIT.format(tool=call.tool, error=error))

    def begin(self) -> None:
        """Record that the tool has begun."""
        self._step[BEGUN] = self._place()

    def told(self, call: Call, text: str, status: Any = "error") -> ToolMessage:
        """Return a message to the model in place of the tool's result."""
        return ToolMessage(text, name=call.tool, tool_call_id=self._id, status=status)

    def _rule(self, call: Call) -> Rule | None:
        # Without the gate, an approved call changed to one that no rule covers would run unasked.
        found = self._policy.rule_of(*call) or self._gate
        return found or (Rule(tools=(call.tool,)) if self._has_asked(call) else None)

    def _approver(self, call: Call, rule: Rule) -> str | None:
        """Return the rule that approves a call; None once the call was asked, or another was approved in its place."""
        return None if self._gate or self._has_asked(call) else rule.approver(call.args)

    def _has_asked(self, call: Call) -> bool:
        try:
            return self._host is not None and self._host.has_asked(self._id, call.digest)
        except InvalidError:
            return False

    def _known(self, call: Call) -> Grant | ToolMessage | None:
        if self._gate is None:  # Nothing was asked yet: the question reports errors of the call best.
            return None
        key = call.digest
        return self._permitted.get(key) or self._refused.get(key)

    def _tried(self, call: Call) -> ToolMessage | None:
        # A question now would repeat the step up to here after its answer, and run the tool again.
        is_begun = BEGUN in self._step and self._step[BEGUN] == self._place()
        return self.told(call, TRIED.format(tool=call.tool)) if is_begun else None

    def _question(self, call: Call, tool: BaseTool | None, rule: Rule) -> Ask:
        check_tool(tool, call.args)
        said = {
            "title": rule.title or f"Run {call.tool}?",
            "description": self._words,
            "context": {TOOL_CALL_ID: self._id},
        }
        whom = rule.model_dump(include={"allowed", "assignee", "candidate_groups", "priority", "expires_in"})
        action = Action(call.tool, copy.deepcopy(call.args))
        question = parse_body(Ask, {**said, **whom, "action": action})
        try:
            typed = action.model_copy(update={"args_schema": call_schema(tool)})
            return question.model_copy(update={"action": typed}).checked(max_fields=0, may_be_derived=True)
        except InvalidError:
            # A schema may be too large to check a person's edit: then the tool checks it, as always.
            return question.checked(max_fields=0, may_be_derived=True)

    def _taken(self, call: Call, rule: Rule, request: Request) -> Grant | ToolMessage:
        self._gate = rule
        granted, response = request.granted, request.response
        if granted is None:
            said = self._refusal(call, request)
            self._refused[call.digest] = said
            return said
        try:
            request.authorize(call.tool, granted.args)
        except NotAuthorizedError as error:
            return self.told(call, str(error))
        permit = Grant(granted.args, bool(response and response.decision == "edit"))
        self._permitted[Call(call.tool, granted.args).digest] = permit
        return permit

    def _refusal(self, call: Call, request: Request) -> ToolMessage:
        response = request.response
        if response is None:
            return self.told(call, UNANSWERED.format(tool=call.tool, status=request.status))
        if response.decision == "respond":
            return self.told(call, response.message or json.dumps(response.data), "success")
        return self.told(call, REJECTED.format(tool=call.tool, reason=response.message or "no reason given"))

    @property
    def _step(self) -> dict[str, Any]:
        # LangGraph creates it for each attempt of a step; wrappers of a call share it.
        return self._config["configurable"]

    def _place(self) -> object:
        return self._step.get("checkpoint_ns")


class Guard(BaseTool):
    """A tool that runs only authorized calls, however a call was changed before."""

    inner: BaseTool
    passage: SkipValidation[ToolGate]

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Run the tool with the authorized call, or return a message to the model instead."""
        call = self._call(input)
        permit = self._misnamed(input) or self.passage.enter(call, self.inner)
        if isinstance(permit, ToolMessage):
            return permit
        self._begin()
        return permit.noted(
            accept_all_arguments(self.inner, permit.args).invoke(self._with(input, permit), config, **kwargs)
        )

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Run the tool with the authorized call, or return a message to the model instead."""
        call = self._call(input)
        permit = self._misnamed(input) or await self.passage.aenter(call, self.inner)
        if isinstance(permit, ToolMessage):
            return permit
        self._begin()
        return permit.noted(
            await accept_all_arguments(self.inner, permit.args).ainvoke(self._with(input, permit), config, **kwargs)
        )

    def _begin(self) -> None:
        # The guard of another gate may still ask.
        if not isinstance(self.inner, Guard):
            self.passage.begin()

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    @cached_property
    def _own(self) -> frozenset[str]:
        return injected(self.inner)

    def _call(self, input: Any) -> Call:
        own = self._own
        return Call(self.inner.name, {name: value for name, value in input["args"].items() if name not in own})

    def _misnamed(self, input: Any) -> ToolMessage | None:
        name = input["name"]
        if name == self.inner.name:
            return None
        return self.passage.told(Call(name, {}), RENAMED.format(tool=self.inner.name, name=name))

    def _with(self, input: Any, permit: Grant) -> Any:
        own = self._own
        given = {name: value for name, value in input["args"].items() if name in own}
        # The tool gets its own copy: other code may change the arguments while the tool runs.
        return {**input, "args": {**copy.deepcopy(permit.args), **given}}


@dataclass
class GatedRequest(ToolCallRequest):
    """A request whose tool runs only authorized calls, even a tool replaced by a middleware."""

    passage: ToolGate

    def __post_init__(self) -> None:
        self.__dict__["tool"] = guarded(self.tool, self.passage)

    def __setattr__(self, name: str, value: Any) -> None:
        is_late = name == "tool" and "passage" in self.__dict__
        super().__setattr__(name, guarded(value, self.passage) if is_late else value)


def gated(request: ToolCallRequest, passage: ToolGate, args: Mapping[str, Any]) -> GatedRequest:
    """Return the request with these arguments, for all middleware between here and the tool."""
    call = {**request.tool_call, "args": copy.deepcopy(dict(args))}
    return GatedRequest(call, request.tool, request.state, request.runtime, passage)  # type: ignore[arg-type]


def guarded(tool: BaseTool | None, passage: ToolGate) -> BaseTool | None:
    """Return a tool that only this ToolGate lets run."""
    if tool is None or (isinstance(tool, Guard) and tool.passage is passage):
        return tool
    shown = {name: getattr(tool, name) for name in ("name", "description", "args_schema", "metadata", "tags", "extras")}
    return Guard(**shown, return_direct=tool.return_direct, inner=tool, passage=passage)


def with_note(note: str, content: str | list[str | dict[str, Any]]) -> str | list[str | dict[str, Any]]:
    """Return a message's content, preceded by a note."""
    return note + content if isinstance(content, str) else [{"type": "text", "text": note}, *content]


def words_of(request: ToolCallRequest) -> str | None:
    """Return the model's text next to its call: people are shown it with the call."""
    state = request.state
    messages = state.get("messages", []) if isinstance(state, dict) else getattr(state, "messages", [])
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message.text.strip()[:LONGEST] or None
    return None
