"""Conformance tests of `ringi.contracts.store.Store` for the order `ended`."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ringi.contracts.store import Store
from ringi.domain.ask import Action
from ringi.domain.record import Query, Viewer
from ringi.domain.request import Request
from ringi.domain.urgency import cursor_after_urgent_request
from ringi.errors import InvalidError
from ringi.testing.clock import NOON
from ringi.testing.conformance.lists import paged_request_ids
from ringi.testing.factories import answer_to, store_change, store_request

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
ENDED: dict[str, Any] = {"tenant": "tenant-1", "order": "ended"}


async def ended_ids(store: Store, **query: object) -> list[str]:
    """Return the ids of a page in the order `ended`."""
    return [request.id for request in await store.find(Request, Query(**{**ENDED, **query}))]


async def store_ended_request(store: Store, name: str, after: timedelta, **fields: Any) -> Request:
    """Store a request that was cancelled so long after noon."""
    return await store_change(store, (await store_request(store, name, **fields)).cancelled("ann", NOON + after, None))


async def ended_pages(store: Store, size: int, **query: object) -> list[str]:
    """Return the ids of all pages in the order `ended`."""
    return await paged_request_ids(store, size, **{**ENDED, **query})


class EndingsConformance:
    """Conformance tests of the order `ended`."""

    async def test_the_latest_end_is_first_whenever_it_was_asked(self, store: Store) -> None:
        await store_request(store, "open", at=NOON + HOUR)
        for n, minutes in enumerate((3, 1, 4, 0, 2)):
            await store_ended_request(store, f"r{minutes}", timedelta(minutes=minutes), at=NOON + n * SECOND)
        expected = ["r4", "r3", "r2", "r1", "r0"]

        assert await ended_ids(store) == expected
        assert await ended_pages(store, 2) == expected
        assert await store.count(Request, Query(**ENDED)) == 5

    async def test_of_one_end_the_newest_is_first_and_none_is_missed(self, store: Store) -> None:
        for n in (3, 0, 2, 1):
            for twin in "ba":
                await store_ended_request(store, f"r{n}{twin}", HOUR, at=NOON + n * SECOND)
        await store_ended_request(store, "later", 2 * HOUR, at=NOON - HOUR)
        expected = ["later", *(f"r{n}{twin}" for n in (3, 2, 1, 0) for twin in "ba")]

        assert await ended_ids(store) == expected
        for size in (1, 3):
            assert await ended_pages(store, size) == expected

    async def test_every_end_counts_and_statuses_choose(self, store: Store) -> None:
        asked = [await store_request(store, f"r{n}", at=NOON - n * SECOND) for n in range(3)]
        await store.put(*asked[0].completed(answer_to(asked[0]), by="ann", channel="test", now=NOON))
        await store.put(*asked[1].cancelled("ann", NOON + SECOND, None))
        await store.put(*asked[2].expired(NOON + 2 * SECOND))

        assert await ended_ids(store) == ["r2", "r1", "r0"]
        assert await ended_ids(store, statuses=("completed", "expired")) == ["r2", "r0"]
        assert await ended_ids(store, ended_since=NOON + SECOND) == ["r2", "r1"]

    async def test_a_person_sees_what_ended_for_them_once(self, store: Store) -> None:
        await store_ended_request(store, "to-all", SECOND)
        await store_ended_request(store, "to-groups", 2 * SECOND, groups=["legal", "finance"])
        await store_ended_request(store, "to-bob", 3 * SECOND, assignee="bob")
        await store_ended_request(store, "by-ann", 4 * SECOND, by="ann", assignee="bob")
        await store_ended_request(store, "theirs", 5 * SECOND, tenant="theirs")
        ann = Viewer(name="ann", groups=("finance", "legal"))

        assert await ended_pages(store, 1, viewer=ann) == ["by-ann", "to-groups", "to-all"]
        assert await ended_ids(store, viewer=ann, group="legal") == ["to-groups"]
        assert await ended_ids(store, viewer=ann, assignee="bob") == ["by-ann"]
        assert await ended_ids(store, tenant="theirs") == ["theirs"]

    async def test_filters_narrow_what_ended(self, store: Store) -> None:
        for n in range(4):
            fields: dict[str, Any] = {"action": Action("pay" if n < 2 else "mail"), "by": f"agent:{n}"}
            fields |= {"tier": "high" if n % 2 else None, "priority": "low" if n == 3 else None}
            await store_ended_request(
                store, f"r{n}", -n * SECOND, kind="finish" if n % 3 else None, thread_id=f"t{n % 2}", **fields
            )

        assert await ended_pages(store, 1, tool="pay") == ["r0", "r1"]
        assert await ended_ids(store, agent="agent:2") == ["r2"]
        assert await ended_ids(store, kind="finish") == ["r1", "r2"]
        assert await ended_pages(store, 1, thread_id="t1") == ["r1", "r3"]
        assert await ended_ids(store, text="mail") == ["r2", "r3"]
        assert await ended_ids(store, tier="low") == ["r0", "r2"]
        assert await ended_ids(store, priority="low") == ["r3"]
        assert await ended_ids(store, tool="mail", kind="finish", viewer=Viewer(name="ann")) == ["r2"]

    async def test_the_matches_are_found_among_many_others(self, store: Store) -> None:
        for n in range(150):
            await store_ended_request(
                store, f"r{n:03}", n * SECOND, at=NOON - n * SECOND, assignee="ann" if n % 70 == 0 else "bob"
            )

        assert await ended_ids(store, assignee="ann") == ["r140", "r070", "r000"]
        assert (await ended_ids(store))[:2] == ["r149", "r148"]
        assert await ended_pages(store, 40) == [f"r{n:03}" for n in reversed(range(150))]

    @pytest.mark.parametrize(
        "cursor", ["nonsense", "ended:", "ended:1:2", "ended:1:2:", "ended:x:2:r", f"ended:{'9' * 19}:3:r"]
    )
    async def test_a_cursor_that_is_none_is_invalid(self, store: Store, cursor: str) -> None:
        for order in ("ended", "newest"):
            with pytest.raises(InvalidError, match="cursor"):
                await ended_ids(store, before=cursor, order=order)

    async def test_cursors_of_orders_are_not_mixed(self, store: Store) -> None:
        ended = await store_ended_request(store, "request-1", SECOND)
        queries = [Query(**{**ENDED, "order": order, "now": NOON}) for order in ("newest", "urgent", "ended")]

        for one in queries:
            for other in queries:
                if one.order != other.order:
                    with pytest.raises(InvalidError, match="cursor"):
                        await store.find(
                            Request, one.model_copy(update={"before": cursor_after_urgent_request(other, ended)})
                        )

    @pytest.mark.parametrize("ended_at", [10**17, -(10**17), 10**18 - 1, 1 - 10**18])
    @pytest.mark.parametrize("at", [10**17, 1 - 10**18, 10**18 - 1])
    async def test_the_cursor_of_a_far_end_is_one_end_of_the_list(self, store: Store, ended_at: int, at: int) -> None:
        await store_ended_request(store, "request-1", SECOND)

        assert await ended_ids(store, before=f"ended:{ended_at}:{at}:\0ü") == (["request-1"] if ended_at > 0 else [])

    @pytest.mark.parametrize("query", [{"statuses": ("completed", "pending")}, {"tenant": None}])
    async def test_the_order_is_for_ended_requests_of_a_tenant(self, store: Store, query: dict[str, Any]) -> None:
        with pytest.raises(InvalidError, match="order"):
            await ended_ids(store, **query)
