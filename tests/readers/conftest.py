from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.acceptance.demo_server import DemoServer


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A demo that stays up."""
    with DemoServer(tmp_path_factory.mktemp("house")) as server:
        yield server
