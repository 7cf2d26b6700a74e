"""Benches of this tree and of an earlier commit, in alternating rounds: times of different hours cannot be compared."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import HEAD, Row, folder, table

ROUNDS = 3
HERE = Path(__file__).parent.parent


def compare(names: Sequence[str], commit: str) -> list[Row]:
    """Run benches in turn on an earlier commit and on this tree, and return a row for each of Ringi's numbers.

    Args:
        names: The names of the benches.
        commit: The earlier commit.

    Returns:
        The rows, with the earlier commit as the floor.
    """
    with folder() as path:
        earlier = path / "earlier"
        git("worktree", "add", "--detach", str(earlier), commit)
        try:
            found = defaultdict[tuple[str, str], dict[Path, list[float]]](lambda: {earlier: [], HERE: []})
            for _ in range(ROUNDS):
                for tree in (earlier, HERE):
                    for what, number in numbers_of(tree, names).items():
                        found[what][tree].append(number)
        finally:
            git("worktree", "remove", "--force", str(earlier))
    both = {what: each for what, each in found.items() if len(each[earlier]) == len(each[HERE])}
    return [Row(what, unit, each[HERE], each[earlier]) for (what, unit), each in both.items()]


def numbers_of(tree: Path, names: Sequence[str]) -> dict[tuple[str, str], float]:
    """Return Ringi's medians by row and unit, from the tables that a tree's own benches print."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tree / "src"), str(tree)))}
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks", *names], cwd=tree, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in run.stdout.splitlines() if "|" in line]
    ours = HEAD.index("ringi min/median/max")
    return {(row[0], row[1]): median_of(row[ours]) for row in rows if len(row) == len(HEAD) and row[ours][:1].isdigit()}


def median_of(cell: str) -> float:
    """Return the median of a cell of a table."""
    numbers = [float(part.replace(",", "")) for part in cell.split("/")]
    return numbers[len(numbers) // 2]


def git(*args: str) -> None:
    subprocess.run(("git", "-C", str(HERE), *args), check=True, capture_output=True)


def print_comparison(names: Sequence[str], commit: str) -> None:
    """Print the medians of each round of this tree beside those of an earlier commit."""
    print(f"\nthe floor is {commit}, in {ROUNDS} alternating rounds\n{table(compare(names, commit))}")
