"""Ask a person in the middle of a run, whichever framework it is of."""

from __future__ import annotations

import sys
from typing import Unpack

from ringi.base.extras import UnsupportedError
from ringi.domain.ask import AskOptions
from ringi.domain.request import Request
from ringi.runtimes.tool_calls import CURRENT

OUTSIDE = "a question outside of a run: use `async with ringi.open() as inbox: await inbox.ask(…)`, and `inbox.wait`"
IN_TOOL = (
    "a question in the middle of a tool: this framework pauses only before a call; gate the function with `@ringi.gate`"
)


def ask(title: str, **options: Unpack[AskOptions]) -> Request:
    """Stop the run until the question has ended, and return the request, decided or not.

    Ask once in a node or task of LangGraph, with no earlier side effects in it: it runs again from its beginning after
    the answer. The other frameworks cannot pause there; the error says what to use.

    Args:
        title: The question in one line.
        **options: The content of the question and who may answer it.

    Returns:
        The ended request. `request.granted` is the call as approved and edited by a person, and None without approval.

    Raises:
        InvalidError: The question breaks a rule; there is one error for each field.
        UnsupportedError: No run can stop here.
    """
    if "langgraph.config" in sys.modules:
        from ringi.integrations import langgraph, run_askers

        if run_askers.is_in_run():
            return langgraph.ask(title, **options)
    raise UnsupportedError(IN_TOOL if CURRENT.get() else OUTSIDE)
