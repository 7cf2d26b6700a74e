"""The parts of an inbox on a store: grants, pauses, absences, checks, memories, and the record."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from ringi.base.failpoints import failpoint
from ringi.base.settings import Settings
from ringi.contracts.backend import ABSENCES, EVENTS
from ringi.contracts.store import change_record, find_record, skip_unreadable_records
from ringi.domain import absence, memories, pauses, planting
from ringi.domain.absence import Absence, Away
from ringi.domain.ask import parse_body
from ringi.domain.checks import CheckRecipe, CheckReport, NewChecks, check_report
from ringi.domain.grants import GrantView
from ringi.domain.journal import Journal
from ringi.domain.memories import Memory
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import SYSTEM, Erased, Event, Key, Page, Query, UnreadableError
from ringi.domain.request import Request
from ringi.domain.voting import Caller, Decider, as_decider
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.inbox import api
from ringi.inbox.core import InboxPart
from ringi.inbox.grants import person_and_grant
from ringi.inbox.journals import JournalStep, change_journal, missing_as
from ringi.privacy.candidates import Erasure, Sweep

RECENT = timedelta(days=30)
"""The age up to which checks are copied from requests, and counted among them."""
MOST_READ = 1_000
"""The number of a tool's requests of which a share is taken."""
NEWEST = 20
"""A check is copied from one of so many of the newest requests of its tool."""
DIGITS = 32
"""The random bytes from which an id is made."""


class InboxGrants(InboxPart, api.Grants):
    """The grants of one tenant, as the caller may read them."""

    async def list(self) -> Page[GrantView]:
        found, now = Page[GrantView](), self._inbox.clock()
        for id, entry in (await self._inbox.granted.entries(self._inbox.tenant)).items():
            with suppress(NotFoundError, UnreadableError):
                request = await self._inbox.get(id)
                if (made := person_and_grant(request, entry)) and request.response:
                    about = {"id": id, "status": entry.status(now), "uses": entry.uses, "digest": entry.digest}
                    about["refuted_by"] = entry.refuted_by
                    answer = {"granted_by": made[0], "granted_at": request.response.at, "title": request.title}
                    found.append(GrantView(**about, **answer, grant=made[1]))
        return found

    async def revoke(self, id: str, *, by: Caller = None) -> None:
        person = as_decider(by)
        await self._inbox.get(id)
        await self._inbox.granted.revoke(Key(self._inbox.tenant, id), person.name)
        await self._inbox.publish(EVENTS)


class InboxPauses(InboxPart, api.Pauses):
    """The pauses of one tenant."""

    async def begin(
        self, reason: str, *, agent: str | None = None, until: datetime | None = None, by: Caller = None
    ) -> Pause:
        inbox, person = self._inbox, as_decider(by)
        new = parse_body(NewPause, {"agent": agent, "reason": reason, "until": until})
        id, now = uuid.uuid4().hex, inbox.clock()

        def step(journal: Journal) -> tuple[Journal, Event | None]:
            return pauses.with_pause(journal, new, id, person.name, inbox.clock())

        after = await change_journal(inbox.store, self._key, {pauses.PAUSES: []}, step, by=SYSTEM, now=now)
        pause = pauses.find_same_pause(pauses.read_pauses(after), new, person.name)
        assert pause
        await inbox.publish(EVENTS)
        return pause

    async def list(self) -> Page[Pause]:
        return Page(pauses.pauses_in_force(await self._journal(), self._inbox.clock()))

    async def end(self, id: str, *, by: Caller = None) -> None:
        inbox, person = self._inbox, as_decider(by)

        def step(journal: Journal) -> tuple[Journal, Event]:
            return pauses.without_pause(journal, id, person.name, inbox.clock())

        with missing_as("pause", id):
            await change_record(inbox.store, Journal, self._key, step)
        await inbox.publish(EVENTS)

    async def check(self, agent: str | None = None) -> None:
        clock = self._inbox.clock
        if pause := pauses.find_pause(pauses.read_pauses(await self._journal()), agent, clock()):
            raise pauses.paused_error(pause, clock)

    @property
    def _key(self) -> Key:
        return Key(self._inbox.tenant, pauses.JOURNAL)

    async def _journal(self) -> Journal | None:
        return await find_record(self._inbox.store, Journal, self._key)


