"""What scripts need: ids and groups, quiet output, exit codes, reads that create nothing, and no stack trace ever."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.desk import Desk
from tests.cli.test_commands import Done, output_of, printed, refused, ringi
from tests.tiers import examples

from ringi import Action
from ringi.cli.app import app
from ringi.cli.format.requests import age_text
from ringi.domain.request import Request

READS = [
    ("list",),
    ("show", "x"),
    ("runs",),
    ("deliveries",),
    ("watch", "--json"),
    ("respond", "x", "approve"),
    ("claim", "x"),
    ("cancel", "x"),
    ("retry", "x"),
    ("redeliver", "x"),
    ("erase", "x"),
]
USAGE = [
    ("respond", "q1", "perhaps"),
    ("respond", "q1", "approve", "--data", "{"),
    ("respond", "q1", "approve", "--data", "[1]"),
    ("ask", " "),
    ("ask", "Go?", "--args", "{}"),
    ("ask", "Go?", "--action", "x", "--args", "[]"),
    ("ask", "Go?", "--id", "no spaces"),
    ("ask", "Go?", "--expires-in", "-1"),
    ("ask", "Go?", "--form", "missing.json"),
    ("list", "--cursor", "x"),
    ("list", "--limit", "0"),
    ("list", "--kind", "strange"),
    ("list", "--url", "ftp://x"),
    ("runs", "--cursor", "x"),
    ("reassign", "q1"),
    ("erase",),
    ("token", "show", "root"),
    ("token", "revoke"),
    ("nothing",),
]
ODD = [
    "",
    " ",
    "-",
    "--",
    "-1",
    "0",
    "x" * 20_000,
    "💥" * 300,
    "\u202e\x1b[2J",
    "../../etc/passwd",
    "a/b",
    "%00",
    "NaN",
    "1e999",
    "-1e999",
    "null",
    "{}",
    "[" * 3_000,
    '{"a":' * 2_000,
    '{"x":1e999}',
    '{"__proto__":{}}',
    "sqlite://",
    "sqlite:///",
    "foo://",
    "9" * 400,
    "é\u0301",
    "\udcff",
]


def test_a_question_is_asked_once_under_an_id_for_groups_and_quietly(desk: Desk) -> None:
    words = ("ask", "Go?", "--id", "q1", "--groups", "finance,legal")
    assert output_of(desk, *words, "--quiet") == "q1\n"
    again = printed(desk, *words)
    assert (again["id"], again["groups"]) == ("q1", ["finance", "legal"])
    assert "q1" in refused(desk, 1, "ask", "Something else?", "--id", "q1")
    assert len(printed(desk, "list")["items"]) == 1


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_a_wrong_call_exits_with_2(desk: Desk, arguments: tuple[str, ...]) -> None:
    assert ringi(desk, *arguments).returncode == 2


def test_an_answer_that_the_request_does_not_take_is_a_failure(desk: Desk) -> None:
    asked = desk.ask("Go?", action=Action("go", {}))
    assert "data" in refused(desk, 1, "respond", asked.id, "approve", "--data", '{"a": 1}')


@pytest.mark.parametrize("arguments", READS, ids=" ".join)
def test_a_read_creates_nothing_where_no_store_is(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = ringi(Desk(tmp_path / "home"), *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no store" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_list_shows_age_agent_and_priority(desk: Desk) -> None:
    printed(desk, "ask", "Go?", "--name", "agent:bot", "--priority", "urgent")
    printed(desk, "ask", "Stay?", "--name", "olga")
    head, stay, go = output_of(desk, "list").splitlines()
    assert head.split() == ["id", "kind", "status", "age", "agent", "priority", "title"]
    assert go.split()[-3:] == ["bot", "urgent", "Go?"]
    assert stay.split()[-3:] == ["olga", "normal", "Stay?"]


def test_approved_calls_that_are_not_executed_are_listed_until_their_outcome_is_reported(desk: Desk) -> None:
    asked = desk.ask("Go?", action=Action("go", {}))
    assert "wait for the approval" in refused(desk, 1, "outcome", asked.id, "committed")
    desk.respond(asked, "approve", "ann")
    desk.ask("Stay?")
    _, row = output_of(desk, "list", "--not-executed").splitlines()
    assert row.split()[0] == asked.id
    output_of(desk, "outcome", asked.id, "failed", "--name", "bot")
    assert desk.get(asked).outcome == "failed"
    assert "the call failed" in output_of(desk, "show", asked.id)
    assert asked.id not in output_of(desk, "list", "--not-executed")
    assert "done" in refused(desk, 2, "outcome", asked.id, "done")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59, "59 s"), (60, "1 min"), (3_599, "59 min"), (7_300, "2 h"), (200_000, "2 d")]
)
def test_an_age_is_in_its_largest_unit(desk: Desk, seconds: int, words: str) -> None:
    asked: Request = desk.ask("Go?")
    assert age_text(asked.created_at, asked.created_at + timedelta(seconds=seconds)) == words


def test_the_token_of_a_role_is_shown_as_the_server_wrote_it(desk: Desk) -> None:
    assert "no server has run" in refused(desk, 2, "token", "show", "agent")
    tokens = {"url": "http://127.0.0.1:1", "agent": "a", "person": "p", "admin": "r"}
    (desk.folder / "tokens.json").write_text(json.dumps(tokens))
    assert output_of(desk, "token", "show", "person") == "p\n"
    assert printed(desk, "token", "show", "admin") == {"role": "admin", "token": "r", "url": "http://127.0.0.1:1"}
    (desk.folder / "tokens.json").write_text("[")
    assert "has no token of this role" in refused(desk, 2, "token", "show", "agent")


def commands() -> list[tuple[tuple[str, ...], Any]]:
    """Return every command that ends by itself, with its parameters."""
    found: list[tuple[tuple[str, ...], Any]] = []
    root: Any = typer.main.get_command(app)
    for name, command in root.commands.items():
        parts = getattr(command, "commands", {})
        found += [((name, part), each) for part, each in parts.items()] if parts else [((name,), command)]
    others = ("demo", "serve", "worker", "watch", "mcp", "gate", "acp", "hook")
    return [(name, command) for name, command in found if name[0] not in others]


def test_every_command_prints_json() -> None:
    assert [name for name, command in commands() if "--json" not in {o for p in command.params for o in p.opts}] == []


@pytest.mark.parametrize(
    ("name", "command"), commands(), ids=lambda each: " ".join(each) if isinstance(each, tuple) else ""
)
def test_odd_arguments_get_an_error_and_never_a_stack_trace(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: tuple[str, ...], command: Any
) -> None:
    monkeypatch.chdir(desk.folder)
    chance = random.Random(" ".join(name))
    desk.ask("Go?", action=Action("go", {"a": 1}), id="q1")
    options = [max(p.opts, key=len) for p in command.params if p.param_type_name == "option" and not p.is_flag]
    values = [p for p in command.params if p.param_type_name == "argument"]
    for odd in chance.sample(ODD, examples(9)):
        arguments = [chance.choice([odd, "q1"]) for _ in values]
        chosen = [part for option in chance.sample(options, min(2, len(options))) for part in (option, odd)]
        done: Done = ringi(desk, *name, *arguments, *chosen)
        assert done.returncode in (0, 1, 2), (arguments, chosen, done)
        assert "Traceback" not in done.stderr, (arguments, chosen)
        assert not done.stderr.startswith("error: unexpected"), (arguments, chosen, done.stderr)
