"""What a person can hold ends when the person leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import get_args

import pytest

from ringi.connect import inbox_on, open_backend
from ringi.domain.ask import Action
from ringi.errors import InvalidError
from ringi.inbox.inbox import Inbox
from ringi.inbox.offboarding import HOLDINGS, HoldingKind, offboard

HOUR = timedelta(hours=1)


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    async with open_backend("memory://") as backend, inbox_on(backend) as inbox:
        yield inbox


async def with_everything(inbox: Inbox) -> dict[HoldingKind, str]:
    """Let dee hold one thing of each kind; return their ids."""
    until = inbox.clock() + HOUR
    await inbox.leave("bob", until, by="dee")
    await inbox.leave("dee", until, by="ann")
    await inbox.leave("bob", until, by="zoe")
    asked = await inbox.ask("Refund?", action=Action("refund", {"order": 7}))
    grant = {"until": until, "max_uses": 5}
    await inbox.respond(asked.id, "approve", responder="dee", digest=asked.digest, grant=grant)
    claimed = await inbox.claim((await inbox.ask("Go?")).id, "dee")
    return {"absences": "dee", "deputyships": "ann", "grants": asked.id, "claims": claimed.id}


async def test_all_that_a_person_holds_ends_and_is_listed(inbox: Inbox) -> None:
    held = await with_everything(inbox)
    ended = await offboard(inbox, "dee", "root")
    assert {each.kind: each.id for each in ended} == held
    assert [each.person for each in await inbox.absences.active()] == ["zoe"]
    assert [each.status for each in await inbox.grants()] == ["revoked"]
    assert (await inbox.get(held["claims"])).claimed_by is None
    assert await offboard(inbox, "dee", "root") == []


def test_each_kind_of_holding_has_one_way_to_end() -> None:
    kinds = [kind for holding in HOLDINGS for kind in holding.kinds]
    assert sorted(kinds) == sorted(get_args(HoldingKind))


async def test_what_waits_for_the_person_is_marked(inbox: Inbox) -> None:
    for name in ("dee", "bob"):
        await inbox.note_person(name, ["legal"] if name == "dee" else [])
    to_dee, to_legal = await inbox.ask("Go?", assignee="dee"), await inbox.ask("Go?", candidate_groups=["legal"])
    assert not (to_dee.unanswerable)
    assert not (to_legal.unanswerable)
    await offboard(inbox, "dee", "root")
    assert [(await inbox.get(each.id)).unanswerable for each in (to_dee, to_legal)] == [True, True]
    with pytest.raises(InvalidError, match="dee"):
        await inbox.reassign(to_dee.id, "bob", assignee="dee")
    await inbox.note_person("dee")
    assert [(await inbox.get(each.id)).unanswerable for each in (to_dee, to_legal)] == [False, True]


async def test_an_erasure_of_the_administrator_s_words_removes_the_name_of_the_person(inbox: Inbox) -> None:
    await with_everything(inbox)
    await offboard(inbox, "dee", "root")
    await inbox.erase_all("root", person="dee")
    events = await inbox.events(request_id="ringi:away")
    assert "dee" not in "".join(str(event.payload) for event in events)
