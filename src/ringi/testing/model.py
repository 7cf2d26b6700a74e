"""A chat model that is a function of the messages, so a repeated run has the same output after a restart."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolCall, ToolCallChunk
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from pydantic import BaseModel

ModelOutput = str | BaseModel
"""Text, an `AIMessage`, or an instance of the schema of a structured answer."""
ModelScript = Callable[[Sequence[BaseMessage]], ModelOutput]
"""A function of the messages that returns the next output of the model."""

WORD = re.compile(r"[\u3041-\u9fff]{1,4}\s*|[^\s\u3041-\u9fff]+\s*|\s+")
"""One streamed piece: a word, or a few characters in scripts without spaces."""


def tool_call(tool: str, /, **args: object) -> AIMessage:
    """Return a model message that calls a tool.

    Args:
        tool: The name of the tool.
        args: The arguments of the call.
    """
    return AIMessage("", tool_calls=[ToolCall(name=tool, args=args, id=None)])


def parallel_tool_calls(*messages: AIMessage, text: str = "") -> AIMessage:
    """Return one message that makes the calls of several messages.

    Args:
        messages: Messages with tool calls, as `tool_call` returns them.
        text: The text of the message.
    """
    return AIMessage(text, tool_calls=[call for message in messages for call in message.tool_calls])


def scripted_turns(*outputs: ModelOutput) -> ModelScript:
    """Return a script with one output for each turn of the model; after the last one it repeats the newest message.

    Args:
        outputs: The outputs, in order.
    """

    def script(messages: Sequence[BaseMessage]) -> ModelOutput:
        turn = sum(isinstance(message, AIMessage) for message in messages)
        return outputs[turn] if turn < len(outputs) else messages[-1].text

    return script


def streamed_calls(answer: AIMessage) -> list[ToolCallChunk]:
    """Return the tool calls of an answer as a provider streams them: their arguments are text, which may be no JSON."""
    whole = [(each["name"], json.dumps(each["args"], default=str), each["id"]) for each in answer.tool_calls]
    broken = [(each["name"], each["args"], each["id"]) for each in answer.invalid_tool_calls]
    return [tool_call_chunk(name=name, args=args, id=id) for name, args, id in [*whole, *broken]]


def position_id(messages: Sequence[BaseMessage]) -> str:
    """Return an id of this position in the conversation; it is the same in each attempt."""
    text = "\0".join(f"{message.type} {getattr(message, 'tool_call_id', '')} {message.text}" for message in messages)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


class ScriptedModel(BaseChatModel):
    """A chat model that answers by a function of the messages, and streams its answers word by word.

    Tool calls without an id get one that is the same in each attempt.
    """

    script: ModelScript
    """Returns a text, an `AIMessage` as from `tool_call`, or an instance of the schema of a structured output."""
    delay: float = 0.0
    """Seconds between streamed words."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[object], **kwargs: object) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model; the script decides which tools to call."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
            await asyncio.sleep(self.delay)

    def _answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        output = self.script(messages)
        if isinstance(output, str):
            return AIMessage(output)
        if not isinstance(output, AIMessage):
            output = tool_call(type(output).__name__, **output.model_dump(mode="json"))
        position, numbered = position_id(messages), enumerate(output.tool_calls, 1)
        tool_calls = [{**call, "id": call["id"] or f"call-{position}-{number}"} for number, call in numbered]
        return output.model_copy(update={"tool_calls": tool_calls})

    def _chunks(self, messages: Sequence[BaseMessage]) -> list[ChatGenerationChunk]:
        answer = self._answer(messages)
        words = WORD.findall(answer.text) or [""]
        chunks = [AIMessageChunk(content=word) for word in words[:-1]]
        last = AIMessageChunk(
            content=words[-1],
            tool_call_chunks=streamed_calls(answer),
            response_metadata=answer.response_metadata,
            usage_metadata=answer.usage_metadata,
            chunk_position="last",
        )
        return [ChatGenerationChunk(message=chunk) for chunk in [*chunks, last]]
