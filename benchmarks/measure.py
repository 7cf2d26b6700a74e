"""Rounds of a measurement, their spread, and the table of results."""

from __future__ import annotations

import os
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple


class Spread(NamedTuple):
    """The results of several rounds of one measurement."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, rounds: Sequence[float]) -> Spread:
        return cls(min(rounds), statistics.median(rounds), max(rounds))

    def __str__(self) -> str:
        return format_number(self.median) if self.least == self.most else " / ".join(map(format_number, self))


@dataclass(frozen=True)
class Row:
    """One measurement: paired rounds of the floor and of Ringi, and bounds of the ratio or of Ringi's number."""

    what: str
    unit: str
    ours: Sequence[float]
    floor: Sequence[float] = ()
    at_most: float | None = None
    at_least: float | None = None
    of_ratio: bool = True
    """Whether the bound applies to the ratio to the floor, not to Ringi's own number."""
    note: str = ""

    @property
    def ratios(self) -> list[float]:
        return [ours / floor for ours, floor in zip(self.ours, self.floor, strict=True)] if self.floor else []

    @property
    def judged(self) -> float:
        return Spread.of(self.ratios if self.of_ratio and self.ratios else self.ours).median

    @property
    def verdict(self) -> str:
        if self.at_most is None and self.at_least is None:
            return ""
        is_low = self.at_most is None or self.judged <= self.at_most
        is_high = self.at_least is None or self.judged >= self.at_least
        return "PASS" if is_low and is_high else "MISS"

    @property
    def target(self) -> str:
        bounds = (("≤", self.at_most), ("≥", self.at_least))
        times = " ×" if self.of_ratio and self.floor else ""
        return ", ".join(f"{sign} {format_number(bound)}{times}" for sign, bound in bounds if bound is not None)

    def cells(self) -> list[str]:
        floor = str(Spread.of(self.floor)) if self.floor else ""
        ratio = str(Spread.of(self.ratios)) if self.ratios else ""
        return [self.what, self.unit, floor, str(Spread.of(self.ours)), ratio, self.target, self.verdict]


HEAD = ["what", "unit", "floor min/median/max", "ringi min/median/max", "ratio min/median/max", "target", ""]


def table(rows: Sequence[Row]) -> str:
    """Return the rows as a Markdown table, readable as plain text too."""
    lines = [HEAD, *(row.cells() for row in rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEAD))]
    texts = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    notes = [f"- {row.what}: {row.note}" for row in rows if row.note]
    return "\n".join([texts[0], rule, *texts[1:], *(["", *notes] if notes else [])])


def format_number(value: float) -> str:
    """Return a number with three digits."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def resident() -> int:
    """Return the memory of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder for the files of one measurement, on a real disk if there is one."""
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as path:
        yield Path(path)
