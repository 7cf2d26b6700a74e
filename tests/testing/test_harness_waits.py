"""What a harness does with those who wait at the same time, and in which order things were asked."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from langgraph.func import entrypoint

from ringi import Form, Text, ask
from ringi.errors import WaitTimeoutError
from ringi.inbox.inbox import StoreInbox
from ringi.testing import Reply, ScriptedPerson, TestHarness
from ringi.testing.clock import NOON


@pytest.fixture
def inbox(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> StoreInbox:
    """An inbox of a person who ignores what is slow."""
    ringi_person.answers(lambda r: Reply("ignore") if "slow" in r.title else Reply("respond", message="yes"))
    return ringi_harness.inbox


async def test_who_waits_beside_what_is_ignored_is_answered_before_time_passes(inbox: StoreInbox) -> None:
    slow = await inbox.ask("slow", expires_in=100)
    quick = await inbox.ask("quick", expires_in=50)
    ended = await asyncio.gather(inbox.wait(slow), inbox.wait(quick))

    assert [request.status for request in ended] == ["expired", "completed"]


async def test_who_waits_beside_others_waits_no_longer_than_wanted(inbox: StoreInbox) -> None:
    async def gives_up() -> None:
        with pytest.raises(WaitTimeoutError):
            await inbox.wait(second, timeout=10)
        assert inbox.clock() - before == timedelta(seconds=10)
        await inbox.cancel(first.id, "too slow", by="ann")

    first, second = [await inbox.ask(f"slow {n}", expires_in=100) for n in "ab"]
    before = inbox.clock()
    ended, _ = await asyncio.gather(inbox.wait(first), gives_up())

    assert (ended.status, inbox.clock() - before) == ("cancelled", timedelta(seconds=10))


async def test_all_that_is_ignored_expires_at_its_own_moment(inbox: StoreInbox, ringi_harness: TestHarness) -> None:
    asked = [await inbox.ask(f"slow {seconds}", expires_in=seconds) for seconds in (30, 10, 20)]
    ended = await asyncio.gather(*(inbox.wait(request) for request in asked))

    assert [request.status for request in ended] == ["expired"] * 3
    known = [await inbox.get(request.id) for request in asked]
    assert [request.ended_at for request in known] == [request.expires_at for request in asked]


async def test_what_was_asked_and_told_has_one_order(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    form, context = Form([Text("number")]), {"memory_category": "numbers"}
    for number in range(6):
        ringi_person.approves({"number": str(number)}, title=f"number {number}")
        request = await ringi_harness.inbox.ask(f"number {number}", form=form, context=context)
        await ringi_harness.inbox.wait(request.id)

    assert [request.title[-1] for request in await ringi_harness.inbox.find()] == list("543210")
    assert [memory.answer["number"] for memory in await ringi_harness.inbox.memories.list("ann")] == list("543210")
    assert (await ringi_harness.inbox.find())[-1].created_at == NOON


async def test_threads_of_two_agents_run_at_once(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    def asking(title: str) -> Any:
        @entrypoint()
        def agent(input: dict[str, Any]) -> str:
            return ask(title, expires_in=60).status

        return agent

    ringi_person.responds("yes")
    outcomes = await asyncio.gather(*(ringi_harness.run(asking(name), thread_id=name) for name in "abc"))
    assert [outcome.request.status for outcome in outcomes] == ["completed"] * 3
