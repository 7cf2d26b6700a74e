"""Which answers count as read, by what a stored checkpoint holds."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import CheckpointTuple, empty_checkpoint
from langgraph.types import Interrupt

from ringi.contracts.runtime import UnreadAnswersError
from ringi.runtimes.langgraph.answer_reads import REVIEWED, AnswerReads, WaitingCalls

OUTER, INNER = "outer-task", "inner-task"
ASKED = ("__interrupt__", [Interrupt("Go?", id="one")])


def saved(namespace: str, task: str, *writes: tuple[str, Any]) -> CheckpointTuple:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": namespace}}
    return CheckpointTuple(config, empty_checkpoint(), {}, None, [(task, *write) for write in writes])


@pytest.mark.parametrize(
    ("writes", "is_read"),
    [
        ([ASKED], False),
        ([ASKED, ("__resume__", ["yes"])], False),
        ([("__resume__", ["yes"]), ASKED, ("request", "yes")], True),
        ([ASKED, ("__no_writes__", None)], True),
        ([ASKED, ("request", "yes"), ("__error__", ValueError())], False),
        ([], True),
    ],
)
def test_an_answer_is_read_once_the_step_of_an_inner_graph_that_asked_has_ended(
    writes: list[tuple[str, Any]], is_read: bool
) -> None:
    reads = AnswerReads({"one": "yes"}, {"one": WaitingCalls(None, frozenset())}, frozenset())
    reads.observe(saved("", OUTER, ASKED))
    inner = reads.observe(saved(f"learn:{OUTER}", INNER, *writes))

    assert inner
    for task, channel, value in inner.pending_writes or ():
        if (task, channel) == (INNER, "__resume__"):
            # LangGraph prepares a task that has ended like one that runs.
            value.append(reads.values["one"])
    assert (not reads.unread) == is_read


def test_an_answer_is_read_once_the_step_of_a_graph_within_an_inner_graph_has_ended() -> None:
    reads = AnswerReads({"one": "yes"}, {"one": WaitingCalls(None, frozenset())}, frozenset())
    reads.observe(saved("", OUTER, ASKED))
    reads.observe(saved(f"learn:{OUTER}", INNER, ASKED))
    assert reads.unread
    reads.observe(saved(f"learn:{OUTER}|read:{INNER}", "innermost-task", ASKED, ("request", "yes")))
    assert not reads.unread


REVIEW = {
    "action_requests": [{"name": "refund", "args": {"order": 1}}],
    "review_configs": [{"action_name": "refund", "allowed_decisions": ["approve", "reject"]}],
}
REVIEW_ENDED = [("__interrupt__", [Interrupt(REVIEW, id="one")]), ("messages", [])]


@pytest.mark.parametrize(
    ("namespace", "writes", "metadata", "is_refused"),
    [
        ("", REVIEW_ENDED, {}, True),
        (f"learn:{OUTER}", REVIEW_ENDED, {}, True),
        ("", [], {REVIEWED: "this run"}, True),
        ("", [], {REVIEWED: "an earlier run"}, False),
        ("", [ASKED, ("request", "yes")], {}, False),
    ],
)
def test_a_jump_to_the_tools_is_refused_after_a_review_that_only_the_checkpoints_show(
    namespace: str, writes: list[tuple[str, Any]], metadata: Any, is_refused: bool
) -> None:
    reads = AnswerReads({}, {}, frozenset(), "this run")
    reads.observe(saved(namespace, INNER, *writes)._replace(metadata=metadata))
    try:
        reads.check("hurry", [("jump_to", "tools")])
    except UnreadAnswersError:
        assert is_refused
    else:
        assert not is_refused
