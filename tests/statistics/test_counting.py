"""Counts against the plain sum of what happened: on all stores, by two processes at once, cut off between writes."""

from __future__ import annotations

import asyncio
import math
import operator
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.tiers import WIDE

from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.contracts.store import Change, Store
from ringi.domain.ask import Action, Ask
from ringi.domain.record import Event, Record
from ringi.domain.request import Request
from ringi.domain.voting import Decider, PolicySource
from ringi.errors import UnavailableError
from ringi.statistics import counting
from ringi.statistics.counting import CountedDays, Statistics
from ringi.statistics.counts import (
    ERROR,
    MAX_AUDIENCES,
    MAX_ROWS,
    OTHER,
    CountedSubject,
    DayCounts,
    answer_time_bucket,
    answer_time_quantile,
)
from ringi.statistics.figures import decision_counts, overview_figures, readable_figure_rows
from ringi.testing.clock import NOON
from ringi.testing.factories import answer_to

GROUPS: tuple[tuple[str, ...], ...] = ((), ("finance",), ("legal",), ("finance", "legal"))
START = NOON - timedelta(days=2)
LAST = (NOON + timedelta(days=40)).date()
ANN = Decider("ann", is_admin=True)
"""Decides requests of all groups."""
Step = tuple[Any, ...]
NUMBER = st.integers(0, 30)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.sampled_from(["refund", "mail"]), st.sampled_from(GROUPS), st.integers(0, 30)),
        st.tuples(st.just("rule"), st.sampled_from(["refund", "mail"]), st.booleans()),
        st.tuples(st.just("answer"), NUMBER, st.sampled_from(["approve", "edit", "reject"]), st.floats(0, 9_000)),
        st.tuples(st.just("end"), NUMBER, st.booleans()),
        st.tuples(st.just("reassign"), NUMBER, st.sampled_from(GROUPS[1:])),
        st.tuples(st.just("see"), NUMBER),
        st.tuples(st.just("other")),
        st.tuples(st.just("count"), st.integers(1, 2)),
        st.tuples(st.just("die"), st.integers(1, 5), st.booleans()),
    ),
    min_size=8,
    max_size=40,
)


class Dying:
    """A store whose process dies at a write: before it, or after it without having heard of it."""

    def __init__(self, store: Store, nth: int, is_written: bool) -> None:
        self._store, self._left, self._is_written = store, nth, is_written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        self._left -= 1
        if self._left == 0 and self._is_written:
            await self._store.put(record, event, others)
        if self._left <= 0:
            raise UnavailableError("cut off")
        await self._store.put(record, event, others)


