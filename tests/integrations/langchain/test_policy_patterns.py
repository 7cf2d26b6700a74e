"""Patterns of a policy meet text that a model wrote: they take linear time, or are refused when it is loaded."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi import Policy, Rule
from ringi.base.patterns import MAX_MATCHED_LENGTH, MAX_PATTERN_LENGTH
from ringi.errors import InvalidError
from ringi.policy import AutoApproval, Condition

MAIL = r"([a-z0-9]+[._-]?)+@example\.com"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (MAIL, "a" * 30),
        (MAIL, "a" * MAX_MATCHED_LENGTH),
        (r"(a+)+b", "a" * MAX_MATCHED_LENGTH),
        (r"(\w|\d|_)*!", "1" * MAX_MATCHED_LENGTH),
        (r"(.*a){12}", "a" * (MAX_MATCHED_LENGTH - 1) + "b"),
        (r".*.*.*.*.*=.*", "x" * MAX_MATCHED_LENGTH),
        (r"(?:a?){200}a{200}", "a" * 199),
    ],
)
def test_no_argument_makes_a_pattern_slow(pattern: str, text: str) -> None:
    """With a backtracking engine each of these runs into the limit of a test."""
    assert Condition(matches=pattern).holds(text) is False


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?=a)a",
        r"(?!a)b",
        r"(?<=a)b",
        r"(?<!a)b",
        r"(a)\1",
        r"(?P<n>a)(?P=n)",
        r"(?>a+)b",
        r"(a)?(?(1)b|c)",
        r"a++b",
        r"a*+",
        r"a?+",
        r"a{2}+",
        r"[ab]++",
        r"a\Z",
        r"(a{100}){100}",
        r"a)|(?:.*",
        r"(?x)a #",
        r"[a",
        "(",
        "a" * (MAX_PATTERN_LENGTH + 1),
    ],
)
def test_a_pattern_that_may_be_slow_or_means_something_else_is_refused_when_loaded(pattern: str) -> None:
    where = {"to": {"matches": pattern}}
    for policy, place in (
        ({"rules": [{"tools": ["send"], "where": where}]}, "rules[0].where.to.matches"),
        (
            {"rules": [{"tools": ["send"], "auto_approve": [{"name": "a", "where": where}]}]},
            "rules[0].auto_approve[0].where.to.matches",
        ),
    ):
        with pytest.raises(InvalidError, match=r"not a supported pattern|write it in at most") as refused:
            Policy.parse(policy)
        assert [error.field for error in refused.value.errors] == [place]


@pytest.mark.parametrize(
    ("pattern", "text", "holds"),
    [
        (r"[*+]+", "+*", True),
        (r"[]+]+", "]+", True),
        (r"\*+", "**", True),
        (r"\\+", "\\\\", True),
        (r"a|b", "ab", False),
        (r"a", "a\n", False),
        (r"(?m)a$", "a\nb", False),
        (r"(?i)ann@example\.com", "Ann@Example.com", True),
        (r"[^\s]+", "株式会社", True),
        (r"\d+", "١٢", False),
        (r".*", "x" * MAX_MATCHED_LENGTH, True),
        (r".*", "x" * (MAX_MATCHED_LENGTH + 1), None),
        (r".*", "\ud800", None),
    ],
)
def test_a_pattern_is_for_the_whole_text(pattern: str, text: str, holds: Any) -> None:
    assert Condition(matches=pattern).holds(text) is holds


@pytest.mark.parametrize("name", ["matches", "at_most", "at_least", "above", "below", "one_of"])
def test_a_condition_that_is_null_is_refused_when_loaded(name: str) -> None:
    with pytest.raises(InvalidError, match=rf"where\.to\.{name}: is null: set it or remove it"):
        Policy.parse({"rules": [{"tools": ["send"], "where": {"to": {name: None}}}]})
    assert Condition.parse({"equals": None}).holds(None) is True


def test_a_text_that_is_too_long_waits_for_a_person() -> None:
    text = "x" * (MAX_MATCHED_LENGTH + 1)
    auto = AutoApproval(name="any", where={"to": Condition(matches=".*")})
    rule = Rule(tools=("send",), where={"to": Condition(matches="a")}, auto_approve=(auto,))
    assert rule.covers("send", {"to": text})
    assert rule.approver({"to": text}) is None


PIECES = ["a", "b", ".", "a*", "b+", "[ab]", "[^a]", "(a|b)", "(?:ab)?", "a{1,2}", r"\.", "|", "^", "$", "(", ")", "#"]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join), st.text("ab.#", max_size=8))
def test_what_it_takes_means_the_same_as_in_python(pattern: str, text: str) -> None:
    try:
        condition = Condition(matches=pattern)
    except InvalidError:
        return
    assert condition.holds(text) is (re.fullmatch(pattern, text) is not None)
