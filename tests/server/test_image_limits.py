"""Images in messages over HTTP: what is refused before anything is read, and what nobody may read."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.files.test_images import photo, short
from tests.runs.world import before_next_save
from tests.server.test_images import FILE, PNG, TEXT, URL, agui, ai_file, answer, langgraph, say, world
from tests.server.world import World

from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.errors import UnavailableError
from ringi.files.images import MAX_IMAGE, MAX_IMAGES, MAX_TOTAL, Images, image_index_key
from ringi.server import message_parts

__all__ = ["world"]
KEY = Key("default", "t1")
FULL = base64.b64encode(PNG + b"\0" * (MAX_IMAGE - len(PNG))).decode()
HELD = "/v1/threads/t1/images/1"


MANY: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ai sdk": (lambda client, parts: say(client, *parts, text="many"), ai_file(HELD)),
    "ai sdk bytes": (lambda client, parts: say(client, *parts, text="many"), ai_file()),
    "ag-ui": (agui, {"type": "image", "source": {"type": "url", "value": HELD}}),
    "ag-ui 0.x": (agui, {"type": "binary", "mimeType": "image/png", "data": TEXT}),
    "langgraph": (langgraph, {"type": "image_url", "image_url": {"url": HELD}}),
}


@pytest.mark.parametrize("protocol", MANY)
async def test_of_too_many_images_none_is_read_or_decoded(
    world: World, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, (send, part) = world.client(), MANY[protocol]
    await say(ann, ai_file())
    await answer(world)
    touched: list[Any] = []
    monkeypatch.setattr(Images, "content", lambda *args: touched.append(args))
    monkeypatch.setattr(message_parts, "decode_base64_image", touched.append)
    reply = await send(ann, [part] * 40)
    message = f"a message accepts at most {MAX_IMAGES} images: send the others in the next message"
    error = {"field": "messages", "message": message, "code": "too_many_images", "params": {"max": MAX_IMAGES}}
    assert (reply.status_code, reply.json()["errors"]) == (422, [error])
    assert touched == []


UNFIT: dict[str, list[Any]] = {
    "words": ["hi"],
    "pair": [["user", "hi"]],
    "no content": [{"role": "user"}],
    "blocks": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}],
    "the agent's": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hi"}],
    "nothing": [],
}


@pytest.mark.parametrize("kind", UNFIT)
async def test_images_of_what_no_person_says_are_refused_and_nothing_is_stored(world: World, kind: str) -> None:
    messages = UNFIT[kind]
    body = {"agent": "looker", "input": {"messages": messages}, "images": [{"data": TEXT}]}
    reply = await world.client().post("/v1/threads/t1/runs", json=body)
    assert reply.status_code == 422, reply.text
    (error,) = reply.json()["errors"]
    assert error["field"] == (f"input.messages[{len(messages) - 1}]" if messages else "input.messages")
    assert error["message"] == 'images belong to the newest message: send it as {"role": "user", "content": text}'
    assert await world.backend.store.get_many(Thread, [KEY]) == []
    assert await world.backend.stream.read(image_index_key(KEY)) == []


async def test_nobody_reads_an_image_of_a_run_that_never_began(world: World) -> None:
    # Stored by a process that was killed before it began the run.
    await Images(world.backend.stream).add(KEY, [photo()], fence=0)
    rival = world.client("agent", "rival")
    assert (await say(rival, text="hi")).status_code == 200
    assert await answer(world) == "hi: "
    assert (await rival.get(HELD)).status_code == 404
    reply = await say(rival, FILE, text="again")
    assert reply.status_code == 422
    assert "names an image that is not in this conversation" in reply.text


def image(text: str = FULL) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "data", "value": text, "mimeType": "image/png"}}


async def test_a_conversation_at_the_limit_goes_on_for_a_client_that_sends_the_history_again(world: World) -> None:
    ann, history = world.client(), list[dict[str, Any]]()

    async def send(content: Any) -> Any:
        history.append({"id": f"m{len(history)}", "role": "user", "content": content})
        reply = await ann.post("/agui/looker", json={"threadId": "t1", "runId": "r", "messages": history})
        if reply.status_code == 200:
            await answer(world)
        return reply

    for _ in range(2):
        assert (await send([image(), image()])).status_code == 200
    refused = await send([{"type": "text", "text": "more"}, *[image()] * MAX_IMAGES])
    assert (refused.status_code, refused.json()["errors"]) == (422, [{
        "field": "messages",
        "message": f"the images of this conversation would exceed {MAX_TOTAL} bytes: "
                   "send the message without images, or begin another conversation",
        "code": "conversation_images", "params": {},
    }])  # fmt: skip
    # A stock client leaves the refused message in its history.
    assert len(json.dumps(history)) > 2 * MAX_TOTAL
    assert (await send("words")).status_code == 200
    assert (await answer(world)).startswith("words: image/png")
    assert (await say(ann, text="over the page")).status_code == 200
    assert (await answer(world)).count("image/png") == MAX_IMAGES
    assert (await say(ann, ai_file(URL), text="again")).status_code == 422


async def test_a_message_that_is_sent_twice_begins_one_run(world: World) -> None:
    ann = world.client()

    async def overtaken() -> None:
        assert (await say(ann, ai_file())).status_code == 200
        await answer(world)

    before_next_save(world.backend, overtaken)
    reply = await say(ann, ai_file())
    assert reply.status_code == 200
    assert await answer(world) == f"look: image/png {short(PNG)}"
    (run,) = (await ann.get("/v1/chat/t1")).json()["runs"]
    assert run["id"] == (await world.backend.store.get(Thread, *KEY)).run_id


@pytest.mark.parametrize("parts", [(), (ai_file(),)])
async def test_who_is_overtaken_by_a_rival_with_the_same_ids_reads_nothing_of_theirs(
    world: World, parts: tuple[Any, ...]
) -> None:
    bot, rival = world.client("agent", "bot"), world.client("agent", "rival")

    async def overtaken() -> None:
        assert (await say(rival, *parts)).status_code == 200
        await answer(world)

    before_next_save(world.backend, overtaken)
    reply = await say(bot, *parts)
    assert (reply.status_code, reply.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize("has_ended", [True, False])
@pytest.mark.parametrize("parts", [(), (ai_file(),)])
async def test_who_is_overtaken_by_a_rival_begins_nothing_in_their_conversation(
    world: World, parts: tuple[Any, ...], has_ended: bool
) -> None:
    bot, rival = world.client("agent", "bot"), world.client("agent", "rival")

    async def overtaken() -> None:
        assert (await say(rival, text="mine")).status_code == 200
        if has_ended:
            await answer(world)

    before_next_save(world.backend, overtaken)
    assert (await say(bot, *parts, text="intruding")).status_code == 404
    await answer(world)
    (run,) = (await rival.get("/v1/chat/t1")).json()["runs"]
    assert run["id"] == (await world.backend.store.get(Thread, *KEY)).run_id
    assert "intruding" not in (await rival.get("/v1/threads/t1")).text


@pytest.mark.parametrize("images", [[], [{"name": "a.png", "data": base64.b64encode(PNG).decode()}]])
async def test_nor_by_a_run_over_http(world: World, images: list[dict[str, str]]) -> None:
    bot, rival = world.client("agent", "bot"), world.client("agent", "rival")
    body = {"agent": "looker", "input": {"messages": [{"role": "user", "content": "intruding"}]}, "images": images}

    async def overtaken() -> None:
        assert (await say(rival, text="mine")).status_code == 200
        await answer(world)

    before_next_save(world.backend, overtaken)
    assert (await bot.post("/v1/threads/t1/runs", json=body)).status_code == 404
    assert "intruding" not in (await rival.get("/v1/threads/t1")).text


async def test_a_conversation_whose_first_message_was_refused_is_there_and_empty(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann, put = world.client(), world.backend.store.put

    async def away(record: Any, event: Any) -> None:
        if event and event.type == "thread.started":
            raise UnavailableError("the connection is lost")
        await put(record, event)

    with monkeypatch.context() as patch:
        patch.setattr(world.backend.store, "put", away)
        assert (await say(ann, ai_file())).status_code == 503
    (item,) = (await ann.get("/v1/threads")).json()["items"]
    assert (item["id"], item["status"], item["run_id"], item["title"]) == ("t1", "idle", None, None)
    for path in ("/v1/threads/t1", "/v1/chat/t1", "/langgraph/threads/t1", "/langgraph/threads/t1/state"):
        assert (await ann.get(path)).status_code == 200, path
    assert (await ann.get(HELD)).status_code == 404
    assert (await ann.post("/v1/threads/t1/cancel", json={})).status_code == 200
    assert (await say(ann, ai_file(), text="again")).status_code == 200
    assert await answer(world) == f"again: image/png {short(PNG)}"
