"""The turns of a conversation in a graph's state: each a question, its answer, and what became of what it taught."""

from __future__ import annotations

from typing import Any

Turn = dict[str, Any]
Turns = list[Turn]
MAX_TURNS = 30
"""How many turns a thread keeps; what was learned from older ones is in the playbook, and in its requests."""


def merge_turns(before: Turns, more: Turns) -> Turns:
    """Return turns with what is new of each; outcomes of several insights come one by one."""
    turns = {turn["run_id"]: turn for turn in before}
    for new in more:
        old = turns.get(new["run_id"], {})
        outcomes = {**old.get("outcomes", {}), **new.get("outcomes", {})}
        turns[new["run_id"]] = {**old, **new, "outcomes": outcomes}
    return list(turns.values())[-MAX_TURNS:]


def new_turn(run_id: str, thread_id: str, query: str, at: str) -> Turn:
    """Return the turn of a question."""
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
        "dropped_quotes": 0,
        "usage": {},
        "parent": None,
    }
