"""A question to a person, and its answer: a pure state machine without clock or I/O.

pending ──> completed | cancelled | expired      once; each step is the next version and its event
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any, Self
from urllib.parse import quote

from ringi.base.canonical_json import sha256_of_text
from ringi.base.texts import Sentence, reason_of, sentences_text
from ringi.domain import decisions
from ringi.domain.ask import (
    AGREEING,
    Action,
    Answer,
    Ask,
    Continuation,
    Decision,
    Receipt,
    Response,
    Wording,
    request_content_digest,
)
from ringi.domain.checks import Check
from ringi.domain.grants import Grant, GrantUse
from ringi.domain.record import DEFAULT_TENANT, GRANT, POLICY, SYSTEM, Event, Key
from ringi.domain.request_data import RequestData
from ringi.domain.voting import Caller, Decider, as_decider, missing_votes, open_vote_stage
from ringi.errors import ConflictError, ForbiddenError, NotAuthorizedError

RUN_CHECK: ContextVar[Callable[[], None] | None] = ContextVar("ringi_run_check", default=None)
"""Within a run of Ringi: raises an error if another worker has taken it over."""
MAX_SEEN = 200
"""The number of people whose first view of a request is recorded."""
CLIENT = "client"
"""The key in a request's context of the client that makes the call."""
MAX_NAME = 200
"""The number of characters up to which a client's name counts."""


