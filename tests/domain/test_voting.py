"""Votes, held answers, exclusion, deputies and escalation: the pure machine, with any sequence of steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.raising import raises_code

from ringi.audit.verify import audit_record
from ringi.domain.ask import Action, Answer, Ask, request_content_digest
from ringi.domain.record import Erased, Viewer
from ringi.domain.request import Request, review_of_override
from ringi.domain.voting import Decider
from ringi.errors import ConflictError, ForbiddenError, InvalidError, NotAuthorizedError, RingiError
from ringi.privacy.redaction import (
    event_names_person,
    redacted_event_payload,
    request_without_content,
    request_without_person,
)
from ringi.testing.clock import NOON

REFUND = Action("refund", {"amount": 40})
TWO = [{"count": 2}]
STAGES = [{"groups": ["finance"], "count": 2}, {"groups": ["legal"], "count": 1}]
SECOND = timedelta(seconds=1)
DIGEST = "sha256:f1018a7b25d8d54f6ee58b416f79734ff918bed04711ab013f02c7ea0a577e53"
"""The digest from before these rules existed."""


def ask(**more: Any) -> Request:
    """Return a pending request about a refund, from an agent that ann has started."""
    body = {"title": "Refund?", "action": {"name": "refund", "args": {"amount": 40}}, **more}
    checked = Ask.parse(body).checked(max_fields=9)
    return Request.asked(checked, id="r1", now=NOON, by="agent:shop")[0].model_copy(update={"starter": "ann"})


def answer(request: Request, decision: Any = "approve", **more: Any) -> Answer:
    return Answer(decision=decision, digest=request.digest, **more)


def vote(request: Request, by: str | Decider, decision: Any = "approve", after: float = 0, **more: Any) -> Request:
    reply = answer(request, decision, **more)
    return request.completed(reply, by=by, channel="test", now=NOON + after * SECOND)[0]


def in_groups(name: str, *groups: str, **more: Any) -> Decider:
    return Decider(name, groups, **more)


def test_without_any_of_it_the_digest_and_the_event_are_those_of_before() -> None:
    plain = Ask.parse({"title": "Refund?", "action": {"name": "refund", "args": {"amount": 40}}})
    request, event = Request.asked(plain, id="r1", now=NOON, by=None)
    assert request.digest == request_content_digest(plain) == DIGEST
    new = {"tier", "hold", "quorum", "exclude", "escalation", "starter", "votes", "missing", "held", "escalated"}
    assert not new & event.changed.keys()
    done, ended = request.completed(answer(request), by="bob", channel="test", now=NOON)
    assert ended
    assert ended.changed.keys() == {"status", "response", "ended_at", "claimed_by", "claimed_until"}
    assert ended.changed["response"].keys() == {
        "decision",
        "data",
        "args",
        "message",
        "responder",
        "channel",
        "at",
        "authorised_digest",
    }
    assert done.winner
    assert done.winner.keys() == {"decision", "responder", "at"}


def test_what_people_see_of_the_rules_is_in_the_digest_and_people_and_times_are_not() -> None:
    plain = ask().digest
    assert ask(hold=5, exclude=["starter"], escalation=[{"after": 60, "to": ["boss"]}]).digest == plain
    assert len({plain, ask(quorum=TWO).digest, ask(tier="high").digest}) == 3


def test_two_of_two_agree() -> None:
    request = ask(quorum=TWO)
    assert [stage.count for stage in request.missing or ()] == [2]
    request = vote(request, "bob")
    assert (request.status, request.response, [each.count for each in request.missing or ()]) == ("pending", None, [1])
    done = vote(request, "cem")
    assert done.response
    assert (done.status, done.response.responder, done.response.voters) == ("completed", "cem", ("bob", "cem"))
    assert done.winner
    assert done.winner["voters"] == ["bob", "cem"]
    done.authorize("refund", {"amount": 40})


def test_one_person_is_one_vote_also_under_two_names() -> None:
    request = vote(ask(quorum=TWO), Decider("bob", subject="https://idp|7"))
    assert vote(request, Decider("robert", subject="https://idp|7")).status == "pending"
    again = request.completed(answer(request), by=Decider("bob", subject="https://idp|7"), channel="x", now=NOON)
    assert again == (request, None)


def test_an_edit_is_a_vote_for_other_arguments() -> None:
    request = vote(ask(quorum=TWO), "bob")
    request = vote(request, "cem", "edit", args={"amount": 30})
    assert request.status == "pending"
    assert vote(request, "dee").granted == REFUND
    edited = vote(request, "dee", "edit", args={"amount": 30})
    assert edited.granted
    assert (edited.granted.args, edited.response and edited.response.voters) == ({"amount": 30}, ("cem", "dee"))
    with raises_code("final"):
        edited.completed(answer(edited), by="bob", channel="x", now=NOON)
    assert not edited.is_repeat(answer(edited), "bob")


def test_a_person_may_change_their_vote_while_it_is_open() -> None:
    request = vote(ask(quorum=TWO), "bob", "edit", args={"amount": 30})
    request = vote(request, "bob")
    assert [each.decision for each in request.votes] == ["approve"]
    assert vote(request, "cem").granted == REFUND


@pytest.mark.parametrize("decision", ["reject", "respond"])
def test_one_rejection_ends_it(decision: str) -> None:
    request = vote(ask(quorum=TWO, allowed=["approve", "reject", "respond"]), "bob")
    ended = vote(request, "cem", decision, message="too much")
    assert (ended.status, ended.granted, len(ended.votes)) == ("completed", None, 1)


def test_stages_vote_in_order() -> None:
    request = ask(quorum=STAGES)
    with pytest.raises(ForbiddenError, match="needs votes from 'finance'"):
        vote(request, in_groups("lee", "legal"))
    request = vote(vote(request, in_groups("fay", "finance")), in_groups("fin", "finance"))
    assert [(stage.groups, stage.count) for stage in request.missing or ()] == [(("legal",), 1)]
    with pytest.raises(ForbiddenError, match="needs votes from 'legal'"):
        vote(request, in_groups("fey", "finance"))
    done = vote(request, in_groups("lee", "legal"))
    assert done.response
    assert done.response.voters == ("fay", "fin", "lee")
    assert [each.stage for each in done.votes] == [0, 0, 1]


def test_nobody_votes_in_two_stages() -> None:
    both = in_groups("fay", "finance", "legal")
    request = vote(vote(ask(quorum=STAGES), both), in_groups("fin", "finance"))
    assert request.completed(answer(request), by=both, channel="x", now=NOON) == (request, None)


def test_who_asked_or_started_may_not_decide() -> None:
    request = ask(exclude=["starter", "asker"])
    for name in ("ann", "agent:shop"):
        with pytest.raises(ForbiddenError, match="whoever asked"):
            vote(request, name)
        with pytest.raises(ForbiddenError):
            vote(request, name, "reject")
    assert vote(request, "bob").status == "completed"


def signed_in(**more: Any) -> Request:
    """Return a pending request from a run that ann has started, who signed in at an issuer."""
    body = {"title": "Refund?", "action": {"name": "refund", "args": {"amount": 40}}, **more}
    asker = Decider("kim", subject="https://idp 8")
    started = Decider("ann", subject="https://idp 7")
    return Request.asked(Ask.parse(body).checked(max_fields=9), id="r1", now=NOON, by=asker, starter=started)[0]


@pytest.mark.parametrize("rules", [{}, {"quorum": [{"count": 1}]}, {"hold": 10}])
@pytest.mark.parametrize(
    "person",
    [
        Decider("ann", subject="https://idp 7"),
        Decider("annie", subject="https://idp 7"),
        Decider("ann"),
        Decider("kay", subject="https://idp 8"),
    ],
)
def test_exclusion_goes_by_issuer_and_subject_and_by_name_where_one_is_unknown(
    person: Decider, rules: dict[str, Any]
) -> None:
    request = signed_in(exclude=["starter", "asker"], **rules)
    with pytest.raises(ForbiddenError, match="whoever asked"):
        vote(request, person)
    with pytest.raises(ForbiddenError, match="whoever asked"):
        request.reassigned(person, NOON, "cem", ())
    done = vote(request, "cem").timed(NOON + 60 * SECOND)[0]
    assert done.response
    by_older_server = {"response": done.response.model_copy(update={"responder": person.name})}
    stored = done.model_copy(update={**by_older_server, "responder_subject": person.subject})
    assert (done.granted, stored.granted) == (REFUND, None)


@pytest.mark.parametrize("person", [Decider("ann", subject="https://other 7"), Decider("annie")])
@pytest.mark.parametrize("rules", [{}, {"quorum": [{"count": 1}]}, {"hold": 10}])
def test_another_person_of_the_name_of_an_excluded_one_decides(person: Decider, rules: dict[str, Any]) -> None:
    done = vote(signed_in(exclude=["starter", "asker"], **rules), person).timed(NOON + 60 * SECOND)[0]
    assert done.responder_subject == person.subject
    done.authorize("refund", {"amount": 40})


def test_a_deputy_does_not_decide_for_an_excluded_person_under_another_name() -> None:
    def deputy_of(subject: str) -> Decider:
        return Decider("dee", stands_for=(Viewer(name="annie", subject=subject),))

    request = signed_in(exclude=["starter"], assignee="annie")
    with pytest.raises(ForbiddenError, match="their deputy"):
        vote(request, deputy_of("https://idp 7"))
    done = vote(request, deputy_of("https://other 7"))
    assert (done.absent_subject, done.granted) == ("https://other 7", REFUND)


def test_who_overrode_does_not_review_it_under_another_name() -> None:
    ann = Decider("ann", subject="https://idp 7", is_admin=True)
    overridden = vote(signed_in(exclude=["starter"]), ann, override="urgent")
    review = review_of_override(overridden, ())[0]
    for name, subject in (("ann", "https://idp 7"), ("annie", "https://idp 7"), ("ann", "")):
        with pytest.raises(ForbiddenError, match="whoever asked"):
            vote(review, Decider(name, subject=subject, is_admin=True))
    assert vote(review, Decider("ann", subject="https://other 7", is_admin=True)).status == "completed"


def test_another_person_of_the_same_name_does_not_repeat_an_answer() -> None:
    done = vote(ask(), Decider("bob", subject="https://idp 1"))
    assert done.is_repeat(answer(done), Decider("bob", subject="https://idp 1"))
    assert done.is_repeat(answer(done), "bob")
    assert not done.is_repeat(answer(done), Decider("bob", subject="https://idp 2"))


def test_an_erasure_removes_sign_ins_with_the_names_and_nobody_is_shown_them() -> None:
    request = vote(signed_in(exclude=["starter"]), Decider("bob", subject="https://idp 1"))
    assert request_without_person(request, "bob", [])["responder_subject"] == ""
    assert request_without_person(request, "ann", [])["starter_subject"] == ""
    for content in (request_without_person(request, "kim", []), request_without_content(request)):
        assert "https://" not in request.model_copy(update=content).model_dump_json()
    assert "https://" not in request.for_readers().model_dump_json(include=Request.public())


def test_without_a_known_starter_the_asker_counts_as_one() -> None:
    request = ask(exclude=["starter"]).model_copy(update={"starter": None, "asked_by": "bob"})
    with pytest.raises(ForbiddenError):
        vote(request, "bob")


def test_a_deputy_decides_for_the_person_who_is_away() -> None:
    request = ask(assignee="bob")
    done = vote(request, Decider("dee", stands_for=(Viewer(name="bob"),)))
    assert done.response
    assert (done.response.responder, done.response.stands_for) == ("dee", "bob")
    assert done.winner
    assert done.winner["for"] == "bob"


def test_a_deputy_of_the_starter_decides_nothing_for_them() -> None:
    request = ask(assignee="ann", exclude=["starter"])
    with pytest.raises(ForbiddenError, match="named you their deputy"):
        vote(request, Decider("dee", stands_for=(Viewer(name="ann"),)))
    with pytest.raises(ForbiddenError):
        vote(ask(assignee="bob", exclude=["starter"]), Decider("ann", stands_for=(Viewer(name="bob"),)))


def test_a_deputy_and_the_person_have_one_vote() -> None:
    deputy = Decider("dee", stands_for=(Viewer(name="bob", groups=("finance",)),))
    request = vote(ask(quorum=[{"groups": ["finance"], "count": 2}]), deputy)
    assert request.votes[0].stands_for == "bob"
    with pytest.raises(ForbiddenError, match="another person must vote"):
        vote(request, in_groups("bob", "finance"))


def test_a_held_answer_can_be_undone_and_is_released() -> None:
    request = vote(ask(hold=10), "bob")
    assert (request.status, request.response, request.held and request.held.until) == (
        "pending",
        None,
        NOON + 10 * SECOND,
    )
    with raises_code("held"):
        vote(request, "cem")
    for step in (
        lambda: request.claimed("cem", NOON, SECOND),
        lambda: request.reassigned("bob", NOON, "cem", ()),
        lambda: vote(request, "bob", "reject"),
    ):
        with raises_code("held"):
            step()
    with pytest.raises(ForbiddenError):
        request.undone("cem", NOON)
    assert request.completed(answer(request), by="bob", channel="x", now=NOON) == (request, None)
    assert request.timed(NOON + 9 * SECOND) == (request, None)
    undone, event = request.undone("bob", NOON + 9 * SECOND)
    assert (undone.held, event.type, vote(undone, "cem", "reject").held is None) == (None, "request.unheld", False)
    with pytest.raises(ConflictError, match="is over"):
        request.undone("bob", NOON + 10 * SECOND)
    done, _ = request.timed(NOON + 11 * SECOND)
    assert done.response
    assert (done.status, done.response.at, done.response.released_at, done.ended_at) == (
        "completed",
        NOON,
        NOON + 11 * SECOND,
        NOON + 11 * SECOND,
    )
    done.authorize("refund", {"amount": 40})


def withdraw(request: Request, person: str) -> Request:
    return request.withdrawn(person, "root", NOON)[0]


def test_a_vote_of_a_leaver_counts_no_more() -> None:
    voted = vote(ask(quorum=STAGES), in_groups("fay", "finance"))
    after, event = voted.withdrawn("fay", "root", NOON)
    assert event
    assert (event.type, event.actor, event.changed["votes"]) == ("request.withdrawn", "root", None)
    assert (after.votes, after.missing) == ((), ask(quorum=STAGES).missing)
    assert voted.withdrawn("bob", "root", NOON) == (voted, None)
    ended = vote(vote(ask(quorum=TWO), "bob"), "cem")
    assert ended.withdrawn("bob", "root", NOON) == (ended, None)


def test_a_deputy_s_vote_for_a_leaver_counts_no_more() -> None:
    deputy = in_groups("dee", stands_for=(Viewer(name="fay", groups=("finance",)),))
    request = ask(quorum=[{"groups": ["finance"], "count": 2}])
    assert [withdraw(vote(request, deputy), name).votes for name in ("fay", "dee")] == [(), ()]


def test_a_held_answer_of_a_leaver_takes_no_effect_even_if_its_time_is_over() -> None:
    request = withdraw(vote(ask(hold=10), "bob"), "bob")
    assert (request.held, request.timed(NOON + 60 * SECOND)) == (None, (request, None))
    assert vote(request, "cem", "reject").held


def test_a_held_answer_that_needs_the_vote_of_a_leaver_is_a_vote_again() -> None:
    held = vote(vote(ask(quorum=TWO, hold=10), "bob"), "cem")
    request = withdraw(held, "bob")
    assert (request.held, [each.responder for each in request.votes]) == (None, ["cem"])
    assert [stage.count for stage in request.missing or ()] == [1]
    done = vote(request, "dee").timed(NOON + 60 * SECOND)[0]
    assert done.response
    assert done.response.voters == ("cem", "dee")
    own = withdraw(held, "cem")
    assert (own.held, [each.responder for each in own.votes]) == (None, ["bob"])
    rejected = vote(vote(ask(quorum=TWO, hold=10), "bob"), "cem", "reject")
    assert withdraw(rejected, "bob").held == rejected.held


@pytest.mark.parametrize("gone", ["bob", "root"])
def test_what_is_withdrawn_fits_its_events_after_an_erasure_too(gone: str) -> None:
    request, asked = Request.asked(
        Ask.parse({"title": "Go?", "quorum": TWO, "action": {"name": "refund"}}), id="r1", now=NOON, by="agent:shop"
    )
    request, voted = request.completed(answer(request), by="bob", channel="test", now=NOON)
    request, withdrawn = request.withdrawn("bob", "root", NOON)
    assert voted
    assert withdrawn
    history = [asked, voted, withdrawn]
    assert audit_record(request, history) == []
    left = {event.version: redacted_event_payload(event, gone) for event in history if event_names_person(event, gone)}
    erased = Erased(at=NOON, by="admin", rule="person")
    actors = {version: payload["actor"] for version, payload in left.items()}
    request, event = request.redacted(erased, actors, **request_without_person(request, gone, history))
    redacted = [each.model_copy(update={"payload": left.get(each.version, each.payload)}) for each in history]
    assert audit_record(request, [*redacted, event]) == []


def test_a_release_comes_before_an_expiry_and_a_cancellation_wins() -> None:
    request = vote(ask(hold=30, expires_in=10), "bob")
    assert request.held
    assert request.held.until == request.expires_at
    assert request.timed(NOON + 60 * SECOND)[0].status == "completed"
    canceled = request.cancelled("agent:shop", NOON, None)[0]
    assert (canceled.status, canceled.response, canceled.held) == ("cancelled", None, None)


def test_the_completing_vote_is_held() -> None:
    request = vote(vote(ask(hold=5, quorum=TWO), "bob"), "cem")
    assert (len(request.votes), request.held and request.held.responder) == (1, "cem")
    undone, _ = request.undone("cem", NOON)
    assert len(undone.votes) == 1
    done, _ = request.timed(NOON + 6 * SECOND)
    assert done.response
    assert (done.response.voters, len(done.votes)) == (("bob", "cem"), 2)


def test_an_escalation_adds_people_and_decides_nothing() -> None:
    steps = [{"after": 60, "to": ["boss", "group:board"]}, {"after": 120, "to": ["group:audit"]}]
    request = ask(assignee="bob", escalation=steps)
    boss, board = Viewer(name="boss"), Viewer(name="x", groups=("board",))
    assert not request.is_open_to(boss)
    assert request.next_time == NOON + 60 * SECOND
    once, event = request.timed(NOON + 61 * SECOND)
    assert event
    assert (once.status, event.type, once.escalated) == ("pending", "request.escalated", 1)
    assert once.is_open_to(boss)
    assert once.is_open_to(board)
    assert once.timed(NOON + 62 * SECOND) == (once, None)
    # A server that was down takes both steps at once.
    assert request.timed(NOON + 500 * SECOND)[0].escalated == 2
    everybody = ask(escalation=steps)
    assert everybody.timed(NOON + 61 * SECOND)[0].is_open_to(Viewer(name="anybody"))


def test_an_administrator_overrides_with_a_reason() -> None:
    request = ask(exclude=["starter"], quorum=TWO)
    with pytest.raises(ForbiddenError, match="only an administrator"):
        vote(request, "ann", override="fire")
    done = vote(request, Decider("ann", is_admin=True), override="fire")
    assert done.response
    assert (done.status, done.response.override, done.response.voters) == ("completed", "fire", ())


BOB = Decider("bob")
ASSIGNED = [{"assignee": "ann"}, {"groups": ["finance"]}, {"assignee": "ann", "quorum": STAGES}]


@pytest.mark.parametrize("people", ASSIGNED)
def test_a_request_of_other_people_is_refused_by_every_step(people: dict[str, Any]) -> None:
    request = ask(**people)
    names = {"assignee": "'ann'", "groups": "'group:finance'"}
    recipient = next(names[each] for each in people)
    for decision in ("approve", "reject"):
        with pytest.raises(ForbiddenError, match=f"is assigned to {recipient}.* not to 'bob': .* `override`"):
            vote(request, BOB, decision)
    steps: list[Callable[[], object]] = [
        lambda: request.claimed(BOB, NOON, SECOND),
        lambda: request.released(BOB, NOON),
        lambda: request.reassigned(BOB, NOON, "bob", []),
    ]
    for step in steps:
        with pytest.raises(ForbiddenError, match=f"is assigned to {recipient}.* not to 'bob': [^`]*$"):
            step()


@pytest.mark.parametrize(
    "able",
    [
        Decider("ann"),
        in_groups("bob", "legal", "finance"),
        Decider("bob", stands_for=(Viewer(name="ann"),)),
        Decider("bob", is_admin=True),
    ],
)
def test_the_assignee_a_group_their_deputy_and_an_administrator_decide(able: Decider) -> None:
    request = ask(assignee="ann", groups=["finance"])
    assert vote(request, able).status == "completed"
    assert request.claimed(able, NOON, SECOND)[0].claimed_by == able.name
    assert request.reassigned(able, NOON, "cem", [])[0].assignee == "cem"


def test_an_escalation_lets_more_people_decide_from_its_time_on() -> None:
    request = ask(assignee="ann", escalation=[{"after": 60, "to": ["bob"]}])
    with pytest.raises(ForbiddenError):
        vote(request, BOB)
    assert vote(request.timed(NOON + 61 * SECOND)[0], BOB).status == "completed"


def test_the_same_answer_again_is_no_new_decision_once_the_request_is_of_others() -> None:
    request = vote(ask(assignee="ann", hold=5), "ann")
    moved = request.model_copy(update={"assignee": "cem"})
    assert moved.completed(answer(moved), by="ann", channel="test", now=NOON) == (moved, None)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hold", 31),
        ("quorum", [{"count": 0}]),
        ("quorum", [{"count": 21}]),
        ("exclude", ["everybody"]),
        ("escalation", [{"after": 9, "to": ["a"]}, {"after": 9, "to": ["b"]}]),
        ("tier", "deadly"),
    ],
)
def test_bad_rules_name_their_field(field: str, value: object) -> None:
    with pytest.raises(InvalidError, match=field):
        ask(**{field: value})
    with pytest.raises(InvalidError, match="quorum"):
        Ask.parse({"title": "Why?", "quorum": TWO}).checked(max_fields=9)


def by_older_server(request: Request, by: str, decision: Any = "approve") -> Request:
    """Return the request as a server from before these rules completes it."""
    rules = {"quorum": (), "exclude": (), "hold": None, "held": None, "votes": (), "missing": None}
    done = vote(request.model_copy(update=rules), by, decision)
    return request.model_copy(update={"status": done.status, "response": done.response})


@pytest.mark.parametrize(
    ("rules", "by"), [({"quorum": TWO}, "mallory"), ({"exclude": ["starter"]}, "ann"), ({"quorum": STAGES}, "fay")]
)
def test_what_an_older_server_completes_runs_nothing_unless_enough_people_agreed(rules: Any, by: str) -> None:
    done = by_older_server(vote(ask(**rules), "bob") if rules == {"quorum": TWO} else ask(**rules), by)
    assert (done.status, done.granted) == ("completed", None)
    with pytest.raises(NotAuthorizedError, match="fewer or other people"):
        done.authorize("refund", {"amount": 40})
    allowed = by_older_server(ask(exclude=["starter"]), "bob")
    allowed.authorize("refund", {"amount": 40})


def test_readers_do_not_see_what_may_be_undone_or_how_voters_sign_in() -> None:
    cem = Decider("cem", subject="https://idp|cem")
    request = vote(
        vote(ask(quorum=TWO, hold=9), Decider("bob", subject="https://idp|bob")), cem, message="secret words"
    )
    seen = request.for_readers().model_dump_json()
    assert "hidden" not in seen
    assert "https://idp" not in seen
    assert '"responder":"cem"' in seen


def test_an_excluded_person_cannot_block_the_request() -> None:
    request = ask(exclude=["starter"])
    with pytest.raises(ForbiddenError, match="whoever asked"):
        request.claimed("ann", NOON, SECOND)
    with pytest.raises(ForbiddenError, match="whoever asked"):
        request.reassigned("ann", NOON, "friend", ())


def test_a_deputy_of_an_excluded_person_cannot_choose_who_decides() -> None:
    request, dee = ask(exclude=["starter"], assignee="ann"), Decider("dee", stands_for=(Viewer(name="ann"),))
    with pytest.raises(ForbiddenError, match="named you their deputy"):
        request.claimed(dee, NOON, SECOND)
    with pytest.raises(ForbiddenError, match="named you their deputy"):
        request.released(dee, NOON)
    with pytest.raises(ForbiddenError, match="named you their deputy"):
        request.reassigned(dee, NOON, "friend", ())


def test_a_vote_with_empty_data_is_a_vote_for_the_same_call_as_one_without() -> None:
    done = vote(vote(ask(quorum=TWO), "bob", data={}), "cem")
    assert done.response
    assert (done.status, done.response.voters) == ("completed", ("bob", "cem"))


PEOPLE = {
    name: Decider(name, groups, subject=f"idp|{name}", stands_for=stands)
    for name, groups, stands in (
        ("ann", ("finance", "legal"), ()),
        ("bob", ("finance",), ()),
        ("cem", ("finance",), ()),
        ("lee", ("legal",), ()),
        ("dee", (), (Viewer(name="bob", groups=("finance",)), Viewer(name="ann", groups=("finance", "legal")))),
    )
}
RULES = st.fixed_dictionaries(
    {},
    optional={
        "quorum": st.sampled_from([TWO, STAGES, [{"count": 3}]]),
        "hold": st.sampled_from([5, 20]),
        "exclude": st.sampled_from([["starter"], ["asker", "starter"]]),
        "escalation": st.just([{"after": 10, "to": ["group:board"]}]),
        "expires_in": st.sampled_from([8.0, 40.0]),
    },
)


class DecisionMachine(RuleBasedStateMachine):
    """Any steps of people and of the clock on one request."""

    @initialize(rules=RULES)
    def begin(self, rules: dict[str, Any]) -> None:
        self.request, self.now, self.events = ask(**rules), NOON, Counter[str]()
        self.final: Request | None = None

    def step(self, make: Any) -> None:
        try:
            after, event = make()
        except RingiError:
            return
        if event is None:
            assert after == self.request
            return
        assert after.version == self.request.version + 1
        self.events[event.type] += 1
        self.request = after

    @rule(
        by=st.sampled_from(sorted(PEOPLE)),
        decision=st.sampled_from(["approve", "approve", "approve", "edit", "reject"]),
        amount=st.sampled_from([30, 20]),
    )
    def decide(self, by: str, decision: str, amount: int) -> None:
        more = {"args": {"amount": amount}} if decision == "edit" else {}
        reply = answer(self.request, decision, **more)
        self.step(lambda: self.request.completed(reply, by=PEOPLE[by], channel="test", now=self.now))

    @rule(by=st.sampled_from(sorted(PEOPLE)))
    def undo(self, by: str) -> None:
        self.step(lambda: self.request.undone(PEOPLE[by], self.now))

    @rule(person=st.sampled_from(sorted(each.name for each in PEOPLE.values())))
    def leave(self, person: str) -> None:
        self.step(lambda: self.request.withdrawn(person, "root", self.now))

    @rule(seconds=st.sampled_from([1, 4, 9, 30]))
    def wait(self, seconds: int) -> None:
        self.now += seconds * SECOND
        self.step(lambda: self.request.timed(self.now))

    @rule()
    def cancel(self) -> None:
        if self.now > NOON + 20 * SECOND:
            self.step(lambda: self.request.cancelled("agent:shop", self.now, None))

    @invariant()
    def holds(self) -> None:
        request, response = self.request, self.request.response
        ends = sum(self.events[f"request.{what}"] for what in ("completed", "cancelled", "expired"))
        assert ends == int(request.is_final)
        if self.final:
            assert request == self.final
        if not request.is_final:
            assert response is None
            return
        self.final = request
        assert request.held is None
        if response is None:
            assert (request.status in ("cancelled", "expired"), request.granted) == (True, None)
            return
        counted = [each for each in request.votes if each.authorised_digest == response.authorised_digest]
        excluded = {"ann", "agent:shop"} if request.exclude else set()
        assert not excluded & {response.responder, response.stands_for}
        if request.quorum and response.decision in ("approve", "edit"):
            needed = sum(stage.count for stage in request.quorum)
            assert len({each.subject for each in counted}) == len(counted) == len(response.voters) == needed
            people = [name for each in counted for name in (each.responder, each.stands_for) if name]
            assert len(people) == len(set(people))
            assert not excluded & {*people}
        if request.hold:
            assert response.released_at
            assert response.released_at > response.at


TestDecisions = DecisionMachine.TestCase
TestDecisions.settings = settings(max_examples=300, stateful_step_count=25, deadline=None)
