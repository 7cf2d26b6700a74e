"""Every stream and snapshot, for every reader: no word of a request reaches those who may not read it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, NamedTuple, TypedDict

import httpx
import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from tests.apps.assistant.served import served as assisting
from tests.apps.assistant.test_routes import planned
from tests.apps.engrammer.lab import Models, insight
from tests.apps.engrammer.served import asked, is_, once
from tests.apps.engrammer.served import served as learning
from tests.server.test_matrix import CHAT_TURN, ROWS
from tests.server.world import LIMIT, World, open_world, until

from ringi import ask
from ringi.domain.ask import Action
from ringi.domain.request import Request
from ringi.domain.voting import Decider
from ringi.forms.form import Form
from ringi.runs.agent import Agent

THREAD = "t1"
FINANCE = ("finance",)
OPEN = "Shall I begin?"
WORDS = ("ZEBRA-TITLE", "ZEBRA-DESCRIPTION", "ZEBRA-LABEL", "ZEBRA-CONTEXT", "ZEBRA-ACTION", "ZEBRA-ARGUMENT")


class Reader(NamedTuple):
    """Somebody who reads, and whether they may read the requests of the group."""

    role: str
    name: str
    groups: tuple[str, ...]
    may: bool


READERS = (
    Reader("admin", "root", (), True),
    Reader("person", "fay", FINANCE, True),
    Reader("agent", "bot", (), True),
    Reader("person", "sam", ("sales",), False),
    Reader("person", "nan", (), False),
    Reader("agent", "other", FINANCE, False),
    Reader("agent", "sam", FINANCE, False),
)
KNOWN = tuple(reader for reader in READERS if reader.role != "agent" or reader.may)
"""Those who may read the thread."""
STREAMS = (
    "/v1/threads/{id}/stream",
    "/v1/chat/{id}/stream",
    "/v1/requests/{id}/events",
    "/v1/events",
)
SNAPSHOTS = [path for method, path in ROWS if method == "GET" and path not in STREAMS]


class State(TypedDict, total=False):
    """A talk, in which anybody is asked one thing, and then finance two."""

    messages: Annotated[list[AnyMessage], add_messages]


def begin_node(_: State) -> State:
    ask(OPEN)
    return {"messages": [AIMessage("I begin.")]}


def form_node(_: State) -> State:
    form = Form.parse({"fields": [{"name": "sum", "type": "number", "label": "ZEBRA-LABEL"}]})
    context = {"note": "ZEBRA-CONTEXT"}
    ask("ZEBRA-TITLE form", description="ZEBRA-DESCRIPTION", form=form, context=context, groups=FINANCE)
    return {"messages": [AIMessage("Thank you.")]}


def action_node(_: State) -> State:
    action = Action("ZEBRA-ACTION", {"to": "ZEBRA-ARGUMENT"})
    ask("ZEBRA-TITLE action", action=action, groups=FINANCE)
    return {}


def payroll() -> Agent:
    graph = StateGraph(State)
    nodes: dict[str, Any] = {"begin": begin_node, "form": form_node, "action": action_node}
    for name, node in nodes.items():
        graph.add_node(name, node)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "form")
    graph.add_edge("begin", "action")
    return Agent("payroll", graph.compile(), output=lambda _: {})


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """A run of an agent asks anybody one thing."""
    async with open_world("memory://", serves=True, more_agents=[payroll()]) as world:
        turn = {**CHAT_TURN, "id": THREAD, "agent": "payroll"}
        await read_until(world.client("agent", "bot"), "/v1/chat", has_asked(1), turn)
        yield world


async def ask_finance(world: World) -> list[Request]:
    """Have the run go on to what it asks finance, and return that."""
    (first,) = await pending(world, 1)
    await world.inbox.respond(first, "respond", message="yes", by="fay")
    return await pending(world, 2)


async def pending(world: World, count: int, id: str = THREAD) -> list[Request]:
    """Return what a thread asks, once it asks so much."""

    async def asks() -> bool:
        thread = await world.runner.get("default", id)
        return thread.status == "interrupted" and len(await world.runner.pending(thread)) == count

    await until(asks)
    return await world.runner.pending(await world.runner.get("default", id))


def client_of(world: World, reader: Reader) -> httpx.AsyncClient:
    return world.client(reader.role, reader.name, groups=reader.groups)


def leaked(text: str, requests: list[Request]) -> list[str]:
    return [word for word in (*WORDS, *(request.digest for request in requests)) if word in text]


async def read_until(client: httpx.AsyncClient, path: str, is_enough: Callable[[str], bool], body: Any = None) -> str:
    """Return a stream's text up to a point, or the whole of a reply that is shorter."""
    method, text = "POST" if body else "GET", ""
    async with asyncio.timeout(LIMIT), client.stream(method, path, json=body) as response:
        async for part in response.aiter_text():
            text += part
            if is_enough(text):
                break
        return text


