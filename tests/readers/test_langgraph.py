"""LangGraph's own SDK, as Agent Inbox and agent-chat-ui call it, against a server in this process."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.readers.node import Reader, reading
from tests.server.world import World, open_world, until

from ringi.protocols.langgraph_api.routes import EXTENSION

State = dict[str, Any]
REFUND = {"order": 1182, "amount": 40}
REFUND_CALL = {"action": "refund", "args": REFUND}


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A server on a port, with the sample agents."""
    async with open_world("memory://", serves=True, extensions=[EXTENSION]) as world:
        yield world


def tool(world: World, folder: Path, role: str = "person", name: str = "ann") -> AbstractAsyncContextManager[Reader]:
    return reading("langgraph.mjs", folder, url=world.url, token=world.token(role, name))


async def call(sdk: Reader, *command: Any) -> Any:
    await sdk.do("call", *command)
    line = await sdk.until(lambda state: state.get("did") == "call")
    assert "failed" not in line, line
    return line["result"]


async def refused(sdk: Reader, *command: Any) -> State:
    await sdk.do("call", *command)
    line = await sdk.until(lambda state: state.get("did") == "call")
    problem: State = json.loads(line["failed"]["text"])
    assert problem["status"] == line["failed"]["status"]
    return problem


async def stream(sdk: Reader, *arguments: Any) -> list[State]:
    begin = len(sdk.lines)
    await sdk.do("stream", *arguments)
    line = await sdk.until(lambda state: state.get("did") == "stream")
    assert line.get("ended"), line
    return [state["chunk"] for state in sdk.lines[begin:] if "chunk" in state]


async def waiting(world: World, thread: str, agent: str = "refund", input: State | None = None) -> State:
    """Start an agent and return its open request."""
    await world.runner.start("default", thread, agent, REFUND if input is None else input, by="agent:bot")
    return await asked(world, thread)


async def asked(world: World, thread: str) -> State:
    client = world.client("admin", "root")

    async def waits() -> bool:
        found = (await client.get(f"/v1/threads/{thread}")).json()
        return found["status"] == "interrupted" and bool(found["pending"])

    await until(waits)
    found: State = (await client.get(f"/v1/threads/{thread}")).json()["pending"][0]
    return found


async def request(world: World, id: str) -> State:
    found: State = (await world.client("admin", "root").get(f"/v1/requests/{id}")).json()
    return found


SEARCH = {"metadata": {"graph_id": "refund"}, "limit": 10, "offset": 0, "status": "interrupted"}


@pytest.mark.parametrize(
    ("answer", "decision", "outcome"),
    [
        ({"type": "accept", "args": None}, "approve", "refunded 40"),
        ({"type": "accept", "args": REFUND_CALL}, "approve", "refunded 40"),
        # Agent Inbox sends what was edited as text, and the rest as it was.
        (
            {"type": "edit", "args": {"action": "refund", "args": {"order": 1182, "amount": "15"}}},
            "edit",
            "refunded 15",
        ),
        ({"type": "ignore", "args": None}, "reject", "rejected: no reason given"),
        ({"type": "response", "args": "too late"}, "reject", "rejected: too late"),
    ],
    ids=["accept", "accept-with-args", "edit", "ignore", "response"],
)
async def test_agent_inbox_shows_and_answers_a_call(
    world: World, tmp_path: Path, answer: State, decision: str, outcome: str
) -> None:
    open_request = await waiting(world, "t1")
    async with tool(world, tmp_path) as inbox:
        (thread,) = await call(inbox, "threads", "search", SEARCH)
        assert (thread["thread_id"], thread["status"], thread["metadata"]["graph_id"]) == (
            "t1",
            "interrupted",
            "refund",
        )
        ((interrupt,),) = thread["interrupts"].values()
        assert interrupt["value"]["action_request"] == REFUND_CALL
        assert interrupt["value"]["config"] == dict.fromkeys(
            ("allow_accept", "allow_edit", "allow_ignore", "allow_respond"), True
        )
        assert "Refund 40 for order 1182?" in interrupt["value"]["description"]
        chunks = await stream(inbox, "t1", "refund", {"command": {"resume": [answer]}, "streamMode": "events"})
        assert (chunks[0]["event"], chunks[1]["data"]["event"]) == ("metadata", "on_chain_start")
        assert not [chunk for chunk in chunks if chunk["event"] == "error"]
        after = await call(inbox, "threads", "get", "t1")
        assert (after["status"], after["interrupts"], after["values"]["outcome"]) == ("idle", {}, outcome)
    response = (await request(world, open_request["id"]))["response"]
    assert (response["decision"], response["responder"], response["channel"]) == (decision, "ann", "langgraph")


