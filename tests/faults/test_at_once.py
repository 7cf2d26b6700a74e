"""Many who act on one request in the same moment, on two openings of one store: one of them ends it, and all agree."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import ringi
from ringi.audit.verify import verify_store
from ringi.base.clock import utc_now
from ringi.connect import store_inbox
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import ConflictError, RingiError
from ringi.inbox.api import Seen
from ringi.inbox.inbox import SWEEP_SIZE, StoreInbox
from ringi.testing.clock import ManualClock

GROUP = 100
ENDS = {"request.completed", "request.cancelled", "request.expired"}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    return f"sqlite:///{tmp_path}/ringi.db"


@pytest.fixture
async def inboxes(url: str) -> AsyncIterator[list[StoreInbox]]:
    async with store_inbox(url) as one, store_inbox(url) as other:
        yield [one, other]


async def ask(inbox: StoreInbox, id: str, **more: Any) -> Request:
    return await inbox.ask("Refund?", id=id, action=ringi.Action("refund", {"of": id}), **more)


async def ask_many(inbox: StoreInbox, number: int, **more: Any) -> None:
    """Ask r0, r1, … in groups that a slow store also takes in time."""
    for first in range(0, number, GROUP):
        await asyncio.gather(*(ask(inbox, f"r{n}", **more) for n in range(first, min(first + GROUP, number))))


async def ends_of(inbox: StoreInbox, id: str) -> list[str]:
    return [event.type for event in await inbox.events(request_id=id) if event.type in ENDS]


async def test_of_a_hundred_mixed_verdicts_one_wins_and_all_are_told_which(inboxes: list[StoreInbox]) -> None:
    request = await ask(inboxes[0], "a")

    async def decide(number: int) -> tuple[str, str]:
        decision: Any = ("approve", "reject")[number % 2]
        answer: dict[str, Any] = {"by": f"p{number}", "channel": f"channel {number % 5}"}
        try:
            ended = await inboxes[number % 2].respond(Seen("a", request.digest), decision, **answer)
        except ConflictError as error:
            if error.code != "final":
                raise
            return "told", (error.winner or {})["responder"]
        return "won", (ended.winner or {})["responder"]

    results = Counter(await asyncio.gather(*map(decide, range(100))))
    (winner,) = {who for _, who in results}
    assert results == {("won", winner): 1, ("told", winner): 99}
    assert await ends_of(inboxes[0], "a") == ["request.completed"]


async def test_one_click_that_comes_fifty_times_is_one_answer(inboxes: list[StoreInbox]) -> None:
    request = await ask(inboxes[0], "a")
    clicks = [inbox.respond(Seen("a", request.digest), "approve", by="ann") for inbox in inboxes for _ in range(25)]
    answered = await asyncio.gather(*clicks)
    assert len({each.model_dump_json() for each in answered}) == 1
    assert await ends_of(inboxes[0], "a") == ["request.completed"]


async def test_at_the_deadline_answer_and_expiry_agree_for_everybody(inboxes: list[StoreInbox]) -> None:
    """Three hundred times: the one who answers, the one who sweeps, and the one who waits."""
    dice = random.Random(16)
    acknowledged, stored = Counter[str](), Counter[str]()

    async def trial(number: int) -> None:
        request = await ask(inboxes[0], f"r{number}", expires_at=utc_now() + timedelta(milliseconds=50))
        waiting = asyncio.create_task(inboxes[1].wait(request.id, 10))
        await until(request, dice.uniform(-5, 5))
        try:
            ended = await inboxes[1].respond(request, "approve", by="ann")
            acknowledged[ended.status] += 1
        except ConflictError as error:
            if error.code != "final":
                raise
            acknowledged[error.status] += 1
        seen = await waiting
        stored[seen.status] += 1
        assert await ends_of(inboxes[0], request.id) == [f"request.{seen.status}"]

    for start in range(0, 300, 30):
        await asyncio.gather(*map(trial, range(start, start + 30)), inboxes[0].expire_due())
        await inboxes[0].expire_due()
    assert acknowledged == stored
    assert sum(stored.values()) == 300
    assert await verify_store(inboxes[0].store) == (600, [])


async def until(request: Request, milliseconds: float) -> None:
    """Return some milliseconds before or after the deadline."""
    assert request.expires_at
    left = request.expires_at + timedelta(milliseconds=milliseconds) - utc_now()
    # The deadline is a moment, not a condition: nothing tells that it has come.
    with suppress(TimeoutError):
        async with asyncio.timeout(left.total_seconds()):
            await asyncio.Event().wait()


async def test_of_an_answer_a_cancel_and_an_expiry_one_counts_for_the_waiter_too(
    inboxes: list[StoreInbox],
) -> None:
    dice, ends = random.Random(17), Counter[str]()
    for number in range(60):
        request = await ask(inboxes[0], f"r{number}", expires_at=utc_now() + timedelta(milliseconds=dice.uniform(0, 4)))
        waiting = asyncio.create_task(inboxes[0].wait(request.id, 10))
        acts = [
            inboxes[0].cancel(request.id, by="bot"),
            inboxes[1].cancel(request.id, "superseded", by="admin"),
            inboxes[1].respond(request, "reject", by="ann"),
            inboxes[0].expire_due(),
        ]
        dice.shuffle(acts)
        results = await asyncio.gather(*acts, return_exceptions=True)
        assert {getattr(each, "code", each) for each in results if isinstance(each, BaseException)} <= {"final"}
        seen = await waiting
        ends[seen.status] += 1
        assert await ends_of(inboxes[1], request.id) == [f"request.{seen.status}"]
    assert len(ends) > 1


@pytest.mark.timeout(240)
async def test_two_thousand_deadlines_at_once_do_not_keep_others_waiting(inboxes: list[StoreInbox]) -> None:
    """Who asks and answers meanwhile is served between the batches of the sweep."""
    due = utc_now() + timedelta(milliseconds=1)
    await ask_many(inboxes[0], 2_000, expires_at=due)
    sweep = asyncio.create_task(inboxes[0].expire_due())
    answered = 0
    while not sweep.done():
        request = await ask(inboxes[1], f"b{answered}")
        await inboxes[1].respond(request, "approve", by="ann")
        answered += 1
    assert await inboxes[1].count(Query(statuses=("expired",), limit=5_000)) == 2_000
    assert answered > 1


@pytest.mark.timeout(240)
async def test_a_thousand_deadlines_of_one_tenant_do_not_keep_another_waiting(url: str) -> None:
    """One that is due last of all ends among the first."""
    clock = ManualClock()
    async with store_inbox(url, clock=clock) as one, store_inbox(url, clock=clock) as other:
        due = clock() + timedelta(seconds=5)
        await ask(one.for_tenant("small"), "late", expires_at=due + timedelta(seconds=1))
        await ask_many(one, 1_000, expires_at=due)
        clock.advance(10)
        await asyncio.gather(one.expire_due(), other.expire_due())
        events = await one.store.events(limit=5_000)
    ends = [event.tenant for event in events if event.type == "request.expired"]
    assert len(ends) == 1_001
    assert ends.index("small") < 2 * SWEEP_SIZE


async def test_an_error_is_never_taken_for_a_decision(inboxes: list[StoreInbox]) -> None:
    request = await ask(inboxes[0], "a")
    with pytest.raises(RingiError):
        await inboxes[0].respond(Seen("a", "sha256:other"), "approve", by="ann")
    assert (await inboxes[1].get("a")).status == request.status
