"""The changes of conditions in the source that `scripts/mutate.py` tries."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

OPPOSITES: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


class Change(NamedTuple):
    """A part of a file, from one byte to another, and the text that replaces it."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the change."""
        return source[: self.start] + self.after.encode() + source[self.end :]

    def probed(self, source: bytes, number: int) -> bytes:
        """Return the source with a call that records who reaches the part."""
        call = f'__import__("mutation_probe").reach({number})'
        is_statement = self.after == "pass"
        text = f"{call}; {self.before}" if is_statement else f"({call} or ({self.before}))"
        return source[: self.start] + text.encode() + source[self.end :]

    def __str__(self) -> str:
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.file}:{self.line}  {before}  →  {after}"


def changes_of(file: str, source: bytes) -> Iterator[Change]:
    """Yield the possible changes of the conditions in the functions of a file."""
    tree = ast.parse(source)
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    # Before Python 3.12 a node in an f-string has no right place.
    strings = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    seen = set(strings)
    for node in (part for function in functions for part in ast.walk(function)):
        if id(node) in seen:
            continue
        seen.add(id(node))
        for place, text in replacements(node, source):
            start = starts[place.lineno - 1] + place.col_offset
            end = starts[(place.end_lineno or place.lineno) - 1] + (place.end_col_offset or 0)
            yield Change(file, place.lineno, start, end, source[start:end].decode(), text)


def replacements(node: ast.AST, source: bytes) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield the parts of a node that decide which way the code takes, each with a text that decides otherwise."""
    if isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise):
        yield node.body[-1], "pass"
    for guard in guards_of(node):
        if isinstance(guard, ast.UnaryOp) and isinstance(guard.op, ast.Not):
            yield guard, f"({ast.unparse(guard.operand)})"
        elif not isinstance(guard, ast.Constant):
            yield guard, f"(not ({ast.unparse(guard)}))"
        for part in ast.walk(guard):
            if isinstance(part, ast.BoolOp):
                other: ast.expr = ast.BoolOp(opposite(part.op), part.values)
                yield part, f"({ast.unparse(other)})"
            elif isinstance(part, ast.Compare) and any(type(each) in OPPOSITES for each in part.ops):
                other = ast.Compare(part.left, [opposite(each) for each in part.ops], part.comparators)
                yield part, f"({ast.unparse(other)})"


def guards_of(node: ast.AST) -> Sequence[ast.expr]:
    """Return the conditions of a node."""
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.Assert(test=test) | ast.IfExp(test=test):
            return [test]
        case ast.comprehension(ifs=conditions):
            return conditions
        case ast.Return(value=(ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not())) as value):
            return [value]
    return []


def opposite(operator: Any) -> Any:
    """Return the operator that differs at the limit, or the other one of `and` and `or`."""
    return OPPOSITES.get(type(operator), type(operator))()


def choose(changes: Iterable[Change], count: int, seed: int) -> list[Change]:
    """Return some changes, at most one of a line, none within another."""
    every = sorted(set(changes))
    random.Random(seed).shuffle(every)
    chosen: list[Change] = []
    for each in every:
        others = [other for other in chosen if other.file == each.file]
        if len(chosen) < count and all(
            other.line != each.line and (other.end <= each.start or each.end <= other.start) for other in others
        ):
            chosen.append(each)
    return sorted(chosen)
