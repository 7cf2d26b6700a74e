"""LangGraph's stream as the output of a run, without messages that a step's result repeats."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from ringi.base.canonical_json import clean_text
from ringi.contracts.runtime import Output
from ringi.domain.record import RUN
from ringi.runs.model_form import VisibleText
from ringi.runs.run import clean_json, storable_json_text
from ringi.runs.stream_writer import SAY

MODEL_FORMS = "ringi_model_forms"
"""The tag of a model that may put a form into its answer."""
TOOL_NAMES = "ringi_tools"
"""The key in the metadata of a model with the names of its tools, whose calls may come as text."""
QUIET_CALLS = "ringi_quiet_calls"
"""The tag of a model whose tool calls run no tool and are not shown: they carry structured output."""
MODEL = "ls_model_type"
"""The metadata key present on model messages and absent on step results."""
LOOP_TURNS = 50
"""The number of event-loop turns for which a step's results wait for its last messages; LangGraph needs a few."""
SHORT_LENGTH = 3
"""A text of so few characters in a structured answer matches other texts by chance."""
FEW_WORDS = 3
"""So few words match the output of another graph by chance."""
_BLANK_LINE = re.compile(r"[ \t]*\r?\n(?:[ \t]*\r?\n)+")
_LETTER = r"[^\W_]\0*"
_JOINT = (
    r"(?:['\u2019\u2010\u2011\-/@&_]|\.(?=[a-z\d])|(?<=\d)[.,:\u066b\u066c\uff0e\uff0c\uff1a](?=\d)"
    r"|(?<=\d)[ \u00a0\u202f](?=\d{3}(?!\d)))"
)
"""Characters allowed within a word or a number: in `don't`, `well-known`, `example.com`, `2.5`, `10:30`, `2 500`."""
_TOKEN = re.compile(rf"(?:(?<!\w)[-+.\u2212](?=\d))?(?:{_LETTER})+(?:{_JOINT}(?:{_LETTER})+)*|\S\0*")
"""A word, a number with its sign, or any other character; each with the marks (`\\0`) that belong to it."""


@dataclass
class StreamTranslator:
    """Translates LangGraph's stream to emitter calls, with ids that are stable across attempts."""

    emitter: Output
    step: int = 0
    messages: dict[str, StreamedMessage] = field(default_factory=dict)
    ordinals: Counter[str] = field(default_factory=Counter)
    running: set[str] = field(default_factory=set)

    def translate(self, mode: str, part: Any, *, is_inner: bool = False) -> None:
        """Pass one part to the emitter; `is_inner` means that a nested graph produced it."""
        if mode == "debug":
            self._debug(part, is_inner)
        elif mode == "custom":
            self._custom(part)
        else:
            self._message(*part)

    async def flush_step(self, task_id: str | None) -> None:
        """Return once all output of a step is stored in the stream.

        Its results are saved next, and the step never runs again to repeat missing output.
        """
        for _ in range(LOOP_TURNS):
            if task_id not in self.running:
                break
            await asyncio.sleep(0)
        await self.emitter.flush()

    def end(self) -> None:
        """Close all open messages."""
        for message in list(self.messages.values()):
            self._close(message)

    def _debug(self, part: dict[str, Any], is_inner: bool) -> None:
        if not is_inner:
            self.step = part["step"]
        if part["type"] == "task":
            self.running.add(part["payload"]["id"])
        if part["type"] == "task_result":
            self.running.discard(part["payload"]["id"])
            for message in [m for m in self.messages.values() if m.task == part["payload"]["id"]]:
                self._close(message)

    def _custom(self, value: Any) -> None:
        text = storable_json_text(value)
        plain = clean_json(json.loads(text))
        name = plain.get("name", "custom") if isinstance(plain, dict) else "custom"
        place = f"{self.step}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self.ordinals[place] += 1
        place = f"{place}:{self.ordinals[place]}"
        if isinstance(plain, dict) and plain.keys() == {SAY}:
            return self.emitter.whole_text(place, str(plain[SAY]))
        self.emitter.custom(place, str(name), plain)

    def _message(self, message: BaseMessage, metadata: dict[str, Any]) -> None:
        if isinstance(message, ToolMessage):
            return self.emitter.tool_result(clean_text(message.tool_call_id), clean_text(str(message.content)))
        if not isinstance(message, AIMessage):
            return None
        place = str(metadata.get("langgraph_checkpoint_ns", ""))
        chunk = message if isinstance(message, AIMessageChunk) else None
        text, is_models = clean_text(message.text), chunk is not None or MODEL in metadata
        if not is_models and message.id not in self.messages:
            text = self._unsent_part(message, text, place)
        known = self._streamed_message(message, place, is_models)
        known.has_ended |= chunk is None or chunk.chunk_position == "last"
        if MODEL_FORMS in metadata.get("tags", ()):
            known.visible_text = known.visible_text or VisibleText(metadata.get(TOOL_NAMES, ()))
        known.text += text
        self.emitter.text(known.id, known.visible_text.add(text) if known.visible_text else text)
        if QUIET_CALLS in metadata.get("tags", ()):
            return None
        if chunk is None:
            self._tool_calls(message)
        elif chunk.tool_call_chunks:
            known.whole = chunk if known.whole is None else known.whole + chunk

    def _unsent_part(self, message: AIMessage, text: str, place: str) -> str:
        """Return the part of a step's result that is not yet in the stream, and hide the messages that it repeats."""
        within = [each for each in self.messages.values() if each.may_repeat_in(place)]
        known = max(within, key=lambda each: matched_words_length(text, each.text), default=None)
        matched = matched_words_length(text, known.text) if known else 0
        unsent, first = text, None
        if known and matched and (matched == len(text) or known.continues_in(place)):
            unsent, first = text[matched:], known
            if message.id:
                self.messages[message.id] = known
        elif known and matched and (line := _BLANK_LINE.match(text, matched)) and (own := text[line.end() :]):
            later = within[within.index(known) + 1 :]
            is_sent = any(matched_words_length(own, each.text) == len(own) for each in later)
            unsent, first = "" if is_sent else own, known
        for each in within:
            if each is not first and contains_text(unsent, each.text, is_unrelated=each.is_unrelated(place)):
                self.emitter.supersede(each.id)
                each.text = ""
        return unsent

    def _streamed_message(self, message: AIMessage, place: str, is_models: bool) -> StreamedMessage:
        key = message.id or place
        if key not in self.messages:
            self.ordinals[place] += 1
            id = hashlib.sha256(f"{place}:{self.ordinals[place]}".encode()).hexdigest()[:24]
            self.messages[key] = StreamedMessage(f"msg-{id}", place.rpartition(":")[2], place, is_models)
        return self.messages[key]

    def _close(self, message: StreamedMessage) -> None:
        if message.visible_text is not None:
            self.emitter.text(message.id, message.visible_text.finish())
            message.visible_text = None
        self.emitter.end_text(message.id)
        if message.whole is not None:
            self._tool_calls(message.whole)
            message.whole = None
        message.task = ""

    def _tool_calls(self, message: AIMessage) -> None:
        for call in message.tool_calls:
            id, name = clean_text(str(call["id"])), clean_text(call["name"])
            self.emitter.tool_call(id, name, storable_json_text(call["args"]))


