"""How an answer comes about: the generator speaks, looks notes up, and speaks again."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, InvalidToolCall, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from ringi.engrammer.notes import NOTE_ERRORS, Note, Notes
from ringi.engrammer.playbook import Playbook
from ringi.engrammer.roles import GET, MOST_TOLD, SEARCH, tools
from ringi.errors import RingiError
from ringi.runs import QUIET_CALLS, clean_text

ROUNDS = 6
"""How often the generator speaks for one answer, at most."""
NO_MORE = "(You can look nothing up any more. Answer now, with what you have.)"
UNREADABLE = "the arguments of this call cannot be read: call again, with all of them"
CUT = "(These are the first {most:,} characters of {all:,}.)"
ENDS = ("finish_reason", "stop_reason", "done_reason")
"""Under which names providers say why a model stopped."""
NOTE_EVENT = "note"
"""The name under which a run's stream says that a note is read."""
CITED = re.compile(r"\[(b-\d{5,})\]")


class NoAnswerError(RingiError):
    """A model said nothing at all for an answer."""

    def __init__(self, said: list[AIMessage]) -> None:
        end = next((str(said[-1].response_metadata[name]) for name in ENDS if name in said[-1].response_metadata), None)
        why = f", and ended with {end!r}" if end else ""
        super().__init__(f"the model spoke {len(said)} times and answered nothing{why}: ask again, or in other words")


class Answering:
    """One answer in the making: what was said for it, and which notes were read."""

    def __init__(self, model: BaseChatModel, notes: Notes, *, tells: bool = True) -> None:
        self._model, self._notes = model, notes
        self._tell = get_stream_writer() if tells else silence
        self.said: list[AIMessage] = []
        self.read: dict[str, str] = {}
        """The notes by `source/id`, as the generator saw them."""

    async def talk(self, told: list[AnyMessage], config: RunnableConfig) -> str:
        """Return the answer to what the generator is told: all that it said for it, "" where it said nothing."""
        able = self._model.bind_tools(tools(self._notes.titles)) if self._notes.names else self._model
        # To the end with the tools: some providers refuse to read what a tool returned without them.
        speaker = able.with_config(tags=[QUIET_CALLS])
        for left in reversed(range(ROUNDS)):
            answer = await speaker.ainvoke(told, config)
            self.said.append(answer)
            if not left or not (answer.tool_calls or answer.invalid_tool_calls):
                break
            told = [*told, *await self._round(answer, is_last=left == 1)]
        words = [clean_text(each.text).strip() for each in self.said]
        return "\n\n".join(filter(None, words)) or refusal_of(self.said[-1])

    async def _round(self, answer: AIMessage, *, is_last: bool) -> list[AnyMessage]:
        """Return what the generator is told after it called: its calls, and what came of each."""
        broken = [emptied(call, f"{len(self.said)}-{n}") for n, call in enumerate(answer.invalid_tool_calls)]
        results = [await self._result(call) for call in answer.tool_calls]
        results += [result_of(call, UNREADABLE) for call in broken]
        if is_last:
            results[-1] = results[-1].model_copy(update={"content": f"{results[-1].text}\n\n{NO_MORE}"})
        # A call that was cut off is no JSON: a provider that is told it as it was may refuse it.
        calls = {"tool_calls": [*answer.tool_calls, *broken], "invalid_tool_calls": []}
        return [answer.model_copy(update=calls), *results]

    async def _result(self, call: ToolCall) -> ToolMessage:
        args = {name: clean_text(str(value)) for name, value in call["args"].items()}
        try:
            return result_of(call, await self._looked_up(call["name"], args))
        except NOTE_ERRORS as error:
            return result_of(call, str(error))

    async def _looked_up(self, tool: str, args: dict[str, str]) -> str:
        source = args.get("source", "")
        if tool == SEARCH:
            found = await self._notes.search(source, args.get("query", ""))
            return "\n".join(f"{each.id}: {each.title}: {each.excerpt}" for each in found) or "nothing is found"
        if tool != GET:
            return f"there is no tool {tool!r}: use {SEARCH} or {GET}"
        note = await self._notes.get(source, args.get("note_id", ""))
        self.read[f"{source}/{note.id}"] = text_of(note)[:MOST_TOLD]
        self._tell({"name": NOTE_EVENT, "source": source, "noteId": note.id, "title": note.title})
        return text_of(note)


def silence(event: dict[str, Any]) -> None:
    """Tell nobody."""


def result_of(call: ToolCall, text: str) -> ToolMessage:
    """Return what a call comes to; of what is too long for a model, its beginning."""
    told = text if len(text) <= MOST_TOLD else f"{text[:MOST_TOLD]}\n\n{CUT.format(most=MOST_TOLD, all=len(text))}"
    return ToolMessage(told, tool_call_id=call["id"] or "", name=call["name"])


def emptied(call: InvalidToolCall, number: str) -> ToolCall:
    """Return a call that cannot be read as one without arguments."""
    return ToolCall(name=call["name"] or "unknown", args={}, id=call["id"] or f"cut-off-{number}")


def refusal_of(answer: AIMessage) -> str:
    """Return in which words a model will not answer, "" where it has none."""
    blocks = [block for block in answer.content if isinstance(block, dict)]
    said = [answer.additional_kwargs, *blocks, *(block.get("value") for block in blocks)]
    words = (each.get("refusal") for each in said if isinstance(each, dict))
    return next((found for each in words if isinstance(each, str) and (found := clean_text(each).strip())), "")


def text_of(note: Note) -> str:
    """Return a note as models read it; they are told no more of it than its first `MOST_TOLD` characters."""
    return clean_text(f"{note.title}\n\n{note.content}" if note.title else note.content)


def cited_in(response: str, playbook: Playbook) -> list[str]:
    """Return the bullets that an answer cites, each once, as far as they are in the playbook."""
    active = {bullet.id for bullet in playbook.active}
    return [id for id in dict.fromkeys(CITED.findall(response)) if id in active]


def reference(name: str) -> dict[str, str]:
    """Return `source/id` as a reference."""
    source, _, id = name.partition("/")
    return {"source": source, "noteId": id}


def references_of(notes: dict[str, Any], cited: list[str]) -> list[dict[str, str]]:
    """Return what an answer stands on: notes that were read, and bullets that it cites."""
    return [reference(name) for name in [*notes, *(f"playbook/{id}" for id in cited)]]
