"""An answer that the agent's code cannot take, in a real browser: who runs it sees where it failed and asks again."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.test_thread import shop
from tests.acceptance.thread_steps import WAIT, assert_fits, open_thread, sign_in, until_status
from tests.tiers import WIDE

__all__ = ["shop"]

pytestmark = pytest.mark.timeout(120)


@WIDE
async def test_an_answer_that_the_code_cannot_take_is_asked_again(page: Page, shop: DemoServer) -> None:
    shop.run("lamps", "counter", {})
    shop.until("lamps", "interrupted")
    await sign_in(page, shop)
    await open_thread(page, shop, "lamps")
    await page.get_by_test_id("request-detail").get_by_role("textbox").fill("several")
    await page.get_by_test_id("decide-respond").click()
    await until_status(page, "error")

    trace = page.get_by_test_id("traceback")
    await expect(trace.locator("pre")).to_be_hidden()
    await trace.locator("summary").click()
    await expect(trace.locator("pre")).to_contain_text("shop.py")
    await expect(trace.locator("pre")).to_contain_text("invalid literal for int() with base 10: 'several'")
    await assert_fits(page)

    await page.get_by_test_id("ask-again").click()
    await until_status(page, "interrupted")
    await expect(trace).to_have_count(0)
    pending = page.locator("[data-testid=request-detail][data-status=pending]")
    await expect(pending).to_have_count(1, timeout=WAIT)
    await pending.get_by_role("textbox").fill("7")
    await pending.get_by_test_id("decide-respond").click()
    await until_status(page, "done")
    await expect(page.get_by_test_id("thread-values")).to_contain_text("7 lamps", timeout=WAIT)


async def test_who_only_answers_sees_no_traceback_and_cannot_ask_again(page: Page, shop: DemoServer) -> None:
    shop.run("chairs", "counter", {})
    shop.until("chairs", "interrupted")
    await sign_in(page, shop, "person")
    await open_thread(page, shop, "chairs")
    await page.get_by_test_id("request-detail").get_by_role("textbox").fill("a few")
    await page.get_by_test_id("decide-respond").click()
    await until_status(page, "error")
    await expect(page.get_by_test_id("run-controls-refusal")).to_have_text("Only an admin can try again or give it up.")
    for hidden in ("traceback", "ask-again"):
        await expect(page.get_by_test_id(hidden)).to_have_count(0)
