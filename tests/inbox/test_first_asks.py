"""The first request about a tool for 30 days, and the agent that asks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.contracts.store import Change, R
from ringi.domain.ask import Action, Ask, Continuation
from ringi.domain.record import Event, Query, Record
from ringi.domain.request import Request
from ringi.errors import InvalidError, UnavailableError
from ringi.inbox import grants
from ringi.inbox.inbox import StoreInbox
from ringi.testing import ManualClock

RUN = Continuation(runner="test", target="payer", key="thread-1")


class CountingStore(MemoryStore):
    """Counts the lists that are read, and fails to write while it is broken."""

    finds, is_broken = 0, False

    async def find(self, kind: type[R], query: Query) -> list[R]:
        self.finds += 1
        return await super().find(kind, query)

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        if self.is_broken:
            raise UnavailableError("broken")
        await super().put(record, event, others)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def store() -> CountingStore:
    return CountingStore()


@pytest.fixture
async def inbox(store: CountingStore, clock: ManualClock) -> AsyncIterator[StoreInbox]:
    inbox = StoreInbox(store, MemoryNotifier(0.1), clock=clock)
    async with inbox.feed:
        yield inbox


def another_process(inbox: StoreInbox) -> StoreInbox:
    return StoreInbox(inbox.store, inbox.notifier, clock=inbox.clock)


async def asked(inbox: StoreInbox, tool: str | None = "pay", **more: Any) -> Request:
    action = Action(tool) if tool else None
    return await inbox.submit(Ask(title="?", action=action), by="agent:bot", **more)


async def test_a_request_is_the_first_of_its_kind_once_in_30_days(inbox: StoreInbox, clock: ManualClock) -> None:
    assert (await asked(inbox)).first_of_kind
    assert not (await asked(inbox)).first_of_kind
    clock.advance(days=30, seconds=-1)
    assert not (await asked(inbox)).first_of_kind
    clock.advance(days=30)
    assert (await asked(another_process(inbox))).first_of_kind
    assert not (await asked(another_process(inbox))).first_of_kind


async def test_tools_and_tenants_have_their_own_first_requests(inbox: StoreInbox) -> None:
    await asked(inbox)

    assert (await asked(inbox, "mail")).first_of_kind
    assert (await asked(inbox.for_tenant("other"))).first_of_kind
    assert not (await asked(inbox, None)).first_of_kind


async def test_of_requests_at_the_same_time_one_is_the_first(inbox: StoreInbox) -> None:
    found = await asyncio.gather(*(asked(inbox) for _ in range(20)))

    assert sum(request.first_of_kind for request in found) == 1


async def test_a_request_that_came_later_and_was_stored_sooner_is_not_the_first(
    inbox: StoreInbox, store: CountingStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    later: list[Request] = []

    async def find_after_another(kind: type[R], query: Query) -> list[R]:
        monkeypatch.undo()
        clock.advance(seconds=1)
        later.append(await asked(inbox))
        return await store.find(kind, query)

    monkeypatch.setattr(store, "find", find_after_another)

    assert (await asked(inbox)).first_of_kind
    assert [request.first_of_kind for request in later] == [False]


async def test_a_call_that_a_rule_allows_asks_nobody(inbox: StoreInbox) -> None:
    call = Ask(title="?", action=Action("pay"))
    allowed = await inbox.submit_approved(call, rule="small", by="agent:bot")

    assert not allowed.first_of_kind
    assert (await asked(another_process(inbox))).first_of_kind


async def test_only_the_first_request_about_a_tool_reads_the_store(
    inbox: StoreInbox, store: CountingStore, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        await asked(inbox)
        clock.advance(days=1)
    assert store.finds == 1

    monkeypatch.setattr(grants, "MAX_TOOLS", 2)
    small = another_process(inbox)
    for tool in ("a", "b", "c", "a", "c"):
        await asked(small, tool)
    assert store.finds == 5


async def test_a_request_that_could_not_be_stored_does_not_count(inbox: StoreInbox, store: CountingStore) -> None:
    store.is_broken = True
    with pytest.raises(UnavailableError):
        await asked(inbox)
    store.is_broken = False

    assert (await asked(inbox)).first_of_kind


async def test_the_agent_is_that_of_the_run_or_the_client_or_who_asks(inbox: StoreInbox) -> None:
    async def agent(context: dict[str, Any], **more: Any) -> str | None:
        return (await inbox.submit(Ask(title="?", context=context), **more)).agent

    assert await agent({"client": "claude-code"}, by="ann", continuation=RUN) == "payer"
    assert await agent({"client": "claude-code"}, by="agent:bot") == "claude-code"
    for client in ("", 7, None, "x" * 201):
        assert await agent({"client": client}, by="agent:bot") == "agent:bot"
    assert await agent({}) is None


@pytest.mark.parametrize("name", ["agent", "first_of_kind"])
async def test_an_agent_cannot_set_what_is_worked_out(inbox: StoreInbox, name: str) -> None:
    with pytest.raises(InvalidError):
        Ask.parse({"title": "?", name: "root"})
    stored = Ask.parse_stored({"title": "?", "action": {"name": "pay"}, name: "root"})

    request = await inbox.submit(stored, by="agent:bot")

    assert (request.agent, request.first_of_kind) == ("agent:bot", True)
    assert request.digest == (await inbox.submit(Ask(title="?", action=Action("pay")), by="agent:bot")).digest


async def test_an_erasure_leaves_the_agent_of_a_run_and_no_name_of_a_person_or_client(inbox: StoreInbox) -> None:
    for by, context, continuation, left in (
        ("ann", {}, None, None),
        ("agent:bot", {"client": "anns-laptop"}, None, None),
        ("ann", {}, RUN, "payer"),
    ):
        ask = Ask(title="?", context=context, action=Action("pay"))
        request = await inbox.submit(ask, by=by, continuation=continuation)
        await inbox.cancel(request.id, by="bob")

        assert (await inbox.erase(request.id, by="root")).agent == left
