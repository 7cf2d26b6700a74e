"""The command line, run in a separate process as a person runs it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import warm

from ringi import open as open_inbox
from ringi.cli.commands.serve import load_agents

ENTRY = "from ringi.cli import main; main()"
BARE = f"""
import sys
for name in ("langchain", "langchain_core", "langgraph"):
    sys.modules[name] = None
{ENTRY}
"""
Ringi = Callable[..., subprocess.CompletedProcess[str]]


def environment(home: Path) -> dict[str, str]:
    """Return an environment whose Ringi lives in this folder."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
    return variables | {"RINGI_HOME": str(home), "COLUMNS": "200"}


@pytest.fixture
def ringi(tmp_path: Path) -> Ringi:
    """Run one command in a folder of its own."""
    return lambda *arguments, **settings: warm.ringi(arguments, tmp_path, environment(tmp_path) | settings)


@pytest.fixture
def bare(tmp_path: Path) -> Ringi:
    """Run one command where LangGraph is not installed."""
    return ringi_in(tmp_path, BARE)


def ringi_in(folder: Path, entry: str) -> Ringi:
    """Return what runs one command in a folder."""

    def run(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
        command, env = [sys.executable, "-c", entry, *arguments], environment(folder) | settings
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=40, check=False)

    return run


@contextmanager
def started(folder: Path, *arguments: str, entry: str = ENTRY) -> Iterator[subprocess.Popen[str]]:
    """Start a command in a folder; it does not outlive the block."""
    command = [sys.executable, "-c", entry, *arguments]
    with subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def data(done: subprocess.CompletedProcess[str]) -> Any:
    """Return what a command printed as JSON; it must have gone well."""
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """Fail unless the command said in one line what is wrong."""
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(("error: ", "Usage: "))
    assert not done.stderr.startswith("error: ") or done.stderr.count("\n") == 1
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


@pytest.mark.parametrize(
    ("asked", "answer", "code", "outcome"),
    [
        ((), ("respond", "--message", "yes"), 0, "respond"),
        ((), ("reject",), 1, "reject"),
        (("--action", "deploy", "--args", '{"to": "live"}'), ("approve",), 0, "approve"),
        (("--action", "deploy", "--args", '{"to": "live"}'), ("edit", "--args", '{"to": "test"}'), 1, "edit"),
        (("--action", "deploy"), ("reject", "--message", "not today"), 1, "reject"),
    ],
)
def test_asking_with_wait_prints_the_answer_and_succeeds_only_on_a_yes(
    ringi: Ringi, tmp_path: Path, asked: tuple[str, ...], answer: tuple[str, ...], code: int, outcome: str
) -> None:
    assert data(ringi("migrate", "--json"))["before"] == "empty"
    with started(tmp_path, "ask", "Really?", *asked, "--wait") as asking:
        while not (items := data(ringi("list", "--json"))["items"]):
            assert asking.poll() is None
        data(ringi("respond", items[0]["id"], *answer, "--json"))
        output, _ = asking.communicate(timeout=20)
    assert asking.returncode == code
    assert f"completed  {outcome} by " in output


def test_asking_with_wait_fails_when_nobody_answers(ringi: Ringi) -> None:
    done = ringi("ask", "Deploy?", "--expires-in", "0.2", "--wait")
    assert done.returncode == 1
    assert done.stdout.endswith("  expired\n")


def test_asking_with_wait_fails_when_the_question_is_withdrawn(ringi: Ringi, tmp_path: Path) -> None:
    async def withdraw() -> None:
        async with open_inbox(f"sqlite:///{tmp_path}/ringi.db") as inbox:
            while not (found := await inbox.find()):
                assert asking.poll() is None
            await inbox.cancel(found[0].id, by="ann")

    data(ringi("migrate", "--json"))
    with started(tmp_path, "ask", "Deploy?", "--wait") as asking:
        asyncio.run(withdraw())
        output, _ = asking.communicate(timeout=20)
    assert (asking.returncode, output.split()[1]) == (1, "cancelled")


def test_the_page_after_the_last_listed_request_has_a_cursor(ringi: Ringi) -> None:
    for title in ("One?", "Two?"):
        data(ringi("ask", title, "--json"))
    listed = data(ringi("list", "--limit", "1", "--json"))
    assert ([item["title"] for item in listed["items"]], listed["next"] is None) == (["Two?"], False)
    assert data(ringi("list", "--limit", "2", "--json"))["next"] is None


