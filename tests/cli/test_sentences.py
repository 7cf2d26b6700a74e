"""No English sentence of a command reaches people who read another language."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from contextlib import closing
from typing import Any

import pytest
import typer
from tests.cli.desk import Desk
from tests.cli.sentences import printed
from tests.cli.test_commands import Done, ringi
from tests.cli.test_languages import LOCALES, placeholders
from tests.delivery.office import SECRET
from tests.delivery.receivers import answers, receiving

from ringi import Action, Form
from ringi.base.texts import reason_of
from ringi.cli.app import app
from ringi.cli.texts import cli_translations, translate_cli_error
from ringi.forms.fields import Text

NAMES = re.compile(
    r"`[^`]*`|\.ringi/[\w.]+|--[\w-]+|<[^>]*>|\[[^\]]*\]|[a-z+]+://[^\s（）、，。：]*|/[\w./-]+|\?\w+=\w*"
    r"|\w+=\w*|'[^']*'|\"[^\"]*\"|\bhttps\b"
    r"|\b\w+(\.\w+)+\b|RINGI_\w+|MODULE(:NAME)?|NAME|DATE|FIELD=PATH|A/B|whsec_|-wal|ask-|mail-|[\w:]+@[\w.:]+"
    r"|notes/ann|redis-check-aof|pg_amcheck|pg_dump|openai:gpt-5|\bname：|secrets：|fts5|interrupt_\w+|@entrypoint"
    r"|Claude Code|Codex|CLIENT|MCP|ACP|HTTP|SERVER_|COMMAND|TEXT|VARIABLE|mcpServers|servers"
    r"|Ringi|SQLite|PostgreSQL|Redis|JSON|TOML|TLS|UTF-8|base64|DEBUG|INFO|WARNING|ERROR|Webhook|Markdown|FAQ|URL|API|OAuth"
    r"|StateGraph|compile|[Nn]one|\burl\b|FILE|Ctrl-C|[A-Z]\w+Error"
)
"""Names, options, addresses, examples and values: the same in every language."""
WORDS = re.compile(r"[A-Za-z]{3,}")
ONE_LOCALE = ["ja", pytest.param("zh", marks=pytest.mark.tier("all"))]
"""The second language walks the same way; that no text of it is missing is tested for both."""


def english(text: str, *values: str) -> list[str]:
    """Return the English words of a text that are neither names nor these values."""
    for value in sorted(values, key=len, reverse=True):
        text = text.replace(value, "")
    return WORDS.findall(NAMES.sub("", text))


@pytest.mark.tier("check")
@pytest.mark.parametrize("name", LOCALES)
def test_every_sentence_in_the_code_that_a_command_prints_is_translated(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    found = list(printed())
    assert len(found) > 120
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    left = {place: text for place, text in found if english(translate_cli_error(text), "system")}
    assert left == {}


def test_every_translated_error_has_both_languages_and_its_values() -> None:
    for text, others in cli_translations("errors").items():
        assert others.keys() == {*LOCALES}
        for other in others.values():
            # Python's name of an error says nothing more than the text.
            assert placeholders(text) - placeholders(other) <= {"number", "error", "more"}
            assert placeholders(other) <= placeholders(text)
            assert english(re.sub(r"\{\w+\}", "", other)) == [], other


def commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Return the names of all commands."""
    below = getattr(command, "commands", {})
    return [path, *(each for name, child in below.items() for each in commands(child, (*path, name)))]


