"""The ids of what people say: the client's own, and the one in the agent's history."""

from __future__ import annotations

import re
import uuid
from typing import Any

from ringi.domain.thread import Thread
from ringi.files.images import messages_in

OURS = re.compile(r"~[0-9a-f]{32}\Z")


def own_id(id: str) -> str:
    """Return an id that no message has yet, for one that a client sends under `id`."""
    # LangGraph puts a message in the place of one with its id: a client's own id could rewrite what anybody has said.
    return f"{id}~{uuid.uuid4().hex}"


def client_id(id: object) -> str:
    """Return the id under which a client sent a message."""
    return OURS.sub("", str(id))


def began_with(thread: Thread, input: dict[str, Any]) -> bool:
    """Whether the newest run of a thread has this message, known by its id, for its input."""
    before, now = (id_of(last_message(each)) for each in (thread.run.input if thread.run else {}, input))
    return bool(now and before == now)


def last_message(input: dict[str, Any]) -> dict[str, Any] | None:
    """Return the newest message of a run's input."""
    messages = messages_in(input)
    last = messages[-1] if messages else None
    return last if isinstance(last, dict) else None


def id_of(message: dict[str, Any] | None) -> str | None:
    """Return the id under which a client sent a message, if it did."""
    id = message.get("id") if message else None
    return client_id(id) if id else None
