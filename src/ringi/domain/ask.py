"""Questions and answers as they arrive, validated, and the answer as it is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from typing import Annotated, Any, Literal, Self, TypedDict, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError
from pydantic.json_schema import SkipJsonSchema

from ringi.base.canonical_json import digest, jsonable
from ringi.base.model import StrictModel, Time, field_names, is_empty, without_null_fields
from ringi.base.plain_json import non_finite_paths, values_as_plain_json
from ringi.base.texts import Sentence
from ringi.base.validation import ID_PATTERN, NOT_BLANK, FieldValidationError, Name, pydantic_error_rule, safe_repr
from ringi.domain import voting
from ringi.domain.display import MAX_BLOCKS, Block
from ringi.domain.events import MOST, Webhook
from ringi.domain.grants import Grant, GrantUse, NewGrant
from ringi.domain.voting import Escalation, Excluded, PolicySource, Stage, Tier
from ringi.errors import FieldError, InvalidError
from ringi.forms import json_schema
from ringi.forms.form import Form, answers_as_model

Decision = Literal["approve", "edit", "reject", "respond"]
"""A person's decision: approve, approve with changes (`edit`), reject, or answer a question (`respond`)."""
AGREEING: tuple[Decision, ...] = ("approve", "edit")
"""The decisions with which a call runs. They need a quorum, if there is one; another one ends the request at once."""
Kind = Literal["approval", "form", "choice", "question", "finish", "learning"]
Priority = Literal["low", "normal", "high", "urgent"]
GATED: tuple[Kind, ...] = ("approval", "finish", "learning")
"""Kinds whose answer authorizes an action: they must not have a fallback."""
MAX_HOLD = 30
"""Seconds: a longer time to undo would be a deadline."""
IGNORE = "ignore"
"""Agent Inbox's name for a rejection."""
ANSWER = "answer"
"""The key under which `data` holds an answer that is one JSON value."""
RESERVED = ("counts", "totals")
"""Reserved path segments, which cannot be request ids."""
Id = Annotated[str, StringConstraints(pattern=ID_PATTERN)]
"""An id that a caller may choose: 1 to 200 letters, digits and `._~:@-` in ASCII; the first is a letter or a digit."""
DERIVED = re.compile(r"[opq]-[0-9a-f]{32}")
"""The ids that Ringi derives: `q-` for a question of a run, `p-` for a decision by a rule, `o-` for the review of an
override."""
REVIEW = re.compile(r"o-[0-9a-f]{32}")
M = TypeVar("M", bound=BaseModel)
Outcome = Literal["committed", "failed", "unknown"]
SHA256 = r"^sha256:[0-9a-f]{64}$"


def form_from_model(value: object) -> object:
    """Return the form for a pydantic model class; return any other value unchanged."""
    return Form.of(value) if isinstance(value, type) and issubclass(value, BaseModel) else value


Sentences = Annotated[tuple[Sentence, ...], Field(max_length=5)]


class Wording(StrictModel):
    """The codes of Ringi's own sentences in a request; a text counts as translated only if it says the same."""

    title: Sentences = ()
    description: Sentences = ()
    reason: Sentences = ()
    """Those in the `reason` in the context."""


