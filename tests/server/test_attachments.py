"""Files attached to a request over HTTP: who may send and read them, their limits, and what remains of them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any, TypedDict

import httpx
import pytest
from langgraph.graph import START, StateGraph
from tests.domain.test_display import png
from tests.server.world import World, open_world, until

from ringi import Attachment, Form, ask
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.files.attachments import MAX_FILES, file_key, file_numbers_stream_key
from ringi.forms.field_parts import MAX_FILE
from ringi.integrations.langgraph import attachment
from ringi.runs.agent import Agent

TEXT = b"name,amount\nc-77,4000\n"


def upload(content: bytes = TEXT, name: str = "list.csv", field: str = "file", **more: Any) -> dict[str, Any]:
    return {"field": field, "name": name, "data": base64.b64encode(content).decode(), **more}


async def asked(world: World, *, assignee: str | None = None, tenant: str = "default", **parts: Any) -> Request:
    form = {"fields": [{"name": "file", "type": "attachment", "required": True, **parts}]}
    body = {"title": "Send the list", "form": form, "assignee": assignee}
    return await world.inbox.for_tenant(tenant).submit(Ask.parse({k: v for k, v in body.items() if v}), by="agent:bot")


async def attach(client: httpx.AsyncClient, request: Request, **fields: Any) -> httpx.Response:
    return await client.post(f"/v1/requests/{request.id}/attachments", json=upload(**fields))


async def send(client: httpx.AsyncClient, request: Request, file: Any) -> httpx.Response:
    body = {"decision": "approve", "data": {"file": file}, "digest": request.digest}
    return await client.post(f"/v1/requests/{request.id}/respond", json=body)


async def test_a_file_is_attached_answered_and_downloaded_as_nothing_but_a_file(world: World) -> None:
    ann, bot = world.client(), world.client("agent", "bot")
    request = await asked(world, media_types=["text/csv", "image/*"])
    reply = await attach(ann, request, name="Müller 一覧.csv")
    file = reply.json()
    digest = hashlib.sha256(TEXT).hexdigest()
    assert (reply.status_code, file) == (
        201,
        {"number": 1, "name": "Müller 一覧.csv", "size": len(TEXT), "media_type": "text/csv", "sha256": digest},
    )
    assert (await send(ann, request, file)).json()["response"]["data"] == {"file": file}
    got = await bot.get(f"/v1/requests/{request.id}/attachments/1")
    assert (got.status_code, got.content, got.headers["content-type"]) == (200, TEXT, "text/csv; charset=utf-8")
    assert got.headers["content-disposition"] == ("attachment; filename*=UTF-8''M%C3%BCller%20%E4%B8%80%E8%A6%A7.csv")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in got.headers["content-security-policy"]


DISGUISED: dict[str, tuple[bytes, str]] = {
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", "text/plain"),
    "html": (b"<!doctype html><script>alert(1)</script>", "text/plain"),
    "comment": (b"<!-- " + png() + b" -->", "application/octet-stream"),
    "program": (b"MZ\x90\0\x03\0", "application/octet-stream"),
}


@pytest.mark.parametrize("kind", DISGUISED)
async def test_what_is_named_png_and_is_none_is_told_by_its_bytes(world: World, kind: str) -> None:
    content, media_type = DISGUISED[kind]
    ann = world.client()
    request = await asked(world, media_types=["image/*"])
    refused = await attach(ann, request, content=content, name="photo.png")
    message = f"is {media_type} by its content: send image/*"
    error = {"field": "file", "message": message, "code": "file_type", "params": {}}
    assert (refused.status_code, refused.json()["errors"]) == (422, [error])
    anything = await asked(world)
    file = (await attach(ann, anything, content=content, name="photo.png")).json()
    assert file["media_type"] == media_type
    await send(ann, anything, file)
    got = await ann.get(f"/v1/requests/{anything.id}/attachments/1")
    assert got.headers["content-type"].partition(";")[0] == media_type
    assert got.headers["content-disposition"].startswith("attachment;")


NAMES = {
    "../../etc/passwd": "passwd",
    "C:\\Users\\ann\\list.csv": "list.csv",
    "..": "file",
    ".": "file",
    "": "file",
    "/": "file",
    "a\u202efdp.exe": "afdp.exe",
    "a\r\nSet-Cookie: x=1.txt": "aSet-Cookie_ x=1.txt",
    'a";b=\x00.txt': "a_;b=.txt",
    "x" * 900 + ".png": "x" * 116 + ".png",
    "x." + "y" * 900: "x." + "y" * 118,
}


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_a_name_and_no_path(world: World, name: str) -> None:
    request = await asked(world)
    assert (await attach(world.client(), request, name=name)).json()["name"] == NAMES[name]


async def test_only_who_may_answer_attaches_and_only_who_may_read_downloads(world: World) -> None:
    request = await asked(world, assignee="ann")
    ann, ben = world.client(), world.client(name="ben")
    other_tenant, root = world.client(tenant="other"), world.client("admin", "root")
    bot, rival = world.client("agent", "bot"), world.client("agent", "rival")
    statuses = [(await attach(each, request)).status_code for each in (ben, other_tenant, bot, rival, world.stranger())]
    assert statuses == [404, 404, 403, 403, 401]
    file = (await attach(ann, request)).json()
    at = f"/v1/requests/{request.id}/attachments/1"
    everybody = {"ann": ann, "ben": ben, "other": other_tenant, "root": root, "bot": bot, "rival": rival}
    assert {n: (await c.get(at)).status_code for n, c in everybody.items()} == {
        "ann": 200, "ben": 404, "other": 404, "root": 404, "bot": 404, "rival": 404,
    }  # fmt: skip
    assert (await send(ann, request, file)).status_code == 200
    assert {n: (await c.get(at)).status_code for n, c in everybody.items()} == {
        "ann": 200, "ben": 404, "other": 404, "root": 200, "bot": 200, "rival": 404,
    }  # fmt: skip
    assert (await ann.get(at.replace("/1", "/2"))).status_code == 404


async def test_an_answer_names_only_what_its_sender_attached_to_this_field(world: World) -> None:
    ann, ben = world.client(), world.client(name="ben")
    request, other = await asked(world), await asked(world)
    mine, theirs = (await attach(ann, request)).json(), (await attach(ben, request)).json()
    elsewhere = (await attach(ann, other, content=b"other")).json()
    forged = [
        theirs, elsewhere, {**mine, "number": 7}, {**mine, "number": -1}, {**mine, "number": 10**30},
        {**mine, "name": "x"}, {**mine, "size": 1}, {**mine, "media_type": "image/png"}, {**mine, "sha256": "0" * 64},
    ]  # fmt: skip
    for file in forged:
        reply = await send(ann, request, file)
        message = "is not a file that you attached here: attach it again"
        error = {"field": "file", "message": message, "code": "file_missing", "params": {}}
        assert (reply.status_code, reply.json()["errors"]) == (422, [error])
    for file in ({}, [1], "1", 1, {**mine, "html": "<b>"}, {**mine, "number": True}, {**mine, "number": "1"}, [mine]):
        reply = await send(ann, request, file)
        assert "is not an attached file" in reply.json()["errors"][0]["message"], file
    assert (await world.inbox.get(request.id)).status == "pending"
    assert (await send(ann, request, mine)).status_code == 200
    assert (await send(ann, request, mine)).status_code == 200


async def test_after_the_end_nothing_is_attached(world: World) -> None:
    ann, request = world.client(), await asked(world)
    await world.inbox.cancel(request.id, by="agent:bot")
    reply = await attach(ann, request)
    assert (reply.status_code, reply.json()["code"]) == (409, "final")
    assert await world.backend.stream.read(file_numbers_stream_key(request.key)) == []


async def test_what_another_has_claimed_takes_no_file(world: World) -> None:
    ann, request = world.client(), await asked(world)
    await world.inbox.claim(request.id, by="ben")
    assert (await attach(ann, request)).json()["code"] == "claimed"


async def test_a_hundred_uploads_at_once_keep_no_more_than_the_limit_and_stop_no_answer(world: World) -> None:
    ann, request = world.client(), await asked(world)
    replies = await asyncio.gather(*(attach(ann, request, content=b"x%d" % n) for n in range(100)))
    assert {reply.status_code for reply in replies} <= {201, 422}
    assert any(reply.status_code == 201 for reply in replies)

    async def stored_numbers() -> list[int]:
        read = world.backend.stream.read
        return [number for number in range(1, 400) if await read(file_key(request.key, number))]

    assert 0 < len(await stored_numbers()) <= MAX_FILES
    last = (await attach(ann, request)).json()
    assert await stored_numbers() == [last["number"]]
    assert (await send(ann, request, last)).status_code == 200


async def test_sizes_have_a_limit_of_the_field_of_the_call_and_of_the_request(world: World) -> None:
    ann, small = world.client(), await asked(world, max_size=10)
    assert (await attach(ann, small, content=b"x" * 10)).status_code == 201
    for content, size in ((b"x" * 11, 11), (b"", 0)):
        reply = await attach(ann, small, content=content)
        message = f"has {size} bytes: send a file of 1 to 10 bytes"
        assert (reply.status_code, reply.json()["errors"][0]["message"]) == (422, message)
    large = await asked(world, max_size=MAX_FILE)
    assert (await attach(ann, large, content=b"x" * (MAX_FILE + 12_000))).status_code == 413
    for _ in range(2):
        assert (await attach(ann, large, content=b"x" * MAX_FILE)).status_code == 201
    # Elsewhere a body has the limit that it always had.
    assert (await ann.post(f"/v1/requests/{large.id}/respond", json={"x": "x" * 300_000})).status_code == 413


async def test_an_image_that_unfolds_to_too_many_pixels_is_refused(world: World) -> None:
    reply = await attach(world.client(), await asked(world), content=png(40_000, 40_000), name="a.png")
    assert reply.json()["errors"][0]["message"] == "is 40000 × 40000 pixels: send a smaller image"


@pytest.mark.parametrize("body", [{}, {"field": "file"}, upload(field="other"), {**upload(), "data": "…"}, upload(x=1)])
async def test_a_call_that_is_no_upload_says_what_is_wrong(world: World, body: dict[str, Any]) -> None:
    request = await asked(world)
    reply = await world.client().post(f"/v1/requests/{request.id}/attachments", json=body)
    assert reply.status_code == 422
    assert reply.json()["errors"][0]["field"] in ("field", "name", "data", "x")


class Received(TypedDict, total=False):
    content: str


async def receive(state: Received) -> Received:
    request = ask("Receipt?", form=Form([Attachment("file", required=True)]))
    return {"content": (await attachment(request, "file")).decode()}


async def test_a_node_reads_what_was_attached(store_url: str) -> None:
    graph = StateGraph(Received).add_node(receive).add_edge(START, "receive").compile()
    async with open_world(store_url, more_agents=[Agent("receiver", graph, output=dict)]) as world:
        ann = world.client()
        started = await ann.post("/v1/threads/t1/runs", json={"agent": "receiver", "input": {}})
        assert started.status_code == 202

        async def thread() -> dict[str, Any]:
            found: dict[str, Any] = (await ann.get("/v1/threads/t1")).json()
            return found

        async def is_now(status: str) -> bool:
            return bool((await thread())["status"] == status)

        await until(lambda: is_now("interrupted"))
        (pending,) = (await thread())["pending"]
        request = await world.inbox.get(pending["id"])
        await send(ann, request, (await attach(ann, request)).json())
        await until(lambda: is_now("done"))
        assert (await thread())["values"] == {"content": TEXT.decode()}
