"""Grants: one approval that also approves later calls of the same tool, and the journal of their uses. Pure.

A grant itself is in the answer of its request: it is in force only if that request is completed with it.
"""

from __future__ import annotations

import hmac
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Annotated, Literal, NamedTuple

from pydantic import Field, StringConstraints, ValidationError

from ringi.base.canonical_json import digest
from ringi.base.model import StrictModel, Time, is_empty
from ringi.domain.conditions import Args, Where, all_conditions_hold
from ringi.domain.journal import Journal
from ringi.domain.record import Event, UnreadableError
from ringi.errors import ConflictError, InvalidError, NotFoundError

MAX_DAYS = 30
"""The longest time for which a grant can apply."""
MAX_USES = 10_000
OVER = "the grant that approved this call is over: make the call again to ask people"
FOLDER = "folder"
"""The key in a request's context of the folder in which an agent works."""
GrantText = Annotated[str, StringConstraints(min_length=1, max_length=4096)]
JOURNAL = "ringi:grants"
"""The id of the journal of each tenant."""
GRANTS = "grants"
"""The key of the grants in the state of the journal."""
MAX_GRANTS = 200
GrantStatus = Literal["active", "revoked", "used up", "ended"]


class NewGrant(StrictModel):
    """The later calls that an answer approves too, as the person chose them."""

    until: Time
    """The end of the grant, at most 30 days from now."""
    tool: GrantText | None = None
    """The tool of the request; no other is possible."""
    where: Annotated[Where, Field(max_length=50)] | None = None
    """Conditions on the arguments, as in a policy; None for exactly the arguments of the request, `{}` for any."""
    thread_id: GrantText | None = None
    """The thread of the request, for its calls alone; None for all threads of the asker."""
    folder: GrantText | None = None
    """The folder of the request, for calls in it alone; None for all folders."""
    max_uses: Annotated[int, Field(strict=True, ge=1, le=MAX_USES)] = 100
    """The number of calls that it approves."""


class GrantableCall(NamedTuple):
    """A call for which an agent asks, and what else limits the grants for it."""

    tool: str
    args: Args
    asked_by: str | None
    """The name of the asker: the token of an agent, or the person who started the run."""
    agent: str | None
    """The name of the agent whose run asks; None outside of runs."""
    people: str
    """The digest of the rule for who may decide, and how: another rule may need other people."""
    stakes: int
    """0 for the tier low, 1 for medium."""
    thread_id: str | None
    folder: object


