"""The interrupt formats of graphs: conversion of interrupts to questions, and of decisions to resume values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, TypeVar

from langgraph.types import Interrupt
from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from ringi.backends.fenced_saver import without_interrupt_place
from ringi.base.canonical_json import canonical, clean_text, jsonable
from ringi.base.settings import SettingError
from ringi.domain.ask import ANSWER, Ask, Button, Decision, request_content_digest
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.forms import json_schema
from ringi.forms.arguments import Schema
from ringi.runs.context import DECISIONS, UndecidedError, approval_question, decision_on_call

ENVELOPE = "ringi"
"""The key of a Ringi question, and of its answer, within an interrupt."""
DEFINITION = re.compile(r'"#/\$defs/([^"/]+)"')
M = TypeVar("M", bound=BaseModel)
OF_ROOTS = ("$schema", "$defs", "definitions")
"""Parts of a JSON Schema that are allowed only at its root."""
HEADINGS = ("question", "query", "title", "message", "prompt", "task", "instruction", "instructions", "text", "content")
"""The keys of an object that may hold its question as text."""
MAX_TITLE, MAX_DESCRIPTION = 500, 20_000
CUT = "\n\n*… cut: {left} more characters*"
UNTITLED = "The agent asks"
FENCES = re.compile(r"`{3,}")
EVERY_NODE = ""
"""The key of the schema that applies to every node."""
CONSTRAINTS = {"type", "enum", "const", "properties", "anyOf", "oneOf", "allOf", "not", "if", "$ref"}
"""A JSON Schema has at least one of these keywords, unless it allows any value."""
REMEDY = "use a JSON Schema or a type, or one for each node"


class InterruptFormat(NamedTuple):
    """One interrupt format: reads interrupts as questions, and converts ended requests to an answer."""

    read: Callable[[Any, Schema | None], Sequence[Ask]]
    """Returns the questions; empty if the value is in another format."""
    answer: Callable[[Sequence[Request], Schema | None], Any]
    """Returns the result of `interrupt` once all have ended; raises `UndecidedError` if silence has no value."""


class AnswerSpec(NamedTuple):
    """The schema and rejection value of a plain interrupt, which the graph itself does not declare."""

    schema: Schema | None = None
    """JSON Schema of the answer; None allows any JSON value except null."""
    rejection_value: Any = False
    """The value that `interrupt` returns for a rejection; None if a rejection is not allowed."""


ANY_ANSWER = AnswerSpec()


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


def plain_interrupt_answer(requests: Sequence[Request], schema: Schema | None) -> Any:
    """Return the result of `interrupt`; raise `UndecidedError` if there is no decision."""
    (request,) = requests
    value = value_of_decision(request)
    # LangGraph treats None as a missing answer.
    if value is None:
        raise UndecidedError(request.id, request.status)
    return value


OWN = InterruptFormat(asks_of_own_interrupt, lambda requests, _: {ENVELOPE: requests[0].model_dump(mode="json")})
PLAIN = InterruptFormat(lambda value, schema: (), plain_interrupt_answer)
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
    return next(found, None) or (PLAIN, (plain_interrupt_question(value, own_spec),))


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


def plain_interrupt_question(value: Any, answer_spec: AnswerSpec) -> Ask:
    """Return a plain interrupt as a question; its buttons state the value that the graph receives."""
    schema = answer_spec.schema or {}
    sent: dict[Decision, Any] = {"approve": True, "reject": answer_spec.rejection_value}
    actions = {
        each: Button(value=result)
        for each, result in sent.items()
        if result is not None and value_fits_schema(schema, result)
    }
    allowed: tuple[Decision, ...] = ("approve", "reject", "respond")
    ask = text_question(value).model_copy(update={"answer_schema": schema, "actions": actions})
    if not schema:
        return ask.model_copy(update={"allowed": tuple(each for each in allowed if each in (*actions, "respond"))})
    # Form data is sent with approve, even if the schema does not allow `true`.
    offered = tuple(each for each in allowed if each in (*actions, "approve", "respond"))
    form_schema = schema if schema.get("type") == "object" else wrap_schema_in_object(schema)
    return ask.model_copy(update={"kind": "form", "data_schema": form_schema, "allowed": offered})


def value_of_decision(request: Request) -> Any:
    """Return the value of a decision; None without a decision or after its erasure."""
    response = request.response
    if response is None or request.erased:
        return None
    if response.decision == "respond":
        return response.data[ANSWER] if response.data else response.message
    if response.data is not None:
        is_object = (request.answer_schema or {}).get("type") == "object"
        return response.data if is_object else response.data.get(ANSWER)
    button = request.actions.get(response.decision)
    return button.value if button else None


def value_fits_schema(schema: Schema, value: Any) -> bool:
    """Return True if a schema allows this value; an unusable schema is refused when the question is asked."""
    try:
        json_schema.check_instance(schema, value, field=ANSWER)
    except InvalidError:
        return False
    return True


def wrap_schema_in_object(schema: Schema) -> Schema:
    """Return the schema of an object whose only field has the given schema."""
    root = {name: schema[name] for name in OF_ROOTS if name in schema}
    field = {name: part for name, part in schema.items() if name not in OF_ROOTS}
    fields = {"properties": {ANSWER: field}, "required": [ANSWER], "additionalProperties": False}
    return {**root, "type": "object", **fields}


def text_question(value: Any) -> Ask:
    """Return any value as a text question: a title, and the whole value in the description."""
    has_parts = isinstance(value, dict | list) and bool(value)
    title = interrupt_heading(value) if has_parts else interrupt_value_as_text(value)
    description = json_as_markdown(value) if has_parts else title
    return Ask(title=shorten_title(title) or UNTITLED, description=truncate_description(description), kind="question")


def interrupt_heading(value: Any) -> str:
    """Return the question text of an object, else its content in one line."""
    if not isinstance(value, dict):
        return ", ".join(" ".join(interrupt_value_as_text(each).split()) for each in value)
    texts = {name: text for name, text in value.items() if isinstance(text, str) and text.strip()}
    named = next((texts[name] for name in HEADINGS if name in texts), None) or next(iter(texts.values()), None)
    parts = (f"{name}: {' '.join(interrupt_value_as_text(each).split())}" for name, each in value.items())
    return clean_text(named or ", ".join(parts))


def shorten_title(title: str) -> str:
    """Return a title of at most 500 characters: the first line, without a heading mark."""
    lines = [line for line in title.splitlines() if line.strip(" #\t")]
    text = (lines[0].lstrip("# \t") if lines else title).strip()
    return text if len(text) <= MAX_TITLE else f"{text[: MAX_TITLE - 1]}…"


def truncate_description(text: str) -> str:
    """Return a description of at most 20,000 characters that states the number of omitted characters."""
    if len(text) <= MAX_DESCRIPTION:
        return text
    length = MAX_DESCRIPTION - 100
    return text[:length] + CUT.format(left=len(text) - length)


def json_as_markdown(value: Any) -> str:
    """Return an object or a list as Markdown, one part after another."""
    parts = value.items() if isinstance(value, dict) else ((None, each) for each in value)
    return "\n".join(json_part_as_markdown(name, each) for name, each in parts)


def json_part_as_markdown(name: Any, value: Any) -> str:
    """Return one part of an object or a list as Markdown."""
    text, label = interrupt_value_as_text(value), "" if name is None else f"**{clean_text(str(name))}:** "
    if isinstance(value, str) and "\n" not in text:
        return f"- {label}{text}"
    if not isinstance(value, str | dict | list) or not value:
        return f"- {label}`{text}`"
    language = "" if isinstance(value, str) else "json"
    # A fence that is longer than any in the text cannot be closed by the text.
    fence = "`" * max([3, *(len(each) + 1 for each in FENCES.findall(text))])
    return f"- {label}\n\n{fence}{language}\n{text}\n{fence}\n"


def interrupt_value_as_text(value: Any) -> str:
    """Return text unchanged, and any other value as JSON; a value without a JSON form becomes its type's name."""
    if isinstance(value, str):
        return clean_text(value)
    try:
        canonical(jsonable(value))
        indent = 2 if isinstance(value, dict | list) else None
        return clean_text(json.dumps(jsonable(value), ensure_ascii=False, indent=indent))
    except (InvalidError, ValueError):
        return clean_text(json.dumps(value, default=lambda part: type(part).__name__, skipkeys=True))


