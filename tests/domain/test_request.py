"""The state machine of a request, without a clock or a store."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.raising import raises_code

from ringi.domain.ask import Action, Ask
from ringi.domain.people import assignment_before_person
from ringi.domain.record import Event, Viewer
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError
from ringi.forms.fields import Number, Select
from ringi.forms.form import Form
from ringi.testing import answer_to
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request

LEASE = timedelta(minutes=15)
FORM = Form([Select("reason", options=["late", "damaged"])])
SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}


def asked(**ask: Any) -> Request:
    return a_request(**ask)[0]


def answered(request: Request, decision: Any, *, by: str = "ann", **body: Any) -> Request:
    return request.completed(answer_to(request, decision, **body), by=by, channel="test", now=NOON)[0]


def wrong_field(request: Request, decision: Any, **body: Any) -> str:
    """Return the field with which the answer is refused."""
    with pytest.raises(InvalidError) as caught:
        answered(request, decision, **body)
    return caught.value.errors[0].field


@pytest.mark.parametrize(
    ("ask", "kind", "allowed"),
    [
        ({"action": Action("refund")}, "approval", ("approve", "edit", "reject")),
        ({"action": None, "form": FORM}, "form", ("approve", "edit", "reject")),
        ({"action": None, "data_schema": SCHEMA}, "form", ("approve", "edit", "reject")),
        ({"action": None}, "question", ("respond", "reject")),
        ({"action": None, "kind": "finish"}, "finish", ("approve", "edit", "reject", "respond")),
        ({"kind": "finish", "allowed": ("approve",)}, "finish", ("approve",)),
    ],
)
def test_the_kind_and_the_decisions_follow_from_the_content(
    ask: dict[str, Any], kind: str, allowed: tuple[str, ...]
) -> None:
    request = asked(**ask)

    assert (request.kind, request.allowed) == (kind, allowed)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "title"),
        ({"title": " "}, "title"),
        ({"title": "x" * 501}, "title"),
        ({"title": "x", "id": "../etc"}, "id"),
        ({"title": "x", "action": {"args": {}}}, "action.name"),
        ({"title": "x", "action": {"name": "a", "nonsense": 1}}, "action.nonsense"),
        ({"title": "x", "nonsense": 1}, "nonsense"),
        ({"title": "x", "allowed": []}, "allowed"),
        ({"title": "x", "expires_in": 0}, "expires_in"),
        ([], ""),
        ("x", ""),
    ],
)
def test_a_broken_ask_names_its_field(body: object, field: str) -> None:
    with pytest.raises(InvalidError) as caught:
        Ask.parse(body)

    assert caught.value.errors[0].field == field


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        ({"form": FORM, "data_schema": SCHEMA}, "schema"),
        ({"expires_in": 1, "expires_at": NOON}, "expires_at"),
        ({"kind": "approval"}, "action"),
        ({"allowed": ("approve", "approve")}, "allowed"),
        ({"form": Form([Number(f"n{n}") for n in range(6)])}, "form.fields"),
        ({"fallback": {}, "kind": "learning"}, "fallback"),
    ],
)
def test_a_contradiction_names_its_field(ask: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError) as caught:
        Ask(title="x", **ask).checked(max_fields=5)

    assert caught.value.errors[0].field == field


def test_a_decision_is_kept_with_who_when_and_how() -> None:
    done, event = asked().completed(answer_to(asked()), by="ann", channel="slack", now=NOON)
    assert event

    assert done.status == "completed"
    assert done.response
    assert (done.response.responder, done.response.channel, done.response.at) == ("ann", "slack", NOON)
    assert (event.type, event.actor) == ("request.completed", "ann")


def test_an_answer_ends_the_claim() -> None:
    held, _ = asked().claimed("ann", NOON, LEASE)

    assert answered(held, "approve").claimed_by is None


ENDINGS = {
    "completed": lambda: answered(asked(), "approve"),
    "cancelled": lambda: asked().cancelled("ann", NOON, "why")[0],
    "expired": lambda: asked().expired(NOON)[0],
}


@pytest.mark.parametrize("status", ENDINGS)
def test_what_has_ended_cannot_change(status: str) -> None:
    ended = ENDINGS[status]()
    assert ended.status == status

    for change in (
        lambda: answered(ended, "approve", by="bob"),
        lambda: ended.claimed("bob", NOON, LEASE),
        lambda: ended.released("bob", NOON),
        lambda: ended.reassigned("bob", NOON, "bob", ()),
        lambda: ended.cancelled("bob", NOON, None),
        lambda: ended.expired(NOON),
    ):
        with raises_code("final", match=status):
            change()


def test_a_late_answerer_learns_the_winner() -> None:
    with raises_code("final", match="by ann at") as caught:
        answered(answered(asked(), "reject"), "approve", by="bob")

    assert caught.value.winner == {"decision": "reject", "responder": "ann", "at": "2026-01-05T12:00:00Z"}


def test_an_answer_to_another_version_is_refused() -> None:
    with raises_code("digest_mismatch"):
        asked().completed(answer_to(asked(title="Another")), by="ann", channel="test", now=NOON)


def test_only_the_same_answer_of_the_same_person_is_a_repeat() -> None:
    first = answer_to(asked(form=FORM), data={"reason": "late"}, message="ok")
    done = asked(form=FORM).completed(first, by="ann", channel="test", now=NOON)[0]

    assert done.is_repeat(first, "ann")
    assert done.is_repeat(first.model_copy(update={"data": {"reason": "late", "note": None}}), "ann")
    assert not done.is_repeat(first, "bob")
    for change in ({"decision": "edit"}, {"data": {"reason": "damaged"}}, {"message": "no"}, {"digest": "sha256:x"}):
        assert not done.is_repeat(first.model_copy(update=change), "ann")


def test_a_claim_keeps_others_away_until_it_ends() -> None:
    held, _ = asked().claimed("ann", NOON, LEASE)

    with raises_code("claimed", match="ann"):
        held.claimed("bob", NOON, LEASE)
    with raises_code("claimed"):
        held.released("bob", NOON)
    with raises_code("claimed"):
        answered(held, "approve", by="bob")
    assert held.claimed("bob", NOON + LEASE, LEASE)[0].claimed_by == "bob"
    assert held.claimed("ann", NOON, 2 * LEASE)[0].claimed_until == NOON + 2 * LEASE


def test_releasing_what_nobody_holds_changes_nothing() -> None:
    free = asked()

    assert free.released("ann", NOON) == (free, None)


def test_reassigning_ends_the_claim() -> None:
    held, _ = asked().claimed("ann", NOON, LEASE)

    request, _ = held.reassigned("ann", NOON, None, ["legal"])

    assert (request.claimed_by, request.assignee, request.groups) == (None, None, ("legal",))


def test_a_look_a_reminder_and_an_escalation_leave_a_reassignment_to_be_taken_back() -> None:
    request, created = a_request(assignee="ann", escalation=[{"after": 60, "to": ["eve"]}])
    history = [created]
    steps: list[Callable[[Request], tuple[Request, Event | None]]] = [
        lambda old: old.reassigned("ann", NOON, "bob", ["legal"]),
        lambda old: old.seen("bob", NOON),
        lambda old: old.reminded(NOON),
        lambda old: old.timed(NOON + timedelta(hours=1)),
    ]
    for step in steps:
        request, event = step(request)
        history += [event] if event else []
    before = assignment_before_person(request, "ann", history)

    assert [event.type.partition(".")[2] for event in history[2:]] == ["seen", "reminded", "escalated"]
    assert before
    assert (before.assignee, before.groups) == ("ann", ())
    assert assignment_before_person(request, "bob", history) is None
    claimed, claim = request.claimed("bob", NOON, LEASE)
    assert assignment_before_person(claimed, "ann", [*history, claim]) is None


def test_a_request_is_open_to_whom_it_names() -> None:
    bob, lawyer = Viewer(name="bob"), Viewer(name="eve", groups=("legal",))

    assert asked().is_open_to(bob)
    assert asked(assignee="bob").is_open_to(bob)
    assert not asked(assignee="ann").is_open_to(bob)
    assert not asked(groups=["legal"]).is_open_to(bob)
    assert asked(groups=["legal"]).is_open_to(lawyer)
    assert asked(assignee="ann", groups=["legal"]).is_open_to(lawyer)


def test_a_request_is_overdue_from_its_deadline_on() -> None:
    request = asked(expires_in=60)

    assert not request.is_overdue(NOON + timedelta(seconds=59))
    assert request.is_overdue(NOON + timedelta(seconds=60))
    assert not answered(request, "approve").is_overdue(NOON + LEASE)
    assert not asked().is_overdue(NOON + LEASE)


def test_a_decision_that_is_not_allowed_is_refused() -> None:
    assert wrong_field(asked(allowed=("approve",)), "reject") == "decision"


@pytest.mark.parametrize(
    ("ask", "decision", "body", "field"),
    [
        ({}, "approve", {"args": {"amount": 1}}, "args"),
        ({}, "edit", {}, "args"),
        ({}, "edit", {"args": {}}, "args.amount"),
        ({}, "reject", {"data": {"reason": "late"}}, "data"),
        ({}, "approve", {"data": {"reason": "late"}}, "data"),
        ({"form": FORM}, "approve", {"data": {"reason": "never"}}, "reason"),
        ({"action": None, "form": FORM}, "edit", {}, "data"),
        ({"action": None}, "respond", {}, "message"),
        ({"action": None}, "respond", {"message": " "}, "message"),
        ({"action": None, "kind": "finish"}, "edit", {"data": {"task": " "}}, "data.task"),
        ({"action": Action("refund", {"amount": 1}, schema=SCHEMA)}, "edit", {"args": {"amount": "1"}}, "args.amount"),
        ({"action": None, "data_schema": SCHEMA}, "approve", {"data": {"amount": "1"}}, "data.amount"),
    ],
)
def test_an_answer_that_does_not_fit_names_its_field(
    ask: dict[str, Any], decision: str, body: dict[str, Any], field: str
) -> None:
    assert wrong_field(asked(**ask), decision, **body) == field


@pytest.mark.parametrize(
    ("ask", "decision", "body"),
    [
        ({}, "approve", {"message": "fine"}),
        ({}, "edit", {"args": {"amount": 2}}),
        ({}, "reject", {"message": "no"}),
        ({"form": FORM}, "approve", {"data": {"reason": "late"}}),
        ({"form": FORM}, "reject", {}),
        ({"action": None}, "respond", {"message": "yes"}),
        ({"action": None, "kind": "finish"}, "edit", {"data": {"task": "more"}}),
        ({"action": Action("refund", {"amount": 1}, schema=SCHEMA)}, "edit", {"args": {"amount": 2}}),
        ({"action": None, "data_schema": SCHEMA}, "approve", {"data": {"amount": 1}}),
    ],
)
def test_an_answer_that_fits_is_kept_as_it_is(ask: dict[str, Any], decision: str, body: dict[str, Any]) -> None:
    response = answered(asked(**ask), decision, **body).response

    assert response
    assert response.decision == decision
    assert {name: getattr(response, name) for name in body} == body


def test_a_reject_authorises_nothing() -> None:
    response = answered(asked(), "reject").response

    assert response
    assert response.authorised_digest is None


@pytest.mark.parametrize("args", [{"amount": 41}, {"amount": 40.5}, {}, {"amount": 40, "to": "eve"}, {"amount": "40"}])
def test_other_arguments_than_the_approved_are_not_authorised(args: dict[str, Any]) -> None:
    done = answered(asked(), "approve")

    done.authorize("refund", {"amount": 40})
    with pytest.raises(NotAuthorizedError):
        done.authorize("refund", args)


def test_a_response_forged_into_a_request_authorises_nothing() -> None:
    approved = answered(asked(), "approve")
    forged = asked(action=Action("refund", {"amount": 4000})).model_copy(
        update={"status": "completed", "response": approved.response}
    )

    with pytest.raises(NotAuthorizedError):
        forged.authorize("refund", {"amount": 4000})


def test_an_ended_request_with_a_run_is_unacknowledged_until_it_is_taken_up() -> None:
    parked = asked(parked=True)
    done = answered(parked, "approve")

    assert not parked.is_unacknowledged
    assert done.is_unacknowledged
    assert not answered(asked(), "approve").is_unacknowledged
    assert not done.acknowledged("worker", NOON)[0].is_unacknowledged
    assert not done.needing_attention("no such node", NOON)[0].is_unacknowledged


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59-23:00", "0001-01-01T00:00:00+14:00", "2026-01-01T00:00:00", 1_700_000_000, True]
)
def test_a_time_that_cannot_be_shown_in_every_zone_is_refused(time: object) -> None:
    for field in ("due_at", "expires_at"):
        with pytest.raises(InvalidError) as refused:
            Ask.parse({"title": "When?", field: time})
        assert [error.field for error in refused.value.errors] == [field]


def test_times_are_kept_in_utc() -> None:
    asked = Ask.parse({"title": "When?", "due_at": "2026-11-22T10:00:00+09:00"})
    assert asked.due_at is not None
    assert asked.due_at.isoformat() == "2026-11-22T01:00:00+00:00"


def test_a_claim_also_keeps_others_from_passing_the_request_on() -> None:
    claimed, _ = asked().claimed("ann", NOON, LEASE)
    with raises_code("claimed"):
        claimed.reassigned("bob", NOON, "bob", ())
    assert claimed.reassigned("ann", NOON, "bob", ())[0].assignee == "bob"


def test_edited_arguments_do_not_smuggle_data_past_a_missing_form() -> None:
    assert wrong_field(asked(), "edit", args={"amount": 2}, data={"x": 1}) == "data"
