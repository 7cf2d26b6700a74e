"""The grants of a tenant and their uses, in one journal: pure, without clock or I/O.

A grant itself is in the answer of its request: it is in force only if that request is completed with it.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import Field, ValidationError

from ringi.base.model import StrictModel
from ringi.domain.grants import Grant
from ringi.domain.journal import RINGI, Journal
from ringi.domain.record import Event
from ringi.errors import ConflictError, NotFoundError, UnreadableError

JOURNAL = "ringi:grants"
"""The id of the journal of each tenant."""
GRANTS = "grants"
"""The key of the grants in the state of the journal."""
MAX_GRANTS = 200
GrantStatus = Literal["active", "revoked", "used up", "ended"]


class GrantEntry(StrictModel):
    """A grant in the journal: without its scope, which an erasure of its request removes."""

    tool: str
    digest: str
    until: datetime
    max_uses: int
    uses: int = 0
    revoked: bool = False
    one_in: int = Field(default=0, exclude_if=operator.not_)
    """One in so many of its calls still asks people; 0 if none does."""
    refuted_by: str | None = Field(default=None, exclude_if=operator.not_)
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
    refuted_by: str | None = Field(default=None, exclude_if=operator.not_)
    """The request about a call that it covers, which people did not approve: that has ended it."""


class GrantPage(StrictModel):
    """The grants of a tenant that have not ended by time, oldest first."""

    items: list[GrantView]
    next: None


def begun_journal(tenant: str, now: datetime, by: str) -> tuple[Journal, Event]:
    """Return the journal of a tenant without grants, and its event."""
    return Journal.begun(JOURNAL, RINGI, {GRANTS: {}}, by=by, now=now, tenant=tenant)


def read_entries(journal: Journal | None) -> dict[str, GrantEntry]:
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
    entries = {key: entry for key, entry in read_entries(journal).items() if now < entry.until}
    known = entries.get(id)
    if known and known.digest == grant.digest:
        return journal, None
    if sum(entry.status(now) == "active" for entry in entries.values()) >= MAX_GRANTS and not known:
        raise ConflictError(f"there are {MAX_GRANTS} grants: revoke some that nobody needs, or wait until they end")
    limits = {"until": grant.until, "max_uses": grant.max_uses, "one_in": grant.one_in}
    entry = GrantEntry(tool=grant.tool, digest=grant.digest, **limits)
    about = {"do": "grant", "request": id, "digest": grant.digest, "until": grant.until}
    return _written(journal, about, {**entries, id: entry}, by, now)


def with_use(journal: Journal, id: str, digest: str, by: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal with one more use of a grant; unchanged and None if the grant is no longer in force.

    Args:
        journal: The journal of the tenant.
        id: The id of the grant.
        digest: The digest of the grant.
        by: The name of the asker.
        now: The current time.
    """
    entries = read_entries(journal)
    entry = entries.get(id)
    if entry is None or entry.digest != digest or entry.status(now) != "active":
        return journal, None
    used = entry.model_copy(update={"uses": entry.uses + 1})
    return _written(journal, {"do": "use", "request": id, "number": used.uses}, {**entries, id: used}, by, now)


def revoked(journal: Journal, id: str, by: str, now: datetime) -> tuple[Journal, Event | None]:
    """Return the journal with a grant revoked; unchanged and None if it was revoked before.

    Args:
        journal: The journal of the tenant.
        id: The id of the grant.
        by: The person.
        now: The current time.

    Raises:
        NotFoundError: There is no such grant, or it ended long ago.
    """
    entries = read_entries(journal)
    if id not in entries:
        raise NotFoundError("grant", id)
    if entries[id].revoked:
        return journal, None
    after = {**entries, id: entries[id].model_copy(update={"revoked": True})}
    return _written(journal, {"do": "revoke", "request": id}, after, by, now)


def refuted(
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
    entries = read_entries(journal)
    ended = [id for id in ids if id in entries and not entries[id].revoked]
    if not ended:
        return journal, None
    over = {id: entries[id].model_copy(update={"revoked": True, "refuted_by": request}) for id in ended}
    about = {"do": "refute", "rules": ended, "request": request}
    return _written(journal, about, {**entries, **over}, by, now)


def _written(
    journal: Journal, entry: dict[str, Any], entries: Mapping[str, GrantEntry], by: str, now: datetime
) -> tuple[Journal, Event]:
    return journal.written(entry, {GRANTS: entries}, by=by, now=now)
