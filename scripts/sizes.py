"""Measure the shape of src against the limits; exit 1 and name each offender."""

from __future__ import annotations

import ast
import io
import math
import statistics
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src"
P90, LONGEST, FILE, COMMENTS = 25, 60, 600, 3.0
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Measured:
    """A function: its place, its lines without the docstring, and whether its result is typed."""

    place: str
    lines: int
    is_typed: bool


@dataclass(frozen=True)
class Source:
    """A file: its lines by kind, `lines` without docstrings, and its functions."""

    name: str
    lines: int
    code: int
    comments: int
    docstrings: int
    functions: tuple[Measured, ...]


def main() -> int:
    """Print the table and the broken limits."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    sources = [measure(path, root) for path in sorted(root.rglob("*.py"))]
    functions = [function for source in sources for function in source.functions]
    if not functions:
        print(f"no functions below {root}")
        return 1
    print(table(sources, functions))
    broken = list(offences(sources, functions))
    print("\n".join(f"too much: {line}" for line in broken))
    return 1 if broken else 0


def measure(path: Path, root: Path) -> Source:
    """Return the measures of one file."""
    text = path.read_text()
    tree = ast.parse(text)
    name = path.relative_to(root).as_posix()
    found = [node for node in ast.walk(tree) if isinstance(node, Function)]
    docstrings = sum(docstring_lines(node) for node in ast.walk(tree))
    return Source(
        name=name,
        lines=len(text.splitlines()) - docstrings,
        code=sum(1 for line in text.splitlines() if line.strip()),
        comments=comment_lines(text),
        docstrings=docstrings,
        functions=tuple(measure_function(node, name) for node in found),
    )


def measure_function(node: Function, name: str) -> Measured:
    """Return the measures of one function, from its `def`, without docstring and decorators."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1 - docstring_lines(node)
    return Measured(f"{name}:{node.lineno} {node.name}", lines, node.returns is not None)


def docstring_lines(node: ast.AST) -> int:
    """Return the number of lines of the node's docstring, and of those below a class's fields."""
    if not isinstance(node, ast.Module | ast.ClassDef | Function) or not node.body:
        return 0
    # The strings below the fields of a class document them.
    statements = node.body if isinstance(node, ast.ClassDef) else node.body[:1]
    return sum((text.end_lineno or text.lineno) - text.lineno + 1 for text in statements if is_text(text))


def is_text(statement: ast.stmt) -> bool:
    """Return True for a string that is a statement of its own."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant):
        return False
    return isinstance(statement.value.value, str)


def comment_lines(text: str) -> int:
    """Return the number of lines with only a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(t.type == tokenize.COMMENT and t.line.lstrip().startswith("#") for t in tokens)


def table(sources: list[Source], functions: list[Measured]) -> str:
    """Return the measures as lines of text."""
    lengths = [function.lines for function in functions]
    files = [source.lines for source in sources]
    code = sum(source.code for source in sources)
    typed = sum(function.is_typed for function in functions)
    return "\n".join(
        [
            f"files      {len(files):5}   median {statistics.median(files):.0f}, max {max(files)}",
            f"functions  {len(lengths):5}   median {statistics.median(lengths):.0f}, "
            f"p90 {p90(lengths)}, max {max(lengths)}",
            f"docstrings {share(sum(s.docstrings for s in sources), code):5.1f} % of {code} lines",
            f"comments   {share(sum(s.comments for s in sources), code):5.1f} %",
            f"typed      {share(typed, len(functions)):5.1f} % of functions say what they return",
        ]
    )


def offences(sources: list[Source], functions: list[Measured]) -> Iterator[str]:
    """Yield a line for each limit that is broken, with its place."""
    lengths = [function.lines for function in functions]
    comments = share(sum(s.comments for s in sources), sum(s.code for s in sources))
    for function in functions:
        if function.lines > LONGEST:
            yield f"{function.place}: {function.lines} lines, limit {LONGEST}"
    for source in sources:
        if source.lines > FILE:
            yield f"{source.name}: {source.lines} lines without docstrings, limit {FILE}"
    if p90(lengths) > P90:
        yield f"p90 of functions {p90(lengths)}, limit {P90}; longest {longest(functions)}"
    if comments > COMMENTS:
        most = max(sources, key=lambda source: source.comments)
        yield f"comments {comments:.1f} %, limit {COMMENTS} %; most in {most.name}: {most.comments}"


def p90(values: list[int]) -> int:
    """Return the smallest value that nine tenths of the values do not exceed."""
    return sorted(values)[math.ceil(len(values) * 0.9) - 1]


def share(part: int, whole: int) -> float:
    """Return a share in percent."""
    return 100 * part / whole if whole else 0.0


def longest(functions: list[Measured]) -> str:
    """Return the places of the five longest functions."""
    worst = sorted(functions, key=lambda function: -function.lines)[:5]
    return ", ".join(f"{function.place} ({function.lines})" for function in worst)


if __name__ == "__main__":
    sys.exit(main())
