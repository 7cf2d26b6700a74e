"""The tools with which a model asks people itself: a gate in front of them would ask twice."""

from __future__ import annotations

from langchain_core.tools import BaseTool

from ringi.integrations.langchain.ask_human import AskHuman
from ringi.integrations.langchain.finish_gate import finish_tool
from ringi.runs.model_form import KEY


def asks_itself(tool: BaseTool) -> bool:
    """Return whether a tool of Ringi asks people itself: they need not consent to being asked."""
    while isinstance(inner := getattr(tool, "inner", None), BaseTool):
        tool = inner
    return isinstance(tool, AskHuman) or tool is finish_tool or tool.name == KEY
