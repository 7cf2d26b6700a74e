"""The refund agent of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent as SDKAgent
from agents import Model, ModelResponse, function_tool, set_tracing_disabled
from agents.testing import ScriptedModel, assistant_message, function_call

from ringi import Agent
from ringi.demo.frameworks import story
from ringi.demo.shop import ARGS


@function_tool(needs_approval=True)
async def refund(order: int, amount: float) -> str:
    """Refund an order."""
    return story.refunded(order, amount)


class StoryModel(Model):
    """Says what the story has next; it depends only on the conversation."""

    async def get_response(
        self, system_instructions: str | None, input: Any, *args: Any, **options: Any
    ) -> ModelResponse:
        """Return the next answer."""
        answer: ModelResponse = await next_answer(input).get_response(system_instructions, input, *args, **options)
        return answer

    def stream_response(
        self, system_instructions: str | None, input: Any, *args: Any, **options: Any
    ) -> AsyncIterator[Any]:
        """Return the events of the next answer."""
        events: AsyncIterator[Any] = next_answer(input).stream_response(system_instructions, input, *args, **options)
        return events


def next_answer(input: Any) -> ScriptedModel:
    """Return a model with the one answer to a conversation."""
    items = input if isinstance(input, list) else [{"role": "user", "content": input}]
    last = items[-1]
    if last.get("type") == "function_call_output":
        return ScriptedModel([[assistant_message(story.farewell(str(last["output"])))]])
    case = story.case_in(json.dumps(items))
    words = assistant_message(story.explanation(**case))
    return ScriptedModel([[words, function_call("refund", case, call_id=f"call-{len(items)}")]])


def agent() -> Agent:
    """Return the agent."""
    set_tracing_disabled(True)  # The demo sends nothing to OpenAI.
    shop = SDKAgent(name="refund", instructions=story.INSTRUCTIONS, model=StoryModel(), tools=[refund])
    return Agent(
        "refund-openai-agents",
        shop,
        title="Refund (OpenAI Agents SDK)",
        description="The same story, by an agent of the OpenAI Agents SDK.",
        input_schema=ARGS,
        input=story.message_of,
    )
