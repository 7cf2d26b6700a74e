"""What `ringi watch` counts as new."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from ringi.cli.terminal.request_list import PAGE, RequestList
from ringi.connect import store_inbox
from ringi.domain.voting import Person
from ringi.inbox.inbox import StoreInbox


async def test_what_changes_further_down_than_the_list_was_read_is_no_news() -> None:
    async with store_inbox("memory://") as inbox:
        asked = [await inbox.ask(f"Question {number}?") for number in range(PAGE + 5)]
        listing = RequestList(inbox, "ann")
        await listing.reload()

        listing.take(await inbox.claim(asked[-1].id, by="ann"))
        assert listing.news == {}
        plain = await inbox.ask("New?")
        listing.take(plain)
        assert listing.news == {}
        new = await inbox.ask("New and urgent?", priority="urgent")
        listing.take(new)
        assert list(listing.news) == [new.id]

        await listing.more()
        assert listing.listed[asked[-1].id].claimed_by == "ann"
        listing.take(await inbox.release(asked[-1].id, by="ann"))
        assert listing.listed[asked[-1].id].claimed_by is None
        assert list(listing.news) == [new.id]


async def test_the_person_answers_with_their_groups_and_as_a_deputy() -> None:
    async with store_inbox("memory://") as inbox:
        await inbox.people.leave("ann", inbox.clock() + timedelta(hours=1), by=Person("dee", ["legal"]))
        person = await RequestList(inbox, "ann", ("finance",)).decider()
        assert [(each.name, each.groups) for each in person.viewers] == [("ann", ("finance",)), ("dee", ("legal",))]


async def reading_with(
    monkeypatch: pytest.MonkeyPatch,
    inbox: StoreInbox,
    meanwhile: Callable[[], Awaitable[None]],
    reading: Callable[[], Any],
) -> None:
    """Read a list, and let something happen after the store was read and before its reply is here."""
    find = inbox.search

    async def held_back(*args: Any) -> Any:
        found = await find(*args)
        await meanwhile()
        return found

    monkeypatch.setattr(inbox, "search", held_back)
    await reading()
    monkeypatch.undo()


async def test_what_happens_while_the_list_is_read_is_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with store_inbox("memory://") as inbox:
        before = await inbox.ask("Before?")
        listing = RequestList(inbox, "ann")

        async with listing.follow():
            changes = listing.changes()

            async def meanwhile() -> None:
                await inbox.ask("Meanwhile?", id="new")
                await inbox.cancel(before.id, by="ann")
                changed = set[str]()
                while changed < {"new", before.id}:
                    changed |= await anext(changes)

            await reading_with(monkeypatch, inbox, meanwhile, listing.reload)
        assert listing.listed[before.id].status == "cancelled"
        assert (list(listing.news), listing.waiting) == (["new"], 1)


async def test_a_page_that_is_read_while_one_of_its_requests_is_claimed_shows_the_claim(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with store_inbox("memory://") as inbox:
        asked = [await inbox.ask(f"Question {number}?") for number in range(PAGE + 5)]
        listing = RequestList(inbox, "ann")
        await listing.reload()

        async def meanwhile() -> None:
            listing.take(await inbox.claim(asked[-1].id, by="ann"))

        await reading_with(monkeypatch, inbox, meanwhile, listing.more)
        assert listing.listed[asked[-1].id].claimed_by == "ann"
