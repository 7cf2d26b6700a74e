"""Run LangGraph's graphs and workflows."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
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

__getattr__ = lazy_exports(
    __name__,
    {
        "memories": "PersonMemories",
        "graph_run": "LangGraphRuntime",
        "stream_translator": "QUIET_CALLS",
        "usage_meter": "WRAPPER_MODEL is_cut_off is_refusal stop_reason",
    },
)
