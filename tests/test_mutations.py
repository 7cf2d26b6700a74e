"""The changes that `scripts/mutate.py` makes in the source."""

from __future__ import annotations

import ast

import pytest
from scripts.mutations import Change, changes_of, choose

SOURCE = """
LIMIT = 1 if True else 2
def take(text, count, is_open):
    # Größe
    if not is_open or count > 9:
        raise ValueError(f"{count if count else 'none'}")
    while count <= 3: count += 1
    return count == 4 and [each for each in text if each]
"""


def changes() -> list[Change]:
    return list(changes_of("take.py", SOURCE.encode()))


def test_each_condition_is_turned_around_and_each_limit_is_moved() -> None:
    assert sorted((change.line, change.before, change.after) for change in changes()) == [
        (5, "count > 9", "(count >= 9)"),
        (5, "not is_open or count > 9", "(not (not is_open or count > 9))"),
        (5, "not is_open or count > 9", "(not is_open and count > 9)"),
        (6, SOURCE.splitlines()[5].strip(), "pass"),
        (7, "count <= 3", "(count < 3)"),
        (7, "count <= 3", "(not (count <= 3))"),
        (8, "count == 4 and [each for each in text if each]", "(count == 4 or [each for each in text if each])"),
        (8, "count == 4 and [each for each in text if each]", "(not (count == 4 and [each for each in text if each]))"),
        (8, "each", "(not (each))"),
    ]


def test_a_single_negation_is_dropped() -> None:
    (change,) = changes_of("a.py", b"def f(a):\n    return not a\n")
    assert change.applied(b"def f(a):\n    return not a\n") == b"def f(a):\n    return (a)\n"


@pytest.mark.parametrize("change", changes(), ids=str)
def test_changed_and_probed_source_is_python(change: Change) -> None:
    ast.parse(change.applied(SOURCE.encode()))
    probed = change.probed(SOURCE.encode(), 7).decode()
    ast.parse(probed)
    assert "reach(7)" in probed.splitlines()[change.line - 1]


def test_the_seed_chooses_one_change_of_a_line_and_none_within_another() -> None:
    chosen = choose(changes(), 9, seed=1)
    assert [change.line for change in chosen] == [5, 6, 7, 8]
    assert chosen == choose(reversed(changes()), 9, seed=1)
    assert len(choose(changes(), 2, seed=1)) == 2