class Action(StrictModel):
    """The call that waits for consent: its name, its whole arguments, their JSON Schema."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    """The name of the tool or action, at most 200 characters."""
    args: dict[str, Any] = {}
    """All arguments of the call, as JSON values."""
    args_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    """The JSON Schema of the arguments; `schema` in JSON and in the constructor."""

    def __init__(self, name: str, args: dict[str, Any] | None = None, **rest: Any) -> None:
        """Describe the call that needs approval.

        Args:
            name: The name of the tool or action.
            args: All arguments of the call, as JSON values.
            rest: `schema`: the JSON Schema of the arguments.

        Raises:
            InvalidError: An argument is unknown or has the wrong type.
        """
        super().__init__(**{"name": name, "args": {} if args is None else args, **rest})


class Button(StrictModel):
    """The label, style and value of one decision on the page."""

    label: str | None = Field(default=None, max_length=100)
    style: Literal["primary", "default", "secondary", "danger"] | None = None
    value: Any = Field(default=None, exclude_if=lambda value: value is None)
    """The value that the agent receives for this decision, if it expects one JSON value."""


class Continuation(StrictModel):
    """The work to continue after the answer, as plain data, so that any worker can do it."""

    runner: str
    target: str
    key: str
    args: dict[str, Any] = {}


class AskOptions(TypedDict, total=False):
    """What a question to people may have beside its title; a field that is None counts as absent."""

    kind: Kind | None
    """The kind of the request; by default the content implies it."""
    description: str | None
    """More text for the person, as Markdown."""
    action: Action | None
    """The call that needs approval."""
    form: Form | type[BaseModel] | None
    """The fields to fill in, as a `Form` or a pydantic model class (see `Form.of`)."""
    schema: dict[str, Any] | None
    """The JSON Schema of the answer's data, in place of a form."""
    allowed: Sequence[Decision] | None
    """The decisions that a person may take; by default those of the kind."""
    actions: dict[Decision, Button] | None
    """The labels and styles of the decisions on the page."""
    context: dict[str, Any] | None
    """More data that the person sees, as plain JSON."""
    assignee: str | None
    """The person who may answer; without assignee and groups, every person of the tenant may."""
    groups: Sequence[str]
    """The groups whose members may answer, in addition to the assignee."""
    priority: Priority | None
    """The priority; None counts as `normal`."""
    due_at: datetime | None
    """The time by which an answer is wanted, with a time zone."""
    expires_in: float | timedelta | None
    """Seconds or a timedelta until the request expires."""
    expires_at: datetime | None
    """The time at which the request expires, in place of `expires_in`."""
    fallback: dict[str, Any] | None
    """Data with which a run continues if the request expires; never a decision."""
    display: Sequence[Block] | None
    """Tables, images, code, diffs and links to show; the digest covers them."""
    tier: Tier | None
    """What is at stake; None counts as `low`."""
    hold: float | None
    """Seconds for which the person may undo the answer before it takes effect, at most 30."""
    quorum: Sequence[Stage | Mapping[str, Any]]
    """The stages of people who must agree, in order."""
    exclude: Sequence[Excluded]
    """Who may not decide: the starter of the run, or the asker."""
    escalation: Sequence[Escalation | Mapping[str, Any]]
    """Who may decide in addition, and after how many seconds without a decision."""


