"""The inbox's verbs, on memory; that SQLite does the same, the state machine shows."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.raising import raises_code

from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.base.settings import SettingError
from ringi.connect import PollingNotifier, store_inbox
from ringi.contracts.store import Change, change_record
from ringi.domain.ask import Action, Ask
from ringi.domain.record import Event, Query, Record
from ringi.domain.request import Request
from ringi.domain.voting import Person
from ringi.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, WaitTimeoutError
from ringi.forms.fields import Select
from ringi.forms.form import Form
from ringi.inbox.api import Seen
from ringi.inbox.inbox import Limits, StoreInbox
from ringi.testing import ManualClock, store_request

ACTION = Action("refund", {"amount": 40})


class RacingStore(MemoryStore):
    """Somebody else is always a little faster."""

    races = 0

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        if self.races and record.version > 1:
            self.races -= 1
            theirs = await self.get(Request, *record.key)
            await super().put(*theirs.changed("attention", "system", record.created_at, attention="race"))
        await super().put(record, event, others)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def inbox(clock: ManualClock) -> AsyncIterator[StoreInbox]:
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1), clock=clock, limits=Limits(claim_seconds=60))
    async with inbox.feed:
        yield inbox


async def test_a_question_is_asked_and_answered(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION, form=Form([Select("reason", options=["late"])]))

    done = await inbox.respond(asked, "approve", {"reason": "late"}, by="ann")

    ended = await inbox.wait(asked.id)
    assert ended == done
    assert ended.response
    assert (ended.response.decision, ended.response.data) == ("approve", {"reason": "late"})


async def test_a_waiter_wakes_with_the_response(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    waiting = [asyncio.create_task(inbox.wait(asked.id, 10)) for _ in range(3)]

    done = await inbox.respond(asked, "reject", by="ann")

    assert await asyncio.gather(*waiting) == [done] * 3


async def test_a_wait_that_ends_leaves_the_question_open(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)

    with pytest.raises(WaitTimeoutError, match="stays open"):
        await inbox.wait(asked.id, 0.01)

    with pytest.raises(WaitTimeoutError):
        await inbox.wait(asked, 0)
    assert (await inbox.get(asked.id)).status == "pending"


async def test_a_waiter_learns_that_the_question_was_withdrawn(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    waiting = asyncio.create_task(inbox.wait(asked.id, 10))

    await inbox.cancel(asked.id, "no longer needed", by="ann")

    ended = await waiting
    assert (ended.status, ended.response) == ("cancelled", None)


async def test_asking_again_returns_what_is_stored_answered_or_not(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", id="r1", action=ACTION)
    assert await inbox.ask("Refund?", id="r1", action=ACTION) == asked

    done = await inbox.respond(Seen("r1", asked.digest), "approve", by="ann")

    assert await inbox.ask("Refund?", id="r1", action=ACTION) == done
    assert len(await inbox.events()) == 2


async def test_asking_something_else_under_a_taken_id_is_refused(inbox: StoreInbox) -> None:
    await inbox.ask("Refund?", id="r1", action=ACTION)

    with raises_code("different", match="r1"):
        await inbox.ask("Refund it?", id="r1", action=ACTION)


async def test_another_agent_does_not_get_the_request_of_the_first(inbox: StoreInbox) -> None:
    await inbox.submit(Ask(id="r1", title="Refund?"), by="agent-1")

    with raises_code("different"):
        await inbox.submit(Ask(id="r1", title="Refund?"), by="agent-2")


async def test_a_request_that_its_asker_knows_is_the_stored_one_unless_it_differs(inbox: StoreInbox) -> None:
    stored = await inbox.submit(Ask(id="r1", title="Refund?"), by="agent-1", is_known=True)

    assert await inbox.submit(Ask(id="r1", title="Refund?"), by="agent-1", is_known=True) == stored
    for other, by in (("Refund?", "agent-2"), ("Refund it?", "agent-1")):
        with raises_code("different"):
            await inbox.submit(Ask(id="r1", title=other), by=by, is_known=True)


async def test_many_who_ask_the_same_at_once_get_one_request(inbox: StoreInbox) -> None:
    asked = await asyncio.gather(*(inbox.ask("Refund?", id="r1", action=ACTION) for _ in range(10)))

    assert len({request.head for request in asked}) == len(await inbox.events()) == 1


async def test_a_broken_rule_leaves_nothing_behind(inbox: StoreInbox) -> None:
    with pytest.raises(InvalidError, match="action"):
        await inbox.ask("Refund?", kind="approval")

    assert await inbox.events() == []


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
async def test_a_number_that_json_cannot_write_is_refused_and_not_stored_as_nothing(
    inbox: StoreInbox, number: float
) -> None:
    with pytest.raises(InvalidError, match=r"context\.rates\.1: .*send text or None"):
        await inbox.ask("Go on?", context={"rates": [0.5, number]})
    with pytest.raises(InvalidError, match=r"action\.args\.order\.amount"):
        await inbox.ask("Go on?", action=Action("refund", {"order": {"amount": number}}))
    assert await inbox.events() == []

    asked = await inbox.ask("Go on?", action=Action("refund", {"amount": 1.5}))
    with pytest.raises(InvalidError, match=r"args\.amount"):
        await inbox.respond(asked, "edit", args={"amount": number}, by="ann")
    assert await inbox.get(asked.id) == asked


async def test_a_form_has_no_more_fields_than_allowed(clock: ManualClock) -> None:
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(1), clock=clock, limits=Limits(max_fields=1))

    with pytest.raises(InvalidError, match="ask in two steps"):
        await inbox.ask("Which?", form=Form([Select(name, options=["x"]) for name in "ab"]))


async def test_a_wrong_answer_leaves_the_question_open(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Which?", form=Form([Select("reason", options=["late"])]))

    with pytest.raises(InvalidError, match="reason"):
        await inbox.respond(asked, "approve", {"reason": "no"}, by="ann")

    assert await inbox.get(asked.id) == asked


async def test_a_claim_ends_by_itself(inbox: StoreInbox, clock: ManualClock) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    await inbox.claim(asked.id, by="ann")
    with raises_code("claimed"):
        await inbox.respond(asked, "approve", by="bob")

    clock.advance(60)

    assert (await inbox.respond(asked, "approve", by="bob")).status == "completed"


async def test_releasing_twice_is_one_event(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    await inbox.claim(asked.id, by="ann")

    released = await inbox.release(asked.id, by="ann")

    assert await inbox.release(asked.id, by="ann") == released
    assert [event.type for event in await inbox.events()][1:] == ["request.claimed", "request.released"]


async def test_reassigning_hands_the_question_on(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION, assignee="ann")

    await inbox.reassign(asked.id, groups=["legal"], by="ann")

    assert await inbox.count(Query(assignee="ann")) == 0
    assert (await inbox.get(asked.id)).groups == ("legal",)


async def test_the_sweep_ends_what_is_overdue_in_every_tenant(inbox: StoreInbox, clock: ManualClock) -> None:
    for tenant in ("ours", "theirs"):
        await inbox.for_tenant(tenant).ask("Refund?", id="r1", expires_in=60)
        await inbox.for_tenant(tenant).ask("Refund?", id="r2", expires_in=61)
    clock.advance(60)

    assert await inbox.expire_due() == 2

    assert [(await inbox.for_tenant(tenant).get("r1")).status for tenant in ("ours", "theirs")] == ["expired"] * 2
    assert (await inbox.for_tenant("ours").get("r2")).status == "pending"


async def test_the_outcome_is_taken_up_once(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION)
    await inbox.cancel(asked.id, by="ann")

    taken = await inbox.acknowledge(asked.id, "worker-1")

    assert await inbox.acknowledge(asked.id, "worker-2") == taken


async def test_a_change_that_lost_a_race_is_computed_again() -> None:
    store = RacingStore()
    inbox = StoreInbox(store, MemoryNotifier(1))
    asked = await inbox.ask("Refund?", action=ACTION)
    store.races = 3

    done = await inbox.respond(asked, "approve", by="ann")

    assert (done.status, done.attention, done.version) == ("completed", "race", 5)


async def test_a_change_that_loses_every_race_says_so() -> None:
    store = RacingStore()
    asked = await store_request(store)
    store.races = 10**6

    with pytest.raises(ConflictError, match="request-1"):
        await change_record(store, Request, asked.key, lambda request: request.cancelled("ann", asked.created_at, None))


async def test_a_model_is_a_form_and_comes_back_typed(inbox: StoreInbox) -> None:
    class Reason(BaseModel):
        reason: str
        amount: int = 1

    asked = await inbox.ask("Why?", form=Form.of(Reason))
    data = {"reason": "late", "amount": 2}
    await inbox.respond(asked, "approve", data, by="ann")

    response = (await inbox.wait(asked)).response
    assert response
    assert response.into(Reason) == Reason(reason="late", amount=2)


async def test_an_inbox_opened_on_memory_ends_what_is_overdue_by_itself() -> None:
    clock = ManualClock()
    async with store_inbox("memory://", poll_interval=0.02, clock=clock) as inbox:
        asked = await inbox.ask("Refund?", expires_in=60)
        clock.advance(61)

        assert (await inbox.wait(asked.id, 10)).status == "expired"


async def test_a_file_keeps_what_was_asked(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/new folder/ringi.db"
    async with store_inbox(url) as inbox:
        asked = await inbox.ask("Refund?", action=ACTION)

    async with store_inbox(url, notify="polling") as inbox:
        assert await inbox.get(asked.id) == asked
        assert type(inbox.notifier) is PollingNotifier


@pytest.mark.parametrize("url", ["nonsense", "mysql://x", "sqlite://", "sqlite://host/file.db"])
async def test_an_address_without_meaning_is_named(url: str) -> None:
    with pytest.raises(SettingError, match="url="):
        async with store_inbox(url):
            pass


async def test_an_unknown_request_is_not_found(inbox: StoreInbox) -> None:
    with pytest.raises(NotFoundError, match="nowhere"):
        await inbox.wait("nowhere", 1)


async def test_who_may_answer_holds_in_process(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION, assignee="ann", groups=["finance"])

    with pytest.raises(ForbiddenError, match="assigned to 'ann', 'group:finance', not to 'bob'"):
        await inbox.respond(asked, "approve", by=Person("bob", ["sales"]))
    for step in (inbox.claim, inbox.release):
        with pytest.raises(ForbiddenError, match="not to 'bob'"):
            await step(asked.id, by="bob")
    with pytest.raises(ForbiddenError, match="not to 'bob'"):
        await inbox.reassign(asked.id, assignee="bob", groups=["finance"], by="bob")
    assert await inbox.get(asked.id) == asked

    await inbox.claim(asked.id, by=Person("bob", ["finance"]))
    await inbox.release(asked.id, by=Person("bob", ["finance"]))
    await inbox.reassign(asked.id, groups=["legal"], by=Person("bob", ["finance"]))
    done = await inbox.respond(asked, "approve", by=Person("bob", ["legal"]))
    assert done.winner
    assert done.winner["responder"] == "bob"


async def test_a_deputy_answers_in_process_for_the_absent_person(inbox: StoreInbox) -> None:
    await inbox.people.leave("dee", inbox.clock() + timedelta(hours=1), by=Person("ann", ["finance"]))
    asked = [await inbox.ask("Refund?", action=ACTION, **to) for to in ({"assignee": "ann"}, {"groups": ["finance"]})]
    await inbox.claim(asked[0].id, by="dee")
    for request in asked:
        done = await inbox.respond(request, "approve", by="dee")
        assert done.response
        assert (done.response.responder, done.response.stands_for) == ("dee", "ann")


async def test_an_override_in_process_needs_a_reason_and_a_review(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Refund?", action=ACTION, assignee="ann")
    with pytest.raises(InvalidError, match="override"):
        await inbox.respond(asked, "approve", by="bob", override=" ")

    done = await inbox.respond(asked, "approve", by="bob", override="Ann is on a plane.")

    assert done.response
    assert done.response.override == "Ann is on a plane."
    (review,) = await inbox.search(Query(statuses=("pending",)))
    assert review.is_review
    for by, override in (("cem", None), ("cem", "urgent"), ("bob", "urgent")):
        with pytest.raises(ForbiddenError):
            await inbox.respond(review, "approve", by=by, override=override)
    judged = await inbox.respond(review, "approve", by=Person("cem", review.groups))
    assert judged.status == "completed"
