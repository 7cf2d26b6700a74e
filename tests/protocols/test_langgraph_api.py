"""LangGraph's API under attack: no answer but a person's, to what that very person's token was served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypedDict

import httpx
import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import UnprocessableEntityError
from tests.server.world import World, open_world, until

from ringi.protocols.langgraph_api.access import CallerAccess
from ringi.protocols.langgraph_api.routes import EXTENSION
from ringi.runs.agent import Agent

REFUND = {"order": 1182, "amount": 40}
ACCEPT = [{"type": "accept", "args": None}]
READS = ("/threads/{id}", "/threads/{id}/state")


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A server with LangGraph's API, called without a network."""
    async with open_world("memory://", extensions=[EXTENSION]) as world:
        yield world


def tool(world: World, role: str = "person", name: str = "ann", **more: Any) -> httpx.AsyncClient:
    """Return a caller with nothing but LangGraph's own header."""
    client = world.stranger(**{"x-api-key": world.token(role, name, **more)})
    client.base_url = httpx.URL("http://localhost/langgraph/")
    return client


async def waiting(world: World, thread: str = "t1") -> dict[str, Any]:
    await world.runner.start("default", thread, "refund", REFUND, by="agent:bot")
    return await asked(world, thread)


async def asked(world: World, thread: str = "t1", other_than: str = "") -> dict[str, Any]:
    client = world.client("admin", "root")

    async def found() -> Any:
        now = (await client.get(f"/v1/threads/{thread}")).json()
        waits = now["status"] == "interrupted"
        return next((each for each in now["pending"] if waits and each["id"] != other_than), None)

    async def waits() -> bool:
        return await found() is not None

    await until(waits)
    request: dict[str, Any] = await found()
    return request


async def resume(client: httpx.AsyncClient, answer: Any, thread: str = "t1", **more: Any) -> httpx.Response:
    body = {"assistant_id": "ringi" if thread.startswith("request:") else "refund", "command": {"resume": answer}}
    return await client.post(f"threads/{thread}/runs", json={**body, **more})


async def status(world: World, id: str) -> str:
    return str((await world.client("admin", "root").get(f"/v1/requests/{id}")).json()["status"])


def code(reply: httpx.Response) -> tuple[int, str]:
    return reply.status_code, reply.json().get("code", "")


async def test_an_answer_to_what_was_superseded_since_it_was_served_is_refused(world: World) -> None:
    first, inbox = await waiting(world), tool(world)
    await inbox.get("threads/t1")
    admin = world.client("admin", "root")
    await admin.post("/v1/threads/t1/cancel", json={})
    await world.runner.start("default", "t1", "refund", {**REFUND, "amount": 4000}, by="agent:bot")
    second = await asked(world, other_than=first["id"])
    reply = await resume(inbox, ACCEPT)
    assert code(reply) == (409, "final")
    assert await status(world, second["id"]) == "pending"
    await inbox.post("threads/search", json={"metadata": {"graph_id": "refund"}})
    assert (await resume(inbox, ACCEPT)).status_code == 200
    assert await status(world, second["id"]) == "completed"


async def test_a_checkpoint_of_another_pause_is_refused(world: World) -> None:
    request, chat = await waiting(world), tool(world)
    state = (await chat.get("threads/t1/state")).json()
    old = {**state["checkpoint"], "checkpoint_id": "q-older"}
    assert code(await resume(chat, {"decisions": [{"type": "approve"}]}, checkpoint=old)) == (409, "final")
    assert await status(world, request["id"]) == "pending"


async def test_nobody_answers_what_their_own_token_was_not_served(world: World) -> None:
    request = await waiting(world)
    await tool(world, name="ann").get("threads/t1")
    blind = tool(world, name="bob")
    for reply in (
        await resume(blind, ACCEPT),
        await blind.post("threads/t1/state", json={"values": None, "as_node": "__end__"}),
        await blind.post("threads/t1/runs/stream", json={"assistant_id": "refund", "command": {"resume": ACCEPT}}),
    ):
        assert code(reply) == (409, "not_served")
    assert await status(world, request["id"]) == "pending"


