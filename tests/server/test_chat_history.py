"""What was said in a chat so far, over HTTP."""

from __future__ import annotations

from typing import Any

from tests.server.world import World, until


def said(id: str, text: str) -> dict[str, Any]:
    return {"id": id, "role": "user", "parts": [{"type": "text", "text": text}]}


async def say(world: World, thread: str, id: str, text: str, status: str) -> None:
    """Say something, and wait until the agent stands there."""
    input = {"messages": [{"role": "user", "content": text, "id": id}]}
    body = {"agent": "chat", "input": input}
    reply = await world.client("person", "ann").post(f"/v1/threads/{thread}/runs", json=body)
    assert reply.status_code == 202, reply.text
    await until(lambda: stands(world, thread, status))


async def stands(world: World, thread: str, status: str) -> bool:
    return (await world.runner.get("default", thread)).status == status


async def history(world: World, thread: str) -> list[dict[str, Any]]:
    reply = await world.client("person", "ann").get(f"/v1/chat/{thread}")
    assert reply.status_code == 200, reply.text
    runs: list[dict[str, Any]] = reply.json()["runs"]
    return runs


def words(run: dict[str, Any]) -> list[str]:
    return [part["delta"] for part in run["parts"] if part["type"] == "text-delta"]


async def test_all_that_was_said_is_told_again_with_the_ids_that_it_had(world: World) -> None:
    await say(world, "talk", "m1", "Hello", "done")
    await say(world, "talk", "m2", "Bye", "done")
    first, second = await history(world, "talk")
    assert [first["messages"], second["messages"]] == [[said("m1", "Hello")], [said("m2", "Bye")]]
    assert [len(words(first)), len(words(second))] == [1, 1]
    assert "Hello" in words(first)[0]
    assert first["parts"][0] == {
        "type": "start",
        "messageId": first["id"],
        "messageMetadata": {"threadId": "talk", "runId": first["id"], "agent": "chat"},
    }


async def test_a_question_stands_where_it_was_asked_as_it_is_now(world: World) -> None:
    await say(world, "talk", "m1", "ask me", "interrupted")
    (run,) = await history(world, "talk")
    (asked,) = [part for part in run["parts"] if part["type"] == "data-ringi-request"]
    assert (asked["data"]["status"], asked["id"]) == ("pending", asked["data"]["id"])
    answer = {"decision": "approve", "data": {"sport": "running"}, "digest": asked["data"]["digest"]}
    reply = await world.client("person", "ann").post(f"/v1/requests/{asked['id']}/respond", json=answer)
    assert reply.status_code == 200, reply.text
    await until(lambda: stands(world, "talk", "done"))
    (run,) = await history(world, "talk")
    kinds = [part["type"] for part in run["parts"]]
    (asked,) = [part for part in run["parts"] if part["type"] == "data-ringi-request"]
    assert asked["data"]["status"] == "completed"
    assert kinds.index("data-ringi-request") < len(kinds) - 1 - kinds[::-1].index("text-delta")


async def test_a_chat_that_nobody_began_is_not_found(world: World) -> None:
    assert (await world.client("person", "ann").get("/v1/chat/nowhere")).status_code == 404
