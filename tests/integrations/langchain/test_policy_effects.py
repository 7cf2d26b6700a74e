"""The effects of rules: deny, then ask, then allow, and what happens with a call that no rule names."""

from __future__ import annotations

from typing import Any

import pytest

from ringi import Policy
from ringi.errors import InvalidError

ASK: Any = {"tools": ["pay"], "where": {"amount": {"above": 100}}}
ALLOW: Any = {"tools": ["pay"], "effect": "allow", "where": {"amount": {"at_most": 100}}}
DENY: Any = {"tools": ["pay"], "effect": "deny", "name": "no huge", "where": {"amount": {"above": 1000}}}


@pytest.mark.parametrize(
    ("rules", "args", "effect"),
    [
        ([ALLOW, ASK, DENY], {"amount": 1001}, "deny"),
        ([ALLOW, ASK, DENY], {"amount": 101}, "ask"),
        ([ALLOW, ASK, DENY], {"amount": 100}, "allow"),
        ([ALLOW, ASK, DENY], {}, "deny"),
        ([ALLOW, ASK], {}, "ask"),
        ([ALLOW], {}, "ask"),
        ([ALLOW], {"amount": "1"}, "ask"),
        ([{**ASK, "where": {}}, {**ALLOW, "where": {}}], {"amount": 1}, "ask"),
        ([ASK], {"amount": 1}, "allow"),
        ([{**ASK, "effect": "ask"}], {"amount": 1}, "allow"),
        ([{**ASK, "name": "large"}], {"amount": 1}, "allow"),
        ([DENY], {"amount": 1}, "ask"),
    ],
)
def test_a_call_is_denied_before_it_is_asked_and_asked_before_it_is_allowed(rules: Any, args: Any, effect: str) -> None:
    assert Policy.parse({"rules": rules}).decide("pay", args).effect == effect


@pytest.mark.parametrize("effect", ["allow", "ask", "deny"])
def test_a_policy_says_what_happens_with_a_call_that_no_rule_names(effect: str) -> None:
    policy = Policy.parse({"otherwise": effect, "rules": [ASK, DENY]})
    assert policy.decide("look", {}).effect == effect
    assert (policy.denial("look", {}) is not None) == (effect == "deny")
    assert (policy.rule_of("look", {}) is not None) == (effect == "ask")


NESTED: Any = {"tools": ["pay"], "where": {"lines": {"any": {"amount": {"above": 5}}}}}


@pytest.mark.parametrize(
    ("lines", "denied", "allowed"),
    [
        ([{"amount": 6}], True, True),
        ([{"amount": 5}], False, False),
        ([], False, False),
        ([{"amount": "6"}], True, False),
        ([{}], True, False),
        ("6", True, False),
    ],
)
def test_an_unknown_nested_condition_denies_and_does_not_allow(lines: Any, denied: bool, allowed: bool) -> None:
    args = {"lines": lines}
    deny = Policy.parse({"rules": [{**NESTED, "effect": "deny", "name": "x"}]})
    allow = Policy.parse({"rules": [{**NESTED, "effect": "allow"}]})
    assert (deny.denial("pay", args) is not None, allow.decide("pay", args).effect == "allow") == (denied, allowed)


def test_unknown_facts_deny_and_do_not_allow() -> None:
    facts = {"facts": {"frozen": {"equals": True}}}
    deny = Policy.parse({"rules": [{"tools": ["pay"], "effect": "deny", "name": "x", **facts}]})
    allow = Policy.parse({"rules": [{"tools": ["pay"], "effect": "allow", **facts}]})
    for known, results in (
        ({}, ("deny", "ask")),
        ({"frozen": False}, ("ask", "ask")),
        ({"frozen": True}, ("deny", "allow")),
    ):
        assert (deny.decide("pay", {}, known).effect, allow.decide("pay", {}, known).effect) == results
    assert deny.facts_of_denial("pay", {}) == {"frozen"}
    assert allow.facts_of_denial("pay", {}) == frozenset()
    assert Policy.parse({"otherwise": "deny", "rules": allow.rules}).facts_of_denial("pay", {}) == {"frozen"}


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({**DENY, "name": None}, "rules[0].name: is missing: the audit trail names the rule that denies a call"),
        ({**DENY, "allowed": ["reject"]}, "rules[0].allowed: is for rules that ask: remove it, or the effect deny"),
        ({**DENY, "assignee": "ann"}, "rules[0].assignee: is for rules that ask: remove it, or the effect deny"),
        ({**ALLOW, "expires_in": 5}, "rules[0].expires_in: is for rules that ask: remove it, or the effect allow"),
        ({**ALLOW, "auto_approve": []}, "rules[0].auto_approve: is for rules that ask: remove it, or the effect allow"),
        ({**ALLOW, "reason": "x"}, "rules[0].reason: is for rules that deny: remove it, or set the effect deny"),
        ({**ASK, "reason": "x"}, "rules[0].reason: is for rules that deny: remove it, or set the effect deny"),
        ({**DENY, "name": "otherwise"}, "rules[0].name: 'otherwise' is reserved: choose another name"),
    ],
)
def test_a_field_that_does_not_fit_the_effect_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(InvalidError) as error:
        Policy.parse({"rules": [rule]})
    assert str(error.value) == message


@pytest.mark.parametrize("effect", ["never", "", None, "Deny", True])
def test_an_unknown_effect_is_refused(effect: Any) -> None:
    with pytest.raises(InvalidError, match=r"rules\[0\].effect"):
        Policy.parse({"rules": [{**ASK, "effect": effect}]})


def test_two_rules_of_one_name_are_refused() -> None:
    message = "'no huge' is the name of two rules: give each rule its own name"
    automatic = {**ASK, "auto_approve": [{"name": "no huge"}]}
    for rules, place in (([DENY, DENY], "rules[1].name"), ([DENY, automatic], "rules[1].auto_approve[0].name")):
        with pytest.raises(InvalidError) as error:
            Policy.parse({"rules": rules})
        assert str(error.value) == f"{place}: {message}"


def test_a_rule_that_denies_must_name_tools_arguments_and_facts_that_exist() -> None:
    policy = Policy.parse({"rules": [DENY]})
    policy.check_tools({"pay": frozenset({"amount"})})
    with pytest.raises(InvalidError, match="is not an argument of pay"):
        policy.check_tools({"pay": frozenset({"order"})})
    with pytest.raises(InvalidError, match="is not a tool"):
        policy.check_tools({"send": frozenset()})