class State(TypedDict, total=False):
    """Nothing is kept."""

    nothing: None


ASKED = {"allow_accept": True, "allow_edit": False, "allow_ignore": True, "allow_respond": False}


async def test_the_same_answer_sent_twice_never_counts_for_the_next_question() -> None:
    accepted = list[str]()

    def step(name: str) -> Any:
        def node(_: Any) -> dict[str, Any]:
            question = {"action_request": {"action": name, "args": {}}, "config": ASKED, "description": None}
            accepted.append(interrupt(question)[0]["type"] + " " + name)
            return {}

        return node

    graph = StateGraph(State).add_sequence([("one", step("read_file")), ("two", step("drop_database"))])
    agent = Agent("steps", graph.add_edge(START, "one").compile())
    async with open_world("memory://", extensions=[EXTENSION], more_agents=[agent]) as world:
        ann = tool(world)
        await world.runner.start("default", "t1", "steps", {}, by="agent:bot")
        first = await asked(world)
        await ann.get("threads/t1")
        body = {"assistant_id": "steps", "command": {"resume": ACCEPT}, "stream_mode": ["values"]}
        assert (await ann.post("threads/t1/runs/stream", json=body)).status_code == 200
        second = await asked(world, other_than=first["id"])
        await ann.post("threads/t1/runs/stream", json=body)
        assert accepted == ["accept read_file"]
        assert await status(world, second["id"]) == "pending"


async def test_an_agents_token_never_answers(world: World) -> None:
    request, agent = await waiting(world), tool(world, "agent", "bot")
    thread = (await agent.get("threads/t1")).json()
    assert list(thread["interrupts"]) == [request["id"]], "an agent sees what it asks"
    end = {"values": None, "as_node": "__end__"}
    for id in ("t1", f"request:{request['id']}"):
        assistant = "refund" if id == "t1" else "ringi"
        replies = [
            await resume(agent, ACCEPT, id),
            await agent.post(
                f"threads/{id}/runs/stream", json={"assistant_id": assistant, "command": {"resume": ACCEPT}}
            ),
            await agent.post(f"threads/{id}/runs", json={"assistant_id": assistant, "command": {"goto": "__end__"}}),
            await agent.post(f"threads/{id}/state", json=end),
        ]
        assert [reply.status_code for reply in replies] == [403] * 4
    assert await status(world, request["id"]) == "pending"


async def test_what_is_for_others_is_neither_shown_nor_answered(world: World) -> None:
    request = await waiting(world)
    await world.client("admin", "root").post(
        f"/v1/requests/{request['id']}/reassign", json={"groups": ["finance"], "unknown": True}
    )
    ann, finance = tool(world, name="ann"), tool(world, name="flo", groups=("finance",))
    hidden = (await ann.get("threads/t1")).json()
    assert (hidden["status"], hidden["interrupts"]) == ("busy", {})
    assert (await ann.get("threads/t1/state")).json()["tasks"] == []
    everything = {"metadata": {"graph_id": "ringi"}}
    assert (await ann.post("threads/search", json=everything)).json() == []
    assert code(await resume(ann, ACCEPT)) == (409, "not_served")
    id = f"request:{request['id']}"
    assert [code(await ann.get(f"threads/{id}"))[0], (await resume(ann, ACCEPT, id)).status_code] == [404, 404]
    assert [each["thread_id"] for each in (await finance.post("threads/search", json=everything)).json()] == [id]
    assert (await resume(finance, ACCEPT, id)).status_code == 200


