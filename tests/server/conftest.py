from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.server.world import World, open_world


@pytest.fixture(params=["memory", "sqlite"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each store that needs no server."""
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    """A server that is called without a network."""
    async with open_world(store_url) as world:
        yield world


@pytest.fixture
async def live(store_url: str) -> AsyncIterator[World]:
    """A server on a port."""
    async with open_world(store_url, serves=True) as world:
        yield world
