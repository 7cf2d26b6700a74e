"""The interrupt formats of graphs: conversion of interrupts to questions, and of decisions to resume values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from langgraph.types import Interrupt
from pydantic import BaseModel, Field, ValidationError

from ringi.backends.fenced_saver import without_interrupt_place
from ringi.domain.ask import Ask, Button, Decision, request_content_digest
from ringi.domain.request import Request
from ringi.forms.arguments import Schema
from ringi.runs.context import DECISIONS, approval_question, decision_on_call
from ringi.runtimes.langgraph import plain_interrupts
from ringi.runtimes.langgraph.plain_interrupts import ANY_ANSWER, AnswerSpec

ENVELOPE = "ringi"
"""The key of a Ringi question, and of its answer, within an interrupt."""
DEFINITION = re.compile(r'"#/\$defs/([^"/]+)"')
M = TypeVar("M", bound=BaseModel)


class InterruptFormat(NamedTuple):
    """One interrupt format: reads interrupts as questions, and converts ended requests to an answer."""

    read: Callable[[Any, Schema | None], Sequence[Ask]]
    """Returns the questions; empty if the value is in another format."""
    answer: Callable[[Sequence[Request], Schema | None], Any]
    """Returns the result of `interrupt` once all have ended; raises `UndecidedError` if silence has no value."""


class ActionRequest(BaseModel):
    """One call in LangChain's batched request."""

    name: str
    args: dict[str, Any]
    description: str = ""


class ReviewConfig(BaseModel):
    """The decisions that people may make about the calls of one tool."""

    action_name: str
    allowed_decisions: list[str]


class HitlRequest(BaseModel):
    """The request of `HumanInTheLoopMiddleware` about all calls of one turn."""

    action_requests: list[ActionRequest] = Field(min_length=1)
    review_configs: list[ReviewConfig]

    def allowed(self, position: int) -> list[str]:
        """Return the allowed decisions for the call at this position."""
        name, config = self.action_requests[position].name, self.review_configs[position : position + 1]
        named = [each for each in (*config, *self.review_configs) if each.action_name == name]
        return named[0].allowed_decisions if named else []


class ToolApproval(ActionRequest):
    """The request of `HumanInTheLoopMiddleware` about a single call."""

    type: str = Field(pattern="^tool_approval$")


class InboxAction(BaseModel):
    """The call in a request of Agent Inbox."""

    action: str
    args: dict[str, Any]


class InboxConfig(BaseModel):
    """The decisions that Agent Inbox allows; as in Agent Inbox, a missing key allows nothing."""

    allow_accept: bool = False
    allow_edit: bool = False
    allow_ignore: bool = False
    allow_respond: bool = False

    @property
    def allowed(self) -> list[str]:
        """The allowed decisions under Ringi's names."""
        offers = (self.allow_accept, self.allow_edit, self.allow_ignore, self.allow_respond)
        return [decision for decision, is_offered in zip(DECISIONS, offers, strict=True) if is_offered]


class HumanInterrupt(BaseModel):
    """The interrupt of a graph that was written for Agent Inbox."""

    action_request: InboxAction
    config: InboxConfig
    description: str | None = None


def asks_of_own_interrupt(value: Any, schema: Schema | None) -> Sequence[Ask]:
    """Return the question of Ringi's own `ask`."""
    # `ask` always sets a schema. Otherwise a graph that interrupts with model output would let the model forge one.
    if schema is None or not isinstance(value, dict) or not isinstance(value.get(ENVELOPE), dict):
        return ()
    asked = Ask.parse_stored(value[ENVELOPE])
    return (asked,) if schema.get(ENVELOPE) == request_content_digest(asked) else ()


def asks_of_tool_approval(value: Any, schema: Schema | None) -> Sequence[Ask]:
    """Return the call of LangChain's per-call mode, with the decisions and arguments that its schema allows."""
    asked = validate_or_none(ToolApproval, value)
    if not schema or not asked or not (decisions := interrupt_decision_schemas(schema)):
        return ()
    edited = schema_of_nested_property(schema, decisions.get("edit", {}), "edited_action", "args")
    return (approval_question(asked.name, f"Run {asked.name}?", asked.args, decisions, asked.description, edited),)


def asks_of_batched_review(value: Any, schema: Schema | None) -> Sequence[Ask]:
    """Return one question for each call in LangChain's batched mode."""
    asked = validate_or_none(HitlRequest, value) if schema is None else None
    if not asked:
        return ()
    calls = enumerate(asked.action_requests)
    return [approval_question(c.name, f"Run {c.name}?", c.args, asked.allowed(n), c.description) for n, c in calls]


def asks_of_agent_inbox(value: Any, schema: Schema | None) -> Sequence[Ask]:
    """Return one question for each Agent Inbox request: a graph asks with a single request or a list."""
    asked = [validate_or_none(HumanInterrupt, each) for each in (value if isinstance(value, list) else [value])]
    if schema is not None or not all(each and each.config.allowed for each in asked):
        return ()
    return [ask_of_agent_inbox_call(each) for each in asked if each]


