"""The half message of a worker that died, in every protocol: who saw it is told, and nobody is shown it again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from tests.server.test_chat import JsonObject, ag_ui, stream, ui
from tests.server.world import LIMIT, World, listening, open_world, until

from ringi.contracts.backend import StreamItem
from ringi.demo.chat import MESSAGES
from ringi.domain.record import Key
from ringi.protocols.langgraph_api.routes import EXTENSION as LANGGRAPH
from ringi.runs.agent import Agent
from ringi.runs.stream_writer import PAGE, SUPERSEDED

HALF, WHOLE = "I think that we sh", "We should pay."
KEY = Key("default", "t1")
LANGGRAPH_RUN = ("/langgraph/threads/t1/runs/stream", {"assistant_id": "talk", "stream_mode": ["values"]})
RUN = {"agent": "talk", "input": {"messages": [{"role": "user", "content": "hello", "id": "m1"}]}}
CONNECT = ("/agui/talk/connect", ag_ui("", "")[1])


class Stage:
    """A run that waits; what its workers say is written by hand."""

    def __init__(self, world: World, may_end: asyncio.Event) -> None:
        self.world, self._may_end = world, may_end
        self.client = world.client()

    async def begin(self) -> None:
        reply = await self.client.post("/v1/threads/t1/runs", json=RUN)
        assert reply.status_code == 202, reply.text

    async def say(self, *events: JsonObject) -> None:
        thread = await self.world.runner.get(*KEY)
        await self.world.backend.stream.append(KEY, [StreamItem(event) for event in events], fence=thread.fence)
        await self.world.backend.notifier.publish(f"stream/{KEY.tenant}/{KEY.id}")

    async def say_half(self) -> None:
        await until(self._has_begun)
        await self.say(
            {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": HALF},
        )

    async def take_over(self, *, ends_first: bool = False) -> None:
        taken_back: JsonObject = {"type": "CUSTOM", "name": SUPERSEDED, "value": {"messageId": "m"}}
        end: JsonObject = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
        await self.say(
            *([end, taken_back] if ends_first else [taken_back, end]),
            {"type": "TEXT_MESSAGE_START", "messageId": "m~1", "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m~1", "delta": WHOLE},
            {"type": "TEXT_MESSAGE_END", "messageId": "m~1"},
        )

    def end(self) -> None:
        self._may_end.set()

    async def _has_begun(self) -> bool:
        return bool(await self.world.backend.stream.read(KEY))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage() as stage:
        yield stage


@asynccontextmanager
async def open_stage() -> AsyncIterator[Stage]:
    """Open a server whose agent `talk` waits."""
    may_end = asyncio.Event()

    async def wait(state: MessagesState) -> dict[str, Any]:
        await asyncio.wait_for(may_end.wait(), LIMIT)
        return {}

    graph = StateGraph(MessagesState)
    graph.add_node("wait", wait)
    graph.add_edge(START, "wait")
    agent = Agent("talk", graph.compile(), input_schema=MESSAGES, output=lambda _: {})
    async with open_world("memory://", serves=True, more_agents=[agent], extensions=[LANGGRAPH]) as world:
        yield Stage(world, may_end)


async def passed(events: AsyncIterator[Any], is_this: Callable[[Any], bool]) -> list[Any]:
    """Return the events up to one, or all if that never comes."""
    found: list[Any] = []
    async for event in events:
        found.append(event)
        if is_this(event):
            break
    return found


def texts(events: list[Any]) -> list[str]:
    """Return the words in the events of any of the protocols."""
    return [event["delta"] for event in events if event.get("delta")]


def has(text: str) -> Callable[[Any], bool]:
    return lambda event: bool(event.get("delta") == text)


ORDERS = pytest.mark.parametrize("ends_first", [False, True], ids=["half", "whole"])


@ORDERS
async def test_the_ai_sdk_is_told_which_text_to_leave_out(stage: Stage, ends_first: bool) -> None:
    async with aclosing(stream(stage.client, ui("hello", "m1"))) as parts:
        await passed(parts, lambda part: part["type"] == "start")
        await stage.say_half()
        begun, delta = await passed(parts, has(HALF))
        assert begun["providerMetadata"] == {"ringi": {"messageId": "m"}}
        assert delta == {"type": "text-delta", "id": "m", "delta": HALF}
        await stage.take_over(ends_first=ends_first)
        rest = await passed(parts, has(WHOLE))
        taken_back = {"type": "data-ringi-superseded", "id": "m", "data": {"messageId": "m"}}
        ended = {"type": "text-end", "id": "m"}
        assert rest[:2] == ([ended, taken_back] if ends_first else [taken_back, ended])
        assert [part["type"] for part in rest[2:]] == ["text-start", "text-delta"]
        stage.end()
        assert (await passed(parts, lambda part: False))[-1]["type"] == "finish"


@pytest.mark.parametrize("between", [0, 2 * PAGE])
async def test_nobody_who_comes_later_is_shown_the_fragment(stage: Stage, between: int) -> None:
    await stage.begin()
    await stage.say_half()
    await stage.say(*({"type": "CUSTOM", "name": "progress", "value": n} for n in range(between)))
    await stage.take_over()
    for late in (stream_again(stage), stream(stage.client, CONNECT)):
        async with aclosing(late) as parts:
            seen = await passed(parts, has(WHOLE))
            assert texts(seen) == [WHOLE]
            assert "superseded" not in str(seen)
    stage.end()
    await until(lambda: is_done(stage))
    run = (await stage.client.get("/v1/chat/t1")).json()["runs"][-1]
    assert texts(run["parts"]) == [WHOLE]
    assert "superseded" not in str(run)
    (snapshot,) = [each for each in await told_to(stage, CONNECT) if each["type"] == "MESSAGES_SNAPSHOT"]
    assert [message["content"] for message in snapshot["messages"]] == ["hello", WHOLE]
    state = (await stage.client.get("/langgraph/threads/t1/state")).json()
    assert [message["content"] for message in state["values"]["messages"]] == ["hello", WHOLE]


async def stream_again(stage: Stage) -> AsyncGenerator[Any, None]:
    async with listening(stage.client, "/v1/chat/t1/stream") as parts:
        while True:
            yield (await parts.next()).data


async def told_to(stage: Stage, turn: tuple[str, JsonObject]) -> list[Any]:
    return [event async for event in stream(stage.client, turn)]


async def is_done(stage: Stage) -> bool:
    return (await stage.world.runner.get(*KEY)).status == "done"


@ORDERS
async def test_ag_ui_is_sent_the_messages_without_the_fragment(stage: Stage, ends_first: bool) -> None:
    async with aclosing(stream(stage.client, ag_ui("hello", "m1"))) as events:
        await passed(events, lambda event: event["type"] == "RUN_STARTED")
        await stage.say_half()
        await passed(events, has(HALF))
        await stage.take_over(ends_first=ends_first)
        rest = await passed(events, has(WHOLE))
        types = ["TEXT_MESSAGE_END", "CUSTOM"] if ends_first else ["CUSTOM", "TEXT_MESSAGE_END"]
        types += ["MESSAGES_SNAPSHOT", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
        assert [event["type"] for event in rest] == types
        assert rest[2]["messages"] == [{"id": "m1", "role": "user", "content": "hello"}]
        stage.end()
        assert (await passed(events, lambda event: False))[-1]["type"] == "RUN_FINISHED"


@ORDERS
async def test_langgraphs_values_lose_the_fragment(stage: Stage, ends_first: bool) -> None:
    path, body = LANGGRAPH_RUN
    await stage.client.post("/langgraph/threads", json={"thread_id": "t1"})
    run_input = {"messages": [{"type": "human", "id": "m1", "content": "hello"}]}
    async with aclosing(stream(stage.client, (path, {**body, "input": run_input}))) as values:
        await passed(values, lambda value: "messages" in value)
        await stage.say_half()
        await stage.say({"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "look"})
        await stage.say({"type": "TOOL_CALL_END", "toolCallId": "c1"})
        assert HALF in str((await anext(values))["messages"])
        await stage.take_over(ends_first=ends_first)
        rest = await passed(values, lambda value: HALF not in str(value["messages"]))
        assert WHOLE not in str(rest)
        stage.end()
        last = (await passed(values, lambda value: False))[-1]
        assert [message["content"] for message in last["messages"] if message["content"]] == ["hello", WHOLE]


async def test_the_stream_itself_keeps_all_and_names_what_is_superseded(stage: Stage) -> None:
    await stage.begin()
    await stage.say_half()
    await stage.take_over()
    async with listening(stage.client, "/v1/threads/t1/stream") as events:
        items = [(await events.next()).data for _ in range(8)]
    assert texts(items) == [HALF, WHOLE]
    assert [event["value"] for event in items if event["type"] == "CUSTOM"] == [{"messageId": "m"}]
    stage.end()
