"""What a person told an assistant goes with them, wherever the work beside the conversation has carried it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.apps.assistant.served import GOALS, Office, served
from tests.apps.assistant.test_routes import AT, asked_in, item, memory_of, once, planned, press, pressed
from tests.server.world import World, is_at_rest, until

from ringi.audit.verify import verify_store


async def erased(world: World, person: str) -> set[str]:
    await until(partial(is_at_rest, world))
    reply = await world.client("admin", "root").post("/v1/erasures", json={"person": person})
    assert (reply.json()["left"], reply.json()["next"]) == ({}, None)
    return set(reply.json()["threads"])


async def carried_out(world: World, office: Office) -> str:
    """Return the request that approved the plan."""
    plan = await planned(world)
    assert (await press(world.client(), "apply-1", digest=plan["request"]["digest"])).status_code == 200
    await until(lambda: len(office.done) == len(office.projects))
    return str(plan["request"]["id"])


def holding(folder: Path, words: str) -> list[str]:
    return [path.name for path in folder.iterdir() if words.encode() in path.read_bytes()]


async def test_nothing_that_a_person_told_is_left_in_the_threads_beside_their_conversation(tmp_path: Path) -> None:
    office = Office()
    async with served(f"sqlite:///{tmp_path}/ringi.db", office) as world:
        approval = await carried_out(world, office)
        await pressed(world.client(name="bob"), "refresh:projects", "/v1/assistants/bobs")
        gone = await erased(world, "ann")
        threads = {thread.id: thread for thread in await world.runner.find("default", 20)}
        assert gone == threads.keys() - {"bobs"}
        assert {id.partition("~")[2].partition("-")[0] for id in gone} == {"", "ask", "plan", "approve", "execute"}
        assert all(threads[id].erased for id in gone)
        assert threads["bobs"].erased is None
        # What an agent asked, and a person let it do, is the agent's: it goes with the request.
        await world.client("admin", "root").post(f"/v1/requests/{approval}/erase", json={})
        assert (await verify_store(world.backend.store))[1] == []
    assert holding(tmp_path, GOALS) == []


@pytest.mark.parametrize("how", ["person", "request"])
async def test_an_answer_that_is_erased_is_gone_from_the_conversation_that_was_told_it(how: str) -> None:
    async with served("memory://") as world:
        ann, bob = world.client(), world.client(name="bob")
        await pressed(ann, "ask:goals")
        asked = await asked_in(world, "c1")
        answer = {"decision": "approve", "digest": asked["digest"], "data": {"value": GOALS}}
        assert (await bob.post(f"/v1/requests/{asked['id']}/respond", json=answer)).status_code == 200
        await once(ann, lambda memory: item(memory, "goals")["value"] == GOALS)
        if how == "person":
            assert await erased(world, "bob") == {"c1", asked["thread_id"]}
        else:
            await until(partial(is_at_rest, world))
            reply = await world.client("admin", "root").post(f"/v1/requests/{asked['id']}/erase", json={})
            assert reply.status_code == 200
        assert item(await memory_of(ann), "goals")["value"] is None
        assert (await ann.get(f"{AT}/memory/history")).json()["items"] == []
