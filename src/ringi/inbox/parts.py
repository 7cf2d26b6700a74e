"""The parts of an inbox on a store: grants, pauses, memories, and the record."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import datetime
from typing import Any

from ringi.contracts.backend import ABSENCES, EVENTS
from ringi.contracts.store import change_record, find_record
from ringi.domain import memories, pauses
from ringi.domain.ask import parse_body
from ringi.domain.grants import GrantView
from ringi.domain.journal import Journal
from ringi.domain.memories import Memory
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import SYSTEM, Erased, Event, Key, Page, Query, UnreadableError
from ringi.domain.voting import Caller, as_decider
from ringi.errors import NotFoundError
from ringi.inbox import api
from ringi.inbox.core import InboxPart
from ringi.inbox.grants import person_and_grant
from ringi.inbox.journals import change_journal, missing_as
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
