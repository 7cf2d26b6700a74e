"""The front model: its prompt, and the event made from its answer.

The model writes nothing: it declares facts and actions, and code checks and carries them out.
"""

from __future__ import annotations

import inspect
import logging
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypeVar

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import BaseModel, ValidationError

from ringi.base import StrictModel
from ringi.runtimes.langgraph import QUIET_CALLS, is_cut_off, is_refusal, stop_reason
from ringi_apps.assistant.declare_tool import DECLARE, ROUTE, declare_tool, strict_tool
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.memory_ops import MemoryOp
from ringi_apps.assistant.model_context import infos_and_actions_text, state_text, with_state
from ringi_apps.assistant.reply_stream import ReplyModel
from ringi_apps.assistant.settings import AssistantSettings

log = logging.getLogger(__name__)
ModelT = TypeVar("ModelT", bound=BaseModel)
LOWEST_PRIORITY = 5
PUNCTUATION = re.compile(r"(?<!\d)[.,]|[.,](?!\d)|[;:!?…\"'“”‘’«»()\[\]。、「」『』・*_`–—-]")
"""Dots and commas in numbers are none."""
LEAST_SHARED = 0.5
NUMBER = re.compile(r"\d[\d.,]*")
Binding: TypeAlias = Literal["strict", "forced", "free"]
BINDINGS: tuple[Binding, ...] = ("strict", "forced", "free")
"""How the tool is bound: forced by an enforced schema, forced, or left to the model; the first that is possible."""
SYSTEM_PROMPT = """You are {name}. {prompt}
You talk with a person, and a program acts: it does what you declare with the tool `declare`. \
For the last message, declare:
- ops: the infos whose value the person tells, with their own words as `quote`. Never invent a value. `clear` what they
  take back, `not_needed` what they do not need, `feedback` for remarks about a plan.
- required_actions: the actions that the person asks for, or that answer their question. Never answer it yourself: the
  result is shown after your reply. Who only tells something asks for no action.
- choice_context: the infos that the person wants to choose from a list, with filters.
- reply: one short sentence in the language of the person. Promise nothing that you did not declare.
Lists are empty, [], if the message tells no info or asks for nothing.
No words of anybody approve a plan: the person presses the button.

{definitions}

Examples, of another program with the info `delivery_day` \
and the actions `open-orders`, `help`, `choose-day` and `plan-9`:
“Please show me the open orders.” → {{"required_actions":["open-orders"],"ops":[],"reply":"Here are the open orders."}}
“How can I return a parcel?” → {{"required_actions":["help"],"ops":[],"reply":"I look it up."}}
“We prefer Tuesday.” → {{"required_actions":[],"ops":[{{"op":"set","key":"delivery_day","quote":"We prefer Tuesday",\
"value":"Tuesday"}}],"reply":"Noted: Tuesday."}}
“Let me see the days to choose from.” → {{"required_actions":["choose-day"],"ops":[],"reply":"Please choose."}}
“Then make the plan.” → {{"required_actions":["plan-9"],"ops":[],"reply":"I make the plan."}}
“Thanks, bye!” → {{"required_actions":[],"ops":[],"reply":"You are welcome!"}}"""
LIGHT_PROMPT = """You are {name}. {prompt}
You talk with a person. Reply in a few words, and say with the tool `route` who goes on: listDataAgent shows data,
planAgent plans, none if nobody has to.

{definitions}"""


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


