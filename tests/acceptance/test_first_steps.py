"""What a person meets who has just started the demo, on a desk and on a phone."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, opened, press, somebody
from tests.acceptance.test_votes import PHONE

pytestmark = pytest.mark.timeout(120)
PAY = {"name": "pay", "args": {"supplier": 77, "amount": 900_000}}


async def test_an_empty_inbox_leads_to_the_agents(browser: Browser, house: DemoServer) -> None:
    page = await somebody(browser, house, "ann")
    await page.goto(f"{house.url}/")
    await expect(page.get_by_test_id("empty")).to_be_visible(timeout=WAIT)
    await page.get_by_test_id("start-agent-link").click()
    await expect(page.get_by_test_id("start-agent")).to_be_visible(timeout=WAIT)
    await page.context.close()
    auditor = await somebody(browser, house, "vera", role="auditor")
    await auditor.goto(f"{house.url}/")
    await expect(auditor.get_by_test_id("empty")).to_be_visible(timeout=WAIT)
    await expect(auditor.get_by_test_id("start-agent-link")).to_have_count(0)
    await auditor.context.close()


async def test_on_a_phone_the_link_of_the_current_page_is_whole(browser: Browser, house: DemoServer) -> None:
    page = await somebody(browser, house, "root", role="admin", **PHONE)
    for path in ("memory", "operations", "threads"):
        await page.goto(f"{house.url}/{path}")
        await expect(page.locator("nav [aria-current]").first).to_be_in_viewport(ratio=0.99, timeout=WAIT)
    await page.context.close()


async def test_the_whole_step_of_a_rejection_is_in_view_in_a_thread(browser: Browser, house: DemoServer) -> None:
    house.run("late", "refund", {"order": 1184, "amount": 700})
    house.until("late", "interrupted")
    page = await somebody(browser, house, "ann")
    await page.goto(f"{house.url}/t/late")
    await page.get_by_test_id("decide-reject").click(timeout=WAIT)
    await expect(page.get_by_test_id("confirm-reject")).to_be_in_viewport(ratio=0.99, timeout=WAIT)
    await page.context.close()


async def test_on_a_phone_a_short_name_of_an_argument_is_not_broken(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay?", action=PAY, tier="high")
    page: Page = await somebody(browser, house, "ann", **PHONE)
    detail = await opened(page, house, request)
    box = await detail.locator(".facts th code", has_text="supplier").bounding_box()
    assert box is not None
    assert box["height"] < 30
    await press(page, "a")
    await expect(detail.get_by_test_id("look-again")).to_be_visible()
    await page.context.close()
