"""A question to a person, and its answer: a pure state machine without clock or I/O.

pending ──> completed | cancelled | expired      once; each step is the next version and its event
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from ringi.base.canonical_json import digest
from ringi.base.texts import reason_of
from ringi.domain.ask import (
    Action,
    Answer,
    Ask,
    Button,
    Continuation,
    Decision,
    Kind,
    Priority,
    Wording,
    buttons_with_values,
    digest_of,
    error_if,
    unstorable_numbers,
)
from ringi.domain.display import Block
from ringi.domain.record import DEFAULT_TENANT, POLICY, SYSTEM, Event, Record, Viewer, searchable, texts_in
from ringi.domain.response import Remembered, Response
from ringi.domain.webhook import Webhook
from ringi.errors import (
    ClaimedError,
    DigestMismatchError,
    FieldError,
    InvalidError,
    NotAuthorizedError,
    RequestEndedError,
)
from ringi.forms import form as forms
from ringi.forms.arguments import check_edit
from ringi.forms.form import Form

Status = Literal["pending", "completed", "cancelled", "expired"]
PRIVATE = {"head", "continuation", "webhooks", "reminded_at", "memory", "traceparent"}
"""Internal fields of a request; fields of a newer version are internal too."""
TITLE_SHOWN = 60
"""The number of a title's characters in a `repr`."""
SEARCHED = 32_000
"""The number of a request's characters that a search reads."""