def test_requests_are_handled_without_langgraph(bare: Ringi) -> None:
    asked = data(bare("ask", "Pay?", "--action", "pay", "--args", '{"amount": 40}', "--json"))
    assert asked["action"]["args"] == {"amount": 40}
    assert [item["id"] for item in data(bare("list", "--json"))["items"]] == [asked["id"]]
    assert data(bare("show", asked["id"], "--json")) == asked
    assert data(bare("respond", asked["id"], "approve", "--json"))["status"] == "completed"
    assert data(bare("verify", "--json"))["findings"] == []
    assert data(bare("migrate", "--json"))["before"] == "current"
    assert data(bare("token", "create", "--role", "person", "--name", "ann", "--json"))["role"] == "person"


def test_a_server_without_agents_does_without_langgraph(tmp_path: Path) -> None:
    with started(tmp_path, "serve", "--port", "0", "--json", entry=BARE) as serving:
        assert serving.stdout
        url = json.loads(serving.stdout.readline())["url"]
        token = json.loads((tmp_path / "tokens.json").read_text())["person"]
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=20) as client:
            asked = client.post("/v1/requests", json={"title": "Go?"}).json()
            answer = {"decision": "respond", "message": "yes", "digest": asked["digest"]}
            assert client.post(f"/v1/requests/{asked['id']}/respond", json=answer).json()["status"] == "completed"
            assert client.get("/v1/agents").json()["items"] == []
            assert client.get("/v1/threads").json()["items"] == []
            assert client.get("/v1/operations").json()["items"] == []
            refused = client.post("/v1/threads/t/runs", json={"agent": "refund"})
            assert (refused.status_code, refused.json()["detail"]) == (404, "no agent 'refund'")


@pytest.mark.parametrize(
    "arguments",
    [("demo", "--model", "openai:gpt-5"), ("serve", "--agents", "mine"), ("worker", "--agents", "mine")],
    ids=lambda a: a[0],
)
def test_running_agents_without_langgraph_names_the_extra(
    bare: Ringi, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (tmp_path / "mine.py").write_text("from langgraph.graph import StateGraph\n")

    words = "demo" if arguments[0] == "demo" else "mine"
    assert_refused(bare(*arguments), 1, words, "pip install 'ringi[langgraph]'")


@pytest.mark.parametrize("command", [("serve", "--port", "0"), ("worker",)], ids=["serve", "worker"])
def test_agents_on_a_store_that_keeps_no_runs_are_refused_before_anything_is_open(
    ringi: Ringi, tmp_path: Path, durable_redis_url: str, command: tuple[str, ...]
) -> None:
    (tmp_path / "ours.py").write_text("from ringi.demo.two_questions import agent as agents\n")
    done = ringi(*command, "--agents", "ours", RINGI_URL=durable_redis_url)

    assert (done.returncode, done.stdout) == (1, "")
    assert "agents and their threads need SQLite or PostgreSQL" in done.stderr


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("def (", ["SyntaxError"]),
        ("raise RuntimeError('no key')", ["RuntimeError", "no key"]),
        ("raise SystemExit(0)", ["SystemExit"]),
        ("agents = [1]", ["1 is no", "Agent"]),
        ("agents = None", ["None is no", "Agent"]),
        ("", ["agents"]),
    ],
)
def test_a_module_of_agents_that_is_wrong_is_told_in_a_line(
    ringi: Ringi, tmp_path: Path, module: str, words: list[str]
) -> None:
    (tmp_path / "mine.py").write_text(module)
    assert_refused(ringi("serve", "--agents", "mine", "--port", "0"), 2, "mine", *words)


@pytest.mark.parametrize("agents", ["[{}]", "{}", "lambda: [{}]"])
def test_a_module_may_hold_a_list_of_agents_an_agent_or_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, agents: str
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "some_agents", raising=False)
    wanted = agents.format('Agent("one", None)')
    (tmp_path / "some_agents.py").write_text(f"from ringi.runs.agent import Agent\nagents = {wanted}\n")
    assert [agent.name for agent in load_agents("some_agents")] == ["one"]
    del sys.modules["some_agents"]


@pytest.mark.parametrize(
    "arguments", [("token", "create", "--role", "admin", "--name", "ann"), ("serve", "--port", "0")]
)
def test_a_home_that_is_no_folder_is_told_in_a_line(ringi: Ringi, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "file").touch()
    assert_refused(ringi(*arguments, RINGI_HOME=str(tmp_path / "file")), 1, "RINGI_HOME", str(tmp_path / "file"))


def test_an_unknown_log_level_is_told_in_a_line(ringi: Ringi) -> None:
    assert_refused(ringi("list", RINGI_LOG="bogus"), 2, "RINGI_LOG='bogus'", "DEBUG")


