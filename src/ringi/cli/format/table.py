"""Tables for people; a program that reads the output gets uncut lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ringi.cli.format.visible import visible

WIDE = 10_000


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of untrusted text as a table; on a terminal, long cells are wrapped."""
    drawn = Table(*columns, box=None, pad_edge=False)
    drawn.columns[0].no_wrap = True
    for row in rows:
        # A plain str would be read as markup: "[/]" fails, "[link=…]" links.
        drawn.add_row(*(Text(visible(cell), overflow="fold") for cell in row))
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
