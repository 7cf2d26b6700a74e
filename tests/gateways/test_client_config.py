"""Changes of the configuration of clients: shown first, written whole, and nothing else in the file is lost."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from ringi.base.settings import SettingError
from ringi.gateways.client_config import FileChange, change_json_config, change_toml_config

JSON = '{\n    "model": "opus",\n    "hooks": {"Stop": []},\n    "名": "承認"\n}\n'
TOML = '# mine\nmodel = "x"\n\n[mcp_servers.git]\ncommand = "git"  # stays\n\n[tui]\ntheme = "dark"\n'
SERVER = {"command": "ringi", "args": ["gate", "--policy", "p.toml"], "env": {"RINGI_URL": "http://x"}}


def add_server(settings: dict[str, Any]) -> dict[str, Any]:
    settings.setdefault("mcpServers", {})["ringi"] = SERVER
    return settings


def test_json_keeps_other_settings_their_order_and_the_indentation(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(JSON)
    change = change_json_config(path, add_server)
    assert path.read_text() == JSON
    assert '+    "mcpServers": {' in change.diff
    assert '-    "model"' not in change.diff
    change.write()
    assert list(json.loads(path.read_text())) == ["model", "hooks", "名", "mcpServers"]
    assert "承認" in path.read_text()
    assert '\n    "model"' in path.read_text()
    assert not change_json_config(path, add_server).diff


def test_toml_keeps_comments_and_other_tables_and_removes_only_its_own(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text(TOML)
    change_toml_config(path, "mcp_servers", "ringi", SERVER).write()
    text = path.read_text()
    assert all(part in text for part in ("# mine", 'command = "git"  # stays', "[mcp_servers.ringi]"))
    assert not change_toml_config(path, "mcp_servers", "ringi", SERVER).diff
    change_toml_config(path, "mcp_servers", "ringi", None).write()
    assert path.read_text() == TOML


@pytest.mark.parametrize("text", ["{", "[1]", '{"a": 1, "a": 2}', '// a comment\n{"a": 1}', "\ufeff{}"])
def test_a_file_that_is_not_a_json_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(SettingError, match="correct it first"):
        change_json_config(path, add_server)
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["a =", "a = 1\na = 2", "mcp_servers = 3"])
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.toml"
    path.write_text(text)
    with pytest.raises(SettingError, match="correct it first"):
        change_toml_config(path, "mcp_servers", "ringi", SERVER)
    assert path.read_text() == text


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(SettingError, match="UTF-8"):
        change_json_config(path, add_server)


def test_a_file_that_changed_in_between_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    change = change_json_config(path, add_server)
    path.write_text('{"model": "opus"}')
    with pytest.raises(SettingError, match="has changed"):
        change.write()
    assert path.read_text() == '{"model": "opus"}'


def test_a_linked_file_stays_a_link_and_keeps_its_permissions(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "home" / "settings.json"
    real.parent.mkdir()
    link.parent.mkdir()
    real.write_text("{}")
    real.chmod(0o640)
    link.symlink_to(real)
    change_json_config(link, add_server).write()
    assert link.is_symlink()
    assert json.loads(real.read_text())["mcpServers"]
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert list(real.parent.iterdir()) == [real]


def test_a_failed_write_leaves_the_file_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")

    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space"):
        FileChange(path, "{}", '{"a": 1}').write()
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "{}"
