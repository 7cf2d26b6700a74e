"""The nine promises of Ringi, on SQLite. Each test fails when the line is deleted that keeps its promise.

guards, in src/ringi:
  G1  backends/sqlite/database.py  WriterLane._commit_some  COMMIT, before anybody is told
  G2  backends/sqlite/store.py     save_record              AND version = ?
      domain/request.py            Request._refuse_final    raise ConflictError
      inbox/inbox.py               Inbox.answer             request.is_repeat
  G3  inbox/feed.py                Feed._read               wakeup.wait(recheck_after), then read
  G4  domain/thread.py             Thread.acquired          is_leased
      domain/thread.py             Thread.refuse_old        raise FenceError
      backends/sqlite/stream.py    take_fence               AND fence <= ?
  G5  inbox/inbox.py               Inbox.answer             request.is_overdue
      domain/request.py            Request.expired          actor SYSTEM, status expired, no response
      domain/ask.py                Ask._contradictions      fallback where an action is gated
  G6  backends/sqlite/database.py  WriterLane._in_savepoint ROLLBACK TO task
      backends/sqlite/store.py     SqliteStore.put          one task for record and event
  G7  domain/request.py            Request.completed        answer.digest != self.digest
      domain/request.py            Request.authorize        authorised_digest
      domain/ask.py                digest_of                everything that is shown
  G8  domain/request.py            Request.authorize        completed, by approve or edit
  G9  backends/sqlite/store.py     get_many, possible_conditions, events    tenant = ?
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.faults.processes import child
from tests.raising import raises_code

import ringi
from ringi.audit.verify import verify_store
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.backends.sqlite.stream import SqliteStream
from ringi.connect import PollingNotifier
from ringi.contracts.backend import StreamItem
from ringi.contracts.store import change_record
from ringi.domain import Button
from ringi.domain.ask import Action, Ask, request_content_digest
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import FenceError, Thread
from ringi.errors import ConflictError, InvalidError, NotAuthorizedError, NotFoundError, UnavailableError
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.testing import ManualClock
from ringi.testing.factories import a_thread

ACTION = Action("refund", {"amount": 40})
LEASE = timedelta(seconds=30)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ringi.db"


@pytest.fixture
async def database(path: Path) -> AsyncIterator[SqliteDatabase]:
    async with SqliteDatabase(path) as database:
        yield database


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def inbox(database: SqliteDatabase, clock: ManualClock) -> AsyncIterator[StoreInbox]:
    inbox = StoreInbox(SqliteStore(database), PollingNotifier(0.2), clock=clock)
    async with inbox.feed:
        yield inbox


async def decided(inbox: StoreInbox, decision: Any = "approve", **body: Any) -> Request:
    """Ask for a refund and return it decided."""
    asked = await inbox.ask("Refund?", action=ACTION)
    return await inbox.respond(asked, decision, by="ann", **body)


@pytest.mark.tier("quick")
async def test_g1_an_answer_is_there_after_the_process_that_acknowledged_it_was_killed(path: Path) -> None:
    url = f"sqlite:///{path}"
    async with child(url, "ask", "r1") as asking:
        await asking.says("asked")
        await asking.kill()
    async with child(url, "answer_and_die", "r1") as answering:
        await answering.says("answered")
        await answering.death()

    async with ringi.open(url) as inbox:
        response = (await inbox.get("r1")).response
        assert response
        assert (response.decision, response.message) == ("approve", "yes to r1")


async def test_g2_of_many_answers_at_once_one_wins_and_the_others_learn_who(
    inbox: StoreInbox, path: Path, clock: ManualClock
) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)

    async def answer(through: StoreInbox, n: int) -> Request | ConflictError:
        try:
            name, words = f"person-{n}", f"answer {n}"
            return await through.respond(asked, "reject", by=name, message=words)
        except ConflictError as error:
            if error.code != "final":
                raise
            return error

    async with AsyncExitStack() as stack:
        databases = [await stack.enter_async_context(SqliteDatabase(path)) for _ in range(2)]
        inboxes = [StoreInbox(SqliteStore(database), PollingNotifier(1), clock=clock) for database in databases]
        outcomes = await asyncio.gather(*(answer(inboxes[n % 2], n) for n in range(40)))

    won = [outcome for outcome in outcomes if isinstance(outcome, Request)]
    late = [outcome.winner for outcome in outcomes if isinstance(outcome, ConflictError)]
    assert len(won) == 1
    assert late == [won[0].winner] * 39
    assert (await inbox.get(asked.id)).response == won[0].response
    assert [event.type for event in await inbox.events()] == ["request.created", "request.completed"]


async def test_g2_the_winner_may_repeat_the_answer_but_not_change_it(inbox: StoreInbox) -> None:
    won = await decided(inbox, message="fine")

    assert await inbox.respond(won, "approve", by="ann", message="fine") == won
    with raises_code("final"):
        await inbox.respond(won, "approve", by="ann", message="not fine")
    with raises_code("final"):
        await inbox.respond(won, "approve", by="bob", message="fine")
    assert len(await inbox.events()) == 2


async def test_g3_a_waiter_wakes_within_one_interval_though_every_notification_is_lost(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    waiting = asyncio.create_task(inbox.wait(asked.id, 10))
    await asyncio.wait([waiting], timeout=0.05)
    loop = asyncio.get_running_loop()
    answered = loop.time()
    await inbox.respond(asked, "approve", by="ann")

    assert (await waiting).status == "completed"
    assert loop.time() - answered < inbox.notifier.recheck_after + 0.5


async def held(inbox: StoreInbox, clock: ManualClock, worker: str) -> Thread:
    """Take the thread for a worker, as the runner does."""
    key = Key("tenant-1", "thread-1")
    _, thread = await change_record(inbox.store, Thread, key, lambda thread: thread.acquired(worker, clock(), LEASE))
    return thread


async def test_g4_one_worker_at_a_time_holds_a_thread(inbox: StoreInbox, clock: ManualClock) -> None:
    await inbox.store.put(*a_thread(at=clock()))

    outcomes = await asyncio.gather(*(held(inbox, clock, f"worker-{n}") for n in range(8)), return_exceptions=True)

    assert sum(isinstance(outcome, Thread) for outcome in outcomes) == 1
    assert sum(getattr(outcome, "code", None) == "busy" for outcome in outcomes) == 7


async def test_g4_a_worker_that_lost_its_lease_can_neither_commit_nor_print(
    inbox: StoreInbox, clock: ManualClock, database: SqliteDatabase
) -> None:
    await inbox.store.put(*a_thread(at=clock()))
    stream = SqliteStream(database)
    late = await held(inbox, clock, "late")
    await stream.append(late.key, [StreamItem({"n": 1})], fence=late.fence)
    clock.advance(31)
    newer = await held(inbox, clock, "newer")
    await stream.append(newer.key, [], fence=newer.fence)

    with pytest.raises(FenceError):
        await stream.append(late.key, [StreamItem({"n": 2})], fence=late.fence)
    with pytest.raises(FenceError):
        await change_record(inbox.store, Thread, late.key, lambda thread: thread.finished(late, clock(), {}))
    assert await inbox.store.get(Thread, *late.key) == newer
    assert [item.event for item in await stream.read(late.key)] == [{"n": 1}]


async def test_g5_silence_ends_as_expired_by_the_system_and_as_no_decision(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    asked = await inbox.ask("Which colour?", expires_in=60, fallback={"colour": "blue"})
    clock.advance(60)

    assert await inbox.expire_due() == 1

    ended = await inbox.get(asked.id)
    assert (ended.status, ended.response, ended.fallback) == ("expired", None, {"colour": "blue"})
    assert [event.actor for event in await inbox.events()][-1] == "system"
    assert (await inbox.wait(asked.id, 0)).response is None


async def test_g5_an_answer_after_the_deadline_is_too_late_even_before_the_sweep(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    asked = await inbox.ask("Refund?", action=ACTION, expires_in=60)
    clock.advance(60)

    with raises_code("final", match="expired"):
        await inbox.respond(asked, "approve", by="ann")

    assert (await inbox.get(asked.id)).status == "expired"


async def test_g5_nothing_that_has_ended_ends_once_more(inbox: StoreInbox, clock: ManualClock) -> None:
    won = await decided(inbox)
    clock.advance(10**6)

    await inbox.expire_due()
    with raises_code("final"):
        await inbox.cancel(won.id, by="bob")

    assert await inbox.get(won.id) == won


@pytest.mark.parametrize("gated", [{"action": ACTION}, {"kind": "finish"}, {"kind": "learning"}])
async def test_g5_no_fallback_stands_in_for_consent(inbox: StoreInbox, gated: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="fallback"):
        await inbox.ask("Refund?", fallback={"go": "on"}, expires_in=60, **gated)


async def test_g6_a_response_without_its_event_is_not_kept(inbox: StoreInbox, database: SqliteDatabase) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    trigger = "CREATE TRIGGER no BEFORE INSERT ON events BEGIN SELECT raise(ABORT, 'no'); END"
    await database.write(lambda c: c.execute(trigger).fetchone())

    with pytest.raises(UnavailableError):
        await inbox.respond(asked, "approve", by="ann")

    assert await inbox.get(asked.id) == asked
    assert (await verify_store(inbox.store))[1] == []


async def test_g7_an_answer_to_something_else_than_what_is_stored_is_refused(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    other = await inbox.ask("Refund?", action=Action("refund", {"amount": 4000}))

    with raises_code("digest_mismatch"):
        await inbox.respond(Seen(asked.id, other.digest), "approve", by="ann")

    assert (await inbox.get(asked.id)).status == "pending"


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Refund it?"},
        {"description": "all of it"},
        {"action": Action("refund", {"amount": 41})},
        {"action": Action("refund", {"amount": 40}, schema={"type": "object"})},
        {"form": ringi.Form([ringi.Select("reason", options=["late"])])},
        {"data_schema": {"type": "object"}},
        {"allowed": ("approve",)},
        {"actions": {"approve": Button(label="No")}},
        {"context": {"customer": "vip"}},
        {"kind": "finish"},
    ],
)
def test_g7_the_digest_covers_all_that_is_shown(change: dict[str, Any]) -> None:
    ask = Ask(title="Refund?", action=ACTION)

    assert request_content_digest(ask.model_copy(update=change)) != request_content_digest(ask)


async def test_g7_only_what_was_approved_may_run(inbox: StoreInbox) -> None:
    approved = await decided(inbox)

    approved.authorize("refund", {"amount": 40})
    with pytest.raises(NotAuthorizedError):
        approved.authorize("refund", {"amount": 41})
    with pytest.raises(NotAuthorizedError):
        approved.authorize("refund_all", {"amount": 40})


async def test_g7_only_what_was_edited_may_run(inbox: StoreInbox) -> None:
    edited = await decided(inbox, "edit", args={"amount": 10})

    edited.authorize("refund", {"amount": 10})
    with pytest.raises(NotAuthorizedError):
        edited.authorize("refund", {"amount": 40})


async def pending(inbox: StoreInbox, clock: ManualClock) -> Request:
    return await inbox.ask("Refund?", action=ACTION)


async def rejected(inbox: StoreInbox, clock: ManualClock) -> Request:
    return await decided(inbox, "reject")


async def cancelled(inbox: StoreInbox, clock: ManualClock) -> Request:
    return await inbox.cancel((await pending(inbox, clock)).id, by="ann")


async def expired(inbox: StoreInbox, clock: ManualClock) -> Request:
    asked = await inbox.ask("Refund?", action=ACTION, expires_in=1)
    clock.advance(1)
    await inbox.expire_due()
    return await inbox.get(asked.id)


async def only_words(inbox: StoreInbox, clock: ManualClock) -> Request:
    asked = await inbox.ask("Refund?", action=ACTION, allowed=["approve", "respond"])
    return await inbox.respond(asked, "respond", by="ann", message="approve!")


async def without_an_action(inbox: StoreInbox, clock: ManualClock) -> Request:
    asked = await inbox.ask("Done?", kind="finish")
    return await inbox.respond(asked, "approve", by="ann")


Ending = Callable[[StoreInbox, ManualClock], Awaitable[Request]]


@pytest.mark.parametrize("end", [pending, rejected, cancelled, expired, only_words, without_an_action])
async def test_g8_without_consent_nothing_runs(inbox: StoreInbox, clock: ManualClock, end: Ending) -> None:
    request = await end(inbox, clock)

    with pytest.raises(NotAuthorizedError):
        request.authorize("refund", {"amount": 40})


ON_ONE: dict[str, Callable[[StoreInbox, str], Awaitable[object]]] = {
    "get": lambda inbox, id: inbox.get(id),
    "respond": lambda inbox, id: inbox.respond(Seen(id, "sha256:any"), "approve", by="eve"),
    "claim": lambda inbox, id: inbox.claim(id, by="eve"),
    "release": lambda inbox, id: inbox.release(id, by="eve"),
    "reassign": lambda inbox, id: inbox.reassign(id, assignee="eve", by="eve"),
    "cancel": lambda inbox, id: inbox.cancel(id, by="eve"),
    "acknowledge": lambda inbox, id: inbox.acknowledge(id, "eve"),
    "mark_attention": lambda inbox, id: inbox.mark_attention(id, "why"),
    "wait": lambda inbox, id: inbox.wait(id, 0),
}


@pytest.mark.parametrize("verb", ON_ONE)
async def test_g9_another_tenants_request_answers_like_one_that_does_not_exist(inbox: StoreInbox, verb: str) -> None:
    asked = await inbox.ask("Refund?", id="theirs", action=ACTION)
    eves = inbox.for_tenant("eve")

    with pytest.raises(NotFoundError) as there:
        await ON_ONE[verb](eves, "theirs")
    with pytest.raises(NotFoundError) as absent:
        await ON_ONE[verb](eves, "absent")

    assert str(there.value).replace("theirs", "absent") == str(absent.value)
    assert await inbox.get("theirs") == asked


async def test_g9_no_list_no_count_and_no_feed_shows_another_tenant(inbox: StoreInbox) -> None:
    await inbox.ask("Refund?", id="theirs", action=ACTION)
    eves = inbox.for_tenant("eve")

    assert await eves.search(Query(tenant="default")) == []
    assert await eves.count(Query(tenant="default")) == 0
    assert await eves.events() == []
    assert await eves.events(request_id="theirs") == []


async def test_g9_equal_ids_in_two_tenants_never_meet(inbox: StoreInbox) -> None:
    eves = inbox.for_tenant("eve")
    ours, theirs = await inbox.ask("Ours?", id="same"), await eves.ask("Theirs?", id="same")

    await eves.respond(Seen("same", theirs.digest), "respond", by="eve", message="hello")

    assert await inbox.get("same") == ours
    assert [event.type for event in await inbox.events(request_id="same")] == ["request.created"]