class Waiting:
    """A store that lets other tasks run between its calls, as a server does."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        call: Callable[..., Any] = getattr(self._store, name)

        async def waited(*args: Any, **named: Any) -> Any:
            turn = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(turn.set_result, None)
            await turn
            return await call(*args, **named)

        return waited


class World:
    """A store, and the sums of what happened in it as a person would write them down."""

    def __init__(self, store: Store) -> None:
        self.store, self.now, self.number = store, START, 0
        self.tenant = uuid.uuid4().hex
        self.pending: list[Request] = []
        self.seen: dict[str, datetime] = {}
        self.sums: Counter[tuple[str, str]] = Counter()
        self.by_group: Counter[tuple[str, ...]] = Counter()
        self.times: list[float] = []
        self.fast: Counter[str] = Counter()
        self.at_end: dict[datetime, int] = {}

    async def do(self, step: Step) -> None:
        self.now += timedelta(minutes=37)
        await getattr(self, step[0])(*step[1:])
        self.at_end[self.now.replace(minute=0, second=0, microsecond=0)] = len(self.pending)

    async def ask(self, tool: str, groups: tuple[str, ...], days: int) -> None:
        self.now += timedelta(days=days and 1 / days)
        self.number += 1
        ask = Ask(title="Do it?", action=Action(tool, {"n": 1}), groups=groups)
        request, event = Request.asked(ask, id=f"r{self.number}", now=self.now, by="agent:bot", tenant=self.tenant)
        await self.store.put(request, event)
        self.pending.append(request)
        self.by_group[groups] += 1

    async def rule(self, tool: str, is_allowed: bool) -> None:
        self.number += 1
        policy = PolicySource(rule="small", digest="sha256:" + "0" * 64)
        ask = Ask(title="Do it?", action=Action(tool, {}), policy=policy)
        about: dict[str, Any] = {"id": f"p{self.number}", "by": "agent:bot", "tenant": self.tenant, "now": self.now}
        made = (
            Request.approved(ask, rule="small", **about)
            if is_allowed
            else Request.denied(ask, rule="small", reason="no", **about)
        )
        await self.store.put(*made)
        self.sums[tool, "policy_approved" if is_allowed else "policy_rejected"] += 1

    def take(self, number: int) -> Request | None:
        return self.pending.pop(number % len(self.pending)) if self.pending else None

    async def answer(self, number: int, decision: Any, seconds: float) -> None:
        if request := self.take(number):
            more = {"args": {"n": 2}} if decision == "edit" else {}
            at = max(self.now, request.created_at) + timedelta(seconds=seconds / 1_000)
            after, event = request.completed(answer_to(request, decision, **more), by=ANN, channel="x", now=at)
            await self.store.put(after, event)
            assert request.action
            self.sums[
                request.action.name, {"approve": "approved", "edit": "edited", "reject": "rejected"}[decision]
            ] += 1
            self.times.append((at - request.created_at).total_seconds())
            self.by_group[request.groups] -= 1
            if decision == "approve":
                base = "seen" if request.id in self.seen else "asked"
                took = at - self.seen.get(request.id, request.created_at)
                self.fast.update([base, *([f"{base} under"] if took < timedelta(seconds=2) else [])])

    async def end(self, number: int, is_expiry: bool) -> None:
        if request := self.take(number):
            await self.store.put(
                *(request.expired(self.now) if is_expiry else request.cancelled("ann", self.now, None))
            )
            assert request.action
            self.sums[request.action.name, "expired" if is_expiry else "cancelled"] += 1
            self.by_group[request.groups] -= 1

    async def reassign(self, number: int, groups: tuple[str, ...]) -> None:
        if request := self.take(number):
            after, event = request.reassigned(ANN, self.now, None, groups)
            await self.store.put(after, event)
            self.pending.append(after)
            self.by_group.update({groups: 1, request.groups: -1} if groups != request.groups else {})

    async def see(self, number: int) -> None:
        if request := self.take(number):
            after, event = request.seen("ann", self.now)
            if event:
                await self.store.put(after, event)
                self.seen[request.id] = self.now
            self.pending.append(after)

    async def other(self) -> None:
        """Another tenant's request, which nothing here may count."""
        self.number += 1
        ask = Ask(title="Do it?", action=Action("refund", {}))
        await self.store.put(
            *Request.asked(ask, id=f"r{self.number}", now=self.now, by=None, tenant=f"{self.tenant}-other")
        )

    async def count(self, processes: int) -> None:
        store: Any = Waiting(self.store)
        found = [Statistics(store, lambda: NOON).count(self.tenant, START.date(), LAST) for _ in range(processes)]
        await asyncio.gather(*found)

    async def die(self, nth: int, is_written: bool) -> None:
        store: Any = Dying(self.store, nth, is_written)
        try:
            await Statistics(store, lambda: NOON).count(self.tenant, START.date(), LAST)
        except UnavailableError:
            return

    async def check(self) -> None:
        counts = await Statistics(self.store, lambda: NOON).count(self.tenant, START.date(), LAST, seconds=60)
        assert counts.is_complete
        end = NOON + timedelta(days=40)
        figures = overview_figures(counts, START.date(), LAST, "hour", lambda _: True, None, end)
        assert {tool.name: tool.decisions for tool in figures.tools} == {
            tool: decision_counts(Counter()).model_copy(
                update={name: self.sums[tool, name] for name in type(figures.decisions).model_fields}
            )
            for tool in {tool.name for tool in figures.tools}
        }
        assert sum(dict(figures.decisions).values()) == sum(self.sums.values())
        assert figures.pending == len(self.pending)
        points = {point.at: point.pending for point in figures.queue}
        assert {at: points[at] for at in self.at_end} == self.at_end
        for groups in GROUPS:
            only = overview_figures(counts, START.date(), LAST, "day", partial(operator.eq, groups), None, end)
            assert only.pending == self.by_group[groups]
            assert only.queue[-1].pending == self.by_group[groups]
        self.check_times(counts, figures.fast)

    def check_times(self, counts: CountedDays, fast: Sequence[Any]) -> None:
        total: Counter[str] = Counter()
        for _, row in readable_figure_rows(counts, START.date(), LAST, lambda _: True):
            total.update(row)
        for share in (0.5, 0.9):
            found = answer_time_quantile(total, share)
            if self.times:
                exact = sorted(self.times)[math.ceil(share * len(self.times)) - 1]
                assert found is not None
                assert found == pytest.approx(max(exact, 0.1), rel=ERROR + 0.001, abs=0.001)
            else:
                assert found is None
        counted = {each.measured_from: (each.approvals, each.under_2s) for each in fast}
        bases = [base for base in ("seen", "asked") if self.fast[base]]
        assert counted == {base: (self.fast[base], self.fast[f"{base} under"]) for base in bases}


async def follow(url: str, steps: list[Step], page: int, batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counting, "PAGE", page)
        patch.setattr(counting, "BATCH", batch)
        async with store_inbox(url) as inbox:
            world = World(inbox.store)
            for step in steps:
                await world.do(step)
            await world.check()
            await world.check()
            assert (await verify_store(inbox.store))[1] == []


PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SIZES = st.tuples(st.integers(1, 9), st.integers(1, 20))


@settings(max_examples=40, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=STEPS, sizes=SIZES)
def test_the_counts_are_the_sum_of_what_happened(steps: list[Step], sizes: tuple[int, int]) -> None:
    asyncio.run(follow("memory://", steps, *sizes))


@WIDE
@pytest.mark.timeout(300)
@settings(max_examples=15, phases=PHASES, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(steps=STEPS, sizes=SIZES)
def test_each_store_counts_what_happened(url: str, steps: list[Step], sizes: tuple[int, int]) -> None:
    asyncio.run(follow(url, steps, *sizes))


def test_names_beyond_the_limit_are_counted_as_other() -> None:
    day = DayCounts()
    for n in range(MAX_ROWS + 50):
        more = DayCounts()
        more.count(CountedSubject("bot", f"tool-{n}", (), ""), "asked")
        day.add(DayCounts.load(more.dump()))
    assert len(day.rows) == MAX_ROWS + 1
    assert day.rows[CountedSubject(OTHER, OTHER, (), OTHER)]["asked"] == 50


def test_groups_beyond_the_limit_are_nobodys() -> None:
    day = DayCounts()
    for n in range(MAX_AUDIENCES + 5):
        more = DayCounts()
        more.count_hour((f"group-{n}",), 3, "in")
        day.add(more)
    assert len(day.hours) == MAX_AUDIENCES + 1
    assert day.hours[None, 3]["in"] == 5


@given(st.floats(0.1, 1e8))
def test_a_time_is_known_to_five_percent(seconds: float) -> None:
    assert answer_time_quantile(Counter([answer_time_bucket(seconds)]), 0.5) == pytest.approx(seconds, rel=0.05)
