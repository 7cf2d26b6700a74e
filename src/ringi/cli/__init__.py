"""The command `ringi`, which says what to install where a part of Ringi is missing."""

from __future__ import annotations

import sys

from ringi.base.extras import missing
from ringi.errors import MissingExtraError


def main() -> None:
    """Run the command: exit code 0 when it did its work, 1 when it failed, 2 when it was called wrongly."""
    try:
        from ringi.cli.app import main as run
    except ModuleNotFoundError as error:
        refuse(error)
    else:
        run()


def refuse(failed: ModuleNotFoundError) -> None:
    """Say which extra is missing, and exit."""
    try:
        missing("the command", failed)
    except MissingExtraError as error:
        sys.stderr.write(f"error: {error}\n")
        sys.exit(1)
