"""Grants in the store: made with an answer, used by later requests, revoked; and the first requests about a tool."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timedelta
from functools import partial

from ringi.base.bounded import Bounded
from ringi.base.clock import Clock
from ringi.base.failpoints import failpoint
from ringi.contracts.store import Store, change_record, find_record, skip_unreadable_records
from ringi.domain import grants
from ringi.domain.ask import Ask
from ringi.domain.grants import Grant, GrantEntry, GrantUse
from ringi.domain.journal import Journal
from ringi.domain.record import SYSTEM, Key, Query, UnreadableError
from ringi.domain.request import Request
from ringi.errors import ConflictError
from ringi.inbox.feed import Feed
from ringi.inbox.journals import JournalWatch, change_journal, missing_as

log = logging.getLogger(__name__)


class GrantJournals:
    """The grants in a store, for all tenants.

    Args:
        store: The store.
        feed: The feed of this process.
        clock: Returns the current time.
    """

    def __init__(self, store: Store, feed: Feed, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._watch = JournalWatch(store, feed, grants.JOURNAL)
        self._using = asyncio.Lock()
        """Uses in one process wait for each other here, and not for conflicts in the store."""

    async def begin(self, answered: Request) -> None:
        """Record the grant of an answer, before the answer: it is in force once the request is completed with it.

        Done again after the answer, it replaces the grant of another answer that came too late.

        Args:
            answered: The request with the answer.

        Raises:
            ConflictError: The tenant has too many grants.
        """
        answer, now = answered.response or answered.held, self._clock()
        if answer is None or answer.grant is None or answer.grant.until <= now:
            return
        by, key = answer.responder, Key(answered.tenant, grants.JOURNAL)
        step = partial(grants.with_grant, id=answered.id, grant=answer.grant, by=by, now=now)
        await change_journal(self._store, key, {grants.GRANTS: {}}, step, by=by, now=now)
        self.refresh(answered.tenant)
        failpoint("grant.after_begin")

    async def use(self, request: Request) -> GrantUse | Request | None:
        """Return the use of a grant that approves a new request; None if no grant does.

        If the request is on record as it ended, because a process has died since, it is returned itself.

        A crash after this spends a use, and runs nothing.

        Args:
            request: The request, which is not stored yet.
        """
        call = request.grantable_call
        if call is None:
            return None
        now = self._clock()
        try:
            entries = grants.read_grant_entries(await self._watch.find(request.tenant))
        except UnreadableError:
            log.exception("a person is asked, because the grants cannot be read")
            return None
        of_tool = {id: entry for id, entry in entries.items() if entry.tool == call.tool}
        if of_tool and (stored := await find_record(self._store, Request, request.key)):
            return stored if stored.is_final and stored.digest == request.digest else None
        keys = {Key(request.tenant, id): entry for id, entry in of_tool.items() if entry.status(now) == "active"}
        for granting in await skip_unreadable_records(self._store, Request, list(keys)):
            made = person_and_grant(granting, keys[granting.key])
            if made and made[1].covers(call) and not request.excludes(made[0], granting.responder_subject):
                if made[1].must_ask(granting.seed, request.id):
                    return None
                return await self._use(granting.key, keys[granting.key], request.asked_by or SYSTEM)
        return None

    async def rules_covering(self, request: Request) -> list[str]:
        """Return the ids of the rules in force that approve calls like this one.

        Args:
            request: A request about a call.
        """
        call = request.grantable_call
        if call is None or request.is_check:
            return []
        entries = (await self.entries(request.tenant)).items()
        of_tool = {Key(request.tenant, id): entry for id, entry in entries if entry.tool == call.tool}
        rules = {key: entry for key, entry in of_tool.items() if entry.one_in and not entry.revoked}
        found = await skip_unreadable_records(self._store, Request, list(rules))
        made = ((each, person_and_grant(each, rules[each.key])) for each in found)
        return [each.id for each, granted in made if granted and granted[1].covers(call)]

    async def refute(self, decided: Request, by: str) -> tuple[str, ...]:
        """End the rules in force that approve calls like one that a person has not approved; return their ids.

        Done before the answer is stored: a crash in between ends a rule, and lets nothing through.

        Args:
            decided: The request, as the answer would leave it.
            by: The person.
        """
        ids = await self.rules_covering(decided)
        if ids:
            step = partial(grants.with_refuted_rules_ended, ids=ids, request=decided.id, by=by, now=self._clock())
            await change_record(self._store, Journal, Key(decided.tenant, grants.JOURNAL), step)
            self.refresh(decided.tenant)
            failpoint("rule.after_refute")
        return tuple(ids)

    def refresh(self, tenant: str) -> None:
        """Read the grants of a tenant again at the next use, because another process may have made one just now.

        Args:
            tenant: The tenant.
        """
        self._watch.forget(tenant)

    async def is_over(self, request: Request) -> bool:
        """Return whether the grant that approved a request was revoked, erased, or has ended by time.

        Args:
            request: The request, as a grant has approved it.
        """
        use = request.response and request.response.grant_use
        if not use:
            return False
        entry = (await self.entries(request.tenant)).get(use.id)
        if entry is None or entry.digest != use.digest or entry.revoked:
            return True
        granting = await find_record(self._store, Request, Key(request.tenant, use.id))
        return granting is None or person_and_grant(granting, entry) is None

    async def entries(self, tenant: str) -> dict[str, GrantEntry]:
        """Return the grants of a tenant that have not ended by time, by id, also those without effect."""
        now = self._clock()
        entries = grants.read_grant_entries(await self._watch.read(tenant))
        return {id: entry for id, entry in entries.items() if now < entry.until}

    async def revoke(self, key: Key, by: str) -> None:
        """Record that a person revokes a grant; from then on it approves nothing.

        Args:
            key: The tenant and the id of the grant.
            by: The person.

        Raises:
            NotFoundError: There is no such grant.
        """
        step = partial(grants.with_grant_revoked, id=key.id, by=by, now=self._clock())
        with missing_as("grant", key.id):
            await change_record(self._store, Journal, Key(key.tenant, grants.JOURNAL), step)
        self.refresh(key.tenant)

    async def _use(self, key: Key, entry: GrantEntry, by: str) -> GrantUse | None:
        step = partial(grants.with_grant_use, id=key.id, digest=entry.digest, by=by, now=self._clock())
        try:
            async with self._using:
                before, after = await change_record(self._store, Journal, Key(key.tenant, grants.JOURNAL), step)
        except ConflictError:
            log.warning("many calls use grants at the same time: a person is asked about one of them")
            return None
        self.refresh(key.tenant)
        if before.version == after.version:
            return None
        failpoint("grant.after_use")
        return GrantUse(id=key.id, digest=entry.digest, number=grants.read_grant_entries(after)[key.id].uses)


def person_and_grant(request: Request, entry: GrantEntry) -> tuple[str, Grant] | None:
    """Return who made a grant and the grant; None if the request is not completed with it, or was erased."""
    response = request.response
    if request.granted is None or response is None or response.grant is None or response.grant.digest != entry.digest:
        return None
    return response.responder, response.grant


RECENT = timedelta(days=30)
"""The time in which nobody was asked about a tool before the first of its kind."""
NEWEST = 20
"""The number of requests about a tool that are read: rules may have decided the newest of them."""
MAX_TOOLS = 10_000
"""The number of tools whose last request a process remembers."""


class FirstAsks:
    """When people were last asked about each tool, as far as this process has looked.

    Args:
        store: The store of the requests.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._last = store, Bounded[tuple[str, str], datetime](MAX_TOOLS)

    async def note(self, tenant: str, ask: Ask, now: datetime) -> bool:
        """Record that people are asked about a tool, and return whether nobody was for 30 days.

        Only the first ask about a tool reads the store. Of asks at the same time, by clocks that may differ, one in
        each process is the first.

        Args:
            tenant: The tenant.
            ask: The question.
            now: The time of the question.
        """
        if ask.action is None:
            return False
        key = (tenant, ask.action.name)
        last, self._last[key] = self._last.get(key), now
        if last is not None and last > now - RECENT:
            return False
        try:
            return not await self._has_asked(*key, now)
        except BaseException:
            self._last.pop(key, None)
            raise

    def forget(self, request: Request) -> None:
        """Forget a request that could not be stored.

        Args:
            request: The request.
        """
        if request.action:
            self._last.pop((request.tenant, request.action.name), None)

    async def _has_asked(self, tenant: str, tool: str, now: datetime) -> bool:
        newest = await self._store.find(Request, Query(tenant=tenant, tool=tool, limit=NEWEST))
        # An ask that came later may be stored before this one has read.
        return any(now - RECENT < request.created_at <= now and not request.is_by_rule for request in newest)