def answer_schemas(declaration: Any, nodes: Collection[str]) -> dict[str, Schema]:
    """Return the schemas by node from an agent's `answer_schema`; raise `SettingError` if an entry is invalid."""
    if declaration is None:
        return {}
    if not isinstance(declaration, dict) or not set(nodes) & set(declaration):
        return {EVERY_NODE: declared_answer_schema("answer_schema", declaration)}
    if unknown := ", ".join(sorted(map(str, set(declaration) - set(nodes)))):
        what = f"the graph has no such node; its nodes are {', '.join(sorted(nodes))}"
        raise SettingError("answer_schema", unknown, what)
    return {node: declared_answer_schema(f"answer_schema.{node}", each) for node, each in declaration.items()}


def declared_answer_schema(name: str, declaration: Any) -> Schema:
    """Return a JSON Schema unchanged, or the schema of a type."""
    try:
        schema = declaration if isinstance(declaration, dict) else TypeAdapter(declaration).json_schema()
        json_schema.check_schema(schema, field=name)
    except (PydanticUserError, InvalidError) as error:
        raise SettingError(name, declaration, f"{error}: {REMEDY}") from error
    if schema and not CONSTRAINTS & set(schema):
        # Otherwise a misspelled node name would be taken for a schema that allows any value.
        raise SettingError(name, ", ".join(map(str, schema)), f"neither a schema nor a node of the graph: {REMEDY}")
    return schema
