"""The results of courses: a file, the progress, tables, and whether two courses differ by more than chance."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import IO, Self

from benchmarks.apps.classroom import Course, Report, Result, usage_of
from benchmarks.apps.model_cache import FolderCache
from benchmarks.apps.playbooks import Cost

PAIR = {"reviewed", "unreviewed"}
"""A pair that is compared besides those with the base."""
PROGRESS_EVERY = 10


class ResultLog:
    """Writes each result to a file, and prints the progress.

    Args:
        path: The file, which is overwritten; None for no file.
        cache: The cache of the model, which counts its calls.
    """

    def __init__(self, path: Path | None, cache: FolderCache) -> None:
        self._path, self._cache = path, cache
        self._file: IO[str] | None = None
        self._done, self._results, self._rights = 0, Counter[str](), Counter[str]()
        self.calls = 0
        """The number of calls that all courses make, without repeated ones; 0 if a script answers."""
        self.lesson_calls = 0
        """The number of calls of one lesson."""

    def __enter__(self) -> Self:
        self._file = self._path.open("w", encoding="utf-8") if self._path else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.close()

    async def estimate(self, call: Callable[[], Awaitable[None]]) -> None:
        """Make a first call, and print the time that all calls will take at most."""
        began = time.monotonic()
        await call()
        took = time.monotonic() - began
        if self._cache.calls:
            print(f"the first call took {took:.1f} s: {self.calls} calls take about {took * self.calls / 60:.0f} min")
        else:
            print(f"{self.calls} calls; the first one is in the cache, so the progress will say how long they take")

    def add(self, course: Course, result: Result | None) -> None:
        """Take a result, or a lesson if it is None."""
        if result is None:
            self._done += self.lesson_calls
            return
        self._done += 1
        self._results[course.key] += 1
        self._rights[course.key] += result.right
        if self._file:
            self._file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")
            self._file.flush()
        if self.calls and self._results[course.key] % PROGRESS_EVERY == 0:
            print(f"  {course.key}: {self._rights[course.key]} of {self._results[course.key]} right{self._left()}")

    def _left(self) -> str:
        if not self._cache.calls:
            return ""
        seconds = (time.monotonic() - self._cache.began) / self._cache.calls * max(self.calls - self._done, 0)
        return f"; at most {seconds / 60:.0f} min left"


def mcnemar(first: int, second: int) -> float:
    """Return the exact two-sided p of McNemar's test.

    Args:
        first: The number of questions that only the first of two courses has right.
        second: The number of questions that only the second one has right.
    """
    number = first + second
    tail = sum(math.comb(number, k) for k in range(min(first, second) + 1))
    return min(1.0, math.ldexp(tail, 1 - number))


def pair_table(reports: Sequence[Report]) -> str:
    """Return the comparisons of courses with the base, and of poison with and without a reviewer."""
    lines: list[list[object]] = [["pairs of courses", "only the first right", "only the second right", "McNemar p"]]
    for one, other in combinations(reports, 2):
        if one.course.key == "base" or {one.course.key, other.course.key} == PAIR:
            rights = [{each.question: each.right for each in report.results} for report in (one, other)]
            first = sum(right and not rights[1][question] for question, right in rights[0].items())
            second = sum(right and not rights[0][question] for question, right in rights[1].items())
            lines.append([f"{one.course.key}, {other.course.key}", first, second, f"{mcnemar(first, second):.2g}"])
    return table(lines)


def outcome_table(reports: Sequence[Report]) -> str:
    """Return the table of the courses."""
    head = ["", "right", "of", "%", "no answer", "learned", "rejected", "suppressed", "other", "poison offered"]
    lines: list[list[object]] = [[*head, "poison learned", "bullets", "tokens", "not approved", "audit"]]
    for each in reports:
        ends, share = each.outcomes, f"{100 * each.right / each.asked:.1f}"
        other = ends.total() - ends["learned"] - ends["rejected"] - ends["suppressed"]
        exam = [each.right, each.asked, share, each.failed]
        insights = [ends["learned"], ends["rejected"], ends["suppressed"], other, each.poison_count, each.wrong_bullets]
        lines.append([each.course.title, *exam, *insights, each.bullets, each.tokens, each.unapproved, each.findings])
    return table(lines)


def cost_table(reports: Sequence[Report]) -> str:
    """Return the cost of a question, by course and role."""
    costs = ["model calls", "tokens read", "of them cached", "tokens written"]
    lines = [["a question costs", *(f"{what}: {cost}" for what in ("lesson", "exam") for cost in costs)]]
    for each in reports:
        lesson = usage_of(each.lessons, "answer") + usage_of(each.lessons, "reflect")
        exam = average_costs(usage_of(each.exams, "answer"), len(each.exams))
        lines.append([each.course.title, *average_costs(lesson, len(each.lessons)), *exam])
    return table(lines)


def average_costs(total: Counter[str], number: int) -> list[str]:
    """Return the cost of each of a number of questions; providers that count no tokens report 0."""
    if not number:
        return [""] * 4
    tokens = [
        f"{total[name] / number:,.1f}" if total["input"] else "not counted" for name in ("input", "cached", "output")
    ]
    return [f"{total['calls'] / number:,.1f}", *tokens]


def growth_table(found: Sequence[Cost]) -> str:
    """Return the cost of one more bullet, by the size of the playbook."""
    head = ["one more bullet in a playbook of", "model calls to curate", "tokens read to curate", "a model would read"]
    times = ["proposal, processor ms", "curation, processor ms", "curation and storing, ms"]
    lines = [[*head, *times, "prompt that stays cached", "after an edit in the middle"]]
    for each in found:
        took, prefixes = (each.proposal_ms, each.curation_ms, each.stored_ms), (each.prefix, each.edited)
        numbers = [f"{each.bullets:,}", "0", "0", f"{each.tokens:,}", *(f"{ms:.2f}" for ms in took)]
        lines.append([*numbers, *(f"{prefix:.1%}" for prefix in prefixes)])
    return table(lines)


def table(lines: Sequence[Sequence[object]]) -> str:
    """Return lines as a Markdown table, readable as plain text too."""
    cells = [[str(cell) for cell in line] for line in lines]
    widths = [max(len(line[n]) for line in cells) for n in range(len(cells[0]))]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in cells
    ]
    return "\n".join([rows[0], "|" + "|".join("-" * (width + 2) for width in widths) + "|", *rows[1:]])
