"""Output of the commands: results and tables on standard output, progress on standard error; all visible."""

from __future__ import annotations

import json
import re
import sys
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from ringi.base.alphabets import mixed_words, with_code_points
from ringi.cli.texts import cli_text

SLOW = 1.0
"""Seconds before progress is shown."""
WIDE = 10_000
HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
"""Controls, format and bidi characters, half surrogates, private and unknown characters, line separators."""
INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
"""Fillers, variation selectors and blanks that count as letters or marks."""
JOINING = re.compile("[\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
"""Flag letters and skin tones: terminals disagree about their width, and an overlong line spills into the next."""


def print_json_or_text(data: object, text: str, as_json: bool) -> None:
    """Print data as one line of JSON, or text."""
    sys.stdout.write((ascii_json_line(data) if as_json else text) + "\n")
    sys.stdout.flush()


@contextmanager
def show_progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal if the work takes long; yield a function that changes its text."""
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    status = console.status(text)

    def begin() -> None:
        status.start()
        console.show_cursor()  # A killed process could not show a hidden cursor again.

    starter = threading.Timer(SLOW, begin)
    starter.daemon = True
    starter.start()
    try:
        yield status.update
    finally:
        starter.cancel()
        starter.join()
        status.stop()


def listing_text(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str, next: str | None = None) -> str:
    """Return rows as a table.

    Args:
        columns: The keys of the headings, without `column.`.
        rows: Untrusted text.
        empty: The key of the text in place of an empty table.
        next: Where the list continues; None at its end.
    """
    if not rows:
        return cli_text(empty)
    more = "\n" + cli_text("more", cursor=next) if next else ""
    return terminal_table([cli_text(f"column.{each}") for each in columns], rows) + more


def terminal_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return rows of untrusted text as a table; on a terminal, long cells are wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(*columns, box=None, pad_edge=False)
    drawn.columns[0].no_wrap = True
    for row in rows:
        # A plain str would be read as markup: "[/]" fails, "[link=…]" links.
        drawn.add_row(*(Text(escape_hidden_characters(cell), overflow="fold") for cell in row))
    console = Console(width=None if sys.stdout.isatty() else WIDE)
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


@cache
def is_hidden_character(character: str) -> bool:
    """Return whether a terminal hides this character, or terminals disagree about its width."""
    category = unicodedata.category(character)
    return category in HIDDEN_CATEGORIES or bool(INVISIBLE.match(character) or JOINING.match(character))


def escape_hidden_characters(text: str, keep: str = "") -> str:
    """Return a text with hidden characters as \\u{…}, except those to keep.

    A selector for a symbol's color is removed: the symbol is the same without it.
    """
    if text.isascii() and text.isprintable():
        return text
    text = re.sub("(.)\ufe0f", _without_color_selector, text.replace("\r\n", "\n"))
    return "".join(c if c in keep or not is_hidden_character(c) else f"\\u{{{ord(c):x}}}" for c in text)


def escape_hidden_in_lines(text: str) -> str:
    """Return a text of several lines with hidden characters escaped and tabs expanded."""
    return escape_hidden_characters(text, keep="\n\t").expandtabs(4)


def visible_line(text: str) -> str:
    """Return a text in one line, with hidden characters escaped and mixed alphabets marked."""
    return mark_mixed_alphabets(escape_hidden_characters(text))


def visible_lines(text: str) -> list[str]:
    """Return the lines of a text, with hidden characters escaped and mixed alphabets marked."""
    return mark_mixed_alphabets(escape_hidden_in_lines(text)).split("\n")


def ascii_json_line(data: object) -> str:
    """Return data as one line of JSON in ASCII, which each code page and each terminal shows as it is."""
    return json.dumps(data)


def value_for_people(value: object) -> str:
    """Return a JSON value for people; a text has no quotes."""
    return visible_line(value) if isinstance(value, str) else json_value_for_people(value)


def json_value_for_people(value: object) -> str:
    """Return a JSON value for people: a text has quotes, so "5" differs from 5; lines stay lines."""
    if isinstance(value, str):
        return mark_mixed_alphabets(f'"{escape_hidden_in_lines(value)}"')
    return mark_mixed_alphabets(escape_hidden_characters(json.dumps(value, ensure_ascii=False, indent=2), keep="\n"))


def mark_mixed_alphabets(text: str) -> str:
    """Return a text with a note behind each line that mixes alphabets whose letters look alike."""
    if text.isascii():
        return text
    return "\n".join(_marked_line(line) for line in text.split("\n"))


def _marked_line(line: str) -> str:
    letters = "".join(dict.fromkeys("".join(word.letters for word in mixed_words(line))))
    return f"{line}  {cli_text('mixed_alphabets', letters=with_code_points(letters))}" if letters else line


def _without_color_selector(found: re.Match[str]) -> str:
    return found[1] if unicodedata.category(found[1]) in ("So", "Sm") else found[0]
