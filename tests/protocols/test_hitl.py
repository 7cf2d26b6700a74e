"""Forms of a chat over the seed's own edge: the event `hitl`, and `POST /hitl/respond`."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from tests.server.world import Sent, World, listening, until

STREAM = "/v1/threads/t1/stream"
ANSWER = {"sport": "basketball", "frequency": "weekly"}


async def start(world: World, agent: str = "preferences") -> list[dict[str, Any]]:
    """Start a run and return what it asks."""
    await world.client().post("/v1/threads/t1/runs", json={"agent": agent})
    await until_status(world, "interrupted")
    pending: list[dict[str, Any]] = (await world.client().get("/v1/threads/t1")).json()["pending"]
    return pending


async def until_status(world: World, status: str) -> None:
    async def holds() -> bool:
        return bool((await world.client().get("/v1/threads/t1")).json()["status"] == status)

    await until(holds)


async def read(client: httpx.AsyncClient, pauses: int, after: str = "") -> list[Sent]:
    """Return a stream's events up to so many ends of a stretch."""
    async with listening(client, f"{STREAM}?after={after}") as listener:
        found = [await listener.next()]
        while sum(sent.data["type"] == "RUN_FINISHED" for sent in found) < pauses:
            found.append(await listener.next())
    return found


def forms(events: list[Sent]) -> list[Any]:
    return [sent.data["payload"]["request"] for sent in events if sent.name == "hitl"]


async def respond(client: httpx.AsyncClient, request: dict[str, Any], action: str, data: Any = None) -> httpx.Response:
    body = {"request_id": request["id"], "session_id": request["thread_id"], "action": action, "data": data}
    return await client.post("/hitl/respond", json=body)


async def test_a_form_comes_as_an_event_and_is_answered(live: World) -> None:
    (asked,) = await start(live)
    events = await read(live.client(), 1)
    (form,) = [sent.data for sent in events if sent.name == "hitl"]
    assert (form["type"], form["payload"]["request"]["type"]) == ("hitl", "form")
    request = form["payload"]["request"]
    assert {name: request[name] for name in asked} == asked
    assert [field["name"] for field in request["fields"]] == ["sport", "frequency", "notes"]
    reply = await respond(live.client(), request, "approve", ANSWER)
    assert (reply.status_code, reply.json()) == (
        200, {"success": True, "next_action": "continue", "message": "Your answer is recorded."},
    )  # fmt: skip
    await until_status(live, "done")
    assert (await live.client().get("/v1/threads/t1")).json()["values"] == {"answer": ANSWER}


async def test_the_numbers_of_a_stream_take_no_notice_of_the_event(live: World) -> None:
    await start(live)
    events = await read(live.client(), 1)
    messages = [sent for sent in events if sent.name == "message"]
    assert [int(sent.id) for sent in messages] == list(range(1, len(messages) + 1))
    assert all(sent.data["type"].isupper() for sent in messages)
    place = next(n for n, sent in enumerate(events) if sent.name == "hitl")
    assert events[place].id == events[place - 1].id
    rest = await read(live.client(), 1, after=messages[-2].id)
    assert [(sent.name, sent.data) for sent in rest] == [(sent.name, sent.data) for sent in events[place:]]


async def test_each_request_comes_once_however_often_the_run_pauses(live: World) -> None:
    asked = await start(live, "two_questions")
    watching = asyncio.create_task(read(live.client(), 3))
    for request in asked:
        body = {"decision": "respond", "message": "blue", "digest": request["digest"]}
        await live.client().post(f"/v1/requests/{request['id']}/respond", json=body)
        await until(lambda id=request["id"]: is_taken_up(live, id))  # type: ignore[misc]
        await until_status(live, "interrupted" if request is asked[0] else "done")
    live_ones, later = forms(await watching), forms(await read(live.client(), 3))
    for seen in (live_ones, later):
        assert sorted(request["id"] for request in seen) == sorted(request["id"] for request in asked)
    assert {request["status"] for request in later} == {"completed"}


async def is_taken_up(world: World, id: str) -> bool:
    return (await world.inbox.get(id)).acknowledged_at is not None


