"""Whose answer counts for a question of a run."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ringi.contracts.runtime import Question
from ringi.domain.ask import Action, Answer, Ask, Continuation, request_content_digest
from ringi.domain.request import Request
from ringi.domain.thread import Run
from ringi.domain.voting import Decider
from ringi.runs.context import is_outcome_void
from ringi.testing.clock import NOON


def answered(interrupt_id: str, *, is_read: bool) -> tuple[Request, Question]:
    """Return an answered request, and the question at its place."""
    ask = Ask(title="Pay?", action=Action("pay"))
    continuation = Continuation(runner="graph", target="shop", key="t1", args={"interrupt_id": interrupt_id})
    asked, _ = Request.asked(ask.checked(max_fields=5), id="q-1", now=NOON, by="agent", continuation=continuation)
    answer = Answer.parse({"decision": "approve", "digest": asked.digest})
    request, _ = asked.completed(answer, by=Decider("ann", is_admin=True), channel="test", now=NOON)
    if is_read:
        request, _ = request.acknowledged("system", NOON + timedelta(seconds=1), None)
    return request, Question("now", (ask,), (request_content_digest(ask),))


@pytest.mark.parametrize(
    ("interrupt_id", "is_read", "delivered", "is_other"),
    [
        ("now", False, [], False),
        ("now", True, ["now"], False),
        ("before", False, [], False),
        ("before", False, ["before"], True),
        ("before", True, [], True),
    ],
)
def test_an_answer_that_the_run_has_read_elsewhere_decides_no_other_question(
    interrupt_id: str, is_read: bool, delivered: list[str], is_other: bool
) -> None:
    request, question = answered(interrupt_id, is_read=is_read)

    assert is_outcome_void(request, question, Run(id="r1", input={}), delivered) == is_other
