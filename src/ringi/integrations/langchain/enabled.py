"""Whether the agent that runs here asks people."""

from __future__ import annotations

from langchain_core.runnables import ensure_config

from ringi.base.settings import hitl_enabled
from ringi.runs.graph_run import ASKS


def asks() -> bool:
    """Whether this run asks: it was decided when the run began, or one that people stopped could go on unasked."""
    decided = ensure_config().get("configurable", {}).get(ASKS)
    return hitl_enabled() if decided is None else bool(decided)
