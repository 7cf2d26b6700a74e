"""What a person meets who starts the demo for the first time, and again later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import respond

pytestmark = pytest.mark.timeout(180)
WAITING = {"sample-refund", "sample-delete", "sample-mail", "sample-form", "sample-finish"}
AT_WORK = "sample-stock"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A demo as a person starts it."""
    with DemoServer(tmp_path_factory.mktemp("first"), "demo") as server:
        for thread in WAITING:
            server.until(thread, "interrupted", seconds=60)
        yield server


def pending(shop: DemoServer) -> dict[str, dict[str, Any]]:
    """Return the pending requests by thread."""
    with shop.client() as client:
        items = client.get("/v1/requests", params={"status": "pending"}).raise_for_status().json()["items"]
    return {item["thread_id"]: item for item in items}


def test_five_requests_of_different_kinds_wait_and_an_agent_is_at_work(shop: DemoServer) -> None:
    assert shop.thread(AT_WORK)["status"] == "running"
    found = pending(shop)
    assert found.keys() == WAITING
    assert sorted({item["kind"] for item in found.values()}) == ["approval", "finish", "form"]
    cards = {item["action"]["name"]: item["context"]["card"] for item in found.values() if "card" in item["context"]}
    finish = found["sample-finish"]["context"]
    assert finish["task"].startswith("Write a haiku")
    assert len(finish["summary"].splitlines()) == 3  # The result that the person is asked about.
    assert cards["pay_back"]["above_limit"] is True
    assert cards["delete_customer"]["tier"] == found["sample-delete"]["tier"] == "irreversible"
    assert cards["send_mail"]["target"] == "aiko.mori@example.com"


def test_the_samples_begin_once_whatever_was_answered(shop: DemoServer) -> None:
    respond(shop, pending(shop)["sample-mail"], decision="approve")
    outcome = shop.until("sample-mail", "done")["values"]["outcome"]
    assert outcome == "Done: the mail to aiko.mori@example.com is sent."
    shop.kill()
    shop.start()
    assert shop.until(AT_WORK, "interrupted", seconds=120)["status"] == "interrupted"
    assert pending(shop).keys() == WAITING - {"sample-mail"} | {AT_WORK}
