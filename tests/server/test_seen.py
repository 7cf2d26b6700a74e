"""Who opened a pending request is on record, if the server records it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.server.world import World, open_world

from ringi.audit.verify import verify_store
from ringi.base.settings import SettingError
from ringi.server.settings import ServerSettings


@pytest.fixture
async def recording(store_url: str) -> AsyncIterator[World]:
    async with open_world(store_url, record_seen=True) as world:
        yield world


async def seen(world: World) -> list[tuple[str, str]]:
    return [(event.record_id, event.actor) for event in await world.inbox.events() if event.type == "request.seen"]


async def test_the_first_view_of_each_person_is_one_event(recording: World) -> None:
    await recording.asked(id="r1")
    for role, name in (("person", "ann"), ("person", "ann"), ("admin", "root"), ("agent", "bot"), ("auditor", "eve")):
        await recording.client(role, name).get("/v1/requests/r1")
    assert await seen(recording) == [("r1", "ann"), ("r1", "root")]
    read = (await recording.client().get("/v1/requests/r1")).json()
    assert "seen_by" not in read
    answer = {"decision": "respond", "message": "y", "digest": read["digest"]}
    assert (await recording.client().post("/v1/requests/r1/respond", json=answer)).status_code == 200
    await recording.client(name="bob").get("/v1/requests/r1")
    assert len(await seen(recording)) == 2
    assert (await verify_store(recording.backend.store))[1] == []


async def test_by_default_a_view_leaves_no_event(world: World) -> None:
    await world.asked(id="r1")
    await world.client().get("/v1/requests/r1")
    assert await seen(world) == []


@pytest.mark.parametrize("erased", ["ann", "bob"])
async def test_an_erasure_of_a_person_removes_that_they_saw_it(recording: World, erased: str) -> None:
    await recording.asked(id="r1", by="agent:bot")
    for name in ("ann", "bob"):
        await recording.client(name=name).get("/v1/requests/r1")
    await recording.inbox.cancel("r1", by="root")
    done = await recording.inbox.trail.erase(person=erased, by="root")
    assert done.requests == ("r1",)
    (left,) = {"ann", "bob"} - {erased}
    assert (await recording.inbox.get("r1")).seen_by == (left,)
    assert sorted(await seen(recording)) == sorted([("r1", left), ("r1", "erased:person")])
    assert not [each for each in await recording.inbox.events() if erased in each.model_dump_json()]
    assert (await verify_store(recording.backend.store))[1] == []


@pytest.mark.parametrize("is_whole", [True, False])
async def test_an_erasure_of_the_content_removes_the_names(recording: World, is_whole: bool) -> None:
    await recording.asked(id="r1", by="carl")
    await recording.client(name="ann").get("/v1/requests/r1")
    await recording.inbox.cancel("r1", by="root")
    await (
        recording.inbox.erase("r1", by="root") if is_whole else recording.inbox.trail.erase(person="carl", by="root")
    )
    assert (await recording.inbox.get("r1")).seen_by == ("erased:person",)
    assert (await verify_store(recording.backend.store))[1] == []


def test_the_setting_is_one_or_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not ServerSettings.load().record_seen
    monkeypatch.setenv("RINGI_RECORD_SEEN", "1")
    assert ServerSettings.load().record_seen
    monkeypatch.setenv("RINGI_RECORD_SEEN", "ja")
    with pytest.raises(SettingError, match="RINGI_RECORD_SEEN='ja'"):
        ServerSettings.load()
