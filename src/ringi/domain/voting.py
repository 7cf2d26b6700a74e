"""Who may decide a request, and how many: separation, stages of votes, and escalation. Pure, without clock or I/O."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, Field

from ringi.base.model import StrictModel, is_empty
from ringi.base.validation import FieldValidationError, Name, check_name
from ringi.domain.grants import Grant
from ringi.domain.record import Viewer
from ringi.errors import InvalidError

GROUP = "group:"
"""The prefix of groups among the recipients of an escalation."""
Tier = Literal["low", "medium", "high", "irreversible"]
"""What is at stake: only this asks for extra work of people, unlike the priority."""
CONFIRMED: frozenset[Tier] = frozenset({"high", "irreversible"})
"""The tiers whose calls a person approves one at a time, with a second step."""
Excluded = Literal["starter", "asker"]
"""`starter`: the person who started the run. `asker`: who asked, if it is a person."""


def check_person(name: str) -> str:
    """Return the name of a person; raise FieldValidationError for `group:` and a name, which is a group."""
    if name.startswith(GROUP):
        raise FieldValidationError("", "is a group, not a person: name it among the groups", "not_a_person")
    return name


def check_recipient(name: str) -> str:
    """Return the name of a person, or `group:` and the name of a group; raise FieldValidationError without a name."""
    if name.startswith(GROUP):
        check_name(name.removeprefix(GROUP))
    return name


PersonName = Annotated[Name, AfterValidator(check_person)]
Recipient = Annotated[Name, AfterValidator(check_recipient)]
MAX_VOTERS = 20


class PolicySource(StrictModel):
    """The rule of a policy that asked or decided, as the process that applied it states."""

    rule: str
    """The name of the rule, or its position in the policy, such as `rules[0]`."""
    digest: str
    """The digest of the whole policy: `sha256:` and 64 hex digits."""
    card: bool = Field(default=False, exclude_if=is_empty)
    """Whether the `card` in the request's context is the policy's card of the tool; else it is the asker's own text."""


def seconds_of(value: object) -> object:
    """Return a timedelta as seconds; return any other value unchanged."""
    return value.total_seconds() if isinstance(value, timedelta) else value


Seconds = Annotated[float, Field(strict=True, gt=0, le=10 * 366 * 86_400), BeforeValidator(seconds_of)]


class Stage(StrictModel):
    """One stage of a quorum."""

    groups: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """The groups whose members vote; without groups, everybody who may decide."""
    count: int = Field(default=1, ge=1, le=MAX_VOTERS, strict=True)
    """The number of different people who must agree."""


class Escalation(StrictModel):
    """More people who may decide if nobody has after some time."""

    after: Seconds
    """Seconds since the request was asked."""
    to: Annotated[tuple[Recipient, ...], Field(min_length=1, max_length=100)]
    """The names of people, or `group:` and the names of groups."""


def check_escalation_order(steps: tuple[Escalation, ...]) -> tuple[Escalation, ...]:
    """Return the steps of an escalation; raise if one is not later than the one before."""
    if any(first.after >= second.after for first, second in pairwise(steps)):
        raise FieldValidationError("", "order the steps by `after`: each one later than the one before")
    return steps


MAX_STAGES = 10
Quorum = Annotated[tuple[Stage, ...], Field(max_length=MAX_STAGES)]
Escalations = Annotated[tuple[Escalation, ...], Field(max_length=MAX_STAGES), AfterValidator(check_escalation_order)]


