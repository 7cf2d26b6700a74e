"""A chat model that is a function of the messages: a repeated run has the same output after a restart."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel

Said = str | BaseModel
"""Text, an `AIMessage`, or an instance of the schema of a structured answer."""
Script = Callable[[Sequence[BaseMessage]], Said]

WORD = re.compile(r"[\u3041-\u9fff]{1,4}\s*|[^\s\u3041-\u9fff]+\s*|\s+")
"""One streamed piece: a word, or a few characters in scripts without spaces."""


def calls(tool: str, /, **args: Any) -> AIMessage:
    """Return a model message that calls a tool with these arguments."""
    return AIMessage("", tool_calls=[ToolCall(name=tool, args=args, id=None)])


def together(*messages: AIMessage, words: str = "") -> AIMessage:
    """Return one message with the calls of all these messages, and optional text."""
    return AIMessage(words, tool_calls=[call for message in messages for call in message.tool_calls])


def turns(*answers: Said) -> Script:
    """Return a script that gives these answers in turn, and then repeats the last message it received."""

    def script(messages: Sequence[BaseMessage]) -> Said:
        said = sum(isinstance(message, AIMessage) for message in messages)
        return answers[said] if said < len(answers) else messages[-1].text

    return script


def place_of(messages: Sequence[BaseMessage]) -> str:
    """Return a unique name of this place in the conversation, stable across attempts."""
    told = "\0".join(f"{message.type} {getattr(message, 'tool_call_id', '')} {message.text}" for message in messages)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


class ScriptedModel(BaseChatModel):
    """Answers by `script(messages)`; streamed, word by word with `delay` seconds between words.

    A script returns text, an `AIMessage` (see `calls`), or an instance of the schema of `with_structured_output` or
    `response_format`. Calls without an id get one.
    """

    script: Script
    delay: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Return itself: the script knows the available tools."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
            await asyncio.sleep(self.delay)

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        said = self.script(messages)
        if isinstance(said, str):
            return AIMessage(said)
        answer = said if isinstance(said, AIMessage) else calls(type(said).__name__, **said.model_dump(mode="json"))
        place = place_of(messages)
        named = [
            {**call, "id": call["id"] or f"call-{place}-{number}"} for number, call in enumerate(answer.tool_calls, 1)
        ]
        return answer.model_copy(update={"tool_calls": named})

    def _chunks(self, messages: Sequence[BaseMessage]) -> list[ChatGenerationChunk]:
        answer = self._answer(messages)
        words = WORD.findall(answer.text) or [""]
        chunks = [AIMessageChunk(content=word) for word in words[:-1]]
        last = AIMessageChunk(
            content=words[-1],
            tool_calls=answer.tool_calls,
            usage_metadata=answer.usage_metadata,
            chunk_position="last",
        )
        return [ChatGenerationChunk(message=chunk) for chunk in [*chunks, last]]
