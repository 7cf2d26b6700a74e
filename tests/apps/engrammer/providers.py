"""Chat models that refuse what their providers refuse, and say what a script says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable

from ringi.testing.model import ModelScript, ScriptedModel


class OpenAI(BaseChatModel):
    """Refuses calls without results, results without calls, and calls that are no JSON."""

    script: ModelScript
    has_tools: bool = False

    @property
    def _llm_type(self) -> str:
        return "strict"

    def bind_tools(self, tools: Sequence[Any], **more: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self.model_copy(update={"has_tools": bool(tools)})

    def _generate(self, messages: list[BaseMessage], *args: Any, **more: Any) -> ChatResult:
        self.check(messages)
        message = ScriptedModel(script=self.script)._answer(messages)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def check(self, messages: Sequence[BaseMessage]) -> None:
        waiting: list[str | None] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                waiting.remove(message.tool_call_id)
                continue
            assert not waiting, f"400: no results of {waiting}"
            if isinstance(message, AIMessage):
                assert message.text or message.tool_calls, "400: an empty message"
                assert not message.invalid_tool_calls, "400: a call that is no JSON"
                waiting = [call["id"] for call in message.tool_calls]
        assert not waiting, f"400: no results of {waiting}"


class Anthropic(OpenAI):
    """Refuses results of tools, too, when it is told of no tools; so does Bedrock."""

    def check(self, messages: Sequence[BaseMessage]) -> None:
        super().check(messages)
        has_results = any(isinstance(message, ToolMessage) for message in messages)
        assert self.has_tools or not has_results, "400: tool_use and tool_result blocks need tools"
