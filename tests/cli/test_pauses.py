"""Pauses from the terminal: `pause`, `pauses`, `unpause`."""

from __future__ import annotations

import json

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import ringi


def test_an_agent_is_paused_listed_and_unpaused(desk: Desk) -> None:
    made = ringi(desk, "pause", "--agent", "printer", "--reason", "wrong paper", "--name", "ann", "--json")
    assert made.returncode == 0, made.stderr
    pause = json.loads(made.stdout)
    assert (pause["agent"], pause["reason"], pause["by"], pause["until"]) == ("printer", "wrong paper", "ann", None)

    assert json.loads(ringi(desk, "pauses", "--json").stdout) == {"items": [pause], "next": None}
    assert ringi(desk, "pauses").stdout.splitlines()[1].split()[:3] == [pause["id"], "printer", "ann"]

    assert ringi(desk, "unpause", pause["id"]).stdout == f"unpaused {pause['id']}: waiting runs go on\n"
    assert ringi(desk, "pauses").stdout == "no agent is paused\n"
    again = ringi(desk, "unpause", pause["id"])
    assert (again.returncode, pause["id"] in again.stderr) == (1, True)


@pytest.mark.parametrize(
    ("locale", "text"),
    [
        ("C.UTF-8", "error: command='resume': use `ringi unpause` to end a pause\n"),
        ("ja_JP.UTF-8", "エラー：command='resume'：一時停止を終了するには `ringi unpause` を使ってください\n"),
        ("zh_CN.UTF-8", "错误：command='resume'：要结束暂停，请使用 `ringi unpause`\n"),
    ],
)
@pytest.mark.parametrize("arguments", [("resume", "p1"), ("resume", "--help"), ("resume",)])
def test_a_run_is_resumed_and_a_pause_is_unpaused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], locale: str, text: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    done = ringi(desk, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", text)


def test_all_agents_are_paused_until_a_time(desk: Desk) -> None:
    made = ringi(desk, "pause", "--reason", "night", "--until", "2999-12-01T08:00:00Z")
    assert made.returncode == 0, made.stderr
    assert "all agents" in made.stdout
    assert "2999-12-01" in made.stdout


def test_a_time_in_the_past_and_a_text_that_is_no_time_are_wrong_usage(desk: Desk) -> None:
    for until in ("1999-12-01T08:00:00Z", "tomorrow"):
        refused = ringi(desk, "pause", "--reason", "late", "--until", until)
        assert (refused.returncode, refused.stderr.startswith("error: until: ")) == (2, True), refused.stderr
