"""What is stored of a question to a person, and what can be read from it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import Field

from ringi.base.canonical_json import digest
from ringi.base.model import is_empty
from ringi.domain import voting
from ringi.domain.ask import (
    AGREEING,
    REVIEW,
    Action,
    Button,
    Continuation,
    Decision,
    Kind,
    MemoryChanges,
    Outcome,
    Priority,
    Receipt,
    Response,
    Wording,
)
from ringi.domain.checks import Check, CheckResult
from ringi.domain.display import Block
from ringi.domain.events import Webhook
from ringi.domain.grants import FOLDER, GrantableCall
from ringi.domain.record import POLICY, Event, Record, Viewer, WaitingErasure, normalize_for_search, texts_in_json
from ringi.domain.voting import Escalation, Excluded, Held, PolicySource, Stage, Tier, Vote
from ringi.errors import ConflictError
from ringi.forms.form import Form

Status = Literal["pending", "completed", "cancelled", "expired"]
SUBJECTS = {"asker_subject", "starter_subject", "responder_subject", "absent_subject"}
"""The fields with sign-ins, which no reader sees."""
PRIVATE = SUBJECTS | {
    *("head", "continuation", "webhooks", "reminded_at", "memory", "traceparent", "seen_by", "check", "seed"),
    *("waiting_erasures", "erasing"),
}
"""Internal fields of a request; fields of a newer version are internal too."""
TITLE_SHOWN = 60
"""The number of a title's characters in a `repr`."""
SEARCHED = 32_000
"""The number of a request's characters that a search reads."""
CARD = "card"
"""The key of the tool's card in a request's context."""


