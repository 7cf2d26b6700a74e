"""Requests and queries of every kind, and the comparison of a store's lists with memory's."""

from collections import ChainMap
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ringi.backends.memory.store import MemoryStore
from ringi.contracts.store import Store
from ringi.domain.ask import Action
from ringi.domain.memories import person_of_memory, with_memory_deleted
from ringi.domain.record import Event, Query, Viewer
from ringi.domain.request import Request
from ringi.domain.urgency import cursor_after_urgent_request, urgent_query
from ringi.domain.voting import Decider
from ringi.forms.fields import Text
from ringi.forms.form import Form
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, answer_to

Opened = AbstractAsyncContextManager[Store]
CROWD = 40
"""More requests of one microsecond than a store has room for in a row."""
TIMES = st.sampled_from([*(NOON + timedelta(microseconds=n) for n in (0, 0, 0, 1, 2, 10**6)), NOON.replace(year=1960)])
NAMES = st.sampled_from(["ann", "bob", 'x", "all', "*", "to:ann"])
DEADLINES = st.sampled_from([NOON + timedelta(seconds=n) for n in (-90, 0, 1, 3600, 3600.000001, 9999)])
TOOLS = st.sampled_from(["do", 'x"', "ann"])
GROUPS = st.lists(NAMES, max_size=2).map(tuple)
WORDS = st.sampled_from(["返金", "注文の返金", "Refund", "refunds", "ﾘﾝｷﾞ", "a_b", "50%", "A-1182", "환불", "x" * 40])
TEXTS = st.lists(WORDS | st.text("返金 re-12_%ー", min_size=1, max_size=4), min_size=1, max_size=2).map(" ".join)
TITLES = st.lists(TEXTS, max_size=3).map(lambda texts: f"? {' '.join(texts)}")
ASKS = st.fixed_dictionaries(
    {"tenant": st.sampled_from(["ours", "ours", "theirs"]), "at": TIMES, "title": TITLES},
    optional={
        "assignee": NAMES,
        "groups": GROUPS,
        "by": NAMES,
        "kind": st.sampled_from(["approval", "finish"]),
        "priority": st.sampled_from(["normal", "high", "urgent", "low"]),
        "thread_id": st.sampled_from(["t1", "t2"]),
        "form": st.just(Form([Text("note")])),
        "context": st.sampled_from([{"memory_category": "food"}, {"client": "ann"}, {"client": 7}]),
        "action": st.builds(lambda tool, text: Action(tool, {"what": [text, 7]}), TOOLS, TEXTS),
        "tier": st.sampled_from(["low", "medium", "irreversible"]),
        "first_of_kind": st.booleans(),
        "due_at": DEADLINES,
        "expires_at": DEADLINES,
    },
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["claim", "reassign", "answer", "answer", "cancel", "expire", "forget"]), NAMES, GROUPS),
    max_size=3,
)
TENANTS = st.sampled_from(["ours", "ours", "ours", "theirs", None])
STATUSES = st.lists(st.sampled_from(["pending", "completed", "cancelled", "expired"]), max_size=3).map(tuple)
DEPUTIES = st.just(()) | st.tuples(st.builds(Viewer, name=NAMES, groups=GROUPS))
FILTERS = st.one_of(
    st.fixed_dictionaries({"text": TEXTS}),
    st.fixed_dictionaries({"viewer": st.builds(Viewer, name=NAMES, groups=GROUPS, deputy_for=DEPUTIES)}),
    st.fixed_dictionaries({"statuses": STATUSES}),
    st.fixed_dictionaries({"kind": st.sampled_from(["approval", "finish"])}),
    st.fixed_dictionaries({"priority": st.sampled_from(["normal", "high", "low"])}),
    st.fixed_dictionaries({"assignee": NAMES}),
    st.fixed_dictionaries({"assigned_or_claimed_by": NAMES}),
    st.fixed_dictionaries({"asked_by": NAMES}),
    st.fixed_dictionaries({"remembered_by": NAMES}),
    st.fixed_dictionaries({"thread_id": st.sampled_from(["t1", "t3"])}),
    st.fixed_dictionaries({"tool": TOOLS}),
    st.fixed_dictionaries({"agent": NAMES}),
    st.fixed_dictionaries({"tier": st.sampled_from(["low", "medium", "high"])}),
    st.fixed_dictionaries({"group": NAMES}),
    st.fixed_dictionaries({"ended_since": TIMES}),
)
QUERIES = st.builds(
    lambda tenant, some: dict(ChainMap({"tenant": tenant}, *some)), TENANTS, st.lists(FILTERS, max_size=3)
)
Steps = Sequence[tuple[str, str, tuple[str, ...]]]


