"""A chat model that is a function of the messages: the same run says the same after a restart."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable

Script = Callable[[Sequence[BaseMessage]], str | AIMessage]


class ScriptedModel(BaseChatModel):
    """Answers by `script(messages)`; streamed, word by word with `delay` seconds between them."""

    script: Script
    delay: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """Return itself: the script knows which tools there are."""
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
        answer = self.script(messages)
        return AIMessage(answer) if isinstance(answer, str) else answer

    def _chunks(self, messages: Sequence[BaseMessage]) -> list[ChatGenerationChunk]:
        answer = self._answer(messages)
        words = re.findall(r"\S+\s*|\s+", answer.text) or [""]
        chunks = [AIMessageChunk(content=word) for word in words[:-1]]
        last = AIMessageChunk(content=words[-1], tool_calls=answer.tool_calls, chunk_position="last")
        return [ChatGenerationChunk(message=chunk) for chunk in [*chunks, last]]
