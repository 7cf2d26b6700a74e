"""The places where a gated function asks in a run of Ringi: the run suspends."""

from __future__ import annotations

import logging
from typing import Any

from langgraph.config import get_config
from langgraph.errors import GraphBubbleUp

from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.integrations.askers import GatedFunctionCall, HostAsker
from ringi.integrations.langgraph import ask_question
from ringi.policy.rules import PolicyDenial
from ringi.runs.context import RunContext, call_digest, find_run_context, question_content_digest
from ringi.runtimes.langgraph.graph_run import GATED_STEPS, call_place_in_step, run_asks_people

log = logging.getLogger(__name__)
NO_CALL_ID = str(None)
"""The id of the tool call in the questions of functions: they have none."""


class RunAsker(HostAsker):
    """Asks by an interrupt of a graph.

    Args:
        host: The context of the run.
        config: The configuration of the step.
    """

    suspensions = (GraphBubbleUp,)

    def __init__(self, host: RunContext, config: Any) -> None:
        super().__init__(host)
        self._config, self._steps = config, config["configurable"][GATED_STEPS]
        self._place = str(config["configurable"].get("checkpoint_ns"))

    def asks(self) -> bool:
        return run_asks_people()

    async def earlier_facts(self, call: GatedFunctionCall) -> dict[str, Any] | None:
        return self._host.facts_of(NO_CALL_ID, call_digest(*call))

    async def approve(self, question: Ask, rule: str) -> Request | None:
        place = call_place_in_step(self._config, question_content_digest(question))
        return await self._host.approve(question, rule, place)

    async def ask(self, question: Ask) -> Request:
        name = question.action.name if question.action else question.title
        with self._steps.asking(self._place, name):
            log.info("%s suspends its run until a person answers", name)
            return ask_question(question)

    def begin(self) -> None:
        self._steps.begin(self._place)


class BlockingRunAsker(RunAsker):
    """Does the same without await, for functions that are not async."""

    is_blocking = True

    async def deny(self, question: Ask, denial: PolicyDenial) -> str:
        self._host.deny_without_await(question, *denial)
        return f"policy:{denial.rule}"

    async def check_pauses(self, *, is_gated: bool) -> None:
        self._host.check_pauses_without_await(is_gated=is_gated)

    async def approve(self, question: Ask, rule: str) -> Request | None:
        place = call_place_in_step(self._config, question_content_digest(question))
        return self._host.approve_without_await(question, rule, place)


def is_in_run() -> bool:
    """Return whether this code runs in a node or task of LangGraph."""
    try:
        get_config()
    except RuntimeError:
        return False
    return True


def asker_in_graph(*, is_blocking: bool) -> RunAsker | None:
    """Return the asker in the run in which this code runs; None outside of one.

    Args:
        is_blocking: Whether the function is not async.
    """
    if not is_in_run():
        return None
    config = get_config()
    host = find_run_context(config)
    return None if host is None else (BlockingRunAsker if is_blocking else RunAsker)(host, config)
