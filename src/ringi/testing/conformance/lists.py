"""The promises of `ringi.store.Store` on lists: what matches, in which order, page by page."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ringi.errors import InvalidError
from ringi.record import Query, Viewer, cursor_of
from ringi.request import Request
from ringi.store import Store
from ringi.testing.clock import NOON
from ringi.testing.makers import CONTINUATION, a_request, a_thread, approval, stored
from ringi.thread import Failure, Thread

SECOND = timedelta(seconds=1)
EVERYBODYS = Viewer(name="eve")


async def ids(store: Store, **query: Any) -> list[str]:
    """Return the ids of the requests that match."""
    return [request.id for request in await store.find(Request, Query(**query))]


class ListsConformance:
    """What `find` and `count` promise."""

    async def test_the_newest_come_first(self, store: Store) -> None:
        for n, name in enumerate(("old", "middle", "new")):
            await stored(store, name, at=NOON + n * SECOND)

        assert await ids(store) == ["new", "middle", "old"]

    async def test_pages_over_equal_times_neither_skip_nor_repeat(self, store: Store) -> None:
        expected = sorted((f"request-{n:02}" for n in range(7)), reverse=True)
        for name in expected:
            await stored(store, name)
        seen: list[str] = []
        page = await store.find(Request, Query(limit=3))
        while page:
            seen += [request.id for request in page]
            page = await store.find(Request, Query(limit=3, before=cursor_of(page[-1])))

        assert seen == expected

    async def test_pages_over_equal_ids_of_tenants_neither_skip_nor_repeat(self, store: Store) -> None:
        for tenant in ("a", "b:c", "ü/稟"):
            await stored(store, tenant=tenant)
        seen: list[str] = []
        page = await store.find(Request, Query(limit=1))
        while page:
            seen += [request.tenant for request in page]
            page = await store.find(Request, Query(limit=1, before=cursor_of(page[-1])))

        assert sorted(seen) == ["a", "b:c", "ü/稟"]

    async def test_a_page_holds_while_newer_records_arrive(self, store: Store) -> None:
        first = await stored(store, "first")
        second = await stored(store, "second", at=NOON + SECOND)
        await stored(store, "third", at=NOON + 2 * SECOND)

        assert await ids(store, before=cursor_of(second)) == [first.id]

    @pytest.mark.parametrize("cursor", ["nonsense", "12", "²:a:b", "--5:a:b", ":a:b"])
    async def test_a_wrong_cursor_is_invalid(self, store: Store, cursor: str) -> None:
        with pytest.raises(InvalidError, match="cursor"):
            await store.find(Request, Query(before=cursor))

    async def test_a_tenant_sees_its_own(self, store: Store) -> None:
        await stored(store, "same", tenant="ours")
        await stored(store, "same", tenant="theirs")

        assert [request.tenant for request in await store.find(Request, Query(tenant="ours"))] == ["ours"]

    async def test_kinds_of_records_have_lists_of_their_own(self, store: Store) -> None:
        await stored(store)
        thread, event = a_thread()
        await store.put(thread, event)

        assert await store.find(Thread, Query(tenant="tenant-1")) == [thread]
        assert await ids(store, tenant="tenant-1") == ["request-1"]

    @pytest.mark.parametrize(
        "query",
        [
            {"statuses": ("completed",)},
            {"statuses": ("completed", "cancelled")},
            {"kind": "finish"},
            {"assignee": "ann"},
            {"thread_id": "thread-7"},
            {"asked_by": "agent-7"},
            {"tenant": "tenant-1", "assignee": "ann", "statuses": ("completed",)},
        ],
    )
    async def test_each_filter_finds_what_has_it(self, store: Store, query: dict[str, Any]) -> None:
        await stored(store, "other")
        asked = await stored(store, kind="finish", assignee="ann", thread_id="thread-7", by="agent-7", at=NOON + SECOND)
        done, event = asked.completed(approval(asked), by="ann", channel="test", now=NOON)
        await store.put(done, event)

        assert await store.find(Request, Query(**query)) == [done]

    async def test_a_change_moves_a_record_to_its_new_list(self, store: Store) -> None:
        asked = await stored(store, assignee="ann")
        moved, event = asked.reassigned("ann", NOON, "bob", ["boss"])
        await store.put(moved, event)

        assert await ids(store, assignee="ann") == []
        assert await ids(store, assignee="bob") == ["request-1"]
        assert await ids(store, viewer=Viewer(name="cat", groups=("boss",))) == ["request-1"]

    async def test_a_viewer_sees_what_is_open_to_all_assigned_or_offered_to_a_group(self, store: Store) -> None:
        await stored(store, "to-all")
        await stored(store, "to-ann", assignee="ann")
        await stored(store, "to-groups", candidate_groups=["finance", "legal"])

        assert sorted(await ids(store, viewer=EVERYBODYS)) == ["to-all"]
        assert sorted(await ids(store, viewer=Viewer(name="ann"))) == ["to-all", "to-ann"]
        legal = Viewer(name="bob", groups=("sales", "legal"))
        assert sorted(await ids(store, viewer=legal)) == ["to-all", "to-groups"]

    async def test_a_group_is_not_part_of_another_groups_name(self, store: Store) -> None:
        await stored(store, candidate_groups=["legal-eu", 'quote"d', "a,b"])

        assert await ids(store, viewer=Viewer(name="bob", groups=("legal", "eu", "quote", "a", "b"))) == []
        assert await ids(store, viewer=Viewer(name="bob", groups=("a,b",))) == ["request-1"]

    @pytest.mark.parametrize("text", ["返金", "ﾘﾝｷﾞ", "ﾒﾓ", "ＲＥＦＵＮＤ", "strasse", "50%", "a_b", "request-1"])
    async def test_a_search_ignores_width_and_case_and_takes_every_character_as_it_is(
        self, store: Store, text: str
    ) -> None:
        words = "稟議リンギ ﾒﾓ Straße 50% a_b"
        await stored(store, title="注文1182の返金 Refund", description=words, action=None)
        await stored(store, "another", title="Hello", description="500 axb", action=None)

        assert await ids(store, text=text) == ["request-1"]

    async def test_a_search_looks_at_the_action_too(self, store: Store) -> None:
        await stored(store, title="Go on?")

        assert await ids(store, text="refund") == ["request-1"]
        assert await ids(store, text="nowhere") == []

    async def test_counting_counts_all_pages(self, store: Store) -> None:
        for n in range(5):
            await stored(store, f"request-{n}", assignee="ann" if n else None)

        assert await store.count(Request, Query(assignee="ann")) == 4

    async def test_counting_stops_at_the_limit(self, store: Store) -> None:
        for n in range(5):
            await stored(store, f"request-{n}")

        assert await store.count(Request, Query(limit=3)) == 3

    async def test_overdue_is_what_is_pending_past_its_time(self, store: Store) -> None:
        await stored(store, "no-deadline")
        await stored(store, "now", expires_in=10)
        await stored(store, "later", expires_in=10.000001)
        done = await stored(store, "done", expires_in=5)
        await store.put(*done.completed(approval(done), by="ann", channel="test", now=NOON))

        assert await ids(store, expired_at=NOON + 10 * SECOND) == ["now"]

    async def test_unacknowledged_is_what_ended_and_was_not_taken_up(self, store: Store) -> None:
        await stored(store, "pending", parked=True)
        for name, parked in (("ended", True), ("taken-up", True), ("stuck", True), ("no-run", False)):
            asked = await stored(store, name, parked=parked)
            await store.put(*asked.cancelled("ann", NOON, None))
        taken = await store.get(Request, "tenant-1", "taken-up")
        await store.put(*taken.acknowledged("worker", NOON))
        stuck = await store.get(Request, "tenant-1", "stuck")
        await store.put(*stuck.needing_attention("no such node", NOON))

        assert await ids(store, unacknowledged=True) == ["ended"]

    async def test_attention_finds_what_waits_for_an_operator_answered_or_not(self, store: Store) -> None:
        for name in ("open", "answered", "taken-up", "retried"):
            asked = await stored(store, name, parked=True)
            await store.put(*asked.needing_attention("no such node", NOON))
        answered = await store.get(Request, "tenant-1", "answered")
        await store.put(*answered.completed(approval(answered), by="ann", channel="test", now=NOON))
        for name in ("taken-up", "retried"):
            stuck = await store.get(Request, "tenant-1", name)
            await store.put(*(stuck.retried("ann", NOON) if name == "retried" else stuck.acknowledged("worker", NOON)))
        await stored(store, "other", parked=True)
        await stored(store, "theirs", tenant="theirs")

        assert sorted(await ids(store, attention=True)) == ["answered", "open"]
        assert await ids(store, tenant="theirs", attention=True) == []
        assert await store.count(Request, Query(attention=True)) == 2

    async def test_threads_are_found_by_their_status(self, store: Store) -> None:
        for name in ("running", "failed"):
            await store.put(*a_thread(name))
        held, event = (await store.get(Thread, "tenant-1", "failed")).acquired("worker", NOON, 30 * SECOND)
        await store.put(held, event)
        failed, event = held.failed(held.fence, NOON, Failure(message="no", code="bug"))
        await store.put(failed, event)

        assert await store.find(Thread, Query(tenant="tenant-1", statuses=("error",))) == [failed]
        assert await store.find(Thread, Query(tenant="theirs", statuses=("error",))) == []

    async def test_a_continuation_comes_back_as_it_was_put(self, store: Store) -> None:
        await stored(store, parked=True)

        assert (await store.get(Request, "tenant-1", "request-1")).continuation == CONTINUATION

    async def test_unleased_is_what_runs_without_a_worker(self, store: Store) -> None:
        for name in ("waiting", "held", "done"):
            await store.put(*a_thread(name))
        held, event = (await store.get(Thread, "tenant-1", "held")).acquired("worker", NOON, 30 * SECOND)
        await store.put(held, event)
        done, event = (await store.get(Thread, "tenant-1", "done")).acquired("worker", NOON, 30 * SECOND)
        await store.put(done, event)
        await store.put(*done.finished(done.fence, NOON, {}))

        async def unleased(seconds: float) -> list[str]:
            query = Query(unleased_at=NOON + seconds * SECOND)
            return sorted(thread.id for thread in await store.find(Thread, query))

        assert await unleased(29) == ["waiting"]
        assert await unleased(30) == ["held", "waiting"]

    async def test_a_renewed_lease_counts(self, store: Store) -> None:
        thread, event = a_thread()
        await store.put(thread, event)
        held, event = thread.acquired("worker", NOON, 30 * SECOND)
        await store.put(held, event)
        await store.put(*held.renewed(held.fence, NOON + 20 * SECOND, 30 * SECOND))

        assert await store.find(Thread, Query(unleased_at=NOON + 40 * SECOND)) == []

    async def test_a_time_far_away_is_kept_to_the_microsecond(self, store: Store) -> None:
        at = NOON.replace(year=9999, microsecond=999_999)
        asked, event = a_request(at=at)
        await store.put(asked, event)

        assert await ids(store, before=cursor_of(asked)) == []
        assert (await store.events())[0].at == at
