"""Names with `*`, and what a policy can never do."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from ringi import Policy
from ringi.errors import InvalidError
from ringi.policy.decision import is_tool_named_by_rule


@pytest.mark.parametrize(
    ("name", "tool", "expected"),
    [
        ("pay", "pay", True),
        ("pay", "payment", False),
        ("mcp__db__*", "mcp__db__drop", True),
        ("mcp__db__*", "mcp__db__", True),
        ("mcp__db__*", "mcp__files__read", False),
        ("*", "anything", True),
        ("*__drop", "mcp__db__drop", True),
        ("mcp__*__drop", "mcp__db__drop", True),
        ("mcp__*__drop", "mcp__drop", False),
        ("a*b*c", "abc", True),
        ("a*b*c", "acb", False),
        ("aa*aa", "aaa", False),
        ("get.*", "getx", False),
    ],
)
def test_a_star_stands_for_any_characters(name: str, tool: str, expected: bool) -> None:
    assert is_tool_named_by_rule(tool, name) is expected


def test_a_long_name_costs_no_more_than_its_length() -> None:
    assert not is_tool_named_by_rule("a" * 200, "*a" * 90 + "b")


def test_a_rule_decides_about_each_tool_of_its_name() -> None:
    policy = Policy.parse({"rules": [{"tools": ["mcp__db__*"], "effect": "deny", "name": "no database"}]})

    assert [policy.decide(tool, {}).effect for tool in ("mcp__db__drop", "mcp__files__read")] == ["deny", "ask"]


@pytest.mark.parametrize(
    ("limit", "written"), [("1000", "1000"), ("1000.0", "1000"), ("0.5", "0.5"), ("-0.0", "0"), ("1e300", "1e+300")]
)
def test_a_limit_is_written_as_people_write_it_and_keeps_its_digest(limit: str, written: str) -> None:
    policy = Policy.parse({"rules": [{"tools": ["pay"], "where": {"amount": {"above": json.loads(limit)}}}]})
    data = policy.model_dump(mode="json", exclude_defaults=True)

    assert json.dumps(data["rules"][0]["where"]) == f'{{"amount": {{"above": {written}}}}}'
    assert policy.digest == Policy.parse(data).digest


def test_a_name_with_a_star_fits_an_agent_that_has_such_a_tool() -> None:
    policy = Policy.parse({"rules": [{"tools": ["db_*"], "where": {"table": {"equals": "users"}}}]})
    policy.check_tools({"db_drop": frozenset({"table"}), "mail": frozenset()})

    with pytest.raises(InvalidError, match="db_"):
        policy.check_tools({"mail": frozenset()})
    with pytest.raises(InvalidError, match="'table' is not an argument of db_drop"):
        policy.check_tools({"db_drop": frozenset({"name"})})


ASK: Any = {"tools": ["pay"]}
ALLOW: Any = {"tools": ["pay"], "effect": "allow"}
SMALL: Any = {"amount": {"at_most": 100}}


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        ([ALLOW, ASK], ["rules[0].tools: rules[1] (ask) decides about every call of 'pay' before it"]),
        ([{**ALLOW, "where": SMALL}, {"tools": ["*"]}], ["rules[0].tools: rules[1] (ask) decides"]),
        ([ASK, {**ASK, "where": SMALL}], ["rules[1].tools: rules[0] (ask) decides"]),
        ([ASK, {**ASK, "effect": "deny", "name": "stop"}], ["rules[0].tools: stop (deny) decides"]),
        (
            [{**ASK, "where": {"amount": {"above": 500}}, "auto_approve": [{"name": "small", "where": SMALL}]}],
            ["rules[0].auto_approve[0].where.amount: can never hold where the rule applies: its lower limit"],
        ),
        (
            [{**ASK, "facts": {"amount": {"above": 100}}, "auto_approve": [{"name": "small", "facts": SMALL}]}],
            ["rules[0].auto_approve[0].facts.amount: can never hold where the rule applies: its lower limit"],
        ),
        ([{**ASK, "where": {"amount": {"above": 100}}, "auto_approve": [{"name": "small", "facts": SMALL}]}], []),
        ([ALLOW, {**ASK, "where": SMALL}], []),
        ([{**ASK, "where": SMALL}, ASK], []),
        ([ASK, {"tools": ["mail"]}], []),
    ],
)
def test_a_policy_says_what_in_it_cannot_work(
    rules: list[Any], found: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ringi.policy.rules"):
        policy = Policy.parse({"rules": rules})

    findings = [f"{place}: {why}" for place, why in policy.findings()]
    assert len(findings) == len(found) == len(caplog.records)
    assert all(one.startswith(start) for one, start in zip(findings, found, strict=True))
