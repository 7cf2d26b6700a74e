"""Who may decide the requests of the assistant and of an Engrammer: the table of `test_who_may` on their routes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from tests.apps.assistant.served import Office, served
from tests.apps.assistant.test_routes import planned, press
from tests.apps.engrammer.lab import Models, insight
from tests.apps.engrammer.served import asked, pending
from tests.apps.engrammer.served import served as teaching
from tests.server.test_who_may import PEOPLE, SITUATIONS, client_of, expected, name_deputies
from tests.server.world import World

from ringi.domain.request import Request
from ringi.domain.voting import Stage

ASK, LESSON = "How long do I clamp?", "Clamp a joint for thirty minutes."
Approve = Callable[[httpx.AsyncClient, Request], Awaitable[httpx.Response]]


async def put_in(world: World, id: str, situation: str) -> Request:
    """Put a request of an application into a situation; the application's own rules have no words for it."""
    request, rules = await world.inbox.get(id), SITUATIONS[situation]
    quorum = tuple(Stage.model_validate(stage) for stage in rules.get("quorum", ()))
    fields: dict[str, Any] = {"exclude": tuple(rules.get("exclude", ())), "quorum": quorum, "missing": quorum or None}
    people = {"assignee": "ann", "groups": ("finance",), "asked_by": "kim", "starter": "sam"}
    changed, event = request.changed("reassigned", "system", world.inbox.clock(), **people, **fields)
    await world.backend.store.put(changed, event)
    return changed


async def check(world: World, id: str, approve: Approve) -> None:
    """Let everybody approve who may not, then somebody whose vote counts."""
    await name_deputies(world)
    wrong = list[str]()
    for situation in ("plain", "separated", "first"):
        request = await put_in(world, id, situation)
        for name, caller in PEOPLE.items():
            status = expected(name, situation)["approve"]
            if status >= 300:
                reply = await approve(client_of(world, caller), request)
                # These routes begin with the conversation: an unreadable request is like none that waits.
                allowed = {status, 404, 409} if status in (403, 404) and situation == "plain" else {status}
                allowed |= {404, 409} if expected(name, "plain")["approve"] >= 300 else set()
                is_same = (await world.inbox.get(id)).version == request.version
                if reply.status_code not in allowed or not is_same:
                    wrong.append(f"{name} in {situation}: {reply.status_code}, not {status}")
    assert not wrong, "\n".join(wrong)
    assert (await approve(client_of(world, PEOPLE["in the first stage"]), request)).status_code == 200
    voted = await world.inbox.get(id)
    assert (voted.status, [vote.responder for vote in voted.votes]) == ("pending", ["fay"])


async def test_a_plan_of_an_assistant(tmp_path: Path) -> None:
    async with served(f"sqlite:///{tmp_path}/ringi.db", Office()) as world:
        plan = await planned(world)

        async def approve(client: httpx.AsyncClient, request: Request) -> httpx.Response:
            return await press(client, "apply-1", digest=request.digest)

        await check(world, plan["request"]["id"], approve)


async def test_an_insight_of_an_engrammer(tmp_path: Path) -> None:
    models = Models(lessons={ASK: [insight(LESSON)]})
    # An approval that needs more votes would wait for the end of its run.
    async with teaching(f"sqlite:///{tmp_path}/ringi.db", models, max_wait=0.1) as world:
        await asked(world.client(), ASK)
        (waiting,) = await pending(world.client())

        async def approve(client: httpx.AsyncClient, request: Request) -> httpx.Response:
            named = [{"id": request.id, "digest": request.digest}]
            body = {"threadId": "c1", "userInput": "approve_learning", "insights": named}
            return await client.post("/engrammerFlow_continue", json=body)

        await check(world, waiting["id"], approve)
