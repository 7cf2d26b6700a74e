"""The view of a client's call for people: a title, and blocks that show what it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ringi.domain.display import Block


class CallView(NamedTuple):
    """What people see of a call beside its arguments."""

    title: str
    display: tuple[Block, ...] = ()


def view_of(name: str, args: Mapping[str, Any], folder: str | None) -> CallView:
    """Return the view of a call.

    Args:
        name: The name of the tool.
        args: The arguments by name, as plain JSON.
        folder: The folder in which the client works.
    """
    return CallView(f"Run {name}?")
