"""Replies are compressed where that pays: a list is, a small reply and an event stream are not."""

from __future__ import annotations

import asyncio
import gzip
import json

import httpx
import pytest
from tests.server.world import LIMIT, World

LIST = "/v1/requests?limit=100"


async def raw(client: httpx.AsyncClient, path: str, accepts: str) -> tuple[httpx.Headers, bytes]:
    """Return the headers and the bytes of a reply as they come over the network."""
    async with client.stream("GET", path, headers={"accept-encoding": accepts}) as reply:
        assert reply.status_code == 200
        return reply.headers, b"".join([part async for part in reply.aiter_raw()])


async def test_a_list_is_compressed_for_callers_that_can_read_it(live: World) -> None:
    for number in range(100):
        await live.asked(title=f"Refund order {number}?", action={"name": "refund", "args": {"order": number}})
    client = live.client()
    headers, packed = await raw(client, LIST, "gzip")
    assert headers["content-encoding"] == "gzip"
    assert "accept-encoding" in headers["vary"].lower()
    assert int(headers["content-length"]) == len(packed)
    plain_headers, plain = await raw(client, LIST, "identity")
    assert "content-encoding" not in plain_headers
    assert len(packed) * 5 < len(plain)
    assert json.loads(gzip.decompress(packed)) == json.loads(plain)


async def test_a_small_reply_is_not_compressed(live: World) -> None:
    request = await live.asked()
    headers, body = await raw(live.client(), f"/v1/requests/{request.id}", "gzip")
    assert "content-encoding" not in headers
    assert json.loads(body)["id"] == request.id


@pytest.mark.parametrize("path", ["/v1/events?after=0", "/v1/requests/long/events"])
async def test_the_first_event_of_a_stream_arrives_at_once_and_uncompressed(live: World, path: str) -> None:
    await live.asked(id="long", description="a long text " * 800)
    async with (
        asyncio.timeout(LIMIT),
        live.client().stream("GET", path, headers={"accept-encoding": "gzip"}) as reply,
    ):
        assert reply.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in reply.headers
        found = b""
        async for part in reply.aiter_raw():
            found += part
            if b"a long text" in found and b"event: request.created" in found:
                break
