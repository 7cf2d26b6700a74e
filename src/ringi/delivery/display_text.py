"""Display blocks as plain lines of a mail: bounded, without links and without characters that hide content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from ringi.domain.display import Block, Code, Diff, Link, Table, summary_of

MOST_LINES = 20
"""Rows of a table, or lines of code or of a diff, in a mail; the page shows all."""
MOST_CHARACTERS = 200
"""The maximum number of characters in one line."""
MOST_CELL = 60


def one_line(text: str) -> str:
    """Return an agent's text as one line, without characters that hide it, reverse it, or make it a link."""
    return " ".join(_plain(text).split())


def lines_of(block: Block, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield the description of a block and then its content; images have no content."""
    yield one_line(summary_of(block, texts))
    lines = _lines(block)
    for line in islice(lines, MOST_LINES):
        yield f"  {cut(line, MOST_CHARACTERS)}".rstrip()
    remaining = sum(1 for _ in lines)
    if remaining:
        yield f"  … {texts['more'].format(n=remaining)}"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Table(columns=columns, rows=rows):
            for row in (columns, *rows):
                yield " | ".join(cut(one_line("" if cell is None else str(cell)), MOST_CELL) for cell in row)
        case Code(text=text):
            yield from map(_plain, text.splitlines())
        case Diff(before=before, after=after):
            yield from changed(before.splitlines(), after.splitlines())
        case Link(url=url):
            yield one_line(url)


def changed(before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the removed and the added lines, without the lines that both texts begin or end with."""
    shorter = min(len(before), len(after))
    start = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    end = next((n for n in range(shorter - start) if before[-1 - n] != after[-1 - n]), shorter - start)
    yield from (f"- {_plain(line)}" for line in before[start : len(before) - end])
    yield from (f"+ {_plain(line)}" for line in after[start : len(after) - end])


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters, with an ellipsis if it was cut."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _plain(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text).replace("://", ": //")
