"""Conformance tests of `ringi.contracts.store.Store.erase`: the content is gone, and the hash chain holds."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio

import pytest

from ringi.audit.verify import verify_store
from ringi.contracts.store import Store
from ringi.domain.record import ERASED_PERSON, Erased, Event, Query
from ringi.domain.request import Request
from ringi.errors import ConflictError
from ringi.privacy.redaction import redacted_event_payload, request_without_content
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, answer_to, store_change, store_request

ERASURE = Erased(at=NOON, by="root", rule="request")
SECRET = "Zwetschge 4711 秘密の"


async def store_completed(store: Store, id: str = "request-1", **ask: object) -> Request:
    """Store an answered request."""
    asked = await store_request(store, id, **{"title": f"Refund {SECRET}?", **ask})
    answer = answer_to(asked, message=SECRET)
    return await store_change(store, asked.completed(answer, by="ann", channel="test", now=NOON))


async def erase_content(store: Store, request: Request) -> Request:
    """Erase the content of a request."""
    history = await store.events(tenant=request.tenant, record_id=request.id)
    left = {event.version: redacted_event_payload(event) for event in history}
    redacted_versions = {version: payload["actor"] for version, payload in left.items()}
    after, event = request.redacted(ERASURE, redacted_versions, **request_without_content(request))
    await store.erase(after, event, left)
    return after


class ErasuresConformance:
    """Conformance tests of `erase`."""

    async def test_an_erased_record_reads_as_what_is_left_of_it(self, store: Store, other: Store) -> None:
        after = await erase_content(store, await store_completed(store))

        assert await other.get(Request, *after.key) == after
        assert SECRET not in after.model_dump_json()

    async def test_the_payloads_of_its_events_are_gone_and_their_hashes_stay(self, store: Store, other: Store) -> None:
        request = await store_completed(store)
        before = await store.events()

        await erase_content(store, request)

        events = await other.events()
        assert [event.hash for event in events[:2]] == [event.hash for event in before]
        assert [event.position for event in events[:2]] == [event.position for event in before]
        assert [event.payload for event in events[:2]] == [{"actor": "system"}, {"actor": ERASED_PERSON}]
        assert events[2].type == "request.erased"
        assert await other.tail() == events[2].position

    async def test_every_way_to_read_events_tells_the_same_after_an_erasure(self, store: Store) -> None:
        await store_completed(store, "before")
        await erase_content(store, await store_completed(store, "erased"))
        await store_completed(store, "after")

        events = await store.events()

        assert [(event.record_id, event.is_redacted) for event in events] == [
            *[("before", False)] * 2,
            *[("erased", True)] * 2,
            ("erased", False),
            *[("after", False)] * 2,
        ]
        assert await store.events(tenant="tenant-1") == events
        assert await store.events(record_id="erased") == events[2:5]
        read: list[Event] = []
        while page := await store.events(read[-1].position if read else "", 1):
            read += page
        assert read == events
        assert await store.events(events[2].position) == events[3:]

    async def test_the_chain_of_what_was_erased_twice_holds(self, store: Store) -> None:
        after = await erase_content(store, await store_completed(store))
        await erase_content(store, after)

        events = await store.events()
        assert [event.is_redacted for event in events] == [True, True, True, False]
        assert await verify_store(store) == (4, [])

    @pytest.mark.parametrize("text", ["Zwetschge", "4711", "秘密", "zwet"])
    async def test_no_search_finds_what_was_erased(self, store: Store, text: str) -> None:
        request = await store_completed(store)
        query = Query(tenant="tenant-1", text=text)
        assert await store.find(Request, query) == [request]

        await erase_content(store, request)

        assert await store.find(Request, query) == []
        assert await store.count(Request, query) == 0

    async def test_what_is_left_is_found_by_its_id_and_listed_in_its_place(self, store: Store) -> None:
        await store_completed(store, "older")
        after = await erase_content(store, await store_completed(store, "newer"))

        assert await store.find(Request, Query(tenant="tenant-1", text="newer")) == [after]
        assert [request.id for request in await store.find(Request, Query(tenant="tenant-1"))] == ["older", "newer"]

    async def test_who_was_named_finds_it_no_more(self, store: Store) -> None:
        after = await erase_content(store, await store_completed(store, assignee="ann"))

        assert await store.find(Request, Query(tenant="tenant-1", assignee="ann")) == []
        assert await store.find(Request, Query(tenant="tenant-1", assignee=ERASED_PERSON)) == [after]

    async def test_another_tenants_record_of_that_id_is_left_alone(self, store: Store) -> None:
        theirs = await store_completed(store, tenant="tenant-2")
        await erase_content(store, await store_completed(store))

        assert await store.get(Request, *theirs.key) == theirs
        assert not any(event.is_redacted for event in await store.events(tenant="tenant-2"))
        assert await store.find(Request, Query(tenant="tenant-2", text="Zwetschge")) == [theirs]

    async def test_an_erasure_of_an_old_version_conflicts_and_empties_nothing(self, store: Store) -> None:
        old, _ = a_request(title=f"Refund {SECRET}?")
        request = await store_completed(store)

        with pytest.raises(ConflictError):
            await erase_content(store, old)

        assert await store.get(Request, *request.key) == request
        assert not any(event.is_redacted for event in await store.events())
        assert await store.find(Request, Query(tenant="tenant-1", text="Zwetschge")) == [request]

    async def test_of_an_erasure_and_a_change_at_once_one_wins(self, store: Store, other: Store) -> None:
        request = await store_completed(store)
        taken, event = request.acknowledged("runner", NOON)

        done = await asyncio.gather(erase_content(store, request), other.put(taken, event), return_exceptions=True)

        assert [isinstance(each, ConflictError) for each in done].count(True) == 1
        assert await verify_store(store) == (3, [])

    async def test_many_at_once_are_all_erased(self, store: Store, other: Store) -> None:
        requests = [await store_completed(store, f"request-{n}") for n in range(20)]

        await asyncio.gather(*(erase_content((store, other)[n % 2], request) for n, request in enumerate(requests)))

        assert await store.find(Request, Query(tenant="tenant-1", text="Zwetschge")) == []
        assert await verify_store(store) == (60, [])