def has_asked(count: int) -> Callable[[str], bool]:
    """Return whether a chat has shown so many requests, or hidden them."""
    return lambda text: len(set(re.findall(r'"data-ringi-request","id":"([^"]+)"', text))) >= count


def has_paused(count: int) -> Callable[[str], bool]:
    """Return whether a thread has paused so often."""
    return lambda text: len(re.findall(r'"RUN_FINISHED".*\n\n', text)) >= count


def test_every_route_that_reads_is_tried() -> None:
    assert {path for method, path in ROWS if method == "GET"} == {*SNAPSHOTS, *STREAMS}


async def test_a_snapshot_shows_a_request_to_its_readers_alone(world: World) -> None:
    requests = await ask_finance(world)
    clients = {reader: client_of(world, reader) for reader in READERS}
    for path in SNAPSHOTS:
        readers = set[Reader]()
        for reader, client in clients.items():
            for id in (THREAD, requests[0].id) if "{id}" in path else ("",):
                place = path.format(id=id, agent="payroll", action_id="count-1", bullet="b-00009", number=1)
                leaks = leaked((await client.get(place)).text, requests)
                assert reader.may or not leaks, (reader, place, leaks)
                readers |= {reader} if leaks else set()
        if path in ("/v1/threads/{id}", "/v1/requests/{id}", "/v1/requests"):
            assert readers == {reader for reader in READERS if reader.may}


@pytest.mark.parametrize(
    ("path", "is_enough"), [("/v1/threads/t1/stream", has_paused(2)), ("/v1/chat/t1/stream", has_asked(3))]
)
@pytest.mark.parametrize("is_live", [True, False], ids=["live", "again"])
async def test_a_stream_of_a_thread_shows_a_request_to_its_readers_alone(
    world: World, path: str, is_enough: Callable[[str], bool], is_live: bool
) -> None:
    requests = [] if is_live else await ask_finance(world)
    reading = [asyncio.create_task(read_until(client_of(world, reader), path, is_enough)) for reader in KNOWN]
    if is_live:
        await until(lambda: has_open(world, len(KNOWN)))
        requests = await ask_finance(world)
    for reader, text in zip(KNOWN, await asyncio.gather(*reading), strict=True):
        assert bool(leaked(text, requests)) is reader.may, (reader, text)
        assert all(request.id in text for request in requests), reader


async def test_who_may_read_no_more_is_shown_no_more(world: World) -> None:
    requests = await ask_finance(world)
    for request in requests:
        await world.inbox.reassign(request.id, assignee="sam", by=Decider("root", is_admin=True))
    for reader in KNOWN:
        text = await read_until(client_of(world, reader), f"/v1/threads/{THREAD}/stream", has_paused(2))
        assert bool(leaked(text, requests)) is (reader.name in ("root", "bot", "sam")), reader