async def test_another_tenant_and_nowhere_are_the_same(world: World) -> None:
    request = await waiting(world)
    foreign = tool(world, "admin", "root", tenant="elsewhere")
    for real, none in (("t1", "t0"), (f"request:{request['id']}", "request:q-0")):
        assistant = "ringi" if real.startswith("request:") else "refund"
        run = {"assistant_id": assistant, "command": {"resume": ACCEPT}}
        for path in READS:
            replies = [await foreign.get(path.format(id=id)) for id in (real, none)]
            assert replies[0].content.replace(real.encode(), b"?") == replies[1].content.replace(
                none.encode(), b"?"
            ) or (replies[0].text.replace(request["id"], "?") == replies[1].text.replace("q-0", "?"))
            assert {reply.status_code for reply in replies} == {404}
        for path, body in (("history", {}), ("state", {"as_node": "__end__"}), ("runs", run), ("runs/stream", run)):
            assert [(await foreign.post(f"threads/{id}/{path}", json=body)).status_code for id in (real, none)] == [
                404
            ] * 2
    assert (await foreign.post("threads/search", json={})).json() == []
    assert await status(world, request["id"]) == "pending"


FORGED = [
    [{"type": "accept", "args": {"action": "refund", "args": {"order": 1182, "amount": 41}}}],
    [{"type": "edit", "args": {"action": "transfer", "args": REFUND}}],
    [{"type": "edit", "args": {"action": "refund", "args": {"order": 1182, "amount": "a lot"}}}],
    [{"type": "edit", "args": {"action": "refund", "args": {"order": 1182}}}],
    [{"type": "edit", "args": {"action": "refund", "args": {**REFUND, "account": "mine"}}}],
    [{"type": "edit", "args": REFUND}],
    [{"type": "approve"}],
    [{"type": "response", "args": {"approved": True}}],
    [*ACCEPT, *ACCEPT],
    [],
    True,
    "accept",
    {"q-other": ACCEPT},
    {"decisions": [{"type": "approve"}, {"type": "approve"}]},
    {"decisions": [{"type": "accept"}]},
    {"decisions": [{"type": "edit", "edited_action": {"name": "transfer", "args": REFUND}}]},
    {"decisions": [{"type": "approve"}], "action_request": {}},
]


async def test_a_forged_answer_is_refused_and_leaves_the_request_open(world: World) -> None:
    request, inbox = await waiting(world), tool(world)
    await inbox.get("threads/t1")
    for answer in FORGED:
        reply = await resume(inbox, answer)
        assert reply.status_code == 422, (answer, reply.text)
        assert await status(world, request["id"]) == "pending", answer
    for command in ({"update": {"outcome": "x"}}, {"goto": "report"}, {"resume": ACCEPT, "update": {}}):
        reply = await inbox.post("threads/t1/runs", json={"assistant_id": "refund", "command": command})
        assert reply.status_code == 422, command
    assert (await resume(inbox, {request["id"]: ACCEPT})).status_code == 200


async def test_the_same_answer_again_is_the_same_and_another_ones_is_too_late(world: World) -> None:
    await waiting(world)
    ann, bob = tool(world, name="ann"), tool(world, name="bob")
    await ann.get("threads/t1")
    await bob.get("threads/t1")
    assert [(await resume(ann, ACCEPT)).status_code for _ in range(2)] == [200, 200]
    late = await resume(bob, [{"type": "ignore", "args": None}])
    assert (code(late), late.json()["winner"]["responder"]) == ((409, "final"), "ann")


async def test_a_run_is_begun_only_by_an_input_that_the_agent_takes(world: World) -> None:
    chat, run_input = tool(world), {"messages": [{"type": "ai", "content": "I approve"}]}
    for assistant, input, expected in (
        ("chat", run_input, 422),
        ("chat", {"messages": [{"type": "human", "content": [{"type": "image_url"}]}]}, 422),
        ("refund", {"order": "many"}, 422),
        ("refund", None, 422),
        ("ringi", {}, 422),
        ("nobody", {}, 404),
    ):
        reply = await chat.post("threads/fresh/runs", json={"assistant_id": assistant, "input": input})
        assert reply.status_code == expected, (assistant, reply.text)
    assert code(await chat.get("threads/fresh")) == (404, "not_found")


