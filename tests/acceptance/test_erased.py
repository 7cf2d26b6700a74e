"""What people see of what was erased: that it was, when and by whom, not what it said; how one leaves everywhere."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, respond, somebody
from tests.acceptance.thread_steps import assert_fits, open_thread, until_status
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)
PLANTED = "zwetschge4711"
BY_AND_WHEN = re.compile(r"admin.*\d\d:\d\d")
WORDS = {
    "en-GB": ("Erased by ", "Erased request", "an erased person"),
    "ja": (" に消去しました", "消去された依頼", "消去された人"),
    "zh-CN": ("清除", "已清除的请求", "已清除的人"),
}


def erased(house: DemoServer, id: str) -> dict[str, Any]:
    """Erase what a request says and return it."""
    with house.client("admin") as client:
        found: dict[str, Any] = client.post(f"/v1/requests/{id}/erase").raise_for_status().json()
        return found


@pytest_asyncio.fixture(loop_scope="session", params=["en-GB", pytest.param("ja", marks=WIDE), "zh-CN"])
async def phone(request: pytest.FixtureRequest, browser: Browser, house: DemoServer) -> AsyncIterator[Page]:
    """The page of somebody with a phone that is dark, in each language."""
    look = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "locale": request.param}
    page = await somebody(browser, house, "ann", role="admin", **look)
    yield page
    await page.context.close()


async def words_of(page: Page) -> tuple[str, str, str]:
    """Return what the page has to say in its language."""
    return WORDS[await page.evaluate("navigator.language")]


async def assert_says_nothing(page: Page) -> None:
    """Fail when a word of what was erased is anywhere on the page, shown or not."""
    assert PLANTED not in await page.content()
    assert PLANTED not in await page.title()


async def test_an_erased_request_says_what_became_of_it_and_nothing_of_what_it_said(
    phone: Page, house: DemoServer
) -> None:
    refund = {"name": "refund", "args": {"customer": PLANTED}}
    request = ask(house, f"Refund {PLANTED}?", description=f"wrote {PLANTED}", action=refund, context={"of": PLANTED})
    respond(house, request, decision="approve", message=f"I know {PLANTED}")
    erased(house, request["id"])
    by_whom, title, nobody = await words_of(phone)

    await phone.goto(f"{house.url}/r/{request['id']}")

    note = phone.get_by_test_id("erased")
    await expect(note).to_contain_text(by_whom, timeout=WAIT)
    await expect(note).to_contain_text(BY_AND_WHEN)
    await expect(phone.get_by_role("heading", level=2)).to_have_text(title)
    await expect(phone.get_by_test_id("record")).to_contain_text(nobody, timeout=WAIT)
    await expect(phone.get_by_test_id("decide")).to_have_count(0)
    await assert_says_nothing(phone)
    await assert_fits(phone)


async def test_an_erased_thread_says_what_became_of_it_and_nothing_of_what_was_said(
    phone: Page, house: DemoServer
) -> None:
    thread = f"wishes-{await phone.evaluate('navigator.language')}"
    house.run(thread, "preferences", {})
    (asked,) = house.until(thread, "interrupted")["pending"]
    respond(house, asked, decision="approve", data={"sport": "running", "notes": f"{PLANTED} of hers"})
    house.until(thread, "done")
    await open_thread(phone, house, thread)
    await expect(phone.get_by_test_id("message").last).to_be_visible(timeout=WAIT)
    assert PLANTED in await phone.content()
    erased(house, asked["id"])
    by_whom, _, _ = await words_of(phone)

    await open_thread(phone, house, thread)

    await until_status(phone, "done")
    note = phone.get_by_test_id("erased")
    await expect(note).to_contain_text(by_whom, timeout=WAIT)
    await expect(note).to_contain_text(BY_AND_WHEN)
    await expect(phone.get_by_test_id("erased-items")).to_be_visible(timeout=WAIT)
    await expect(phone.get_by_test_id("message")).to_have_count(0)
    await assert_says_nothing(phone)
    await assert_fits(phone)


@WIDE
async def test_who_signs_out_everywhere_is_out_of_every_browser(browser: Browser, house: DemoServer) -> None:
    pages = [await somebody(browser, house, "leaver") for _ in range(2)]
    other = await somebody(browser, house, "stayer")
    for page in (*pages, other):
        await page.goto(house.url)
        await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    await pages[0].get_by_test_id("open-menu").click()
    await pages[0].get_by_test_id("sign-out-everywhere").click()
    await expect(pages[0].get_by_test_id("keep-everywhere")).to_be_focused(timeout=WAIT)

    await pages[0].get_by_test_id("confirm-everywhere").click()

    for page in pages:
        await expect(page.get_by_test_id("sign-in")).to_be_visible(timeout=WAIT)
    await other.reload()
    await expect(other.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    for page in (*pages, other):
        await page.context.close()
