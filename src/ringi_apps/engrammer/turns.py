"""Turns of a conversation in the graph's state: question, answer and insight outcomes."""

from __future__ import annotations

from typing import Any

Turn = dict[str, Any]
Turns = list[Turn]
MAX_TURNS = 30
"""Maximum number of turns in a thread; older insights remain in the playbook and its requests."""


def merge_turns(before: Turns, more: Turns) -> Turns:
    """Merge updates into turns; outcomes of several insights may arrive separately."""
    turns = {turn["run_id"]: turn for turn in before}
    for new in more:
        old = turns.get(new["run_id"], {})
        outcomes = {**old.get("outcomes", {}), **new.get("outcomes", {})}
        turns[new["run_id"]] = {**old, **new, "outcomes": outcomes}
    return list(turns.values())[-MAX_TURNS:]


def new_turn(run_id: str, thread_id: str, query: str, at: str) -> Turn:
    """Return a new turn for a question."""
    return {
        "run_id": run_id,
        "thread_id": thread_id,
        "query": query,
        "response": None,
        "references": [],
        "bullets": [],
        "at": at,
        "phase": "answering",
        "feedback": None,
        "reflected": None,
        "insights": [],
        "outcomes": {},
        "suppressed": [],
        "usage": {},
        "parent": None,
    }