class Ask(StrictModel):
    """A question of an agent; all fields except the title have defaults."""

    title: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=NOT_BLANK)]
    id: Id | None = None
    kind: Kind | None = None
    description: str | None = Field(default=None, max_length=20_000)
    action: Action | None = None
    form: Annotated[Form | None, BeforeValidator(form_from_model)] = None
    data_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    answer_schema: dict[str, Any] | None = None
    """JSON Schema of the one JSON value that `respond` may send as `data {"answer": …}`; `{}` allows any except
    null."""
    allowed: Annotated[tuple[Decision, ...], Field(min_length=1)] | None = None
    actions: dict[Decision, Button] = {}
    context: dict[str, Any] = {}
    thread_id: Id | None = None
    run_id: Id | None = None
    assignee: voting.PersonName | None = None
    groups: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    priority: Priority | None = None
    due_at: Time | None = None
    expires_in: voting.Seconds | None = None
    expires_at: Time | None = None
    fallback: dict[str, Any] | None = None
    webhooks: Annotated[tuple[Webhook, ...], Field(max_length=MOST)] = ()
    display: Annotated[tuple[Block, ...], Field(max_length=MAX_BLOCKS)] | None = None
    wording: Wording | None = Field(default=None, exclude_if=lambda value: value is None)
    """Outside the digest: a text is translated only if its codes say exactly the same in English."""
    policy: SkipJsonSchema[PolicySource | None] = Field(default=None, exclude_if=is_empty)
    """The rule that asks, set only by a policy in this process. Outside the digest: an answer stays valid if another
    rule of the policy changes."""
    tier: Tier | None = Field(default=None, exclude_if=is_empty)
    hold: Annotated[float, Field(ge=0, le=MAX_HOLD)] | None = Field(default=None, exclude_if=is_empty)
    quorum: voting.Quorum = Field(default=(), exclude_if=is_empty)
    exclude: tuple[Excluded, ...] = Field(default=(), exclude_if=is_empty)
    escalation: voting.Escalations = Field(default=(), exclude_if=is_empty)

    @classmethod
    def parse(cls, body: object) -> Self:
        """Return the ask in plain JSON data.

        An explicit null counts as an absent field; an unknown field is an error even if it is null. The field `policy`
        is an error: otherwise a caller could name a policy that did not ask.

        Args:
            body: The ask as plain JSON data.

        Raises:
            InvalidError: A field is unknown or invalid; there is one error for each.
        """
        ask = parse_body(cls, _without_absent(body))
        if ask.policy is not None:
            raise InvalidError.of("policy", "is set only by a policy that runs in Ringi: remove it", "unexpected")
        return ask

    @classmethod
    def parse_stored(cls, body: object) -> Self:
        """Return an ask that any version parsed before; fields unknown to this version are preserved.

        Args:
            body: The stored ask as plain JSON data.

        Raises:
            InvalidError: A field is missing or invalid; there is one error for each.
        """
        return parse_body(cls, body, "allow")

    def checked(self, *, max_fields: int, may_be_derived: bool = False) -> Self:
        """Check the rules of the ask, and return it with plain JSON values.

        Only a run's own question may have a derived id: another ask with that id would take its place. Only its
        arguments may break their schema: the tool validates them and accepts some text as numbers.

        Args:
            max_fields: The maximum number of fields of the form.
            may_be_derived: True for a question of a run.

        Raises:
            InvalidError: A value is not portable JSON or breaks its schema, a schema is invalid, two fields contradict
                each other, or the form has too many fields.
        """
        plain = self.plain()
        rules = self._rules(max_fields, may_be_derived)
        errors = [FieldError(field, why) for is_broken, field, why in rules if is_broken]
        if errors := errors + unstorable_numbers(self):
            raise InvalidError(errors)
        if self.data_schema is not None:
            json_schema.check_schema(self.data_schema, field="schema")
        if self.answer_schema is not None:
            json_schema.check_schema(self.answer_schema, field="answer_schema")
            for decision, button in buttons_with_values(self.actions).items():
                json_schema.check_instance(self.answer_schema, button.value, field=f"actions.{decision}.value")
        if self.action and self.action.args_schema is not None:
            json_schema.check_schema(self.action.args_schema, field="action.schema")
            if plain.action and not may_be_derived:
                json_schema.check_instance(self.action.args_schema, plain.action.args, field="action.args")
        return plain

    def plain(self) -> Self:
        """Return the ask with plain JSON values; raise `InvalidError` for values without exactly one JSON form.

        Otherwise the displayed, stored and executed values could differ between stores.
        """
        free: dict[str, Any] = {"context": self.context, "fallback": self.fallback, "schema": self.data_schema}
        action = self.action
        if action:
            free |= {"action.args": action.args, "action.schema": action.args_schema}
        plain = values_as_plain_json(free)
        if action:
            action = action.model_copy(update={"args": plain["action.args"], "args_schema": plain["action.schema"]})
        more = {"context": plain["context"], "fallback": plain["fallback"], "data_schema": plain["schema"]}
        return self.model_copy(update={**more, "action": action})

    def _rules(self, max_fields: int, may_be_derived: bool) -> Iterator[tuple[object, str, str]]:
        """Yield each rule as whether the ask breaks it, the field, and the correction."""
        size = len(self.form.fields) if self.form else 0
        why = f"{size} fields are more than {max_fields}: ask in two steps, or raise max_fields (--max-fields)"
        yield size > max_fields, "form.fields", why
        why = f"{self.id!r} looks like an id that Ringi derives for questions of runs: choose another id"
        yield not may_be_derived and DERIVED.fullmatch(self.id or ""), "id", why
        yield self.form and self.data_schema is not None, "schema", "give form or schema, not both"
        why = "give action or answer_schema, not both: an action is answered with a decision"
        yield self.action and self.answer_schema is not None, "answer_schema", why
        for decision in buttons_with_values(self.actions):
            is_wrong = self.answer_schema is None or decision not in ("approve", "reject")
            why = "only approve and reject have a value, together with an answer_schema"
            yield is_wrong, f"actions.{decision}.value", why
        yield self.id in RESERVED, "id", f"{self.id!r} is reserved: choose another id"
        yield self.expires_in and self.expires_at, "expires_at", "give expires_in or expires_at, not both"
        why = "remove it: a request that authorizes an action or a decision of this kind has no fallback"
        yield self.fallback is not None and (self.action or self.resolved_kind in GATED), "fallback", why
        is_missing = self.resolved_kind == "approval" and not self.action
        yield is_missing, "action", "is missing: an approval needs an action"
        why = "remove it: people vote only on what they can approve or edit"
        yield self.quorum and set(AGREEING).isdisjoint(self.resolved_allowed), "quorum", why
        allowed = self.allowed or ()
        yield len(set(allowed)) < len(allowed), "allowed", "name each decision once"

    @property
    def resolved_kind(self) -> Kind:
        """The given kind, or the kind that the content implies."""
        if self.kind:
            return self.kind
        if self.action:
            return "approval"
        return "form" if self.form or self.data_schema is not None else "question"

    @property
    def resolved_allowed(self) -> tuple[Decision, ...]:
        """The given decisions, or the defaults of the kind."""
        if self.allowed:
            return self.allowed
        own: dict[str, tuple[Decision, ...]] = {"question": ("respond", "reject"), "finish": get_args(Decision)}
        return own.get(self.resolved_kind, ("approve", "edit", "reject"))


