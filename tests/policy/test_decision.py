"""A policy on plain data decides as the policy that was read from it: 10,000 random policies and calls."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from ringi.base.canonical_json import jsonable
from ringi.errors import InvalidError
from ringi.gateways.client_calls import policy_with_rules
from ringi.policy.checked import mark_checked_policy, read_checked_policy
from ringi.policy.decision import allows_certainly
from ringi.policy.rules import Policy, PolicyFile

TOOLS = ("Bash", "Read", "mcp__db__read", "mcp__db__write")
NAMED = (*TOOLS, "*", "mcp__*", "mcp__db__*", "B*h")
VALUES: tuple[Any, ...] = (0, 1, 1.0, 2, 3.5, -1, True, False, None, "", "ls", "ls -l", "DE", [], [1, 2], {"c": 1})
CHECKS = ("equals", "one_of", "at_least", "at_most", "above", "below", "matches")
PATHS = ("amount", "command", "customer.country", "items")
ITEM_PATHS = ("*", "price")


def random_condition(dice: random.Random, depth: int = 0) -> dict[str, Any]:
    """Return a condition of some checks; many such conditions are invalid."""
    names = dice.sample(CHECKS, dice.choice((1, 1, 1, 2)))
    if depth < 2 and dice.random() < 0.25:
        names = [dice.choice(("any", "all", "sum", "count"))]
    values: dict[str, Any] = {
        "equals": dice.choice(VALUES),
        "one_of": dice.sample(VALUES, 2),
        **{name: dice.choice((0, 1, 2, 3.5, -1)) for name in ("at_least", "at_most", "above", "below")},
        "matches": dice.choice(("ls.*", "[A-Z]{2}", "", ".+")),
    }
    if depth < 2:
        values |= {name: {dice.choice(ITEM_PATHS): random_condition(dice, 2)} for name in ("any", "all", "sum")}
        values["count"] = random_condition(dice, 2)
    return {name: values[name] for name in names}


def random_rule(dice: random.Random, number: int) -> dict[str, Any]:
    """Return a rule with some conditions."""
    effect = dice.choice(("ask", "allow", "allow", "deny"))
    where = {path: random_condition(dice) for path in dice.sample(PATHS, dice.choice((0, 0, 1, 1, 2)))}
    rule: dict[str, Any] = {"tools": dice.sample(NAMED, dice.choice((1, 1, 2))), "effect": effect}
    rule |= {"where": where} if where else {}
    rule |= {"facts": {"risk": random_condition(dice)}} if dice.random() < 0.15 else {}
    return rule | ({"name": f"rule {number}"} if effect == "deny" or dice.random() < 0.3 else {})


def random_policy(dice: random.Random) -> dict[str, Any]:
    """Return the data of a policy."""
    policy: dict[str, Any] = {"rules": [random_rule(dice, number) for number in range(dice.choice((1, 2, 3, 4)))]}
    if dice.random() < 0.4:
        policy["otherwise"] = dice.choice(("ask", "allow", "deny"))
    return policy | ({"cards": {"Bash": {"effect": "runs a command"}}} if dice.random() < 0.1 else {})


def random_args(dice: random.Random) -> dict[str, Any]:
    """Return the arguments of a call."""
    items: Any = dice.choice(([], [1, 2], [{"price": 1}, {"price": 2.5}], ["ls"], "none", [{}]))
    args = {"amount": dice.choice(VALUES), "command": dice.choice(VALUES), "items": items}
    args["customer"] = dice.choice(({"country": "DE"}, {"country": dice.choice(VALUES)}, {}, None))
    return {name: args[name] for name in args if dice.random() < 0.8}


def test_the_plain_data_decides_as_the_policy(tmp_path: Path) -> None:
    dice, file, effects = random.Random(18), tmp_path / "policy.json", {"ask": 0, "allow": 0, "deny": 0}
    marked = 0
    while sum(effects.values()) < 10_000:
        data = random_policy(dice)
        text = json.dumps(data).encode()
        try:
            policy = Policy.parse(json.loads(text))
        except InvalidError:
            continue
        if marked < 100:
            mark_checked_policy(file, tmp_path, text, [rule.plain for rule in policy.rules], policy.otherwise)
            file.write_bytes(text)
            assert read_checked_policy(file, tmp_path) == data
            marked += 1
        gate = policy_with_rules(policy, ())
        for _ in range(4):
            tool, args = dice.choice(TOOLS), random_args(dice)
            effect = gate.decide(tool, args).effect
            assert allows_certainly(json.loads(text), tool, args) == (effect == "allow"), (data, tool, args)
            effects[effect] += 1
    assert min(effects.values()) > 500, effects  # Each effect is common enough to be tested.


@pytest.mark.parametrize("limit", ["5", True])
def test_a_value_that_the_policy_reads_as_another_one_is_not_marked(tmp_path: Path, limit: object) -> None:
    file = tmp_path / "policy.json"
    where = {"amount": {"at_most": limit}}
    file.write_text(json.dumps({"rules": [{"tools": ["pay"], "effect": "allow", "where": where}]}))
    policy = PolicyFile(file)
    policy.policy()
    policy.mark_checked(tmp_path)
    assert not (tmp_path / "checked-policies").exists()


@pytest.mark.parametrize("change", [b" ", b'\n# {"rules": []}'])
def test_another_text_is_not_the_one_that_was_checked(tmp_path: Path, change: bytes) -> None:
    file = tmp_path / "policy.toml"
    file.write_bytes(b'[[rules]]\ntools = ["ls"]\neffect = "allow"\n')
    policy = PolicyFile(file)
    policy.policy()
    policy.mark_checked(tmp_path)
    assert read_checked_policy(file, tmp_path) == {"rules": [{"tools": ["ls"], "effect": "allow"}]}
    file.write_bytes(file.read_bytes() + change)
    assert read_checked_policy(file, tmp_path) is None


def test_a_policy_with_the_same_text_elsewhere_has_its_own_mark(tmp_path: Path) -> None:
    file, other = tmp_path / "policy.json", tmp_path / "other.json"
    for path in (file, other):
        path.write_text('{"rules": [{"tools": ["ls"]}]}')
    policy = PolicyFile(file)
    policy.policy()
    policy.mark_checked(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_checked_policy(other, tmp_path)


def test_a_condition_as_plain_data_is_what_was_written() -> None:
    where = {"items": {"any": {"price": {"above": 1.0, "below": 3.0}}}, "n": {"count": {"one_of": [1, 2]}}}
    policy = Policy.parse({"rules": [{"tools": ["pay"], "where": where}]})
    assert jsonable(policy.rules[0].plain.where) == where
