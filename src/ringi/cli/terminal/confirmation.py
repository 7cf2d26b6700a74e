"""The name that a person types before a costly approval."""

from __future__ import annotations

import unicodedata
from typing import Any, NamedTuple

from ringi.cli.format.visible import visible
from ringi.domain.ask import GATED
from ringi.domain.request import Request

LONGEST_NAME = 60


class ConfirmationTarget(NamedTuple):
    """The name that a person types to confirm a costly approval."""

    label: str | None
    """The argument that contains the name; None for the name of the action or the kind."""
    name: str

    def is_named(self, typed: str) -> bool:
        """Return whether a text is the name; full-width digits count as normal ones."""
        return _plain(typed) == _plain(self.name)


def target_of(request: Request, args: dict[str, Any]) -> ConfirmationTarget | None:
    """Return the name to type before a costly request is approved; None for other requests.

    The name is the first argument that is a number or a short text, else the name of the action, else the kind.
    """
    is_costly = request.tier in ("high", "irreversible") if request.tier else request.priority in ("high", "urgent")
    if not is_costly or not (request.action or request.kind in GATED):
        return None
    if not request.action:
        return ConfirmationTarget(None, request.kind)
    named = ((visible(label), visible(str(value)).strip()) for label, value in args.items() if _is_name(value))
    return ConfirmationTarget(*next(named, (None, visible(request.action.name))))


def _is_name(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= LONGEST_NAME and "\n" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()
