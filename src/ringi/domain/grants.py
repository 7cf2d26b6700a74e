"""Grants: one approval that also approves later calls of the same tool. Pure, without clock or I/O."""

from __future__ import annotations

import hmac
import operator
from datetime import datetime, timedelta
from typing import Annotated, NamedTuple

from pydantic import Field, StringConstraints

from ringi.base.canonical_json import digest
from ringi.base.model import StrictModel
from ringi.base.times import Time
from ringi.domain.conditions import Args, Where, all_hold
from ringi.errors import InvalidError

MAX_DAYS = 30
"""The longest time for which a grant can apply."""
MAX_USES = 10_000
OVER = "the grant that approved this call is over: make the call again to ask people"
FOLDER = "folder"
"""The key in a request's context of the folder in which an agent works."""
Text = Annotated[str, StringConstraints(min_length=1, max_length=4096)]


class NewGrant(StrictModel):
    """The later calls that an answer approves too, as the person chose them."""

    until: Time
    """The end of the grant, at most 30 days from now."""
    tool: Text | None = None
    """The tool of the request; no other is possible."""
    where: Annotated[Where, Field(max_length=50)] | None = None
    """Conditions on the arguments, as in a policy; None for exactly the arguments of the request, `{}` for any."""
    thread_id: Text | None = None
    """The thread of the request, for its calls alone; None for all threads of the asker."""
    folder: Text | None = None
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
    names: tuple[str, ...] = Field(default=(), exclude_if=operator.not_)
    """The arguments of the approved call: with conditions, a call with more arguments is asked."""
    asked_by: str | None
    agent: str | None
    people: str
    """The digest of the rule for who may decide."""
    stakes: int = Field(default=0, exclude_if=operator.not_)
    thread_id: str | None
    folder: str | None
    max_uses: int
    until: datetime
    one_in: int = Field(default=0, exclude_if=operator.not_)
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
        if new.where is not None and all_hold(new.where, call.args) is not True:
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
        return all_hold(self.where, call.args) is True

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