async def test_every_request_is_a_thread_of_its_own_and_is_answered_by_its_id(world: World, tmp_path: Path) -> None:
    form = {
        "fields": [
            {"type": "number", "name": "age", "required": True},
            {"type": "select", "name": "sport", "options": [{"value": "run"}]},
        ]
    }
    filled = await world.asked(id="form", form=form, kind="form")
    words = await world.asked(id="words", description="Why?")
    async with tool(world, tmp_path) as inbox:
        threads = await call(inbox, "threads", "search", {"metadata": {"graph_id": "ringi"}, "status": "interrupted"})
        assert [thread["thread_id"] for thread in threads] == ["request:words", "request:form"]
        config = threads[0]["interrupts"][words.id][0]["value"]["config"]
        assert config == {"allow_accept": False, "allow_edit": False, "allow_ignore": True, "allow_respond": True}
        value = threads[1]["interrupts"][filled.id][0]["value"]
        assert (value["action_request"]["args"], value["config"]["allow_accept"]) == ({"age": "", "sport": ""}, False)
        edit = {"type": "edit", "args": {"action": "Go?", "args": {"age": "41", "sport": "run"}}}
        await call(inbox, "runs", "create", "request:form", "ringi", {"command": {"resume": [edit]}})
        answer = [{"type": "response", "args": "because"}]
        chunks = await stream(inbox, "request:words", "ringi", {"command": {"resume": answer}, "streamMode": "events"})
        assert [chunk["event"] for chunk in chunks] == ["metadata", "values"]
        assert (
            await call(inbox, "threads", "search", {"metadata": {"graph_id": "ringi"}, "status": "interrupted"}) == []
        )
    assert (await request(world, "form"))["response"]["data"] == {"age": 41, "sport": "run"}
    assert (await request(world, "words"))["response"]["message"] == "because"


async def test_a_thread_that_is_marked_as_resolved_is_rejected(world: World, tmp_path: Path) -> None:
    open_request = await waiting(world, "t1")
    async with tool(world, tmp_path) as inbox:
        await call(inbox, "threads", "search", SEARCH)
        await call(inbox, "threads", "updateState", "t1", {"values": None, "asNode": "__end__"})
        for unknown in ({"values": None, "asNode": "pay"}, {"values": {"outcome": "refunded 40"}, "asNode": "__end__"}):
            assert (await refused(inbox, "threads", "updateState", "t1", unknown))["code"] == "invalid"
    response = (await request(world, open_request["id"]))["response"]
    assert (response["decision"], response["message"]) == ("reject", "marked as resolved")


