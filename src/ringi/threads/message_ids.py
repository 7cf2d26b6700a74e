"""The ids of what people say: the client's own, and the one in the agent's history."""

from __future__ import annotations

import re
import uuid

OURS = re.compile(r"~[0-9a-f]{32}\Z")


def own_id(id: str) -> str:
    """Return an id that no message has yet, for one that a client sends under `id`."""
    # LangGraph puts a message in the place of one with its id: a client's own id could rewrite what anybody has said.
    return f"{id}~{uuid.uuid4().hex}"


def client_id(id: object) -> str:
    """Return the id under which a client sent a message."""
    return OURS.sub("", str(id))
