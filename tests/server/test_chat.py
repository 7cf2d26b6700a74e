"""Chats over HTTP, where a stock client would be misled or left waiting."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path
from typing import Any, TypedDict

import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from tests.server.world import LIMIT, World, listening, open_world, until

from ringi import ask
from ringi.demo.chat import MESSAGES, refund
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

REFUND = {"order": 1182, "amount": 40}
JsonObject = dict[str, Any]


def ui(text: str, id: str, thread: str = "t1") -> tuple[str, JsonObject]:
    message = {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}
    return "/v1/chat", {"id": thread, "messages": [message], "agent": "talk"}


def ag_ui(text: str, id: str, **more: Any) -> tuple[str, JsonObject]:
    messages = [{"id": id, "role": "user", "content": text}]
    rest: JsonObject = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return "/agui/talk", {"threadId": "t1", "runId": "mine", "messages": messages, **rest, **more}


async def stream(client: httpx.AsyncClient, turn: tuple[str, JsonObject]) -> AsyncGenerator[Any, None]:
    """Yield what a turn brings, until the stream ends."""
    async with asyncio.timeout(LIMIT), client.stream("POST", turn[0], json=turn[1]) as response:
        assert response.status_code == 200, await response.aread()
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield json.loads(line[6:])


async def run_turn(client: httpx.AsyncClient, turn: tuple[str, JsonObject]) -> list[Any]:
    return [each async for each in stream(client, turn)]


async def resumed(client: httpx.AsyncClient, *entries: JsonObject) -> tuple[list[str], list[str]]:
    """Return the types of the events, and what is open at their end."""
    events = await run_turn(client, ag_ui("", "", resume=[{"status": "resolved", **entry} for entry in entries]))
    outcome = events[-1].get("outcome") or {}
    return [event["type"] for event in events], [each["id"] for each in outcome.get("interrupts", ())]


async def pending(world: World) -> list[Request]:
    found: list[Request] = []

    async def holds() -> bool:
        found[:] = await world.backend.store.find(Request, Query(statuses=("pending",)))
        return bool(found)

    await until(holds)
    return found


class News(TypedDict, total=False):
    news: str


def talker(heard: list[list[tuple[str | None, str]]]) -> Agent:
    """Return an agent that notes the conversation as it sees it."""

    def script(messages: list[BaseMessage]) -> str:
        heard.append([(message.id, message.text) for message in messages])
        return f"answer {len(messages)}"

    return Agent("talk", create_agent(ScriptedModel(script=script)), input_schema=MESSAGES)


@pytest.mark.parametrize("turn", [ui, ag_ui], ids=["ai-sdk", "ag-ui"])
async def test_words_under_the_id_of_an_older_message_are_put_in_the_place_of_none(live: World, turn: Any) -> None:
    heard: list[list[tuple[str | None, str]]] = []
    live.runner.agents = {**live.runner.agents, "talk": talker(heard)}
    client = live.client()
    for text, id in (("first", "m1"), ("second", "m2")):
        await run_turn(client, turn(text, id))
    before = heard[-1]
    for text, id in (("I never said that", str(before[1][0])), ("nor that", str(before[0][0])), ("nor that", "m1")):
        await run_turn(client, turn(text, id))
        assert heard[-1][: len(before)] == before
        assert heard[-1][-1][1] == text


@pytest.mark.parametrize("turn", [ui, ag_ui], ids=["ai-sdk", "ag-ui"])
async def test_a_message_that_is_sent_again_is_said_once_and_told_under_its_id(live: World, turn: Any) -> None:
    heard: list[list[tuple[str | None, str]]] = []
    live.runner.agents = {**live.runner.agents, "talk": talker(heard)}
    first, second = [await run_turn(live.client(), turn("hello", "m1")) for _ in range(2)]
    assert (first, len(heard)) == (second, 1)
    (run,) = (await live.client().get("/v1/chat/t1")).json()["runs"]
    assert [message["id"] for message in run["messages"]] == ["m1"]


async def test_words_wait_for_a_run_that_answers_nobody(live: World) -> None:
    heard: list[list[tuple[str | None, str]]] = []
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def hold(state: Any) -> Any:
        begun.set()
        await may_end.wait()

    held = StateGraph(News).add_node("hold", hold).add_edge(START, "hold").compile()
    live.runner.agents = {**live.runner.agents, "talk": talker(heard), "held": Agent("held", held)}
    await live.runner.start("default", "t1", "held", {"news": "a step is done"}, by="thread:t2")
    await begun.wait()
    turn = asyncio.create_task(run_turn(live.client(), ui("hello", "m1")))
    refused = await live.client().post("/v1/threads/t1/runs", json={"agent": "held", "input": {}})
    assert (refused.status_code, turn.done(), heard) == (409, False, [])
    may_end.set()
    assert (await turn)[-1]["type"] == "finish"
    assert heard[-1][-1] == (heard[-1][-1][0], "hello")


@tool
def check() -> str:
    """Ask somebody else."""
    return ask("Is that all right?", assignee="carl").status


async def test_after_a_question_to_others_an_approval_is_for_the_client_again(live: World) -> None:
    calls = [("check", {}), ("refund", REFUND)]

    def script(messages: list[BaseMessage]) -> AIMessage:
        name, args = calls[sum(message.type == "tool" for message in messages)]
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c-{name}"}])

    graph = create_agent(ScriptedModel(script=script), [check, refund])
    live.runner.agents = {**live.runner.agents, "talk": Agent("talk", graph, input_schema=MESSAGES)}
    begun = {"agent": "talk", "input": {"messages": [{"role": "user", "content": "go"}]}}
    await live.client("agent", "bot").post("/v1/threads/t1/runs", json=begun)
    (asked,) = await pending(live)
    answer = {"decision": "respond", "message": "yes", "digest": asked.digest}
    async with listening(live.client(), "/v1/chat/t1/stream") as stream:
        parts = [(await stream.next()).data]
        while parts[-1]["type"] != "finish":
            parts.append((await stream.next()).data)
            if parts[-1].get("data", {}).get("hidden"):
                reply = await live.client("person", "carl").post(f"/v1/requests/{asked.id}/respond", json=answer)
                assert reply.status_code == 200, reply.text
    assert [part["data"].get("hidden") for part in parts if part["type"] == "data-ringi-request"] == [True, None]
    assert parts[-1]["finishReason"] == "tool-calls"


def both() -> Agent:
    """Return an agent that asks the reader for an approval, and somebody else something, at once."""

    def script(messages: list[BaseMessage]) -> Any:
        if messages[-1].type == "tool":
            return "done"
        calls = [("check", {}), ("refund", REFUND)]
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c-{name}"} for name, args in calls])

    return Agent("talk", create_agent(ScriptedModel(script=script), [check, refund]), input_schema=MESSAGES)


OTHERS = {"en": "Another person", "ja-JP,en;q=0.5": "ほかの人", "zh-CN": "其他人"}


@pytest.mark.parametrize("language", OTHERS)
async def test_a_turn_ends_where_a_client_gives_its_approval_though_others_are_asked(
    live: World, language: str
) -> None:
    live.runner.agents = {**live.runner.agents, "talk": both()}
    client = live.client()
    client.headers["accept-language"] = language
    parts = await run_turn(client, ui("go", "m1"))
    assert (parts[-1]["type"], parts[-1]["finishReason"]) == ("finish", "tool-calls")
    assert [OTHERS[language] in part["delta"] for part in parts if part["type"] == "text-delta"] == [True]
    requests = [part["data"] for part in parts if part["type"] == "data-ringi-request"]
    assert sorted(str(each.get("hidden")) for each in requests) in (["None", "True"], ["None", "None"])


async def test_what_others_are_asked_is_not_told_to_an_ag_ui_client_and_does_not_hold_it(live: World) -> None:
    live.runner.agents = {**live.runner.agents, "talk": both()}
    begun = {"agent": "talk", "input": {"messages": [{"role": "user", "content": "go", "id": "m1~" + "0" * 32}]}}
    await live.client("agent", "bot").post("/v1/threads/t1/runs", json=begun)
    client = live.client()
    pause = (await run_turn(client, ag_ui("go", "m1")))[-1]
    mine, other = sorted(pause["outcome"]["interrupts"], key=lambda each: "metadata" not in each)
    assert set(other) == {"id", "reason", "message"}
    assert "Another person" in other["message"]
    yes = {"payload": {"approved": True}, "metadata": {"digest": mine["metadata"]["digest"]}}
    types, left = await resumed(client, {"interruptId": mine["id"], **yes}, {"interruptId": other["id"]})
    assert (types[-1], left) == ("RUN_FINISHED", [other["id"]])
    assert await resumed(client, {"interruptId": other["id"]}) == (["RUN_STARTED", "RUN_FINISHED"], [other["id"]])
    answered = await run_turn(client, ag_ui("", "", resume=[{"interruptId": other["id"], "status": "resolved", **yes}]))
    assert (answered[-1]["type"], answered[-1]["code"]) == ("RUN_ERROR", "not_found")


async def test_a_batch_with_a_call_that_cannot_be_read_ends_the_turn(tmp_path: Path) -> None:
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", serves=True) as world:
        world.runner.agents = {**world.runner.agents, "talk": payer()}
        client = world.client()
        pause = (await run_turn(client, ag_ui("go", "m1")))[-1]
        first, second = pause["outcome"]["interrupts"]
        with closing(sqlite3.connect(tmp_path / "ringi.db")) as file:
            unread = """UPDATE requests SET body = replace(body, '"kind":"', '"kind":"newer-') WHERE id = ?"""
            file.execute(unread, [second["id"]])
            file.commit()
        yes = {"payload": {"approved": True}, "metadata": {"digest": first["metadata"]["digest"]}}
        types, left = await resumed(client, {"interruptId": first["id"], **yes}, {"interruptId": second["id"]})
        assert (types, left) == (["RUN_STARTED", "RUN_FINISHED"], [second["id"]])


def payer() -> Agent:
    """Return an agent that pays twice, of which one batch of LangChain's asks."""

    def script(messages: list[BaseMessage]) -> Any:
        if messages[-1].type == "tool":
            return "done"
        return AIMessage("", tool_calls=[{"name": "pay", "args": {"amount": n}, "id": f"c{n}"} for n in (1, 2)])

    @tool
    def pay(amount: int) -> str:
        """Pay somebody."""
        return f"paid {amount}"

    graph = create_agent(
        ScriptedModel(script=script), [pay], middleware=[HumanInTheLoopMiddleware(interrupt_on={"pay": True})]
    )
    return Agent("talk", graph, input_schema=MESSAGES)


