"""What a server is configured with, and where deliveries may go."""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from tests.delivery.office import SECRET

from ringi.base.settings import WEBHOOK_SCHEDULE, SettingError, Settings
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.addresses import AddressResolver, RefusedAddressError
from ringi.delivery.deliveries import run_deliveries
from ringi.delivery.settings import DeliverySettings
from ringi.domain.ask import Ask
from ringi.errors import InvalidError

CRM = {"name": "crm", "url": "https://crm.example/hook", "secrets": [SECRET]}
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
    "255.255.255.255", "224.0.0.1", "240.0.0.1", "::1", "::", "fe80::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b::7f00:1", "2002:7f00:1::", "2002:a00:1::1",
    "2130706433", "0x7f000001", "127.1", "localhost",
]  # fmt: skip


def delivery_settings(variables: Mapping[str, str]) -> DeliverySettings:
    return DeliverySettings.of(Settings.load(variables))


def read(*rows: object, **variables: str) -> DeliverySettings:
    return delivery_settings({"RINGI_WEBHOOKS": json.dumps(rows), **variables})


@pytest.mark.parametrize("host", PRIVATE)
async def test_what_is_not_public_is_refused_however_it_is_written(host: str) -> None:
    addresses = AddressResolver(())
    try:
        with pytest.raises(RefusedAddressError, match="not public"):
            await addresses.resolve(host, 443, is_unencrypted=False)
    finally:
        addresses.close()


@pytest.mark.parametrize("host", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
async def test_what_is_public_is_reached_over_tls_alone(host: str) -> None:
    addresses = AddressResolver(())
    try:
        assert await addresses.resolve(host, 443, is_unencrypted=False) == [ip_address(host)]
        with pytest.raises(RefusedAddressError, match="without TLS"):
            await addresses.resolve(host, 80, is_unencrypted=True)
    finally:
        addresses.close()


async def test_a_network_that_is_allowed_is_reached_and_no_other() -> None:
    addresses = AddressResolver([ip_network("10.1.0.0/16")])
    try:
        assert await addresses.resolve("10.1.2.3", 80, is_unencrypted=True) == [ip_address("10.1.2.3")]
        assert await addresses.resolve("::ffff:10.1.2.3", 80, is_unencrypted=True)
        with pytest.raises(RefusedAddressError):
            await addresses.resolve("10.2.0.1", 80, is_unencrypted=True)
    finally:
        addresses.close()


def test_the_environment_says_who_is_told_and_how() -> None:
    loaded_settings = read(
        CRM,
        {"name": "spare", "secrets": [SECRET, SECRET]},
        RINGI_WEBHOOK_SCHEDULE="0, 1.5,60",
        RINGI_WEBHOOK_JITTER="0.5",
        RINGI_WEBHOOK_TIMEOUT="3",
        RINGI_MAX_DELIVERIES="200",
        RINGI_WEBHOOK_ALLOW="10.0.0.0/8, ::1/128",
    )

    assert [(each.name, each.url) for each in loaded_settings.endpoints] == [("crm", CRM["url"]), ("spare", None)]
    assert (loaded_settings.schedule, loaded_settings.jitter, loaded_settings.timeout) == ((0, 1.5, 60), 0.5, 3)
    assert loaded_settings.max_concurrent == 200
    assert loaded_settings.allow == (ip_network("10.0.0.0/8"), ip_network("::1/128"))


def test_the_endpoints_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "endpoints.json").write_text(json.dumps([CRM]))

    loaded_settings = delivery_settings({"RINGI_WEBHOOKS": str(tmp_path / "endpoints.json")})
    assert [each.name for each in loaded_settings.endpoints] == ["crm"]


def test_without_settings_nobody_is_told_and_the_schedule_is_that_of_standard_webhooks() -> None:
    loaded_settings = delivery_settings({})

    assert (loaded_settings.endpoints, loaded_settings.allow, loaded_settings.schedule) == ((), (), WEBHOOK_SCHEDULE)
    assert WEBHOOK_SCHEDULE == (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"RINGI_WEBHOOKS": "[{]"}, "JSON list"),
        ({"RINGI_WEBHOOKS": "[1]"}, "JSON object"),
        ({"RINGI_WEBHOOKS": "nowhere.json"}, "nowhere.json"),
        ({"RINGI_WEBHOOKS": json.dumps([CRM, CRM])}, "its own name"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "url": "ftp://crm.example"}])}, "https://example.com/hook"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "url": "https://a:b@crm.example"}])}, "without user"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "secrets": []}])}, "ringi secret create"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "secrets": ["whsec_secret"]}])}, "random bytes"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "name": "ask-0"}])}, "reserved prefix"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "events": ["request.lost"]}])}, "request.created"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "headers": {"Host": "a"}}])}, "remove it"),
        ({"RINGI_WEBHOOKS": json.dumps([{**CRM, "headers": {"a": "b\r\nc: d"}}])}, "one line"),
        ({"RINGI_WEBHOOK_SCHEDULE": "0,soon"}, "numbers"),
        ({"RINGI_WEBHOOK_JITTER": "-1"}, "numbers"),
        ({"RINGI_WEBHOOK_TIMEOUT": "nan"}, "numbers"),
        ({"RINGI_MAX_DELIVERIES": "0"}, "whole number from 1 to 10000"),
        ({"RINGI_MAX_DELIVERIES": "8.5"}, "whole number from 1 to 10000"),
        ({"RINGI_MAX_DELIVERIES": "many"}, "whole number from 1 to 10000"),
        ({"RINGI_WEBHOOK_ALLOW": "10.0.0.1/8"}, "10.1.0.0/16"),
    ],
)
def test_a_setting_without_a_meaning_is_refused_and_no_secret_is_shown(variables: dict[str, str], why: str) -> None:
    with pytest.raises(SettingError, match=why) as refused:
        delivery_settings(variables)

    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("webhook", "field"),
    [
        ({"url": "https://a.example", "secret_ref": "nobody"}, "webhooks.0.secret_ref"),
        ({"url": "https://a.example", "secret_ref": "theirs"}, "webhooks.0.secret_ref"),
        ({"url": "http://a.example"}, "webhooks.0.url"),
    ],
)
def test_an_ask_can_only_name_receivers_that_could_be_told(webhook: dict[str, Any], field: str) -> None:
    loaded_settings = read(CRM, {**CRM, "name": "theirs", "tenant": "other"})

    with pytest.raises(InvalidError) as refused:
        loaded_settings.check(Ask.parse({"title": "Go?", "webhooks": [webhook]}).webhooks, "default")
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize(
    "webhook",
    [
        {}, {"url": "file:///etc/passwd"}, {"url": "https://"}, {"url": "https://a.example:99999/"},
        {"url": "https://a.example/\nb"}, {"url": "https://a.example", "headers": {"webhook-id": "1"}},
        {"url": "https://a.example", "max_tries": 0}, {"url": "https://a.example", "secret": "whsec_"},
    ],
)  # fmt: skip
def test_an_ask_with_a_receiver_that_is_none_is_refused(webhook: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match=r"webhooks\.0"):
        Ask.parse({"title": "Go?", "webhooks": [webhook]})


async def test_certificates_that_cannot_be_read_are_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/authorities.pem")

    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        with pytest.raises(SettingError, match="SSL_CERT_FILE"):
            async with run_deliveries(backend, inbox):
                pass
