"""Deliveries to real receivers."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from datetime import datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook
from tests.delivery.office import SECRET, endpoint, office, settings
from tests.delivery.receivers import OK, Receiver, Writer, answers, breaks, drips, floods, hangs, receiving
from tests.server.world import until

from ringi.base.clock import utc_now
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.contracts.backend import MAX_CONCURRENT
from ringi.delivery.addresses import NO_ADDRESS
from ringi.delivery.deliveries import BATCH, DeliveryTask
from ringi.delivery.signing import new_secret
from ringi.domain.ask import Ask
from ringi.domain.record import SYSTEM
from ringi.inbox.api import Seen


async def test_a_receiver_is_told_of_each_event_under_the_id_of_the_event(store_url: str) -> None:
    async with receiving() as crm, office(store_url, settings(endpoint(crm.url))) as here:
        request = await here.asked()
        await here.answered(request)
        await crm.calls(2)

        calls_by_type = {got.json["type"]: got for got in crm.got}
        events = await here.inbox.events(request_id=request.id)
        assert {type: got.id for type, got in calls_by_type.items()} == {event.type: event.id for event in events}
        completed = calls_by_type["request.completed"].json
        assert completed["data"]["id"] == request.id
        assert completed["data"]["response"]["message"] == "yes"
        assert datetime.fromisoformat(completed["timestamp"]) == events[-1].at
        assert "continuation" not in completed["data"]


async def test_the_stock_library_verifies_what_arrives_with_either_secret_of_a_rotation(store_url: str) -> None:
    old, new = new_secret(), new_secret()
    async with receiving() as crm, office(store_url, settings(endpoint(crm.url, secrets=(new, old)))) as here:
        request = await here.asked()
        (got,) = await crm.calls(1)

        for secret in (old, new):
            assert Webhook(secret).verify(got.body, got.headers)["data"]["id"] == request.id


async def test_a_receiver_that_fails_is_tried_again_with_the_same_id_until_it_takes_it(store_url: str) -> None:
    async with (
        receiving(answers(500), breaks, OK) as crm,
        office(store_url, settings(endpoint(crm.url))) as here,
    ):
        request = await here.asked()
        (delivery,) = await here.settled(request, "delivered")

        assert len({got.id for got in crm.got}) == 1
        assert [(each.status, each.code) for each in delivery.tries] == [
            ("waiting", 500), ("waiting", None), ("delivered", 200),
        ]  # fmt: skip
        assert all(each.next_at and each.next_at >= each.at + timedelta(seconds=0.05) for each in delivery.tries[:-1])


async def test_a_receiver_that_never_takes_it_is_given_up_after_the_last_try(store_url: str) -> None:
    async with receiving(answers(500)) as crm, office(store_url, settings(endpoint(crm.url, max_tries=2))) as here:
        request = await here.asked()
        (delivery,) = await here.settled(request, "failed")

        assert [each.status for each in delivery.tries] == ["waiting", "failed"]
        assert delivery.next_at is None


async def test_a_redirect_is_a_failure_and_nobody_goes_where_it_leads(store_url: str) -> None:
    async with (
        receiving() as other,
        receiving(answers(302, f"location: {other.url}")) as crm,
        office(store_url, settings(endpoint(crm.url, max_tries=1))) as here,
    ):
        request = await here.asked()
        (delivery,) = await here.settled(request, "failed")

        assert "redirects are not followed" in str(delivery.tries[0].error)
        assert (delivery.tries[0].code, other.connections) == (302, 0)


async def test_a_receiver_that_is_gone_gets_nothing_more_until_a_redelivery_finds_it_again(store_url: str) -> None:
    async with receiving(answers(410), OK) as crm, office(store_url, settings(endpoint(crm.url))) as here:
        request = await here.asked()
        await here.settled(request, "gone")
        await here.answered(request)
        _, completed = await here.settled(request, "gone", "disabled")
        assert len(crm.got) == 1

        await here.deliveries.redeliver("default", completed.id, by="olga")
        _, completed = await here.settled(request, "gone", "delivered")
        later = await here.asked()
        await here.settled(later, "delivered")

        assert [(each.status, each.by) for each in completed.tries] == [
            ("disabled", None), ("queued", "olga"), ("delivered", None),
        ]  # fmt: skip


async def test_a_receiver_may_say_when_it_wants_the_next_try(store_url: str) -> None:
    date = (utc_now() + timedelta(hours=2)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    async with (
        receiving(answers(503, "retry-after: 3600")) as slow,
        receiving(answers(429, f"retry-after: {date}")) as dated,
        office(store_url, settings(endpoint(slow.url, "slow"), endpoint(dated.url, "dated"))) as here,
    ):
        request = await here.asked()
        found = {each.endpoint: each for each in await here.settled(request, "waiting", "waiting")}

        waits = {name: each.next_at - each.tries[0].at for name, each in found.items() if each.next_at}
        assert timedelta(hours=1) <= waits["slow"] < timedelta(hours=1, minutes=1)
        assert timedelta(hours=1, minutes=59) < waits["dated"] < timedelta(hours=2, minutes=1)


async def test_the_reply_of_a_receiver_is_not_read_on_for_ever(store_url: str) -> None:
    async with receiving(floods) as crm, office(store_url, settings(endpoint(crm.url))) as here:
        request = await here.asked()
        await here.settled(request, "delivered")
        await until(lambda: not crm.open)

        assert crm.written < 32 * 1024 * 1024


async def test_a_receiver_that_never_answers_delays_nobody_else(store_url: str) -> None:
    async with receiving(hangs) as dead, receiving() as crm:
        configuration = settings(endpoint(dead.url, "dead"), endpoint(crm.url), timeout=60.0)
        async with office(store_url, configuration) as here:
            for _ in range(10):
                await here.asked()
            await crm.calls(10)

            assert len(dead.got) <= MAX_CONCURRENT


async def test_ten_hanging_receivers_do_not_take_all_places(store_url: str) -> None:
    async with receiving(hangs) as dead, receiving() as crm:
        names = [f"dead-{number}" for number in range(10)]
        endpoints = [endpoint(dead.url, name) for name in names] + [endpoint(crm.url, tenant="other")]
        async with office(store_url, settings(*endpoints, timeout=60.0)) as here:
            for _ in range(20):
                await here.asked()
            await dead.calls(48)
            asked_at = time.monotonic()
            await here.inbox.for_tenant("other").ask("Elsewhere?")
            await crm.calls(1)

            assert time.monotonic() - asked_at < 2


async def test_the_hanging_receivers_that_one_agent_names_delay_those_of_no_other(store_url: str) -> None:
    async with receiving(hangs) as dead, receiving() as crm, office(store_url, settings(timeout=60.0)) as here:
        for number in range(80):
            await here.asked(webhooks=[{"url": f"{dead.url}/{number}"}])
        await dead.calls(MAX_CONCURRENT)
        asked_at = time.monotonic()
        ask = Ask.parse({"title": "Elsewhere?", "webhooks": [{"url": crm.url}]})
        await here.inbox.submit(ask, by="agent:other")
        await crm.calls(1)

        assert time.monotonic() - asked_at < 2
        assert len(dead.got) == MAX_CONCURRENT


async def test_receivers_in_asks_share_a_place_by_asker_and_a_turn_by_address(store_url: str) -> None:
    async with receiving(hangs) as dead, receiving() as crm, office(store_url, settings(timeout=60.0)) as here:
        await here.asked(webhooks=[{"url": dead.url}, {"url": crm.url}])
        await dead.calls(1)
        await crm.calls(1)

        counts = await here.backend.jobs.counts()
        (key,) = (each.concurrency_key for each in counts)
        assert key.startswith("asker/default/")
        assert "bot" not in key, "an erased name would wait here for a retry"


async def test_what_an_asker_waits_to_retry_holds_no_place(store_url: str) -> None:
    async with (
        receiving(answers(500)) as failing,
        receiving() as crm,
        office(store_url, settings(schedule=(0.0, 3_600.0))) as here,
    ):
        for number in range(2 * MAX_CONCURRENT):
            await here.asked(webhooks=[{"url": f"{failing.url}/{number}"}])
        await failing.calls(2 * MAX_CONCURRENT)
        await here.settled(await here.asked(webhooks=[{"url": crm.url}]), "delivered")

        (counts,) = await here.deliveries.counts()
        assert (counts.endpoint, counts.waiting, counts.retrying) == ("per request", 0, 2 * MAX_CONCURRENT)


async def test_a_delivery_under_a_key_of_an_older_version_is_made_and_counted_without_its_address(
    store_url: str,
) -> None:
    may_end = asyncio.Event()

    async def takes_time(receiver: Receiver, writer: Writer) -> None:
        await may_end.wait()
        await OK(receiver, writer)

    async with receiving(takes_time) as crm, open_backend(store_url, poll_interval=0.1) as backend:
        async with open_inbox_on_backend(backend) as inbox:
            ask = Ask.parse({"title": "Go?", "webhooks": [{"url": crm.url}]})
            request = await inbox.submit(ask, by="agent:bot")
            (event,) = await inbox.events(request_id=request.id)
        task = DeliveryTask(
            **{"tenant": "default", "request_id": request.id, "version": event.version, "event": event.id},
            **{"type": event.type, "happened_at": event.at, "endpoint": "ask-0"},
        )
        old = f"webhook/default/{crm.url}"
        keys = {"partition_key": f"{old}/default/{request.id}", "concurrency_key": old}
        await backend.jobs.submit(task.job(request).model_copy(update=keys))
        async with office(backend, settings(timeout=60.0)) as here:
            await crm.calls(1)
            counts = await here.deliveries.counts()
            may_end.set()
            await here.settled(request, "delivered")

        assert [(each.endpoint, each.running) for each in counts] == [("per request", 1)]
        assert len(crm.got) == 1


async def says_no_http(_: Receiver, writer: Writer) -> None:
    writer.write(b"no " * 5_000 + b"\r\n\r\n")
    await writer.drain()


@pytest.mark.parametrize("wordy", [answers(500, reason="no " * 5_000), says_no_http], ids=["reason", "no HTTP"])
async def test_an_attempt_keeps_no_more_than_200_characters_of_a_receivers_words(store_url: str, wordy: Any) -> None:
    async with receiving(wordy, OK) as crm, office(store_url, settings(endpoint(crm.url))) as here:
        (delivery,) = await here.settled(await here.asked(), "delivered")

        assert len(delivery.tries[0].error or "") <= len("RemoteProtocolError: ") + 200


async def test_a_receiver_gets_several_events_at_once_and_those_of_a_request_in_order(store_url: str) -> None:
    may_end = asyncio.Event()

    async def takes_time(receiver: Receiver, writer: Writer) -> None:
        await may_end.wait()
        await OK(receiver, writer)

    async with (
        receiving(takes_time) as slow,
        receiving() as crm,
        office(store_url, settings(endpoint(slow.url, "slow"), endpoint(crm.url), timeout=60.0)) as here,
    ):
        for request in [await here.asked() for _ in range(2 * MAX_CONCURRENT)]:
            await here.answered(request)
        await crm.calls(4 * MAX_CONCURRENT)
        assert slow.types == ["request.created"] * MAX_CONCURRENT
        may_end.set()
        await slow.calls(4 * MAX_CONCURRENT)
    for request_id in {got.json["data"]["id"] for got in slow.got}:
        types = [got.json["type"] for got in slow.got if got.json["data"]["id"] == request_id]
        assert types == ["request.created", "request.completed"]


async def test_a_due_retry_does_not_wait_behind_what_is_new(store_url: str) -> None:
    may_end = asyncio.Event()

    async def takes_time(receiver: Receiver, writer: Writer) -> None:
        await may_end.wait()
        await OK(receiver, writer)

    behaviours = [answers(500), *[takes_time] * MAX_CONCURRENT, OK]
    async with receiving(*behaviours) as slow, office(store_url, settings(endpoint(slow.url), timeout=60.0)) as here:
        failed = await here.asked()
        await here.settled(failed, "waiting")
        for _ in range(4 * MAX_CONCURRENT):
            await here.asked()
        await slow.calls(1 + MAX_CONCURRENT)
        may_end.set()
        await slow.calls(2 + 4 * MAX_CONCURRENT)
    tries = [number for number, got in enumerate(slow.got) if got.json["data"]["id"] == failed.id]
    assert tries[1] <= 2 * MAX_CONCURRENT


@pytest.mark.parametrize("behaviour", [hangs, drips])
async def test_a_receiver_has_so_much_time_and_no_more(store_url: str, behaviour: Any) -> None:
    async with (
        receiving(behaviour) as dead,
        office(store_url, settings(endpoint(dead.url, max_tries=1), timeout=0.3)) as here,
    ):
        request = await here.asked()
        (delivery,) = await here.settled(request, "failed")

        assert delivery.tries[0].error == "no reply in 0.3 s"


async def test_an_address_that_is_not_public_is_not_even_connected_to(store_url: str) -> None:
    async with receiving() as crm:
        async with office(store_url, settings(endpoint(crm.url), allow=())) as here:
            request = await here.asked()
            (delivery,) = await here.settled(request, "failed")

        assert [each.error for each in delivery.tries] == [NO_ADDRESS]
        assert crm.connections == 0


async def test_a_name_that_means_something_else_a_moment_later_leads_nowhere_else(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve, looked = socket.getaddrinfo, list[str]()

    def rebinding(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        if host != "crm.example":
            return resolve(host, port, *rest, **more)
        looked.append(host)
        return resolve("127.0.0.1" if len(looked) % 2 else "127.0.0.2", port, *rest, **more)

    async with receiving() as crm:
        monkeypatch.setattr(socket, "getaddrinfo", rebinding)
        named = settings(endpoint(crm.url.replace("127.0.0.1", "crm.example")))
        async with office(store_url, named) as here:
            request = await here.asked()
            await here.settled(request, "delivered")

        assert looked == ["crm.example"]
        assert crm.got[0].headers["host"].startswith("crm.example:")


async def test_an_endpoint_hears_what_it_asked_for_of_its_own_tenant(store_url: str) -> None:
    async with receiving() as some, receiving() as others:
        configuration = settings(
            endpoint(some.url, "some", events=("request.completed",)), endpoint(others.url, "others", tenant="other")
        )
        async with office(store_url, configuration) as here:
            request = await here.asked()
            await here.answered(request)
            await here.inbox.for_tenant("other").ask("Elsewhere?")
            await some.calls(1)
            await others.calls(1)

        assert (some.types, others.types) == (["request.completed"], ["request.created"])
        assert others.got[0].json["data"]["title"] == "Elsewhere?"


async def test_an_ask_may_name_its_own_receivers(store_url: str) -> None:
    async with receiving() as own, office(store_url, settings(endpoint("https://nowhere.invalid/"))) as here:
        webhooks: list[Any] = [
            {"url": own.url, "headers": {"Authorization": "Bearer abc"}, "secret_ref": "crm"},
            {"url": f"{own.url}/plain"},
        ]
        request = await here.asked(webhooks=webhooks)
        by_path = {got.path: got for got in await own.calls(2)}

        assert Webhook(SECRET).verify(by_path["/hook"].body, by_path["/hook"].headers)["data"]["id"] == request.id
        assert by_path["/hook"].headers["authorization"] == "Bearer abc"
        assert "webhook-signature" not in by_path["/hook/plain"].headers
        assert b"Bearer abc" not in by_path["/hook"].body


async def test_an_expiry_is_delivered_like_an_answer(store_url: str) -> None:
    async with receiving() as crm, office(store_url, settings(endpoint(crm.url))) as here:
        await here.asked(expires_in=0.1)
        await until(lambda: "request.expired" in crm.types)

        assert (await here.inbox.events())[-1].actor == SYSTEM


async def test_who_switches_webhooks_on_does_not_get_the_past(store_url: str) -> None:
    now = utc_now()
    async with receiving() as crm, open_backend(store_url, poll_interval=0.1) as backend:
        async with open_inbox_on_backend(backend, clock=lambda: now - timedelta(days=2)) as inbox:
            await asyncio.gather(*(inbox.ask(f"Old {n}?") for n in range(BATCH + 1)))
        async with office(backend, settings(endpoint(crm.url))) as here:
            request = await here.asked()
            await here.settled(request, "delivered")

        # Events are passed by in batches: what stands in one with news is news too.
        assert len(crm.got) <= 2


async def test_a_redelivery_is_sent_though_it_was_delivered_before(store_url: str) -> None:
    async with receiving() as crm, office(store_url, settings(endpoint(crm.url))) as here:
        request = await here.asked()
        (delivery,) = await here.settled(request, "delivered")

        await here.deliveries.redeliver("default", delivery.id, by="olga")
        await crm.calls(2)
        (delivery,) = await here.settled(request, "delivered")

        assert crm.got[0].id == crm.got[1].id
        assert [each.status for each in delivery.tries] == ["delivered", "queued", "delivered"]


async def test_a_redelivery_takes_the_place_of_the_tries_that_were_still_to_come(store_url: str) -> None:
    configuration = settings(schedule=(0.0, 0.5, 0.5))
    async with receiving(answers(500), OK) as crm:
        configuration = configuration.model_copy(update={"endpoints": (endpoint(crm.url),)})
        async with office(store_url, configuration) as here:
            request = await here.asked()
            (delivery,) = await here.settled(request, "waiting")
            await here.deliveries.redeliver("default", delivery.id, by="olga")
            await here.settled(request, "delivered")
            other = await here.asked()
            await here.settled(other, "delivered")
            first = delivery.tries[0]
            await until(lambda: bool(first.next_at and utc_now() > first.next_at + timedelta(seconds=0.3)))

        assert len(crm.got) == 3


async def test_a_process_that_knows_no_receivers_takes_nothing_from_one_that_does(store_url: str) -> None:
    async with receiving() as crm, open_backend(store_url, poll_interval=0.1) as backend:
        asks = [{}, {"webhooks": [{"url": crm.url, "secret_ref": "crm"}]}]
        async with office(backend, settings()) as bare:
            early = [await bare.asked(**more) for more in asks for _ in range(10)]
            (last,) = [await bare.asked(webhooks=[{"url": crm.url}])]
            await bare.settled(last, "delivered")
            async with office(backend, settings(endpoint(crm.url))) as here:
                late = [await bare.asked(**more) for more in asks for _ in range(10)]
                for request in (*early, *late):
                    await here.settled(request, *["delivered"] * (2 if request.webhooks else 1))

        sent = [each for request in (*early, *late) for each in await bare.of(request)]
        assert all(len(each.tries) == 1 for each in sent)


async def test_what_is_configured_elsewhere_only_is_left_to_the_next_try(store_url: str) -> None:
    async with receiving() as crm, open_backend(store_url, poll_interval=0.1) as backend:
        configuration = settings(endpoint(crm.url), schedule=(0.0, 0.5, 0.5))
        async with office(backend, configuration) as here:
            request = await here.asked()
            (delivery,) = await here.settled(request, "delivered")

        async def stands(status: str) -> bool:
            return next(each for each in await here.of(request) if each.endpoint == "crm").status == status

        elsewhere = configuration.model_copy(update={"endpoints": (endpoint(crm.url, name="other"),)})
        async with office(backend, elsewhere) as other:
            await other.deliveries.redeliver("default", delivery.id, by="ann")
            await until(lambda: stands("waiting"))
        tried = next(each for each in await here.of(request) if each.endpoint == "crm").tries[-1]
        async with office(backend, configuration):
            await until(lambda: stands("delivered"))

    assert "use the same settings on all servers and workers" in str(tried.error)


async def test_receivers_are_told_of_an_erasure_and_of_nothing_that_was_erased(store_url: str) -> None:
    late = settings(endpoint("http://127.0.0.1:9", "late"), schedule=(0.0, 0.2, 0.2, 0.2))
    async with receiving() as crm, office(store_url, late) as here:
        request = await here.asked(title="Zwetschge?", webhooks=[{"url": crm.url}])
        await here.answered(request)
        await crm.calls(2)

        await here.inbox.erase(request.id, by="root")
        await crm.calls(3)

        last = crm.got[-1].json
        assert (last["type"], last["data"]["title"], last["data"]["erased"]["by"]) == (
            "request.erased",
            "erased",
            "root",
        )
        assert "Zwetschge" not in crm.got[-1].body.decode()

        async def is_forgotten() -> bool:
            return {delivery.type for delivery in await here.of(request)} <= {"request.erased"}

        await until(is_forgotten)


async def test_an_answer_to_a_check_is_never_delivered(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver that knows no checks would run the approved call."""
    monkeypatch.setenv("RINGI_CHECKS", "1")
    async with receiving() as crm, office(store_url, settings(endpoint(crm.url))) as here:
        real = await here.asked(action={"name": "pay", "args": {"amount": 4}})
        (id,) = await here.inbox.checks.plant([{"tool": "pay", "because": "x", "set": {"amount": 9}}], by="root")
        await crm.calls(2)
        check = await here.inbox.get(id)
        await here.inbox.respond(Seen(id, check.digest), "approve", by="ann")
        await here.inbox.respond(real, "approve", by="ann")
        await crm.calls(3)
        assert sorted(got.json["type"] for got in crm.got) == [
            "request.completed",
            "request.created",
            "request.created",
        ]
        assert [got.json["data"]["id"] for got in crm.got if got.json["data"]["response"]] == [real.id]
        # The creation of both reads the same.
        created = [{**got.json["data"], "id": "", "created_at": "", "first_of_kind": False} for got in crm.got[:2]]
        assert created[0].keys() == created[1].keys()
        assert "check" not in json.dumps(created)
