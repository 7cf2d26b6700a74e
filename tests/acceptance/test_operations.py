"""The page of operations in a real browser: what cannot go on by itself, and what an admin does about it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.thread_steps import (
    WAIT,
    assert_fits,
    open_thread,
    question,
    respond,
    shop_server,
    sign_in,
    until_status,
)
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A running server of the shop's agents that the tests of this file share."""
    with shop_server(tmp_path_factory.mktemp("shop")) as server:
        yield server


@pytest.fixture
def shop(running: DemoServer) -> Iterator[DemoServer]:
    """The server with nothing in trouble, before and after."""
    yield running
    with running.client("admin") as client:
        for trouble in client.get("/v1/operations").json()["items"]:
            client.post(f"/v1/threads/{trouble['thread_id']}/abandon").raise_for_status()
        assert client.get("/v1/operations").json()["items"] == []
    for paper in running.folder.glob("paper-*"):
        paper.unlink()


def jam(shop: DemoServer, *trays: str) -> None:
    """Let a run fail for each of these trays."""
    for tray in trays:
        shop.run(f"print-{tray}", "printer", {"tray": tray})
    for tray in trays:
        shop.until(f"print-{tray}", "error")


def row(page: Page, id: str) -> Locator:
    """Return one row."""
    return page.locator(f"[data-testid=trouble][data-id='{id}']")


async def open_operations(page: Page, shop: DemoServer, role: str = "admin") -> None:
    """Show the page."""
    await sign_in(page, shop, role)
    await page.goto(f"{shop.url}/operations")
    await expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)


@WIDE
async def test_what_fails_appears_by_itself_and_goes_on_by_one_key(page: Page, shop: DemoServer) -> None:
    await open_operations(page, shop)
    await expect(page.get_by_test_id("all-well")).to_be_visible(timeout=WAIT)
    jam(shop, "a")
    trouble = row(page, "thread/print-a")
    await expect(trouble.get_by_test_id("failure-reason")).to_contain_text("OSError: no paper in tray a", timeout=WAIT)
    await expect(trouble.get_by_text("at feed()")).to_be_hidden()
    await trouble.locator("summary").click()
    await expect(trouble.get_by_text("at feed()")).to_be_visible()
    await page.keyboard.press("j")
    await page.keyboard.press("r")
    await expect(trouble).to_have_attribute("data-outcome", "again", timeout=WAIT)
    (shop.folder / "paper-a").touch()
    await page.keyboard.press("r")
    await expect(trouble).to_have_attribute("data-outcome", "retried", timeout=WAIT)
    shop.until("print-a", "done")
    await expect(trouble.get_by_test_id("retry")).to_have_count(0)
    await page.get_by_test_id("clear-settled").click()
    await expect(page.get_by_test_id("all-well")).to_be_visible(timeout=WAIT)


async def test_several_are_tried_again_at_once_and_each_says_what_became_of_it(page: Page, shop: DemoServer) -> None:
    jam(shop, "a", "b", "c")
    for tray in "ac":
        (shop.folder / f"paper-{tray}").touch()
    await open_operations(page, shop)
    await page.get_by_test_id("select-all").check()
    await row(page, "thread/print-c").get_by_role("checkbox").uncheck()
    await expect(page.get_by_test_id("retry-selected")).to_have_text("Try 2 again")
    await page.get_by_test_id("retry-selected").click()
    await expect(row(page, "thread/print-a")).to_have_attribute("data-outcome", "retried", timeout=WAIT)
    await expect(row(page, "thread/print-b")).to_have_attribute("data-outcome", "again", timeout=WAIT)
    await expect(row(page, "thread/print-c").get_by_test_id("retry")).to_be_enabled()
    assert shop.until("print-a", "done")["error"] is None
    assert shop.thread("print-c")["status"] == "error"