@pytest.mark.parametrize("name", ONE_LOCALE)
def test_the_help_of_every_command_has_no_english(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    monkeypatch.setenv("COLUMNS", "400")
    every = commands(typer.main.get_command(app))
    assert len(every) > 28
    options = r"(?m)^  [^\s`]+(, -\w)?( <[^>]*>)?|approve|edit|reject|respond|digest|langgraph"
    for command in every:
        done = ringi(desk, *command, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        usage, _, rest = done.stdout.partition("\n")
        assert usage.removeprefix(f"{usage.partition('：')[0]}： ringi").strip()
        names = [*command, "ringi", *re.findall(r"\{\w+\}|\[?[A-Z]+\]?(?=\.\.\.|\s|$)", usage)]
        assert english(usage, *names) == [], command
        whole = re.sub(r"\n {3,}", "", rest)
        marks = re.sub(r"(既定値|默认)：[^\];]*|(環境変数|环境变量)：\w+", "", re.sub(options, "", whole))
        assert english(re.sub(r"\[|\]", "", marks), "UTC", "HTML") == [], command


class Walk:
    """Runs commands in a language; each must print no English."""

    def __init__(self, desk: Desk, *values: str) -> None:
        self.desk, self.values = desk, (*values, str(desk.folder), "ringi.db")

    def run(self, *arguments: str, code: int = 0) -> Done:
        done = ringi(self.desk, *arguments)
        assert done.returncode == code, (arguments, done)
        assert done.stdout + done.stderr, arguments
        assert english(done.stdout + done.stderr, *self.values, *arguments) == [], (arguments, done)
        return done


@pytest.mark.parametrize("name", ONE_LOCALE)
def test_what_every_command_prints_has_no_english(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    folder = desk.folder
    asked = [desk.ask(f"返金{n}", action=Action("refund", {"n": n}), id=f"r{n}", thread_id="t1") for n in range(5)]
    desk.work(lambda inbox: inbox.mark_attention("r4", reason_of("agent_missing", agent="'bot'")))
    walk = Walk(desk, "ann", "bob", "refund", "approve, edit, reject", *(each.digest for each in asked))
    walk.run("ask", "返金", "--id", "r5", "--name", "ann")
    walk.run("list")
    walk.run("list", "--status", "completed")
    walk.run("show", "r0")
    for arguments in (("claim", "r0"), ("release", "r0"), ("reassign", "r0", "--to", "bob"), ("cancel", "r0")):
        walk.run(*arguments, "--name", "ann")
    walk.run("respond", "r1", "approve", "--name", "ann")
    walk.run("respond", "r2", "reject", "--name", "ann", "--message", "高い")
    walk.run("deliveries")
    walk.run("runs")
    walk.run("erase", "r0", "--name", "ann")
    walk.run("erase", "r3", "--name", "ann", code=1)
    walk.run("erase", "--before", "2020-01-31")
    walk.run("erase", "--before", "2020-01-31", "--yes")
    walk.run("erase", "--agent", "bot")
    walk.run("erase", "--all-agents", "--yes")
    walk.run("migrate")
    walk.run("verify")
    walk.run("backup", str(folder / "copy.db"))
    walk.run("restore", str(folder / "copy.db"), "--force")
    walk.run("secret", "create", "--json")
    token = walk_token(desk)
    walk.values = (*walk.values, token)
    walk.run("token", "revoke", token)
    walk.run("token", "revoke", "--name", "ann")


@pytest.mark.parametrize("name", LOCALES)
def test_the_findings_of_a_verification_have_no_english(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    desk.ask("返金", id="r1")
    with closing(sqlite3.connect(desk.folder / "ringi.db")) as store:
        store.execute("UPDATE events SET payload = replace(payload, '返金', '送金')")
        store.execute("UPDATE requests SET body = replace(body, '返金', '送金')")
        store.commit()
    done = Walk(desk, "request default/r1", "search", "store").run("verify", code=1)
    assert done.stdout.count("\n") > 1
    with closing(sqlite3.connect(desk.folder / "ringi.db")) as store:
        store.execute("DELETE FROM events")
        store.execute("DELETE FROM requests")
        store.commit()
    Walk(desk, "store", "request", "all").run("verify", code=1)


@pytest.mark.parametrize("name", LOCALES)
async def test_the_replies_of_endpoints_are_reported_without_english(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    monkeypatch.setenv("RINGI_WEBHOOK_ALLOW", "127.0.0.0/8")
    async with receiving(answers(202, body=b"")) as good:
        addresses = {"crm": good.url, "inside": "https://10.0.0.1/x", "lost": "https://127.0.0.1:1/x"}
        rows = [{"name": each, "url": url, "secrets": [SECRET]} for each, url in addresses.items()]
        monkeypatch.setenv("RINGI_WEBHOOKS", json.dumps(rows))
        walk = Walk(desk, *addresses)
        done = await asyncio.to_thread(walk.run, "webhooks", "test", code=1)
    assert len(done.stdout.splitlines()) == 3


def walk_token(desk: Desk) -> str:
    """Return a new token."""
    return ringi(desk, "token", "create", "--role", "person", "--name", "ann").stdout.strip()


WRONG = [
    "show none",
    "claim none",
    "list --cursor x",
    "list --limit x",
    "list --limit 0",
    "list --status x",
    "list --foo",
    "lst",
    "respond",
    "token creat",
    "token create --role x --name ann",
    "token create --role person --name a:b",
    "token show person",
    "token revoke",
    "token revoke x",
    "link",
    "runs --cursor x",
    "retry none",
    "ask-again none",
    "abandon none",
    "redeliver none",
    "redeliver crm.1.none",
    "deliveries none",
    "erase",
    "erase r9",
    "erase --before x",
    "erase --person system",
    "erase --namespace a --person ann",
    "erase --agent bot --namespace a//b",
    "backup {folder}/none/copy.db",
    "backup {folder}/taken.txt",
    "backup {folder}/ringi.db --force",
    "restore {folder}/none.db",
    "restore {folder}/taken.txt",
    "restore {folder}/taken.txt --force",
    "verify --url sqlite:///{folder}/none.db",
    "verify --url sqlite:///{folder}/taken.txt",
    "verify --expect {folder}/none",
    "list --url sqlite:///{folder}/none.db",
    "list --url oracle://x",
    "list --url sqlite:",
    "list --url sqlite:///{folder}/taken.txt",
    "list --url postgresql://u@127.0.0.1:1/x?pool=0",
    "list --url redis://127.0.0.1:1/0?prefix=%7B",
    "list --url redis://127.0.0.1:1/0",
    "migrate --url postgresql://u@127.0.0.1:1/x",
    "backup --url redis://127.0.0.1:1/0 {folder}/copy.db",
    "migrate --url sqlite:////proc/none/x.db",
    "ask q --form {folder}/none",
    "ask q --form {folder}/taken.txt",
    "ask q --args 1",
    "ask q --action a --args 1",
    "ask q --id -x",
    "ask q --expires-in 0",
    "ask q --id r9 --priority x",
    "respond r9 agree",
    "respond r9 approve --data x",
    "respond r9 approve --data 1",
    "respond r9 edit",
    "respond r9 approve --file x",
    "respond r9 approve --file who={folder}/none",
    "respond r9 approve --file who={folder}/taken.txt",
    "respond r9 approve --digest x",
    "respond r9 approve",
    "reassign r9",
    "watch",
    "serve --agents none",
    "serve --agents json",
    "serve --host 0.0.0.0 --no-auth",
    "serve --host 203.0.113.7",
    "serve --port x",
    "serve --poll-interval 0",
    "worker",
    "worker --agents none:x",
    "demo --model none:none",
    "webhooks test",
    "webhooks test x",
    "policy test {folder}/none --calls {folder}/taken.txt",
    "policy test {folder}/taken.txt --calls {folder}/taken.txt",
    "policy test {folder}/taken.toml --calls {folder}/taken.txt",
    "policy test {folder}/policy.json --calls {folder}/none",
    "policy test {folder}/policy.json --calls {folder}/taken.txt",
    "policy test {folder}/policy.json --calls {folder}/policy.json",
]


@pytest.mark.parametrize("name", ONE_LOCALE)
@pytest.mark.parametrize("arguments", WRONG)
def test_no_wrong_use_is_answered_in_english(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: str, name: str
) -> None:
    desk.ask("返金", id="r9", form=Form([Text("who", required=True)]))
    for taken in ("taken.txt", "taken.toml"):
        (desk.folder / taken).write_text("not a database, and not JSON either")
    (desk.folder / "policy.json").write_text('{"rules": [{"tools": ["pay"]}]}')
    monkeypatch.setenv("LC_ALL", LOCALES[name])
    words = [each.format(folder=desk.folder) for each in arguments.split()]
    done = ringi(desk, *words)
    assert done.returncode in (1, 2), done
    assert re.match("エラー：|错误：", done.stderr) or arguments == "erase r9", done
    text = re.sub(
        r"（[^（）]*）|[\w-]+(、[\w-]+)+ から選んで|[\w-]+(、[\w-]+)+$|请从 .*? 中", "", done.stdout + done.stderr
    )
    assert english(text, *words, "crm", "who") == [], done
