"""Output of the commands: results on standard output, progress on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pydantic import BaseModel
from rich.console import Console

from ringi.cli.format.visible import visible_json

SLOW = 1.0
"""Seconds before progress is shown."""


def say(data: object, text: str, as_json: bool) -> None:
    """Print data as one line of JSON, or text."""
    sys.stdout.write((visible_json(data) if as_json else text) + "\n")
    sys.stdout.flush()


def say_list(items: Sequence[BaseModel], text: str, as_json: bool) -> None:
    """Print a whole list as one line of JSON, as the API writes it, or text."""
    say({"items": [each.model_dump(mode="json") for each in items], "next": None}, text, as_json)


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show progress on a terminal if the work takes long; yield a function that changes its text."""
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
