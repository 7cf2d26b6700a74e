"""Conformance tests of `ringi.contracts.store.Store` for the orders `urgent` and `ended`."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from datetime import timedelta
from itertools import permutations, product
from random import Random
from typing import Any

import pytest

from ringi.contracts.store import Store
from ringi.domain.ask import Action
from ringi.domain.record import Query, Viewer
from ringi.domain.request import Request
from ringi.domain.urgency import PRIORITIES, TIERS, cursor_after_urgent_request, urgent_query
from ringi.errors import InvalidError
from ringi.testing.clock import NOON
from ringi.testing.conformance.lists import paged_request_ids
from ringi.testing.factories import answer_to, store_change, store_request

SECOND, HOUR = timedelta(seconds=1), timedelta(hours=1)
URGENT: dict[str, Any] = {"tenant": "tenant-1", "order": "urgent", "now": NOON}
ENDED: dict[str, Any] = {"tenant": "tenant-1", "order": "ended"}


async def urgent_ids(store: Store, **query: object) -> list[str]:
    """Return the ids of a page in the order `urgent`."""
    return [request.id for request in await store.find(Request, Query(**{**URGENT, **query}))]


async def urgent_pages(store: Store, size: int, **query: object) -> list[str]:
    """Return the ids of all pages in the order `urgent`."""
    return await paged_request_ids(store, size, **{**URGENT, **query})


class UrgencyConformance:
    """Conformance tests of the order `urgent`."""

    async def test_overdue_comes_before_due_soon_and_both_before_the_rest(self, store: Store) -> None:
        asks: dict[str, dict[str, Any]] = {
            "low": {"priority": "low"},
            "normal": {},
            "later": {"due_at": NOON + HOUR + SECOND, "priority": "urgent"},
            "in-an-hour": {"due_at": NOON + HOUR},
            "expires-first": {"due_at": NOON + HOUR, "expires_at": NOON + SECOND},
            "due-first": {"due_at": NOON + 2 * SECOND, "expires_at": NOON + HOUR},
            "now": {"due_at": NOON, "priority": "low"},
            "overdue": {"due_at": NOON - HOUR},
        }
        for n, (name, fields) in enumerate(asks.items()):
            await store_request(store, name, at=NOON - n * SECOND, **fields)
        expected = ["overdue", "now", "expires-first", "due-first", "in-an-hour", "later", "normal", "low"]

        assert await urgent_ids(store) == expected
        assert await urgent_pages(store, 3) == expected
        assert (await urgent_ids(store, now=NOON - 2 * HOUR))[:2] == ["overdue", "later"]

    async def test_the_rest_is_by_priority_then_tier_then_first_of_its_kind_then_age(self, store: Store) -> None:
        asks: dict[str, dict[str, Any]] = {}
        for priority, tier, is_first, age in product(PRIORITIES, TIERS, (True, False), (2, 1)):
            about = {"priority": priority, "tier": tier, "first_of_kind": is_first, "at": NOON - age * SECOND}
            asks[f"{priority}-{tier}-{is_first}-{age}"] = about
        for name, about in sorted(asks.items(), key=lambda each: each[0][::-1]):
            await store_request(store, name, **about)

        names = [*asks]
        assert await urgent_pages(store, 7) == names
        assert await urgent_pages(store, 7, tier="high") == [name for name in names if "-high-" in name]
        assert await urgent_pages(store, 7, priority="low") == [name for name in names if name.startswith("low")]

    async def test_what_says_nothing_of_priority_and_tier_is_normal_and_low(self, store: Store) -> None:
        await store_request(store, "b-silent", at=NOON)
        await store_request(store, "a-says-so", at=NOON, priority="normal", tier="low")
        await store_request(store, "higher", priority="high")

        assert await urgent_ids(store) == ["higher", "a-says-so", "b-silent"]
        assert await urgent_ids(store, tier="low", priority="normal") == ["a-says-so", "b-silent"]

    async def test_the_most_urgent_are_first_among_many(self, store: Store) -> None:
        random = Random(0)
        for n in range(100):
            await store_request(store, f"harmless-{n:03}", at=NOON + n * SECOND)
        await store_request(store, "irreversible", tier="irreversible", at=NOON + HOUR)
        for n in random.sample(range(5), 5):
            await store_request(store, f"due-{n}", due_at=NOON + timedelta(minutes=5, seconds=n), at=NOON + 2 * HOUR)

        assert (await urgent_ids(store))[:7] == [*(f"due-{n}" for n in range(5)), "irreversible", "harmless-000"]

    async def test_a_person_sees_what_is_urgent_for_them_once(self, store: Store) -> None:
        await store_request(store, "to-all", priority="low")
        await store_request(store, "to-groups", groups=["legal", "finance"], due_at=NOON)
        await store_request(store, "to-bob", assignee="bob", priority="urgent")
        await store_request(store, "by-ann", by="ann", assignee="bob", priority="high")
        await store_request(store, "theirs", tenant="theirs", priority="urgent")
        ann = Viewer(name="ann", groups=("finance", "legal"))

        assert await urgent_pages(store, 1, viewer=ann) == ["to-groups", "by-ann", "to-all"]
        assert await urgent_ids(store, viewer=ann, group="legal") == ["to-groups"]
        assert await urgent_ids(store, viewer=ann, assignee="bob") == ["by-ann"]
        assert await urgent_ids(store, group="legal") == ["to-groups"]

    @pytest.mark.parametrize(
        "query",
        [
            *({"tier": "high"}, {"priority": "urgent"}, {"agent": "agent:1"}),
            *({"tool": "pay"}, {"kind": "finish"}, {"thread_id": "t1"}, {"text": "mail"}),
            {"tier": "low", "priority": "low"},
            {"tier": "high", "agent": "agent:0", "tool": "pay"},
            {"tier": "medium", "viewer": Viewer(name="ann", groups=("finance", "legal"))},
            {"agent": "agent:2", "viewer": Viewer(name="ann", groups=("finance", "legal"))},
            {"tier": "irreversible", "kind": "finish"},
            {"priority": "high", "text": "pay"},
            {"tool": "mail", "kind": "finish", "viewer": Viewer(name="ann")},
        ],
    )
    async def test_a_filter_pages_through_the_due_and_the_rest(self, store: Store, query: dict[str, Any]) -> None:
        random = Random(3)
        for n in range(90):
            due_at = random.choice([None, NOON + random.randrange(-5000, 9000) * SECOND])
            about: dict[str, Any] = {"priority": random.choice(PRIORITIES), "tier": random.choice(TIERS)}
            about |= {"action": Action(random.choice(["pay", "mail"])), "kind": random.choice([None, "finish"])}
            about |= {"groups": random.choice([[], ["legal"], ["legal", "finance"], ["other"]])}
            about |= {"by": f"agent:{n % 3}", "at": NOON + random.randrange(9) * SECOND, "due_at": due_at}
            await store_request(store, f"r{n:02}", thread_id=f"t{n % 4}", **about)
        order = urgent_query(Query(**URGENT)).place_of
        matching = await store.find(Request, Query(tenant="tenant-1", statuses=("pending",), limit=90, **query))

        assert await urgent_pages(store, 2, **query) == [each.id for each in sorted(matching, key=order)]
        assert await store.count(Request, Query(**URGENT, limit=90, **query)) == len(matching) > 0

    async def test_what_ends_leaves_and_what_moves_keeps_its_place(self, store: Store) -> None:
        asked = [
            await store_request(store, f"r{n}", assignee="ann", due_at=NOON, at=NOON + n * SECOND) for n in range(4)
        ]
        await store.put(*asked[0].cancelled("ann", NOON, None))
        await store.put(*asked[1].reassigned("ann", NOON, "bob", ["legal"]))
        await store.put(*asked[2].claimed("ann", NOON, HOUR))
        await store.put(*asked[3].expired(NOON))

        assert await urgent_ids(store) == ["r1", "r2"]
        assert await urgent_ids(store, assignee="bob") == ["r1"]
        assert await urgent_ids(store, assigned_or_claimed_by="ann") == ["r2"]

    async def test_a_page_holds_while_requests_end_and_arrive_and_time_passes(self, store: Store, other: Store) -> None:
        random = Random(7)

        async def ask(name: str) -> Request:
            due_at = random.choice([None, NOON + random.randrange(-9000, 9000) * SECOND])
            about: dict[str, Any] = {"priority": random.choice(PRIORITIES), "tier": random.choice(TIERS)}
            return await store_request(other, name, at=NOON + random.randrange(9) * SECOND, due_at=due_at, **about)

        asked = {name: await ask(name) for name in (f"r{n:02}" for n in range(60))}
        stays = {name for name in asked if random.random() < 0.6}
        gone = random.sample(sorted(asked.keys() - stays), len(asked) - len(stays))
        seen: list[str] = []
        page = Query(**URGENT, limit=5)
        while found := await store.find(Request, page):
            seen += [request.id for request in found]
            page = page.model_copy(update={"before": urgent_query(page).cursor_of(found[-1]), "now": NOON + HOUR})
            await ask(f"new-{len(seen)}")
            for name in gone[:2]:
                await other.put(*asked[name].cancelled("ann", NOON, None))
            del gone[:2]
        urgent = urgent_query(Query(**URGENT))
        places = [urgent.place_of(await store.get(Request, "tenant-1", name)) for name in seen]

        assert places == sorted(places)
        assert len(seen) == len(set(seen))
        assert stays <= set(seen)

    @pytest.mark.parametrize("place", ["rank:31", "rank:0", f"due:{10**17}", f"due:-{10**17}"])
    @pytest.mark.parametrize("at", [10**17, -(10**17)])
    async def test_a_cursor_far_away_is_the_end_or_the_beginning(self, store: Store, place: str, at: int) -> None:
        await store_request(store)
        cursor = f"urgent:1:{place}:{at}:\0ü"

        assert await urgent_ids(store, before=cursor) in ([], ["request-1"])

    @pytest.mark.parametrize("query", [{"statuses": ("completed",)}, {"tenant": None}, {"now": None}])
    async def test_the_order_is_for_pending_requests_of_a_tenant_at_a_time(
        self, store: Store, query: dict[str, Any]
    ) -> None:
        with pytest.raises(InvalidError, match="order"):
            await urgent_ids(store, **query)


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
            fields |= {"kind": "finish" if n % 3 else None, "thread_id": f"t{n % 2}"}
            await store_ended_request(store, f"r{n}", -n * SECOND, **fields)

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
            assignee = "bob" if n % 70 else "ann"
            await store_ended_request(store, f"r{n:03}", n * SECOND, at=NOON - n * SECOND, assignee=assignee)

        assert await ended_ids(store, assignee="ann") == ["r140", "r070", "r000"]
        assert (await ended_ids(store))[:2] == ["r149", "r148"]
        assert await ended_pages(store, 40) == [f"r{n:03}" for n in reversed(range(150))]

    async def test_cursors_of_orders_are_not_mixed(self, store: Store) -> None:
        ended = await store_ended_request(store, "request-1", SECOND)
        queries = [Query(**{**ENDED, "order": order, "now": NOON}) for order in ("newest", "urgent", "ended")]

        for one, other in permutations(queries, 2):
            before = cursor_after_urgent_request(other, ended)
            with pytest.raises(InvalidError, match="cursor"):
                await store.find(Request, one.model_copy(update={"before": before}))

    @pytest.mark.parametrize("ended_at", [10**17, -(10**17), 10**18 - 1, 1 - 10**18])
    @pytest.mark.parametrize("at", [10**17, 1 - 10**18, 10**18 - 1])
    async def test_the_cursor_of_a_far_end_is_one_end_of_the_list(self, store: Store, ended_at: int, at: int) -> None:
        await store_ended_request(store, "request-1", SECOND)

        assert await ended_ids(store, before=f"ended:{ended_at}:{at}:\0ü") == (["request-1"] if ended_at > 0 else [])

    @pytest.mark.parametrize("query", [{"statuses": ("completed", "pending")}, {"tenant": None}])
    async def test_the_order_is_for_ended_requests_of_a_tenant(self, store: Store, query: dict[str, Any]) -> None:
        with pytest.raises(InvalidError, match="order"):
            await ended_ids(store, **query)
