"""A playbook over HTTP: how it stands and stood, how that came about, and what people change in it themselves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.apps.engrammer.lab import Models, insight
from tests.apps.engrammer.served import Json, asked, decide, get, is_, once, pending, post, refused, served, taught
from tests.server.world import World, open_world, until

from ringi_apps.engrammer.entries import Entry, Tag
from ringi_apps.engrammer.persistence import append_entry

AT = "/v1/playbooks/engrammer"
CHANGES = f"{AT}/changes"
CLAMP, SAND, OIL = "Clamp a joint for thirty minutes.", "Sand along the grain.", "Wipe oil off after ten minutes."
ASK, BOTH = "How long do I clamp?", "What about sanding and oil?"


@pytest.fixture
def models() -> Models:
    return Models(lessons={ASK: [insight(CLAMP, quotes=["Answer to"])], BOTH: [insight(SAND), insight(OIL)]})


@pytest.fixture(params=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path, models: Models) -> AsyncIterator[World]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"
    async with served(url, models) as world:
        yield world


async def texts(world: World, **params: int) -> dict[str, str]:
    playbook = await get(world.client(), AT, **params)
    return {each["id"]: each["text"] for each in playbook["bullets"] if each["isActive"]}


async def changed(world: World, op: str, name: str = "ann", **more: Any) -> Json:
    return await post(world.client(name=name), CHANGES, op=op, **more)


async def add(world: World, text: str, section: str = "strategies") -> Json:
    return await changed(world, "add", text=text, section=section)


async def test_an_empty_playbook_is_there_before_anything_is_learned(world: World) -> None:
    ann = world.client()
    listed = (await get(ann, "/v1/playbooks"))["items"]
    assert listed == [
        {"id": "engrammer", "agent": "engrammer", "version": 1, "bullets": 0, "tokens": 0, "budget": 8000, "waiting": 0}
    ]
    playbook = await get(ann, AT)
    assert (playbook["version"], playbook["head"], playbook["text"], playbook["bullets"]) == (1, 1, "", [])
    assert playbook["measures"]["precision"] is None
    assert (await get(ann, f"{AT}/history"))["items"] == []
    assert (await ann.get("/v1/playbooks/nowhere")).status_code == 404


async def test_a_bullet_says_who_let_it_be_learned_and_from_what(world: World) -> None:
    ann = world.client()
    await asked(ann, ASK)
    assert (await get(ann, "/v1/playbooks"))["items"][0]["waiting"] == 1
    (request,) = await pending(ann)
    await decide(ann, request, "approve")
    (turn,) = (await once(ann, "c1", is_("done")))["turns"]
    bullet = await get(ann, f"{AT}/bullets/b-00001")
    assert (bullet["text"], bullet["type"], bullet["created"], bullet["isActive"]) == (CLAMP, "new_strategy", 2, True)
    (entry,) = bullet["history"]
    assert (entry["op"], entry["version"], entry["approvedBy"], entry["by"]) == ("add", 2, "ann", "thread:c1")
    assert (entry["requestId"], entry["threadId"], entry["runId"]) == (request["id"], "c1", turn["runId"])
    assert [(each["where"], each["quote"]) for each in entry["evidence"]] == [("answer", "Answer to")]
    assert entry["changes"][0]["before"] is None
    assert (await get(ann, f"{AT}/history"))["items"] == [entry]
    assert (await get(ann, AT))["text"] == f"[b-00001] (strategies) {CLAMP}"


async def test_history_comes_newest_first_a_page_at_a_time(world: World) -> None:
    for text in (CLAMP, SAND, OIL):
        await add(world, text)
    ann, seen, cursor = world.client(), list[int](), None
    while True:
        page = await get(ann, f"{AT}/history", limit=2, **({"cursor": cursor} if cursor else {}))
        seen += [each["version"] for each in page["items"]]
        cursor = page["next"]
        if not cursor:
            break
    assert seen == [4, 3, 2]
    assert (await ann.get(f"{AT}/history?cursor=never")).status_code == 422


async def test_a_playbook_is_shown_as_it_stood_and_what_differs_since(world: World) -> None:
    await add(world, CLAMP)
    await add(world, SAND)
    await changed(world, "edit", bullet="b-00001", text=OIL)
    await changed(world, "retire", bullet="b-00002", reason="it is known")
    assert await texts(world, version=1) == {}
    assert await texts(world, version=3) == {"b-00001": CLAMP, "b-00002": SAND}
    assert await texts(world) == {"b-00001": OIL}
    ann = world.client()
    old = await get(ann, AT, version=3)
    assert (old["version"], old["head"]) == (3, 5)
    found = await get(ann, f"{AT}/diff", **{"from": 2, "to": 5})
    assert (found["from"], found["to"], found["added"], found["removed"]) == (2, 5, [], [])
    assert [(each["id"], each["before"]["text"], each["after"]["text"]) for each in found["changed"]] == [
        ("b-00001", CLAMP, OIL)
    ]
    back = await get(ann, f"{AT}/diff", **{"from": 3, "to": 5})
    assert [each["id"] for each in back["removed"]] == ["b-00002"]
    assert (await ann.get(f"{AT}/diff?from=1&to=9")).status_code == 422
    assert (await ann.get(f"{AT}?version=9")).status_code == 422
    assert (await ann.get(f"{AT}/diff")).status_code == 422


async def test_a_person_changes_a_playbook_and_every_change_says_who(world: World) -> None:
    added = await add(world, CLAMP, "heuristics")
    assert (added["op"], added["version"], added["by"], added["approvedBy"]) == ("add", 2, "ann", None)
    edited = await changed(world, "edit", "bob", bullet="b-00001", section="formulas", reason="it is a formula")
    assert (edited["by"], edited["reason"]) == ("bob", "it is a formula")
    assert (edited["changes"][0]["before"]["section"], edited["changes"][0]["after"]["section"]) == (
        "heuristics", "formulas",
    )  # fmt: skip
    await add(world, SAND)
    merged = await changed(world, "merge", bullet="b-00001", sources=["b-00002"], text=OIL)
    assert [each["after"]["mergedInto"] for each in merged["changes"]] == [None, "b-00001"]
    assert await texts(world) == {"b-00001": OIL}
    undone = await changed(world, "undo", version=merged["version"])
    assert (undone["op"], undone["undoes"]) == ("undo", merged["version"])
    assert await texts(world) == {"b-00001": CLAMP, "b-00002": SAND}
    await changed(world, "retire", bullet="b-00002")
    await changed(world, "restore", bullet="b-00002")
    assert await texts(world) == {"b-00001": CLAMP, "b-00002": SAND}
    ops = [each["op"] for each in (await get(world.client(), f"{AT}/bullets/b-00002"))["history"]]
    assert ops == ["add", "merge", "undo", "retire", "restore"]


async def test_of_many_who_undo_at_once_while_the_agent_counts_and_learns_each_is_heard(world: World) -> None:
    lessons = [await add(world, f"Rule {number} is about {number * 7919}.") for number in range(20)]

    async def counted(number: int) -> None:
        tag = Entry(op="tag", tags=(Tag(bullet="b-00020", tag="used"),), run_id=f"r-{number}")
        await append_entry(
            world.backend, "default", "engrammer", lambda now: tag, by="thread:t", now=world.inbox.clock()
        )

    undoing = (changed(world, "undo", version=each["version"]) for each in lessons[:12])
    undone = await asyncio.gather(*undoing, *map(counted, range(12)))
    assert sorted(each["undoes"] for each in undone if each) == [each["version"] for each in lessons[:12]]
    entries = (await get(world.client(), f"{AT}/history", limit=100))["items"]
    changes = {each["version"]: (each["op"], each["by"], each["at"]) for each in entries}
    assert all(changes[each["version"]] == ("undo", "ann", each["at"]) for each in undone if each)
    assert len(await texts(world)) == 8


async def test_what_was_changed_meanwhile_is_refused_with_what_stands_in_the_way(world: World) -> None:
    await add(world, CLAMP)
    seen = (await get(world.client(), f"{AT}/bullets/b-00001"))["hash"]
    edited = await changed(world, "edit", "bob", bullet="b-00001", text=SAND, base=seen)
    ann = world.client()
    for op, more in (("edit", {"text": OIL}), ("retire", {})):
        problem = await refused(ann, CHANGES, 409, "stale", op=op, bullet="b-00001", base=seen, **more)
        assert (problem["bullet"], problem["version"]) == ("b-00001", edited["version"])
    problem = await refused(ann, CHANGES, 409, "consumed", op="undo", version=2)
    assert (problem["version"], problem["op"]) == (edited["version"], "edit")
    problem = await refused(ann, CHANGES, 409, "duplicate", op="add", text=f"{SAND} ", section="others")
    assert problem["bullet"] == "b-00001"
    await refused(ann, CHANGES, 409, "not_undoable", op="undo", version=9)
    await refused(ann, CHANGES, 404, "unknown", op="retire", bullet="b-00009")
    await refused(ann, CHANGES, 409, "standing", op="restore", bullet="b-00001")
    assert await texts(world) == {"b-00001": SAND}


async def test_of_two_who_edit_what_they_saw_at_once_one_wins(world: World) -> None:
    await add(world, CLAMP)
    seen = (await get(world.client(), f"{AT}/bullets/b-00001"))["hash"]
    edits = [{"op": "edit", "bullet": "b-00001", "text": text, "base": seen} for text in (SAND, OIL)]
    replies = await asyncio.gather(*(world.client().post(CHANGES, json=each) for each in edits))
    assert sorted(reply.status_code for reply in replies) == [200, 409]
    assert next(reply.json()["code"] for reply in replies if reply.status_code == 409) == "stale"


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({"op": "add", "text": "a"}, ["section"]),
        ({"op": "add", "text": " ", "section": "strategies"}, ["text"]),
        ({"op": "add", "text": "a", "section": "nowhere"}, ["section"]),
        ({"op": "add", "text": "a" * 2_001, "section": "others"}, ["text"]),
        ({"op": "add", "text": "a", "section": "others", "bullet": "b-00001"}, ["bullet"]),
        ({"op": "edit", "bullet": "b-00001"}, ["text"]),
        ({"op": "edit", "text": "a"}, ["bullet"]),
        ({"op": "merge", "bullet": "b-00001"}, ["sources"]),
        ({"op": "merge", "bullet": "b-00001", "sources": ["b-00001"]}, ["sources"]),
        ({"op": "undo"}, ["version"]),
        ({"op": "undo", "version": 2, "text": "a"}, ["text"]),
        ({"op": "tag", "bullet": "b-00001"}, ["op"]),
        ({"op": "retire", "bullet": "b-00001", "sources": ["b-00002"]}, ["sources"]),
    ],
)
async def test_a_wrong_change_is_refused_with_its_fields(body: Json, fields: list[str]) -> None:
    async with served("memory://", Models()) as world:
        await add(world, CLAMP)
        problem = await refused(world.client(), CHANGES, 422, "invalid", **body)
        assert [each["field"] for each in problem["errors"]] == fields


async def test_a_playbook_never_grows_past_its_budget(models: Models) -> None:
    async with open_world("memory://", more_agents=models.engrammer(budget=20).agents()) as world:
        await add(world, CLAMP)
        problem = await refused(world.client(), CHANGES, 409, "budget", op="add", text=SAND, section="others")
        assert (problem["budget"], problem["tokens"] > 20) == (20, True)
        assert "retire or merge" in problem["detail"]
        await changed(world, "edit", bullet="b-00001", text="Clamp it.")


async def test_an_agent_reads_what_it_is_told_and_no_words_of_people(world: World) -> None:
    ann, bot = world.client(), world.client("agent", "bot")
    await asked(ann, ASK)
    await post(ann, "/engrammerFlow_continue", threadId="c1", userInput="reject_learning", reason="a private reason")
    (rejected,) = (await get(ann, AT))["rejected"]
    assert (rejected["text"], rejected["reason"]) == (CLAMP, "a private reason")
    (entry,) = (await get(ann, f"{AT}/history"))["items"]
    assert (entry["op"], entry["rejectedBy"], entry["approvedBy"]) == ("reject", "ann", None)
    assert (entry["text"], entry["reason"]) == (CLAMP, "a private reason")
    assert (await get(bot, AT))["rejected"][0]["reason"] is None
    for path in (f"{AT}/history", f"{AT}/bullets/b-00001"):
        assert (await bot.get(path)).json()["code"] == "forbidden"
    for body in ({"op": "add", "text": SAND, "section": "others"}, {"op": "undo", "version": 2}, {}):
        await refused(bot, CHANGES, 403, "forbidden", **body)
    await refused(bot, f"{AT}/tidy", 403, "forbidden")
    assert (await get(ann, AT))["version"] == 2


async def test_tenants_learn_each_for_itself(world: World, models: Models) -> None:
    await taught(world.client(), ASK, "c1")
    eve = world.client("admin", "eve", tenant="other")
    assert (await get(eve, AT))["bullets"] == []
    assert (await get(eve, f"{AT}/history"))["items"] == []
    assert (await eve.get(f"{AT}/bullets/b-00001")).status_code == 404
    await refused(eve, CHANGES, 404, "unknown", op="retire", bullet="b-00001")
    await post(eve, CHANGES, op="add", text=OIL, section="others")
    assert await texts(world) == {"b-00001": CLAMP}
    await asked(eve, "And now?")
    prompt = next(prompt for prompt in reversed(models.prompts) if prompt[-1].text == "And now?")
    assert OIL in prompt[0].text
    assert CLAMP not in prompt[0].text


async def test_how_proposals_fared_is_measured(world: World) -> None:
    ann = world.client()
    await taught(ann, ASK, "c1")
    await asked(ann, BOTH, "c2")
    first, _ = await pending(ann, "c2")
    action = (await get(ann, f"/v1/requests/{first['id']}"))["action"]
    await decide(ann, first, "edit", args={**action["args"], "text": "Sand it well."})
    await once(ann, "c2", lambda now: "edited" in [each["status"] for each in now["turns"][0]["insights"]])
    measured = (await get(ann, AT))["measures"]
    assert measured == {
        "proposed": 3, "approved": 2, "edited": 1, "rejected": 0, "reverted": 0, "precision": 1.0,
    }  # fmt: skip
    (last,) = await pending(ann, "c2")
    await decide(ann, last, "reject")
    await once(ann, "c2", is_("done"))
    await changed(world, "undo", version=2)
    measured = (await get(ann, AT))["measures"]
    assert (measured["proposed"], measured["rejected"], measured["reverted"]) == (3, 1, 1)
    assert (await get(ann, AT, version=2))["measures"]["proposed"] == 1


async def test_tidying_asks_a_person_and_merges_only_what_they_approve(world: World) -> None:
    await add(world, CLAMP)
    await add(world, "Clamp a joint for thirty minutes, then wait.")
    ann = world.client()
    run = await post(ann, f"{AT}/tidy", 202)
    asks: list[Json] = []

    async def is_asked() -> bool:
        asks[:] = (await get(ann, "/v1/requests", kind="learning", status="pending"))["items"]
        return len(asks) == 1

    await until(is_asked)
    (ask,) = asks
    assert (ask["thread_id"], ask["run_id"]) == (run["thread_id"], run["run_id"])
    assert ask["action"]["args"]["op"] in ("merge", "retire")
    await refused(ann, f"{AT}/tidy", 409, "busy")
    assert len(await texts(world)) == 2
    await decide(ann, ask, "approve")

    async def is_merged() -> bool:
        return len(await texts(world)) == 1

    await until(is_merged)


async def test_who_was_erased_has_let_nothing_be_learned(world: World) -> None:
    ann, root = world.client(), world.client("admin", "root")
    await taught(ann, ASK, "c1")
    await changed(world, "add", text=SAND, section="others", reason="ann says so")
    done = await post(root, "/v1/erasures", person="ann")
    assert done["next"] is None
    text = str((await get(root, f"{AT}/history"))["items"]) + str(await get(root, AT))
    assert "ann" not in text.replace("channel", "")
    assert await texts(world) == {"b-00001": CLAMP, "b-00002": SAND}


async def test_what_comes_out_is_what_the_description_says(world: World) -> None:
    ann = world.client()
    await taught(ann, BOTH, "c1")
    await asked(ann, ASK, "c2")
    await post(ann, "/engrammerFlow_continue", threadId="c2", userInput="reject_learning")
    await changed(world, "merge", bullet="b-00001", sources=["b-00002"])
    document = world.app.api.openapi()
    for model, path in (
        ("PlaybookPage", "/v1/playbooks"),
        ("PlaybookView", AT),
        ("PlaybookHistory", f"{AT}/history"),
        ("PlaybookDiffView", f"{AT}/diff?from=1&to=3"),
        ("BulletHistory", f"{AT}/bullets/b-00001"),
    ):
        schema = {"$ref": f"#/components/schemas/{model}", "components": document["components"]}
        reply = await ann.get(path)
        jsonschema_rs.validator_for(schema).validate(reply.json())


async def test_where_a_group_decides_nobody_else_changes_the_playbook_by_hand(models: Models) -> None:
    agents = models.engrammer(groups=("tasters",)).agents()
    async with open_world("memory://", more_agents=agents) as world:
        change: Json = {"op": "add", "text": SAND, "section": "others"}
        problem = await refused(world.client(), CHANGES, 403, "forbidden", **change)
        assert "only tasters may change the playbook" in problem["detail"]
        await post(world.client("person", "tea", groups=("tasters",)), CHANGES, **change)
        await post(world.client("admin", "root"), CHANGES, op="retire", bullet="b-00001")