class Vote(StrictModel):
    """One person's decision that is not yet enough, or is not yet final."""

    responder: str
    """The name of the person."""
    subject: str = Field(default="", exclude_if=is_empty)
    """The issuer and the subject that identify the person; the name if there is no issuer."""
    stands_for: str | None = Field(default=None, alias="for")
    """The person for whom a deputy votes."""
    decision: Literal["approve", "edit", "reject", "respond"]
    data: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    message: str | None = None
    channel: str
    authorised_digest: str | None = None
    stage: int = 0
    """The position of the stage in the quorum."""
    at: datetime
    override: str | None = None
    """The reason of an administrator who decides although a rule excludes them."""
    for_subject: str | None = Field(default=None, exclude_if=lambda value: value is None)
    """The issuer and the subject of the person for whom a deputy votes."""
    ended_rules: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The ids of the rules that this answer has ended."""
    grant: Grant | None = Field(default=None, exclude_if=is_empty)
    """The later calls that a held answer approves too, once it is final."""

    @property
    def people(self) -> set[str]:
        """The names and subjects of the people whose vote this is: the voter, and the one for whom a deputy votes."""
        # One person can vote with a token, which has no subject, and with a sign-in.
        names = (self.subject, self.responder, self.stands_for, self.for_subject)
        return {name for name in names if name}

    def is_of(self, person: str) -> bool:
        """Return whether a person of this name voted, or a deputy voted for them."""
        return person in (self.responder, self.stands_for)


class Held(Vote):
    """A decision that its person may still undo."""

    until: datetime
    """The time at which it becomes final."""


class Person(NamedTuple):
    """A person who acts, and the groups that make requests open to the person."""

    name: str
    groups: Sequence[str] = ()


class Decider(NamedTuple):
    """A person who decides, as identified by the caller."""

    name: str
    groups: tuple[str, ...] = ()
    subject: str = ""
    """The issuer and the subject of the person's sign-in; empty if only the name is known."""
    stands_for: tuple[Viewer, ...] = ()
    """The people who are away and have named this person their deputy."""
    is_admin: bool = False
    stale_tiers: tuple[Tier, ...] = ()
    """The tiers for which the person signed in too long ago."""
    weak_tiers: tuple[tuple[Tier, str], ...] = ()
    """The tiers for which the person's sign-in is too weak, each with the `acr` that it needs."""

    @property
    def identity(self) -> str:
        """What tells this person from all others."""
        return self.subject or self.name

    @property
    def viewers(self) -> tuple[Viewer, ...]:
        """The person, and the people for whom they stand."""
        return (Viewer(name=self.name, groups=self.groups), *self.stands_for)


Caller = Decider | Person | str | None
"""Who acts, by name or with groups; None over HTTP, where the token says it."""


def as_decider(by: Caller) -> Decider:
    """Return the person; a name stands for a person of whom nothing else is known.

    Raises:
        InvalidError: Nobody is named, or the groups are not a list.
    """
    if isinstance(by, Decider):
        return by
    if isinstance(by, Person):
        if isinstance(by.groups, str):
            raise InvalidError.of("by.groups", f"{by.groups!r} is not a list: give a list such as [{by.groups!r}]")
        return Decider(by.name, tuple(by.groups))
    if by is None:
        raise InvalidError.of("by", 'name who acts: by="ann", or by=Person("ann", groups=["finance"])')
    return Decider(by)


def is_same_person(name: str, subject: str, other_name: str, other_subject: str) -> bool:
    """Return whether two sign-ins are of one person: they have one subject, or one name if a subject is not known."""
    return subject == other_subject if subject and other_subject else name == other_name


def open_vote_stage(quorum: Sequence[Stage], votes: Sequence[Vote], digest: str | None) -> int | None:
    """Return the position of the first stage without enough votes for a digest; None if all have enough.

    Only votes with equal digests count: whoever edits the arguments votes for another call.
    """
    for position, stage in enumerate(quorum):
        agreeing = [vote for vote in votes if vote.stage == position and vote.authorised_digest == digest]
        if len(agreeing) < stage.count:
            return position
    return None


def missing_votes(quorum: Sequence[Stage], votes: Sequence[Vote]) -> tuple[Stage, ...]:
    """Return the stages that still need votes, with the number, for the call with the most votes."""
    digests = [vote.authorised_digest for vote in votes]
    # The earliest of those with equally many votes.
    leading = max(dict.fromkeys(digests), key=digests.count, default=None)
    counts = [sum(vote.stage == n and vote.authorised_digest == leading for vote in votes) for n in range(len(quorum))]
    open_stages = [(stage, stage.count - n) for stage, n in zip(quorum, counts, strict=True) if n < stage.count]
    return tuple(stage.model_copy(update={"count": missing}) for stage, missing in open_stages)
