"""What the commands print: lines for people on standard output, or JSON; what goes on, on standard error."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from ringi.cli.format.visible import visible_json

SLOW = 1.0
"""Seconds after which people want to see that something goes on."""


def say(data: Any, text: str, as_json: bool) -> None:
    """Print the data as one line of JSON, or the text."""
    sys.stdout.write((visible_json(data) if as_json else text) + "\n")
    sys.stdout.flush()


@contextmanager
def progress(text: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal that something goes on once it takes long; what is yielded changes the text."""
    console = Console(stderr=True, markup=False, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    status = console.status(text)

    def begin() -> None:
        status.start()
        console.show_cursor()  # Whoever is killed cannot bring a hidden cursor back.

    starter = threading.Timer(SLOW, begin)
    starter.daemon = True
    starter.start()
    try:
        yield status.update
    finally:
        starter.cancel()
        starter.join()
        status.stop()
