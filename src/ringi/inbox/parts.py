"""The parts of an inbox on a store: grants, pauses, people who are away, memories, and the record."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import datetime
from typing import Any

from ringi.contracts.backend import ABSENCES, EVENTS
from ringi.contracts.store import change_record
from ringi.domain import memories, pauses
from ringi.domain.absence import Absence, Away
from ringi.domain.ask import parse_body
from ringi.domain.grants import GrantView
from ringi.domain.journal import Journal
from ringi.domain.memories import Memory
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import Erased, Event, Key, Page, Query, UnreadableError
from ringi.domain.voting import Caller, as_decider
from ringi.errors import NotFoundError
from ringi.inbox import api
from ringi.inbox.core import InboxPart
from ringi.inbox.grants import person_and_grant
from ringi.inbox.journals import change_journal
from ringi.inbox.pauses import read_tenant_pauses, refuse_paused
from ringi.privacy.candidates import Erasure, Sweep


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
        id, begun = uuid.uuid4().hex, pauses.begin_pause_journal(inbox.tenant, inbox.clock())

        def step(journal: Journal) -> tuple[Journal, Event | None]:
            return pauses.with_pause(journal, new, id, person.name, inbox.clock())

        after = await change_journal(inbox.store, Key(inbox.tenant, pauses.JOURNAL), begun, step)
        pause = pauses.find_same_pause(pauses.read_pauses(after), new, person.name)
        assert pause
        await inbox.publish(EVENTS)
        return pause

    async def list(self) -> Page[Pause]:
        now = self._inbox.clock()
        found = await read_tenant_pauses(self._inbox.store, self._inbox.tenant)
        return Page(pause for pause in found if not pause.has_ended(now))

    async def end(self, id: str, *, by: Caller = None) -> None:
        inbox, person = self._inbox, as_decider(by)

        def step(journal: Journal) -> tuple[Journal, Event]:
            return pauses.without_pause(journal, id, person.name, inbox.clock())

        try:
            await change_record(inbox.store, Journal, Key(inbox.tenant, pauses.JOURNAL), step)
        except NotFoundError:
            raise NotFoundError("pause", id) from None
        await inbox.publish(EVENTS)

    async def check(self, agent: str | None = None) -> None:
        found = await read_tenant_pauses(self._inbox.store, self._inbox.tenant)
        refuse_paused(found, agent, self._inbox.clock)


class InboxPeople(InboxPart, api.People):
    """The people of one tenant who leave and come back."""

    async def leave(self, deputy: str, until: datetime, *, unknown: bool = False, by: Caller = None) -> Away:
        inbox, person = self._inbox, as_decider(by)
        own = {"person": person.name, "groups": person.groups, "subject": person.subject}
        new = parse_body(Absence, {**own, "deputy": deputy, "until": until}).checked(inbox.clock())
        if not unknown:
            (await inbox.known_people.known(inbox.tenant)).refuse_unknown({"deputy": deputy})
        await inbox.absences.begin(new)
        await inbox.publish(ABSENCES)
        return await inbox.absences.of(person.name)

    async def come_back(self, *, by: Caller = None) -> None:
        await self._inbox.absences.end(as_decider(by).name)
        await self._inbox.publish(ABSENCES)

    async def away(self, *, by: Caller = None) -> Away:
        return await self._inbox.absences.of(as_decider(by).name)

    async def absences(self) -> Page[Absence]:
        return Page(sorted(await self._inbox.absences.active(), key=lambda each: (each.until, each.person)))

    async def end_absence(self, person: str, *, by: Caller = None) -> None:
        await self._inbox.absences.end_of(person, as_decider(by).name)
        await self._inbox.publish(ABSENCES)


class InboxMemories(InboxPart, api.Memories):
    """The memories of one tenant's people."""

    async def list(self, person: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page[Memory]:
        name = as_decider(person).name
        found = await self._inbox.page(Query(remembered_by=name, limit=limit, before=cursor))
        return Page((memories.find_person_memory(request, name) for request in found), found.next)

    async def get(self, id: str, person: str | None = None) -> Memory:
        with memories.missing_request_as_memory(id):
            return memories.find_person_memory(await self._inbox.get(id), as_decider(person).name)

    async def edit(
        self, id: str, data: dict[str, Any], *, told_at: datetime | None = None, by: Caller = None
    ) -> Memory:
        name, clock = as_decider(by).name, self._inbox.clock
        with memories.missing_request_as_memory(id):
            new = await self._inbox.change(
                id, lambda old: memories.with_memory_edited(old, data, name, clock(), told_at)
            )
        return memories.find_person_memory(new, name)

    async def delete(self, id: str, *, by: Caller = None) -> None:
        name, clock = as_decider(by).name, self._inbox.clock
        with memories.missing_request_as_memory(id):
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