async def test_agent_chat_ui_begins_a_conversation_and_decides_in_it(world: World, tmp_path: Path) -> None:
    words = {"id": "m1", "type": "human", "content": [{"type": "text", "text": "refund 40 for order 1182"}]}
    modes = ["values", "messages-tuple"]
    async with tool(world, tmp_path) as chat:
        created = await call(chat, "threads", "create", {"metadata": {}})
        id = created["thread_id"]
        begun = await stream(chat, id, "chat", {"input": {"messages": [words]}, "streamMode": modes})
        last = begun[-1]["data"]
        assert [message["type"] for message in last["messages"]] == ["human", "ai", "ai"]
        assert "messages" in {chunk["event"] for chunk in begun}
        (interrupt,) = last["__interrupt__"]
        assert interrupt["value"]["action_requests"][0]["args"] == REFUND
        assert interrupt["value"]["review_configs"][0]["allowed_decisions"] == ["approve", "edit", "reject"]
        (state,) = await call(chat, "threads", "getHistory", id)
        assert state["tasks"][0]["interrupts"][0]["value"] == interrupt["value"]
        assert state["values"]["messages"] == last["messages"]
        answer = {"input": {}, "command": {"resume": {"decisions": [{"type": "approve"}]}}}
        ended = await stream(chat, id, "chat", {**answer, "checkpoint": state["checkpoint"], "streamMode": modes})
        assert [message["type"] for message in ended[-1]["data"]["messages"]] == ["human", "ai", "ai", "tool", "ai"]
        assert "refunded 40" in ended[-1]["data"]["messages"][-1]["content"]
        (state,) = await call(chat, "threads", "getHistory", id)
        assert (state["next"], state["tasks"]) == ([], [])
        assert state["values"]["messages"] == ended[-1]["data"]["messages"]
        (thread,) = await call(chat, "threads", "search", {"metadata": {"graph_id": "chat"}, "limit": 100})
        assert thread["values"]["messages"][0]["content"] == "refund 40 for order 1182"


async def test_questions_of_one_pause_come_one_after_another(world: World, tmp_path: Path) -> None:
    await waiting(world, "t2", "two_questions", {})
    async with tool(world, tmp_path) as inbox:
        first = (await call(inbox, "threads", "get", "t2"))["interrupts"]
        assert len(first) == 1
        answer = {"command": {"resume": [{"type": "response", "args": "blue"}]}, "streamMode": "values"}
        chunks = await stream(inbox, "t2", "two_questions", answer)
        second = (await call(inbox, "threads", "get", "t2"))["interrupts"]
        assert set(second).isdisjoint(first)
        assert [asked["id"] for asked in chunks[-1]["data"]["__interrupt__"]] == list(second)
        await stream(inbox, "t2", "two_questions", {"command": {"resume": [{"type": "response", "args": "Tokyo"}]}})
        after = await call(inbox, "threads", "get", "t2")
    assert set(after["values"]["answers"].values()) == {"blue", "Tokyo"}


async def test_the_assistants_are_the_agents_and_one_for_all_requests(world: World, tmp_path: Path) -> None:
    async with tool(world, tmp_path) as sdk:
        found = await call(sdk, "assistants", "search", {"limit": 100})
        assert {"ringi", "refund", "chat"} <= {each["graph_id"] for each in found}
        (refund,) = [each for each in found if each["graph_id"] == "refund"]
        assert await call(sdk, "assistants", "get", refund["assistant_id"]) == await call(
            sdk, "assistants", "get", "refund"
        )
        await waiting(world, "t1")
        by_id = {"metadata": {"assistant_id": refund["assistant_id"]}}
        assert [each["thread_id"] for each in await call(sdk, "threads", "search", by_id)] == ["t1"]


async def test_info_needs_no_key_and_all_else_does(world: World) -> None:
    async with httpx.AsyncClient(base_url=f"{world.url}/langgraph", trust_env=False) as stranger:
        assert (await stranger.get("/info")).json()["flags"]["assistants"] is True
        for path in ("/threads/search", "/assistants/search", "/threads", "/threads/t/runs", "/threads/t/runs/stream"):
            assert (await stranger.post(path, json={})).status_code == 401, path
        for path in ("/threads/t", "/threads/t/state", "/assistants/refund"):
            assert (await stranger.get(path, headers={"x-api-key": "forged"})).status_code == 401, path