class InboxPeople(InboxPart, api.People):
    """The people of one tenant who leave and come back."""

    async def active(self) -> list[Absence]:
        """Return the absences that have not ended."""
        return absence.active_absences(await find_record(self._inbox.store, Journal, self._key), self._inbox.clock())

    async def decider(self, person: Decider) -> Decider:
        """Return a person with those for whom the person stands now."""
        away = await self.away(by=person)
        return person._replace(stands_for=tuple(each.viewer for each in away.deputy_for))

    async def leave(self, deputy: str, until: datetime, *, unknown: bool = False, by: Caller = None) -> Away:
        inbox, person = self._inbox, as_decider(by)
        own = {"person": person.name, "groups": person.groups, "subject": person.subject}
        now = inbox.clock()
        new = parse_body(Absence, {**own, "deputy": deputy, "until": until}).checked(now)
        if not unknown:
            (await inbox.known_people.known(inbox.tenant)).refuse_unknown({"deputy": deputy})

        def step(old: Journal) -> absence.JournalChange:
            return absence.with_absence(old, new, inbox.clock())

        await change_journal(inbox.store, self._key, {absence.PEOPLE: {}}, step, by=person.name, now=now)
        await inbox.publish(ABSENCES)
        return await self.away(by=person)

    async def come_back(self, *, by: Caller = None) -> None:
        name = as_decider(by).name
        with suppress(NotFoundError):  # Nobody was ever away.
            await self._change(lambda old: absence.journal_after_return(old, name, self._inbox.clock()))
        await self._inbox.publish(ABSENCES)

    async def away(self, *, by: Caller = None) -> Away:
        return absence.absences_concerning(await self.active(), as_decider(by).name)

    async def absences(self) -> Page[Absence]:
        return Page(sorted(await self.active(), key=lambda each: (each.until, each.person)))

    async def end_absence(self, person: str, *, by: Caller = None) -> None:
        if not await self.end_where(lambda each: each.person == person, person, as_decider(by).name):
            raise NotFoundError("absence", person)
        await self._inbox.publish(ABSENCES)

    async def end_where(self, is_over: Callable[[Absence], bool], person: str, by: str) -> list[Absence]:
        """Record that an administrator has ended some absences because of a person, and return them."""
        ended = list[Absence]()

        def step(old: Journal) -> absence.JournalChange:
            ended[:] = filter(is_over, absence.active_absences(old, self._inbox.clock()))
            return absence.without_absences(old, ended, person, by, self._inbox.clock())

        with suppress(NotFoundError):
            await self._change(step)
        return ended

    @property
    def _key(self) -> Key:
        return Key(self._inbox.tenant, absence.JOURNAL)

    async def _change(self, step: JournalStep) -> None:
        await change_record(self._inbox.store, Journal, self._key, step)


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


class InboxMemories(InboxPart, api.Memories):
    """The memories of one tenant's people."""

    async def list(self, person: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page[Memory]:
        name = as_decider(person).name
        found = await self._inbox.page(Query(remembered_by=name, limit=limit, before=cursor))
        return Page((memories.find_person_memory(request, name) for request in found), found.next)

    async def get(self, id: str, person: str | None = None) -> Memory:
        with missing_as("memory", id):
            return memories.find_person_memory(await self._inbox.get(id), as_decider(person).name)

    async def edit(
        self, id: str, data: dict[str, Any], *, told_at: datetime | None = None, by: Caller = None
    ) -> Memory:
        name, clock = as_decider(by).name, self._inbox.clock
        with missing_as("memory", id):
            new = await self._inbox.change(
                id, lambda old: memories.with_memory_edited(old, data, name, clock(), told_at)
            )
        return memories.find_person_memory(new, name)

    async def delete(self, id: str, *, by: Caller = None) -> None:
        name, clock = as_decider(by).name, self._inbox.clock
        with missing_as("memory", id):
            await self._inbox.change(id, lambda request: memories.with_memory_deleted(request, name, clock()))


class InboxTrail(InboxPart, api.Trail):
    """The record of one tenant."""

    async def erase_some(self, sweep: Sweep, *, by: Caller = None) -> Erasure:
        inbox, person = self._inbox, as_decider(by).name
        erased = Erased(at=inbox.clock(), by=person, rule=sweep.checked(person).rule)
        done = await inbox.eraser.sweep(sweep, erased, inbox.tenant)
        if done.requests and not sweep.dry_run:
            await inbox.forget_erased()
        if done.journals and not sweep.dry_run:
            await inbox.publish(ABSENCES)
        if sweep.person and done.next is None and not sweep.dry_run:
            await inbox.forget_person(sweep.person)
        return done


def _wanted(recipes: Sequence[CheckRecipe], share: float, recent: Mapping[str, Sequence[Request]]) -> list[CheckRecipe]:
    """Return one recipe of each tool of whose recent requests fewer than this share are checks."""
    few = [tool for tool, calls in recent.items() if sum(each.is_check for each in calls) + 1 <= share * len(calls)]
    return [secrets.choice([recipe for recipe in recipes if recipe.tool == tool]) for tool in few]
