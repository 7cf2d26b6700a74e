"""What agents learn from the addresses that they name: nothing about the server's own network."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from tests.delivery.office import endpoint, office, settings
from tests.delivery.receivers import receiving
from tests.delivery.test_settings import PRIVATE
from tests.server.world import World, open_world, until

from ringi.delivery.addresses import NO_ADDRESS
from ringi.delivery.settings import DeliverySettings
from ringi.domain.events import Webhook
from ringi.errors import InvalidError

INTERNAL, NOWHERE = "payroll.corp.example", "never-was.corp.example"
LITERALS = [f"[{host}]" if ":" in host else host for host in PRIVATE]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network in which one name is internal, and another does not exist."""
    resolve = socket.getaddrinfo

    def look(host: Any, *rest: Any, **more: Any) -> Any:
        if host == NOWHERE:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return resolve("10.20.30.40" if host == INTERNAL else host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look)


async def ended(world: World, id: str, role: str = "agent", name: str = "bot", count: int = 1) -> list[dict[str, Any]]:
    """Return a request's deliveries, once there are `count` and all have ended."""
    found: list[dict[str, Any]] = []

    async def is_over() -> bool:
        found[:] = (await world.client(role, name).get(f"/v1/deliveries?request_id={id}")).json()["items"]
        return len(found) == count and all(each["status"] not in ("queued", "waiting") for each in found)

    await until(is_over)
    return found


async def test_an_agent_cannot_tell_a_name_of_the_internal_network_from_none(
    names: None, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_world("memory://", delivery=settings(allow=())) as world:
        attempts = []
        for id, host in (("q1", INTERNAL), ("q2", NOWHERE)):
            body = {"title": "Go?", "id": id, "webhooks": [{"url": f"https://{host}/hook"}]}
            assert (await world.client("agent", "bot").post("/v1/requests", json=body)).status_code == 201
            (delivery,) = await ended(world, id)
            attempts.append(
                [(each["status"], each["code"], each["error"], each["next_at"]) for each in delivery["tries"]]
            )

    assert attempts == [[("failed", None, NO_ADDRESS, None)]] * 2
    # Who runs the server reads why.
    assert f"{INTERNAL} is 10.20.30.40, which is not public" in caplog.text


async def test_an_endpoint_of_the_servers_own_whose_name_is_not_known_yet_is_tried_again(names: None) -> None:
    configuration = settings(endpoint(f"https://{NOWHERE}/hook"), allow=())
    async with office("memory://", configuration) as here:
        request = await here.asked()
        (delivery,) = await here.settled(request, "failed")

    assert [each.error for each in delivery.tries] == [NO_ADDRESS] * len(configuration.schedule)


@pytest.mark.parametrize("host", [*LITERALS, "LOCALHOST", "localhost.", "a.localhost", "0177.0.0.1", "10.1"])
def test_an_ask_that_names_an_address_which_is_not_public_is_refused(host: str) -> None:
    assert fields(DeliverySettings(), f"https://{host}:8443/hook") == ["webhooks.0.url"]


@pytest.mark.parametrize("host", ["8.8.8.8", "[2606:4700::1111]", "crm.example", "10.example", "localhost.example"])
def test_an_ask_that_names_any_other_address_is_taken(host: str) -> None:
    assert fields(DeliverySettings(), f"https://{host}/hook") == []


def test_an_ask_may_name_an_address_of_a_network_that_is_allowed() -> None:
    assert fields(settings(), "https://127.0.0.1/hook") == []
    assert fields(settings(), "https://localhost/hook") == []
    assert fields(settings(), "https://10.0.0.1/hook") == ["webhooks.0.url"]


def fields(configuration: DeliverySettings, url: str) -> list[str]:
    """Return the fields in which an ask with this webhook is refused."""
    try:
        configuration.check([Webhook(url=url)], "default")
    except InvalidError as error:
        return [each.field for each in error.errors]
    return []


async def test_the_refusal_is_a_422_that_names_the_field() -> None:
    async with open_world("memory://") as world:
        body = {"title": "Go?", "webhooks": [{"url": "https://8.8.8.8"}, {"url": "https://169.254.169.254/latest"}]}
        reply = await world.client("agent", "bot").post("/v1/requests", json=body)
        (error,) = reply.json()["errors"]
        assert (reply.status_code, error["field"]) == (422, "webhooks.1.url")
        assert "use one, or have its network allowed in RINGI_WEBHOOK_ALLOW" in error["message"]


async def test_an_agent_reads_no_host_of_the_servers_own_endpoints() -> None:
    async with receiving() as crm, open_world("memory://", delivery=settings(endpoint(crm.url))) as world:
        body = {"title": "Go?", "id": "q1", "webhooks": [{"url": crm.url}]}
        assert (await world.client("agent", "bot").post("/v1/requests", json=body)).status_code == 201
        hosts = {each["endpoint"]: each["host"] for each in await ended(world, "q1", count=2)}
        known = {each["endpoint"]: each["host"] for each in await ended(world, "q1", "admin", "root", 2)}

    host = crm.url.removesuffix("/hook")
    assert (hosts, known) == ({"crm": "", "ask-0": host}, {"crm": host, "ask-0": host})