class Grant(StrictModel):
    """The calls that one answer approves, with everything that limits them."""

    tool: str
    where: Where | None = Field(default=None, exclude_if=lambda value: value is None)
    """Conditions on the arguments, `{}` for any; None for exactly the arguments with `args_digest`."""
    args_digest: str | None = Field(default=None, exclude_if=lambda value: value is None)
    names: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The arguments of the approved call: with conditions, a call with more arguments is asked."""
    asked_by: str | None
    agent: str | None
    people: str
    """The digest of the rule for who may decide."""
    stakes: int = Field(default=0, exclude_if=is_empty)
    thread_id: str | None
    folder: str | None
    max_uses: int
    until: datetime
    one_in: int = Field(default=0, exclude_if=is_empty)
    """One in so many of its calls still asks people; 0 if none does."""

    @property
    def is_rule(self) -> bool:
        """Whether a person switched on a suggested rule: the first refusal of a call that it covers ends it."""
        return self.one_in > 0

    def must_ask(self, seed: str | None, id: str) -> bool:
        """Return whether people are asked about a call that the grant covers.

        Args:
            seed: The secret of the rule; without it every call asks.
            id: The id of the request.
        """
        if not self.is_rule:
            return False
        # Nobody who lacks the seed can tell which of two calls would ask.
        drawn = hmac.digest(seed.encode(), id.encode(), "sha256") if seed else b""
        return int.from_bytes(drawn[:8]) % self.one_in == 0

    @classmethod
    def of(cls, new: NewGrant, call: GrantableCall, now: datetime) -> Grant:
        """Return the grant for calls like one that a person has approved.

        Args:
            new: What the person chose.
            call: The approved call.
            now: The current time.

        Raises:
            InvalidError: The end is not within 30 days, or the approved call itself is not among these calls.
        """
        if not now < new.until <= now + timedelta(days=MAX_DAYS):
            raise InvalidError.of("grant.until", f"give a time within {MAX_DAYS} days", "grant_until", days=MAX_DAYS)
        if new.where is not None and all_conditions_hold(new.where, call.args) is not True:
            raise InvalidError.of("grant.where", "must hold for the arguments of this request", "grant_scope")
        for name in ("tool", "thread_id", "folder"):
            value, shown_value = getattr(new, name), getattr(call, name)
            if value not in (None, shown_value):
                raise InvalidError.of(f"grant.{name}", f"is {shown_value!r} in this request", "grant_scope")
        return cls(
            **{"tool": call.tool, "thread_id": new.thread_id, "folder": new.folder, "where": new.where},
            args_digest=digest(dict(call.args)) if new.where is None else None,
            names=tuple(sorted(call.args)) if new.where else (),
            **{"asked_by": call.asked_by, "agent": call.agent, "people": call.people, "stakes": call.stakes},
            **{"max_uses": new.max_uses, "until": new.until},
        )

    @property
    def digest(self) -> str:
        """The digest of all that limits the grant: `sha256:` and 64 hex digits."""
        return digest(self.model_dump(mode="json"))

    def covers(self, call: GrantableCall) -> bool:
        """Return whether the grant approves a call, if it is in force.

        Args:
            call: The call. What is unknown is not approved.
        """
        own = (self.tool, self.asked_by, self.agent, self.people)
        if own != (call.tool, call.asked_by, call.agent, call.people) or call.stakes > self.stakes:
            return False
        if self.thread_id not in (None, call.thread_id) or self.folder not in (None, call.folder):
            return False
        if self.where is None:
            return self.args_digest == digest(dict(call.args))
        if self.where and not call.args.keys() <= set(self.names):
            return False
        return all_conditions_hold(self.where, call.args) is True

    def is_from(self, new: NewGrant) -> bool:
        """Return whether a person who chose this would get the same grant for the same request."""
        chosen = ("until", "where", "thread_id", "folder", "max_uses")
        return all(getattr(self, name) == getattr(new, name) for name in chosen)


class GrantUse(StrictModel):
    """The use of a grant that approved a call."""

    id: str
    """The id of the grant, which is that of the request whose answer has it."""
    digest: str
    """The digest of the grant."""
    number: int
    """1 for its first use."""


class GrantEntry(StrictModel):
    """A grant in the journal: without its scope, which an erasure of its request removes."""

    tool: str
    digest: str
    until: datetime
    max_uses: int
    uses: int = 0
    revoked: bool = False
    one_in: int = Field(default=0, exclude_if=is_empty)
    """One in so many of its calls still asks people; 0 if none does."""
    refuted_by: str | None = Field(default=None, exclude_if=is_empty)
    """The request about a call that it covers, which people did not approve: that has ended it."""

    def status(self, now: datetime) -> GrantStatus:
        """Return the status of the grant.

        Args:
            now: The current time.
        """
        if self.revoked:
            return "revoked"
        if self.uses >= self.max_uses:
            return "used up"
        return "active" if now < self.until else "ended"


class GrantView(StrictModel):
    """A grant with its scope and its uses, as people see it."""

    id: str
    """The id of the request whose answer has the grant."""
    status: GrantStatus
    uses: int
    granted_by: str
    """The name of the person."""
    granted_at: datetime
    title: str
    """The title of the request."""
    digest: str
    grant: Grant
    """The calls that it approves."""
    refuted_by: str | None = Field(default=None, exclude_if=is_empty)
    """The request about a call that it covers, which people did not approve: that has ended it."""


class GrantPage(StrictModel):
    """The grants of a tenant that have not ended by time, oldest first."""

    items: list[GrantView]
    next: None


def read_grant_entries(journal: Journal | None) -> dict[str, GrantEntry]:
    """Return the grants in the journal of a tenant, by id.

    Args:
        journal: The journal; None if nobody has made a grant.

    Raises:
        UnreadableError: This version cannot read the state: no grant applies.
    """
    if journal is None:
        return {}
    try:
        return {id: GrantEntry.model_validate(entry) for id, entry in journal.state[GRANTS].items()}
    except (ValidationError, KeyError, TypeError, AttributeError) as error:
        raise UnreadableError(Journal.record, JOURNAL, str(error)) from error


def with_grant(journal: Journal, id: str, grant: Grant, by: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal with a grant; unchanged and None if the grant is in it, even if it was revoked.

    Args:
        journal: The journal of the tenant.
        id: The id of the request whose answer has the grant.
        grant: The grant.
        by: The person.
        now: The current time.

    Raises:
        ConflictError: The tenant has too many grants.
    """
    entries = {key: entry for key, entry in read_grant_entries(journal).items() if now < entry.until}
    known = entries.get(id)
    if known and known.digest == grant.digest:
        return journal, None
    if sum(entry.status(now) == "active" for entry in entries.values()) >= MAX_GRANTS and not known:
        raise ConflictError(f"there are {MAX_GRANTS} grants: revoke some that nobody needs, or wait until they end")
    entry = GrantEntry(digest=grant.digest, **grant.model_dump(include={"tool", "until", "max_uses", "one_in"}))
    about = {"do": "grant", "request": id, "digest": grant.digest, "until": grant.until}
    return journal.written(about, {GRANTS: {**entries, id: entry}}, by=by, now=now)


