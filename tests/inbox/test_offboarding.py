"""What a person can hold ends when the person leaves."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, get_args

import pytest
from tests.tiers import WIDE

from ringi.audit.verify import verify_store
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain import suggestions
from ringi.domain.ask import Action
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.voting import Decider, Person
from ringi.errors import InvalidError, UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.offboarding import HOLDINGS, HoldingKind, offboard

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def few_decisions_suggest_a_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "FEWEST", 50)


@asynccontextmanager
async def open_inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        yield inbox


@pytest.fixture
async def inbox() -> AsyncIterator[StoreInbox]:
    async with open_inbox("memory://") as inbox:
        yield inbox


async def with_everything(inbox: StoreInbox) -> dict[HoldingKind, str]:
    """Let dee hold one thing of each kind, but no rule; return their ids."""
    until = inbox.clock() + HOUR
    await inbox.people.leave("bob", until, by="dee")
    await inbox.people.leave("dee", until, by="ann")
    await inbox.people.leave("bob", until, by="zoe")
    asked = await inbox.ask("Refund?", action=Action("refund", {"order": 7}))
    grant = {"until": until, "max_uses": 5}
    await inbox.respond(asked, "approve", by="dee", grant=grant)
    claimed = await inbox.claim((await inbox.ask("Go?")).id, by="dee")
    voted = await answered(inbox, "dee", quorum=[{"count": 2}])
    held = await answered(inbox, "dee", hold=30)
    about: dict[HoldingKind, str] = {"grants": asked.id, "claims": claimed.id, "votes": voted.id, "answers": held.id}
    return {"absences": "dee", "deputyships": "ann", **about}


async def answered(inbox: StoreInbox, by: str, number: int = 7, **more: Any) -> Request:
    asked = await inbox.ask("Pay?", action=Action("pay", {"amount": number}), **more)
    return await inbox.respond(asked, "approve", by=by)


async def switch_on_a_rule(inbox: StoreInbox, by: str) -> str:
    """Return the id of a rule that a person has switched on after a few approvals."""
    for number in range(suggestions.FEWEST):
        await answered(inbox, "ann", number * 37 % 200 + 1)
    (suggestion,) = await inbox.suggestions.list()
    return (await inbox.suggestions.accept(suggestion.id, by=by)).id


async def test_all_that_a_person_holds_ends_and_is_listed(inbox: StoreInbox) -> None:
    await check_that_all_ends(inbox)


@WIDE
@pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
async def test_all_that_a_person_holds_ends_on_each_store(url: str) -> None:
    async with open_inbox(url) as inbox:
        await check_that_all_ends(inbox)
        assert (await verify_store(inbox.store))[1] == []


async def check_that_all_ends(inbox: StoreInbox) -> None:
    held = await with_everything(inbox) | {"rules": await switch_on_a_rule(inbox, "dee")}
    assert held.keys() == set(get_args(HoldingKind))
    ended = await offboard(inbox, "dee", "root")
    assert {each.kind: each.id for each in ended} == held
    assert [each.person for each in await inbox.people.active()] == ["zoe"]
    assert [each.status for each in await inbox.grants.list()] == ["revoked", "revoked"]
    left = [await inbox.get(held[kind]) for kind in ("claims", "votes", "answers")]
    assert [(each.claimed_by, each.votes, each.held, each.status) for each in left] == [(None, (), None, "pending")] * 3
    assert await offboard(inbox, "dee", "root") == []


async def test_a_claim_of_a_request_of_the_person_s_group_ends(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Go?", groups=["legal"])
    await inbox.claim(asked.id, by=Person("dee", ["legal"]))
    assert [(each.kind, each.id) for each in await offboard(inbox, "dee", "root")] == [("claims", asked.id)]
    assert (await inbox.get(asked.id)).claimed_by is None


def test_each_kind_of_holding_has_one_way_to_end() -> None:
    kinds = [kind for holding in HOLDINGS for kind in holding.kinds]
    assert sorted(kinds) == sorted(get_args(HoldingKind))


async def test_what_waits_for_the_person_is_marked(inbox: StoreInbox) -> None:
    for name in ("dee", "bob"):
        await inbox.note_person(name, ["legal"] if name == "dee" else [])
    to_dee, to_legal = await inbox.ask("Go?", assignee="dee"), await inbox.ask("Go?", groups=["legal"])
    assert not (to_dee.unanswerable)
    assert not (to_legal.unanswerable)
    await offboard(inbox, "dee", "root")
    assert [(await inbox.get(each.id)).unanswerable for each in (to_dee, to_legal)] == [True, True]
    with pytest.raises(InvalidError, match="dee"):
        await inbox.reassign(to_dee.id, assignee="dee", by=Decider("root", is_admin=True))
    await inbox.note_person("dee")
    assert [(await inbox.get(each.id)).unanswerable for each in (to_dee, to_legal)] == [False, True]


async def test_what_waits_for_an_erased_person_is_marked(inbox: StoreInbox) -> None:
    for name in ("dee", "bob"):
        await inbox.note_person(name)
    to_dee = await inbox.ask("Go?", assignee="dee")
    await inbox.trail.erase(person="dee", by="root")
    assert (await inbox.get(to_dee.id)).unanswerable


async def test_the_first_person_marks_what_was_asked_before(inbox: StoreInbox) -> None:
    early = await inbox.ask("Go?", groups=["finnace"])
    assert not early.unanswerable
    await inbox.note_person("ann", ["finance"])
    assert (await inbox.get(early.id)).unanswerable


async def test_marks_that_failed_are_set_at_the_next_call(inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    await inbox.note_person("ann")
    to_zoe = await inbox.ask("Go?", assignee="zoe")

    async def fail(query: Query) -> None:
        raise UnavailableError("the store is gone for a moment")

    with monkeypatch.context() as patched:
        patched.setattr(inbox, "mark_unanswerable", fail)
        with pytest.raises(UnavailableError):
            await inbox.note_person("zoe")
    assert not inbox.known_people.has(inbox.tenant, "zoe")
    await inbox.note_person("zoe")
    assert inbox.known_people.has(inbox.tenant, "zoe")
    assert not (await inbox.get(to_zoe.id)).unanswerable


async def test_who_is_noted_while_marks_are_set_counts_for_the_next_ones(
    inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await inbox.note_person("ann")
    to_zoe, mark = await inbox.ask("Go?", assignee="zoe"), inbox.mark_unanswerable

    async def mark_before_zoe(query: Query) -> None:
        await mark(query)
        await inbox.known_people.note(inbox.tenant, "zoe")

    with monkeypatch.context() as patched:
        patched.setattr(inbox, "mark_unanswerable", mark_before_zoe)
        await inbox.note_person("bob")
    assert not inbox.known_people.has(inbox.tenant, "zoe")
    await inbox.note_person("zoe")
    assert not (await inbox.get(to_zoe.id)).unanswerable


async def test_the_first_calls_of_a_person_set_the_marks_once(
    inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    await inbox.note_person("ann")
    to_zoe = [await inbox.ask("Go?", assignee="zoe") for _ in range(3)]
    to_eve, marked = await inbox.ask("Go?", assignee="eve"), list[str]()
    set_marks, mark, has_begun, may_go_on = inbox.mark_unanswerable, inbox.mark, asyncio.Event(), asyncio.Event()

    async def wait_and_mark(query: Query) -> None:
        has_begun.set()
        await may_go_on.wait()
        await set_marks(query)

    async def count(request: Request) -> None:
        marked.append(request.id)
        await mark(request)

    monkeypatch.setattr(inbox, "mark_unanswerable", wait_and_mark)
    monkeypatch.setattr(inbox, "mark", count)
    calls = [asyncio.create_task(inbox.note_person("zoe")) for _ in range(20)]
    await has_begun.wait()
    # Others do not wait for the marks of a person, however many requests there are.
    await asyncio.wait_for(inbox.note_person("ann"), 5)
    may_go_on.set()
    await asyncio.gather(*calls)
    assert sorted(marked) == sorted(each.id for each in to_zoe)
    assert [(await inbox.get(each.id)).unanswerable for each in (*to_zoe, to_eve)] == [False, False, False, True]


async def test_an_erasure_of_the_administrator_s_words_removes_the_name_of_the_person(inbox: StoreInbox) -> None:
    await with_everything(inbox)
    await offboard(inbox, "dee", "root")
    await inbox.trail.erase(person="dee", by="root")
    events = await inbox.events(request_id="ringi:away")
    # As a word: a digest may contain these letters.
    assert "dee" not in re.findall(r"\w+", "".join(str(event.payload) for event in events))
