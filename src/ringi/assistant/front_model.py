"""The front model: its prompt, its tool, and the event made from its answer.

The model calls nothing and writes nothing: it declares facts and actions, and code checks and carries them out.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, ValidationError

from ringi.assistant.memory import ContextMemory
from ringi.assistant.memory_ops import MemoryOp
from ringi.assistant.model_context import prompt_view
from ringi.assistant.settings import AssistantSettings
from ringi.base import StrictModel
from ringi.runs import QUIET_CALLS, is_cut_off, stop_reason

log = logging.getLogger(__name__)
ModelT = TypeVar("ModelT", bound=BaseModel)
DECLARE, ROUTE = "declare", "route"
LOWEST_PRIORITY = 5
MAX_ROWS = 20
SYSTEM_PROMPT = """You are {name}. {prompt}
You talk with a person, in their language. You do nothing yourself: code does what you declare with the tool `declare`.
- ops: what the person said, word for word in `quote`: set or correct an info, clear it, or say that it is not needed;
  feedback for what they say of a plan. Never invent a value.
- required_actions: what has to be done now, by the id of an action or the key of an info, 1 being the most urgent.
  An action of kind `immediate` tells its answer after your words: leave the answer to it.
- choice_context: the info of which the person has to choose one, with filters.
No words of anybody approve a plan: the person presses the button. Answer plain questions plainly, without the tool."""


class RequiredAction(StrictModel):
    """An action to run or an info to obtain, as the model declares it."""

    type: str
    description: str = ""
    parameters: dict[str, Any] = {}
    priority: int = LOWEST_PRIORITY


class ChoiceContext(StrictModel):
    """The info of which a person should choose a value."""

    data_type: str
    source: str = "database"
    filters: dict[str, Any] = {}
    max_items: int | None = None


def declare_tool(assistant: AssistantSettings) -> dict[str, Any]:
    """Return the tool of the front model."""
    if assistant.light:
        agents = {"type": "string", "enum": ["listDataAgent", "planAgent", "none"]}
        return tool_spec(ROUTE, "Say who goes on.", {"agent": agents}, ["agent"])
    keys = {"type": "string", "enum": [info.key for info in assistant.definitions.infos] + [""]}
    doable = [each.id for each in assistant.definitions.actions] + [each.key for each in assistant.definitions.infos]
    op = {
        "op": {"type": "string", "enum": ["set", "correct", "clear", "not_needed", "feedback"]},
        "key": keys,
        "value": {"description": "the value of the info"},
        "text": {"type": "string", "description": "of feedback: what the person said of the plan"},
        "quote": {"type": "string"},
    }
    action = {
        "type": {"type": "string", "enum": doable},
        "description": {"type": "string"},
        "parameters": {"type": "object"},
        "priority": {"type": "integer", "minimum": 1, "maximum": LOWEST_PRIORITY},
    }
    choice = {"data_type": keys, "filters": {"type": "object"}, "max_items": {"type": "integer", "minimum": 1}}
    declared = {
        "ops": array_schema(op, ["op"]),
        "required_actions": array_schema(action, ["type"]),
        "choice_context": {"type": "object", "properties": choice},
    }
    return tool_spec(DECLARE, "Say what you understood, and what is needed.", declared, [])


def tool_spec(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """Return a tool in the format of chat models."""
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def array_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """Return the JSON Schema of a list of objects."""
    return {"type": "array", "items": {"type": "object", "properties": properties, "required": required}}


def bind_model(assistant: AssistantSettings) -> Runnable[LanguageModelInput, AIMessage]:
    """Return the model with its tool."""
    return assistant.model.bind_tools([declare_tool(assistant)]).with_config(tags=[QUIET_CALLS])


async def ask_model(assistant: AssistantSettings, messages: Sequence[BaseMessage], config: RunnableConfig) -> AIMessage:
    """Return the model's answer. One without words that is empty, broken or cut off is requested once more.

    An answer that is cut off has no declarations: half a value would look like a whole one.
    """
    model = bind_model(assistant)
    answer = await _answer(model, messages, config)
    if is_cut_off(answer) or answer.invalid_tool_calls or not (answer.text.strip() or answer.tool_calls):
        end = stop_reason(answer)
        log.warning("%s: the model's answer is cut off, broken or empty (%s)", assistant.name, end or "no reason given")
        # The person has already read the words of an answer.
        if not answer.text.strip():
            answer = await _answer(model, messages, config)
    return answer.model_copy(update={"tool_calls": []}) if is_cut_off(answer) else answer


async def _answer(
    model: Runnable[LanguageModelInput, AIMessage], messages: Sequence[BaseMessage], config: RunnableConfig
) -> AIMessage:
    try:
        return await model.ainvoke(list(messages), config)
    except Exception as error:
        # OpenAI's client raises it for a cut-off answer with a strict schema.
        if type(error).__name__ != "LengthFinishReasonError":
            raise
        return AIMessage("", response_metadata={"finish_reason": "length"})


def build_messages(
    assistant: AssistantSettings, memory: ContextMemory, now: datetime, messages: Sequence[BaseMessage], language: str
) -> list[BaseMessage]:
    """Return the model's input: instructions, the memory, and the conversation."""
    prompt = SYSTEM_PROMPT.format(name=assistant.name, prompt=assistant.prompt)
    return [SystemMessage(f"{prompt}\n\n{prompt_view(assistant.definitions, memory, now, language)}"), *messages]


