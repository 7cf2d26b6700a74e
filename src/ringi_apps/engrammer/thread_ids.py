"""Threads of one conversation: a question asked while insights are pending gets its own thread."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ringi.domain import AGENT, Thread

MAX_THREADS = 50
"""Maximum number of threads in a conversation, and so of questions with pending insights."""
SIBLING_ID = re.compile(r"(.+)~q(\d+)", re.DOTALL)


def conversation_of(thread_id: str) -> str:
    """Return the conversation id of a thread id."""
    found = SIBLING_ID.fullmatch(thread_id)
    return found[1] if found else thread_id


def thread_ids_of(conversation: str) -> list[str]:
    """Return all possible thread ids of a conversation; the first is the conversation id."""
    return [conversation, *(f"{conversation}~q{number}" for number in range(2, MAX_THREADS + 1))]


def belongs_to(first: Thread, thread: Thread) -> bool:
    """Return whether a thread belongs to a conversation and does not only have a matching name.

    Anyone can give a thread such a name. Of agents, only the one that started the conversation may take part in it.
    """
    began = thread.started_by or ""
    return thread.agent == first.agent and (began == first.started_by or not began.startswith(AGENT))


def visible_siblings(threads: Iterable[Thread], id: str, by: str | None) -> list[Thread]:
    """Return the other threads of a thread's conversation that the user of the run may see.

    A person sees all threads of the tenant; an agent sees only those that it started.
    """
    known = {thread.id: thread for thread in threads}
    first, own = known.get(conversation_of(id)), known.get(id)
    if first is None or own is None or not belongs_to(first, own):
        return []
    others = [thread for thread in known.values() if thread.id != id and belongs_to(first, thread)]
    is_agent = (by or AGENT).startswith(AGENT)
    return [thread for thread in others if not is_agent or thread.started_by == by]
