"""Graphs that were not made for Ringi, over HTTP: their answers, their failures, and what they show."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from tests.runs.test_interrupt_formats import State
from tests.server.world import World, open_world, until

from ringi.runs.agent import Agent

SECRET_PATH = str(Path(__file__).parent)


def named(state: State) -> State:
    """Take words only."""
    return {"log": [interrupt({"question": "Your name?", "draft": "Ann"}).upper()]}


def wordless(state: State) -> State:
    """Fail in no words."""
    raise NotImplementedError


def speak(state: MessagesState) -> dict[str, Any]:
    """Say two things and call a tool between them."""
    call = AIMessage("Let me look.", tool_calls=[{"name": "look", "args": {}, "id": "c1"}])
    return {"messages": [call, ToolMessage("found", tool_call_id="c1"), AIMessage([{"type": "text", "text": "Done."}])]}


def odd(state: State) -> State:
    """Leave what JSON has no word for."""
    return {"log": [2**60, float("nan"), {1, 2}, "a\ud800"]}


def big(state: State) -> State:
    """Leave more than anybody reads."""
    return {"log": ["x" * 70_000]}


@entrypoint()
async def doubled(input: int) -> int:
    """Return a number."""
    return input * 2


def graph_of(step: Any, state: Any = State) -> Any:
    return StateGraph(state).add_node("step", step).add_edge(START, "step").compile()


def agents() -> list[Agent]:
    return [
        Agent("named", graph_of(named)),
        Agent("wordless", graph_of(wordless)),
        Agent("speak", graph_of(speak, MessagesState)),
        Agent("odd", graph_of(odd)),
        Agent("big", graph_of(big)),
        Agent("doubled", doubled, input=lambda input: input["n"]),
    ]


@pytest.fixture
async def graphs(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(f"sqlite:///{tmp_path / 'ringi.db'}", more_agents=agents()) as world:
        yield world


async def run(world: World, agent: str, input: dict[str, Any], id: str = "t1") -> dict[str, Any]:
    """Run an agent until it rests, and return its thread as a person sees it."""
    assert (
        await world.client().post(f"/v1/threads/{id}/runs", json={"agent": agent, "input": input})
    ).status_code == 202
    return await rested(world, id)


async def rested(world: World, id: str = "t1") -> dict[str, Any]:
    async def is_at_rest() -> bool:
        return (await world.runner.get("default", id)).status != "running"

    await until(is_at_rest)
    return dict((await world.client().get(f"/v1/threads/{id}")).json())


async def answer(world: World, request: dict[str, Any], **body: Any) -> dict[str, Any]:
    reply = await world.client().post(
        f"/v1/requests/{request['id']}/respond", json={"digest": request["digest"], **body}
    )
    assert reply.status_code == 200, reply.text

    async def is_taken_up() -> bool:
        return bool((await world.inbox.get(request["id"])).acknowledged_at)

    await until(is_taken_up)
    return await rested(world)


async def test_an_answer_that_the_code_cannot_take_is_asked_again_by_an_admin(graphs: World) -> None:
    (first,) = (await run(graphs, "named", {}))["pending"]
    assert first["title"] == "Your name?"
    assert first["answer_schema"] == {}
    assert {name: each["value"] for name, each in first["actions"].items()} == {"approve": True, "reject": False}
    failed = await answer(graphs, first, decision="approve")
    assert (failed["status"], failed["can_ask_again"], failed["pending"]) == ("error", True, [])
    assert "AttributeError: 'bool' object has no attribute 'upper'" in failed["error"]
    assert "Ask again" in failed["attention"]
    (trouble,) = (await graphs.client("admin", "root").get("/v1/operations")).json()["items"]
    assert (trouble["can_ask_again"], trouble["can_retry"]) == (True, True)
    for client in (graphs.client(), graphs.client("agent", "bot")):
        assert (await client.post("/v1/threads/t1/ask-again", json={})).status_code == 403
    admin = graphs.client("admin", "root")
    again = await admin.post("/v1/threads/t1/ask-again", json={"reason": "a slip"})
    assert (again.status_code, again.json()["status"]) == (200, "running")
    (second,) = (await rested(graphs))["pending"]
    assert second["id"] != first["id"]
    done = await answer(graphs, second, decision="respond", data={"answer": "ann"})
    assert (done["status"], done["values"], done["can_ask_again"]) == ("done", {"log": ["ANN"]}, False)
    assert (await admin.post("/v1/threads/t1/ask-again", json={})).json()["status"] == "done"


async def test_asking_again_what_nobody_answered_is_a_conflict(graphs: World) -> None:
    assert (await run(graphs, "wordless", {}))["can_ask_again"] is False
    refused = await graphs.client("admin", "root").post("/v1/threads/t1/ask-again", json={})
    assert (refused.status_code, "retry it" in refused.json()["detail"]) == (409, True)


async def test_a_failure_without_words_keeps_its_traceback_for_admins_only(graphs: World) -> None:
    thread = await run(graphs, "wordless", {})
    assert thread["error"].startswith("NotImplementedError: no message")
    admin = graphs.client("admin", "root")
    whole = (await admin.get("/v1/threads/t1")).json()["traceback"]
    assert "in wordless\n    raise NotImplementedError" in whole
    assert len(whole) <= 16_010
    agent = graphs.client("agent", "bot")
    places = ("/v1/threads/t1", "/v1/threads", "/v1/operations", "/v1/audit")
    for client in (graphs.client(), agent):
        for place in places:
            assert SECRET_PATH not in (await client.get(place)).text
    items = await graphs.backend.stream.read((await graphs.runner.get("default", "t1")).key, 0)
    assert SECRET_PATH not in str([item.event for item in items])


async def test_a_long_traceback_keeps_its_beginning_and_its_end(graphs: World) -> None:
    from ringi.runs.run import run_failure_of_error

    failure = run_failure_of_error(ValueError("x" * 50_000))
    assert failure.traceback
    assert len(failure.traceback) < 16_010
    assert failure.traceback.startswith("ValueError: x")


@pytest.mark.parametrize(
    ("agent", "input", "values"),
    [
        ("doubled", {"n": 21}, {"output": 42}),
        ("odd", {}, {"log": ["1152921504606846976", None, [1, 2], "a?"]}),
        ("big", {}, {"omitted": "more than 64000 characters: select a part with output="}),
    ],
)
async def test_without_values_a_thread_shows_its_output(
    graphs: World, agent: str, input: dict[str, Any], values: dict[str, Any]
) -> None:
    thread = await run(graphs, agent, input)
    assert (thread["status"], thread["values"]) == ("done", values)


async def test_without_values_a_thread_shows_what_was_said_since_the_person_spoke(graphs: World) -> None:
    messages = [
        {"role": "assistant", "content": "Let me look."},
        {"role": "tool", "content": "found"},
        {"role": "assistant", "content": "Done."},
    ]
    for _ in range(2):
        thread = await run(graphs, "speak", {"messages": [{"role": "user", "content": "Look!"}]})
        assert (thread["status"], thread["values"]) == ("done", {"messages": messages})


def test_a_graph_with_an_output_of_its_own_shows_only_that() -> None:
    from ringi.runtimes.langgraph.graph_run import graph_final_values, graph_output

    state = {"a": 1, "secret": 2, "messages": [HumanMessage("hi"), AIMessage("x" * 9_000)]}
    assert graph_output(state, ["a"]) == {"a": 1}
    (message,) = graph_final_values(state)["messages"]
    assert message["content"].endswith("… (1000 more characters)")


@pytest.mark.parametrize(
    ("payload", "heard"),
    [
        (True, {"decision": "respond", "data": {"answer": True}}),
        (False, {"decision": "respond", "data": {"answer": False}}),
        ("yes", {"decision": "respond", "message": "yes"}),
        ({"message": "yes"}, {"decision": "respond", "message": "yes"}),
        ({"type": "accept"}, {"decision": "respond", "data": {"answer": {"type": "accept"}}}),
        ([1], {"decision": "respond", "data": {"answer": [1]}}),
    ],
)
def test_an_ag_ui_client_answers_with_any_json(payload: Any, heard: dict[str, Any]) -> None:
    from ringi.protocols.agui import plain_answer_from_agui

    assert plain_answer_from_agui(payload) == heard
