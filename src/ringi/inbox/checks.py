"""Checks in the store: planted by administrators, listed with the shares that people noticed."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from ringi.base.failpoints import failpoint
from ringi.base.settings import Settings
from ringi.contracts.store import find_record, skip_unreadable_records
from ringi.domain import planting
from ringi.domain.ask import parse_body
from ringi.domain.checks import CheckRecipe, CheckReport, NewChecks, check_report
from ringi.domain.journal import Journal
from ringi.domain.record import Event, Key, Query
from ringi.domain.request import Request
from ringi.domain.voting import Caller, as_decider
from ringi.errors import ConflictError, InvalidError
from ringi.inbox import api
from ringi.inbox.core import InboxPart
from ringi.inbox.journals import change_journal

RECENT = timedelta(days=30)
MOST_READ = 1_000
"""The number of a tool's requests of which a share is taken."""
NEWEST = 20
"""A check is copied from one of so many of the newest requests of its tool."""
DIGITS = 32
"""The random bytes from which an id is made."""


class InboxChecks(InboxPart, api.Checks):
    """The checks of one tenant."""

    async def plant(
        self, checks: Sequence[CheckRecipe | Mapping[str, Any]], *, share: float | None = None, by: Caller = None
    ) -> list[str]:
        inbox, person = self._inbox, as_decider(by)
        if not Settings.load().checks:
            raise ConflictError("checks are off: set RINGI_CHECKS=1 to plant requests that measure attention")
        recipes = [each.model_dump(exclude_unset=True) if isinstance(each, CheckRecipe) else each for each in checks]
        new = parse_body(NewChecks, {"checks": recipes, "share": share})
        recent = await self._recent_requests(new.checks)
        chosen = new.checks if new.share is None else _wanted(new.checks, new.share, recent)
        planted = [self._check_from(recipe, recent[recipe.tool]) for recipe in chosen]
        if planted:
            key, now = Key(inbox.tenant, planting.JOURNAL), inbox.clock()
            step = partial(planting.with_checks, planted=[request for request, _ in planted], by=person.name, now=now)
            # First: a check that is not on record could be mistaken for a real request.
            await change_journal(inbox.store, key, {planting.CHECKS: {}}, step, by=person.name, now=now)
        for request, event in planted:
            failpoint("checks.before_put")
            await self._inbox.store.put(request, event)
            failpoint("checks.after_put")
            await self._inbox.notify(request)
        return [request.id for request, _ in planted]

    async def report(self) -> CheckReport:
        journal = await find_record(self._inbox.store, Journal, Key(self._inbox.tenant, planting.JOURNAL))
        keys = [Key(self._inbox.tenant, id) for id in planting.checks_in_journal(journal)]
        found = await skip_unreadable_records(self._inbox.store, Request, keys)
        return check_report(view for request in found if (view := planting.check_view(request)))

    def _check_from(self, recipe: CheckRecipe, recent: Sequence[Request]) -> tuple[Request, Event]:
        templates = [request for request in recent if planting.is_check_template(request, recipe)][:NEWEST]
        if not templates:
            what = f"no recent request of {recipe.tool!r} can be copied: wait for a real one with this argument"
            raise InvalidError.of("checks", what, "no_template", tool=recipe.tool)
        digits, template = secrets.token_hex(DIGITS), secrets.choice(templates)
        return planting.check_from_template(template, recipe, digits=digits, now=self._inbox.clock())

    async def _recent_requests(self, recipes: Sequence[CheckRecipe]) -> dict[str, list[Request]]:
        """Return the recent requests of the tools, newest first."""
        oldest, found = self._inbox.clock() - RECENT, dict[str, list[Request]]()
        for tool in dict.fromkeys(recipe.tool for recipe in recipes):
            newest = await self._inbox.store.find(Request, Query(tenant=self._inbox.tenant, tool=tool, limit=MOST_READ))
            found[tool] = [request for request in newest if request.created_at >= oldest]
        return found


def _wanted(recipes: Sequence[CheckRecipe], share: float, recent: Mapping[str, Sequence[Request]]) -> list[CheckRecipe]:
    """Return one recipe of each tool of whose recent requests fewer than this share are checks."""
    few = [tool for tool, calls in recent.items() if sum(each.is_check for each in calls) + 1 <= share * len(calls)]
    return [secrets.choice([recipe for recipe in recipes if recipe.tool == tool]) for tool in few]
