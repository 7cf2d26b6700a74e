"""Run LangGraph's graphs and workflows."""

from ringi.runtimes.langgraph.graph_run import LangGraphRuntime
from ringi.runtimes.langgraph.memories import PersonMemories
from ringi.runtimes.langgraph.stream_translator import QUIET_CALLS
from ringi.runtimes.langgraph.usage_meter import WRAPPER_MODEL, is_cut_off, is_refusal, stop_reason

__all__ = [
    "QUIET_CALLS",
    "WRAPPER_MODEL",
    "LangGraphRuntime",
    "PersonMemories",
    "is_cut_off",
    "is_refusal",
    "stop_reason",
]
