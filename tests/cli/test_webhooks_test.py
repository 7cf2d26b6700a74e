"""`ringi webhooks test`: a signed event to the endpoints of the settings, and what came back."""

from __future__ import annotations

import asyncio
import json

import pytest
from standardwebhooks import Webhook
from tests.cli.desk import Desk
from tests.cli.test_commands import Done, ringi
from tests.delivery.office import SECRET
from tests.delivery.receivers import Receiver, answers, receiving


@pytest.fixture(autouse=True)
def allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_WEBHOOK_ALLOW", "127.0.0.0/8")


async def sent_to(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, endpoints: dict[str, Receiver | str], *arguments: str
) -> Done:
    """Test the endpoints of these names and addresses."""
    rows = [
        {"name": name, "url": to if isinstance(to, str) else to.url, "secrets": [SECRET]}
        for name, to in endpoints.items()
    ]
    monkeypatch.setenv("RINGI_WEBHOOKS", json.dumps([*rows, {"name": "spare", "secrets": [SECRET]}]))
    return await asyncio.to_thread(ringi, desk, "webhooks", "test", *arguments)


async def test_an_endpoint_gets_a_signed_event_and_its_reply_is_shown(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving(answers(202, body=b"taken\n\x1b[2Jas 17")) as crm:
        done = await sent_to(desk, monkeypatch, {"crm": crm})
        json_result = await sent_to(desk, monkeypatch, {"crm": crm}, "crm", "--json")

    assert done.returncode == json_result.returncode == 0, done.stderr + json_result.stderr
    host = crm.url.removesuffix("/hook")
    first, *reply = done.stdout.splitlines()
    assert first.startswith(f"crm  {host}  202 delivered in ")
    assert reply == ["  taken", r"  \u{1b}[2Jas 17"]
    (item,) = json.loads(json_result.stdout)["items"]
    assert (item["endpoint"], item["host"], item["delivered"], item["code"]) == ("crm", host, True, 202)
    for got in crm.got:
        assert Webhook(SECRET).verify(got.body, got.headers)["type"] == "webhook.test"
    assert len({got.id for got in crm.got}) == 2


async def test_what_failed_is_told_for_each_endpoint_and_by_the_exit_code(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with receiving() as good, receiving(answers(401, body=b"wrong signature")) as bad:
        done = await sent_to(desk, monkeypatch, {"good": good, "bad": bad, "inside": "https://10.0.0.1/hook"}, "--json")

    assert done.returncode == 1
    items = {item["endpoint"]: item for item in json.loads(done.stdout)["items"]}
    assert {name: item["delivered"] for name, item in items.items()} == {"good": True, "bad": False, "inside": False}
    assert (items["bad"]["code"], items["bad"]["error"], items["bad"]["reply"]) == (
        401,
        "401 Told",
        "wrong signature",
    )


@pytest.mark.parametrize("name", ["nobody", "spare"])
async def test_an_endpoint_without_an_address_is_a_usage_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    done = await sent_to(desk, monkeypatch, {"crm": "https://crm.example/hook"}, name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "choose an endpoint with a url; configured: crm" in done.stderr


async def test_no_endpoint_at_all_is_a_usage_error(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    done = await sent_to(desk, monkeypatch, {})
    assert (done.returncode, done.stdout) == (2, "")
    assert "configured: none" in done.stderr
