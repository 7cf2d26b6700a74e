"""Absences from the terminal: `away`, `absences`, `back`."""

from __future__ import annotations

import json

from tests.cli.desk import Desk
from tests.cli.test_commands import ringi

from ringi.base.clock import utc_now


def test_absences_are_listed_and_ended_by_an_administrator(desk: Desk) -> None:
    assert ringi(desk, "absences").stdout == "nobody is away\n"
    until = utc_now().replace(year=utc_now().year + 1, month=1, day=1).date().isoformat()
    away = ringi(desk, "away", "--until", until, "--deputy", "dee", "--unknown", "--name", "ann")
    assert away.returncode == 0, away.stderr

    (listed,) = json.loads(ringi(desk, "absences", "--json").stdout)["items"]
    assert (listed["person"], listed["deputy"]) == ("ann", "dee")
    assert ringi(desk, "absences").stdout.splitlines()[1].split()[:2] == ["ann", "dee"]

    assert ringi(desk, "back", "ann", "--name", "root").stdout == "ended the absence of ann\n"
    assert ringi(desk, "absences").stdout == "nobody is away\n"
    again = ringi(desk, "back", "ann", "--name", "root")
    assert (again.returncode, "ann" in again.stderr) == (1, True)
