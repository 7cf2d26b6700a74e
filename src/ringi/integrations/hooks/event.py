"""One event of a hook, as Claude Code or Codex writes it, and the reply to it."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, Self, get_args

from ringi.base.validation import safe_repr
from ringi.errors import InvalidError
from ringi.integrations.askers import hashed
from ringi.integrations.client_calls import Session

HookClient = Literal["claude-code", "codex"]
CLIENTS: tuple[HookClient, ...] = get_args(HookClient)
Json = dict[str, Any]
MAX_ID = 200
Reply = Json | None
"""What the hook prints; None prints nothing: the client goes on by its own rules."""


class HookEvent(NamedTuple):
    """An event of a client."""

    client: HookClient
    name: str
    """`hook_event_name`, such as `PreToolUse`."""
    session: Session
    data: Json
    """Everything that the client wrote."""

    @classmethod
    def parse(cls, client: HookClient, text: bytes) -> Self:
        """Return the event in what a client writes to a hook.

        Raises:
            InvalidError: It is not the JSON of an event.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidError.of(
                "stdin", f"is not JSON ({error}): run this as a hook of {client}", "not_json"
            ) from None
        if not isinstance(data, dict):
            raise InvalidError.of("stdin", f"{safe_repr(data)} is not an event of a hook of {client}")
        session = Session(client, text_in(data, "session_id"), text_in(data, "cwd"))
        return cls(client, text_in(data, "hook_event_name"), session, data)

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return text_in(self.data, "tool_name")

    @property
    def args(self) -> Json:
        """The arguments of the tool."""
        args = self.data.get("tool_input")
        if not isinstance(args, dict):
            raise InvalidError.of("tool_input", f"{safe_repr(args)} is not an object")
        return args

    @property
    def call_id(self) -> str:
        """The id by which the client knows the call."""
        id = text_in(self.data, "tool_use_id")
        return id if len(id) <= MAX_ID else hashed(id)

    @property
    def turn(self) -> str:
        """The id of the turn; empty if the client does not name it."""
        return str(self.data.get("prompt_id") or self.data.get("turn_id") or "")

    def specific(self, **output: object) -> Json:
        """Return a reply of this kind of event."""
        return {"hookSpecificOutput": {"hookEventName": self.name, **output}}


def text_in(data: Json, name: str) -> str:
    """Return a text of an event.

    Raises:
        InvalidError: It is missing, or not a text.
    """
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidError.of(name, f"{safe_repr(value)} is not a text: run this as a hook")
    return value