class RequestData(Record):
    """The data of a request, and what can be read from it."""

    record: ClassVar[str] = "request"
    # The headers of a webhook hold secrets, and content of the hash chain can never be removed.
    # A legal hold may begin after the final event: the journal of legal holds records it.
    # Who is known here changes without the request.
    # The digest of an event would betray a check to whoever computes it: the journal of checks records it.
    # An erasure that waits may name the person to erase. One that began changes nothing yet.
    unchained: ClassVar[frozenset[str]] = Record.unchained | {
        *("webhooks", "legal_hold", "check", "seed", "unanswerable", "waiting_erasures"),
        "erasing",
    }

    kind: Kind
    title: str
    description: str | None = None
    action: Action | None = None
    form: Form | None = None
    data_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    answer_schema: dict[str, Any] | None = None
    allowed: tuple[Decision, ...]
    actions: dict[Decision, Button] = {}
    context: dict[str, Any] = {}
    thread_id: str | None = None
    run_id: str | None = None
    status: Status = "pending"
    response: Response | None = None
    assignee: str | None = None
    groups: tuple[str, ...] = ()
    claimed_by: str | None = None
    claimed_until: datetime | None = None
    priority: Priority | None = None
    due_at: datetime | None = None
    expires_at: datetime | None = None
    fallback: dict[str, Any] | None = None
    display: tuple[Block, ...] | None = None
    wording: Wording | None = Field(default=None, exclude_if=lambda value: value is None)
    reason: str | None = None
    attention: str | None = None
    acknowledged_at: datetime | None = None
    receipt: Receipt | None = Field(default=None, exclude_if=is_empty)
    """What became of the approved call; None if nobody has reported it."""
    ended_at: datetime | None = None
    asked_by: str | None = None
    agent: str | None = None
    """The agent whose run asks; outside of runs the client that makes the call, or who asks. None in older requests."""
    continuation: Continuation | None = None
    webhooks: tuple[Webhook, ...] = ()
    reminded_at: datetime | None = None
    memory: MemoryChanges | None = None
    """Set after the person who answered edited or deleted the memory."""
    traceparent: str | None = None
    """The OpenTelemetry span that asked; None without tracing."""
    policy: PolicySource | None = Field(default=None, exclude_if=is_empty)
    """The rule of a policy that asked or decided; None if none did."""
    tier: Tier | None = Field(default=None, exclude_if=is_empty)
    hold: float | None = Field(default=None, exclude_if=is_empty)
    quorum: tuple[Stage, ...] = Field(default=(), exclude_if=is_empty)
    exclude: tuple[Excluded, ...] = Field(default=(), exclude_if=is_empty)
    escalation: tuple[Escalation, ...] = Field(default=(), exclude_if=is_empty)
    first_of_kind: bool = Field(default=False, exclude_if=is_empty)
    """True if nobody was asked about this tool in the 30 days before the request; False without an action."""
    starter: str | None = Field(default=None, exclude_if=is_empty)
    """The person who started the run that asks; None outside of runs."""
    asker_subject: str = Field(default="", exclude_if=is_empty)
    """The issuer and the subject of the sign-in of who asked; empty if only the name is known."""
    starter_subject: str = Field(default="", exclude_if=is_empty)
    """The same of the person who started the run."""
    responder_subject: str = Field(default="", exclude_if=is_empty)
    """The same of the person who decided."""
    absent_subject: str = Field(default="", exclude_if=is_empty)
    """The same of the person for whom a deputy decided."""
    votes: tuple[Vote, ...] = Field(default=(), exclude_if=is_empty)
    missing: tuple[Stage, ...] | None = Field(default=None, exclude_if=is_empty)
    """The stages of the quorum that need more votes, with their number, for the call with the most votes; None without
    any."""
    held: Held | None = Field(default=None, exclude_if=is_empty)
    escalated: int = Field(default=0, exclude_if=is_empty)
    """The number of steps of the escalation that have been taken."""
    seen_by: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The names of the people who opened the request while it was pending, if the server records it."""
    legal_hold: bool = Field(default=False, exclude_if=is_empty)
    """True while no erasure may remove the content."""
    waiting_erasures: tuple[WaitingErasure, ...] = Field(default=(), exclude_if=is_empty)
    """The erasures to do when this review ends."""
    erasing: tuple[datetime, ...] = Field(default=(), exclude_if=is_empty)
    """Until when each erasure in progress refuses legal holds, because it deletes what lies beside the request."""
    check: Check | None = Field(default=None, exclude_if=is_empty)
    """What is wrong with a request that was planted to measure attention; it can never run."""
    seed: str | None = Field(default=None, exclude_if=is_empty)
    """The secret of a rule that a person switched on: it draws the calls that still ask."""
    check_result: CheckResult | None = Field(default=None, exclude_if=is_empty)
    """Whether people noticed what is wrong; only an ended check has it."""
    unanswerable: bool = Field(default=False, exclude_if=is_empty)
    """True while the request is pending and nobody who is known here can answer it, except administrators."""
    digest: str

    if not TYPE_CHECKING:  # A type checker would take every name for an attribute.

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError as error:
                if name not in ("answer", "args", "data", "decision", "message", "result"):
                    raise
                where = "`request.response` has decision, data and message; `request.granted` the approved args"
                raise AttributeError(f"{error}: {where}") from None

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        title = self.title if len(self.title) <= TITLE_SHOWN else f"{self.title[:TITLE_SHOWN]}…"
        return iter([("id", self.id), ("kind", self.kind), ("status", self.status), ("title", title)])

    @classmethod
    def public(cls) -> set[str]:
        """Return the fields that may be exposed; unknown fields may hold secrets."""
        return set(cls.model_fields) - PRIVATE

    @property
    def emptied(self) -> tuple[str, ...]:
        """The fields that are not stored while they are empty, and that a step may have emptied."""
        return ("missing", "held", "votes") if self.quorum or self.hold else ()

    @property
    def is_final(self) -> bool:
        """True once the request has ended: its outcome is final."""
        return self.status != "pending"

    @property
    def winner(self) -> dict[str, Any] | None:
        """The decision that ended the request, if any."""
        return self.response.winner if self.response else None

    @property
    def granted(self) -> Action | None:
        """The action as approved or edited; None without an approval by a person or a rule: then it must not run."""
        # After an erasure of the answer, only the arguments that nobody approved would remain of an edited call.
        if self.is_check or self.erased or not self.is_sufficient:
            return None
        if not self.action or not self.response or self.response.decision not in AGREEING:
            return None
        args = self.action.args if self.response.args is None else self.response.args
        return self.action.model_copy(update={"args": args})

    @property
    def card(self) -> dict[str, Any]:
        """The card that the tool's author declares; empty if none is declared, even if the asker wrote one."""
        card = self.context.get(CARD)
        return card if self.policy and self.policy.card and self.action and isinstance(card, dict) else {}

    @property
    def grantable_call(self) -> GrantableCall | None:
        """The action as grants see it; None if no grant may approve it, because a person must decide every time."""
        is_plain = self.kind == "approval" and self.form is None and self.data_schema is None
        if not self.action or not is_plain or self.quorum or "approve" not in self.allowed:
            return None
        # Who decides only after an escalation is not asked about later calls.
        if self.tier in ("high", "irreversible") or self.escalated:
            return None
        return GrantableCall(
            self.action.name,
            self.action.args,
            self.asked_by,
            self.continuation.target if self.continuation else None,
            digest([self.assignee, sorted(self.groups), sorted(self.exclude), self.hold]),
            int(self.tier == "medium"),
            self.thread_id,
            self.context.get(FOLDER),
        )

    @property
    def is_by_rule(self) -> bool:
        """Whether a rule of a policy or a grant decided the request, and no person."""
        return self.response is not None and self.response.responder.startswith(POLICY)

    @property
    def is_sufficient(self) -> bool:
        """Whether the people who must agree have agreed, and no excluded person decided.

        A server from before these rules may have completed the request: then nothing may run.
        """
        won = self.response
        if won is None or won.override or not (self.quorum or self.exclude) or self.is_by_rule:
            return True
        if self.excludes(won.responder, self.responder_subject):
            return False
        if won.stands_for and self.excludes(won.stands_for, self.absent_subject):
            return False
        return voting.open_vote_stage(self.quorum, self.votes, won.authorised_digest) is None

    @property
    def is_check(self) -> bool:
        """Whether the request was planted to measure attention: nothing may ever run because of it."""
        return self.check is not None or self.check_result is not None

    @property
    def is_review(self) -> bool:
        """Whether the request asks if an administrator's override was right."""
        return REVIEW.fullmatch(self.id) is not None

    @property
    def is_overridden(self) -> bool:
        """Whether an administrator decided the request past its rules, which another administrator must review."""
        return self.response is not None and self.response.override is not None and not self.is_check

    @property
    def excluded_people(self) -> tuple[tuple[str, str], ...]:
        """The names and the subjects of those who may not decide the request."""
        asker, starter = (self.asked_by, self.asker_subject), (self.starter, self.starter_subject)
        excluded = [asker] if "asker" in self.exclude else []
        if "starter" in self.exclude:
            # An agent that asks without a run does not say for whom: whoever asked counts.
            excluded.append(starter if self.starter else asker)
        return tuple((name, subject) for name, subject in excluded if name)

    def excludes(self, name: str, subject: str) -> bool:
        """Return whether a rule of the request excludes a person from its decision.

        Args:
            name: The name of the person.
            subject: The issuer and the subject of the person's sign-in; empty if only the name is known.
        """
        return any(voting.is_same_person(name, subject, *each) for each in self.excluded_people)

    def for_readers(self) -> Self:
        """Return the request without what its readers may not see: undecided answers, and sign-ins of voters."""
        if not self.votes and not self.held:
            return self
        signs: dict[str, Any] = {"subject": "", "for_subject": None}
        words = dict.fromkeys(("data", "args", "message", "grant"))
        held = self.held and self.held.model_copy(update={**words, **signs})
        votes = tuple(vote.model_copy(update=signs) for vote in self.votes)
        return self.model_copy(update={"held": held, "votes": votes})

    @property
    def is_unacknowledged(self) -> bool:
        """Return whether the request has ended but its run has not taken up the outcome."""
        is_open = not (self.is_check or self.acknowledged_at or self.attention)
        return is_open and self.is_final and self.continuation is not None

    @property
    def needs_attention(self) -> bool:
        """Return whether an operator must act: the run cannot continue by itself, answered or not."""
        return self.attention is not None and bool(self.continuation) and not self.acknowledged_at

    @property
    def is_unexecuted(self) -> bool:
        """Return whether an approved call is not known to have begun: nobody has acknowledged the approval."""
        approved = self.response is not None and self.response.decision in AGREEING
        is_open = not (self.acknowledged_at or self.erased or self.is_check)
        return approved and self.is_final and self.action is not None and is_open

    @property
    def outcome(self) -> Outcome | None:
        """What became of the approved call; None if no call was approved, or nobody has acknowledged the approval."""
        if self.acknowledged_at is None or self.response is None or self.response.decision not in AGREEING:
            return None
        return self.receipt.outcome if self.receipt else "unknown"

    @property
    def is_unsettled(self) -> bool:
        """Return whether the request is pending, unacknowledged, or waits for an operator."""
        return not self.is_final or self.is_unacknowledged or self.needs_attention

    @property
    def search_text(self) -> str:
        """The text that a search reads."""
        called = (self.action.name, *texts_in_json(self.action.args)) if self.action else ()
        return normalize_for_search("\n".join((self.id, self.title, self.description or "", *called))[:SEARCHED])

    def is_claimed_against(self, by: str, now: datetime) -> bool:
        """Return whether another person holds an unexpired claim.

        Args:
            by: The name of the person who wants to decide the request.
            now: The current time.
        """
        held = self.claimed_by and self.claimed_until and self.claimed_until > now
        return bool(held) and self.claimed_by != by

    def is_open_to(self, viewer: Viewer) -> bool:
        """Return whether this person may see and answer the request.

        Without an assignee and groups, a request is open to everybody.

        Args:
            viewer: The person, with their groups.
        """
        if not self.assignee and not self.groups:
            return True
        people, groups = self.recipients
        able = (viewer, *viewer.deputy_for)
        return any(each.name in people or not groups.isdisjoint(each.groups) for each in able)

    @property
    def recipients(self) -> tuple[frozenset[str], frozenset[str]]:
        """The people and the groups to whom the request is open; both are empty if it is open to everybody."""
        if not self.assignee and not self.groups:
            return frozenset(), frozenset()
        more = [each for step in self.escalation[: self.escalated] for each in step.to]
        groups = {each.removeprefix(voting.GROUP) for each in more if each.startswith(voting.GROUP)}
        voters = {name for stage in self.quorum for name in stage.groups}
        people = {each for each in (self.assignee, *more) if each and not each.startswith(voting.GROUP)}
        return frozenset(people), frozenset({*self.groups, *groups, *voters})

    @property
    def next_time(self) -> datetime | None:
        """The time at which the clock has something to do: release a held answer, escalate, or expire."""
        if self.is_final:
            return None
        steps = self.escalation[self.escalated : self.escalated + 1]
        times = [self.created_at + timedelta(seconds=step.after) for step in steps]
        return min([*times, *(at for at in (self.expires_at, self.held and self.held.until) if at)], default=None)

    @property
    def deadline(self) -> datetime | None:
        """The nearer of the time by which an answer is wanted and the time of expiry; it never changes."""
        return min((at for at in (self.due_at, self.expires_at) if at), default=None)

    def is_seen_by(self, viewer: Viewer) -> bool:
        """Return whether lists show the request to this person: it is open to them, or they asked it.

        Args:
            viewer: The person, with their groups.
        """
        return self.is_open_to(viewer) or self.is_from(viewer.name)

    def is_from(self, asker: str) -> bool:
        """Return whether this agent or person has asked the request: nobody has asked a check.

        Args:
            asker: The name of the agent or the person.
        """
        return not self.is_check and self.asked_by == asker

    def is_overdue(self, now: datetime) -> bool:
        """Return whether the request should have expired by now.

        Args:
            now: The current time.
        """
        return not self.is_final and self.expires_at is not None and self.expires_at <= now

    def ended(self, status: Status, by: str, now: datetime, **changes: object) -> tuple[Self, Event]:
        """Return the request ended, without a claim or a held answer, and its event.

        Args:
            status: The final status.
            by: The actor.
            now: The time of the end.
            changes: More new values by field name.
        """
        emptied = {name: None for name in ("held", "missing") if getattr(self, name)}
        changes = {**changes, **emptied, **self._revealed(changes.get("response"))}
        after, event = self.changed(status, by, now, status=status, ended_at=now, **changes)
        return after.marked(can_be_answered=True), event

    def marked(self, can_be_answered: bool) -> Self:
        """Return the request with the mark of those that nobody here can answer, or without it."""
        if self.unanswerable is not can_be_answered:
            return self
        return self.model_copy(update={"unanswerable": not can_be_answered})

    def remarked(self, can_be_answered: bool) -> tuple[Self, None]:
        """Return the next version with the mark or without it, without an event; unchanged if it is so already.

        Args:
            can_be_answered: Whether somebody who is known here can answer the request.
        """
        return self._without_event(unanswerable=not (can_be_answered or self.is_final))

    def _revealed(self, response: Any) -> dict[str, Any]:
        """Return what the end of a check changes: people learn that it was one, and its answer authorizes nothing."""
        if self.check is None:
            return {}
        result = self.check.result(self.action.args if self.action else {}, response)
        # A caller that knows no checks refuses a call without this digest.
        answer = {"response": response.model_copy(update={"authorised_digest": None})} if response else {}
        return {"check_result": result, **answer}

    def authorised_digest(
        self, decision: Decision, data: dict[str, Any] | None, args: dict[str, Any] | None
    ) -> str | None:
        """Return the digest of exactly the call and data that this decision authorizes.

        Args:
            decision: The decision.
            data: The answers to the form or the edited data, as they are stored; None without data.
            args: The edited arguments of the action; None if they are unchanged.

        Returns:
            `sha256:` and 64 hex digits; None for a rejection.

        Raises:
            InvalidError: The data or the arguments are not portable JSON.
        """
        if decision == "reject":
            return None
        action = {"name": self.action.name, "args": self.action.args if args is None else args} if self.action else None
        return digest({"request": self.digest, "decision": decision, "action": action, "data": data})

    def is_released(self, now: datetime) -> bool:
        """Return whether the time to undo a held answer is over.

        Args:
            now: The current time.
        """
        return self.held is not None and self.held.until <= now

    def is_due(self, now: datetime) -> bool:
        """Return whether the clock has something to do with the request; see `timed`.

        Args:
            now: The current time.
        """
        at = self.next_time
        return at is not None and at <= now

    def with_legal_hold(self, is_held: bool) -> tuple[Self, None]:
        """Return the next version with or without a legal hold, without an event; unchanged if it is so already.

        Args:
            is_held: True to set the hold.
        """
        return self._without_event(legal_hold=is_held)

    def with_waiting_erasure(self, new: WaitingErasure) -> tuple[Self, None]:
        """Return the next version of this review with one more erasure to do at its end, without an event.

        The review is unchanged if it has ended, or if the same erasure waits already.

        Args:
            new: The erasure.
        """
        # The data of the person to erase may include the erasures that they have asked for.
        waiting = tuple(
            each.model_copy(update={"by": new.by}) if each.by == new.person else each for each in self.waiting_erasures
        )
        if (new.request, new.person) not in [(each.request, each.person) for each in waiting]:
            waiting += (new,)
        return self._without_event(waiting_erasures=self.waiting_erasures if self.is_final else waiting)

    def with_erasing(self, until: datetime, since: datetime | None) -> tuple[Self, None]:
        """Return the next version with or without an erasure in progress, without an event; unchanged if it is so.

        Args:
            until: The time at which the erasure counts as interrupted; it identifies the erasure.
            since: The time at which it began; None after its end.
        """
        others = tuple(each for each in self.erasing if each != until and (since is None or each > since))
        return self._without_event(erasing=others if since is None else (*others, until))

    def _without_event(self, **change: object) -> tuple[Self, None]:
        """Return the next version with a field outside of the hash chain changed; the same version if it is not."""
        if all(getattr(self, name) == value for name, value in change.items()):
            return self, None
        return self.model_copy(update={**change, "version": self.version + 1}), None

    def refuse_closed(self, by: str, now: datetime) -> None:
        """Check that this person may still change the request.

        Args:
            by: The name of the person.
            now: The current time, for the end of a claim.

        Raises:
            ConflictError: The request has ended (`final`), an answer is held (`held`), or another person holds the
                claim (`claimed`).
        """
        self.refuse_final()
        if self.held:
            raise ConflictError.held(self.id, self.held.responder, self.held.until)
        if self.is_claimed_against(by, now):
            raise ConflictError.claimed(self.id, str(self.claimed_by))

    def refuse_final(self) -> None:
        """Raise `ConflictError` if the request has ended."""
        if self.is_final:
            raise ConflictError.ended(self.id, self.status, self.winner)
