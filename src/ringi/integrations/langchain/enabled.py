"""Test whether questions are enabled for the current run."""

from __future__ import annotations

from langchain_core.runnables import ensure_config

from ringi.base.settings import hitl_enabled
from ringi.runtimes.langgraph.graph_run import ASKS


def run_asks_people() -> bool:
    """Return whether this run asks: it is fixed at the start, or a run stopped by people could continue unasked."""
    decided = ensure_config().get("configurable", {}).get(ASKS)
    return hitl_enabled() if decided is None else bool(decided)
