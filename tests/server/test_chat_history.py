"""What was said in a chat so far, over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.server.world import World, until

from ringi.contracts.backend import Stream, StreamItem
from ringi.domain.record import Key
from ringi.runs.stream_writer import PAGE
from ringi.server.sse.run_output import newest_runs_before_item


def text_message(id: str, text: str) -> dict[str, Any]:
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
    assert [first["messages"], second["messages"]] == [[text_message("m1", "Hello")], [text_message("m2", "Bye")]]
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


async def spoken(world: World, thread: str, count: int, stretches: int = 1, length: int = 4) -> list[str]:
    """Have a thread's stream tell of so many runs more, with as many pauses; return their ids."""
    ids = [f"{n:032x}" for n in range(count)]
    items: list[dict[str, Any]] = []
    for id in ids:
        for n in range(stretches):
            run = {"threadId": thread, "runId": f"{id}.{n}" if n else id}
            messages = [] if n else [{"id": f"m-{id}", "role": "user", "content": id}]
            items.append({"type": "RUN_STARTED", **run, "input": {"messages": messages}})
            items += [{"type": "CUSTOM", "name": "step", "value": [id, n, m]} for m in range(length - 2)]
            outcome = {"type": "success"} if n == stretches - 1 else {"type": "interrupt", "interrupts": []}
            items.append({"type": "RUN_FINISHED", **run, "outcome": outcome})
    key = Key("default", thread)
    for start in range(0, len(items), 1000):
        await world.backend.stream.append(key, [StreamItem(each) for each in items[start : start + 1000]], fence=1)
    return ids


@pytest.mark.parametrize(("stretches", "length"), [(1, 4), (3, 90), (2, 250)])
async def test_page_after_page_tells_each_run_once_and_whole(world: World, stretches: int, length: int) -> None:
    await say(world, "talk", "m1", "Hello", "done")
    ids = await spoken(world, "talk", 10, stretches, length)
    await say(world, "talk", "m2", "Bye", "done")
    runs: list[Any] = []
    next: str | None = ""
    while next is not None:
        reply = await world.client("person", "ann").get(f"/v1/chat/talk?limit=3&cursor={next}")
        assert len(reply.json()["runs"]) == 3
        runs, next = reply.json()["runs"] + runs, reply.json()["next"]
    assert [run["id"] for run in runs][1:-1] == ids
    assert [run["messages"][0]["id"] for run in runs] == ["m1", *(f"m-{id}" for id in ids), "m2"]
    assert {len(run["parts"]) for run in runs[1:-1]} == {1 + stretches * (length - 2)}


class Counted(Stream):
    """A stream that counts what is read of it."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self.items, self.reads = stream, 0, 0

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        return await self._stream.append(key, items, fence=fence)

    async def delete(self, key: Key, *, fence: int) -> int:
        return await self._stream.delete(key, fence=fence)

    async def replace(self, key: Key, items: Sequence[StreamItem], *, last: int) -> int:
        return await self._stream.replace(key, items, last=last)

    async def read_last(self, key: Key, limit: int, before: int | None = None) -> list[StreamItem]:
        found = await self._stream.read_last(key, limit, before)
        self.items, self.reads = self.items + len(found), self.reads + 1
        return found

    async def read(self, key: Key, after: int = 0, limit: int = 500) -> list[StreamItem]:
        found = await self._stream.read(key, after, limit)
        self.items, self.reads = self.items + len(found), self.reads + 1
        return found


async def test_of_a_long_chat_no_more_is_read_than_is_shown(world: World) -> None:
    ids = await spoken(world, "talk", 5000)
    counted = Counted(world.backend.stream)
    runs, next = await newest_runs_before_item(counted, Key("default", "talk"), 50, None)
    assert ([run.id for run in runs], next) == (ids[-50:], 4 * 4950 + 1)
    assert counted.items <= 3 * PAGE
    assert counted.reads <= 3


async def test_of_a_thread_whose_beginning_was_erased_the_rest_is_told(world: World) -> None:
    await spoken(world, "talk", 400)
    await world.backend.stream.delete(Key("default", "talk"), fence=1)
    ids = await spoken(world, "talk", 2)
    runs, next = await newest_runs_before_item(world.backend.stream, Key("default", "talk"), 50, None)
    assert ([run.id for run in runs], next) == (ids, None)


@pytest.mark.parametrize("cursor", ["x", "-1", "1" * 30])
async def test_a_cursor_of_something_else_is_refused(world: World, cursor: str) -> None:
    await say(world, "talk", "m1", "Hello", "done")
    reply = await world.client("person", "ann").get(f"/v1/chat/talk?cursor={cursor}")
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, "cursor")


async def test_a_chat_that_nobody_began_is_not_found(world: World) -> None:
    assert (await world.client("person", "ann").get("/v1/chat/nowhere")).status_code == 404