OWN = InterruptFormat(asks_of_own_interrupt, lambda requests, _: {ENVELOPE: requests[0].model_dump(mode="json")})
PLAIN = InterruptFormat(lambda value, schema: (), plain_interrupts.plain_interrupt_answer)
"""The format of all values that are in no other one."""
BATCHED = InterruptFormat(
    asks_of_batched_review, lambda requests, _: {"decisions": list(map(langchain_decision, requests))}
)
REFUSABLE = (InterruptFormat(asks_of_tool_approval, lambda requests, _: langchain_decision(requests[0])), BATCHED)
"""The formats in which the model receives the reason for a refused call."""
# Agent Inbox expects a list, even for a single request.
REVIEWS = (BATCHED, InterruptFormat(asks_of_agent_inbox, lambda requests, _: list(map(agent_inbox_response, requests))))
"""The formats of reviews that have ended before their calls start."""
FORMATS = (OWN, *REFUSABLE, *REVIEWS[1:])


def read_interrupt(
    value: Any, schema: Schema | None, answer_spec: AnswerSpec = ANY_ANSWER
) -> tuple[InterruptFormat, tuple[Ask, ...]]:
    """Return the format and the questions of an interrupt; `answer_spec` of the agent apply to a plain one."""
    found = ((format, tuple(asks)) for format in FORMATS if (asks := format.read(value, schema)))
    own_spec = answer_spec._replace(schema=schema) if schema else answer_spec
    return next(found, None) or (PLAIN, (plain_interrupts.plain_interrupt_question(value, own_spec),))


def reviews_calls(interrupt: Interrupt) -> bool:
    """Return whether an interrupt asks about calls of a model that start later, such as all calls of a turn."""
    format, _ = read_interrupt(interrupt.value, without_interrupt_place(interrupt.response_schema))
    return format in REVIEWS


def langchain_decision(request: Request) -> dict[str, Any]:
    """Return the decision on a call in LangChain's format."""
    decided = decision_on_call(request)
    if decided.decision == "approve":
        return {"type": "approve"}
    if decided.decision == "edit":
        return {"type": "edit", "edited_action": {"name": decided.name, "args": decided.args}}
    return {"type": decided.decision, **({"message": decided.message} if decided.message else {})}


def agent_inbox_response(request: Request) -> dict[str, Any]:
    """Return the decision on a call in Agent Inbox's format."""
    decided = decision_on_call(request)
    if decided.decision == "reject":
        return {"type": "ignore", "args": None}
    if decided.decision == "respond":
        return {"type": "response", "args": decided.message}
    kind = "accept" if decided.decision == "approve" else "edit"
    return {"type": kind, "args": {"action": decided.name, "args": decided.args}}


def ask_of_agent_inbox_call(asked: HumanInterrupt) -> Ask:
    """Return one Agent Inbox request as a question; Agent Inbox calls a rejection "ignore"."""
    action = asked.action_request
    ask = approval_question(action.action, action.action, action.args, asked.config.allowed, asked.description)
    labels: dict[Decision, Button] = {"reject": Button(label="Ignore")} if asked.config.allow_ignore else {}
    return ask.model_copy(update={"actions": labels})


def validate_or_none(model: type[M], value: Any) -> M | None:
    """Return the value as this model, or None if it does not validate."""
    try:
        return model.model_validate(value, strict=True)
    except ValidationError:
        return None


def interrupt_decision_schemas(schema: Schema) -> dict[str, Schema]:
    """Return the schema of each decision; empty unless the schema consists of decisions alone."""
    one_of = schema.get("oneOf")
    parts = one_of if isinstance(one_of, list) else [schema]
    branches = [resolve_schema_reference(schema, part) for part in parts]
    decisions = [json_value_at_path(branch, "properties", "type", "const") for branch in branches]
    return dict(zip(decisions, branches, strict=True)) if all(each in DECISIONS for each in decisions) else {}


def schema_of_nested_property(root: Schema, part: Schema, *path: str) -> Schema:
    """Return the schema of a nested property, with the definitions that it uses; empty if there is none."""
    for name in path:
        part = resolve_schema_reference(root, json_value_at_path(part, "properties", name))
    used, texts = dict[str, Any](), [json.dumps(part)]
    for text in texts:
        for name in DEFINITION.findall(text):
            if name not in used:
                used[name] = json_value_at_path(root, "$defs", name)
                texts.append(json.dumps(used[name]))
    return {**part, "$defs": used} if used else part


def resolve_schema_reference(root: Schema, part: Any) -> Schema:
    """Resolve a reference in a schema; empty if the target is not an object."""
    reference = json_value_at_path(part, "$ref")
    found = json_value_at_path(root, "$defs", str(reference).removeprefix("#/$defs/")) if reference else part
    return found if isinstance(found, dict) else {}


def json_value_at_path(value: Any, *path: str) -> Any:
    """Return the value at this path in JSON data; None if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
