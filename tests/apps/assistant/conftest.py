"""The stores on which conversations are tested."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A fresh SQLite file."""
    return f"sqlite:///{tmp_path / 'ringi.db'}"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store."""
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'ringi.db'}"
