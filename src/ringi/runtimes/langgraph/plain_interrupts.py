"""Plain interrupts `interrupt(value)`: conversion to a question with its schema, and to the value for the graph."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from ringi.base.canonical_json import canonical, jsonable
from ringi.base.settings import SettingError
from ringi.domain.ask import ANSWER, Ask, Button, Decision
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.forms import json_schema
from ringi.forms.arguments import Schema
from ringi.runs.context import UndecidedError
from ringi.runs.model_form import clean_text

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


def plain_interrupt_answer(requests: Sequence[Request], schema: Schema | None) -> Any:
    """Return the result of `interrupt`; raise `UndecidedError` if there is no decision."""
    (request,) = requests
    value = value_of_decision(request)
    # LangGraph treats None as a missing answer.
    if value is None:
        raise UndecidedError(request.id, request.status)
    return value


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


class AnswerSpec(NamedTuple):
    """The schema and rejection value of a plain interrupt, which the graph itself does not declare."""

    schema: Schema | None = None
    """JSON Schema of the answer; None allows any JSON value except null."""
    rejection_value: Any = False
    """The value that `interrupt` returns for a rejection; None if a rejection is not allowed."""


ANY_ANSWER = AnswerSpec()


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