def buttons_with_values(actions: Mapping[Decision, Button]) -> dict[Decision, Button]:
    """Return the buttons that define a value for the agent."""
    return {decision: button for decision, button in actions.items() if button.value is not None}


def unstorable_numbers(model: StrictModel) -> list[FieldError]:
    """Return an error for each number that would be stored as null."""
    why = "is not a JSON number: send text or None"
    return [FieldError(".".join(path), why, "not_finite") for path in non_finite_paths(model)]


class Answer(StrictModel):
    """A person's answer: the decision, its data, and the digest of the request that the person saw."""

    decision: Annotated[Decision, BeforeValidator(lambda value: "reject" if value == IGNORE else value)]
    """One of the request's allowed decisions; `ignore` is read as `reject`."""
    digest: str
    """The digest of the request as the person saw it."""
    data: dict[str, Any] | None = None
    """The answers to the form by field name, or the edited data."""
    args: dict[str, Any] | None = None
    """The whole edited arguments, for the decision `edit` on an action."""
    message: str | None = Field(default=None, max_length=20_000)
    """The person's text, at most 20,000 characters."""
    override: Annotated[str, StringConstraints(max_length=2_000, pattern=NOT_BLANK)] | None = Field(
        default=None, exclude_if=is_empty
    )
    """The reason for which an administrator decides although a rule excludes them, or without the other votes."""
    grant: NewGrant | None = Field(default=None, exclude_if=is_empty)
    """With `approve`: which further calls of the same tool are approved as well, until when, and how often."""

    @classmethod
    def parse(cls, body: object) -> Self:
        """Return the answer in plain JSON data.

        Args:
            body: The answer as plain JSON data.

        Raises:
            InvalidError: A field is unknown or invalid; there is one error for each.
        """
        answer = parse_body(cls, body)
        if answer.data is None and answer.args is None:
            return answer
        return answer.model_copy(update=values_as_plain_json({"data": answer.data, "args": answer.args}))

    def check_value(self, schema: dict[str, Any]) -> dict[str, Any] | None:
        """Check an answer that is one JSON value.

        Args:
            schema: The JSON Schema of the value.

        Returns:
            The data, which has the value under `answer`; None for a text answer.

        Raises:
            InvalidError: The value does not fit the schema, or there is no single value.
        """
        if not self.data:
            json_schema.check_instance(schema, self.message, field="message")
            return None
        if self.message:
            raise InvalidError.of("message", "send text as message or JSON as data, not both")
        if set(self.data) != {ANSWER} or self.data[ANSWER] is None:
            raise InvalidError.of("data", f'send {{"{ANSWER}": …}} with any JSON but null')
        json_schema.check_instance(schema, self.data[ANSWER], field=f"data.{ANSWER}")
        return self.data


