"""What applications write in journals is no news of requests: it goes into the trail, and to nobody's stream."""

from __future__ import annotations

from typing import Any

from tests.server.world import World, listening

from ringi.domain.journal import Journal
from ringi.testing.clock import NOON

ENTRY = {"op": "add", "text": "Salt the water."}


async def written(world: World, id: str, tenant: str = "default") -> None:
    """Begin a journal and write an entry."""
    journal, event = Journal.begun(id, "test", {}, by="system", now=NOON, tenant=tenant)
    await world.backend.store.put(journal, event)
    await world.backend.store.put(*journal.written(ENTRY, {"n": 1}, by="thread:t1", now=NOON))


async def test_no_stream_tells_of_a_journal_also_of_one_with_a_requests_id(live: World) -> None:
    async with listening(live.client(), "/v1/events?after=0") as everything:
        await live.asked(id="same")
        await written(live, "same")
        async with listening(live.client(), "/v1/requests/same/events") as one:
            await live.inbox.cancel("same", by="ann")
            seen = [(await everything.take(2)), (await one.take(2))]
    assert [[sent.name for sent in stream] for stream in seen] == [["request.created", "request.cancelled"]] * 2


async def test_the_trail_of_journals_is_for_administrators_of_their_tenant(world: World) -> None:
    await world.asked(id="r1")
    await written(world, "playbook")
    await written(world, "playbook", tenant="elsewhere")

    async def audited(role: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = (await world.client(role, role).get("/v1/audit")).json()["items"]
        return items

    assert {event["record"] for event in await audited("person")} == {"request"}
    events = [event for event in await audited("admin") if event["record"] == "journal"]
    assert [(event["type"], event["actor"]) for event in events] == [
        ("journal.begun", "system"),
        ("journal.written", "thread:t1"),
    ]
    assert events[-1]["changed"]["entry"] == ENTRY
