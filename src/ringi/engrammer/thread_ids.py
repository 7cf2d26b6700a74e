"""The threads of one conversation: a question that comes while insights wait gets a thread of its own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ringi.domain import AGENT, Thread

MAX_THREADS = 50
"""How many threads a conversation has at most: so many questions may have insights that wait."""
SIBLING_ID = re.compile(r"(.+)~q(\d+)", re.DOTALL)


def conversation_of(thread_id: str) -> str:
    """Return the conversation that a thread belongs to, by the id that its client knows."""
    found = SIBLING_ID.fullmatch(thread_id)
    return found[1] if found else thread_id


def thread_ids_of(conversation: str) -> list[str]:
    """Return the ids of all threads that a conversation may have, the first being its own."""
    return [conversation, *(f"{conversation}~q{number}" for number in range(2, MAX_THREADS + 1))]


def belongs_to(first: Thread, thread: Thread) -> bool:
    """Whether a thread is one of a conversation, and not only called like one.

    Anybody may give a thread such a name: of agents, only the one that began the conversation is heard in it.
    """
    began = thread.started_by or ""
    return thread.agent == first.agent and (began == first.started_by or not began.startswith(AGENT))


def visible_siblings(threads: Iterable[Thread], id: str, by: str | None) -> list[Thread]:
    """Return the other threads of a thread's conversation, as far as who runs it may know of them.

    Persons know all threads of their tenant, an agent those that it began.
    """
    known = {thread.id: thread for thread in threads}
    first, own = known.get(conversation_of(id)), known.get(id)
    if first is None or own is None or not belongs_to(first, own):
        return []
    others = [thread for thread in known.values() if thread.id != id and belongs_to(first, thread)]
    is_agent = (by or AGENT).startswith(AGENT)
    return [thread for thread in others if not is_agent or thread.started_by == by]
