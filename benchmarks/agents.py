"""The agents that the benchmarks run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any, TypedDict

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

from ringi.runs.agent import Agent

TOKEN_SECONDS = 0.02


class State(TypedDict, total=False):
    count: int
    seconds: float
    size: int


class ClockModel(BaseChatModel):
    """A model that emits the time as a word every 20 ms, so that a reader can measure the delay of each word."""

    words: int

    @property
    def _llm_type(self) -> str:
        return "clock"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        began = time.monotonic()
        for n in range(self.words):
            last = {"chunk_position": "last"} if n == self.words - 1 else {}
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=f"{time.time():.4f} ", **last))
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk
            await asyncio.sleep(max(0.0, began + (n + 1) * TOKEN_SECONDS - time.monotonic()))


async def talk(state: State) -> State:
    await ClockModel(words=state["count"]).ainvoke("What time is it?")
    return {}


async def tick(state: State) -> State:
    write = get_stream_writer()
    for n in range(state["count"]):
        write({"name": "tick", "value": f"{n}:{'x' * state['size']}"})
        await asyncio.sleep(state["seconds"])
    return {}


async def step(_: State) -> State:
    interrupt("Refund?")
    return {}


def graph_of(node: Any) -> Any:
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile()


def agents() -> list[Agent]:
    return [Agent("talk", graph_of(talk)), Agent("tick", graph_of(tick)), Agent("step", graph_of(step))]
