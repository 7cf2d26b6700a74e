"""The server reports a notifier that does not answer, and the store as healthy."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import ringi as command
from tests.servers import free_port

import ringi
from ringi.base.settings import SettingError
from ringi.errors import UnavailableError

NAMED = r"the notifier of RINGI_REDIS_URL is unavailable \(.*connect"


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_REDIS_URL", f"redis://ann:s3cret@127.0.0.1:{free_port()}")


async def test_who_needs_it_hears_that_it_is_away(absent: None, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=NAMED) as refused:
        async with ringi.open(f"sqlite:///{tmp_path}/r.db", notify="pubsub"):
            pass
    assert "store" not in str(refused.value)
    assert "s3cret" not in str(refused.value)


async def test_who_does_without_it_reads_so_in_the_log(
    absent: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with ringi.open(f"sqlite:///{tmp_path}/r.db", poll_interval=0.05) as inbox:
        request = await inbox.ask("Go?")
        assert (await inbox.get(request.id)).status == "pending"
    warnings = [record.getMessage() for record in caplog.records if "unavailable" in record.getMessage()]
    assert warnings
    assert all("the notifier of RINGI_REDIS_URL is unavailable" in message for message in warnings)
    assert "the store is unavailable" not in caplog.text


def test_the_command_line_says_the_same(absent: None, tmp_path: Path) -> None:
    done = command(Desk(tmp_path), "ask", "Go?")
    assert done.returncode == 0
    assert "the store is unavailable" not in done.stderr


async def test_a_url_of_a_notifier_that_is_none_names_its_setting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RINGI_REDIS_URL", "nonsense")
    with pytest.raises(SettingError, match=r"^RINGI_REDIS_URL="):
        async with ringi.open(f"sqlite:///{tmp_path}/r.db"):
            pass


async def test_an_absent_redis_that_is_the_store_is_called_the_store() -> None:
    with pytest.raises(UnavailableError, match="the store is unavailable"):
        async with ringi.open(f"redis://127.0.0.1:{free_port()}"):
            pass