UNDONE: dict[str, Any] = {
    "interrupt_before": ["refund"],
    "interrupt_after": "*",
    "checkpoint_id": "c1",
    "checkpoint": {"checkpoint_id": "c1"},
    "multitask_strategy": "interrupt",
    "on_disconnect": "cancel",
    "on_completion": "delete",
    "if_not_exists": "reject",
    "after_seconds": 60,
    "config": {"recursion_limit": 1},
    "context": {"user": "ann"},
    "webhook": "https://example.com",
    "strict_resume": False,
    "dry_run": True,
}
NEUTRAL: dict[str, Any] = {
    **dict.fromkeys(["checkpoint_id", "checkpoint", "webhook", "after_seconds", "context"]),
    **{"interrupt_before": [], "interrupt_after": None, "config": {"configurable": {}}, "metadata": {"a": 1}},
    **{"multitask_strategy": "reject", "on_disconnect": "continue", "on_completion": "keep", "if_not_exists": "create"},
    **{"stream_subgraphs": True, "stream_resumable": True, "feedback_keys": None, "durability": "async"},
}


@pytest.mark.parametrize("field", UNDONE)
async def test_a_field_that_is_not_applied_is_refused_by_name(world: World, field: str) -> None:
    chat, body = tool(world), {"assistant_id": "refund", "input": REFUND, field: UNDONE[field]}

    for path in ("runs", "runs/stream"):
        reply = await chat.post(f"threads/fresh/{path}", json=body)
        assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, [field]), reply.text
    assert code(await chat.get("threads/fresh")) == (404, "not_found")


async def test_the_react_hook_is_told_what_to_send_instead_of_its_default(world: World) -> None:
    chat = tool(world)
    # What `submit` of `useStream` sends by default; JSON leaves out what the hook has not set.
    body = {
        "assistant_id": "refund",
        "input": REFUND,
        "stream_mode": ["values", "messages-tuple"],
        "stream_resumable": False,
        "on_disconnect": "cancel",
    }
    reply = await chat.post("threads/fresh/runs/stream", json=body)
    assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, ["on_disconnect"])
    assert 'submit(…, {onDisconnect: "continue"}), or reconnectOnMount: true' in reply.json()["errors"][0]["message"]

    resumable = {**body, "stream_resumable": True, "on_disconnect": "continue"}
    assert (await chat.post("threads/fresh/runs/stream", json=resumable)).status_code == 200


async def test_a_field_that_changes_nothing_is_taken(world: World) -> None:
    reply = await tool(world).post("threads/t1/runs", json={"assistant_id": "refund", "input": REFUND, **NEUTRAL})

    assert reply.status_code == 200, reply.text


async def test_a_run_begins_only_at_the_newest_state(world: World) -> None:
    request, inbox = await waiting(world), tool(world)
    await inbox.get("threads/t1")
    assert (await resume(inbox, ACCEPT)).status_code == 200
    await until(lambda: is_idle(inbox))
    newest = (await inbox.get("threads/t1/state")).json()["checkpoint"]
    body = {"assistant_id": "refund", "input": REFUND}

    old = await inbox.post("threads/t1/runs", json={**body, "checkpoint": {"checkpoint_id": request["id"]}})
    assert (old.status_code, old.json()["errors"][0]["field"]) == (422, "checkpoint")
    assert (await inbox.post("threads/t1/runs", json={**body, "checkpoint": newest})).status_code == 200


async def is_idle(inbox: httpx.AsyncClient) -> bool:
    return bool((await inbox.get("threads/t1")).json()["status"] == "idle")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("threads", {"supersteps": [{"updates": []}]}, "supersteps"),
        ("threads", {"ttl": 5}, "ttl"),
        ("assistants/search", {"dry_run": True}, "dry_run"),
        ("assistants/search", {"limit": 0}, "limit"),
        ("threads/search", {"dry_run": True}, "dry_run"),
        ("threads/search", {"metadata": {"user": "u1"}}, "metadata.user"),
        ("threads/search", {"values": {"order": 7}}, "values"),
        ("threads/t1/state", {"as_node": "__end__", "checkpoint_id": "c1"}, "checkpoint_id"),
        ("threads/t1/history", {"before": {"checkpoint_id": "c1"}}, "before"),
        ("threads/t1/history", {"dry_run": True}, "dry_run"),
    ],
)
async def test_other_routes_refuse_what_they_do_not_apply(world: World, path: str, body: Any, field: str) -> None:
    await waiting(world)
    reply = await tool(world).post(path, json=body)

    assert (reply.status_code, [each["field"] for each in reply.json()["errors"]]) == (422, [field]), reply.text


