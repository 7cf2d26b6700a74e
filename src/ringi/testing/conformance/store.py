"""Conformance tests of `ringi.contracts.store.Store`: versions in sequence, each with its event, or nothing."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from typing import Any

import pytest

from ringi.contracts.store import Store
from ringi.domain.journal import Journal
from ringi.domain.record import Event, Key, Query, Record
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, NotFoundError
from ringi.testing.clock import NOON
from ringi.testing.conformance.erasures import ErasuresConformance
from ringi.testing.conformance.events import EventsConformance
from ringi.testing.conformance.journals import JournalsConformance, results_of_rivals
from ringi.testing.conformance.lists import ListsConformance
from ringi.testing.conformance.searches import SearchesConformance
from ringi.testing.conformance.urgency import EndingsConformance, UrgencyConformance
from ringi.testing.factories import CONTINUATION, a_journal, a_request, answer_to, store_change, store_request


class RecordsConformance:
    """Conformance tests of `put`, `get` and `get_many`."""

    async def test_a_record_comes_back_as_it_was_put(self, store: Store) -> None:
        content: dict[str, Any] = {"description": "Zwölf Zeichen, 稟議", "context": {"n": [1, 2.5, None, {"ok": True}]}}

        asked = await store_request(store, parked=True, **content)

        stored = await store.get(Request, "tenant-1", "request-1")
        assert (stored, stored.continuation) == (asked, CONTINUATION)

    async def test_the_other_instance_reads_what_was_put(self, store: Store, other: Store) -> None:
        asked = await store_request(store)

        assert await other.get(Request, "tenant-1", "request-1") == asked

    async def test_an_unknown_id_is_not_found(self, store: Store) -> None:
        with pytest.raises(NotFoundError, match="request-1"):
            await store.get(Request, "tenant-1", "request-1")

    async def test_an_id_belongs_to_its_kind(self, store: Store) -> None:
        await store_request(store, "same")

        for kind in (Thread, Journal):
            with pytest.raises(NotFoundError, match="same"):
                await store.get(kind, "tenant-1", "same")

    async def test_a_change_without_an_event_is_kept(self, store: Store) -> None:
        asked = await store_request(store)

        await store.put(asked.model_copy(update={"version": 2}), None)

        assert (await store.get(Request, "tenant-1", "request-1")).version == 2
        assert len(await store.events()) == 1

    async def test_a_second_first_version_conflicts(self, store: Store) -> None:
        await store_request(store)

        with pytest.raises(ConflictError):
            await store_request(store, title="Another")

    @pytest.mark.parametrize("version", [2, 4])
    async def test_the_next_version_replaces_and_any_other_conflicts(self, store: Store, version: int) -> None:
        asked = await store_request(store)
        second, event = asked.changed("claimed", "ann", NOON, claimed_by="ann")
        await store.put(second, event)
        third, late = second.changed("claimed", "bob", NOON, claimed_by="bob")

        with pytest.raises(ConflictError):
            await store.put(third.model_copy(update={"version": version}), late)

        assert await store.get(Request, "tenant-1", "request-1") == second
        assert [each.hash for each in await store.events()] == [asked.head, second.head]

    async def test_a_later_version_of_nothing_conflicts(self, store: Store) -> None:
        asked, event = a_request()

        with pytest.raises(ConflictError):
            await store.put(asked.model_copy(update={"version": 2}), event)

    async def test_other_changes_are_saved_with_the_change_and_their_events_follow(self, store: Store) -> None:
        asked = await store_request(store)
        ended = asked.completed(answer_to(asked), by="ann", channel="test", now=NOON)
        second, third = a_request("request-2", title="Second"), a_request("request-3", title="Third")

        await store.put(*ended, (second, third))

        after = [each for each, _ in (ended, second, third)]
        assert [await store.get(Request, *each.key) for each in after] == after
        assert [event.hash for event in await store.events()] == [asked.head, *(each.head for each in after)]
        found = await store.find(Request, Query(tenant="tenant-1", text="third"))
        assert [each.id for each in found] == ["request-3"]

    @pytest.mark.parametrize("refused", ["the change", "another"])
    async def test_changes_of_which_one_conflicts_leave_nothing(self, store: Store, refused: str) -> None:
        asked = await store_request(store)
        ended = asked.completed(answer_to(asked), by="ann", channel="test", now=NOON)
        taken = "request-1" if refused == "another" else "request-2"
        changed = ended[0].model_copy(update={"version": 3}) if refused == "the change" else ended[0]

        with pytest.raises(ConflictError):
            await store.put(changed, ended[1], (a_request("request-3"), a_request(taken)))

        assert await store.find(Request, Query(tenant="tenant-1")) == [asked]
        assert [event.hash for event in await store.events()] == [asked.head]

    @pytest.mark.parametrize("kind", ["questions", "answers", "entries"])
    async def test_of_ten_writers_at_once_one_wins(self, store: Store, other: Store, kind: str) -> None:
        asked, journal = await store_request(store, "asked"), await store_change(store, a_journal())
        names = [f"person-{n}" for n in range(10)]
        changes: dict[str, list[tuple[Record, Event | None]]] = {
            "questions": [a_request(title=name) for name in names],
            "answers": [asked.completed(answer_to(asked), by=name, channel="test", now=NOON) for name in names],
            "entries": [journal.written({"by": name}, {"sum": 0}, by=name, now=NOON) for name in names],
        }

        won = await results_of_rivals((store, other)[n % 2].put(*each) for n, each in enumerate(changes[kind]))

        winner, _ = changes[kind][won.index(True)]
        assert won.count(True) == 1
        assert await other.get(type(winner), *winner.key) == winner
        assert [event.hash for event in await store.events()] == [asked.head, journal.head, winner.head]

    async def test_equal_ids_of_two_tenants_never_meet(self, store: Store) -> None:
        ours = await store_request(store, tenant="ours", title="Ours")
        theirs = await store_request(store, tenant="theirs", title="Theirs")

        await store.put(*ours.changed("claimed", "ann", NOON, claimed_by="ann"))

        assert await store.get(Request, "theirs", "request-1") == theirs
        with pytest.raises(NotFoundError):
            await store.get(Request, "nobody", "request-1")

    async def test_tenant_and_id_do_not_run_into_each_other(self, store: Store) -> None:
        await store_request(store, "b:c", tenant="a")

        with pytest.raises(NotFoundError):
            await store.get(Request, "a:b", "c")

    async def test_many_are_read_at_once_and_the_missing_left_out(self, store: Store) -> None:
        ours = await store_request(store, "one", tenant="ours")
        theirs = await store_request(store, "one", tenant="theirs")
        await store_request(store, "two", tenant="theirs")

        found = await store.get_many(Request, [Key("ours", "one"), Key("theirs", "one"), Key("ours", "two")])

        assert sorted(found, key=lambda request: request.tenant) == [ours, theirs]

    async def test_of_no_keys_nothing_is_read(self, store: Store) -> None:
        assert await store.get_many(Request, []) == []


class StoreConformance(
    RecordsConformance,
    JournalsConformance,
    ListsConformance,
    SearchesConformance,
    EndingsConformance,
    UrgencyConformance,
    EventsConformance,
    ErasuresConformance,
):
    """Conformance tests of a store. `store` is an empty one; `other` may be a second one on the same data."""

    @pytest.fixture
    def store(self) -> Store:
        """Override: an empty store."""
        raise NotImplementedError

    @pytest.fixture
    def other(self, store: Store) -> Store:
        """Override if two processes can share the data: another instance on the data of `store`."""
        return store
