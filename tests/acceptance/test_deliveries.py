"""What was sent to others, on the page of a request in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.thread_steps import WAIT, assert_fits, sign_in
from tests.delivery.office import SECRET
from tests.delivery.receivers import OK, answers, receiving
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)


@contextmanager
def delivering(folder: Path, url: str) -> Iterator[DemoServer]:
    """Run a server with an endpoint that is tried once."""
    endpoint = {"name": "crm", "url": url, "secrets": [SECRET], "max_tries": 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RINGI_WEBHOOKS", json.dumps([endpoint]))
        patch.setenv("RINGI_WEBHOOK_ALLOW", "127.0.0.0/8")
        with DemoServer(folder, "serve") as server:
            yield server


def asked(server: DemoServer) -> str:
    with server.client("agent") as client:
        return str(client.post("/v1/requests", json={"title": "Deploy version 7?"}).raise_for_status().json()["id"])


@pytest.mark.parametrize(
    ("language", "failed", "again"),
    [
        ("en", "failed", "Deliver again"),
        pytest.param("ja", "失敗", "再送する", marks=WIDE),
        ("zh-CN", "失败", "重新投递"),
    ],
)
async def test_an_admin_sees_what_failed_and_sends_it_again(
    browser: Browser, tmp_path: Path, language: str, failed: str, again: str
) -> None:
    async with receiving(answers(500), OK) as crm:
        with delivering(tmp_path, crm.url) as server:
            id = asked(server)
            await crm.calls(1)
            context = await browser.new_context(viewport={"width": 390, "height": 800}, locale=language)
            page = await context.new_page()
            await sign_in(page, server, "admin")
            await page.goto(f"{server.url}/r/{id}")
            section = page.get_by_test_id("deliveries")
            await section.locator("summary").click()
            delivery = page.get_by_test_id("delivery")
            await expect(delivery).to_contain_text(failed, timeout=WAIT)
            await expect(delivery).to_contain_text("500")
            await assert_fits(page)

            await page.get_by_role("button", name=again).click()
            await expect(delivery).to_have_attribute("data-status", "delivered", timeout=WAIT)
            assert len(crm.got) == 2
            await context.close()


@WIDE
async def test_a_person_sees_what_was_sent_and_a_request_of_which_nothing_was_sent_says_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    async with receiving(OK) as crm:
        with delivering(tmp_path, crm.url) as server:
            id = asked(server)
            await crm.calls(1)
            context = await browser.new_context(locale="en-GB")
            page = await context.new_page()
            await sign_in(page, server, "person")
            await page.goto(f"{server.url}/r/{id}")
            await page.get_by_test_id("deliveries").locator("summary").click()
            await expect(page.get_by_test_id("delivery")).to_contain_text("delivered", timeout=WAIT)
            await expect(page.get_by_test_id("redeliver")).to_have_count(0)
            await context.close()
