"""The generator: call the model, run its note lookups, and repeat until it answers."""

from __future__ import annotations

import logging
import re
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer

from ringi.base import reason_of
from ringi.errors import RingiError
from ringi.runs import clean_text
from ringi.runtimes.langgraph import QUIET_CALLS, is_refusal, stop_reason
from ringi_apps.engrammer.notes import NOTE_ERRORS, Note, Notes
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.roles import GET_NOTE_TOOL, MAX_TEXT_LENGTH, SEARCH_NOTES_TOOL, generator_tools

log = logging.getLogger(__name__)
MAX_ROUNDS = 6
"""Maximum number of model calls for one answer."""
MAX_REFUSALS = 2
"""Number of consecutive refusals after which a provider is no longer asked to force a search."""
LAST_ROUND_NOTICE = "(You can look nothing up any more. Answer now, with what you have.)"
REPEATED_LOOKUP = f"you have the result of this call already: read another note with {GET_NOTE_TOOL}, or answer"
UNREADABLE_CALL = "the arguments of this call cannot be read: call again, with all of them"
TRUNCATION_NOTICE = "(These are the first {most:,} characters of {all:,}.)"
NOTE_EVENT = "note"
"""Name of the stream event for a note that is read."""
CITATION = re.compile(r"\[(b-\d{5,})\]")


class NoteReader:
    """A model with the tools for notes: the first call for an answer must search them, as far as the provider can."""

    def __init__(self, model: BaseChatModel, notes: Notes) -> None:
        self._model, self.notes, self._refusals = model, notes, 0

    async def ask(self, messages: list[AnyMessage], config: RunnableConfig, *, is_first: bool) -> AIMessage:
        """Return the model's response; a provider that refuses the forced search is asked again without it."""
        if is_first and (forced := self._bind_forced()):
            try:
                response = await forced.ainvoke(messages, config)
            except Exception as error:
                if not is_refusal(error):
                    raise
                log.warning("the provider refuses a forced search of the notes: %s", error)
                response = await self._bind().ainvoke(messages, config)
                # Not earlier: a request that is refused in both forms says nothing about the forced search.
                self._refusals += 1
            else:
                self._refusals = 0
            return response
        return await self._bind().ainvoke(messages, config)

    def _bind_forced(self) -> Runnable[LanguageModelInput, AIMessage] | None:
        """Return the model that must search, or None if it cannot be forced or there are no notes."""
        if not self.notes.names or self._refusals >= MAX_REFUSALS:
            return None
        try:
            return self._bind(tool_choice=SEARCH_NOTES_TOOL)
        except (TypeError, ValueError, NotImplementedError):
            return None

    def _bind(self, **options: Any) -> Runnable[LanguageModelInput, AIMessage]:
        # To the end with the tools: some providers refuse to read what a tool returned without them.
        tools = generator_tools(self.notes.titles) if self.notes.names else []
        model = self._model.bind_tools(tools, **options) if tools else self._model
        return model.with_config(tags=[QUIET_CALLS])