async def test_only_who_may_read_a_request_is_sent_it(live: World) -> None:
    (asked,) = await start(live)
    await live.client().post(f"/v1/requests/{asked['id']}/reassign", json={"assignee": "carl", "unknown": True})
    for role, name, count in (("person", "bob", 0), ("person", "carl", 1), ("admin", "root", 1), ("person", "bob", 0)):
        events = await read(live.client(role, name), 1)
        assert len(forms(events)) == count, name
        assert [sent.name for sent in events].count("message") == len(events) - count


async def test_a_request_that_nothing_waits_for_is_complete(live: World) -> None:
    form = {"fields": [{"name": "sport", "type": "text", "label": "Sport"}]}
    await live.asked(id="one", thread_id="s1", form=form)
    reply = await respond(live.client(), {"id": "one", "thread_id": "s1"}, "edit", {"sport": "chess"})
    assert reply.json() == {"success": True, "next_action": "complete", "message": "Your changed answer is recorded."}


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"quorum": [{"count": 2}]}, "Your vote is recorded. More people must agree."),
        ({"hold": 30}, "Your answer is recorded, and takes effect in a moment."),
    ],
)
async def test_an_answer_that_is_not_final_says_so(live: World, more: dict[str, Any], message: str) -> None:
    asked = await live.asked(id="one", thread_id="s1", action={"name": "pay"}, **more)
    reply = await respond(live.client(), {"id": asked.id, "thread_id": "s1"}, "approve")
    assert (reply.status_code, reply.json()) == (
        202,
        {"success": True, "next_action": "complete", "message": message},
    )


async def test_a_bad_answer_is_told_field_by_field_and_the_form_stays_open(live: World) -> None:
    (asked,) = await start(live)
    reply = await respond(live.client(), asked, "approve", {"sport": "chess", "more": 1})
    assert reply.status_code == 422
    assert {error["field"] for error in reply.json()["errors"]} == {"sport", "more"}
    assert (await respond(live.client(), asked, "approve", ANSWER)).status_code == 200


async def test_the_first_answer_wins_and_its_repetition_is_no_other(live: World) -> None:
    (asked,) = await start(live)
    replies = [await respond(live.client(), asked, "approve", ANSWER) for _ in range(2)]
    assert [(reply.status_code, reply.json()["next_action"]) for reply in replies] == [(200, "continue")] * 2
    late = await respond(live.client(name="bob"), asked, "reject")
    assert (late.status_code, late.json()["winner"]["responder"]) == (409, "ann")


async def test_of_who_says_no_nothing_is_kept(live: World) -> None:
    (asked,) = await start(live)
    reply = await respond(live.client(), asked, "reject", ANSWER)
    assert reply.json()["message"] == "Your rejection is recorded."
    await until_status(live, "done")
    response = (await live.client().get(f"/v1/requests/{asked['id']}")).json()["response"]
    assert (response["decision"], response["data"]) == ("reject", None)
    assert (await live.client().get("/v1/threads/t1")).json()["values"] == {"answer": None}


@pytest.mark.parametrize(
    ("language", "word"),
    [("ja", "記録"), ("zh-CN,zh;q=0.9", "记录"), ("fr, en;q=0.1", "recorded"), ("en;q=0.1, x;q=nan, ja;Q=0.5", "記録")],
)
async def test_the_reply_is_in_the_language_of_the_client(live: World, language: str, word: str) -> None:
    (asked,) = await start(live)
    client = live.client()
    client.headers["accept-language"] = language
    assert word in (await respond(client, asked, "approve", ANSWER)).json()["message"]


async def test_a_request_of_another_session_is_not_there(live: World) -> None:
    (asked,) = await start(live)
    other = await respond(live.client(), {**asked, "thread_id": "t2"}, "approve", ANSWER)
    nowhere = await respond(live.client(), {**asked, "id": "never", "thread_id": "t2"}, "approve", ANSWER)
    assert (other.status_code, nowhere.status_code) == (404, 404)
    assert other.content == nowhere.content.replace(b"never", asked["id"].encode())


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"action": "respond"}, "action"),
        ({"session_id": None}, "session_id"),
        ({"data": []}, "data"),
        ({"ttl": 1}, "ttl"),
    ],
)
async def test_a_wrong_body_is_refused(live: World, change: dict[str, Any], field: str) -> None:
    body = {"request_id": "one", "session_id": "s1", "action": "approve", "data": {}, **change}
    reply = await live.client().post("/hitl/respond", json=body)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (422, field)
