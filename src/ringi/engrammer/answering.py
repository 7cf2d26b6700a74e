"""How an answer comes about: the generator speaks, looks notes up, and speaks again."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer

from ringi.engrammer.notes import NOTE_ERRORS, Note, Notes
from ringi.engrammer.playbook import Playbook
from ringi.engrammer.roles import GET, SEARCH, tools
from ringi.threads.langgraph import QUIET_CALLS

ROUNDS = 6
"""How often the generator speaks for one answer, at most."""
NOTE_EVENT = "note"
"""The name under which a run's stream says that a note is read."""
CITED = re.compile(r"\[(b-\d{5,})\]")


class Answering:
    """One answer in the making: what was said for it, and which notes were read."""

    def __init__(self, model: BaseChatModel, notes: Notes, *, tells: bool = True) -> None:
        self._model, self._notes = model, notes
        self._tell = get_stream_writer() if tells else silence
        self.said: list[AIMessage] = []
        self.read: dict[str, str] = {}
        """The notes by `source/id`, as the generator saw them."""

    async def talk(self, told: list[AnyMessage], config: RunnableConfig) -> str:
        """Return the answer to what the generator is told."""
        able = self._model.bind_tools(tools(self._notes.titles)) if self._notes.names else self._model
        for left in reversed(range(ROUNDS)):
            # The last time without tools: whoever looks things up for ever says nothing.
            speaker = able if left else self._model
            answer = await speaker.with_config(tags=[QUIET_CALLS]).ainvoke(told, config)
            self.said.append(answer)
            if not answer.tool_calls:
                break
            told = [*told, answer, *[await self._result(call) for call in answer.tool_calls]]
        return self.said[-1].text.strip()

    async def _result(self, call: ToolCall) -> ToolMessage:
        try:
            result = await self._looked_up(call["name"], {name: str(value) for name, value in call["args"].items()})
        except NOTE_ERRORS as error:
            result = str(error)
        return ToolMessage(result, tool_call_id=call["id"] or "", name=call["name"])

    async def _looked_up(self, tool: str, args: dict[str, str]) -> str:
        source = args.get("source", "")
        if tool == SEARCH:
            found = await self._notes.search(source, args.get("query", ""))
            return "\n".join(f"{each.id}: {each.title}: {each.excerpt}" for each in found) or "nothing is found"
        if tool != GET:
            return f"there is no tool {tool!r}: use {SEARCH} or {GET}"
        note = await self._notes.get(source, args.get("note_id", ""))
        self.read[f"{source}/{note.id}"] = text_of(note)
        self._tell({"name": NOTE_EVENT, "source": source, "noteId": note.id, "title": note.title})
        return text_of(note)


def silence(event: dict[str, Any]) -> None:
    """Tell nobody."""


def text_of(note: Note) -> str:
    """Return a note as the models read it."""
    return f"{note.title}\n\n{note.content}" if note.title else note.content


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
