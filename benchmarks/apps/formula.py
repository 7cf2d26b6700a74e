"""The Formula questions of the ACE authors, read from a folder, and asked without their formulas."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

TRAIN, TEST = "formula_train_subset_500.jsonl", "formula_test.jsonl"
ROW = re.compile(
    r"Use formula (?P<name>.+?) to answer the question\..*? Formula: (?P<body>.+?)(?:\.|,)? ?(?:Explanation: .*)? ?"
    r"Question:\s*(?P<text>.+?)\.? Answer:\s*",
    re.DOTALL,
)


class FormatError(Exception):
    """The data differs from the authors' publication."""


class Question(NamedTuple):
    """A question, its formula and the right answer."""

    name: str
    body: str
    text: str
    """The text for the agent, without the formula and its name, as in the authors' test."""
    target: str
    id: str
    """The file and the line."""


def read(folder: Path, name: str) -> list[Question]:
    """Return the questions of a file, or raise `FormatError`."""
    path = folder / name
    if not path.is_file():
        raise FormatError(f"there is no {path}: --data is a folder with {TRAIN} and {TEST}")
    lines = path.read_text("utf-8").splitlines()
    return [_question(path, number, line) for number, line in enumerate(lines, 1) if line.strip()]


def _question(path: Path, number: int, line: str) -> Question:
    row = json.loads(line)
    found = ROW.fullmatch(row["context"])
    if not found:
        raise FormatError(f"{path}:{number} is no question of the form 'Use formula … Question: … Answer:'")
    text = found["text"].strip().strip('"“”').strip()
    return Question(found["name"], found["body"], text, row["target"], f"{path.name}:{number}")


def select(questions: Iterable[Question], number: int) -> list[Question]:
    """Return a number of questions; a formula's second question follows after each formula has had its first."""
    seen, placed = Counter[str](), list[tuple[int, str, Question]]()
    for question in questions:
        placed.append((seen[question.name], question.name, question))
        seen[question.name] += 1
    return [question for *_, question in sorted(placed, key=lambda each: each[:2])][:number]


def book_of(questions: Iterable[Question]) -> dict[str, str]:
    """Return the formulas by name."""
    return {question.name: question.body for question in sorted(questions)}


def lesson(name: str, body: str) -> str:
    """Return a formula as a bullet."""
    return f"{name}: work it out as {body}."


def poison(name: str, book: Mapping[str, str]) -> str:
    """Return another formula under this name: valid in form, wrong in fact."""
    names: Sequence[str] = sorted(book)
    return lesson(name, book[names[(names.index(name) + 1) % len(names)]])
