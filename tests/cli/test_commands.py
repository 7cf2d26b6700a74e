"""Every command: what it prints as JSON and for people, its exit code, and how it fails."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.desk import Desk
from tests.cli.terminal import ENTRY, terminal
from typer.testing import CliRunner

from ringi import Action, Attachment, Form, Text
from ringi.base.clock import utc_now
from ringi.base.settings import Settings
from ringi.cli.app import app, run_command_line
from ringi.connect import open_backend
from ringi.contracts.store import change_record
from ringi.domain.record import Key
from ringi.domain.thread import Failure, Run, Thread

EVIL = "x\x1b]0;pwned\x07\x1b[2J\u202egnp\u200b\x9b7m\u2066y [/] [link=http://e]l[/link]"


class Done(NamedTuple):
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def ringi(desk: Desk, *arguments: str) -> Done:
    """Run one command on the desk's store, in this process: a hundred new ones would take minutes."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setenv("RINGI_HOME", str(desk.folder))
        patch.delenv("RINGI_URL", raising=False)
        patch.setattr(sys, "argv", ["ringi", *arguments])
        # Otherwise the help names the module of the tests as the command.
        patch.setattr(sys.modules["__main__"], "__package__", None, raising=False)
        with pytest.raises(SystemExit) as ended:
            run_command_line()
    return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def command(desk: Desk, *arguments: str, **settings: str) -> tuple[list[str], dict[str, str]]:
    """Return a command for a process of its own, and its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}
    return [sys.executable, "-c", ENTRY, *arguments], environment | {"RINGI_HOME": str(desk.folder)} | settings


def printed(desk: Desk, *arguments: str) -> Any:
    """Return what a command printed as JSON; it must have gone well, in one line."""
    done = ringi(desk, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def output_of(desk: Desk, *arguments: str) -> str:
    """Return what a command printed for people; it must have gone well."""
    done = ringi(desk, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(desk: Desk, code: int, *arguments: str) -> str:
    """Return the one line in which a command said why it failed."""
    done = ringi(desk, *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith(("error: ", "Usage: "))
    assert done.stderr.count("\n") == 1 or done.stderr.startswith("Usage: ")
    return done.stderr


def failed_thread(desk: Desk, id: str) -> None:
    """Store a thread whose run has failed."""

    async def store() -> None:
        async with open_backend(desk.url) as backend:
            now = utc_now()
            await backend.store.put(*Thread.begun(id, "printer", Run(id="r1", input={}), by="ann", now=now))
            await change_record(
                backend.store, Thread, Key("default", id), lambda thread: thread.acquired("w", now, timedelta(1))
            )
            failure = Failure(message=f"no paper {EVIL}", code="error")
            await change_record(
                backend.store, Thread, Key("default", id), lambda thread: thread.failed(thread, now, failure)
            )

    asyncio.run(store())


def test_a_request_is_claimed_released_given_away_and_withdrawn(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=Action("refund", {"amount": 40}))
    assert printed(desk, "claim", asked.id, "--name", "ann")["claimed_by"] == "ann"
    assert "claimed by 'ann'" in refused(desk, 1, "claim", asked.id, "--name", "bob")
    assert "claimed by 'ann'" in refused(desk, 1, "respond", asked.id, "approve", "--name", "bob")
    assert printed(desk, "release", asked.id, "--name", "ann")["claimed_by"] is None
    assert "--to" in refused(desk, 2, "reassign", asked.id)
    assert printed(desk, "reassign", asked.id, "--to", "bob")["assignee"] == "bob"
    assert printed(desk, "reassign", asked.id, "--groups", "a, b", "--name", "bob")["groups"] == ["a", "b"]
    assert output_of(desk, "cancel", asked.id, "--reason", "no need", "--name", "ann") == f"{asked.id}  cancelled\n"
    ended = desk.get(asked)
    assert (ended.status, ended.reason, desk.events(asked)[-1].actor) == ("cancelled", "no need", "ann")
    assert "already cancelled" in refused(desk, 1, "cancel", asked.id)


def test_who_may_answer_holds_on_the_command_line(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=Action("refund", {"amount": 40}), groups=["finance"])
    mine = ("--groups", "finance, sales")
    for command in (("respond", asked.id, "approve"), ("claim", asked.id), ("release", asked.id)):
        why = refused(desk, 1, *command, "--name", "bob", "--groups", "sales")
        assert "is assigned to 'group:finance', not to 'bob': give the name of one of them, and their groups" in why
    assert "not to 'bob'" in refused(desk, 1, "reassign", asked.id, "--name", "bob", "--groups", "finance")
    assert printed(desk, "claim", asked.id, "--name", "ann", *mine)["claimed_by"] == "ann"
    assert printed(desk, "release", asked.id, "--name", "ann", *mine)["claimed_by"] is None
    moved = printed(desk, "reassign", asked.id, "--name", "ann", "--to", "cem", "--by-groups", "finance")
    assert moved["assignee"] == "cem"
    answer = ("respond", asked.id, "approve", "--name", "bob")
    assert "or a reason in `override`" in refused(desk, 1, *answer, "--message", "ok")
    done = printed(desk, *answer, "--override", "Cem is on a plane.")
    assert done["response"]["override"] == "Cem is on a plane."


def test_a_file_is_attached_with_the_answer(desk: Desk, tmp_path: Path) -> None:
    asked = desk.ask("Receipt?", form=Form([Attachment("receipt", required=True), Text("note")]))
    (tmp_path / "taxi.csv").write_text("a,b\n")
    answer = ("respond", asked.id, "approve", "--name", "ann", "--data", '{"note": "n"}', "--file")
    assert "write it as FIELD=PATH" in refused(desk, 2, *answer, "receipt")
    assert "cannot read" in refused(desk, 2, *answer, f"receipt={tmp_path}/none.csv")
    assert "'bill' is not a file field" in refused(desk, 1, *answer, f"bill={tmp_path}/taxi.csv")
    data = printed(desk, *answer, f"receipt={tmp_path}/taxi.csv")["response"]["data"]
    assert (data["note"], data["receipt"]["name"], data["receipt"]["media_type"]) == ("n", "taxi.csv", "text/csv")


def test_a_file_of_somebody_who_may_not_answer_is_refused_unless_it_comes_with_an_override(
    desk: Desk, tmp_path: Path
) -> None:
    asked = desk.ask("Receipt?", form=Form([Attachment("receipt", required=True)]), groups=["finance"])
    (tmp_path / "taxi.csv").write_text("a,b\n")
    answer = ("respond", asked.id, "approve", "--name", "bob", "--file", f"receipt={tmp_path}/taxi.csv")
    assert "not to 'bob'" in refused(desk, 1, *answer)
    done = printed(desk, *answer, "--override", "Cem is on a plane.")
    assert done["response"]["data"]["receipt"]["number"] == 1  # The refused file was not stored.


def test_an_answer_to_something_else_than_was_seen_is_refused(desk: Desk) -> None:
    asked = desk.ask("Refund?", action=Action("refund", {"amount": 40}))
    assert "does not match request" in refused(desk, 1, "respond", asked.id, "approve", "--digest", "sha256:00")
    answered = printed(desk, "respond", asked.id, "approve", "--digest", asked.digest, "--name", "bob")
    assert (answered["response"]["responder"], answered["response"]["channel"]) == ("bob", "cli")


def test_a_question_is_asked_with_all_that_belongs_to_it(desk: Desk) -> None:
    options = ("--description", "why", "--priority", "high", "--assignee", "bob", "--name", "agent:one")
    asked = printed(desk, "ask", "Really?", *options)
    assert {name: asked[name] for name in ("description", "priority", "assignee", "asked_by")} == {
        "description": "why",
        "priority": "high",
        "assignee": "bob",
        "asked_by": "agent:one",
    }


def test_a_question_is_asked_with_a_table_beside_it(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "blocks.json"
    file.write_text('[{"type": "table", "columns": ["customer", "amount"], "rows": [["c-77", 4000]]}]')
    asked = printed(desk, "ask", "Remind?", "--display", str(file))
    assert asked["display"][0]["rows"] == [["c-77", 4000]]
    assert "c-77 | 4000" in output_of(desk, "show", asked["id"])
    file.write_text('[{"type": "link", "url": "javascript:alert(1)"}]')
    assert "display.0.url" in refused(desk, 2, "ask", "Remind?", "--display", str(file))
    assert "display: cannot read" in refused(desk, 2, "ask", "Remind?", "--display", str(tmp_path / "none.json"))


def test_a_list_is_narrowed_down_and_goes_on_at_its_cursor(desk: Desk) -> None:
    desk.ask("注文を返金しますか", assignee="ann")
    desk.ask("Which?", kind="choice")
    desk.ask("Third?")

    def titles(*arguments: str) -> list[str]:
        return [item["title"] for item in printed(desk, "list", *arguments)["items"]]

    assert titles("--search", "返金") == titles("--assignee", "ann") == ["注文を返金しますか"]
    assert titles("--kind", "choice") == ["Which?"]
    first = printed(desk, "list", "--limit", "2")
    assert [item["title"] for item in first["items"]] == ["Third?", "Which?"]
    assert titles("--cursor", first["next"]) == ["注文を返金しますか"]
    assert f"more: --cursor '{first['next']}'" in output_of(desk, "list", "--limit", "2")
    assert "cursor" in refused(desk, 2, "list", "--cursor", "x")
    assert titles("--status", "completed") == []
    urgent = printed(desk, "list", "--order", "urgent", "--limit", "1")
    assert [item["title"] for item in urgent["items"]] == ["注文を返金しますか"]
    assert titles("--order", "urgent", "--cursor", urgent["next"]) == ["Which?", "Third?"]
    assert "cursor" in refused(desk, 2, "list", "--cursor", urgent["next"])
    assert "pending" in refused(desk, 2, "list", "--order", "urgent", "--status", "expired")
    assert titles("--order", "ended") == []
    assert "pending" in refused(desk, 2, "list", "--order", "ended", "--status", "pending")
    assert titles("--tier", "high") == titles("--tool", "pay") == titles("--group", "legal") == []
    assert output_of(desk, "list", "--status", "expired") == "no requests\n"


def test_ended_requests_are_listed_with_the_latest_end_first(desk: Desk) -> None:
    first, second = (desk.ask(title, action=Action("refund", {"amount": 40})) for title in ("First?", "Second?"))
    desk.ask("Still open?")
    desk.respond(second, "approve", by="bob")
    desk.respond(first, "approve", by="bob")

    listed = printed(desk, "list", "--order", "ended", "--limit", "1")

    assert [item["id"] for item in listed["items"]] == [first.id]
    rest = printed(desk, "list", "--order", "ended", "--status", "completed", "--cursor", listed["next"])
    assert [item["id"] for item in rest["items"]] == [second.id]


def test_a_request_is_shown_with_the_facts_before_the_prose_and_its_history(desk: Desk) -> None:
    asked = desk.ask("Refund?", description="It was late", action=Action("refund", {"amount": 40}), expires_in=300)
    desk.respond(asked, "edit", by="bob", args={"amount": 30}, message=None)
    output = output_of(desk, "show", asked.id)
    order = ["Refund?", "approved with changes by bob", asked.digest, "refund", "amount: 40", "Answer", "amount: 30"]
    order += ["Description by the agent (unverified)", "It was late", "History"]
    order += ["created by system", "completed by bob"]
    places = [output.index(words) for words in order]
    assert places == sorted(places)


def test_nothing_that_an_agent_writes_hides_in_what_is_printed(desk: Desk) -> None:
    asked = desk.ask(
        EVIL,
        description=EVIL,
        action=Action(EVIL, {EVIL: [EVIL]}),
        context={EVIL: EVIL},
    )
    failed_thread(desk, "t1")
    outputs = [
        output_of(desk, "list"),
        output_of(desk, "show", asked.id),
        output_of(desk, "runs"),
        *(ringi(desk, *command, "--json").stdout for command in (("list",), ("show", asked.id), ("runs",))),
    ]
    for output in outputs:
        assert "pwned" in output
        assert not {character for character in output if character in "\x1b\x07\x9b\u202e\u200b\u2066"}
    assert "[/] [link=http://e]l[/link]" in outputs[0]
    assert printed(desk, "show", asked.id)["title"] == EVIL


def test_a_run_that_failed_is_found_and_retried(desk: Desk) -> None:
    failed_thread(desk, "t1")
    found = printed(desk, "runs")["items"]
    assert [(item["thread_id"], item["agent"], item["can_retry"]) for item in found] == [("t1", "printer", True)]
    assert "no paper" in output_of(desk, "runs")
    assert printed(desk, "retry", "t1", "--reason", "paper is in", "--name", "ann")["status"] == "running"
    assert printed(desk, "runs")["items"] == []
    assert output_of(desk, "runs") == "no run needs attention\n"
    assert output_of(desk, "retry", "t1") == "t1  running\n"


def test_a_run_that_failed_is_abandoned(desk: Desk) -> None:
    failed_thread(desk, "t1")
    assert printed(desk, "abandon", "t1", "--reason", "no use")["status"] == "idle"
    assert printed(desk, "runs")["items"] == []
    assert "no thread 'nothing'" in refused(desk, 1, "abandon", "nothing")
    assert "no thread 'nothing'" in refused(desk, 1, "retry", "nothing")


def test_watch_prints_each_change_as_json(desk: Desk) -> None:
    desk.work(lambda inbox: inbox.find())
    watch, env = command(desk, "watch", "--json")
    with subprocess.Popen(watch, env=env, stdout=subprocess.PIPE, text=True) as watching:
        try:
            assert watching.stdout
            assert json.loads(watching.stdout.readline())["watching"].endswith("/ringi.db")
            asked = desk.ask(f"Which? {EVIL}")
            desk.respond(asked, "respond", by="bob", message="this")
            lines = [watching.stdout.readline() for _ in range(2)]
            watching.send_signal(signal.SIGINT)
            assert watching.wait(20) == 130
        finally:
            watching.kill()
    events = [json.loads(line) for line in lines]
    assert [event["type"] for event in events] == ["request.created", "request.completed"]
    assert events[1]["request"]["response"]["message"] == "this"
    assert events[1]["position"] > events[0]["position"]
    assert all("\u202e" not in line for line in lines)


def test_config_prints_each_setting_with_its_origin_and_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"URL": "postgresql://ann:pass@host/db", "RECORD_SEEN": "1", "ADMIN_GROUPS": "ops, root"}
    secrets = {"SECRET": "hidden", "WEBHOOKS": '[{"secrets": ["hidden"]}]', "SMTP_URL": "smtps://ann:hidden@host"}
    for name, value in {**variables, **secrets}.items():
        monkeypatch.setenv(f"RINGI_{name}", value)

    printed = CliRunner().invoke(app, ["config", "--json"]).output
    rows = {row["name"]: (row["value"], row["origin"]) for row in json.loads(printed)["items"]}

    assert set(rows) == {f"RINGI_{name.upper()}" for name in Settings.model_fields}
    assert rows["RINGI_URL"] == ("postgresql://ann:…@host/db", "environment")
    assert rows["RINGI_ADMIN_GROUPS"] == (["ops", "root"], "environment")
    assert rows["RINGI_SESSION_DAYS"] == (14, "default")
    assert "hidden" not in printed
    assert re.search(r"(?m)^RINGI_RECORD_SEEN +1 +environment$", CliRunner().invoke(app, ["config"]).output)


def test_config_names_a_setting_that_is_invalid(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_WEBHOOK_JITTER", "soon")

    why = "use numbers of 0 or more, separated by commas"
    assert refused(desk, 2, "config") == f"error: RINGI_WEBHOOK_JITTER='soon': {why}\n"


@pytest.mark.parametrize("command", [*(name.name or "" for name in app.registered_commands), "token create"])
def test_every_command_has_json_and_a_help_and_refuses_what_it_does_not_know(command: str) -> None:
    helped = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
    assert helped.exit_code == 0
    assert "--json" in helped.output or command in ("mcp", "acp")
    assert re.search(r"--url|--tenant", helped.output) or command == "config"
    wrong = CliRunner().invoke(app, [*command.split(), "--nonsense"])
    assert (wrong.exit_code, "Traceback" in wrong.output) == (2, False)
    assert "--nonsense" in wrong.output


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "x"),
        ("respond", "x", "approve"),
        ("claim", "x"),
        ("release", "x"),
        ("cancel", "x"),
        ("reassign", "x", "--to", "b"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_request_that_does_not_exist_is_told_by_its_name(desk: Desk, arguments: tuple[str, ...]) -> None:
    assert refused(desk, 1, *arguments).startswith("error: no request 'x': list the requests")


def test_a_terminal_that_knows_no_japanese_gets_what_it_can_show(desk: Desk) -> None:
    desk.ask("注文 ok")
    listing, env = command(desk, "list", PYTHONIOENCODING="latin-1")
    done = subprocess.run(listing, env=env, capture_output=True, text=True, timeout=40, check=False)
    assert done.returncode == 0
    assert "\\u6ce8\\u6587 ok" in done.stdout


def test_who_stops_reading_is_no_reason_to_complain(desk: Desk) -> None:
    async def many(inbox: Any) -> None:
        for number in range(300):
            await inbox.ask(f"Question {number} " + "x" * 400)

    desk.work(many)
    _, env = command(desk)
    piped = f"'{sys.executable}' -c '{ENTRY}' list --limit 1000 | head -c 10"
    done = subprocess.run(
        piped, shell=True, cwd=desk.folder, env=env, capture_output=True, text=True, timeout=40, check=True
    )
    assert done.stderr == ""


@pytest.mark.parametrize(("how", "code"), [("ctrl+c", 130), ("SIGKILL", -signal.SIGKILL)])
def test_waiting_shows_that_it_waits_and_leaves_the_terminal_as_it_was(tmp_path: Path, how: str, code: int) -> None:
    with terminal(tmp_path, "ask", "Really?", "--wait") as screen:
        screen.until("waiting for the answer to ")
        screen.drain(lambda: screen.raw.rfind(b"\x1b[?25h") > screen.raw.rfind(b"\x1b[?25l"))
        if how == "ctrl+c":
            screen.press("ctrl+c")
        else:
            os.kill(screen.pid, signal.SIGKILL)
        assert screen.end() == code
        assert screen.mode == screen.before
        assert screen.raw.rfind(b"\x1b[?25h") > screen.raw.rfind(b"\x1b[?25l")
        assert "Traceback" not in screen.text


def test_a_long_verification_says_how_far_it_is(desk: Desk) -> None:
    async def many(inbox: Any) -> None:
        for number in range(600):
            await inbox.ask(f"Question {number}")

    desk.work(many)
    at_once = f"import ringi.cli.format.output as printing; printing.SLOW = 0; {ENTRY}"
    with terminal(desk.folder, "verify", entry=at_once) as screen:
        assert screen.end() == 0
        assert b"events read" in screen.raw
        assert screen.text.strip() == "600 events, 0 findings"


def test_no_progress_is_shown_where_no_terminal_is(desk: Desk) -> None:
    done = ringi(desk, "ask", "Really?", "--wait", "--expires-in", "1.5")
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.parametrize(
    ("code", "unused"),
    [
        ("import ringi", "pydantic asyncio"),
        ("sys.argv[1:] = ['--version']; ringi.cli.main()", "pydantic typer asyncio"),
        ("sys.argv[1:] = ['--help']; ringi.cli.main()", "ringi.domain ringi.inbox ringi.cli.commands.requests httpx"),
        ("import ringi.server.serve", "httpx rich pygments"),
        ("sys.argv[1:] = ['show', '--help']; ringi.cli.main()", "textual fastapi langchain_core langgraph uvicorn"),
    ],
)
def test_no_command_waits_for_what_it_does_not_use(code: str, unused: str) -> None:
    look = (
        f"import atexit, sys; import ringi.cli; show = lambda: print(sorted({{*{unused.split()}}} & set(sys.modules)))"
    )
    look = f"{look}; atexit.register(show); {code}"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=40, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def answered(desk: Desk, title: str = "Zwetschge?") -> str:
    id = json.loads(ringi(desk, "ask", title, "--name", "agent:bot", "--json").stdout)["id"]
    assert ringi(desk, "respond", id, "respond", "--message", "her words", "--name", "ann").returncode == 0
    return str(id)


def test_what_has_ended_is_erased_by_its_id_and_the_trail_still_proves_it(desk: Desk) -> None:
    id = answered(desk)

    done = ringi(desk, "erase", id, "--name", "root")

    assert (done.returncode, done.stdout) == (0, "erased 1 request\n")
    output = ringi(desk, "show", id).stdout
    assert "by root" in output
    assert "Zwetschge" not in output
    assert "0 findings" in ringi(desk, "verify").stdout
    assert ringi(desk, "erase", id).returncode == 0


def test_what_is_open_is_left_with_the_remedy_and_exit_code_1(desk: Desk) -> None:
    open_, closed = json.loads(ringi(desk, "ask", "Go?", "--json").stdout)["id"], answered(desk)

    done = ringi(desk, "erase", open_, closed, "--json")

    report = json.loads(done.stdout)
    assert (done.returncode, report["requests"], report["erased"]) == (1, [closed], True)
    assert "cancel it" in report["left"][open_]


@pytest.mark.parametrize("rule", [("--person", "ann"), ("--before", "2999-01-01")])
def test_a_sweep_only_counts_until_it_is_told_yes(desk: Desk, rule: tuple[str, str]) -> None:
    id = answered(desk)

    looked = ringi(desk, "erase", *rule, "--json")
    assert json.loads(looked.stdout) == {"erased": False, "requests": [id], "threads": [], "journals": [], "left": {}}
    assert "her words" in ringi(desk, "show", id).stdout
    done = ringi(desk, "erase", *rule, "--yes")

    assert (done.returncode, done.stdout) == (0, "erased 1 request\n")
    assert "her words" not in ringi(desk, "show", id).stdout


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "choose one"),
        (("x", "--person", "ann"), "choose one"),
        (("--before", "soon"), "'soon' is not a day"),
        (("--person", "system"), "is not a person"),
        (("nowhere",), "no request 'nowhere'"),
    ],
)
def test_an_erasure_that_cannot_be_says_what_is_wrong(desk: Desk, arguments: tuple[str, ...], why: str) -> None:
    done = ringi(desk, "erase", *arguments)

    assert done.returncode == (1 if arguments == ("nowhere",) else 2)
    assert why in done.stderr


def test_votes_and_held_answers_are_told_in_words_and_undone(desk: Desk) -> None:
    request = desk.ask(
        "Pay?", action=Action("pay", {"amount": 9}), quorum=[{"groups": ["finance"]}, {"count": 1}], hold=30
    )
    done = ringi(desk, "respond", request.id, "approve", "--name", "ann")
    assert (done.returncode, "needs votes from 'finance'" in done.stderr) == (1, True)
    assert "still needed: 1 of finance, then 1 more" in output_of(desk, "show", request.id)
    voted = printed(desk, "respond", request.id, "approve", "--name", "bob", "--groups", "sales, finance")
    assert voted["votes"][0]["responder"] == "bob"
    output = output_of(desk, "respond", request.id, "approve", "--name", "ann")
    assert "approved by ann, takes effect at" in output
    assert "bob agreed at" in output_of(desk, "show", request.id)
    assert printed(desk, "undo", request.id, "--name", "ann")["status"] == "pending"
    assert "held" not in printed(desk, "show", request.id)
    assert "still needed: 1 more" in output_of(desk, "show", request.id)


def test_the_outcome_names_all_who_voted(desk: Desk) -> None:
    request = desk.ask("Pay?", action=Action("pay", {"amount": 9}), quorum=[{"count": 2}], exclude=["asker"])
    assert "still needed: 1 more" in output_of(desk, "respond", request.id, "approve", "--name", "bob")
    ringi(desk, "respond", request.id, "approve", "--name", "cem")
    assert "approved by bob and cem at" in output_of(desk, "show", request.id)
