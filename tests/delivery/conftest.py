from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from tests.delivery.certificates import Authority


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each store."""
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    if request.param == "redis":
        return f"{request.getfixturevalue('durable_redis_url')}?prefix=t{uuid.uuid4().hex}"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """An authority that is trusted here."""
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.path))
    return authority
