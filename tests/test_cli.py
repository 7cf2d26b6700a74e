"""The command, run as a person runs it: as a process of its own."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ENTRY = "from ringi.cli import main; main()"
Ringi = Callable[..., subprocess.CompletedProcess[str]]


def environment(home: Path) -> dict[str, str]:
    """Return an environment whose Ringi lives in this folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
    return kept | {"RINGI_HOME": str(home), "COLUMNS": "200"}


@pytest.fixture
def ringi(tmp_path: Path) -> Ringi:
    """Run one command in a folder of its own."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", ENTRY, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True, timeout=40, check=False
        )

    return run


def data(done: subprocess.CompletedProcess[str]) -> Any:
    """Return what a command printed as JSON; it must have gone well."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """Fail unless the command said in one line what is wrong."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def test_a_question_is_asked_listed_shown_answered_and_verified(ringi: Ringi, tmp_path: Path) -> None:
    (tmp_path / "form.json").write_text('{"fields": [{"name": "why", "type": "text", "required": true}]}')
    asked = data(ringi("ask", "Shall we?", "--form", "form.json", "--json"))
    listed = data(ringi("list", "--json"))
    assert [item["id"] for item in listed["items"]] == [asked["id"]]
    assert data(ringi("show", asked["id"], "--json")) == asked
    assert_refused(ringi("respond", asked["id"], "approve", "--data", "{}"), 1, "why")
    answered = data(ringi("respond", asked["id"], "approve", "--data", '{"why": "because"}', "--json"))
    assert (answered["status"], answered["response"]["data"]) == ("completed", {"why": "because"})
    assert answered["response"]["channel"] == "cli"
    assert data(ringi("list", "--json"))["items"] == []
    assert data(ringi("verify", "--json")) == {"events": 2, "findings": []}


def test_asking_with_wait_returns_the_answer_of_another_process(ringi: Ringi, tmp_path: Path) -> None:
    command = [sys.executable, "-c", ENTRY, "ask", "Really?", "--wait", "--json"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, text=True
    ) as asking:
        while not (items := data(ringi("list", "--json"))["items"]):
            assert asking.poll() is None
        data(ringi("respond", items[0]["id"], "respond", "--message", "yes, really", "--json"))
        said, _ = asking.communicate(timeout=20)
    assert json.loads(said)["response"]["message"] == "yes, really"


def test_verify_fails_when_somebody_edited_the_file(ringi: Ringi, tmp_path: Path) -> None:
    asked = data(ringi("ask", "Pay 40?", "--json"))
    with sqlite3.connect(tmp_path / "ringi.db") as connection:
        connection.execute("UPDATE requests SET body = replace(body, 'Pay 40?', 'Pay 90?')")
    connection.close()
    done = ringi("verify", "--json")
    assert done.returncode == 1
    assert [(f["key"][1], f["what"]) for f in json.loads(done.stdout)["findings"]] == [
        (asked["id"], "title is not what its events say")
    ]


def test_a_token_says_what_it_was_made_for(ringi: Ringi) -> None:
    made = data(ringi("token", "create", "--role", "person", "--name", "ann", "--groups", "a, b", "--json"))
    assert (made["role"], made["name"], made["groups"]) == ("person", "ann", ["a", "b"])
    assert made["token"].count(".") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("show", "nothing-like-this"), 1, "nothing-like-this"),
        (("respond", "x", "approve", "--data", "{"), 1, "data"),
        (("ask", ""), 1, "title"),
        (("ask", "T", "--form", "missing.json"), 1, "missing.json"),
        (("list", "--url", "mysql://localhost/x"), 2, "sqlite"),
        (("serve", "--agents", "no.such.module"), 2, "no.such.module"),
        (("serve", "--host", "0.0.0.0", "--no-auth", "--port", "0"), 2, "127.0.0.1"),
        (("token", "create", "--role", "king", "--name", "x"), 2, "king"),
        (("nonsense",), 2, "nonsense"),
    ],
)
def test_a_wrong_call_is_told_in_a_line(ringi: Ringi, arguments: tuple[str, ...], code: int, word: str) -> None:
    assert_refused(ringi(*arguments), code, word)


def test_a_port_in_use_is_told_in_a_line(ringi: Ringi) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert_refused(ringi("serve", "--port", str(taken.getsockname()[1])), 2, "--port")


def test_what_an_agent_wrote_cannot_move_the_cursor_of_a_terminal(ringi: Ringi) -> None:
    data(ringi("ask", "harmless\x1b[2J\u202etxt", "--json"))
    shown = ringi("list").stdout
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    assert "\\u{1b}" in shown