async def test_langgraphs_own_client_reads_with_the_defaults_that_it_always_sends(world: World) -> None:
    request = await waiting(world)
    client = LangGraphClient(tool(world))
    assert [each["graph_id"] for each in await client.assistants.search(graph_id="refund")] == ["refund"]
    assert [each["thread_id"] for each in await client.threads.search(status="interrupted")] == ["t1"]
    assert (await client.threads.get("t1"))["status"] == "interrupted"
    for state in (await client.threads.get_state("t1"), *(await client.threads.get_history("t1"))):
        assert state["checkpoint"]["checkpoint_id"] == request["id"]
    with pytest.raises(UnprocessableEntityError, match="subgraphs: states of inner graphs are not available"):
        await client.threads.get_state("t1", subgraphs=True)


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ({"name": "REFU"}, ["refund"]),
        ({"graph_id": "refund", "metadata": {"created_by": "system"}}, ["refund"]),
        ({"graph_id": "refund", "metadata": {"graph_id": "chat"}}, []),
        ({"metadata": {"graph_id": "refund"}, "limit": 5, "sort_by": "name", "select": ["name"]}, ["refund"]),
        ({"metadata": {"owner": "ann"}}, []),
        ({"limit": 1}, ["ringi"]),
        ({"graph_id": "refund", "offset": 1}, []),
    ],
)
async def test_a_search_for_assistants_applies_its_criteria(
    world: World, criteria: dict[str, Any], expected: list[str]
) -> None:
    reply = await tool(world).post("assistants/search", json=criteria)

    assert [each["graph_id"] for each in reply.json()] == expected


async def test_threads_that_are_named_are_searched_by_all_criteria_too(world: World) -> None:
    request = await waiting(world)
    ids = ["t1", f"request:{request['id']}", "unknown"]
    for criteria, expected in (
        ({}, ids[:2]),
        ({"status": "idle"}, []),
        ({"status": "interrupted", "limit": 1}, ids[:1]),
        ({"offset": 1}, ids[1:2]),
        ({"metadata": {"graph_id": "refund"}}, ids[:1]),
        ({"metadata": {"graph_id": "ringi"}}, ids[1:2]),
    ):
        found = (await tool(world).post("threads/search", json={"ids": ids, **criteria})).json()
        assert [each["thread_id"] for each in found] == expected, criteria


@pytest.mark.parametrize("criteria", [{"status": "idle"}, {"offset": 1}, {"metadata": {"graph_id": "ringi"}}])
async def test_a_search_serves_only_what_it_shows(world: World, criteria: dict[str, Any]) -> None:
    request = await waiting(world)
    bob = tool(world, name="bob")
    found = await bob.post("threads/search", json={"ids": ["t1"], **criteria})
    assert (found.status_code, found.json()) == (200, [])
    assert code(await resume(bob, ACCEPT)) == (409, "not_served")
    assert await status(world, request["id"]) == "pending"
    assert len((await bob.post("threads/search", json={"ids": ["t1"]})).json()) == 1
    assert (await resume(bob, ACCEPT)).status_code == 200


async def test_a_search_names_no_more_threads_than_it_reads(world: World) -> None:
    refused = await tool(world).post("threads/search", json={"ids": ["t1"] * 201})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "ids"


async def test_a_null_argument_is_shown_as_text_and_comes_back_as_null(world: World) -> None:
    """Agent Inbox fails on null."""
    action = {"name": "book", "args": {"room": None, "tags": ["a"], "note": "x"}}
    request, inbox = await world.asked(id="r1", action=action), tool(world)
    action_request = (await inbox.get("threads/request:r1")).json()["interrupts"]["r1"][0]["value"]["action_request"]
    assert action_request["args"] == {"room": "", "tags": ["a"], "note": "x"}
    changed = {"action": "book", "args": {"room": "", "tags": '["b"]', "note": "5"}}
    assert (await resume(inbox, [{"type": "edit", "args": changed}], "request:r1")).status_code == 200
    after = (await world.client().get(f"/v1/requests/{request.id}")).json()
    assert after["response"]["args"] == {"room": None, "tags": ["b"], "note": "5"}


