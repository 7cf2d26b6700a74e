"""What people try first and is not so: each guess is refused with the right word, or works."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import refused, ringi

SCHEMA = {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]}


def test_an_action_with_arguments_is_no_name(desk: Desk) -> None:
    why = refused(desk, 2, "ask", "Pay?", "--action", 'refund={"order": 1}')

    assert "--args" in why
    assert json.loads(ringi(desk, "list", "--json").stdout)["items"] == []


def test_a_json_schema_is_a_form(desk: Desk) -> None:
    file = desk.folder / "schema.json"
    file.write_text(json.dumps(SCHEMA))

    asked = json.loads(ringi(desk, "ask", "Why?", "--form", str(file), "--json").stdout)

    assert (asked["schema"], asked["form"]) == (SCHEMA, None)


def test_a_folder_is_no_store(desk: Desk) -> None:
    assert "is a folder: name a file in it" in refused(desk, 2, "list", "--url", f"sqlite:///{desk.folder}")
    assert "sqlite:///file.db" in refused(desk, 2, "list", "--url", str(desk.folder))


def test_a_tilde_is_the_home_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(desk.folder))
    assert ringi(desk, "ask", "Pay?", "--url", "sqlite:///~/own.db").returncode == 0

    assert "Pay?" in ringi(desk, "list", "--url", "sqlite:///~/own.db").stdout
    assert (desk.folder / "own.db").exists()


def test_a_file_that_one_may_not_write_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ringi(desk, "ask", "Pay?")
    # The superuser may write everything.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).suffix != ".db" or mode != os.W_OK)

    assert "is not writable by this user" in refused(desk, 2, "list")


def test_agents_are_named_as_python_imports_them(desk: Desk) -> None:
    assert "without .py: my.shop:agents" in refused(desk, 2, "worker", "--agents", "my/shop.py:agents")


def test_webhooks_are_a_list(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_WEBHOOKS", '{"name": "a", "url": "https://example.com"}')

    assert "it is not a list" in refused(desk, 2, "webhooks", "test")


def test_a_private_receiver_names_the_setting_that_allows_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = ringi(desk, "secret", "create").stdout.strip()
    receiver = {"name": "here", "url": "http://127.0.0.1:9/hook", "secrets": [secret]}
    monkeypatch.setenv("RINGI_WEBHOOKS", json.dumps([receiver]))

    assert "RINGI_WEBHOOK_ALLOW" in ringi(desk, "webhooks", "test").stdout


def test_json_is_the_same_in_each_code_page(desk: Desk) -> None:
    done = ringi(desk, "ask", "遅れ 🎉 \u202e", "--json")

    assert done.stdout.isascii()
    assert json.loads(done.stdout)["title"] == "遅れ 🎉 \u202e"


def test_an_unknown_setting_is_warned_of(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RINGI_PUBLIC_URI", "https://example.com")
    monkeypatch.setenv("RINGI_SECRET_FILE", "/run/secret")
    ringi(desk, "list")

    warnings = [record.message for record in caplog.records if "no setting" in record.message]
    assert warnings == ["RINGI_PUBLIC_URI is no setting of Ringi and has no effect: did you mean RINGI_PUBLIC_URL?"]
