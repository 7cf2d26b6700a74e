"""An inbox of a test's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.desk import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty inbox in a folder."""
    desk = Desk(tmp_path)
    desk.work(lambda inbox: inbox.find())
    return desk
