"""The tool calls of an agent, as its updates describe them, and the choice among its options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from acp.schema import PermissionOption, RequestPermissionRequest

DESCRIBING = ("title", "kind", "content", "rawInput")
"""The fields of a tool call that say what it does."""


class ToolCalls:
    """The tool calls of all sessions of an agent; an update may leave out what an earlier one said."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], dict[str, Any]] = {}

    def update(self, session: str, update: dict[str, Any]) -> dict[str, Any]:
        """Return all that is known of a tool call after an update.

        Args:
            session: The id of the session.
            update: The update of the tool call, as in the protocol.
        """
        call = self._calls.setdefault((session, str(update.get("toolCallId"))), {})
        call.update({name: update[name] for name in DESCRIBING if update.get(name) is not None})
        return call

    def end(self, session: str, call: str) -> None:
        """Forget a tool call that has ended."""
        self._calls.pop((session, call), None)


def action_of(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments under which people and policies see a tool call.

    The name is the kind of the call, such as `execute` or `edit`: its title is free text. The arguments are the agent's
    own, if it sends them; otherwise its title and the changes of files.

    Args:
        call: All that is known of the tool call.
    """
    name, own = str(call.get("kind") or "other"), call.get("rawInput")
    if isinstance(own, dict) and own:
        return name, own
    args = {"title": str(call.get("title") or "")}
    changes = [each for each in call.get("content") or () if isinstance(each, dict) and each.get("type") == "diff"]
    if len(changes) == 1 and (path := changes[0].get("path")):
        edits = [{"oldText": changes[0].get("oldText") or "", "newText": changes[0].get("newText") or ""}]
        return name, {**args, "path": path, "edits": edits}
    return name, {**args, **({"changes": changes} if changes else {}), **({} if own is None else {"input": own})}


def chosen(request: RequestPermissionRequest, kinds: Iterable[str]) -> PermissionOption | None:
    """Return the option of the first of these kinds that the agent offers; None without one.

    Args:
        request: The request for permission.
        kinds: The kinds, such as `allow_once`, the preferred one first.
    """
    options = ((kind, option) for kind in kinds for option in request.options)
    return next((option for kind, option in options if option.kind == kind), None)
