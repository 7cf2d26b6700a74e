"""Conformance tests of `ringi.contracts.store.Store` for lists: matches, order and pages."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from ringi.contracts.store import Store
from ringi.domain.ask import Action, Receipt
from ringi.domain.record import MICROSECOND, CutPage, Query, Viewer, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.thread import Failure, Thread
from ringi.domain.urgency import cursor_after_urgent_request
from ringi.errors import InvalidError
from ringi.testing.clock import NOON
from ringi.testing.factories import a_thread, answer_to, store_change, store_request, store_requests

SECOND = timedelta(seconds=1)
WITHOUT_GROUPS = Viewer(name="eve")
WAYS_TO_A_PAGE: list[dict[str, Any]] = [
    {},
    {"thread_id": "thread-1"},
    {"viewer": Viewer(name="ann", groups=("finance",))},
    {"text": "refund"},
    {"statuses": ("pending",), "order": "urgent", "now": NOON},
]
"""Conditions that stores answer in different ways."""


async def matching_request_ids(store: Store, **query: object) -> list[str]:
    """Return the ids of the matching requests; their number equals the count."""
    found = await store.find(Request, Query(**query))
    assert await store.count(Request, Query(**query)) == len(found)
    return [request.id for request in found]


async def request_pages(store: Store, page: Query) -> AsyncIterator[list[Request]]:
    """Yield the pages of the matching requests in any order of lists, until one is empty."""
    while found := await store.find(Request, page):
        yield found
        page = page.model_copy(update={"before": cursor_after_urgent_request(page, found[-1]), "now": None})


async def paged_request_ids(store: Store, size: int, **query: object) -> list[str]:
    """Return the ids of the matching requests, read page by page in any order of lists."""
    return [request.id async for page in request_pages(store, Query(limit=size, **query)) for request in page]


class ListsConformance:
    """Conformance tests of `find` and `count`."""

    async def test_the_newest_come_first(self, store: Store) -> None:
        for n, name in enumerate(("old", "middle", "new")):
            await store_request(store, name, at=NOON + n * SECOND)

        assert await matching_request_ids(store) == ["new", "middle", "old"]

    async def test_pages_over_equal_times_neither_skip_nor_repeat(self, store: Store) -> None:
        expected = sorted((f"request-{n:02}" for n in range(7)), reverse=True)
        await store_requests(store, expected)

        assert await paged_request_ids(store, 3) == expected
        assert await paged_request_ids(store, 3, tenant="tenant-1", statuses=("pending",)) == expected

    async def test_more_of_one_instant_than_any_page_holds_keep_their_order(self, store: Store) -> None:
        names = [f"request-{n * 37 % 100:02}" for n in range(100)]
        await store_requests(store, names)
        await store_request(store, "older", at=NOON - MICROSECOND)
        await store_request(store, "newer", at=NOON + MICROSECOND)
        expected = ["newer", *sorted(names, reverse=True), "older"]

        assert await paged_request_ids(store, 7) == expected
        assert await paged_request_ids(store, 7, tenant="tenant-1", viewer=WITHOUT_GROUPS) == expected
        assert await paged_request_ids(store, 7, tenant="tenant-1", text="refund") == expected
        assert await store.count(Request, Query(tenant="tenant-1", limit=1000)) == 102

    async def test_requests_of_before_1970_are_the_last(self, store: Store) -> None:
        for year in (1969, 1970, 1, 2026):
            await store_request(store, f"of-{year}", at=NOON.replace(year=year))

        assert await paged_request_ids(store, 1, tenant="tenant-1") == ["of-2026", "of-1970", "of-1969", "of-1"]

    async def test_pages_over_equal_ids_of_tenants_neither_skip_nor_repeat(self, store: Store) -> None:
        for tenant in ("a", "b:c", "ü/稟"):
            await store_request(store, tenant=tenant)

        seen = [request.tenant async for page in request_pages(store, Query(limit=1)) for request in page]

        assert sorted(seen) == ["a", "b:c", "ü/稟"]

    async def test_a_page_holds_while_newer_records_arrive(self, store: Store) -> None:
        first = await store_request(store, "first")
        second = await store_request(store, "second", at=NOON + SECOND)
        await store_request(store, "third", at=NOON + 2 * SECOND)

        assert await matching_request_ids(store, before=cursor_after_record(second)) == [first.id]

    async def test_pages_hold_while_others_write(self, store: Store, other: Store) -> None:
        names = [f"request-{n:02}" for n in range(30)]
        for n, name in enumerate(names):
            await store_request(store, name, at=NOON + n * SECOND)
        seen: list[str] = []
        async for page in request_pages(store, Query(tenant="tenant-1", limit=4, text="refund")):
            seen += [request.id for request in page]
            await store_request(other, f"newer-{len(seen)}", at=NOON + 100 * SECOND)
            await other.put(*page[0].cancelled("ann", NOON, None))

        assert seen == names[::-1]

    @pytest.mark.parametrize("query", WAYS_TO_A_PAGE, ids=" ".join)
    async def test_a_page_ends_with_its_bytes(self, store: Store, query: dict[str, Any]) -> None:
        sizes = [30_000, 100, 20_000, 9_000, 100, 100, 40_000, 100]
        names = [f"request-{n}" for n in range(len(sizes))]
        for name, size in zip(names, sizes, strict=True):
            # One instant and no deadline: every order is that of the ids.
            action = Action("refund", {"order": 1182, "why": "ü" * size})
            await store_request(store, name, action=action, thread_id="thread-1", groups=["finance"])
        matching, seen, lengths = Query(tenant="tenant-1", **query), list[str](), list[int]()
        async for found in request_pages(store, matching.model_copy(update={"limit": 3, "max_bytes": 25_000})):
            lengths.append(len(found))
            seen += [request.id for request in found]
            is_large = sum(len(request.model_dump_json().encode()) for request in found) >= 25_000
            assert isinstance(found, CutPage) or not is_large or len(found) == 3
            assert not isinstance(found, CutPage) or is_large

        assert sorted(seen) == names
        assert set(lengths) >= {1, 2}
        assert not isinstance(await store.find(Request, matching), CutPage)

    @pytest.mark.parametrize(
        "cursor",
        [
            *("nonsense", "12", "²:a:b", "--5:a:b", ":a:b"),
            *("ended:", "ended:1:2", "ended:1:2:", "ended:x:2:r", f"ended:{'9' * 19}:3:r"),
            *("urgent:", "urgent:1:due:2", "urgent:1:soon:2:3:r", "urgent:x:due:2:3:r", "urgent:1:due:2:3:"),
            *("urgent:999999999999999999:due:2:3:r", f"urgent:1:due:{'9' * 19}:3:r"),
            *("urgent:1:rank:32:3:r", "urgent:1:rank:-1:3:r", f"urgent:1:rank:{'9' * 18}:3:r"),
        ],
    )
    async def test_a_wrong_cursor_is_invalid_in_every_order(self, store: Store, cursor: str) -> None:
        orders: list[dict[str, Any]] = [{}, {"order": "urgent", "now": NOON}, {"order": "ended"}, {"tenant": None}]
        for order in orders:
            with pytest.raises(InvalidError, match="cursor"):
                await store.find(Request, Query(**{"tenant": "tenant-1", "before": cursor, **order}))

    async def test_a_tenant_sees_its_own(self, store: Store) -> None:
        await store_request(store, "same", tenant="ours")
        await store_request(store, "same", tenant="theirs")

        assert [request.tenant for request in await store.find(Request, Query(tenant="ours"))] == ["ours"]

    async def test_kinds_of_records_have_lists_of_their_own(self, store: Store) -> None:
        await store_request(store)
        thread = await store_change(store, a_thread())

        assert await store.find(Thread, Query(tenant="tenant-1")) == [thread]
        assert await matching_request_ids(store, tenant="tenant-1") == ["request-1"]

    @pytest.mark.parametrize(
        "query",
        [
            {"statuses": ("completed",)},
            {"statuses": ("completed", "cancelled")},
            {"kind": "finish"},
            {"priority": "high"},
            {"assignee": "ann"},
            {"assigned_or_claimed_by": "ann"},
            {"thread_id": "thread-7"},
            {"asked_by": "agent-7"},
            *({"tool": "pay"}, {"agent": "agent-7"}, {"tier": "high"}, {"group": "legal"}),
            {"tool": "pay", "ended_since": NOON},
            {"tool": "pay", "agent": "agent-7", "tier": "high", "group": "legal", "viewer": Viewer(name="ann")},
            {"assignee": "ann", "statuses": ("completed",)},
            {"assigned_or_claimed_by": "ann", "asked_by": "agent-7", "assignee": "ann", "viewer": Viewer(name="ann")},
            {"assigned_or_claimed_by": "ann", "viewer": Viewer(name="agent-7")},
            *({"text": "1182", "kind": "finish"}, {"priority": "high", "kind": "finish"}),
            {"text": "1182", "assigned_or_claimed_by": "ann", "thread_id": "thread-7"},
            *({"ended_since": NOON}, {"ended_since": NOON, "assignee": "ann", "kind": "finish"}),
        ],
    )
    @pytest.mark.parametrize("tenant", ["tenant-1", None])
    async def test_each_filter_finds_what_has_it(self, store: Store, query: dict[str, Any], tenant: str | None) -> None:
        await store_request(store, "other", title="Another?", action=None)
        fields: dict[str, Any] = {"kind": "finish", "priority": "high", "assignee": "ann", "thread_id": "thread-7"}
        fields |= {"action": Action("pay", {"order": "1182"}), "tier": "high", "groups": ["legal"]}
        asked = await store_request(store, by="agent-7", at=NOON + SECOND, **fields)
        done = await store_change(store, asked.completed(answer_to(asked), by="ann", channel="test", now=NOON))

        assert await store.find(Request, Query(tenant=tenant, **query)) == [done]
        assert await store.count(Request, Query(tenant=tenant, **query)) == 1
        assert await store.find(Request, Query(tenant="theirs", **query)) == []

    async def test_a_change_moves_a_record_to_its_new_list(self, store: Store) -> None:
        asked = await store_request(store, assignee="ann")
        await store.put(*asked.reassigned("ann", NOON, "bob", ["boss"]))

        assert await matching_request_ids(store, tenant="tenant-1", assignee="ann") == []
        assert await matching_request_ids(store, tenant="tenant-1", assignee="bob") == ["request-1"]
        cat = Viewer(name="cat", groups=("boss",))
        assert await matching_request_ids(store, tenant="tenant-1", viewer=cat) == ["request-1"]

    async def test_what_ended_leaves_the_list_of_what_is_pending(self, store: Store) -> None:
        asked = await store_request(store)
        await store_request(store, "other")
        await store.put(*asked.cancelled("ann", NOON, None))

        assert await matching_request_ids(store, tenant="tenant-1", statuses=("pending",)) == ["other"]
        assert await matching_request_ids(store, tenant="tenant-1", statuses=("cancelled", "expired")) == ["request-1"]
        assert await matching_request_ids(store, tenant="tenant-1") == ["request-1", "other"]

    async def test_what_says_nothing_of_its_priority_is_normal(self, store: Store) -> None:
        for priority in ("low", "normal", "urgent", None):
            await store_request(store, f"says-{priority}", priority=priority)

        assert await matching_request_ids(store, tenant="tenant-1", priority="normal") == ["says-normal", "says-None"]
        assert await matching_request_ids(store, tenant="tenant-1", priority="low") == ["says-low"]

    async def test_mine_is_what_is_assigned_to_me_or_claimed_by_me(self, store: Store) -> None:
        for name, assignee in (("assigned", "ann"), ("claimed", None), ("both", "ann"), ("released", None)):
            asked = await store_request(store, name, assignee=assignee)
            if name != "assigned":
                asked = await store_change(store, asked.claimed("ann", NOON, SECOND))
            if name == "released":
                await store.put(*asked.released("ann", NOON))
        await store_request(store, "bobs", assignee="bob")

        mine = await matching_request_ids(store, tenant="tenant-1", assigned_or_claimed_by="ann")
        assert mine == ["claimed", "both", "assigned"]

    async def test_only_what_ended_at_that_time_or_later_has_ended_since(self, store: Store) -> None:
        for n, name in enumerate(("before", "at", "after")):
            asked = await store_request(store, name, groups=["legal", "finance"])
            await store.put(*asked.cancelled("ann", NOON + n * SECOND, None))
        expiring = await store_request(store, "expired", expires_in=2)
        await store.put(*expiring.expired(NOON + 2 * SECOND))
        await store_request(store, "pending")
        since: dict[str, Any] = {"tenant": "tenant-1", "ended_since": NOON + SECOND}

        assert await matching_request_ids(store, **since) == ["expired", "at", "after"]
        assert await matching_request_ids(store, **since, viewer=WITHOUT_GROUPS) == ["expired"]
        bob = Viewer(name="bob", groups=("finance", "legal"))
        assert await matching_request_ids(store, **since, viewer=bob) == ["expired", "at", "after"]
        assert await matching_request_ids(store, **since, statuses=("cancelled",)) == ["at", "after"]

    async def test_a_viewer_sees_what_is_open_to_all_assigned_or_offered_to_a_group(self, store: Store) -> None:
        await store_request(store, "to-all")
        await store_request(store, "to-ann", assignee="ann")
        await store_request(store, "to-groups", groups=["finance", "legal"])

        assert sorted(await matching_request_ids(store, viewer=WITHOUT_GROUPS)) == ["to-all"]
        assert sorted(await matching_request_ids(store, viewer=Viewer(name="ann"))) == ["to-all", "to-ann"]
        legal = Viewer(name="bob", groups=("sales", "legal"))
        assert sorted(await matching_request_ids(store, viewer=legal)) == ["to-all", "to-groups"]

    async def test_a_deputy_sees_what_is_open_to_the_absent_person(self, store: Store) -> None:
        await store_request(store, "to-ann", assignee="ann")
        await store_request(store, "to-groups", groups=["finance", "legal"])
        await store_request(store, "to-bob", assignee="bob", groups=["legal"])
        await store_request(store, "by-ann", by="ann", assignee="cat")
        absent = Viewer(name="ann", groups=("finance",))
        deputy = Viewer(name="bob", groups=("sales",), deputy_for=(absent,))

        assert sorted(await matching_request_ids(store, viewer=deputy)) == ["to-ann", "to-bob", "to-groups"]
        assert await store.count(Request, Query(viewer=deputy)) == 3

    async def test_a_viewer_sees_what_they_asked_once(self, store: Store) -> None:
        await store_request(store, "ours", by="ann")
        await store_request(store, "mine", by="ann", assignee="ann", groups=["legal", "finance"])
        await store_request(store, "passed-on", by="ann", assignee="bob")
        await store_request(store, "theirs", by="bob", assignee="bob")
        ann = Viewer(name="ann", groups=("legal", "finance", "legal"))
        seen: dict[str, Any] = {"tenant": "tenant-1", "viewer": ann}

        assert await matching_request_ids(store, **seen) == ["passed-on", "ours", "mine"]
        own = await matching_request_ids(store, **seen, statuses=("pending",), assigned_or_claimed_by="ann")
        assert own == ["mine"]
        assert await matching_request_ids(store, **seen, assignee="bob") == ["passed-on"]

    async def test_no_name_passes_for_another(self, store: Store) -> None:
        await store_request(store, "all", by='x", "all')
        await store_request(store, "groups", groups=["to:ann", '", "to:ann', "all", "*"])

        assert await matching_request_ids(store, tenant="tenant-1", assignee="ann") == []
        ann = Viewer(name="ann", groups=("ann", "x"))
        assert await matching_request_ids(store, tenant="tenant-1", viewer=ann) == ["all"]

    async def test_a_group_is_not_part_of_another_groups_name(self, store: Store) -> None:
        await store_request(store, groups=["legal-eu", 'quote"d', "a,b"])

        parts = Viewer(name="bob", groups=("legal", "eu", "quote", "a", "b"))
        assert await matching_request_ids(store, viewer=parts) == []
        assert await matching_request_ids(store, viewer=Viewer(name="bob", groups=("a,b",))) == ["request-1"]

    async def test_counting_stops_at_the_limit(self, store: Store) -> None:
        await store_requests(store, "abcde")

        assert await store.count(Request, Query(limit=3)) == 3

    async def test_a_repeated_status_counts_once(self, store: Store) -> None:
        await store_requests(store, "abc")
        repeated = Query(statuses=("pending", "pending"))

        assert await store.count(Request, repeated) == len(await store.find(Request, repeated)) == 3

    async def test_overdue_is_what_is_pending_past_its_time(self, store: Store) -> None:
        await store_request(store, "no-deadline")
        await store_request(store, "now", expires_in=10)
        await store_request(store, "later", expires_in=10.000001)
        done = await store_request(store, "done", expires_in=5)
        await store.put(*done.completed(answer_to(done), by="ann", channel="test", now=NOON))

        assert await matching_request_ids(store, expired_at=NOON + 10 * SECOND) == ["now"]

    async def test_what_is_overdue_for_longest_comes_first(self, store: Store) -> None:
        for seconds in (3, 1, 4, 2):
            await store_request(store, f"after-{seconds}", expires_in=seconds)

        at = NOON + 3 * SECOND
        assert await matching_request_ids(store, expired_at=at) == ["after-1", "after-2", "after-3"]
        assert await matching_request_ids(store, expired_at=at, limit=2) == ["after-1", "after-2"]
        assert await matching_request_ids(store, expired_at=at, tenant="tenant-1", limit=1) == ["after-1"]

    async def test_of_more_that_is_overdue_than_a_page_holds_each_tenant_has_a_share(self, store: Store) -> None:
        await store_request(store, "b", tenant="tenant-b", expires_in=9)
        await store_request(store, "later", tenant="tenant-c", expires_in=11)
        for n in range(30):
            await store_request(store, f"a{n:02}", tenant="tenant-a", expires_in=5, at=NOON + n * MICROSECOND)

        found = await store.find(Request, Query(expired_at=NOON + 10 * SECOND, limit=10))
        assert [request.id for request in found] == ["a00", "a01", "a02", "a03", "a04", "b"]

    async def test_unacknowledged_is_what_ended_and_was_not_taken_up(self, store: Store) -> None:
        await store_request(store, "pending", parked=True)
        ended = dict[str, Request]()
        for name in ("ended", "taken-up", "stuck", "no-run"):
            asked = await store_request(store, name, parked=name != "no-run")
            ended[name] = await store_change(store, asked.cancelled("ann", NOON, None))
        await store.put(*ended["taken-up"].acknowledged("worker", NOON))
        await store.put(*ended["stuck"].needing_attention("no such node", NOON))

        assert await matching_request_ids(store, unacknowledged=True) == ["ended"]
        assert sorted(await matching_request_ids(store, unsettled=True)) == ["ended", "pending", "stuck"]
        cancelled = await matching_request_ids(store, unsettled=True, tenant="tenant-1", statuses=("cancelled",))
        assert sorted(cancelled) == ["ended", "stuck"]
        assert await matching_request_ids(store, unsettled=True, thread_id="of nobody") == []

    async def test_unexecuted_is_what_was_approved_and_nobody_acknowledged(self, store: Store) -> None:
        await store_request(store, "pending")
        for name in ("approved", "executed", "theirs", "rejected"):
            asked = await store_request(store, name, tenant="tenant-2" if name == "theirs" else "tenant-1")
            answer = answer_to(asked, "reject" if name == "rejected" else "approve")
            await store.put(*asked.completed(answer, by="ann", channel="test", now=NOON))
        done = await store.get(Request, "tenant-1", "executed")
        await store.put(*done.acknowledged("agent:bot", NOON, Receipt(outcome="committed")))

        assert sorted(await matching_request_ids(store, tenant=None, unexecuted=True)) == ["approved", "theirs"]
        assert await matching_request_ids(store, unexecuted=True, tenant="tenant-1") == ["approved"]
        assert await matching_request_ids(store, unexecuted=True, tenant="tenant-1", asked_by="nobody") == []
        assert await matching_request_ids(store, unexecuted=True, tenant="tenant-1", statuses=("pending",)) == []
        assert await store.count(Request, Query(tenant="tenant-1", unexecuted=True)) == 1
        assert (await store.get(Request, "tenant-1", "executed")).outcome == "committed"

    async def test_attention_finds_what_waits_for_an_operator_answered_or_not(self, store: Store) -> None:
        stuck = dict[str, Request]()
        for name in ("open", "answered", "taken-up", "retried"):
            asked = await store_request(store, name, parked=True)
            stuck[name] = await store_change(store, asked.needing_attention("no such node", NOON))
        answer = answer_to(stuck["answered"])
        await store.put(*stuck["answered"].completed(answer, by="ann", channel="test", now=NOON))
        await store.put(*stuck["taken-up"].acknowledged("worker", NOON))
        await store.put(*stuck["retried"].retried("ann", NOON))
        await store_request(store, "other", parked=True)
        await store_request(store, "theirs", tenant="theirs")

        assert sorted(await matching_request_ids(store, attention=True)) == ["answered", "open"]
        assert await matching_request_ids(store, tenant="theirs", attention=True) == []
        assert await store.count(Request, Query(attention=True)) == 2

    async def test_threads_are_found_by_their_status(self, store: Store) -> None:
        _, thread = [await store_change(store, a_thread(name)) for name in ("running", "failed")]
        held = await store_change(store, thread.acquired("worker", NOON, 30 * SECOND))
        failed = await store_change(store, held.failed(held, NOON, Failure(message="no", code="bug")))

        assert await store.find(Thread, Query(tenant="tenant-1", statuses=("error",))) == [failed]
        assert await store.find(Thread, Query(tenant="theirs", statuses=("error",))) == []

    async def test_unleased_is_what_runs_without_a_worker(self, store: Store) -> None:
        _, held, done = [await store_change(store, a_thread(name)) for name in ("waiting", "held", "done")]
        await store.put(*held.acquired("worker", NOON, 30 * SECOND))
        done = await store_change(store, done.acquired("worker", NOON, 30 * SECOND))
        await store.put(*done.finished(done, NOON, {}))

        async def unleased(seconds: float) -> list[str]:
            query = Query(unleased_at=NOON + seconds * SECOND)
            return sorted(thread.id for thread in await store.find(Thread, query))

        assert await unleased(29) == ["waiting"]
        assert await unleased(30) == ["held", "waiting"]

    async def test_a_renewed_lease_counts(self, store: Store) -> None:
        thread = await store_change(store, a_thread())
        held = await store_change(store, thread.acquired("worker", NOON, 30 * SECOND))
        await store.put(*held.renewed(held, NOON + 20 * SECOND, 30 * SECOND))

        assert await store.find(Thread, Query(unleased_at=NOON + 40 * SECOND)) == []

    async def test_a_time_far_away_is_kept_to_the_microsecond(self, store: Store) -> None:
        at = NOON.replace(year=9999, microsecond=999_999)
        asked = await store_request(store, at=at)

        assert await matching_request_ids(store, before=cursor_after_record(asked)) == []
        assert (await store.events())[0].at == at