def _without_absent(body: object) -> object:
    """Return an ask without the nulls of absent fields, and with its form parsed."""
    body = without_null_fields(body, Ask)
    if not isinstance(body, dict):
        return body
    found = dict(body)
    for name, value in body.items():
        match name, value:
            case "form", dict():
                found[name] = Form.parse(value)
            case "action", dict():
                found[name] = without_null_fields(value, Action)
            case "webhooks", list():
                found[name] = [without_null_fields(each, Webhook) for each in value]
            case "actions", dict():
                offered = get_args(Decision)
                found[name] = {key: each for key, each in value.items() if each is not None or key not in offered}
    return found


IN_DIGEST = {"title", "description", "action", "form", "data_schema", "actions", "context", "priority", "fallback"}
"""The fields of an ask that every digest covers; it covers others if they are set."""


def request_content_digest(ask: Ask) -> str:
    """Return the digest of everything that a person sees, the allowed decisions, and the schemas."""
    content = ask.model_dump(mode="json", by_alias=True, include=IN_DIGEST)
    blocks = {"display": jsonable(ask.display)} if ask.display else {}
    answer = {} if ask.answer_schema is None else {"answer_schema": ask.answer_schema}
    # People see what is at stake and how many decide; who they are, deadlines and the time to undo may change.
    stakes = {name: jsonable(value) for name in ("tier", "quorum") if (value := getattr(ask, name))}
    return digest({**content, **blocks, **answer, **stakes, "kind": ask.resolved_kind, "allowed": ask.resolved_allowed})


F = TypeVar("F", bound=StrictModel)

SHAPES = {
    "action": 'an action: {"name": "refund", "args": {"order": 1182}}',
    "allowed": 'a list: ["approve", "reject"]',
    "groups": 'a list: ["finance"]',
    "escalation": 'a list of steps: [{"after": 600, "to": ["group:finance"]}]',
    "exclude": 'a list: ["starter"]',
    "form": 'a form: {"fields": [{"name": "reason", "type": "text"}]}',
    "quorum": 'a list of stages: [{"groups": ["finance"], "count": 2}]',
    "schema": "a JSON Schema (give a pydantic model as `form`)",
    "webhooks": 'a list of receivers: [{"url": "https://example.com/hook"}]',
}
"""The shape of a field that is often given as one value."""
NOT_OF_A_SHAPE = ("tuple_type", "dict_type", "model_type")
BELOW_A_SHAPE = (*NOT_OF_A_SHAPE, "extra_forbidden", "missing")
"""pydantic's types of errors of a field that has a shape, and of what is in it."""
EXPECTED = {
    **{"approvals": "quorum", "approvers": "quorum", "votes": "quorum", "to": "assignee", "person": "assignee"},
    **{"timeout": "expires_in", "deadline": "due_at", "callback": "webhooks", "body": "description", "fields": "form"},
}
"""The names under which somebody looks for a field."""


def parse_body(model: type[F], body: object, extra: Literal["forbid", "allow"] = "forbid") -> F:
    """Return plain JSON data as a model, without coercion.

    Args:
        model: The class of the model.
        body: The data, a JSON object.
        extra: `forbid` to refuse unknown fields, `allow` to preserve them.

    Raises:
        InvalidError: The data is invalid; there is one error for each field.
    """
    if not isinstance(body, dict):
        raise InvalidError.of("", f"send a JSON object, not {type(body).__name__}", "wrong_type", types=["object"])
    try:
        return model.model_validate(body, extra=extra)
    except ValidationError as error:
        raise InvalidError([_readable(model, e) for e in error.errors(include_url=False)]) from error


def _readable(model: type[StrictModel], error: Any) -> FieldError:
    # The kind of block stands between its number and its field.
    steps = error["loc"][:2] + error["loc"][3:] if error["loc"][:1] == ("display",) else error["loc"]
    cause = error.get("ctx", {}).get("error")
    field = ".".join(map(str, steps))
    if isinstance(cause, FieldValidationError):
        return cause.at(field)
    if error["type"] == "extra_forbidden" and len(error["loc"]) == 1:
        known = sorted(name for name in field_names(model) if name != "policy")
        return FieldError(field, f"is not a known field: {_use(field, known)}", "unexpected")
    if error["type"] in NOT_OF_A_SHAPE and (shape := SHAPES.get(field)):
        why = f"must be {shape}, not {safe_repr(error['input'])}: change it"
        return FieldError(field, why, *pydantic_error_rule(error))
    shape = SHAPES.get(str(steps[0])) if error["type"] in BELOW_A_SHAPE and len(steps) > 1 else None
    return FieldError(field, f"{error['msg']}: send {shape}" if shape else error["msg"], *pydantic_error_rule(error))