async def test_a_client_that_answers_a_part_of_an_interrupt_is_told_what_is_still_open(live: World) -> None:
    live.runner.agents = {**live.runner.agents, "talk": payer()}
    client = live.client()
    pause = (await run_turn(client, ag_ui("go", "m1")))[-1]
    first, second = [each["id"] for each in pause["outcome"]["interrupts"]]
    again = ["RUN_STARTED", "RUN_FINISHED"]
    assert await resumed(client, {"interruptId": first}) == (again, [first, second])
    yes = {"payload": {"approved": True}}
    for _ in range(2):
        assert await resumed(client, {"interruptId": first, **yes}, {"interruptId": second}) == (again, [second])
    types, left = await resumed(client, {"interruptId": second, **yes})
    assert (types.count("TOOL_CALL_RESULT"), types[-1], left) == (2, "RUN_FINISHED", [])


async def test_a_resume_that_names_nothing_that_was_asked_is_told_so_and_no_run_again(live: World) -> None:
    live.runner.agents = {**live.runner.agents, "talk": payer()}
    client = live.client()
    pause = (await run_turn(client, ag_ui("go", "m1")))[-1]
    assert await resumed(client, {"interruptId": "no-such-id"}) == (["RUN_ERROR"], [])
    first, second = [each["id"] for each in pause["outcome"]["interrupts"]]
    again = ["RUN_STARTED", "RUN_FINISHED"]
    assert await resumed(client, {"interruptId": "no-such-id"}, {"interruptId": first}) == (again, [first, second])