class Request(Record):
    """One question to a person, its status and its answer."""

    record: ClassVar[str] = "request"
    # The headers of a webhook hold secrets, and content of the hash chain can never be removed.
    unchained: ClassVar[frozenset[str]] = Record.unchained | {"webhooks"}

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
    candidate_groups: tuple[str, ...] = ()
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
    ended_at: datetime | None = None
    asked_by: str | None = None
    continuation: Continuation | None = None
    webhooks: tuple[Webhook, ...] = ()
    reminded_at: datetime | None = None
    memory: Remembered | None = None
    """Set after the person who answered edited or deleted the memory."""
    traceparent: str | None = None
    """The OpenTelemetry span that asked; None without tracing."""
    digest: str

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        title = self.title if len(self.title) <= TITLE_SHOWN else f"{self.title[:TITLE_SHOWN]}…"
        return iter([("id", self.id), ("kind", self.kind), ("status", self.status), ("title", title)])

    @classmethod
    def public(cls) -> set[str]:
        """Return the fields that may be exposed; unknown fields may hold secrets."""
        return set(cls.model_fields) - PRIVATE

    @classmethod
    def asked(
        cls,
        ask: Ask,
        *,
        id: str,
        now: datetime,
        by: str | None,
        tenant: str = DEFAULT_TENANT,
        continuation: Continuation | None = None,
        traceparent: str | None = None,
    ) -> tuple[Request, Event]:
        """Return the new request and its event.

        Args:
            ask: The question, as `Ask.checked` returned it.
            id: The id of the request; it replaces the id of the ask.
            now: The time of the creation; `expires_in` counts from it.
            by: The name of the asker; without one, the actor of the event is `system`.
            tenant: The tenant of the request.
            continuation: The run that resumes after the request, if any.
            traceparent: The OpenTelemetry span that asks; None without tracing.

        Returns:
            The pending request and its event `request.created`, to be stored together.

        Raises:
            InvalidError: A value of the ask is not portable JSON.
        """
        asked = cls._new(ask, id, now, by, tenant, continuation)
        return asked.model_copy(update={"traceparent": traceparent}).created("created", by or SYSTEM)

    @classmethod
    def _new(
        cls,
        ask: Ask,
        id: str,
        now: datetime,
        by: str | None,
        tenant: str = DEFAULT_TENANT,
        continuation: Continuation | None = None,
    ) -> Request:
        fields = {name: getattr(ask, name) for name in type(ask).model_fields if name in cls.model_fields}
        # An unknown field of the agent may have the name of a request's field: keep only fields with other names.
        unknown = {name: value for name, value in (ask.model_extra or {}).items() if name not in cls.model_fields}
        fields |= unknown | {
            "id": id,
            "kind": ask.resolved_kind,
            "allowed": ask.resolved_allowed,
            "expires_at": now + timedelta(seconds=ask.expires_in) if ask.expires_in else ask.expires_at,
        }
        return cls.model_construct(
            **fields, tenant=tenant, created_at=now, asked_by=by, continuation=continuation, digest=digest_of(ask)
        )

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
            about: `id` and `by`, and optionally `tenant` and `continuation`, as in `asked`.

        Returns:
            The completed request and its event `request.completed`, to be stored together.

        Raises:
            InvalidError: A value of the ask is not portable JSON.
        """
        return cls._decided(ask, "approve", rule, now, None, traceparent, about)

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
            about: `id` and `by`, and optionally `tenant` and `continuation`, as in `asked`.

        Returns:
            The completed request and its event `request.completed`, to be stored together.

        Raises:
            InvalidError: A value of the ask is not portable JSON.
        """
        return cls._decided(ask, "reject", rule, now, reason, traceparent, about)

    @classmethod
    def _decided(
        cls,
        ask: Ask,
        decision: Decision,
        rule: str,
        now: datetime,
        message: str | None,
        traceparent: str | None,
        about: dict[str, Any],
    ) -> tuple[Request, Event]:
        asked = cls._new(ask, now=now, **about)
        response = Response(
            decision=decision,
            message=message,
            responder=f"{POLICY}{rule}",
            channel="policy",
            at=now,
            authorised_digest=asked.authorised_digest(decision, None, None),
        )
        ended = {"status": "completed", "response": response, "ended_at": now, "traceparent": traceparent}
        return asked.model_copy(update=ended).created("completed", response.responder)

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
        if self.erased or not self.action or not self.response or self.response.decision not in ("approve", "edit"):
            return None
        args = self.action.args if self.response.args is None else self.response.args
        return self.action.model_copy(update={"args": args})

    @property
    def is_unacknowledged(self) -> bool:
        """Return whether the request has ended but its run has not taken up the outcome."""
        return self.is_final and bool(self.continuation) and not self.acknowledged_at and not self.attention

    @property
    def needs_attention(self) -> bool:
        """Return whether an operator must act: the run cannot continue by itself, answered or not."""
        return self.attention is not None and bool(self.continuation) and not self.acknowledged_at

    @property
    def is_unsettled(self) -> bool:
        """Return whether the request is pending, unacknowledged, or waits for an operator."""
        return not self.is_final or self.is_unacknowledged or self.needs_attention

    @property
    def search_text(self) -> str:
        """The text that a search reads."""
        called = (self.action.name, *texts_in(self.action.args)) if self.action else ()
        return searchable("\n".join((self.id, self.title, self.description or "", *called))[:SEARCHED])

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

        Without an assignee and candidate groups, a request is open to everybody.

        Args:
            viewer: The person, with their groups.
        """
        if not self.assignee and not self.candidate_groups:
            return True
        return self.assignee == viewer.name or bool(set(self.candidate_groups) & set(viewer.groups))

    def is_seen_by(self, viewer: Viewer) -> bool:
        """Return whether lists show the request to this person: it is open to them, or they asked it.

        Args:
            viewer: The person, with their groups.
        """
        return self.is_open_to(viewer) or self.asked_by == viewer.name

    def is_overdue(self, now: datetime) -> bool:
        """Return whether the request should have expired by now.

        Args:
            now: The current time.
        """
        return not self.is_final and self.expires_at is not None and self.expires_at <= now

    def completed(self, answer: Answer, *, by: str, channel: str, now: datetime) -> tuple[Self, Event]:
        """Return the completed request and its event `request.completed`.

        The caller checks that the request is open to the person and not overdue.

        Args:
            answer: The decision, its data, and the digest of the request that the person saw.
            by: The name of the responder.
            channel: The channel of the answer, such as `python` or `http`.
            now: The time of the decision.

        Raises:
            RequestEndedError: The request has ended.
            DigestMismatchError: The person saw other content than this request has.
            ClaimedError: Another person holds the claim.
            InvalidError: The decision is not allowed here, or its data or arguments are invalid.
        """
        self._refuse_final()
        if answer.digest != self.digest:
            raise DigestMismatchError(self.id, answer.digest)
        self.refuse_closed(by, now)
        data = self._checked(answer)
        response = Response(
            decision=answer.decision,
            data=data,
            args=answer.args,
            message=answer.message,
            responder=by,
            channel=channel,
            at=now,
            authorised_digest=self.authorised_digest(answer.decision, data, answer.args),
        )
        free = {"claimed_by": None, "claimed_until": None}
        return self.changed("completed", by, now, status="completed", response=response, ended_at=now, **free)

    def is_repeat(self, answer: Answer, by: str) -> bool:
        """Return whether this is the winning answer again, from the same responder.

        Args:
            answer: The answer that arrived; fields of its data that are None count as absent.
            by: The name of its responder.
        """
        won = self.response
        if not won or won.responder != by or answer.digest != self.digest:
            return False
        data = {name: value for name, value in (answer.data or {}).items() if value is not None}
        is_same = (answer.decision, answer.args, answer.message) == (won.decision, won.args, won.message)
        return is_same and data == (won.data or {})

    def claimed(self, by: str, now: datetime, lease: timedelta) -> tuple[Self, Event]:
        """Return the request claimed by one person until the lease ends; claiming it again renews the lease.

        Args:
            by: The name of the person.
            now: The current time.
            lease: The duration of the claim.

        Raises:
            RequestEndedError: The request has ended.
            ClaimedError: Another person holds the claim.
        """
        self.refuse_closed(by, now)
        return self.changed("claimed", by, now, claimed_by=by, claimed_until=now + lease)

    def released(self, by: str, now: datetime) -> tuple[Self, Event | None]:
        """Return the request without its claim; until the claim expires, only its holder may release it.

        Args:
            by: The name of the person.
            now: The current time.

        Returns:
            The request and its event; the request unchanged and None if there is no claim.

        Raises:
            RequestEndedError: The request has ended.
            ClaimedError: Another person holds the claim.
        """
        self.refuse_closed(by, now)
        if not self.claimed_by:
            return self, None
        return self.changed("released", by, now, claimed_by=None, claimed_until=None)

    def reassigned(self, by: str, now: datetime, assignee: str | None, groups: Sequence[str]) -> tuple[Self, Event]:
        """Return the request assigned to another person or to groups; a claim ends.

        Args:
            by: The name of the person who assigns it.
            now: The current time.
            assignee: The name of the new assignee, if any.
            groups: The groups whose members may answer. Without an assignee and groups, everybody may answer.

        Raises:
            RequestEndedError: The request has ended.
            ClaimedError: Another person holds the claim.
        """
        self.refuse_closed(by, now)
        fresh = {"assignee": assignee, "candidate_groups": tuple(groups), "claimed_by": None, "claimed_until": None}
        return self.changed("reassigned", by, now, **fresh)

    def cancelled(self, by: str, now: datetime, reason: str | None) -> tuple[Self, Event]:
        """Return the request cancelled; the gated action does not run.

        Args:
            by: The person or agent that cancels it.
            now: The time of the cancellation.
            reason: The reason for the asker and the audit trail, if any.

        Raises:
            RequestEndedError: The request has ended.
        """
        self._refuse_final()
        return self.changed("cancelled", by, now, status="cancelled", reason=reason, ended_at=now)

    def expired(self, now: datetime) -> tuple[Self, Event]:
        """Return the request expired: neither approved nor rejected.

        Args:
            now: The time of the expiry; it is not compared with `expires_at`.

        Raises:
            RequestEndedError: The request has ended.
        """
        self._refuse_final()
        why = reason_of("expired")
        return self.changed("expired", SYSTEM, now, status="expired", reason=why, ended_at=now)

    def acknowledged(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return the request acknowledged by its run, so that the outcome is not delivered to the run again.

        Args:
            by: The actor for the audit trail.
            now: The current time.
        """
        return self.changed("acknowledged", by, now, acknowledged_at=now)

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

    def needing_attention(self, why: str, now: datetime) -> tuple[Self, Event]:
        """Return the request marked for an operator; a pending request stays answerable.

        Args:
            why: The reason, for operators.
            now: The current time.
        """
        return self.changed("attention", SYSTEM, now, attention=why)

    def retried(self, by: str, now: datetime) -> tuple[Self, Event]:
        """Return the request without the mark for an operator; an answer is preserved.

        Args:
            by: The name of the operator.
            now: The current time.
        """
        return self.changed("retried", by, now, attention=None)

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

    def authorize(self, name: str, args: dict[str, Any]) -> None:
        """Check that exactly this call was approved: by a person, by a person's edit, or by a rule of the policy.

        Call it immediately before the action runs.

        Args:
            name: The name of the tool or action.
            args: The final arguments, as JSON values.

        Raises:
            NotAuthorizedError: The call was not approved, or differs from the approved one.
        """
        if self.erased:
            raise NotAuthorizedError(self.id, "its content was erased; ask again")
        if self.status != "completed" or not self.response or not self.action:
            raise NotAuthorizedError(self.id, f"it is {self.status} and gates {self.action and self.action.name!r}")
        if self.response.decision not in ("approve", "edit"):
            raise NotAuthorizedError(self.id, f"the decision was {self.response.decision}")
        asked = self.model_copy(update={"action": Action(name)})
        if asked.authorised_digest(self.response.decision, self.response.data, args) != self.response.authorised_digest:
            raise NotAuthorizedError(self.id, f"{name!r} with these arguments is not what was approved; ask again")

    def refuse_closed(self, by: str, now: datetime) -> None:
        """Check that this person may still change the request.

        Args:
            by: The name of the person.
            now: The current time, for the end of a claim.

        Raises:
            RequestEndedError: The request has ended.
            ClaimedError: Another person holds the claim.
        """
        self._refuse_final()
        if self.is_claimed_against(by, now):
            raise ClaimedError(self.id, str(self.claimed_by))

    def _refuse_final(self) -> None:
        if self.is_final:
            raise RequestEndedError(self.id, self.status, self.winner)

    def _checked(self, answer: Answer) -> dict[str, Any] | None:
        if answer.decision not in self.allowed:
            raise InvalidError.of(
                "decision",
                f"{answer.decision!r} is not allowed here: choose {', '.join(self.allowed)}",
                "decision_not_allowed",
            )
        errors = [error for error in self._misfits(answer) if error]
        if errors:
            raise InvalidError(errors)
        if answer.decision == "edit" and answer.args is not None and self.action:
            check_edit(self.action.args_schema, self.action.args, answer.args)
        return self._checked_data(answer)

    def _misfits(self, answer: Answer) -> list[FieldError | None]:
        edits, has_form = answer.decision == "edit", bool(self.form) or self.data_schema is not None
        says_nothing = answer.decision == "respond" and not (answer.message or "").strip() and not answer.data
        return [
            *(unstorable_numbers(answer) if answer.data or answer.args else ()),
            error_if(
                answer.args is not None and not (edits and self.action),
                "args",
                "are accepted only with the decision edit on an action: remove them",
                "unexpected",
            ),
            error_if(
                edits and self.action and not has_form and answer.args is None,
                "args",
                "are missing: send all arguments, as edited",
                "required",
            ),
            error_if(
                edits and not self.action and not answer.data, "data", "is missing: send the edited data", "required"
            ),
            error_if(
                answer.decision == "reject" and answer.data,
                "data",
                "is not accepted with a rejection: send a message instead",
                "unexpected",
            ),
            error_if(says_nothing, "message", "is required: write a message", "message_required"),
            error_if(
                self.kind == "finish" and edits and not _task(answer),
                "data.task",
                "is required: enter the new task as text",
                "task_required",
            ),
        ]

    def _checked_data(self, answer: Answer) -> dict[str, Any] | None:
        if answer.decision == "respond" and self.answer_schema is not None:
            return answer.check_value(self.answer_schema)
        if answer.decision == "reject" or (answer.decision == "respond" and answer.data is None):
            return None
        if (
            answer.data is None
            and self.answer_schema is not None
            and answer.decision in buttons_with_values(self.actions)
        ):
            return None
        if self.form:
            return self.form.check(answer.data or {})
        if self.data_schema is not None:
            forms.check_instance(self.data_schema, answer.data or {}, field="data")
            return answer.data or {}
        if answer.data and (answer.decision != "edit" or self.action):
            raise InvalidError.of("data", "is not accepted: this request has no form", "unexpected")
        return answer.data


def _task(answer: Answer) -> bool:
    task = (answer.data or {}).get("task")
    return isinstance(task, str) and bool(task.strip())