class ForcedToolModel:
    """The model of an assistant with its tool: forced to call it by an enforced schema, as far as the provider can."""

    def __init__(self, assistant: AssistantSettings) -> None:
        self._assistant = assistant
        self._refusals = dict.fromkeys(BINDINGS, 0)

    @cached_property
    def _tools(self) -> dict[Binding, dict[str, Any] | None]:
        tool = declare_tool(self._assistant)
        return {"strict": strict_tool(tool), "forced": tool, "free": tool}

    async def ask(self, messages: Sequence[BaseMessage], config: RunnableConfig) -> AIMessage:
        """Return the model's answer. One without words that is empty, broken or cut off is requested once more.

        An answer that is cut off has no declarations: half a value would look like a whole one.
        """
        answer = await self._answer(messages, config)
        if is_cut_off(answer) or answer.invalid_tool_calls or not (answer.text.strip() or answer.tool_calls):
            name, end = self._assistant.name, stop_reason(answer)
            log.warning("%s: the model's answer is cut off, broken or empty (%s)", name, end or "no reason given")
            # The person has already read the words of an answer.
            if not answer.text.strip():
                answer = await self._answer(messages, config)
        return answer.model_copy(update={"tool_calls": []}) if is_cut_off(answer) else answer

    async def _answer(self, messages: Sequence[BaseMessage], config: RunnableConfig) -> AIMessage:
        refused = list[Binding]()
        for binding in BINDINGS:
            # A single refusal may be about this answer; the second in turn is about the binding.
            if self._refusals[binding] > 1 or (model := self._bind(binding)) is None:
                continue
            try:
                answer = await call_model(model, messages, config)
            except Exception as error:
                if binding == BINDINGS[-1] or not is_refusal(error):
                    raise
                log.warning("%s: the provider refuses a %s call: %s", self._assistant.name, binding, error)
                refused.append(binding)
            else:
                # Not earlier: a request that is refused in every form says nothing about a binding.
                self._refusals |= {binding: 0, **{each: self._refusals[each] + 1 for each in refused}}
                return answer
        raise AssertionError("the last binding returns or raises")

    def _bind(self, binding: Binding) -> Runnable[LanguageModelInput, AIMessage] | None:
        """Return the model with its tool, or None if this binding is not possible."""
        tool, model, options = self._tools[binding], self._assistant.model, dict[str, Any]()
        if tool is None or (binding == "strict" and "strict" not in inspect.signature(model.bind_tools).parameters):
            return None
        if binding != "free":
            options["tool_choice"] = tool["function"]["name"]
        if binding == "strict":
            options["strict"] = True
        try:
            caller = model.bind_tools([tool], **options)
        except (TypeError, ValueError, NotImplementedError):
            if binding == "free":
                raise
            return None
        return ReplyModel(caller=caller).with_config(tags=[QUIET_CALLS])


async def call_model(
    model: Runnable[LanguageModelInput, AIMessage], messages: Sequence[BaseMessage], config: RunnableConfig
) -> AIMessage:
    """Return the answer of a model; one that the provider's client refuses as cut off is empty."""
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
    """Return the model's input: instructions and definitions, the conversation, and the state in its newest message.

    Everything before the newest message stays the same from turn to turn, so that providers can cache it.
    """
    template = LIGHT_PROMPT if assistant.light else SYSTEM_PROMPT
    definitions = infos_and_actions_text(assistant.definitions, language)
    prompt = template.format(name=assistant.name, prompt=assistant.prompt, definitions=definitions)
    state = state_text(assistant.definitions, memory, now, language, assistant.result_limit)
    # A repeated message keeps its old place, so the newest message may be the assistant's.
    last = max(n for n, message in enumerate(messages) if isinstance(message, HumanMessage))
    earlier = [shortened(message, assistant.result_limit) for message in messages[:last]]
    return [SystemMessage(prompt), *earlier, with_state(messages[last], state), *messages[last + 1 :]]


def shortened(message: BaseMessage, limit: int) -> BaseMessage:
    """Return an earlier message as the model receives it: results of actions are read again in each turn."""
    if not isinstance(message, AIMessage) or len(message.text) <= limit:
        return message
    return message.model_copy(update={"content": f"{message.text[:limit]}…"})


def parse_answer(
    answer: AIMessage, message: str | None, definitions: Definitions, messages: Sequence[BaseMessage] = ()
) -> dict[str, Any]:
    """Return the event of the model's declarations, without malformed, invented and redundant ones."""
    declared = [call["args"] for call in answer.tool_calls if call["name"] == DECLARE]
    texts = [normalize(each.text) for each in messages if isinstance(each, HumanMessage)]
    proposed = [op for args in declared for op in parse_valid(MemoryOp, args.get("ops"))]
    ops = [op for op in proposed if is_grounded(op, definitions, texts)]
    dropped = {op.key for op in proposed if op not in ops and op.op in ("set", "correct")}
    is_question = answer.text.rstrip().endswith(("?", "？"))
    ops = [op.model_copy(update={"quote": op.quote if is_quoted(op.quote or "", texts) else None}) for op in ops]
    set_keys = {op.key for op in ops if op.op in ("set", "correct")}
    actions = [action for args in declared for action in parse_valid(RequiredAction, actions_in(args))]
    choices = [choice for args in declared for choice in parse_valid(ChoiceContext, choices_in(args))]
    return {
        "type": "said",
        "message": message,
        "ops": [op.model_dump() for op in ops],
        # A question does not claim that anything is recorded.
        "dropped": [] if is_question else sorted(dropped),
        "required": [
            each.model_dump()
            for each in sorted(actions, key=lambda each: each.priority)
            if info_of(each.type, definitions) not in set_keys
        ],
        "choices": [each.model_dump() for each in choices if each.data_type not in set_keys],
        "agent": next((call["args"].get("agent") for call in answer.tool_calls if call["name"] == ROUTE), None),
        "silent": not answer.text.strip(),
        "is_cut_off": is_cut_off(answer),
    }


