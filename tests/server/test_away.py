"""A deputy sees and answers what is open to a person who is away, until the person is back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.world import World, listening, open_world, until

from ringi.base.clock import utc_now
from ringi.domain.journal import Journal
from ringi.domain.record import Query
from ringi.domain.request import Request

TOMORROW = utc_now() + timedelta(days=1)


@pytest.fixture
async def world(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url) as world:
        yield world


async def leave(client: httpx.AsyncClient, deputy: str, **more: Any) -> None:
    reply = await client.put(
        "/v1/away", json={"deputy": deputy, "until": TOMORROW.isoformat(), "unknown": True, **more}
    )
    assert reply.status_code == 200, reply.text


async def answer(client: httpx.AsyncClient, request: Request, decision: str = "respond") -> httpx.Response:
    words = {"message": "yes"} if decision == "respond" else {}
    body = {"decision": decision, "digest": request.digest, **words}
    return await client.post(f"/v1/requests/{request.id}/respond", json=body)


async def ids(client: httpx.AsyncClient) -> set[str]:
    return {each["id"] for each in (await client.get("/v1/requests")).json()["items"]}


async def test_a_deputy_sees_and_answers_what_is_open_to_the_absent_person(world: World) -> None:
    ann, dee = world.client(name="ann", groups=("finance",)), world.client(name="dee")
    to_ann, to_group = await world.asked(assignee="ann"), await world.asked(groups=["finance"])
    other = await world.asked(assignee="bob")
    assert await ids(dee) == set()

    await leave(ann, "dee")

    assert await ids(dee) == {to_ann.id, to_group.id}
    assert (await dee.get("/v1/requests/counts")).json()["pending"]["count"] == 2
    assert (await dee.get(f"/v1/requests/{to_ann.id}")).status_code == 200
    assert (await dee.get(f"/v1/requests/{other.id}")).status_code == 404
    away = (await dee.get("/v1/away")).json()
    assert [each["person"] for each in away["deputy_for"]] == ["ann"]
    done = (await answer(dee, to_ann)).json()
    assert (done["response"]["responder"], done["response"]["for"]) == ("dee", "ann")
    assert (await answer(dee, other)).status_code == 404


async def test_an_agent_with_the_name_of_the_deputy_sees_nothing(world: World) -> None:
    await world.asked(assignee="ann")

    await leave(world.client(name="ann"), "dee")

    assert await ids(world.client("agent", "dee")) == set()


async def test_a_deputy_cannot_decide_what_the_absent_person_started(world: World) -> None:
    request = await world.asked(by="ann", assignee="ann", exclude=["asker"])
    await leave(world.client(name="ann"), "dee")

    assert (await answer(world.client(name="dee"), request)).status_code == 403


async def test_an_absence_ends_when_the_person_is_back(world: World) -> None:
    ann, dee = world.client(name="ann"), world.client(name="dee")
    request = await world.asked(assignee="ann")
    await leave(ann, "dee")
    assert await ids(dee) == {request.id}

    assert (await ann.delete("/v1/away")).status_code == 204

    assert (await ann.get("/v1/away")).json() == {"absence": None, "deputy_for": []}
    assert await ids(dee) == set()
    assert (await answer(dee, request)).status_code == 404


async def ignored(tenants: list[str]) -> None:
    """Read nothing."""


async def test_an_administrator_sees_all_absences_and_ends_one(world: World) -> None:
    ann, dee, root = world.client(name="ann"), world.client(name="dee"), world.client("admin", "root")
    await leave(world.client(name="zoe"), "ann")
    await leave(ann, "dee")
    request = await world.asked(assignee="ann")
    assert await ids(dee) == {request.id}

    found = (await root.get("/v1/absences")).json()["items"]
    assert {each["person"]: each["deputy"] for each in found} == {"ann": "dee", "zoe": "ann"}
    assert (await root.delete("/v1/absences", params={"person": "ann"})).status_code == 204

    assert [each["person"] for each in (await root.get("/v1/absences")).json()["items"]] == ["zoe"]
    assert await ids(dee) == set()
    assert (await answer(dee, request)).status_code == 404
    assert (await root.delete("/v1/absences", params={"person": "ann"})).status_code == 404
    newest = (await world.inbox.events(request_id="ringi:away"))[-1]
    assert (newest.actor, newest.changed["entry"]) == ("root", {"do": "end", "person": "ann"})


async def test_another_server_that_has_not_noticed_refuses_the_answer(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if store_url.startswith("memory"):
        pytest.skip("a store in memory has one server")
    async with open_world(store_url) as here, open_world(store_url) as there:
        request = await here.asked(assignee="ann")
        await leave(here.client(name="ann"), "dee")
        dee = there.client(name="dee")
        assert await ids(dee) == {request.id}
        # The other server never hears of the end.
        monkeypatch.setattr(there.app._absences, "_read", ignored)
        await here.inbox.people.come_back(by="ann")

        refused = await answer(dee, request)
        assert (refused.status_code, "no longer a deputy" in refused.text) == (403, True)
        assert (await here.inbox.get(request.id)).status == "pending"


async def test_the_feed_of_a_deputy_has_the_requests_of_the_absent_person(store_url: str) -> None:
    async with open_world(store_url, serves=True) as world:
        ann, dee = world.client(name="ann"), world.client(name="dee")
        await leave(ann, "dee")
        async with listening(dee, "/v1/events", **{"last-event-id": "0"}) as feed:
            request = await world.asked(assignee="ann")
            sent = await feed.next()
            assert sent.data["request"]["id"] == request.id

            await ann.delete("/v1/away")
            await until(lambda: not len(world.app._streams))  # It ends, and a client connects again.


async def test_the_trail_has_the_absence_and_an_erasure_removes_it(world: World) -> None:
    await leave(world.client(name="ann", groups=("finance",)), "dee")
    (journal,) = [each for each in await world.inbox.store.find(Journal, Query()) if each.id == "ringi:away"]
    assert list(journal.state["people"]) == ["ann"]

    done = await world.inbox.trail.erase(person="ann", by="root")

    assert done.journals == ("ringi:away",)
    after = await world.inbox.store.get(Journal, "default", "ringi:away")
    assert after.state == {"people": {}}
    assert after.is_sound
    events = await world.inbox.events(request_id="ringi:away")
    assert "ann" not in "".join(event.model_dump_json() for event in events).replace("finance", "")
    # As a word: a digest may contain these letters.
    assert "dee" not in re.findall(r"\w+", "".join(str(event.payload) for event in events))
    assert (await world.client(name="dee").get("/v1/away")).json()["deputy_for"] == []


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def test_two_sign_ins_of_one_person_are_one_voter(file_url: str) -> None:
    async with open_world(file_url) as world:
        request = await world.asked(action={"name": "refund"}, quorum=[{"count": 2}])
        names = ("ann", "ann@example.com")
        tokens = [world.keys.mint(role="person", name=name, subject="https://id.example.com 7") for name in names]
        first, second = [world.stranger(authorization=f"Bearer {token}") for token in tokens]

        assert (await answer(first, request, "approve")).status_code == 202
        assert (await answer(second, request, "approve")).status_code == 202

        (vote,) = (await world.inbox.get(request.id)).votes
        assert vote.subject == "https://id.example.com 7"
        assert (await answer(world.client(name="bob"), request, "approve")).status_code == 200


async def test_a_deputy_and_the_absent_person_have_one_vote(file_url: str) -> None:
    async with open_world(file_url) as world:
        request = await world.asked(action={"name": "refund"}, assignee="ann", quorum=[{"count": 2}])
        tokens = [
            world.keys.mint(role="person", name=name, subject="https://id.example.com 7") for name in ("ann", "a")
        ]
        ann, other_name = [world.stranger(authorization=f"Bearer {token}") for token in tokens]
        await leave(ann, "dee")
        dee = world.client(name="dee")
        assert (await answer(dee, request, "approve")).status_code == 202

        assert (await answer(ann, request, "approve")).status_code == 403
        voted = await world.inbox.get(request.id)
        assert [(vote.responder, vote.stands_for) for vote in voted.votes] == [("dee", "ann")]
        assert (await answer(other_name, request, "approve")).status_code in (403, 404)