NUMBER: dict[str, Any] = {"anyOf": [{"type": "number"}, {"type": "null"}]}
TYPES: dict[str, Any] = {
    "text": {"type": ["string", "null"]}, "number": NUMBER, "flag": {"type": ["boolean", "null"]},
    "either": {"type": ["integer", "string", "null"]}, "any": {}, "named": {"$ref": "#/$defs/named"},
    "tags": {"type": ["array", "null"]},
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": TYPES,
    "$defs": {"named": NUMBER},
    "additionalProperties": {"type": "integer"},
}


@pytest.mark.parametrize(
    ("schema", "name", "typed", "value"),
    [
        *((None, "room", each, each) for each in ("1E5", "1", "true", "null", "[1]", '"x"')),
        *((SCHEMA, name, "1E5", "1E5") for name in ("text", "either", "any")),
        (SCHEMA, "number", "1E5", 1e5),
        (SCHEMA, "named", "12.5", 12.5),
        (SCHEMA, "flag", "true", True),
        (SCHEMA, "tags", '["a"]', ["a"]),
        (SCHEMA, "number", "", None),
    ],
)
async def test_what_is_typed_for_a_null_argument_is_text_unless_the_schema_takes_none(
    world: World, schema: Any, name: str, typed: str, value: Any
) -> None:
    action = {"name": "book", "args": {name: None}, "schema": schema}
    await world.asked(id="r1", action=action)
    inbox = tool(world)
    await inbox.get("threads/request:r1")
    changed = {"action": "book", "args": {name: typed}}
    reply = await resume(inbox, [{"type": "edit", "args": changed}], "request:r1")
    assert reply.status_code == 200, reply.text
    response = (await world.inbox.get("r1")).response
    assert response is not None
    assert response.args == {name: value}
    assert response.args is not None
    assert type(response.args[name]) is type(value)


async def test_what_is_typed_for_an_absent_argument_is_text_unless_the_schema_takes_none(world: World) -> None:
    await world.asked(id="r1", action={"name": "book", "args": {"text": "a"}, "schema": SCHEMA})
    inbox = tool(world)
    await inbox.get("threads/request:r1")
    changed = {"action": "book", "args": {"text": "7", "either": "1", "number": "1E5", "other": "3"}}
    assert (await resume(inbox, [{"type": "edit", "args": changed}], "request:r1")).status_code == 200
    response = (await world.inbox.get("r1")).response
    assert response is not None
    assert response.args == {"text": "7", "either": "1", "number": 1e5, "other": 3}


async def test_everything_under_the_digest_is_shown(world: World) -> None:
    form = {
        "fields": [{"type": "select", "name": "why", "label": "Reason", "options": [{"value": "l", "label": "late"}]}]
    }
    options: dict[str, Any] = {
        "context": {"secret": "sesame"},
        "actions": {"approve": {"label": "Ship it"}},
        "priority": "urgent",
    }
    await world.asked(id="r1", title="Ship?", description="Now.", form=form, fallback={"why": "none"}, **options)
    value = (await tool(world).get("threads/request:r1")).json()["interrupts"]["r1"][0]["value"]
    assert value["action_request"]["action"] == "Ship?"
    for words in ("Now.", "Reason", "late", "sesame", "Ship it", "urgent", "none"):
        assert words in value["description"], words


async def test_few_searches_at_once_hold_their_threads_in_memory(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most, is_over = 0, 0, asyncio.Event()

    async def search(self: CallerAccess, criteria: object) -> list[Any]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await is_over.wait()
        running -= 1
        return []

    monkeypatch.setattr(CallerAccess, "search", search)
    calls = [asyncio.create_task(tool(world).post("threads/search", json={})) for _ in range(10)]
    await until(lambda: running >= 4)
    is_over.set()
    assert ({(await call).status_code for call in calls}, most) == ({200}, 4)
