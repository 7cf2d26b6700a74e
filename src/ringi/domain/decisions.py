"""What an answer does to a pending request, and the rules of an answer: pure, without I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from ringi.domain.ask import AGREEING, Answer, Response, buttons_with_values, unstorable_numbers
from ringi.domain.grants import Grant
from ringi.domain.record import Event, Viewer
from ringi.domain.request_data import RequestData
from ringi.domain.voting import GROUP, Decider, Held, Vote, is_same_person, missing_votes, open_vote_stage
from ringi.errors import FieldError, ForbiddenError, InvalidError
from ringi.forms import json_schema
from ringi.forms.arguments import check_edited_arguments

MCP = "mcp"
"""The channel of an answer from an MCP client, in which an agent may have written it."""
ONE_OF_THEM = "give the name of one of them, and their groups"
R = TypeVar("R", bound=RequestData)
IN_BOTH = tuple(Vote.model_fields.keys() & Response.model_fields.keys())
"""The fields that a vote and a response have."""


def decide_request(
    request: R, answer: Answer, by: Decider, channel: str, now: datetime, ended_rules: tuple[str, ...] = ()
) -> tuple[R, Event | None]:
    """Return the request after an answer; see `Request.completed`."""
    if is_repeated_answer(request, answer, by):
        return request, None
    request.refuse_closed(by.name, now)
    refuse_weak_sign_in(request, by)
    if answer.override:
        refuse_override(request, by)
    refuse_other_people(request, by, "give the name of one of them, and their groups, or a reason in `override`")
    data = check_answer_data(request, answer)
    digest = request.authorised_digest(answer.decision, data, answer.args)
    others = tuple(each for each in request.votes if each.subject != by.identity)
    votes_count = bool(request.quorum) and answer.decision in AGREEING and not answer.override
    stage = (open_vote_stage(request.quorum, others, digest) or 0) if votes_count else 0
    groups = request.quorum[stage].groups if votes_count else ()
    absent = None if answer.override else person_deputized_for(request, by, groups)
    if answer.grant and channel == MCP:
        raise ForbiddenError("later calls cannot be approved over MCP: leave `grant` out, and use the page")
    if answer.grant and (absent or answer.override):
        raise ForbiddenError("a deputy or an `override` decides this request alone: leave `grant` out")
    vote = Vote(
        responder=by.name,
        subject=by.identity,
        stands_for=absent.name if absent else None,
        for_subject=absent.subject or None if absent else None,
        decision=answer.decision,
        data=data,
        args=answer.args,
        message=answer.message,
        channel=channel,
        authorised_digest=digest,
        stage=stage,
        at=now,
        override=answer.override,
        grant=grant_of_answer(request, answer, now) if answer.grant else None,
        ended_rules=ended_rules,
    )
    if votes_count:
        if any(not each.people.isdisjoint(vote.people) for each in others):
            what = f"you or the person for whom you stand have voted on request {request.id!r}"
            raise ForbiddenError(f"{what}: another person must vote")
        votes = (*others, vote)
        if open_vote_stage(request.quorum, votes, digest) is not None:
            return request.changed("voted", by.name, now, votes=votes, missing=missing_votes(request.quorum, votes))
    if request.hold:
        until = now + timedelta(seconds=request.hold)
        held = Held(**dict(vote), until=min(until, request.expires_at or until))
        return request.changed("held", by.name, now, held=held)
    return completed_by_vote(request, vote, now)


def grant_of_answer(request: RequestData, answer: Answer, now: datetime) -> Grant:
    """Return the grant of an answer; raise `InvalidError` if the answer or the request cannot have this one."""
    call = request.grantable_call
    if answer.decision != "approve" or call is None or answer.grant is None:
        why = "goes only with `approve`, for a call of low or medium tier without a form, a quorum or an escalation"
        raise InvalidError.of("grant", why, "grant_unavailable")
    return Grant.of(answer.grant, call, now)


def refuse_weak_sign_in(request: RequestData, by: Decider) -> None:
    """Raise `ForbiddenError` if the person's sign-in is too old or too weak for the tier of the request."""
    for tier, acr in by.weak_tiers:
        if request.tier == tier:
            what = f"request {request.id!r} has the tier {tier!r}, which needs a sign-in with the acr {acr!r}"
            raise ForbiddenError(f"{what}: sign in at the provider again, from the page, then answer", "fresh_sign_in")
    if request.tier in by.stale_tiers:
        what = f"request {request.id!r} has the tier {request.tier!r}, which needs a recent sign-in"
        raise ForbiddenError(f"{what}: sign in on the page again, then answer", "fresh_sign_in")


