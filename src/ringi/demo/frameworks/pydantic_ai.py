"""The refund agent of Pydantic AI."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from ringi import Agent
from ringi.demo.frameworks import story
from ringi.demo.shop import ARGS


async def next_words(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Say what the story has next; it depends only on the conversation."""
    parts: list[Any] = [part for message in messages for part in message.parts]
    if isinstance(parts[-1], ToolReturnPart):
        yield story.farewell(str(parts[-1].content))
        return
    case = story.case_in("\n".join(str(part.content) for part in parts if isinstance(part, UserPromptPart)))
    yield story.explanation(**case)
    yield {1: DeltaToolCall("refund", json.dumps(case), tool_call_id=f"call-{len(messages)}")}


def agent() -> Agent:
    """Return the agent."""
    shop: PydanticAgent[None, str] = PydanticAgent(
        FunctionModel(stream_function=next_words), instructions=story.INSTRUCTIONS, name="refund"
    )

    @shop.tool_plain(requires_approval=True)
    def refund(order: int, amount: float) -> str:
        """Refund an order."""
        return story.refunded(order, amount)

    return Agent(
        "refund-pydantic-ai",
        shop,
        title="Refund (Pydantic AI)",
        description="The same story, by an agent of Pydantic AI.",
        input_schema=ARGS,
        input=story.message_of,
    )