def _use(field: str, known: Sequence[str]) -> str:
    alike = [name for name in known if name[:6] == field[:6]] if len(field) > 5 else []
    near = [EXPECTED.get(field, ""), *alike, *get_close_matches(field, known, 1, 0.7)]
    found = next((name for name in near if name in known), None)
    shape = SHAPES.get(found or "")
    return f"use one of {', '.join(known)}" if found is None else f"use {found}" + (f", {shape}" if shape else "")


class Response(StrictModel):
    """The one decision on a request."""

    decision: Decision
    """The decision."""
    data: dict[str, Any] | None = None
    """The answers to the form by field name, or the edited data."""
    args: dict[str, Any] | None = None
    """The edited arguments of the action, for `edit`."""
    message: str | None = None
    """The person's text."""
    responder: str
    """The name of the person; `policy:` and the name of a rule that approved or denied; `policy:grant:` and the id
    of the grant that approved."""
    channel: str
    """The channel of the answer, such as `python`, `http` or `page`."""
    at: datetime
    """The time of the decision."""
    authorised_digest: str | None = None
    """The digest of the call and data that the decision authorizes; None for a rejection."""
    stands_for: str | None = Field(default=None, alias="for", exclude_if=is_empty)
    """The person for whom a deputy decided."""
    voters: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The names of all who agreed, if more than one had to."""
    released_at: datetime | None = Field(default=None, exclude_if=is_empty)
    """The time at which the person could no longer undo the decision."""
    override: str | None = Field(default=None, exclude_if=is_empty)
    """The reason of an administrator who decided although a rule excluded them, or without the other votes."""
    grant: Grant | None = Field(default=None, exclude_if=is_empty)
    """The later calls that the person approved too."""
    ended_rules: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The ids of the rules that this answer has ended, because they would have approved the call."""
    grant_use: GrantUse | None = Field(default=None, exclude_if=is_empty)
    """The grant that approved the call; None if a person or a rule of a policy decided."""

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        yield from ((name, getattr(self, name)) for name in ("decision", "responder"))
        # The names alone: answers and messages may be secret.
        yield "given", [name for name in ("data", "args", "message") if getattr(self, name) is not None]

    def into(self, model: type[M]) -> M:
        """Return the form's data as an instance of the pydantic model from which the form was made.

        Args:
            model: The class of the model.

        Raises:
            InvalidError: The data does not fit the model; there is one error for each field.
        """
        return answers_as_model(model, self.data or {})

    @property
    def winner(self) -> dict[str, Any]:
        """The decision, responder and time, for the error of a late answer."""
        more = {"for": self.stands_for, "voters": list(self.voters)}
        found = {name: value for name, value in more.items() if value}
        return {"decision": self.decision, "responder": self.responder, "at": jsonable(self.at), **found}


class Cancel(StrictModel):
    """The reason for canceling a request."""

    reason: str | None = Field(default=None, max_length=20_000)


class Receipt(StrictModel):
    """What became of an approved call."""

    outcome: Outcome
    """`committed`: the call returned. `failed`: it raised an error. `unknown`: whoever ran it cannot say."""
    result_digest: Annotated[str, StringConstraints(pattern=SHA256)] | None = Field(default=None, exclude_if=is_empty)
    """The digest of the result's canonical JSON: `sha256:` and 64 hex digits; None if it is not recorded."""
    attempt: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        default=None, exclude_if=is_empty
    )
    """Identifies the attempt to run the call. With the outcome `unknown` it **begins** the call: at most one attempt
    can, and only that one may report `committed` or `failed` afterwards."""

    def is_begun_by(self, attempt: str | None) -> bool:
        """Return whether this attempt has begun the call, and has not reported what became of it."""
        return self.outcome == "unknown" and attempt is not None and self.attempt == attempt


class MemoryChanges(StrictModel):
    """Changes to the memory of an answer."""

    data: dict[str, Any] | None
    """The data as edited by the person; None after deletion."""
    at: datetime