def test_a_form_that_is_not_utf_8_is_told_in_a_line(ringi: Ringi, tmp_path: Path) -> None:
    (tmp_path / "form.json").write_bytes(b'{"fields": "\xff"}')
    assert_refused(ringi("ask", "T", "--form", "form.json"), 2, "form.json", "UTF-8")


def test_what_nobody_expected_is_told_in_a_line_and_in_full_at_debug(tmp_path: Path) -> None:
    broken = f"import json\njson.dumps = None\n{ENTRY}"
    short = ringi_in(tmp_path, broken)("ask", "T", "--json")
    assert_refused(short, 1, "unexpected TypeError", "RINGI_LOG=DEBUG")
    assert "Traceback" in ringi_in(tmp_path, broken)("ask", "T", "--json", RINGI_LOG="debug").stderr


@pytest.mark.parametrize("command", ["demo", "serve"])
def test_the_printed_link_answers_on_another_address_with_its_own_limits(tmp_path: Path, command: str) -> None:
    options = ["--host", "127.0.0.2", "--port", "0", "--max-fields", "6", "--poll-interval", "0.1", "--json"]
    with started(tmp_path, command, *options) as serving:
        assert serving.stdout
        url = json.loads(serving.stdout.readline())["url"]
        token = json.loads((tmp_path / "tokens.json").read_text())["admin"]
        with httpx.Client(base_url=url, headers={"authorization": f"Bearer {token}"}) as http:
            codes = [http.post("/v1/requests", json=with_fields(count)).status_code for count in (6, 7)]
        serving.terminate()
        serving.communicate(timeout=20)
    assert codes == [201, 422]


def with_fields(count: int) -> dict[str, Any]:
    """Return an ask with so many fields."""
    return {"title": "T", "form": {"fields": [{"name": f"f{n}", "type": "text"} for n in range(count)]}}


def test_verify_fails_when_somebody_edited_the_file(ringi: Ringi, tmp_path: Path) -> None:
    asked = data(ringi("ask", "Pay 40?", "--json"))
    with sqlite3.connect(tmp_path / "ringi.db") as connection:
        connection.execute("UPDATE requests SET body = replace(body, 'Pay 40?', 'Pay 90?')")
    connection.close()
    done = ringi("verify", "--json")
    assert done.returncode == 1
    assert (asked["id"], "title is not what its events say") in [
        (finding["key"][1], finding["what"]) for finding in json.loads(done.stdout)["findings"]
    ]


def test_verify_holds_the_trail_against_seals(ringi: Ringi, tmp_path: Path) -> None:
    data(ringi("ask", "Pay 40?", "--json"))
    seals = tmp_path / "seals.jsonl"
    seals.write_text('{"count":1,"head":"0","position":"1","at":"2026-11-22T00:00:00Z","signature":"forged"}\n')
    done = ringi("verify", "--expect", str(seals), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["seals"] == {
        "findings": ["the seal of 2026-11-22 00:00:00 over 1 events is not by this key"], "sealed": 0, "later": 1,
    }  # fmt: skip


def test_a_token_says_what_it_was_made_for(ringi: Ringi) -> None:
    made = data(ringi("token", "create", "--role", "person", "--name", "ann", "--groups", "a, b", "--json"))
    assert (made["role"], made["name"], made["groups"]) == ("person", "ann", ["a", "b"])
    assert made["token"].count(".") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (("show", "nothing-like-this"), 1, "no store"),
        (("respond", "x", "approve", "--data", "{"), 2, "data"),
        (("ask", ""), 2, "title"),
        (("ask", "T", "--form", "missing.json"), 2, "missing.json"),
        (("list", "--url", "mysql://localhost/x"), 2, "sqlite"),
        (("serve", "--agents", "no.such.module"), 2, "no.such.module"),
        (("serve", "--host", "0.0.0.0", "--no-auth", "--port", "0"), 2, "127.0.0.1"),
        (("token", "create", "--role", "king", "--name", "x"), 2, "king"),
        (("serve", "--host", "192.0.2.1", "--port", "0"), 2, "host='192.0.2.1'"),
        (("demo", "--host", "no.such.host.invalid", "--port", "0"), 2, "host='no.such.host.invalid'"),
        (("serve", "--poll-interval", "0", "--port", "0"), 2, "poll_interval"),
        (("list", "--status", "bogus"), 2, "pending"),
        (("ask", "T", "--args", "{}"), 2, "--action"),
        (("ask", "T", "--action", "pay", "--args", "[]"), 2, "args"),
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
    output = ringi("list").stdout
    assert "\x1b[2J" not in output
    assert "\u202e" not in output
    assert "\\u{1b}" in output