def with_grant_use(journal: Journal, id: str, digest: str, by: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal with one more use of a grant; unchanged and None if the grant is no longer in force.

    Args:
        journal: The journal of the tenant.
        id: The id of the grant.
        digest: The digest of the grant.
        by: The name of the asker.
        now: The current time.
    """
    entries = read_grant_entries(journal)
    entry = entries.get(id)
    if entry is None or entry.digest != digest or entry.status(now) != "active":
        return journal, None
    used = entry.model_copy(update={"uses": entry.uses + 1})
    about = {"do": "use", "request": id, "number": used.uses}
    return journal.written(about, {GRANTS: {**entries, id: used}}, by=by, now=now)


def with_grant_revoked(journal: Journal, id: str, by: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal with a grant revoked; unchanged and None if it was revoked before.

    Args:
        journal: The journal of the tenant.
        id: The id of the grant.
        by: The person.
        now: The current time.

    Raises:
        NotFoundError: There is no such grant, or it ended long ago.
    """
    entries = read_grant_entries(journal)
    if id not in entries:
        raise NotFoundError("grant", id)
    if entries[id].revoked:
        return journal, None
    after = {**entries, id: entries[id].model_copy(update={"revoked": True})}
    return journal.written({"do": "revoke", "request": id}, {GRANTS: after}, by=by, now=now)


def with_refuted_rules_ended(
    journal: Journal, ids: Collection[str], request: str, by: str, now: datetime
) -> tuple[Journal, Event | None]:
    """Return the journal with rules ended, because people did not approve a call that they cover.

    Args:
        journal: The journal of the tenant.
        ids: The ids of the rules; those that are over stay as they are.
        request: The id of the request about the call.
        by: The person who decided.
        now: The current time.
    """
    entries = read_grant_entries(journal)
    ended = [id for id in ids if id in entries and not entries[id].revoked]
    if not ended:
        return journal, None
    over = {id: entries[id].model_copy(update={"revoked": True, "refuted_by": request}) for id in ended}
    about = {"do": "refute", "rules": ended, "request": request}
    return journal.written(about, {GRANTS: {**entries, **over}}, by=by, now=now)
