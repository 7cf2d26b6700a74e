"""A policy is data: what it covers, what it approves, and what is wrong with one that was misspelt."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from langchain_core.tools import tool

from ringi import Approval, Policy, Rule
from ringi.errors import InvalidError
from ringi.policy import AutoApproval, Condition

TOML = """
[[rules]]
tools = ["refund"]
allowed = ["approve", "reject"]
groups = ["finance"]
expires_in = 3600

[[rules.auto_approve]]
name = "small refunds"
where = { amount = { at_most = 20 }, "customer.country" = { one_of = ["JP", "DE"] } }
"""


@tool
def refund(order: int, amount: float) -> str:
    """Pay money back."""
    return "refunded"


def send(to: str) -> str:
    """Send a letter."""
    return "sent"


def test_a_policy_is_the_same_from_toml_from_json_and_in_python() -> None:
    where = {"amount": Condition(at_most=20), "customer.country": Condition(one_of=("JP", "DE"))}
    made = Policy(
        rules=[
            Rule(
                tools=("refund",),
                allowed=("approve", "reject"),
                groups=("finance",),
                expires_in=3600,
                auto_approve=(AutoApproval(name="small refunds", where=where),),
            )
        ]
    )
    read = tomllib.loads(TOML)
    assert Policy.parse(read) == Policy.parse(json.loads(json.dumps(read)))
    assert Policy.parse(read).model_dump() == made.model_dump()


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ({"equals": "prod"}, "prod", True),
        ({"equals": "prod"}, "test", False),
        ({"equals": 1}, 1.0, True),
        ({"equals": 1}, True, None),
        ({"equals": 1}, "1", None),
        ({"equals": None}, None, True),
        ({"equals": {"a": [1]}}, {"a": [1]}, True),
        ({"equals": {"a": [1]}}, {"a": [True]}, False),
        ({"one_of": ["a", "b"]}, "b", True),
        ({"one_of": ["a", "b"]}, "c", False),
        ({"one_of": ["a", 1]}, "c", None),
        ({"at_most": 20}, 20, True),
        ({"at_most": 20}, 20.01, False),
        ({"at_most": 20}, "20", None),
        ({"at_most": 20}, True, None),
        ({"at_most": 20}, None, None),
        ({"at_most": 20}, float("nan"), None),
        ({"at_most": 20}, 10**400, None),
        ({"at_most": 20}, float("-inf"), None),
        ({"at_least": 5, "below": 10}, 9, True),
        ({"at_least": 5, "below": 10}, 10, False),
        ({"above": 5}, 5, False),
        ({"matches": r".*@example\.com"}, "ann@example.com", True),
        ({"matches": r".*@example\.com"}, "ann@example.com.evil.org", False),
        ({"matches": r".*@example\.com"}, "ann@example.com\n", False),
        ({"matches": r".*@example\.com"}, ["ann@example.com"], None),
    ],
)
def test_a_condition_holds_does_not_or_is_not_known(condition: Any, value: Any, holds: Any) -> None:
    assert Condition.parse(condition).holds(value) is holds


@pytest.mark.parametrize("args", [{}, {"amount": "5000"}, {"amount": None}, {"amount": {"much": 1}}, {"Amount": 1}])
def test_what_is_not_known_waits_for_a_person(args: Any) -> None:
    rule = Rule(tools=("pay",), where={"amount": Condition(above=100)})
    assert rule.covers("pay", args)
    auto = AutoApproval(name="small", where={"amount": Condition(at_most=10_000)})
    assert Rule(tools=("pay",), auto_approve=(auto,)).approver(args) is None


def test_the_first_rule_that_covers_a_call_decides() -> None:
    large = Rule(tools=("pay",), where={"amount": Condition(above=100)}, groups=("board",))
    policy = Policy(rules=(large, Rule(tools=("pay", "send"))))
    assert policy.rule_of("pay", {"amount": 101}) == large
    assert policy.rule_of("pay", {"amount": 100}) == policy.rules[1]
    assert policy.rule_of("look", {"amount": 101}) is None


def test_a_value_inside_of_an_argument_is_compared() -> None:
    rule = Rule(tools=("pay",), where={"customer.country": Condition(equals="JP")})
    assert [rule.covers("pay", {"customer": value}) for value in ({"country": "JP"}, {"country": "DE"}, "JP")] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            {"rules": [{"tools": ["refnud"]}]},
            r"rules\[0\]\.tools: 'refnud' is not a tool of this agent: use refund, send",
        ),
        ({"rules": [{"tools": ["refund"], "allowed": ["aprove"]}]}, r"rules\[0\]\.allowed\[0\]: .*'approve'"),
        (
            {"rules": [{"tools": ["refund"], "alowed": ["approve"]}]},
            r"rules\[0\]\.alowed: is not known here: use one of tools",
        ),
        (
            {"rules": [{"tools": ["send"]}, {"tools": ["refund"], "where": {"amonut": {"above": 1}}}]},
            r"rules\[1\]\.where: 'amonut' is not an argument of refund: use amount, order",
        ),
        (
            {"rules": [{"tools": ["refund"], "auto_approve": [{"name": "a", "where": {"to": {"equals": 1}}}]}]},
            r"rules\[0\]\.auto_approve\[0\]\.where: 'to' is not an argument of refund",
        ),
        ({"rules": [{"tools": ["refund"], "where": {"amount": {}}}]}, "has no condition: set one of equals"),
        ({"rules": [{"tools": ["refund"], "where": {"amount": {"above": "x"}}}]}, r"where\.amount\.above"),
        ({"rules": [{"tools": ["send"], "where": {"to": {"matches": "("}}}]}, r"matches: '\(' is not a supported"),
        (
            {"rules": [{"tools": ["send"], "allowed": ["reject"], "auto_approve": [{"name": "a"}]}]},
            "auto_approve: needs the decision approve",
        ),
        (
            {"rules": [{"tools": ["send"], "auto_approve": [{"name": "a"}, {"name": "a"}]}]},
            "'a' is the name of two rules",
        ),
        ({"rules": []}, r"rules: has no entries: send at least 1"),
        ({"rules": [{"tools": "send"}]}, r"rules\[0\]\.tools: must be a list"),
        ({"rules": [{"tools": ["send"], "expires_in": 0}]}, r"rules\[0\]\.expires_in"),
        ({}, "rules: is missing: add it"),
    ],
)
def test_what_is_wrong_with_a_policy_is_told_when_the_agent_is_made(policy: Any, message: str) -> None:
    with pytest.raises(InvalidError, match=message):
        Approval(policy, [refund, send])


def test_a_tool_of_another_middleware_is_named() -> None:
    Approval({"rules": [{"tools": ["write_file"], "where": {"path": {"matches": "/etc/.*"}}}]}, [refund, "write_file"])


def test_a_tool_that_runs_at_the_models_provider_cannot_be_gated() -> None:
    search = {"type": "web_search"}
    Approval({"rules": [{"tools": ["refund"]}]}, [refund, search])
    with pytest.raises(InvalidError, match="'web_search' is not a tool of this agent: use refund"):
        Approval({"rules": [{"tools": ["web_search"]}]}, [refund, search])
