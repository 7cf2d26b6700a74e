from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import CLIENTS, WAYS, Desks, opened


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server in a process of its own."""
    with DemoServer(tmp_path_factory.mktemp("server"), "serve") as server:
        yield server


@pytest.fixture(params=WAYS)
async def desks(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desks]:
    """The desks of three people, on each way to the verbs."""
    server = request.getfixturevalue("server") if request.param in CLIENTS else None
    async with opened(request.param, tmp_path, server) as desks:
        yield desks