def refuse_override(request: RequestData, by: Decider) -> None:
    """Raise `ForbiddenError` unless the person may decide past the rules of the request."""
    if not by.is_admin:
        raise ForbiddenError("only an administrator may decide with `override`: leave it out")
    if request.is_review:
        what = f"request {request.id!r} is the review of an override"
        raise ForbiddenError(f"{what}: another administrator must decide it without `override`")


def refuse_other_people(request: RequestData, by: Decider, remedy: str = ONE_OF_THEM) -> None:
    """Check that the request is open to the person, or to one for whom the person stands.

    Args:
        request: The request.
        by: The person; an administrator passes.
        remedy: What the caller can do, for the error.

    Raises:
        ForbiddenError: The request is assigned to other people or groups.
    """
    if by.is_admin or any(request.is_open_to(each) for each in by.viewers):
        return
    people, groups = request.recipients
    names = ", ".join(map(repr, [*sorted(people), *(f"{GROUP}{name}" for name in sorted(groups))]))
    raise ForbiddenError(f"request {request.id!r} is assigned to {names}, not to {by.name!r}: {remedy}")


def refuse_former_deputy(request: RequestData, by: Decider, earlier: Decider) -> None:
    """Check that a person who was allowed to decide as a deputy still may.

    Args:
        request: The request.
        by: The person with those for whom the person stands now.
        earlier: The person with those for whom the person stood when the caller looked.

    Raises:
        ForbiddenError: The absence has ended.
    """
    has_ended = not set(earlier.stands_for) <= set(by.stands_for)
    if has_ended and not by.is_admin and not any(request.is_open_to(each) for each in by.viewers):
        raise ForbiddenError(f"you are no longer a deputy for request {request.id!r}: the person is back, and decides")


def person_deputized_for(request: RequestData, by: Decider, groups: Sequence[str] = ()) -> Viewer | None:
    """Return the person for whom a deputy decides; None if the person decides for themselves.

    Args:
        request: The request.
        by: The person.
        groups: The groups whose members vote now; empty for everybody.

    Raises:
        ForbiddenError: A rule of the request excludes the person, or the people vote of whom the person is none.
    """
    if request.excludes(by.name, by.subject):
        raise ForbiddenError(f"whoever asked for request {request.id!r} may not decide it: ask another person")
    # An administrator may decide requests of others.
    able = [viewer for viewer in by.viewers if request.is_open_to(viewer)] or list(by.viewers[:1])
    able = [viewer for viewer in able if not groups or not set(groups).isdisjoint(viewer.groups)]
    if not able:
        raise ForbiddenError(f"request {request.id!r} needs votes from {', '.join(map(repr, groups))} now")
    able = [each for each in able if each.name == by.name or not request.excludes(each.name, each.subject)]
    if not able:
        raise ForbiddenError(f"whoever asked for request {request.id!r} has named you their deputy: ask another person")
    return None if able[0].name == by.name else able[0]


def refuse_attaching_files(request: RequestData, by: Decider, now: datetime) -> None:
    """Check that the person may attach files to the request: only people who may answer it.

    Args:
        request: The request.
        by: The person; an administrator may decide it with `override`, and so may attach.
        now: The current time, for the end of a claim.

    Raises:
        ConflictError: The request has ended (`final`), an answer is held (`held`), or another person holds the claim
            (`claimed`).
        ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
    """
    request.refuse_closed(by.name, now)
    refuse_other_people(request, by)
    if not by.is_admin:
        person_deputized_for(request, by)


def refuse_deputy(request: RequestData, by: Decider) -> None:
    """Raise `ForbiddenError` unless the person may decide the request for themselves."""
    refuse_other_people(request, by)
    if person_deputized_for(request, by) is not None:
        raise ForbiddenError("a deputy decides each request alone: ask another person to switch on the rule")


def completed_by_vote(request: R, vote: Vote, now: datetime) -> tuple[R, Event]:
    """Return the completed request with the decision of a vote that suffices, or of a held answer."""
    decision: dict[str, Any] = {name: getattr(vote, name) for name in IN_BOTH}
    # Without a sign-in, the subject of a vote is the name.
    subject = vote.subject if vote.subject != vote.responder else ""
    subjects = {"responder_subject": subject, "absent_subject": vote.for_subject}
    changes: dict[str, Any] = {name: value for name, value in subjects.items() if value}
    if request.held:
        decision["released_at"] = now
    if request.quorum and vote.decision in AGREEING and not vote.override:
        changes["votes"] = votes_with_vote(request.votes, vote)
        agreed = [each.responder for each in changes["votes"] if each.authorised_digest == vote.authorised_digest]
        decision["voters"] = tuple(agreed)
    changes |= {"response": Response(**decision), "claimed_by": None, "claimed_until": None}
    return request.ended("completed", vote.responder, now, **changes)


