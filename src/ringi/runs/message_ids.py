"""The ids of user messages: the client's own id, and the id in the agent's history."""

from __future__ import annotations

import re
import uuid
from typing import Any

from ringi.domain.thread import Thread
from ringi.files.images import messages_in

OURS = re.compile(r"~[0-9a-f]{32}\Z")


def own_id(id: str) -> str:
    """Return a unique message id for the id that a client sends."""
    # LangGraph replaces a message that has the same id: a client's id could overwrite any earlier message.
    return f"{id}~{uuid.uuid4().hex}"


def client_id(id: object) -> str:
    """Return the client's original id of a message."""
    return OURS.sub("", str(id))


def began_with(thread: Thread, input: dict[str, Any]) -> bool:
    """Return True if this message, identified by its id, began the newest run of a thread."""
    before, now = (id_of(last_message(each)) for each in (thread.run.input if thread.run else {}, input))
    return bool(now and before == now)


def last_message(input: dict[str, Any]) -> dict[str, Any] | None:
    """Return the newest message of a run's input."""
    messages = messages_in(input)
    last = messages[-1] if messages else None
    return last if isinstance(last, dict) else None


def id_of(message: dict[str, Any] | None) -> str | None:
    """Return the id under which a client sent a message; None if it sent none."""
    id = message.get("id") if message else None
    return client_id(id) if id else None
