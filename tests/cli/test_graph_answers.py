"""Graphs that were not made for Ringi, from the command line."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import output_of, printed, refused

from ringi.base.clock import utc_now
from ringi.base.settings import SettingError
from ringi.cli.commands.serve import load_agents
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.contracts.store import change_record
from ringi.domain.ask import Ask, Button
from ringi.domain.record import Key
from ringi.domain.thread import Failure, Run, Thread


def plain(desk: Desk) -> str:
    """Store what a plain interrupt asks, and return its id."""
    buttons = {"approve": Button(value=True), "reject": Button(value=False)}
    ask = Ask(
        title="Well?", kind="question", answer_schema={}, actions=buttons, allowed=("approve", "reject", "respond")
    )

    async def store() -> str:
        async with open_backend(desk.url) as backend, open_inbox_on_backend(backend) as inbox:
            return (await inbox.submit(ask)).id

    return asyncio.run(store())


def failed_on(desk: Desk, request: str) -> None:
    """Store a thread whose run failed on the answer to a request."""

    async def store() -> None:
        async with open_backend(desk.url) as backend:
            now, key = utc_now(), Key("default", "t1")
            await backend.store.put(*Thread.begun("t1", "shop", Run(id="r1", input={}), by="ann", now=now))
            await change_record(backend.store, Thread, key, lambda thread: thread.acquired("w", now, timedelta(1)))
            failure = Failure(message="TypeError: no", code="TypeError", answers=(request,), traceback="in shop.py")
            await change_record(backend.store, Thread, key, lambda thread: thread.failed(thread, now, failure))

    asyncio.run(store())


def test_a_plain_question_says_what_each_decision_sends(desk: Desk) -> None:
    id = plain(desk)
    output = output_of(desk, "show", id)
    assert "approve sends true" in output
    assert "reject sends false" in output
    answered = printed(desk, "respond", id, "respond", "--data", '{"answer": [1, 2]}')
    assert answered["response"]["data"] == {"answer": [1, 2]}


def test_words_and_json_at_once_are_refused(desk: Desk) -> None:
    id = plain(desk)
    assert "not both" in refused(desk, 1, "respond", id, "respond", "--data", '{"answer": 1}', "--message", "one")
    assert printed(desk, "respond", id, "ignore")["response"]["decision"] == "reject"


def test_a_run_that_failed_on_an_answer_is_asked_again(desk: Desk) -> None:
    failed_on(desk, plain(desk))
    again = printed(desk, "ask-again", "t1", "--name", "root", "--reason", "a slip")
    assert (again["status"], again["can_ask_again"], again["reason"]) == ("running", False, "a slip")
    assert "no thread" in refused(desk, 1, "ask-again", "t2")


@pytest.mark.parametrize(
    ("code", "place"),
    [
        ("def build():\n    return 1 / 0\n\n\nagents = build()", "broken_agents.py:2: ZeroDivisionError"),
        ("import json\n\nagents = json.loads('{')", "broken_agents.py:3: JSONDecodeError"),
        ("agents = [", "broken_agents.py:1: SyntaxError"),
        ("from langgraph.graph import NoSuchGraph", "broken_agents.py:1: ImportError"),
        ("def agents():\n    return 1 / 0", "broken_agents.py:2: ZeroDivisionError"),
        ("import broken_other\n", "broken_other.py:2: KeyError"),
    ],
)
def test_a_module_that_fails_is_told_by_its_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, place: str
) -> None:
    (tmp_path / "broken_agents.py").write_text(textwrap.dedent(code))
    (tmp_path / "broken_other.py").write_text("\n{}['x']\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    for name in ("broken_agents", "broken_other"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(SettingError) as refused:
        load_agents("broken_agents")
    assert place in str(refused.value)
    assert "ringi/cli" not in str(refused.value)