@dataclass
class StreamedMessage:
    """A message of the agent that is being streamed."""

    id: str
    task: str
    """The task that produces it; empty once the task has ended."""
    place: str
    """Its origin: the step of the outermost graph, followed by those of nested graphs."""
    is_models: bool
    has_ended: bool = False
    """True once its model has finished."""
    text: str = ""
    whole: AIMessageChunk | None = None
    visible_text: VisibleText | None = None

    def may_repeat_in(self, place: str) -> bool:
        """Return whether the result of a step at a place may repeat this message.

        A message that another graph is still streaming is incomplete and does not count.
        """
        is_below = self.place.startswith(f"{place}|")
        # The step of the outermost graph comes first.
        if self.visible_text is not None or self.place.partition("|")[0] != place.partition("|")[0]:
            return False
        if not self.is_models:
            return is_below
        return is_below or self.place == place or self.has_ended or not self.task

    def is_unrelated(self, place: str) -> bool:
        """Return whether the message comes neither from within the step at this place nor from around it."""
        one, other = f"{self.place}|", f"{place}|"
        return not (one.startswith(other) or other.startswith(one))

    def continues_in(self, place: str) -> bool:
        """Return whether the result of a step at a place may continue this message."""
        return bool(self.task) and (self.place == place or self.place.startswith(f"{place}|"))


class _Marks(dict[int, str]):
    """Treats accents, vowel signs, joiners and skin tones as one character: `re` takes them for the end of a word."""

    def __missing__(self, code: int) -> str:
        is_mark = unicodedata.category(chr(code)) in ("Mn", "Mc", "Me", "Cf") or 0x1F3FB <= code <= 0x1F3FF
        self[code] = "\0" if is_mark else chr(code)
        return self[code]


_MARKS = _Marks()


def matched_words_length(text: str, model_text: str) -> int:
    """Return how many leading characters of a text match a model's words; 0 if it begins differently."""
    if not model_text.strip():
        return 0
    if text.split() == model_text.split():
        return len(text)
    words = _tokens(model_text)
    return len(model_text) if text.startswith(model_text) and _tokens(text)[: len(words)] == words else 0


def contains_text(text: str, model_text: str, *, is_unrelated: bool = False) -> bool:
    """Return whether a text repeats the words of a model.

    In a structured JSON answer, one string equals the text, or the text contains the longest string. For text of
    another graph only the second rule applies, and the longest string must have more than a few words.
    """
    words, within = model_text, _line(text)
    if model_text.strip().startswith("{"):
        found = [each for each in _strings(model_text) if each.strip()]
        if not is_unrelated and any(each.split() == text.split() for each in found):
            return True
        words = max((each for each in found if len(each.strip()) > SHORT_LENGTH), key=len, default="")
        if is_unrelated and _count_words(words) <= FEW_WORDS:
            return False
    return bool(words.strip()) and _line(words) in within


def _tokens(text: str) -> list[str]:
    return [text[found.start() : found.end()] for found in _TOKEN.finditer(text.translate(_MARKS))]


def _count_words(text: str) -> int:
    """Return the number of words in a text; without word boundaries, two characters count as one word."""
    words = [token for token in _tokens(text) if any(map(str.isalnum, token))]
    return sum(max(1, len("".join(RUN.findall(word))) // 2) for word in words)


def _line(text: str) -> str:
    return "\n".join(["", *_tokens(text), ""])


def _strings(model_text: str) -> Iterator[str]:
    try:
        parts: list[Any] = [json.loads(model_text)]
    except (ValueError, RecursionError):
        return
    for part in parts:
        if isinstance(part, str):
            yield part
        parts += part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
