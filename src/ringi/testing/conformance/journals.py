"""Conformance tests of `ringi.contracts.store.Store` for journals: a third kind of record, listed like the others."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from datetime import timedelta
from typing import Any

from ringi.audit.verify import verify_store
from ringi.contracts.store import Store
from ringi.domain.journal import Journal, entries_in
from ringi.domain.record import ERASED_PERSON, Erased, Event, Key, Query, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError
from ringi.testing.clock import NOON
from ringi.testing.factories import a_journal, a_thread, store_change, store_request

SECOND = timedelta(seconds=1)
SECRET = "Zwetschge 4711 秘密の"


async def store_journal(store: Store, id: str = "journal-1", *, tenant: str = "tenant-1", second: int = 0) -> Journal:
    """Put a new journal into the store and return it."""
    return await store_change(store, a_journal(id, tenant=tenant, at=NOON + second * SECOND))


def journal_with_number(journal: Journal, number: int, by: str = "ann") -> tuple[Journal, Event]:
    """Return the journal with one additional number."""
    total = journal.state["sum"] + number
    return journal.written({"add": number}, {"sum": total}, by=by, now=NOON + journal.version * SECOND)


async def results_of_rivals(attempts: Iterable[Coroutine[Any, Any, None]]) -> list[bool]:
    """Make several attempts at once, and return which of them succeed; the others conflict."""

    async def succeeds(attempt: Coroutine[Any, Any, None]) -> bool:
        try:
            await attempt
        except ConflictError:
            return False
        return True

    return await asyncio.gather(*map(succeeds, attempts))


async def journal_ids(store: Store, **query: str) -> list[str]:
    """Return the journal_ids of the matching journals, read one by one; their number equals the count."""
    seen: list[str] = []
    page = await store.find(Journal, Query(limit=1, **query))
    while page:
        seen += [journal.id for journal in page]
        page = await store.find(Journal, Query(limit=1, before=cursor_after_record(page[-1]), **query))
    assert await store.count(Journal, Query(**query)) == len(seen)
    return seen


class JournalsConformance:
    """Conformance tests of journals in a store."""

    async def test_a_journal_comes_back_as_it_was_put(self, store: Store) -> None:
        journal, event = Journal.begun("j", "test", {"稟議": [1, 2.5, None, {"ok": True}]}, by="ann", now=NOON)

        await store.put(journal, event)

        assert await store.get(Journal, journal.tenant, "j") == journal

    async def test_entries_add_up_to_the_state_and_the_trail_tells_each(self, store: Store) -> None:
        journal = await store_journal(store)
        for number in (3, 4):
            journal = await store_change(store, journal_with_number(journal, number))

        stored = await store.get(Journal, "tenant-1", "journal-1")
        events = await store.events(tenant="tenant-1", record_id="journal-1")

        assert (stored, stored.version, stored.state) == (journal, 3, {"sum": 7})
        assert [event.type for event in events] == ["journal.begun", "journal.written", "journal.written"]
        assert [event.changed["entry"] for event in events] == [{}, {"add": 3}, {"add": 4}]
        assert events[-1].changed["digest"] == stored.digest
        assert (await verify_store(store))[1] == []

    async def test_the_newest_journals_come_first_and_of_one_tenant_where_asked(self, store: Store) -> None:
        for second, (tenant, id) in enumerate([("ours", "a"), ("theirs", "b"), ("ours", "c"), ("ours", "d")]):
            await store_journal(store, id, tenant=tenant, second=second)

        assert await journal_ids(store, tenant="ours") == ["d", "c", "a"]
        assert await journal_ids(store, tenant="theirs") == ["b"]
        assert await journal_ids(store, tenant="nobody") == []
        assert await journal_ids(store) == ["d", "c", "b", "a"]

    async def test_an_entry_moves_a_journal_in_no_list(self, store: Store) -> None:
        first = await store_journal(store, "first")
        await store_journal(store, "second", second=1)

        await store.put(*journal_with_number(first, 1))

        assert await journal_ids(store, tenant="tenant-1") == ["second", "first"]

    async def test_journals_are_counted_no_further_than_asked(self, store: Store) -> None:
        for second, id in enumerate("abc"):
            await store_journal(store, id, second=second)

        assert await store.count(Journal, Query(tenant="tenant-1", limit=2)) == 2
        assert await store.count(Journal, Query(limit=2)) == 2

    async def test_journals_of_several_tenants_are_read_at_once(self, store: Store) -> None:
        ours, theirs = await store_journal(store, tenant="ours"), await store_journal(store, tenant="theirs")

        found = await store.get_many(Journal, [ours.key, theirs.key, Key("nobody", ours.id)])

        assert sorted(found, key=lambda journal: journal.tenant) == [ours, theirs]

    async def test_one_id_may_be_of_a_journal_a_request_and_a_thread(self, store: Store) -> None:
        journal, asked = await store_journal(store, "same"), await store_request(store, "same")
        thread = await store_change(store, a_thread("same"))

        assert await store.get(Journal, "tenant-1", "same") == journal
        assert await store.get(Request, "tenant-1", "same") == asked
        assert await store.get(Thread, "tenant-1", "same") == thread
        assert await journal_ids(store) == ["same"]

    async def test_an_erasure_empties_an_event_of_a_journal_and_leaves_its_state(
        self, store: Store, other: Store
    ) -> None:
        journal = await store_journal(store)
        journal, event = journal.written({"add": 3, "reason": SECRET}, {"sum": 3}, by="bob", now=NOON)
        await store.put(journal, event)
        erased = Erased(at=NOON, by="root", rule="person")

        after, event = journal.redacted(erased, {2: ERASED_PERSON}, **journal.without([event]))
        await store.erase(after, event, {2: {"actor": ERASED_PERSON}})

        assert await other.get(Journal, "tenant-1", "journal-1") == after
        events = await other.events(record_id="journal-1")
        assert SECRET not in "".join(each.model_dump_json() for each in events) + after.model_dump_json()
        assert [noted.entry for noted in entries_in(events)] == [{"add": 3, "reason": None}]
        assert (await verify_store(store))[1] == []