class AnswerGenerator:
    """Generates one answer; collects the model's responses and the notes it read."""

    def __init__(self, reader: NoteReader, *, streams_notes: bool = True) -> None:
        self._reader, self._notes = reader, reader.notes
        self._write_event = get_stream_writer() if streams_notes else lambda event: None
        self.responses: list[AIMessage] = []
        self.notes_read: dict[str, str] = {}
        """The notes by `source/id`, as the model read them."""
        self._lookups, self._repeated = set[str](), 0

    async def generate(self, messages: list[AnyMessage], config: RunnableConfig) -> str:
        """Return the model's answer to messages, or "" if it gives none."""
        for rounds_left in reversed(range(MAX_ROUNDS)):
            answer = await self._reader.ask(messages, config, is_first=not self.responses)
            self.responses.append(answer)
            is_last = not rounds_left or self._repeated > 1
            if is_last or not (answer.tool_calls or answer.invalid_tool_calls):
                break
            messages = [*messages, *await self._run_tools(answer, is_next_last=rounds_left == 1)]
        texts = [clean_text(each.text).strip() for each in reversed(self.responses)]
        return next(filter(None, texts), "") or refusal_text(self.responses[-1])

    def no_answer(self) -> RingiError:
        """Return the error of a model that gave no answer, with the reason that its provider gives."""
        end = stop_reason(self.responses[-1])
        calls = len(self.responses)
        return RingiError(
            reason_of("model_ended", calls=calls, end=repr(end)) if end else reason_of("model_silent", calls=calls)
        )

    async def _run_tools(self, answer: AIMessage, *, is_next_last: bool) -> list[AnyMessage]:
        """Return the next messages: the model's tool calls and their results."""
        # An unreadable call becomes one without arguments.
        broken = [
            ToolCall(name=call["name"] or "unknown", args={}, id=call["id"] or f"cut-off-{len(self.responses)}-{n}")
            for n, call in enumerate(answer.invalid_tool_calls)
        ]
        results = [await self._tool_message(call) for call in answer.tool_calls]
        results += [tool_result(call, UNREADABLE_CALL) for call in broken]
        if is_next_last or self._repeated > 1:
            results[-1] = results[-1].model_copy(update={"content": f"{results[-1].text}\n\n{LAST_ROUND_NOTICE}"})
        # A call that was cut off is no JSON: a provider that is told it as it was may refuse it.
        calls = {"tool_calls": [*answer.tool_calls, *broken], "invalid_tool_calls": []}
        return [answer.model_copy(update=calls), *results]

    async def _tool_message(self, call: ToolCall) -> ToolMessage:
        args = {name: clean_text(str(value)) for name, value in call["args"].items()}
        lookup = f"{call['name']} {sorted(args.items())}"
        if lookup in self._lookups:
            self._repeated += 1
            return tool_result(call, REPEATED_LOOKUP)
        try:
            result = await self._read_notes(call["name"], args.get("source", ""), args)
        except NOTE_ERRORS as error:
            return tool_result(call, str(error))
        self._lookups.add(lookup)
        return tool_result(call, result)

    async def _read_notes(self, tool: str, source: str, args: dict[str, str]) -> str:
        if tool == SEARCH_NOTES_TOOL:
            found = await self._notes.search(source, args.get("query", ""))
            return "\n".join(f"{each.id}: {each.title}: {each.excerpt}" for each in found) or "no notes found"
        if tool != GET_NOTE_TOOL:
            return f"there is no tool {tool!r}: use {SEARCH_NOTES_TOOL} or {GET_NOTE_TOOL}"
        note = await self._notes.get(source, args.get("note_id", ""))
        self.notes_read[f"{source}/{note.id}"] = note_text(note)[:MAX_TEXT_LENGTH]
        self._write_event({"name": NOTE_EVENT, "source": source, "noteId": note.id, "title": note.title})
        return note_text(note)


def tool_result(call: ToolCall, text: str) -> ToolMessage:
    """Return the result of a tool call; a long text is truncated."""
    content = (
        text
        if len(text) <= MAX_TEXT_LENGTH
        else f"{text[:MAX_TEXT_LENGTH]}\n\n{TRUNCATION_NOTICE.format(most=MAX_TEXT_LENGTH, all=len(text))}"
    )
    return ToolMessage(content, tool_call_id=call["id"] or "", name=call["name"])


def refusal_text(answer: AIMessage) -> str:
    """Return the model's refusal message, or "" if there is none."""
    blocks = [block for block in answer.content if isinstance(block, dict)]
    sources = [answer.additional_kwargs, *blocks, *(block.get("value") for block in blocks)]
    refusals = (each.get("refusal") for each in sources if isinstance(each, dict))
    return next((text for each in refusals if isinstance(each, str) and (text := clean_text(each).strip())), "")


def note_text(note: Note) -> str:
    """Return the text of a note for the model; callers truncate it to `MAX_TEXT_LENGTH` characters."""
    return clean_text(f"{note.title}\n\n{note.content}" if note.title else note.content)


def cited_bullets(response: str, playbook: Playbook) -> list[str]:
    """Return the active bullets that an answer cites, without duplicates."""
    active = {bullet.id for bullet in playbook.active}
    return [id for id in dict.fromkeys(CITATION.findall(response)) if id in active]


def make_references(notes: dict[str, Any], cited: list[str]) -> list[dict[str, str]]:
    """Return the references of an answer: notes read and bullets cited."""
    names = [*notes, *(f"playbook/{id}" for id in cited)]
    return [{"source": source, "noteId": id} for source, _, id in (name.partition("/") for name in names)]
