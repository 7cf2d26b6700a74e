"""Pauses from the terminal: `pause`, `pauses`, `resume`."""

from __future__ import annotations

import json

from tests.cli.desk import Desk
from tests.cli.test_commands import ringi


def test_an_agent_is_paused_listed_and_resumed(desk: Desk) -> None:
    made = ringi(desk, "pause", "--agent", "printer", "--reason", "wrong paper", "--name", "ann", "--json")
    assert made.returncode == 0, made.stderr
    pause = json.loads(made.stdout)
    assert (pause["agent"], pause["reason"], pause["by"], pause["until"]) == ("printer", "wrong paper", "ann", None)

    assert json.loads(ringi(desk, "pauses", "--json").stdout) == {"items": [pause], "next": None}
    assert ringi(desk, "pauses").stdout.splitlines()[1].split()[:3] == [pause["id"], "printer", "ann"]

    assert ringi(desk, "resume", pause["id"]).stdout == f"resumed {pause['id']}: waiting runs go on\n"
    assert ringi(desk, "pauses").stdout == "no agent is paused\n"
    again = ringi(desk, "resume", pause["id"])
    assert (again.returncode, pause["id"] in again.stderr) == (1, True)


def test_all_agents_are_paused_until_a_time(desk: Desk) -> None:
    made = ringi(desk, "pause", "--reason", "night", "--until", "2999-12-01T08:00:00Z")
    assert made.returncode == 0, made.stderr
    assert "all agents" in made.stdout
    assert "2999-12-01" in made.stdout


def test_a_time_in_the_past_and_a_text_that_is_no_time_are_wrong_usage(desk: Desk) -> None:
    for until in ("1999-12-01T08:00:00Z", "tomorrow"):
        refused = ringi(desk, "pause", "--reason", "late", "--until", until)
        assert (refused.returncode, refused.stderr.startswith("error: until: ")) == (2, True), refused.stderr