async def test_the_entries_of_the_protocols_show_a_request_to_its_readers_alone(world: World) -> None:
    requests = await ask_finance(world)
    turn = {**CHAT_TURN, "id": THREAD, "agent": "payroll"}
    resume = [{"interruptId": request.id, "status": "resolved"} for request in requests]
    resumed = {"threadId": THREAD, "runId": "r2", "messages": [], "resume": resume}
    for reader in KNOWN:
        client = client_of(world, reader)
        again = await read_until(client, "/v1/chat", has_asked(3), turn)
        assert bool(leaked(again, requests)) is reader.may, (reader, again)
        stretch = await read_until(client, "/agui/payroll", has_paused(1), resumed)
        if reader.role == "person":
            assert bool(leaked(stretch, requests)) is reader.may, (reader, stretch)
            assert all(request.id in stretch for request in requests)
        if reader.role == "agent":
            assert (await client.post("/agui/payroll", json=resumed)).status_code == 403, reader
        history = await read_until(client, "/agui/payroll/connect", has_paused(1), resumed | {"resume": None})
        assert bool(leaked(history, requests)) is reader.may, (reader, history)
    for reader in set(READERS) - set(KNOWN):
        for path, body in (("/v1/chat", turn), ("/agui/payroll", resumed), ("/agui/payroll/connect", resumed)):
            assert not leaked((await client_of(world, reader).post(path, json=body)).text, requests)


async def test_the_feeds_show_a_request_to_its_readers_alone(world: World) -> None:
    waiting = [asyncio.create_task(feed_of(world, reader)) for reader in READERS]
    await until(lambda: has_open(world, len(READERS)))
    requests = await ask_finance(world)
    for reader in READERS:
        own = {"by": "agent:" + reader.name if reader.role == "agent" else reader.name, "assignee": reader.name}
        await world.asked(title=f"END-{reader.role}-{reader.name}", **own)
    for reader, text in zip(READERS, await asyncio.gather(*waiting), strict=True):
        assert bool(leaked(text, requests)) is reader.may, (reader, text)
    for reader in READERS:
        for request in requests:
            path = f"/v1/requests/{request.id}/events"
            text = await read_until(client_of(world, reader), path, lambda text: "request.created" in text)
            assert bool(leaked(text, requests)) is reader.may, (reader, text)


async def feed_of(world: World, reader: Reader) -> str:
    mark = f"END-{reader.role}-{reader.name}"
    return await read_until(client_of(world, reader), "/v1/events", lambda text: mark in text)


async def has_open(world: World, count: int) -> bool:
    """Whether so many streams are open."""
    return f"ringi_open_streams {count}.0\n" in (await world.stranger().get("/metrics")).text


async def assert_for_fay_alone(world: World, id: str, requests: list[Request]) -> None:
    """Give requests to one person, and read a conversation as everybody."""
    for request in requests:
        await world.inbox.reassign(request.id, assignee="fay", unknown=True, by=Decider("root", is_admin=True))
    readers = set[Reader]()
    for reader in READERS:
        client = client_of(world, reader)
        replies = [
            await client.get(path.format(id=id, agent="", action_id="", bullet="", number=1)) for path in SNAPSHOTS
        ]
        replies.append(await client.post("/getEngrammerState", json={"threadId": id}))
        digests = [request.digest for request in requests]
        readers |= {reader for reply in replies if any(digest in reply.text for digest in digests)}
    assert readers == {reader for reader in READERS if reader.name in ("root", "fay")}


async def test_the_views_of_an_assistant_show_its_requests_to_their_readers_alone() -> None:
    async with assisting("memory://") as world:
        plan = await planned(world)
        await assert_for_fay_alone(world, "c1", [await world.inbox.get(plan["request"]["id"])])


async def test_the_views_of_an_engrammer_show_its_requests_to_their_readers_alone() -> None:
    models = Models(lessons={"How?": [insight("Clamp it.")]})
    async with learning("memory://", models) as world:
        conversation = await asked(world.client(), "How?")
        await assert_for_fay_alone(world, "c1", [await world.inbox.get(id) for id in conversation["pending"]])
        await world.inbox.cancel(conversation["pending"][0], "ZEBRA-REASON", by="ann")
        await once(world.client(), "c1", is_("done"))
        assert "ZEBRA-REASON" in (await world.client("person", "fay").get("/v1/engrammer/c1")).text
        assert "ZEBRA-REASON" not in (await world.client("person", "sam").get("/v1/engrammer/c1")).text
