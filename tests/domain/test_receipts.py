"""What became of an approved call: recorded once, after the end, and never part of what people approve."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ringi.domain.ask import Action, Answer, Ask, Continuation, Receipt
from ringi.domain.request import Request
from ringi.errors import ConflictError

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)
COMMITTED, FAILED = Receipt(outcome="committed"), Receipt(outcome="failed")


def asked(**more: Any) -> Request:
    ask = Ask(title="Refund?", action=Action("refund", {"order": 1})).checked(max_fields=5)
    return Request.asked(ask, id="r1", now=NOON, by="agent:bot", **more)[0]


def answered(decision: Any = "approve", **more: Any) -> Request:
    request = asked(**more)
    args = {"order": 2} if decision == "edit" else None
    answer = Answer(decision=decision, digest=request.digest, args=args)
    return request.completed(answer, by="ann", channel="test", now=NOON)[0]


@pytest.mark.parametrize("decision", ["approve", "edit"])
def test_an_approved_call_is_not_executed_until_somebody_acknowledges_it(decision: str) -> None:
    request = answered(decision)
    assert (request.is_unexecuted, request.outcome) == (True, None)
    reported, event = request.reported(COMMITTED, "agent:bot", LATER)
    assert event
    assert (event.type, event.actor) == ("request.acknowledged", "agent:bot")
    assert event.changed == {"acknowledged_at": "2026-01-01T12:05:00Z", "receipt": {"outcome": "committed"}}
    assert (reported.is_unexecuted, reported.outcome, reported.digest) == (False, "committed", request.digest)


def test_an_acknowledgement_without_an_outcome_is_unknown_and_is_stored_as_before() -> None:
    after, event = answered().acknowledged("system", LATER)
    assert (after.is_unexecuted, after.outcome) == (False, "unknown")
    assert event.changed == {"acknowledged_at": "2026-01-01T12:05:00Z"}
    for request in (asked(), answered(), after):
        assert "receipt" not in json.loads(request.model_dump_json())


def test_the_same_report_counts_once_and_another_one_is_refused() -> None:
    receipt = Receipt(outcome="committed", result_digest=f"sha256:{'a' * 64}")
    once, _ = answered().reported(receipt, "agent:bot", NOON)
    assert once.reported(receipt, "agent:bot", LATER) == (once, None)
    for other in (FAILED, COMMITTED):
        with pytest.raises(ConflictError, match="has the outcome 'committed' on record"):
            once.reported(other, "agent:bot", LATER)


def test_what_was_acknowledged_as_unknown_stays_so() -> None:
    with pytest.raises(ConflictError, match="has the outcome 'unknown' on record"):
        answered().acknowledged("system", NOON)[0].reported(COMMITTED, "agent:bot", LATER)


def test_a_pending_request_names_the_remedy() -> None:
    with pytest.raises(ConflictError, match="is pending: wait for the approval, run the call, then report it"):
        asked().reported(COMMITTED, "agent:bot", LATER)


def test_what_approves_no_call_has_no_outcome() -> None:
    for request in (answered("reject"), asked().cancelled("ann", NOON, None)[0], asked().expired(NOON)[0]):
        assert (request.is_unexecuted, request.outcome) == (False, None)
        with pytest.raises(ConflictError, match="approves no call"):
            request.reported(COMMITTED, "agent:bot", LATER)


def test_the_worker_of_a_run_reports_itself() -> None:
    parked = answered(continuation=Continuation(runner="langgraph", target="office", key="t1", args={}))
    assert parked.is_unexecuted
    with pytest.raises(ConflictError, match="belongs to a run of Ringi"):
        parked.reported(COMMITTED, "agent:bot", LATER)
    assert parked.acknowledged("system", LATER, FAILED)[0].outcome == "failed"


def test_a_retried_call_is_not_executed_until_its_run_acknowledges_it_again() -> None:
    parked = answered(continuation=Continuation(runner="langgraph", target="office", key="t1", args={}))
    failed = parked.needing_attention("it failed", NOON)[0].acknowledged("system", NOON, FAILED)[0]
    retried = failed.retried("root", LATER)[0]
    assert (retried.is_unexecuted, retried.is_unacknowledged, retried.outcome) == (True, True, None)
    assert retried.acknowledged("system", LATER)[0].outcome == "unknown"
    assert retried.acknowledged("system", LATER, COMMITTED)[0].outcome == "committed"


def test_one_attempt_begins_a_call_and_reports_its_outcome() -> None:
    begins = Receipt(outcome="unknown", attempt="a1")
    begun, event = answered().reported(begins, "agent:bot", NOON)
    assert event
    assert (begun.is_unexecuted, begun.outcome) == (False, "unknown")
    assert begun.reported(begins, "agent:bot", LATER) == (begun, None)
    others = (
        Receipt(outcome="unknown", attempt="a2"),
        Receipt(outcome="committed", attempt="a2"),
        COMMITTED,
        Receipt(outcome="unknown"),
    )
    for other in others:
        with pytest.raises(ConflictError, match="has the outcome 'unknown' on record"):
            begun.reported(other, "agent:bot", LATER)
    ended, event = begun.reported(Receipt(outcome="failed", attempt="a1"), "agent:bot", LATER)
    assert event
    assert (ended.outcome, event.type) == ("failed", "request.acknowledged")
    for late in (begins, Receipt(outcome="committed", attempt="a1")):
        with pytest.raises(ConflictError, match="has the outcome 'failed' on record"):
            ended.reported(late, "agent:bot", LATER)


def test_a_report_without_a_beginning_names_no_attempt_that_could_change_it() -> None:
    unknown, _ = answered().reported(Receipt(outcome="unknown"), "agent:bot", NOON)
    with pytest.raises(ConflictError, match="on record"):
        unknown.reported(Receipt(outcome="unknown", attempt="a1"), "agent:bot", LATER)
