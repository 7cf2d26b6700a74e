"""A chat model whose words are the `reply` of a forced tool call, streamed while the call is written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.utils.json import parse_partial_json
from langgraph.constants import TAG_NOSTREAM
from pydantic import Field

from ringi.runtimes.langgraph import WRAPPER_MODEL

REPLY = "reply"
QUIET: RunnableConfig = {"tags": [TAG_NOSTREAM]}
"""Readers see the words of the outer model; the callbacks come from the context."""


class ReplyModel(BaseChatModel):
    """Answers with the words of a model, or with the `reply` of its tool call if it has no other words.

    Providers that are forced to call a tool write no words beside the call.
    """

    caller: Runnable[LanguageModelInput, AIMessage]
    """The model with its tool."""
    tags: list[str] | None = Field(default=[WRAPPER_MODEL], exclude=True)
    """Only the calls of the inner model are counted."""

    @property
    def _llm_type(self) -> str:
        return "reply"

    async def _astream(
        self, messages: list[BaseMessage], *_: object, **__: object
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply = PartialReply()
        async for chunk in self.caller.astream(messages, QUIET):
            answer = (
                chunk if isinstance(chunk, AIMessageChunk) else AIMessageChunk(**chunk.model_dump(exclude={"type"}))
            )
            words = reply.add(answer)
            made = AIMessageChunk(
                content=answer.text or words,
                tool_call_chunks=answer.tool_call_chunks,
                response_metadata=answer.response_metadata,
                chunk_position=answer.chunk_position,
            )
            yield ChatGenerationChunk(message=made)

    async def _agenerate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        answer = await self.caller.ainvoke(messages, QUIET)
        words = answer.text if answer.text.strip() else reply_in(answer.tool_calls)
        made = answer.model_copy(update={"content": words, "usage_metadata": None})
        return ChatResult(generations=[ChatGeneration(message=made)])

    def _generate(self, messages: list[BaseMessage], *_: object, **__: object) -> ChatResult:
        raise NotImplementedError


class PartialReply:
    """The reply in a tool call whose arguments are still being written."""

    def __init__(self) -> None:
        self._arguments, self._sent, self._has_words = "", "", False
        self._index: int | str | None = None
        """The place of the first call among the parts of the answer: reasoning may come before it."""

    def add(self, chunk: AIMessageChunk) -> str:
        """Return the words of the reply that a chunk adds; none if the model has words beside the call."""
        self._has_words |= bool(chunk.text.strip())
        for piece in chunk.tool_call_chunks:
            self._index = piece["index"] if self._index is None else self._index
            self._arguments += (piece["args"] or "") if piece["index"] == self._index else ""
        if self._has_words or not chunk.tool_call_chunks or f'"{REPLY}"' not in self._arguments:
            return ""
        try:
            reply = reply_of(parse_partial_json(self._arguments))
        except ValueError:  # No JSON: the whole answer is then asked for once more.
            return ""
        # The last sign may be half of a pair, and half an escape is read as another sign.
        if not reply.startswith(self._sent) or "\ud7ff" < reply[-1:] < "\ue000":
            return ""
        added, self._sent = reply[len(self._sent) :], reply
        return added


def reply_in(calls: Sequence[Any]) -> str:
    """Return the reply of the first tool call."""
    return reply_of(calls[0]["args"]) if calls else ""


def reply_of(arguments: object) -> str:
    """Return the reply in the arguments of a call."""
    reply = arguments.get(REPLY) if isinstance(arguments, dict) else None
    return reply if isinstance(reply, str) else ""
