"""The threads of one conversation: a question that comes while insights wait gets a thread of its own."""

from __future__ import annotations

import re

MOST = 50
"""How many threads a conversation has at most: so many questions may have insights that wait."""
NEXT = re.compile(r"(.+)~q(\d+)", re.DOTALL)


def base_of(thread_id: str) -> str:
    """Return the conversation that a thread belongs to, by the id that its client knows."""
    found = NEXT.fullmatch(thread_id)
    return found[1] if found else thread_id


def family(conversation: str) -> list[str]:
    """Return the ids of all threads that a conversation may have, the first being its own."""
    return [conversation, *(f"{conversation}~q{number}" for number in range(2, MOST + 1))]