class Case(NamedTuple):
    """What is asked, what becomes of it, how many more ask the same at once, and what is looked for."""

    asked: list[tuple[dict[str, Any], Steps]]
    crowd: int
    queries: list[dict[str, Any]]


CASES = st.builds(
    Case,
    asked=st.lists(st.tuples(ASKS, STEPS), min_size=3, max_size=16),
    crowd=st.sampled_from([0, 0, 0, CROWD]),
    queries=st.lists(QUERIES, min_size=1, max_size=12),
)


def next_version(
    request: Request, what: str, who: str, groups: tuple[str, ...], at: datetime
) -> tuple[Request, Event | None]:
    """Return what becomes of a request that is open."""
    person = Decider(request.claimed_by or who, is_admin=True)
    if what == "claim":
        return request.claimed(person, at, timedelta(seconds=9))
    if what == "reassign":
        return request.reassigned(person, at, who if len(groups) < 2 else None, groups)
    if what == "answer":
        answer = answer_to(request, data={"note": "kept"} if request.form else None)
        return request.completed(answer, by=person, channel="test", now=at)
    return request.cancelled(who, at, None) if what == "cancel" else request.expired(at)


def versions(n: int, ask: dict[str, Any], steps: Steps) -> list[tuple[Request, Event | None]]:
    """Return all versions of one request."""
    made: list[tuple[Request, Event | None]] = [a_request(f"r{n * 7 % 11:02}-{n}", **ask)]
    for what, who, groups in steps:
        latest = made[-1][0]
        if what == "forget" and person_of_memory(latest):
            made.append(with_memory_deleted(latest, str(person_of_memory(latest)), ask["at"]))
        elif latest.is_final or what == "forget" or latest.is_claimed_against(who, ask["at"]):
            break
        else:
            made.append(next_version(latest, what, who, groups, ask["at"]))
    return made


async def pages(store: Store, query: Query) -> list[list[Request]]:
    """Return all pages of a list."""
    found = [await store.find(Request, query)]
    while len(found[-1]) == query.limit:
        found.append(
            await store.find(
                Request, query.model_copy(update={"before": cursor_after_urgent_request(query, found[-1][-1])})
            )
        )
    return found


async def urgent_pages(store: Store, query: Query) -> list[list[Request]]:
    """Return all pages of a list in the order `urgent`."""
    found = [await store.find(Request, query)]
    while len(found[-1]) == query.limit:
        before = urgent_query(query).cursor_of(found[-1][-1])
        query = query.model_copy(update={"before": before, "now": None})
        found.append(await store.find(Request, query))
    return found


async def compare(opened: Opened, case: Case) -> None:
    """Put the same into a store and into memory, and fail unless both list and count the same."""
    expected = MemoryStore()
    async with opened as tried:
        same = ({"tenant": "ours", "at": NOON, "title": "返金 Refund?"}, ())
        for n, (ask, steps) in enumerate([*case.asked, *([same] * case.crowd)]):
            for version in versions(n, ask, steps):
                await tried.put(*version)
                await expected.put(*version)
        for filters in case.queries:
            query = Query(limit=3 + case.crowd // 10, **filters)
            assert await pages(tried, query) == await pages(expected, query)
            if query.tenant is not None and query.statuses in ((), ("pending",)):
                urgent = query.model_copy(update={"order": "urgent", "now": NOON, "ended_since": None})
                assert await urgent_pages(tried, urgent) == await urgent_pages(expected, urgent)
                assert await tried.count(Request, urgent) == await expected.count(Request, urgent)
            if query.tenant is not None and "pending" not in query.statuses:
                ended = query.model_copy(update={"order": "ended"})
                assert await pages(tried, ended) == await pages(expected, ended)
                assert await tried.count(Request, ended) == await expected.count(Request, ended)
            for limit in (1, 100):
                counted = query.model_copy(update={"limit": limit})
                assert await tried.count(Request, counted) == await expected.count(Request, counted)
