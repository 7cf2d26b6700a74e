"""The names and payloads of the first design, by the real server, worker and store."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.apps.engrammer.lab import Models, insight
from tests.apps.engrammer.served import Json, asked, decide, get, once, pending, post, reference, refused, served
from tests.server.world import LIMIT, World, open_world, until

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.runs.runner import Runner
from ringi.server import ServerComponents, ServerSettings
from ringi.server.app import App
from ringi.server.auth.revocations import Revocation
from ringi_apps.engrammer import FolderNotes, Notes, learning
from ringi_apps.engrammer.persistence import append_in_run
from ringi_apps.engrammer.routes import EXTENSION

CLAMP, SAND, OIL = "Clamp a joint for thirty minutes.", "Sand along the grain.", "Wipe oil off after ten minutes."
ASK, BOTH = "How long do I clamp?", "What about sanding and oil?"
APPROVE: Json = {"threadId": "t-1", "userInput": "approve_learning"}
START, STATE, CONTINUE, NOTE = (
    "/engrammerFlow_start", "/getEngrammerState", "/engrammerFlow_continue", "/engrammerFlow_getNote",
)  # fmt: skip


@pytest.fixture
def models() -> Models:
    return Models(lessons={ASK: [insight(CLAMP)], BOTH: [insight(SAND), insight(OIL, "error_pattern")]})


@pytest.fixture(params=["memory", "sqlite"])
async def world(request: pytest.FixtureRequest, tmp_path: Path, models: Models) -> AsyncIterator[World]:
    url = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/ringi.db"
    async with served(url, models) as world:
        yield world


async def settled(world: World, id: str = "t-1") -> Json:
    """Return the state of a conversation once it does not run."""
    ann, seen = world.client(), list[Json]()

    async def check() -> bool:
        seen[:] = [await post(ann, STATE, threadId=id)]
        return bool(seen[0]["status"] != "running")

    await until(check)
    return seen[0]


async def started(world: World, query: str, id: str = "t-1") -> Json:
    assert await post(world.client(), START, query=query, threadId=id) == {"threadId": id}
    return await settled(world, id)


@contextlib.asynccontextmanager
async def without_worker(world: World, url: str, **settings: Any) -> AsyncIterator[World]:
    """Open a server on the store of another one, without a worker."""
    async with open_backend(url, poll_interval=3600) as backend, open_inbox_on_backend(backend) as inbox:
        runner, deliveries = Runner(backend, inbox, world.runner.agents), Deliveries(backend, inbox, DeliverySettings())
        components = ServerComponents(backend, inbox, runner, world.keys, ServerSettings(**settings), deliveries)
        idle = replace(world, inbox=inbox, app=App(components, [EXTENSION]), clients=[])
        yield idle
        for client in idle.clients:
            await client.aclose()
        await idle.app.close()


async def test_a_question_is_begun_at_once_and_its_insights_wait(world: World) -> None:
    state = await started(world, BOTH)
    assert (state["status"], state["latestResponse"], state["error"]) == ("interrupted", f"Answer to: {BOTH}", None)
    assert state["references"] is None
    insights = [(each["type"], each["description"], each["source_bullet_id"]) for each in state["pendingInsights"]]
    assert sorted(insights) == [("error_pattern", OIL, None), ("new_strategy", SAND, None)]


async def test_a_thread_is_named_where_the_client_names_none(world: World) -> None:
    id = (await post(world.client(), START, query=ASK))["threadId"]
    assert id.startswith("engrammer-thread-")
    assert (await settled(world, id))["status"] == "interrupted"


async def test_what_is_approved_is_learned_before_the_call_returns(world: World) -> None:
    await started(world, BOTH)
    ann = world.client()
    assert await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning") == {"status": "done", "error": None}
    assert await post(ann, STATE, threadId="t-1") == {
        "status": "done",
        "latestResponse": f"Answer to: {BOTH}",
        "pendingInsights": None,
        "references": None,
        "error": None,
    }
    playbook = (await ann.get("/v1/playbooks/engrammer")).json()
    assert sorted(each["text"] for each in playbook["bullets"]) == [SAND, OIL]


async def test_what_is_rejected_is_not_learned_and_the_reason_is_kept(world: World) -> None:
    await started(world, ASK)
    ann = world.client()
    body: Json = {"threadId": "t-1", "userInput": "reject_learning", "reason": "it depends on the glue"}
    assert await post(ann, CONTINUE, **body) == {"status": "done", "error": None}
    playbook = (await ann.get("/v1/playbooks/engrammer")).json()
    assert playbook["bullets"] == []
    assert [each["reason"] for each in playbook["rejected"]] == ["it depends on the glue"]


async def test_nothing_is_decided_where_nothing_waits(world: World) -> None:
    ann = world.client()
    await refused(ann, CONTINUE, 404, "not_found", threadId="t-1", userInput="approve_learning")
    await started(world, "What teaches nothing?")
    problem = await refused(ann, CONTINUE, 409, "nothing_waits", threadId="t-1", userInput="approve_learning")
    assert "t-1" in problem["detail"]
    await started(world, ASK)
    await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning")
    await refused(ann, CONTINUE, 409, "nothing_waits", threadId="t-1", userInput="reject_learning")


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        (START, {"threadId": "t-1"}, "query"),
        (START, {"query": " \n"}, "query"),
        (START, {"query": "a", "threadId": "with space"}, "threadId"),
        (START, {"query": "a", "threadId": 5}, "threadId"),
        (START, {"query": "a", "more": 1}, "more"),
        (START, {"query": "a", "expected": " "}, "expected"),
        (START, {"query": "a", "threadId": "x" * 200 + "y"}, "threadId"),
        (START, {"query": "a", "threadId": "x" * 195}, "threadId"),
        (START, {"query": "a", "threadId": "c~q2~q2"}, "threadId"),
        (STATE, {}, "threadId"),
        (CONTINUE, {"threadId": "t-1", "userInput": "approve"}, "userInput"),
        (CONTINUE, {"threadId": "t-1"}, "userInput"),
        (CONTINUE, {"threadId": "t-1", "userInput": "approve_learning", "insights": []}, "insights"),
        (NOTE, {"source": "woodworking_db"}, "noteId"),
        (NOTE, {"noteId": "1"}, "source"),
    ],
)
async def test_a_wrong_input_is_refused_with_its_field(path: str, body: Json, field: str) -> None:
    async with served("memory://", Models()) as world:
        problem = await refused(world.client(), path, 422, "invalid", **body)
        assert field in [each["field"] for each in problem["errors"]]


async def test_only_what_was_shown_is_decided_where_the_client_says_what_that_was(world: World) -> None:
    state = await started(world, BOTH)
    ann, (first, second) = world.client(), state["pendingInsights"]
    mixed = {"id": first["id"], "digest": second["digest"]}
    body: Json = {"threadId": "t-1", "userInput": "approve_learning"}
    await refused(ann, CONTINUE, 409, "digest_mismatch", **body, insights=[mixed])
    await refused(ann, CONTINUE, 409, "nothing_waits", **body, insights=[{"id": "r-none", "digest": "d"}])
    assert len(await pending(ann, "t-1")) == 2
    assert await post(ann, CONTINUE, **body, insights=[reference(first)]) == {"status": "interrupted", "error": None}
    assert [each["id"] for each in await pending(ann, "t-1")] == [second["id"]]
    playbook = (await ann.get("/v1/playbooks/engrammer")).json()
    assert [each["text"] for each in playbook["bullets"]] == [first["description"]]


async def test_of_two_who_decide_at_once_one_wins_and_decides_all(url: str, models: Models) -> None:
    async with served(url, models) as world:
        await started(world, BOTH)
        ann, bob = world.client(name="ann"), world.client(name="bob")
        replies = await asyncio.gather(
            ann.post(CONTINUE, json={"threadId": "t-1", "userInput": "approve_learning"}),
            bob.post(CONTINUE, json={"threadId": "t-1", "userInput": "reject_learning"}),
        )
        assert sorted(reply.status_code for reply in replies) == [200, 409]
        lost = next(reply.json() for reply in replies if reply.status_code == 409)
        assert lost["code"] in ("final", "nothing_waits")
        playbook = (await ann.get("/v1/playbooks/engrammer")).json()
        is_anns = replies[0].status_code == 200
        assert (len(playbook["bullets"]), len(playbook["rejected"])) == ((2, 0) if is_anns else (0, 2))


async def test_what_is_decided_and_not_learned_yet_is_told(file: str, models: Models) -> None:
    async with served(file, models) as world:
        await started(world, ASK)
    async with without_worker(world, file, max_wait=0.05) as idle:
        ann, body = idle.client(), {"threadId": "t-1", "userInput": "approve_learning"}
        reply = (await ann.post(CONTINUE, json=body)).json()
        assert reply["status"] == "error"
        assert "not learned yet" in reply["error"]
        assert (await post(ann, STATE, threadId="t-1"))["status"] == "running"
    async with served(file, models) as world:
        assert (await settled(world))["status"] == "done"


async def test_a_revoked_token_ends_the_wait_for_what_is_learned(file: str, models: Models) -> None:
    async with served(file, models) as world:
        await started(world, ASK)
    async with without_worker(world, file, max_wait=3600) as idle:
        body = {"threadId": "t-1", "userInput": "approve_learning"}
        waiting = asyncio.create_task(idle.client().post(CONTINUE, json=body))
        await until(lambda: waiting.done() or len(idle.app._streams._waits) == 1)
        revocations = idle.app.api.state.auth.revocations
        await revocations.revoke(Revocation(tenant="default", name="ann", at=revocations.now(), by="root"))
        await revocations._read()
        assert (await asyncio.wait_for(waiting, LIMIT)).status_code == 401


async def test_who_may_not_wait_is_told_that_it_was_decided(file: str, models: Models) -> None:
    async with served(file, models) as world:
        await started(world, ASK)
    async with without_worker(world, file, max_wait=3600, streams_per_caller=0) as idle:
        reply = await post(idle.client(), CONTINUE, threadId="t-1", userInput="approve_learning")
        assert reply["error"].startswith("decided, but not learned yet")
        assert await pending(idle.client(), "t-1") == []


async def test_what_is_stale_is_not_learned_but_asked_again_and_said(world: World, models: Models) -> None:
    for question, text in (("First?", "Clamp it for an hour."), ("Second?", "Clamp it for a day.")):
        models.lessons[question] = [insight(text, "refine_strategy", source_bullet_id="b-00001")]
    ann = world.client()
    await started(world, ASK, "t-0")
    await post(ann, CONTINUE, threadId="t-0", userInput="approve_learning")
    await started(world, "First?", "t-1")
    (stale,) = (await started(world, "Second?", "t-2"))["pendingInsights"]
    assert stale["source_bullet_id"] == "b-00001"
    await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning")
    reply = await post(ann, CONTINUE, threadId="t-2", userInput="approve_learning")
    assert reply["status"] == "interrupted"
    assert "asked again" in reply["error"]
    (again,) = await pending(ann, "t-2")
    assert again["id"] != stale["id"]
    assert again["digest"] != stale["digest"]
    reply = await post(ann, CONTINUE, threadId="t-2", userInput="approve_learning")
    assert reply == {"status": "done", "error": None}
    playbook = (await ann.get("/v1/playbooks/engrammer")).json()
    assert [each["text"] for each in playbook["bullets"]] == ["Clamp it for a day."]


async def test_an_agent_asks_and_reads_its_own_and_never_decides(world: World) -> None:
    bot, other = world.client("agent", "bot"), world.client("agent", "other")
    await post(bot, START, query=ASK, threadId="t-1")
    (shown_insight,) = (await settled(world))["pendingInsights"]
    assert (await post(bot, STATE, threadId="t-1"))["pendingInsights"] == [shown_insight]
    for decision in ("approve_learning", "reject_learning"):
        await refused(bot, CONTINUE, 403, "forbidden", threadId="t-1", userInput=decision)
    body = {"decision": "approve", "digest": shown_insight["digest"]}
    assert (await bot.post(f"/v1/requests/{shown_insight['id']}/respond", json=body)).status_code == 403
    await refused(other, STATE, 404, "not_found", threadId="t-1")
    await refused(other, START, 404, "not_found", query=ASK, threadId="t-1")
    assert (await pending(world.client(), "t-1")) == [shown_insight]


async def test_another_tenant_is_told_as_if_there_were_nothing(world: World) -> None:
    await started(world, ASK)
    eve = world.client("admin", "eve", tenant="other")
    await refused(eve, STATE, 404, "not_found", threadId="t-1")
    await refused(eve, CONTINUE, 404, "not_found", threadId="t-1", userInput="approve_learning")
    assert await post(eve, START, query="What teaches nothing?", threadId="t-1") == {"threadId": "t-1"}
    assert len(await pending(world.client(), "t-1")) == 1
    await post(world.client(), CONTINUE, threadId="t-1", userInput="approve_learning")
    await refused(eve, NOTE, 404, "not_found", source="playbook", noteId="b-00001")


async def test_a_failure_is_told_and_the_conversation_goes_on(world: World, models: Models) -> None:
    models.broken.add("Broken?")
    state = await started(world, "Broken?")
    assert (state["status"], state["latestResponse"]) == ("error", None)
    assert "the provider is down" in state["error"]
    state = await started(world, ASK)
    assert (state["status"], state["latestResponse"]) == ("interrupted", f"Answer to: {ASK}")


async def test_a_question_while_insights_wait_is_answered_and_nothing_that_waits_is_lost(world: World) -> None:
    await started(world, ASK)
    state = await started(world, BOTH)
    assert (state["status"], state["latestResponse"]) == ("interrupted", f"Answer to: {BOTH}")
    assert {each["description"] for each in state["pendingInsights"]} == {CLAMP, SAND, OIL}
    ann = world.client()
    assert await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning") == {"status": "done", "error": None}
    assert (await post(ann, STATE, threadId="t-1"))["status"] == "done"
    assert len((await ann.get("/v1/playbooks/engrammer")).json()["bullets"]) == 3


async def test_an_insight_that_was_decided_in_the_inbox_is_not_decided_once_more(world: World) -> None:
    state = await started(world, BOTH)
    ann = world.client()
    first, second = state["pendingInsights"]
    await decide(ann, first, "reject", message="no")
    await once(ann, "t-1", lambda it: it["status"] == "interrupted" and it["pending"] == [second["id"]])
    await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning")
    playbook = (await ann.get("/v1/playbooks/engrammer")).json()
    assert [each["text"] for each in playbook["bullets"]] == [second["description"]]


async def test_notes_come_from_their_sources_and_what_is_missing_is_said(
    url: str, models: Models, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "joints.md").write_text("# Joints\n\nThey hold.", "utf-8")
    notes = Notes(FolderNotes("local_db", folder))
    async with open_world("memory://", more_agents=models.engrammer(notes=notes).agents()) as world:
        ann = world.client()
        await asked(ann, ASK)
        await post(ann, CONTINUE, threadId="c1", userInput="approve_learning")
        note = await post(ann, NOTE, source="local_db", noteId="joints")
        assert (note["id"], note["type"], note["title"], note["source"]) == ("joints", "text", "Joints", "local_db")
        assert "They hold." in note["content"]
        assert note["createdAt"].endswith("Z")
        bullet = await post(ann, NOTE, source="playbook", noteId="b-00001")
        assert (bullet["content"], bullet["source"]) == (CLAMP, "playbook")
        missing = await refused(ann, NOTE, 404, "not_found", source="local_db", noteId="glue")
        assert "glue" in missing["detail"]
        missing = await refused(ann, NOTE, 404, "not_found", source="playbook", noteId="b-00009")
        assert "b-00009" in missing["detail"]
        missing = await refused(ann, NOTE, 404, "not_found", source="woodworking_db", noteId="1")
        assert "local_db, playbook" in missing["detail"]
        await refused(ann, NOTE, 404, "not_found", source="local_db", noteId="../joints")


async def test_one_word_never_approves_what_came_after_it_was_shown(world: World) -> None:
    await started(world, ASK)
    ann, ben = world.client(), world.client("person", "ben")
    await post(ben, START, query=BOTH, threadId="t-1")
    await once(ben, "t-1", lambda state: len(state["pending"]) == 3)
    reply = await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning")
    assert reply == {"status": "interrupted", "error": None}
    bullets = (await ann.get("/v1/playbooks/engrammer")).json()["bullets"]
    assert [each["text"] for each in bullets] == [CLAMP]
    await refused(ann, CONTINUE, 409, "unseen", threadId="t-1", userInput="approve_learning")
    assert len((await post(ann, STATE, threadId="t-1"))["pendingInsights"]) == 2
    assert (await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning"))["status"] == "done"


async def test_a_call_that_is_made_again_does_not_approve_what_was_asked_again(world: World, models: Models) -> None:
    models.lessons["Shorter?"] = [insight("Clamp it for ten minutes.", "refine_strategy", source_bullet_id="b-00001")]
    ann = world.client()
    await started(world, ASK)
    await post(ann, CONTINUE, threadId="t-1", userInput="approve_learning")
    await started(world, "Shorter?")
    change: Json = {"op": "edit", "bullet": "b-00001", "text": "Clamp it for a day."}
    await post(world.client("person", "ben"), "/v1/playbooks/engrammer/changes", **change)
    approve: Json = {"threadId": "t-1", "userInput": "approve_learning"}
    assert (await post(ann, CONTINUE, **approve))["status"] == "interrupted"
    await refused(ann, CONTINUE, 409, "unseen", **approve)
    bullets = (await ann.get("/v1/playbooks/engrammer")).json()["bullets"]
    assert [each["text"] for each in bullets] == ["Clamp it for a day."]


async def test_a_process_that_showed_nothing_takes_the_first_proposals_of_one_run_for_seen_and_nothing_else(
    world: World,
) -> None:
    await post(world.client(), START, query=BOTH, threadId="t-1")
    await once(world.client(), "t-1", lambda state: len(state["pending"]) == 2)
    cal = world.client("person", "cal")
    assert (await post(cal, CONTINUE, threadId="t-1", userInput="approve_learning"))["status"] == "done"


async def learned(world: World) -> list[str]:
    return sorted(each["text"] for each in (await get(world.client(), "/v1/playbooks/engrammer"))["bullets"])


@pytest.mark.parametrize("decided", ["reject", "approve"])
async def test_one_word_approves_no_two_insights_that_contradict_each_other(decided: str) -> None:
    across, models = "Never sand across the grain.", Models()
    models.lessons[BOTH] = [insight(across), insight("Sand across the grain."), insight(OIL)]
    async with served("memory://", models) as world:
        ann = world.client()
        state = await started(world, BOTH)
        reply = await post(ann, CONTINUE, **APPROVE)
        assert reply["error"].count("it may contradict another pending insight") == 2
        assert reply["error"].endswith("to approve what is left out, name `insights` with their digests")
        await refused(ann, CONTINUE, 409, "left_out", **APPROVE)
        assert (reply["status"], await learned(world)) == ("interrupted", [OIL])
        (one,) = (each for each in state["pendingInsights"] if each["description"] == across)
        await decide(ann, one, decided)
        await once(ann, "t-1", lambda it: it["status"] == "interrupted" and len(it["pending"]) == 1)
        # The other one is shown alone now.
        assert await post(ann, CONTINUE, **APPROVE) == {"status": "done", "error": None}


async def test_what_is_cancelled_while_a_worker_is_about_to_enter_it_is_not_learned_and_not_reported_as_done(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def held_up(*args: Any, **more: Any) -> Any:
        begun.set()
        try:
            await may.wait()
            return await append_in_run(*args, **more)
        finally:
            ended.set()

    monkeypatch.setattr(learning, "append_in_run", held_up)
    ann = world.client()
    await asked(ann, ASK)
    going_on = asyncio.create_task(post(ann, CONTINUE, threadId="c1", userInput="approve_learning"))
    await begun.wait()
    await post(ann, "/v1/threads/c1/cancel")
    may.set()
    reply = await going_on
    await ended.wait()
    assert reply["status"] == "error"
    assert reply["error"].startswith(f"'Learn: “{CLAMP}”' was approved but not learned because its run ended first")
    assert (await get(ann, "/v1/playbooks/engrammer"))["text"] == ""
    conversation = await get(ann, "/v1/engrammer/c1")
    assert [each["status"] for each in conversation["turns"][0]["insights"]] == ["cancelled"]