async def test_a_request_that_this_version_cannot_read_silences_nobody(tmp_path: Path) -> None:
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", serves=True) as world:
        world.runner.agents = {**world.runner.agents, "talk": world.runner.agents["chat"]}
        client = world.client()
        (asked,) = [i["id"] for i in (await run_turn(client, ag_ui("ask me", "m1")))[-1]["outcome"]["interrupts"]]
        with closing(sqlite3.connect(tmp_path / "ringi.db")) as file:
            file.execute("""UPDATE requests SET body = replace(body, '"kind":"', '"kind":"newer-')""")
            file.commit()
        hidden = {"id": asked, "thread_id": "t1", "hidden": True}
        assert (await run_turn(client, ag_ui("ask me", "m1")))[-1]["type"] == "RUN_FINISHED"
        (run,) = (await client.get("/v1/chat/t1")).json()["runs"]
        assert hidden in [part.get("data") for part in run["parts"]]
        async with listening(client, "/v1/chat/t1/stream") as parts:
            while (await parts.next()).data.get("data") != hidden:
                pass
        async with listening(client, "/v1/threads/t1/stream") as events:
            while (await events.next()).data["type"] != "RUN_FINISHED":
                pass


async def test_who_names_no_agent_talks_with_that_called_chat(live: World) -> None:
    live.runner.agents = {**live.runner.agents, "talk": talker([])}
    path, turn = ui("hello", "m1")
    parts = await run_turn(live.client(), (path, {name: value for name, value in turn.items() if name != "agent"}))
    assert parts[-1]["type"] == "finish"
    assert (await live.runner.get("default", "t1")).agent == "chat"
