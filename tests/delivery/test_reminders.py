"""Reminders before a request is due."""

from __future__ import annotations

from datetime import timedelta

from tests.delivery.office import endpoint, office, settings
from tests.delivery.receivers import receiving
from tests.server.world import until

from ringi.base.clock import utc_now
from ringi.connect import open_backend
from ringi.contracts.backend import Job


async def test_who_may_answer_is_reminded_once_by_however_many_servers(store_url: str) -> None:
    async with receiving() as crm, open_backend(store_url, poll_interval=0.1) as backend:
        configuration = settings(endpoint(crm.url))
        async with office(backend, configuration) as here, office(backend, configuration):
            request = await here.asked(due_at=(utc_now() + timedelta(seconds=2)).isoformat())
            await until(lambda: "request.reminded" in crm.types)
            job = Job(
                key="again", kind="remind", partition_key="again", payload={"tenant": "default", "request": request.id}
            )
            await backend.jobs.submit(job)
            last = await here.asked()
            await until(lambda: any(got.json["data"]["id"] == last.id for got in crm.got))

            types = [event.type for event in await here.inbox.events(request_id=request.id)]
        assert types == ["request.created", "request.reminded"]
        assert crm.types.count("request.reminded") == 1


async def test_nobody_is_reminded_of_what_is_answered_or_far_off(store_url: str) -> None:
    async with receiving() as crm, office(store_url, settings(endpoint(crm.url))) as here:
        answered = await here.asked(due_at=(utc_now() + timedelta(seconds=1)).isoformat())
        await here.answered(answered)
        far = await here.asked(due_at=(utc_now() + timedelta(days=2)).isoformat())
        probe = await here.asked(due_at=(utc_now() + timedelta(seconds=2)).isoformat())
        await until(lambda: "request.reminded" in crm.types)

        reminded = [got.json["data"]["id"] for got in crm.got if got.json["type"] == "request.reminded"]
        assert reminded == [probe.id]
        assert (await here.inbox.get(far.id)).status == "pending"