@WIDE
async def test_a_stranded_question_is_abandoned_with_what_it_asks_or_goes_on_after_a_deploy(
    page: Page, shop: DemoServer
) -> None:
    for thread in ("kept", "dropped"):
        shop.run(thread, "gates", {})
        shop.until(thread, "interrupted")
    deploy(shop, without_second=True)
    asked = {thread: shop.thread(thread)["pending"] for thread in ("kept", "dropped")}
    first = {thread: next(r for r in asked[thread] if "first" in r["title"]) for thread in asked}
    second = {thread: next(r for r in asked[thread] if "second" in r["title"]) for thread in asked}
    for request in first.values():
        respond(shop, request, {"decision": "approve"}, role="admin")
    await open_operations(page, shop)
    first_row, dropped = (row(page, f"request/{thread}/{second[thread]['id']}") for thread in ("kept", "dropped"))
    await expect(first_row.get_by_test_id("failure-reason")).to_contain_text("'second'", timeout=WAIT)
    await expect(first_row).to_contain_text("Open the second gate?")

    await dropped.get_by_test_id("abandon").click()
    await expect(dropped.get_by_test_id("will-end")).to_contain_text("Open the second gate?", timeout=WAIT)
    await page.keyboard.type("the gate is gone")
    await page.keyboard.press("Control+Enter")
    await expect(dropped).to_have_attribute("data-outcome", "abandoned", timeout=WAIT)
    after = shop.until("dropped", "idle")
    assert (after["reason"], after["pending"]) == ("the gate is gone", [])
    with shop.client("admin") as client:
        assert client.get(f"/v1/requests/{second['dropped']['id']}").json()["status"] == "cancelled"
    await open_thread(page, shop, "dropped")
    await expect(question(page, second["dropped"]["id"])).to_have_attribute("data-status", "cancelled", timeout=WAIT)

    deploy(shop, without_second=False)
    await page.goto(f"{shop.url}/operations")
    await first_row.get_by_test_id("retry").click()
    await expect(first_row).to_have_attribute("data-outcome", "retried", timeout=WAIT)
    await first_row.get_by_role("link").first.click()
    await question(page, second["kept"]["id"]).get_by_test_id("decide-approve").click()
    await until_status(page, "done")
    assert set(shop.thread("kept")["values"]["log"]) == {"first:yes", "second:yes"}


def deploy(shop: DemoServer, *, without_second: bool) -> None:
    """Start the server anew with another version of its agents."""
    shop.stop()
    if without_second:
        (shop.folder / "without-second").touch()
    else:
        (shop.folder / "without-second").unlink()
    shop.start()


async def test_who_is_no_admin_reads_why_and_can_press_nothing(page: Page, shop: DemoServer) -> None:
    jam(shop, "a")
    await open_operations(page, shop, "person")
    await expect(page.get_by_test_id("read-only")).to_contain_text("only an admin")
    await expect(row(page, "thread/print-a")).to_contain_text("no paper in tray a", timeout=WAIT)
    assert await page.get_by_test_id("trouble").get_by_role("button").count() == 0
    assert await page.get_by_test_id("trouble").get_by_role("checkbox").count() == 0


async def test_on_a_phone_in_japanese_in_the_dark_nothing_sticks_out(browser: Browser, shop: DemoServer) -> None:
    jam(shop, "a")
    context = await browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, locale="ja-JP", color_scheme="dark"
    )
    page = await context.new_page()
    await open_operations(page, shop)
    trouble = row(page, "thread/print-a")
    await expect(trouble.get_by_test_id("retry")).to_have_text("再試行", timeout=WAIT)
    await trouble.get_by_test_id("abandon").tap()
    await expect(trouble.get_by_test_id("abandon-reason")).to_be_focused()
    await assert_fits(page)
    await trouble.get_by_test_id("confirm-abandon").tap()
    await expect(trouble).to_have_attribute("data-outcome", "abandoned", timeout=WAIT)
    assert shop.until("print-a", "idle")["error"] == "OSError: no paper in tray a\n  at feed()\n  at print()"
    await context.close()
