"""A request on legal hold outlives every erasure, and the hold is on record."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from unittest.mock import AsyncMock

import pytest
from httpx import AsyncClient
from tests.server.world import World, is_at_rest, until

from ringi.audit.verify import verify_store
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, UnavailableError
from ringi.inbox.api import Seen

Json = dict[str, Any]
HOLD = "/v1/requests/r1/legal-hold"


async def ended(world: World, id: str = "r1", **more: Any) -> Request:
    await world.asked(id=id, title="Pay Mrs. Ito?", **more)
    return await world.inbox.cancel(id, "no longer needed", by="ann")


async def title_of(world: World, id: str = "r1") -> str:
    return (await world.inbox.get(id)).title


async def changes(world: World) -> list[tuple[str, Json]]:
    events = await world.backend.store.events(record_id="legal-holds")
    return [(event.actor, event.changed["entry"]) for event in events if event.type == "journal.written"]


async def test_a_held_request_is_not_erased_by_its_id_until_the_hold_is_lifted(world: World) -> None:
    await ended(world)
    admin = world.client("admin", "root")
    held = await admin.post(HOLD, json={"reason": "Case 7"})
    assert (held.status_code, held.json()["legal_hold"]) == (200, True)
    refused = await admin.post("/v1/requests/r1/erase", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "legal_hold")
    assert "legal_hold" not in (await admin.delete(HOLD)).json()
    assert (await admin.post("/v1/requests/r1/erase", json={})).status_code == 200
    assert await title_of(world) == "erased"
    assert await changes(world) == [
        ("root", {"change": "held", "request": "r1", "reason": "Case 7"}),
        ("root", {"change": "lifted", "request": "r1", "reason": None}),
    ]
    assert (await verify_store(world.backend.store))[1] == []


async def test_a_sweep_reports_what_is_held_and_erases_the_rest(world: World) -> None:
    for id in ("r1", "r2"):
        await ended(world, id)
    admin = world.client("admin", "root")
    await admin.post(HOLD, json={"reason": "Case 7"})
    for sweep in ({"person": "ann"}, {"before": "2999-01-01T00:00:00Z"}):
        for is_dry in (True, False):
            done = (await admin.post("/v1/erasures", json={**sweep, "dry_run": is_dry})).json()
            assert done["left"] == {"r1": str(ConflictError.legal_hold("r1"))}
            assert "r1" not in done["requests"]
    assert (await title_of(world), await title_of(world, "r2")) == ("Pay Mrs. Ito?", "erased")


async def test_the_retention_skips_a_hold_and_erases_the_request_after_it_is_lifted(world: World) -> None:
    await ended(world)
    admin = world.client("admin", "root")
    await admin.post(HOLD, json={"reason": "Case 7"})
    now = world.inbox.clock()
    world.inbox.clock = lambda: now + timedelta(days=3)
    await world.inbox.retain(1)
    assert await title_of(world) == "Pay Mrs. Ito?"
    await admin.delete(HOLD)
    assert await world.inbox.retain(1) == 0
    world.inbox.clock = lambda: now + timedelta(days=6)
    assert await world.inbox.retain(1) == 1
    assert await title_of(world) == "erased"


async def two_of_a_thread(world: World) -> list[Request]:
    """Return two requests of a thread that has ended."""
    await world.runner.start("default", "t1", "two_questions", {}, by="ann")

    async def has_asked() -> bool:
        return len(await world.inbox.find()) == 2

    await until(has_asked)
    asked = await world.inbox.find()
    await world.runner.cancel("default", "t1", by="ann")
    await until(lambda: is_at_rest(world))
    return [*asked]


async def test_the_thread_of_a_held_request_stays_too(world: World) -> None:
    first, second = await two_of_a_thread(world)
    admin = world.client("admin", "root")
    await admin.post(f"/v1/requests/{first.id}/legal-hold", json={"reason": "Case 7"})
    refused = await admin.post(f"/v1/requests/{second.id}/erase", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "legal_hold")
    done = (await admin.post("/v1/erasures", json={"before": "2999-01-01T00:00:00Z"})).json()
    assert {first.id, second.id, "t1"} <= done["left"].keys()
    assert (await world.backend.store.get(Thread, "default", "t1")).erased is None


def hold_during_erasure(world: World, admin: AsyncClient, minutes: float = 0) -> list[int]:
    """Let an administrator set a hold after the deletions of the next erasure; return the statuses that they get."""
    statuses: list[int] = []
    eraser, save = world.inbox.eraser, world.inbox.eraser._saved

    async def save_late(*parts: Any) -> Any:
        now = world.inbox.clock()
        world.inbox.clock = lambda: now + timedelta(minutes=minutes)
        statuses.append((await admin.post(HOLD, json={"reason": "Case 7"})).status_code)
        return await save(*parts)

    eraser._saved = save_late  # type: ignore[assignment, method-assign]
    return statuses


async def test_a_hold_is_refused_while_an_erasure_deletes(world: World) -> None:
    await ended(world)
    admin = world.client("admin", "root")
    statuses = hold_during_erasure(world, admin)

    erased = await admin.post("/v1/requests/r1/erase", json={})

    assert (erased.status_code, statuses) == (200, [409])
    assert await title_of(world) == "erased"
    assert await changes(world) == []
    assert (await world.inbox.get("r1")).erasing == ()


async def test_a_hold_wins_over_an_erasure_that_takes_longer_than_it_may(world: World) -> None:
    request = await ended(world)
    admin = world.client("admin", "root")
    statuses = hold_during_erasure(world, admin, minutes=6)

    refused = await admin.post("/v1/requests/r1/erase", json={})

    assert (refused.json()["code"], statuses) == ("legal_hold", [200])
    assert await title_of(world) == request.title


@pytest.mark.parametrize("error", [ConflictError("busy"), UnavailableError("away")])
async def test_an_erasure_that_failed_lets_a_hold_be_set_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    await ended(world)
    admin = world.client("admin", "root")
    monkeypatch.setattr(world.inbox.eraser, "_forget_tries", AsyncMock(side_effect=error))

    assert (await admin.post("/v1/requests/r1/erase", json={})).status_code in (409, 503)

    assert (await admin.post(HOLD, json={"reason": "Case 7"})).status_code == 200


async def test_a_hold_on_another_request_of_the_thread_is_refused_while_its_thread_is_erased(world: World) -> None:
    first, second = await two_of_a_thread(world)
    admin = world.client("admin", "root")
    forget, statuses = world.inbox.eraser._forget_run, []

    async def forget_late(*parts: Any) -> bool:
        hold = await admin.post(f"/v1/requests/{first.id}/legal-hold", json={"reason": "Case 7"})
        statuses.append(hold.status_code)
        return await forget(*parts)

    world.inbox.eraser._forget_run = forget_late  # type: ignore[assignment, method-assign]
    assert (await admin.post(f"/v1/requests/{second.id}/erase", json={})).status_code == 200
    assert statuses == [409]
    hold = await admin.post(f"/v1/requests/{first.id}/legal-hold", json={"reason": "Case 7"})
    assert hold.status_code == 200, "the erasure has ended"


async def test_a_hold_needs_a_reason_an_admin_and_content(world: World) -> None:
    await ended(world)
    admin = world.client("admin", "root")
    assert (await admin.post(HOLD, json={"reason": " "})).status_code == 422
    for role in ("person", "agent", "auditor"):
        assert (await world.client(role, "eve").post(HOLD, json={"reason": "x"})).status_code == 403
        assert (await world.client(role, "eve").delete(HOLD)).status_code == 403
    await admin.post("/v1/requests/r1/erase", json={})
    assert (await admin.post(HOLD, json={"reason": "x"})).json()["code"] == "conflict"
    assert await changes(world) == []


async def test_lists_show_a_hold_and_a_repeated_one_is_one_entry(world: World) -> None:
    await world.asked(id="r1")
    await world.asked(id="r2")
    admin = world.client("admin", "root")
    for _ in range(2):
        assert (await admin.post(HOLD, json={"reason": "Case 7"})).status_code == 200
    listed = (await world.client("auditor", "eve").get("/v1/requests")).json()["items"]
    assert {each["id"]: each.get("legal_hold", False) for each in listed} == {"r1": True, "r2": False}
    assert len(await changes(world)) == 1
    answered = await world.inbox.respond(Seen("r1", listed[0]["digest"]), "respond", message="y", by="ann")
    assert answered.legal_hold
    assert (await verify_store(world.backend.store))[1] == []