def is_grounded(op: MemoryOp, definitions: Definitions, texts: Sequence[str]) -> bool:
    """Tell whether a person said what an operation records: the value, or at least half of the quote's words."""
    info = definitions.infos_by_key.get(op.key)
    value = normalize(op.text if op.op == "feedback" else "" if op.value is None else str(op.value))
    # Only free text repeats the person's words: a number, a date or an option may be said in other words.
    examples = info.schema.get("examples", ()) if info is not None and is_free_text(info.schema) else ()
    is_example = value in [normalize(str(each)) for each in examples]
    # That any value is fine is never in the value itself, so it needs the person's words.
    is_any = info is not None and op.op in ("set", "correct") and info.is_any(op.value)
    has_quote = bool(normalize(op.quote or ""))
    is_invented = shared_part(op.quote or "", texts) < LEAST_SHARED if has_quote else is_any
    if (is_example or is_invented) and (is_any or not is_quoted(value, texts)):
        log.warning("the model's value of %s is dropped: no message of a person contains %r", op.key, op.quote or value)
        return False
    return True


def is_free_text(schema: Mapping[str, Any]) -> bool:
    """Tell whether a value is any text."""
    return schema.get("type") == "string" and not schema.keys() & {"enum", "const", "format"}


def shared_part(quote: str, texts: Iterable[str]) -> float:
    """Return the part of a quote's words that occur in a message of a person; 0 if one of its numbers does not.

    Scripts without spaces are compared by pairs of signs.
    """
    words, numbers = words_of(normalize(quote)), set(NUMBER.findall(normalize(quote)))
    shares = [
        sum(word in spoken for word in words) / len(words)
        for text in texts
        if numbers <= set(NUMBER.findall(text)) and (spoken := set(words_of(text)))
    ]
    return max(shares, default=0.0)


def words_of(text: str) -> list[str]:
    """Return the words of a normalized text, or its pairs of signs in scripts without spaces."""
    if text.isascii():
        return text.split()
    signs = text.replace(" ", "")
    return [signs[n : n + 2] for n in range(max(len(signs) - 1, 1))]


def info_of(name: str, definitions: Definitions) -> str | None:
    """Return the info that a required action asks for: that of a selector, or the info itself."""
    action = definitions.actions_by_id.get(name)
    return action.info if action else name


def actions_in(args: Mapping[str, Any]) -> list[Any]:
    """Return the required actions of a declaration; one without arguments may be its id alone."""
    return [{"type": each} if isinstance(each, str) else each for each in items_in(args, "required_actions")]


def choices_in(args: Mapping[str, Any]) -> list[Any]:
    """Return the choices of a declaration, with filters by field: strict schemas can only list them."""
    choices = items_in(args, "choice_context") or [args.get("choice_context")]
    return [
        {
            **each,
            "filters": {str(pair.get("field")): pair.get("value") for pair in filters if isinstance(pair, Mapping)},
        }
        if isinstance(each, Mapping) and isinstance(filters := each.get("filters"), list)
        else each
        for each in choices
    ]


def items_in(args: Mapping[str, Any], name: str) -> list[Any]:
    """Return a list in the arguments of a call, or no items if it is none."""
    return found if isinstance(found := args.get(name), list) else []


def is_quoted(quote: str, texts: Iterable[str]) -> bool:
    """Tell whether a quote occurs in normalized messages of a person, whatever their spaces."""
    normalized = normalize(quote).replace(" ", "")
    return bool(normalized) and any(normalized in text.replace(" ", "") for text in texts)


def normalize(text: str) -> str:
    """Return a text without differences of width, case, spaces and punctuation, which models change in quotes."""
    return " ".join(PUNCTUATION.sub(" ", unicodedata.normalize("NFKC", text).casefold()).split())


def parse_valid(kind: type[ModelT], candidates: object) -> list[ModelT]:
    """Return the valid declarations. A model's mistake loses that declaration, not the turn."""
    parsed = []
    for each in candidates if isinstance(candidates, list) else []:
        try:
            parsed += [kind.model_validate(each)] if each else []
        except ValidationError as error:
            log.warning("the model's declaration is not a valid %s: %s", kind.__name__, error.errors()[0]["msg"])
    return parsed
