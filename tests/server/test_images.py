"""Images in messages over HTTP: each protocol's parts, who may see them, what is refused, and the history after it."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from tests.domain.test_display import IMAGES as SAMPLES
from tests.domain.test_display import png
from tests.files.test_images import looker, short
from tests.server.world import World, open_world, until

from ringi.contracts.backend import read_whole_stream
from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.files.images import MAX_IMAGE, MAX_IMAGES, image_index_key
from ringi.protocols.langgraph_api.routes import EXTENSION as LANGGRAPH
from ringi_apps.assistant.routes import EXTENSION as ASSISTANTS

PNG = png(40, 30)
TEXT = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{TEXT}"


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    agents = [looker(), looker(images=False, name="blind")]
    async with open_world(store_url, more_agents=agents, extensions=(ASSISTANTS, LANGGRAPH)) as world:
        yield world


def ai_file(url: str = URL, **more: Any) -> dict[str, Any]:
    return {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": url, **more}


async def say(
    client: httpx.AsyncClient, *parts: dict[str, Any], id: str = "t1", agent: str = "looker", text: str = "look"
) -> httpx.Response:
    words = [{"type": "text", "text": text}] if text else []
    message = {"id": f"m-{len(parts)}-{text}", "role": "user", "parts": [*words, *parts]}
    return await client.post("/v1/chat", json={"id": id, "agent": agent, "messages": [message]})


async def agui(client: httpx.AsyncClient, content: Any, id: str = "t1") -> httpx.Response:
    body = {"threadId": id, "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": content}]}
    return await client.post("/agui/looker", json=body)


async def langgraph(client: httpx.AsyncClient, content: Any, id: str = "t1") -> httpx.Response:
    body = {
        "assistant_id": "looker", "input": {"messages": [{"type": "human", "content": content}]},
        "stream_mode": ["values"], "if_not_exists": "create",
    }  # fmt: skip
    return await client.post(f"/langgraph/threads/{id}/runs/stream", json=body)


async def answer(world: World, id: str = "t1") -> str:
    async def is_over() -> bool:
        found = await world.backend.store.get_many(Thread, [Key("default", id)])
        return bool(found and not found[0].is_live)

    await until(is_over)
    thread = await world.backend.store.get(Thread, "default", id)
    assert thread.error is None, thread.error
    return str(thread.values["messages"][-1]["content"])


WORDS = {"type": "text", "text": "look"}
PARTS: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "ai sdk": (lambda client, parts: say(client, *parts[1:]), [WORDS, ai_file()]),
    "ag-ui": (agui, [WORDS, {"type": "image", "source": {"type": "data", "value": TEXT, "mimeType": "image/png"}}]),
    "ag-ui 0.x": (agui, [WORDS, {"type": "binary", "mimeType": "image/png", "data": TEXT, "filename": "a.png"}]),
    "ag-ui data url": (agui, [WORDS, {"type": "image", "source": {"type": "url", "value": URL}}]),
    "openai": (langgraph, [WORDS, {"type": "image_url", "image_url": {"url": URL}}]),
    "langchain": (langgraph, [WORDS, {"type": "image", "base64": TEXT, "mime_type": "image/png"}]),
    "agent-chat-ui": (langgraph, [WORDS, {"type": "image", "mimeType": "image/png", "data": TEXT, "metadata": {}}]),
}


@pytest.mark.parametrize("protocol", PARTS)
async def test_an_image_of_each_protocol_reaches_the_agent(world: World, protocol: str) -> None:
    send, parts = PARTS[protocol]
    reply = await send(world.client(), parts)
    assert reply.status_code == 200, reply.text
    assert await answer(world) == f"look: image/png {short(PNG)}"
    thread = await world.backend.store.get(Thread, "default", "t1")
    assert thread.title == "look"
    assert TEXT not in thread.model_dump_json()


async def test_a_run_begins_with_images(world: World) -> None:
    messages = [{"role": "user", "content": "look"}]
    body = {"agent": "looker", "input": {"messages": messages}, "images": [{"name": "a.png", "data": TEXT}]}
    reply = await world.client().post("/v1/threads/t1/runs", json=body)
    assert reply.status_code == 202, reply.text
    assert await answer(world) == f"look: image/png {short(PNG)}"


async def test_an_image_without_words_is_a_message(world: World) -> None:
    assert (await say(world.client(), ai_file(), text="")).status_code == 200
    assert await answer(world) == f": image/png {short(PNG)}"


FILE = {
    "type": "file", "mediaType": "image/png", "filename": "a.png", "url": "/v1/threads/t1/images/1",
}  # fmt: skip


async def test_after_a_reload_each_history_shows_the_image(world: World) -> None:
    ann = world.client()
    await say(ann, ai_file())
    await answer(world)
    (run,) = (await ann.get("/v1/chat/t1")).json()["runs"]
    assert run["messages"] == [{"id": "m-1-look", "role": "user", "parts": [WORDS, FILE]}]
    body = {"threadId": "t1", "runId": "r2", "messages": []}
    events = [json.loads(line[6:]) for line in (await ann.post("/agui/looker/connect", json=body)).text.splitlines()
              if line.startswith("data: ")]  # fmt: skip
    (snapshot,) = [event for event in events if event["type"] == "MESSAGES_SNAPSHOT"]
    source = {"type": "url", "value": FILE["url"], "mimeType": "image/png"}
    image = {"type": "image", "source": source, "metadata": {"filename": "a.png"}}
    assert snapshot["messages"][0] == {"id": "m-1-look", "role": "user", "content": [WORDS, image]}
    state = (await ann.get("/langgraph/threads/t1/state")).json()
    block = {"type": "image", "url": FILE["url"], "mime_type": "image/png"}
    assert state["values"]["messages"][0]["content"] == [WORDS, block]
    (begun,) = [item.event for item in await world.backend.stream.read(Key("default", "t1"))
                if item.event["type"] == "RUN_STARTED"]  # fmt: skip
    (message,) = begun["input"]["messages"]
    digest = hashlib.sha256(PNG).hexdigest()
    assert message["content"] == "look"
    assert message["metadata"] == {"ringi_images": [
        {"number": 1, "name": "a.png", "size": len(PNG), "media_type": "image/png", "sha256": digest}
    ]}  # fmt: skip


async def test_under_a_path_of_another_application_images_are_found_there(world: World) -> None:
    ann = world.client()
    await say(ann, ai_file())
    await answer(world)
    mounted = httpx.ASGITransport(world.app, root_path="/hitl")
    headers = {"authorization": f"Bearer {world.token('person', 'ann')}"}
    async with httpx.AsyncClient(transport=mounted, base_url="http://localhost", headers=headers) as client:
        (run,) = (await client.get("/hitl/v1/chat/t1")).json()["runs"]
    file = {**FILE, "url": "/hitl/v1/threads/t1/images/1"}
    assert run["messages"][0]["parts"] == [WORDS, file]
    assert (await say(ann, file, text="again")).status_code == 200
    assert (await answer(world)).count(short(PNG)) == 2


async def test_an_image_is_shown_in_a_page_and_is_nothing_but_an_image(world: World) -> None:
    ann = world.client()
    await say(ann, ai_file(filename="../ä.svg"))
    got = await ann.get("/v1/threads/t1/images/1")
    assert (got.status_code, got.content, got.headers["content-type"]) == (200, PNG, "image/png")
    assert got.headers["content-disposition"] == "inline; filename*=UTF-8''%C3%A4.svg"
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in got.headers["content-security-policy"]
    assert got.headers["cache-control"] == "no-store"


async def test_only_who_may_read_a_thread_sees_its_images(world: World) -> None:
    bot, rival = world.client("agent", "bot"), world.client("agent", "rival")
    assert (await say(bot, ai_file())).status_code == 200
    everybody = {
        "bot": bot, "rival": rival, "ann": world.client(), "root": world.client("admin", "root"),
        "other": world.client(tenant="other"), "stranger": world.stranger(),
    }  # fmt: skip
    at = "/v1/threads/t1/images/1"
    assert {n: (await c.get(at)).status_code for n, c in everybody.items()} == {
        "bot": 200, "rival": 404, "ann": 200, "root": 200, "other": 404, "stranger": 401,
    }  # fmt: skip
    assert (await bot.get("/v1/threads/t1/images/2")).status_code == 404


async def test_what_the_conversation_holds_is_sent_again_by_its_address(world: World) -> None:
    ann = world.client()
    await say(ann, ai_file())
    await answer(world)
    assert (await say(ann, FILE, text="again")).status_code == 200
    assert await answer(world) == f"again: image/png {short(PNG)}, image/png {short(PNG)}"


async def test_an_address_of_another_conversation_names_nothing_in_this_one(world: World) -> None:
    ann = world.client()
    for id in ("t1", "t2"):
        await say(ann, ai_file(), id=id)
        await answer(world, id)
    reply = await say(ann, {**FILE, "url": "/v1/threads/t2/images/1"}, text="again")
    assert reply.status_code == 422
    assert "is not in this conversation" in reply.json()["errors"][0]["message"]


REFUSED = {
    "https://example.com/a.png": "images are not fetched from URLs",
    "http://169.254.169.254/latest/meta-data": "images are not fetched from URLs",
    "file:///etc/passwd": "images are not fetched from URLs",
    "//example.com/v1/threads/t1/images/1": "images are not fetched from URLs",
    "https://example.com/v1/threads/t1/images/1": "images are not fetched from URLs",
    "/v1/threads/t2/images/1": "names an image that is not in this conversation",
    "/v1/threads/t1/images/7": "names an image that is not in this conversation",
    "data:image/png;base64,…": "an image is not valid base64",
    "data:image/svg+xml,%3Csvg/%3E": "images are not fetched from URLs",
    "data:image/png;base64,PHN2Zy8+": "'a.png' is text/plain by its content: send a PNG, JPEG, GIF or WebP image",
    "data:image/png;base64,PCFkb2N0eXBlIGh0bWw+": "'a.png' is text/plain by its content",
    "data:image/png;base64,": "'a.png' has 0 bytes",
    "": "images are not fetched from URLs",
}


@pytest.mark.parametrize("url", REFUSED)
async def test_what_is_no_image_of_the_sender_is_refused_in_words(world: World, url: str) -> None:
    ann = world.client()
    await say(ann, ai_file(), id="t2")
    reply = await say(ann, ai_file(url))
    assert reply.status_code == 422, reply.text
    (error,) = reply.json()["errors"]
    assert error["field"] == "messages"
    assert error["message"].startswith(REFUSED[url])
    assert await world.backend.store.get_many(Thread, [Key("default", "t1")]) == []
    assert await world.backend.stream.read(image_index_key(Key("default", "t1"))) == []


@pytest.mark.parametrize("send", [agui, langgraph])
@pytest.mark.parametrize("part", [
    {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png"}},
    {"type": "image", "source": {"type": "file", "value": "file-1"}},
    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    {"type": "image_url", "image_url": 7},
    {"type": "binary", "mimeType": "image/png", "id": "1"},
    {"type": "audio", "source": {"type": "data", "value": TEXT}},
    {"type": "image"},
    "look",
])  # fmt: skip
async def test_other_parts_are_refused_in_words(world: World, send: Any, part: Any) -> None:
    reply = await send(world.client(), [WORDS, part])
    assert reply.status_code == 422, reply.text
    assert reply.json()["errors"][0]["field"] == "messages"


@pytest.mark.parametrize("agent", ["blind", "assistant"])
async def test_an_agent_that_takes_no_images_says_so(world: World, agent: str) -> None:
    ann = world.client()
    reply = await say(ann, ai_file(), agent=agent)
    message = f"agent {agent!r} does not accept images; send the message without them"
    error = {"field": "messages", "message": message, "code": "images_not_accepted", "params": {}}
    assert (reply.status_code, reply.json()["errors"]) == (422, [error])
    listed = {each["name"]: each["images"] for each in (await ann.get("/v1/agents")).json()["items"]}
    assert (listed[agent], listed["looker"]) == (False, True)
    assert (await say(ann, agent=agent)).status_code == 200


async def test_the_largest_message_is_taken_and_nothing_larger(world: World) -> None:
    ann, full = world.client(), PNG + b"\0" * (MAX_IMAGE - len(PNG))
    url = f"data:image/png;base64,{base64.b64encode(full).decode()}"
    assert (await say(ann, *[ai_file(url)] * MAX_IMAGES)).status_code == 200
    await answer(world)
    over = f"data:image/png;base64,{base64.b64encode(full + b'12').decode()}"
    for parts, says in (([ai_file(over)], "bytes"), ([ai_file()] * (MAX_IMAGES + 1), "accepts at most 4 images")):
        reply = await say(ann, *parts, text="more")
        assert reply.status_code == 422
        assert says in reply.json()["errors"][0]["message"]
    assert (await say(ann, *[ai_file(url)] * (2 * MAX_IMAGES + 1), text="over")).status_code == 413
    assert (await ann.post("/v1/requests", json={"title": "x" * 300_000})).status_code == 413


async def test_a_bomb_of_many_keeps_what_one_message_may_have(world: World) -> None:
    ann = world.client()
    sent = await asyncio.gather(*(say(ann, *[ai_file()] * MAX_IMAGES, text=f"n{n}") for n in range(20)))
    begun = [reply for reply in sent if reply.status_code == 200]
    await answer(world)
    # The messages that were refused have used numbers too, more of them the more often they tried.
    index = await read_whole_stream(world.backend.stream, image_index_key(Key("default", "t1")))
    keys = {item.number: Key("default", f"images/t1/{item.number}") for item in index}
    left = [number for number, key in keys.items() if await world.backend.stream.read(key)]
    assert {reply.status_code for reply in sent} <= {200, 409}
    assert len(left) == MAX_IMAGES * len(begun)
    assert tuple(left) == (await world.backend.store.get(Thread, "default", "t1")).images


async def test_an_erased_thread_has_no_image(world: World) -> None:
    ann, root = world.client(), world.client("admin", "root")
    await say(ann, ai_file())
    await answer(world)
    assert (await root.post("/v1/erasures", json={"person": "ann"})).status_code == 200
    assert (await ann.get("/v1/threads/t1/images/1")).status_code == 404
    assert await world.backend.stream.read(Key("default", "images/t1/1")) == []


async def test_kinds_are_told_by_their_bytes(world: World) -> None:
    ann = world.client()
    kinds = {kind: base64.b64encode(found[0]).decode() for kind, found in SAMPLES.items()}
    parts = [ai_file(f"data:text/html;base64,{text}") for text in kinds.values()]
    assert (await say(ann, *parts)).status_code == 200
    for number, kind in enumerate(kinds, 1):
        assert (await ann.get(f"/v1/threads/t1/images/{number}")).headers["content-type"] == kind
