"""One's own memories over HTTP: listed, read, edited and deleted, and shown to nobody else on the way."""

from __future__ import annotations

from typing import Any

from tests.server.world import World

from ringi.domain.ask import Answer

FORM = {
    "fields": [
        {"type": "text", "name": "note", "label": "What you eat", "required": True, "max_length": 20},
        {"type": "select", "name": "diet", "label": "Diet", "options": [{"value": "v", "label": "Vegan"}]},
    ]
}


async def remember(world: World, id: str = "r1", by: str = "ann", note: str = "no fish") -> None:
    asked = await world.asked(id=id, title="What do you eat?", form=FORM, context={"memory_category": "food"})
    answer = Answer(decision="approve", digest=asked.digest, data={"note": note})
    await world.inbox.answer(id, answer, by=by, channel="test")


async def listed(world: World, query: str = "", name: str = "ann") -> Any:
    reply = await world.client("person", name).get(f"/v1/memories{query}")
    assert reply.status_code == 200, reply.text
    return reply.json()


async def test_what_was_answered_by_the_page_is_listed_with_its_form(world: World) -> None:
    asked = await world.asked(id="r1", title="What do you eat?", form=FORM, context={"memory_category": "food"})
    ann, body = (
        world.client("person", "ann"),
        {"decision": "approve", "digest": asked.digest, "data": {"note": "no fish"}},
    )
    assert (await ann.post("/v1/requests/r1/respond", json=body)).status_code == 200
    (memory,) = (await listed(world))["items"]
    names = ("id", "category", "question", "answer", "edited_at", "thread_id", "schema")
    assert [memory[name] for name in names] == ["r1", "food", "What do you eat?", {"note": "no fish"}, None, None, None]
    assert [field["label"] for field in memory["form"]["fields"]] == ["What you eat", "Diet"]
    assert (await ann.get("/v1/memories/r1")).json() == memory
    assert (await listed(world, name="bob"))["items"] == []


async def test_pages_lead_to_all_of_them_once(world: World) -> None:
    for n in range(5):
        await remember(world, f"r{n}")
    seen, query = list[str](), "?limit=2"
    while query:
        page = await listed(world, query)
        seen += [memory["id"] for memory in page["items"]]
        query = f"?limit=2&cursor={page['next']}" if page["next"] else ""
    assert seen == ["r4", "r3", "r2", "r1", "r0"]


async def test_an_edit_is_checked_field_by_field(world: World) -> None:
    await remember(world)
    ann = world.client("person", "ann")
    refused = await ann.patch("/v1/memories/r1", json={"data": {"note": "x" * 21, "diet": "none", "more": 1}})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid")
    assert [error["field"] for error in refused.json()["errors"]] == ["note", "diet", "more"]
    wrong: list[Any] = [{}, {"data": []}, {"data": {"note": "meat"}, "category": "travel"}]
    for body in wrong:
        assert (await ann.patch("/v1/memories/r1", json=body)).status_code == 422, body

    edited = await ann.patch("/v1/memories/r1", json={"data": {"note": "meat", "diet": "v"}})
    assert (edited.status_code, edited.json()["answer"]) == (200, {"note": "meat", "diet": "v"})
    assert edited.json()["edited_at"]
    assert (await listed(world))["items"] == [edited.json()]


async def test_an_edit_of_what_was_changed_meanwhile_is_refused(world: World) -> None:
    await remember(world)
    ann = world.client("person", "ann")
    seen = (await ann.get("/v1/memories/r1")).json()["answered_at"]
    bodies = [{"data": {"note": note}, "told_at": seen} for note in ("meat", "rice")]
    replies = [await ann.patch("/v1/memories/r1", json=body) for body in bodies]
    assert [reply.status_code for reply in replies] == [200, 409]
    assert replies[1].json()["code"] == "conflict"
    assert (await listed(world))["items"] == [replies[0].json()]


async def test_what_is_deleted_is_gone_and_the_answer_stays(world: World) -> None:
    await remember(world)
    ann = world.client("person", "ann")
    assert [(await ann.delete("/v1/memories/r1")).status_code for _ in range(2)] == [204, 404]
    assert (await ann.get("/v1/memories/r1")).status_code == 404
    assert (await listed(world))["items"] == []
    request = (await ann.get("/v1/requests/r1")).json()
    assert request["response"]["data"] == {"note": "no fish"}


async def test_nobody_who_sees_the_request_sees_what_became_of_its_memory(world: World) -> None:
    await remember(world)
    ann = world.client("person", "ann")
    await ann.patch("/v1/memories/r1", json={"data": {"note": "secretly meat"}})
    admin = world.client("admin", "root")
    for path in ("/v1/requests/r1", "/v1/requests", "/v1/audit?request_id=r1", "/v1/audit"):
        text = (await admin.get(path)).text
        assert "no fish" in text
        assert "secretly meat" not in text, path
    assert (await admin.get("/v1/memories/r1")).status_code == 404