def parse_answer(answer: AIMessage, message: str | None, messages: Sequence[BaseMessage] = ()) -> dict[str, Any]:
    """Return the event of the model's declarations, without malformed ones.

    A quote that no message of a person contains is dropped, as it would be shown as the person's own text.
    """
    declared = [call["args"] for call in answer.tool_calls if call["name"] == DECLARE]
    ops = [op.model_dump() for args in declared for op in parse_valid(MemoryOp, args.get("ops"))]
    person_texts = [normalize(each.text) for each in messages if isinstance(each, HumanMessage)]
    for op in ops:
        op["quote"] = op["quote"] if is_quoted(op["quote"] or "", person_texts) else None
    actions = [action for args in declared for action in parse_valid(RequiredAction, args.get("required_actions"))]
    choices = [choice for args in declared for choice in parse_valid(ChoiceContext, [args.get("choice_context")])]
    return {
        "type": "said",
        "message": message,
        "ops": ops,
        "required": [each.model_dump() for each in sorted(actions, key=lambda each: each.priority)],
        "choices": [each.model_dump() for each in choices],
        "agent": next((call["args"].get("agent") for call in answer.tool_calls if call["name"] == ROUTE), None),
        "silent": not answer.text.strip(),
        "is_cut_off": is_cut_off(answer),
    }


def is_quoted(quote: str, texts: Iterable[str]) -> bool:
    """Tell whether a quote occurs in a person's messages, ignoring spaces, width and case."""
    normalized = normalize(quote)
    return bool(normalized) and any(normalized in text for text in texts)


def normalize(text: str) -> str:
    """Return a text without differences of width, case and spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def parse_valid(kind: type[ModelT], candidates: object) -> list[ModelT]:
    """Return the valid declarations. A model's mistake loses that declaration, not the turn."""
    parsed = []
    for each in candidates if isinstance(candidates, list) else []:
        try:
            parsed += [kind.model_validate(each)] if each else []
        except ValidationError as error:
            log.warning("the model's declaration is not a valid %s: %s", kind.__name__, error.errors()[0]["msg"])
    return parsed


def render_result(value: object) -> str:
    """Return a result as Markdown: text unchanged, rows as a table, other JSON as a code block."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and isinstance(value.get("text"), str):
        return str(value["text"])
    if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
        return markdown_table(value)
    return f"```json\n{json.dumps(value, ensure_ascii=False, indent=1, default=str)}\n```"


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a Markdown table of at most 20 rows, with the number of further rows."""
    names = list(dict.fromkeys(name for row in rows[:MAX_ROWS] for name in row))
    lines = [table_row(names), table_row("---" for _ in names)]
    lines += [table_row(row.get(name, "") for name in names) for row in rows[:MAX_ROWS]]
    more = len(rows) - MAX_ROWS
    return "\n".join(lines) + (f"\n\n… + {more}" if more > 0 else "")


def table_row(cells: Iterable[object]) -> str:
    """Return one row of a table, with the cells escaped."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
