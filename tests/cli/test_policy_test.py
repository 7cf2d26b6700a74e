"""`ringi policy test`: what a policy does with each call of a file."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import Done, ringi

POLICY: Any = {
    "rules": [
        {"tools": ["pay"], "title": "Pay?", "auto_approve": [{"name": "small", "where": {"amount": {"at_most": 20}}}]},
        {
            "tools": ["pay"],
            "effect": "deny",
            "name": "no huge",
            "reason": "the bank pays",
            "where": {"amount": {"above": 1000}},
        },
        {"tools": ["ship"], "effect": "allow", "facts": {"paid": {"equals": True}}},
        {"tools": ["mail"]},
    ]
}
CALLS: Any = [
    {"tool": "pay", "args": {"amount": 20}},
    {"tool": "pay", "args": {"amount": 21}},
    {"tool": "pay", "args": {"amount": 1001}},
    {"tool": "pay"},
    {"tool": "ship", "args": {}, "facts": {"paid": True}},
    {"tool": "ship", "args": {}},
    {"tool": "mail"},
]


def run_test(desk: Desk, calls: Any, *options: str, policy: Any = POLICY) -> Done:
    """Test a policy with calls; a text is a whole line."""
    (desk.folder / "policy.json").write_text(json.dumps(policy))
    lines = [each if isinstance(each, str) else json.dumps(each) for each in calls]
    (desk.folder / "calls.jsonl").write_text("\n".join(lines))
    files = (str(desk.folder / "policy.json"), "--calls", str(desk.folder / "calls.jsonl"))
    return ringi(desk, "policy", "test", *files, *options)


def test_each_call_gets_its_effect_rule_and_reason(desk: Desk) -> None:
    done = run_test(desk, CALLS, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    items = json.loads(done.stdout)["items"]
    assert [(each["line"], each["effect"], each["rule"], each["reason"]) for each in items] == [
        (1, "allow", "small", 'pay · small: amount=20 {"at_most": 20} ✓'),
        (2, "ask", "rules[0]", 'pay · small: amount=21 {"at_most": 20} ✗'),
        (3, "deny", "no huge", "the bank pays"),
        (4, "deny", "no huge", "the bank pays"),
        (5, "allow", "rules[2]", 'ship · paid=true {"equals": true} ✓'),
        (6, "ask", "otherwise", None),
        (7, "ask", "rules[3]", "mail"),
    ]


def test_people_read_a_table(desk: Desk) -> None:
    done = run_test(desk, CALLS)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["line", "tool", "effect", "rule", "why"]
    assert rows[3] == ["3", "pay", "deny", "no", "huge", "the", "bank", "pays"]
    assert rows[6] == ["6", "ship", "ask", "(no", "rule)"]


def test_a_toml_policy_is_read(desk: Desk) -> None:
    (desk.folder / "policy.toml").write_text('[[rules]]\ntools = ["pay"]\n')
    (desk.folder / "calls.jsonl").write_text('{"tool": "pay"}\n')
    done = ringi(
        desk, "policy", "test", str(desk.folder / "policy.toml"), "--calls", str(desk.folder / "calls.jsonl"), "--json"
    )
    assert [each["effect"] for each in json.loads(done.stdout)["items"]] == ["ask"]


def test_an_expectation_that_fails_is_exit_code_1(desk: Desk) -> None:
    right = [{**CALLS[2], "expect": "deny"}, {**CALLS[0], "expect": "allow"}]
    assert run_test(desk, right).returncode == 0
    done = run_test(desk, [*right, {**CALLS[1], "expect": "deny"}])
    assert (done.returncode, "expected deny" in done.stdout) == (1, True)
    items = json.loads(run_test(desk, [{**CALLS[1], "expect": "deny"}], "--json").stdout)["items"]
    assert [each["expected"] for each in items] == [False]


def test_blank_lines_are_skipped_and_no_call_is_no_error(desk: Desk) -> None:
    assert json.loads(run_test(desk, ["", CALLS[0], "  "], "--json").stdout)["items"][0]["line"] == 2
    assert run_test(desk, [""]).stdout == "There are no calls.\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2 is not JSON (Expecting property name"),
        ("[" * 100_000, "line 2 is not JSON ("),
        ("[]", "line 2 is not a call ("),
        ('{"args": {}}', "line 2 is not a call (tool: Field required)"),
        ('{"tool": "pay", "arguments": {}}', "line 2 is not a call (arguments: "),
        ('{"tool": "pay", "args": []}', "line 2 is not a call (args: "),
        ('{"tool": "pay", "expect": "no"}', "line 2 is not a call (expect: "),
    ],
)
def test_a_bad_line_is_named_with_its_remedy(desk: Desk, line: str, message: str) -> None:
    done = run_test(desk, [CALLS[0], line])
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert ": write each call as one JSON object" in done.stderr or ": give tool, args," in done.stderr


def test_a_line_that_is_not_utf_8_is_named(desk: Desk) -> None:
    run_test(desk, [])
    (desk.folder / "calls.jsonl").write_bytes(b'{"tool": "\xff"}')
    done = ringi(desk, "policy", "test", str(desk.folder / "policy.json"), "--calls", str(desk.folder / "calls.jsonl"))
    assert (done.returncode, "line 1 is not JSON" in done.stderr) == (2, True)


def test_an_invalid_policy_is_exit_code_2(desk: Desk) -> None:
    done = run_test(desk, CALLS, policy={"rules": [{"tools": ["pay"], "effect": "deny"}]})
    assert (done.returncode, "rules[0].name: is missing" in done.stderr) == (2, True)