def votes_with_vote(votes: Sequence[Vote], vote: Vote) -> tuple[Vote, ...]:
    """Return the votes with a vote, or with a held answer as a vote, in place of an earlier one of its person."""
    others = (each for each in votes if each.subject != vote.subject)
    return (*others, Vote.model_construct(**{name: getattr(vote, name) for name in Vote.model_fields}))


def is_repeated_answer(request: RequestData, answer: Answer, by: Decider) -> bool:
    """Return whether a decision or vote on record is this answer, from the same person."""
    won = request.response
    own_name = (by.name, by.subject)
    if won and is_same_person(won.responder, request.responder_subject, *own_name) and says_the_same(answer, won):
        return True
    own = [each for each in (request.held, *request.votes) if each and each.subject == by.identity]
    if request.is_final:
        # The vote of somebody who voted for other arguments has lost.
        own = [each for each in own if won and each.authorised_digest == won.authorised_digest]
    return any(says_the_same(answer, each) for each in own[:1])


def says_the_same(answer: Answer, earlier: Response | Vote) -> bool:
    """Return whether an answer says what another one said."""
    data = {name: value for name, value in (answer.data or {}).items() if value is not None}
    words = (answer.decision, answer.args, answer.message, answer.override)
    if (answer.grant or earlier.grant) and not (answer.grant and earlier.grant and earlier.grant.is_from(answer.grant)):
        return False
    return words == (earlier.decision, earlier.args, earlier.message, earlier.override) and data == (earlier.data or {})


def check_answer_data(request: RequestData, answer: Answer) -> dict[str, Any] | None:
    """Return the data of an answer as it is stored; raise `InvalidError` for an answer that does not fit.

    Args:
        request: The request.
        answer: The answer; its digest is not checked.
    """
    if answer.decision not in request.allowed:
        why = f"{answer.decision!r} is not allowed here: choose {', '.join(request.allowed)}"
        raise InvalidError.of("decision", why, "decision_not_allowed")
    if errors := list(_misfits(request, answer)):
        raise InvalidError(errors)
    if answer.decision == "edit" and answer.args is not None and request.action:
        check_edited_arguments(request.action.args_schema, request.action.args, answer.args)
    return _checked_data(request, answer)


def _misfits(request: RequestData, answer: Answer) -> Iterator[FieldError]:
    edits, has_form = answer.decision == "edit", bool(request.form) or request.data_schema is not None
    task = (answer.data or {}).get("task")
    says_nothing = answer.decision == "respond" and not (answer.message or "").strip() and not answer.data
    if answer.data or answer.args:
        yield from unstorable_numbers(answer)
    if answer.args is not None and not (edits and request.action):
        why = "are accepted only with the decision edit on an action: remove them"
        yield FieldError("args", why, "unexpected")
    if edits and request.action and not has_form and answer.args is None:
        yield FieldError("args", "are missing: send all arguments, as edited", "required")
    if edits and not request.action and not answer.data:
        yield FieldError("data", "is missing: send the edited data", "required")
    if answer.decision == "reject" and answer.data:
        yield FieldError("data", "is not accepted with a rejection: send a message instead", "unexpected")
    if says_nothing:
        yield FieldError("message", "is required: write a message", "message_required")
    if request.kind == "finish" and edits and not (isinstance(task, str) and task.strip()):
        yield FieldError("data.task", "is required: enter the new task as text", "task_required")


def _checked_data(request: RequestData, answer: Answer) -> dict[str, Any] | None:
    if answer.decision == "respond" and request.answer_schema is not None:
        return answer.check_value(request.answer_schema)
    buttons = buttons_with_values(request.actions) if request.answer_schema is not None else ()
    without_data = ("respond", *buttons)
    if answer.decision == "reject" or (answer.data is None and answer.decision in without_data):
        return None
    if request.form:
        return request.form.check(answer.data or {})
    if request.data_schema is not None:
        json_schema.check_instance(request.data_schema, answer.data or {}, field="data")
        return answer.data or {}
    if answer.data and (answer.decision != "edit" or request.action):
        raise InvalidError.of("data", "is not accepted: this request has no form", "unexpected")
    # A front end that sends no data and one that sends `{}` vote for the same call.
    return answer.data or None