class Request(RequestData):
    """One question to a person, its status and its answer."""

    @classmethod
    def asked(
        cls,
        ask: Ask,
        *,
        id: str,
        now: datetime,
        by: Caller,
        tenant: str = DEFAULT_TENANT,
        continuation: Continuation | None = None,
        starter: Caller = None,
        first_of_kind: bool = False,
        traceparent: str | None = None,
    ) -> tuple[Request, Event]:
        """Return the new request and its event.

        Args:
            ask: The question, as `Ask.checked` returned it.
            id: The id of the request; it replaces the id of the ask.
            now: The time of the creation; `expires_in` counts from it.
            by: The asker; without one, the actor of the event is `system`.
            tenant: The tenant of the request.
            continuation: The run that resumes after the request, if any.
            starter: The person who started the run; None outside of runs.
            first_of_kind: Whether nobody was asked about this tool in the 30 days before.
            traceparent: The OpenTelemetry span that asks; None without tracing.

        Returns:
            The pending request and its event `request.created`, to be stored together.

        Raises:
            InvalidError: A value of the ask is not portable JSON.
        """
        asker, started = as_decider(by or ""), as_decider(starter or "")
        more: dict[str, Any] = {"traceparent": traceparent, "starter": started.name or None}
        more |= {"asker_subject": asker.subject, "starter_subject": started.subject}
        more |= {"continuation": continuation, "first_of_kind": first_of_kind}
        asked = cls._new(ask, more, id, now, asker.name or None, tenant)
        return asked.created("created", asker.name or SYSTEM)

    @classmethod
    def _new(
        cls, ask: Ask, more: dict[str, Any], id: str, now: datetime, by: str | None, tenant: str = DEFAULT_TENANT
    ) -> Request:
        known, own = type(ask).model_fields, cls.model_fields
        # A request has the fields that both have. An unknown field of the agent may have the name of a request's field:
        # of those only fields with other names stay.
        fields = {name: value for name, value in ask if (name in known) == (name in own)}
        client, continuation = ask.context.get(CLIENT), more.get("continuation")
        asker = client if isinstance(client, str) and 0 < len(client) <= MAX_NAME else by
        fields |= {
            "tenant": tenant,
            "id": id,
            "created_at": now,
            "kind": ask.resolved_kind,
            "allowed": ask.resolved_allowed,
            "expires_at": now + timedelta(seconds=ask.expires_in) if ask.expires_in else ask.expires_at,
            "missing": ask.quorum or None,
            "asked_by": by,
            "agent": continuation.target if continuation else asker,
            "digest": request_content_digest(ask),
        }
        return cls.model_construct(**fields | more)

    @classmethod
    def planted(cls, ask: Ask, *, id: str, now: datetime, template: Request, check: Check) -> tuple[Request, Event]:
        """Return a new check that looks like a real request, and its event, which is that of a real request.

        Args:
            ask: The question, as `Ask.checked` returned it.
            id: The id of the request.
            now: The time of the creation.
            template: The real request; nobody waits for the answer to the check.
            check: What is wrong with it.
        """
        copied = ("starter", "asker_subject", "starter_subject", "agent", "unanswerable")
        more = {name: getattr(template, name) for name in copied} | {"check": check}
        asked = cls._new(ask, more, id, now, template.asked_by, template.tenant)
        return asked.created("created", template.asked_by or SYSTEM)

    @classmethod
    def rule(
        cls, ask: Ask, *, id: str, now: datetime, by: Decider, channel: str, tenant: str, grant: Grant, seed: str
    ) -> tuple[Request, Event]:
        """Return the record of a rule that a person has switched on, and its one event.

        Args:
            ask: The question, as `Ask.checked` returned it.
            id: The id of the request, and of the rule.
            now: The current time.
            by: The person.
            channel: The channel of the decision.
            tenant: The tenant.
            grant: The calls that the rule approves.
            seed: The secret that draws the calls that still ask; outside of the hash chain.
        """
        # Nothing waits for it, and nothing is left to run.
        done = {"acknowledged_at": now, "receipt": Receipt(outcome="committed")}
        asked = cls._new(ask, {**done, "responder_subject": by.subject, "seed": seed}, id, now, by.name, tenant)
        return asked._born_final(decision="approve", responder=by.name, channel=channel, grant=grant)

    @classmethod
    def approved(
        cls, ask: Ask, *, now: datetime, rule: str, traceparent: str | None = None, **about: Any
    ) -> tuple[Request, Event]:
        """Return the new request, approved by a rule of a policy, and the one event of both.

        Args:
            ask: The question, as `Ask.checked` returned it.
            now: The time of the creation and of the approval.
            rule: The name of the rule; the responder is `policy:` and this name.
            traceparent: The OpenTelemetry span that asks; None without tracing.
            about: `id` and `by`, and optionally `tenant`, as in `asked`.

        Returns:
            The completed request and its event `request.completed`, to be stored together.

        Raises:
            InvalidError: A value of the ask is not portable JSON.
        """
        return cls._decided(ask, "approve", rule, None, traceparent, now=now, **about)

    @classmethod
    def denied(
        cls, ask: Ask, *, now: datetime, rule: str, reason: str, traceparent: str | None = None, **about: Any
    ) -> tuple[Request, Event]:
        """Return the new request, rejected by a rule of a policy, and the one event of both.

        Args:
            ask: The question, as `Ask.checked` returned it.
            now: The time of the creation and of the rejection.
            rule: The name of the rule; the responder is `policy:` and this name.
            reason: The reason, as the message of the response.
            traceparent: The OpenTelemetry span that asks; None without tracing.
            about: `id` and `by`, and optionally `tenant`, as in `asked`.

        Returns:
            The completed request and its event `request.completed`, to be stored together.

        Raises:
            InvalidError: A value of the ask is not portable JSON.
        """
        return cls._decided(ask, "reject", rule, reason, traceparent, now=now, **about)

    @classmethod
    def _decided(
        cls, ask: Ask, decision: Decision, rule: str, message: str | None, traceparent: str | None, **about: Any
    ) -> tuple[Request, Event]:
        source = ask.policy and ask.policy.model_copy(update={"rule": rule})
        asked = cls._new(ask, {"traceparent": traceparent, "policy": source}, **about)
        return asked._born_final(decision=decision, message=message, responder=f"{POLICY}{rule}", channel="policy")

    def under_grant(self, use: GrantUse) -> tuple[Request, Event]:
        """Return this new request, approved by a grant, and the one event of both.

        Args:
            use: The use of the grant.
        """
        # Like the approval by a rule: the run that asks has it at once, and nothing needs to wake it.
        new = self.model_copy(update={"continuation": None, "first_of_kind": False, "head": ""})
        return new._born_final(decision="approve", responder=f"{POLICY}{GRANT}{use.id}", channel="grant", grant_use=use)

    def _born_final(self, **decided: Any) -> tuple[Request, Event]:
        now, authorised = self.created_at, self.authorised_digest(decided["decision"], None, None)
        response = Response(**decided, at=now, authorised_digest=authorised)
        ended = {"status": "completed", "response": response, "ended_at": now}
        return self.model_copy(update=ended).created("completed", response.responder)

    def completed(
        self, answer: Answer, *, by: Decider | str, channel: str, now: datetime, ended_rules: tuple[str, ...] = ()
    ) -> tuple[Self, Event | None]:
        """Return the request after an answer: completed, or still pending with a vote or a held answer.

        The caller checks that no time has come; see `timed`.

        Args:
            answer: The decision, its data, and the digest of the request that the person saw.
            by: The responder.
            channel: The channel of the answer, such as `python` or `http`.
            now: The time of the decision.
            ended_rules: The ids of the rules that the answer ends.

        Returns:
            The request and its event `request.completed`, `request.voted` or `request.held`; the request unchanged and
            None for the same vote or held answer again.

        Raises:
            ConflictError: The request has ended (`final`), the person saw other content than this request has
                (`digest_mismatch`), an answer is held (`held`), or another person holds the claim (`claimed`).
            ForbiddenError: The request is assigned to other people, a rule of it excludes the person, or the person
                signed in too long ago for the tier of the request (`fresh_sign_in`).
            InvalidError: The decision is not allowed here, or its data or arguments are invalid.
        """
        self.refuse_final()
        if answer.digest != self.digest:
            raise ConflictError.digest_mismatch(self.id, answer.digest)
        return decisions.decide_request(self, answer, as_decider(by), channel, now, ended_rules)

    def is_repeat(self, answer: Answer, by: Decider | str) -> bool:
        """Return whether this answer is already on record, from the same person.

        Args:
            answer: The answer that arrived; fields of its data that are None count as absent.
            by: Its responder.
        """
        return answer.digest == self.digest and decisions.is_repeated_answer(self, answer, as_decider(by))

    def undone(self, by: Decider | str, now: datetime) -> tuple[Self, Event]:
        """Return the request without its held answer, open again.

        Args:
            by: The person who gave the answer.
            now: The current time.

        Raises:
            ConflictError: The request has ended (`final`), or no answer is held, or its time to undo is over.
            ForbiddenError: Another person gave the answer.
        """
        self.refuse_final()
        person, held = as_decider(by), self.held
        if held is None:
            raise ConflictError(f"no answer to request {self.id!r} is held, and no reassignment can be taken back")
        if held.subject != person.identity:
            raise ForbiddenError(f"only {held.responder!r} may undo the answer to request {self.id!r}")
        if self.is_released(now):
            raise ConflictError(f"the time to undo the answer to request {self.id!r} is over")
        return self.changed("unheld", person.name, now, held=None)

    def withdrawn(self, person: str, by: str, now: datetime) -> tuple[Self, Event | None]:
        """Return the request without the votes and the held answer of a person, or of a deputy for the person.

        The events keep the votes. An ended request is unchanged.

        Args:
            person: The person, who has left.
            by: The administrator.
            now: The current time.

        Returns:
            The request and its event; the request unchanged and None if it has nothing of the person.
        """
        if self.is_final:
            return self, None
        votes = tuple(each for each in self.votes if not each.is_of(person))
        held = None if self.held and self.held.is_of(person) else self.held
        if (votes, held) == (self.votes, self.held):
            return self, None
        if held and self.quorum and held.decision in AGREEING and not held.override:
            # It was the last vote that was missing: without the others it is one of the votes again.
            counted = decisions.votes_with_vote(votes, held)
            if open_vote_stage(self.quorum, counted, held.authorised_digest) is not None:
                votes, held = counted, None
        changes: dict[str, Any] = {"held": held} if held != self.held else {}
        if votes != self.votes:
            # Empty votes are not stored.
            changes |= {"missing": missing_votes(self.quorum, votes), "votes": votes or None}
        after, event = self.changed("withdrawn", by, now, **changes)
        return after.model_copy(update={"votes": votes}), event

    def timed(self, now: datetime) -> tuple[Self, Event | None]:
        """Return the request after what the clock may do: a held answer is released, the request expires or escalates.

        A release comes before an expiry. The clock never decides.

        Args:
            now: The current time.

        Returns:
            The request and its event; the request unchanged and None if no time has come.
        """
        if not self.is_due(now):
            return self, None
        if self.held and self.is_released(now):
            return decisions.completed_by_vote(self, self.held, now)
        if self.is_overdue(now):
            return self.ended("expired", SYSTEM, now, reason=reason_of("expired"))
        # A server that was down takes the steps that it missed at once.
        taken = sum(self.created_at + timedelta(seconds=step.after) <= now for step in self.escalation)
        return self.changed("escalated", SYSTEM, now, escalated=taken)

    def claimed(self, by: Decider | str, now: datetime, lease: timedelta) -> tuple[Self, Event]:
        """Return the request claimed by one person until the lease ends; claiming it again renews the lease.

        Args:
            by: The person.
            now: The current time.
            lease: The duration of the claim.

        Raises:
            ConflictError: The request has ended (`final`), an answer is held (`held`), or another person holds the
                claim (`claimed`).
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
        """
        name = self._changer(by, now)
        if self.quorum:
            raise ConflictError(f"request {self.id!r} needs several people: vote, since nobody can claim it")
        return self.changed("claimed", name, now, claimed_by=name, claimed_until=now + lease)

    def released(self, by: Decider | str, now: datetime) -> tuple[Self, Event | None]:
        """Return the request without its claim; until the claim expires, only its holder may release it.

        Args:
            by: The person.
            now: The current time.

        Returns:
            The request and its event; the request unchanged and None if there is no claim.

        Raises:
            ConflictError: The request has ended (`final`), an answer is held (`held`), or another person holds the
                claim (`claimed`).
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
        """
        name = self._changer(by, now)
        if not self.claimed_by:
            return self, None
        return self.changed("released", name, now, claimed_by=None, claimed_until=None)

    def reassigned(
        self, by: Decider | str, now: datetime, assignee: str | None, groups: Sequence[str]
    ) -> tuple[Self, Event]:
        """Return the request assigned to another person or to groups; a claim ends.

        Args:
            by: The person who assigns it.
            now: The current time.
            assignee: The name of the new assignee, if any.
            groups: The groups whose members may answer. Without an assignee and groups, everybody may answer.

        Raises:
            ConflictError: The request has ended (`final`), an answer is held (`held`), or another person holds the
                claim (`claimed`).
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
        """
        name = self._changer(by, now)
        fresh = {"assignee": assignee, "groups": tuple(groups), "claimed_by": None, "claimed_until": None}
        return self.changed("reassigned", name, now, **fresh)

    def _changer(self, by: Decider | str, now: datetime) -> str:
        """Return the name of a person who may change who decides the pending request."""
        person = as_decider(by)
        self.refuse_closed(person.name, now)
        decisions.refuse_other_people(self, person)
        # A person who may not decide may not choose who does, neither directly nor through a deputy.
        decisions.person_deputized_for(self, person)
        return person.name

    def cancelled(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return the request cancelled; the gated action does not run.

        Args:
            by: The person or agent that cancels it.
            now: The time of the cancellation.
            reason: The reason for the asker and the audit trail, if any.

        Raises:
            ConflictError: The request has ended (`final`).
            ForbiddenError: The request reviews an override: only a decision ends it.
        """
        self.refuse_final()
        if self.is_review:
            what = f"request {self.id!r} is the review of an override: it cannot be cancelled"
            raise ForbiddenError(f"{what}; another administrator must decide it")
        return self.ended("cancelled", by, now, reason=reason)

    def expired(self, now: datetime) -> tuple[Self, Event]:
        """Return the request expired: neither approved nor rejected.

        Args:
            now: The time of the expiry; it is not compared with `expires_at`.

        Raises:
            ConflictError: The request has ended (`final`).
        """
        self.refuse_final()
        return self.ended("expired", SYSTEM, now, reason=reason_of("expired"))

    def acknowledged(self, by: str, now: datetime, receipt: Receipt | None = None) -> tuple[Self, Event]:
        """Return the request acknowledged by its run, so that the answer is not delivered to the run again.

        Args:
            by: The actor for the audit trail.
            now: The current time.
            receipt: What became of the approved call, if it is known.
        """
        more = {"receipt": receipt} if receipt else {}
        return self.changed("acknowledged", by, now, acknowledged_at=now, **more)

    def reported(self, receipt: Receipt, by: str, now: datetime) -> tuple[Self, Event | None]:
        """Return the request with what became of its approved call, as its asker reports it, at most once.

        An attempt reports twice: that it begins, and the outcome.

        Args:
            receipt: What became of the call.
            by: The asker.
            now: The current time.

        Returns:
            The request and its event `request.acknowledged`; the request unchanged and None for the same report again.

        Raises:
            ConflictError: The request is pending, no call was approved, another outcome is on record, or a run of Ringi
                records the outcome itself.
        """
        if self.continuation:
            raise ConflictError(f"request {self.id!r} belongs to a run of Ringi, which records the outcome itself")
        if not self.is_final:
            raise ConflictError(f"request {self.id!r} is pending: wait for the approval, run the call, then report it")
        if self.granted is None:
            raise ConflictError(f"request {self.id!r} approves no call: there is no outcome to report")
        if self.receipt == receipt:
            return self, None
        if self.acknowledged_at and not (self.receipt and self.receipt.is_begun_by(receipt.attempt)):
            raise ConflictError(f"request {self.id!r} has the outcome {self.outcome!r} on record: it cannot be changed")
        return self.acknowledged(by, now, receipt)

    def reminded(self, now: datetime) -> tuple[Self, Event | None]:
        """Return the request with a reminder recorded, at most once.

        Args:
            now: The time of the reminder.

        Returns:
            The request and its event; the request unchanged and None if it has ended or a reminder is recorded.
        """
        if self.is_final or self.reminded_at:
            return self, None
        return self.changed("reminded", SYSTEM, now, reminded_at=now)

    def seen(self, by: str, now: datetime) -> tuple[Self, Event | None]:
        """Return the request with the record that a person opened it: once per person, only while it is pending.

        Args:
            by: The name of the person.
            now: The current time.

        Returns:
            The request and its event; the request unchanged and None if nothing is to be recorded.
        """
        if self.is_final or by in self.seen_by or len(self.seen_by) >= MAX_SEEN:
            return self, None
        return self.changed("seen", by, now, seen_by=(*self.seen_by, by))

    def needing_attention(self, why: str, now: datetime) -> tuple[Self, Event]:
        """Return the request marked for an operator; a pending request stays answerable.

        Args:
            why: The reason, for operators.
            now: The current time.
        """
        return self.changed("attention", SYSTEM, now, attention=why)

    def retried(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return the request without the mark for an operator; an answer is preserved.

        A call with an outcome may run again: until the run acknowledges the request again, its outcome is open.

        Args:
            by: The name of the operator.
            now: The current time.
        """
        again = {"acknowledged_at": None, "receipt": Receipt(outcome="unknown")} if self.receipt else {}
        return self.changed("retried", by, now, attention=None, **again)

    def authorize(self, name: str, args: dict[str, Any]) -> None:
        """Check that exactly this call was approved: by a person, by a person's edit, or by a rule of the policy.

        Call it immediately before the action runs.

        Args:
            name: The name of the tool or action.
            args: The final arguments, as JSON values.

        Raises:
            NotAuthorizedError: The call was not approved, or differs from the approved one.
            UnavailableError: In a run of Ringi, another worker has taken the run over: let it pass.
        """
        if check := RUN_CHECK.get():
            check()
        if self.erased:
            raise NotAuthorizedError(self.id, "its content was erased; ask again")
        if self.is_check:
            raise NotAuthorizedError(self.id, "it is a check of people's attention, which never runs")
        if self.status != "completed" or not self.response or not self.action:
            raise NotAuthorizedError(self.id, f"it is {self.status} and gates {self.action and self.action.name!r}")
        if self.response.decision not in AGREEING:
            raise NotAuthorizedError(self.id, f"the decision was {self.response.decision}")
        if not self.is_sufficient:
            raise NotAuthorizedError(self.id, "fewer or other people decided than its rules need; ask again")
        asked = self.model_copy(update={"action": Action(name)})
        if asked.authorised_digest(self.response.decision, self.response.data, args) != self.response.authorised_digest:
            raise NotAuthorizedError(self.id, f"{name!r} with these arguments is not what was approved; ask again")


ADMINISTRATORS = "administrators"
"""The group that is asked if no groups of administrators are configured: administrators may decide every request."""
MAX_TITLE = 300
"""The number of characters of the overridden request's title in the title of its review."""
OVERRIDDEN = "overridden"
"""The key of the overridden request's facts in the context of a review."""


def review_id(request_id: str) -> str:
    """Return the id of the review of an overridden request.

    Args:
        request_id: The id of the overridden request.
    """
    return f"o-{sha256_of_text(request_id.encode()).removeprefix('sha256:')[:32]}"


def review_key(request: Request) -> Key | None:
    """Return the key of the review that an erasure of a request waits for; that of a review is its own.

    Args:
        request: The request; if nobody has overridden it, nothing waits.
    """
    if request.is_review:
        return request.key
    return Key(request.tenant, review_id(request.id)) if request.is_overridden else None


def overridden_key(review: Request) -> Key | None:
    """Return the key of the request that a review is about; None for other requests, and for an erased review.

    Args:
        review: The review.
    """
    about = review.context.get(OVERRIDDEN) if review.is_review else None
    return Key(review.tenant, about["request"]) if about else None


def review_of_override(request: Request, groups: Sequence[str]) -> tuple[Request, Event]:
    """Return the question whether an override was right, and its event, to be stored together with the override.

    Whoever overrode may not answer it, and it never expires.

    Args:
        request: The request as the override has ended it.
        groups: The groups of administrators; without any, the review names a group of its own.
    """
    response = request.response
    assert response
    assert request.ended_at
    about = {"name": response.responder, "decision": response.decision, "reason": response.override}
    title = Sentence(code="review_override", params={"name": response.responder, "title": request.title[:MAX_TITLE]})
    description = (
        Sentence(code="review_reason", params=about),
        Sentence(code="review_link", params={"link": f"[{request.id}](/r/{quote(request.id, safe='')})"}),
    )
    ask = Ask(
        kind="question",
        title=sentences_text([title]),
        description=sentences_text(description),
        wording=Wording(title=(title,), description=description),
        allowed=("approve", "reject"),
        context={OVERRIDDEN: {"request": request.id, "at": response.at.isoformat(), **about}},
        groups=tuple(groups) or (ADMINISTRATORS,),
        exclude=("asker",),
        priority="high",
    ).checked(max_fields=1)
    by = Decider(response.responder, subject=request.responder_subject)
    return Request.asked(ask, id=review_id(request.id), now=request.ended_at, by=by, tenant=request.tenant)
