"""LangGraph's tools show what a request displays as text, under the digest of which people answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.domain.test_display import BLOCKS
from tests.server.world import World, open_world

from ringi.protocols.langgraph_api.routes import EXTENSION


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with open_world("memory://", extensions=[EXTENSION]) as world:
        yield world


def descriptions(value: Any) -> list[str]:
    """Return all descriptions in a reply."""
    if isinstance(value, dict):
        own = [value["description"]] if isinstance(value.get("description"), str) else []
        return own + [each for inner in value.values() for each in descriptions(inner)]
    return [each for inner in value for each in descriptions(inner)] if isinstance(value, list) else []


@pytest.mark.parametrize("path", ["", "/state"])
@pytest.mark.parametrize("action", [None, {"name": "refund", "args": {"order": 1182}}])
async def test_every_block_is_told_in_the_description(world: World, path: str, action: Any) -> None:
    blocks = [block.model_dump(mode="json") for block in BLOCKS]
    request = await world.asked(display=blocks, **({"action": action} if action else {}))
    reply = (await world.client().get(f"/langgraph/threads/request:{request.id}{path}")).json()
    found = descriptions(reply)
    assert found
    description = found[0]
    for part in ("c-77", "4000", "The damaged parcel", "WHERE id = 1182", "14 days", "https://example.com/t/1?a=b"):
        assert part in description, part
    assert f"Images are displayed only on Ringi's own page: /r/{request.id}" in description
    assert blocks[1]["data"] not in json.dumps(reply)
