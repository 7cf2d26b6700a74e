"""Checks of attention from the terminal: `checks`, `checks plant`."""

from __future__ import annotations

import json

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import ringi

WRONG = {"tool": "refund", "times": {"amount": 10}, "because": "ten times too much"}


def test_checks_are_planted_answered_and_their_alarm_is_an_exit_code(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_CHECKS", "1")
    recipes = desk.folder / "checks.json"
    recipes.write_text(json.dumps({"checks": [WRONG, {**WRONG, "tool": "pay"}]}))
    args = json.dumps({"order": 7, "amount": 40})
    assert ringi(desk, "checks").stdout == "no checks were planted\n"
    assert ringi(desk, "ask", "Refund 40?", "--action", "refund", "--args", args).returncode == 0
    for number in range(5):
        planted = ringi(desk, "checks", "plant", str(recipes), "--tool", "refund", "--json")
        (id,) = json.loads(planted.stdout)["ids"]
        assert "check" not in ringi(desk, "show", id).stdout
        done = ringi(desk, "respond", id, "approve" if number else "reject", "--name", "ann")
        result = "it was approved" if number else "it was noticed"
        assert f"This was a check: {result}, because ten times too much" in done.stdout
    listed = ringi(desk, "checks")
    assert (listed.returncode, "ann: 1 of the last 5 noticed" in listed.stdout, "ALARM" in listed.stdout) == (
        1,
        True,
        True,
    )
    none = ringi(desk, "checks", "plant", str(recipes), "--tool", "refund", "--share", "1%")
    assert none.stdout.startswith("nothing planted")


def test_checks_are_off_by_default(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RINGI_CHECKS", raising=False)
    recipes = desk.folder / "checks.json"
    recipes.write_text(json.dumps({"checks": [WRONG]}))
    refused = ringi(desk, "checks", "plant", str(recipes))
    assert (refused.returncode, "RINGI_CHECKS=1" in refused.stderr) == (1, True)
