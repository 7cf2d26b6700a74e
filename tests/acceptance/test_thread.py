"""A thread's page in a real browser: all that an agent says and asks, once, live, and in a person's hands."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.thread_steps import (
    WAIT,
    assert_fits,
    assert_once_and_in_order,
    choose,
    open_thread,
    question,
    raw,
    respond,
    shop_server,
    sign_in,
    until_status,
)
from tests.client.network import HoldingProxy, listening
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def shop(house: DemoServer) -> DemoServer:
    """The running server, whose agents are the shop's."""
    return house


@MAIN
async def test_a_refund_from_its_start_to_its_end_by_keyboard(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop, "person")
    for key in "gt":
        await page.keyboard.press(key)
    await expect(page.get_by_test_id("start-run")).to_be_visible(timeout=WAIT)
    await page.keyboard.press("n")
    await expect(page.get_by_label("Agent", exact=True)).to_be_focused()
    await page.keyboard.press("Tab")
    await page.keyboard.type("1182")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("field-amount").get_by_test_id("field-error")).to_be_visible()
    await expect(page.get_by_label("amount")).to_be_focused()
    await page.keyboard.type("40")
    await page.keyboard.press("Enter")
    await until_status(page, "interrupted")
    await expect(page.get_by_role("heading", level=1)).to_be_focused()
    await expect(page.get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)
    await page.keyboard.press("j")
    await expect(page.get_by_test_id("request-detail")).to_be_focused()
    await tab_to(page, "decide-approve")
    await page.keyboard.press("Enter")
    await until_status(page, "done")
    await expect(page.get_by_test_id("thread-values")).to_contain_text("refunded 40", timeout=WAIT)
    await expect(page.get_by_test_id("record")).to_contain_text("root")
    await expect(page.get_by_test_id("message")).to_have_count(2)
    await assert_once_and_in_order(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("thread-row").first).to_have_attribute("data-status", "done", timeout=WAIT)
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await until_status(page, "done")


FITS = """tag => {
  const { left, right } = tag.getBoundingClientRect();
  const isInside = left >= 0 && right <= innerWidth && tag.scrollWidth <= tag.clientWidth + 1;
  return isInside && document.documentElement.scrollWidth <= innerWidth;
}"""


@WIDE
@pytest.mark.parametrize("locale", ["en-GB", "ja-JP", "zh-CN"])
async def test_behind_a_proxy_that_holds_streams_a_thread_is_read_on_and_says_so(
    browser: Browser, shop: DemoServer, locale: str
) -> None:
    thread = f"held-{locale}"
    shop.run(thread, "two_questions", {})
    shop.until(thread, "interrupted")
    context = await browser.new_context(viewport={"width": 390, "height": 844}, locale=locale)
    async with listening(HoldingProxy(int(urlsplit(shop.url).port or 0)).serve) as url:
        await context.add_cookies([{"name": "ringi_session", "value": shop.token("admin", "root"), "url": url}])
        page = await context.new_page()
        await page.clock.install()
        await page.goto(f"{url}/t/{thread}")
        await expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
        await expect(page.get_by_test_id("stream-held")).to_have_count(0)
        await page.clock.fast_forward(31_000)
        await expect(page.get_by_test_id("stream-held")).to_be_visible(timeout=WAIT)
        await expect(page.get_by_test_id("request-detail")).to_have_count(2, timeout=WAIT)
        await expect(page.get_by_test_id("held-back")).to_be_visible(timeout=WAIT)
        assert await page.get_by_test_id("held-back").evaluate(FITS)
        await context.close()


async def tab_to(page: Page, id: str) -> None:
    """Press Tab until a control has the focus."""
    for _ in range(12):
        if await page.evaluate("document.activeElement?.dataset.testid") == id:
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"{id} is out of reach of the Tab key")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in order", "the second first"])
async def test_two_questions_are_answered_in_either_order(page: Page, shop: DemoServer, order: tuple[int, int]) -> None:
    thread = f"two-{order[0]}"
    await sign_in(page, shop, "person")
    shop.run(thread, "two_questions", {})
    await open_thread(page, shop, thread)
    await until_status(page, "interrupted")
    await expect(page.get_by_test_id("pause")).to_have_count(2, timeout=WAIT)
    pending = shop.thread(thread)["pending"]
    first, second = (question(page, pending[index]["id"]) for index in order)
    await second.get_by_role("textbox").first.fill("kept while the other is answered")
    await first.get_by_role("textbox").first.fill("one")
    await first.get_by_test_id("decide-respond").click()
    await expect(first.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    await expect(page.get_by_test_id("run-divider")).to_contain_text(["Run started", "The run continued"], timeout=WAIT)
    await until_status(page, "interrupted")
    await expect(second.get_by_role("textbox").first).to_have_value("kept while the other is answered")
    await second.get_by_test_id("decide-respond").click()
    await until_status(page, "done")
    await expect(page.get_by_test_id("pause")).to_have_count(2)
    await expect(page.get_by_test_id("record")).to_have_count(2)
    answers = shop.thread(thread)["values"]["answers"].values()
    assert set(answers) == {"one", "kept while the other is answered"}
    await assert_once_and_in_order(page)


async def test_a_reload_and_a_second_tab_show_the_same(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop)
    shop.run("seen-twice", "refund", {"order": 7, "amount": 5})
    await open_thread(page, shop, "seen-twice")
    await expect(page.locator("[data-testid=events] > [data-number]").nth(3)).to_be_attached(timeout=WAIT)
    await page.reload()
    other = await page.context.new_page()
    await open_thread(other, shop, "seen-twice")
    await until_status(other, "interrupted")
    await other.get_by_test_id("decide-approve").click()
    for tab in (page, other):
        await until_status(tab, "done")
        await expect(tab.get_by_test_id("run-divider").last).to_contain_text("Run finished", timeout=WAIT)
        await assert_once_and_in_order(tab)
    assert await raw(page) == await raw(other)
    assert await column(page) == await column(other)


async def column(page: Page) -> list[str]:
    """Return all words of a thread's column but those of its questions, which stay as they were filled in."""
    return await page.locator("[data-kind]:not([data-kind=pause])").all_inner_texts()


@WIDE
async def test_killing_the_server_under_an_open_page_loses_and_doubles_nothing(page: Page, tmp_path: Path) -> None:
    with shop_server(tmp_path) as shop:
        await sign_in(page, shop)
        shop.run("ticking", "clock", {"count": 60})
        await open_thread(page, shop, "ticking")
        ticks = page.get_by_test_id("custom-event")
        await expect(ticks.nth(9)).to_be_attached(timeout=WAIT)
        shop.kill()
        await expect(page.get_by_test_id("stream-lost")).to_be_visible(timeout=WAIT)
        before = await raw(page)
        shop.start()
        await expect(page.get_by_test_id("stream-lost")).to_have_count(0, timeout=WAIT)
        (shop.folder / "enough").touch()
        await until_status(page, "done")
        await expect(page.get_by_test_id("run-divider").last).to_contain_text("Run finished", timeout=WAIT)
        await expect(ticks).to_have_count(60)
        names = [await tick.locator("summary").inner_text() for tick in await ticks.all()]
        assert [int(name.rpartition(":")[2].strip("} ")) for name in names] == list(range(60))
        assert (await raw(page))[: len(before)] == before
        await assert_once_and_in_order(page)


async def test_ten_thousand_things_stay_few_in_the_document_and_none_is_lost(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop)
    shop.run("long", "chatter", {"count": 10_000})
    await open_thread(page, shop, "long")
    await expect(page.get_by_text("Raw events (10003)")).to_be_visible(timeout=WAIT)
    end = page.get_by_test_id("run-divider").last
    await expect(end).to_contain_text("Run finished")
    await expect(end).to_be_in_viewport(timeout=WAIT)
    assert await page.locator("*").count() < 4_000
    rows = page.get_by_test_id("custom-event")
    await expect(rows.last).to_contain_text('"n":9999')
    await page.keyboard.press("Control+Home")
    await expect(page.get_by_test_id("run-divider").first).to_be_in_viewport(timeout=WAIT)
    await expect(rows.first).to_contain_text('"n":0')
    assert await page.get_by_test_id("thread-items").locator("> *").first.get_attribute("aria-setsize") == "10002"
    await page.keyboard.press("j")
    await page.keyboard.press("k")
    await expect(page.locator("[aria-posinset='10001']")).to_be_focused(timeout=WAIT)
    await page.keyboard.press("Enter")
    await expect(page.locator("[aria-posinset='10001'] .disclosure-body")).to_contain_text("one of very many")


async def test_new_things_come_into_view_only_for_who_is_at_the_end(page: Page, shop: DemoServer) -> None:
    (shop.folder / "enough").unlink(missing_ok=True)
    await sign_in(page, shop)
    shop.run("followed", "clock", {"count": 250})
    await resize(page, 900, 400)
    await open_thread(page, shop, "followed")
    ticks = page.get_by_test_id("custom-event")
    await expect(ticks.nth(30)).to_be_attached(timeout=WAIT)
    await expect(ticks.last).to_be_in_viewport()
    await page.mouse.move(400, 200)
    await page.mouse.wheel(0, -300)
    button = page.get_by_test_id("new-below")
    await expect(button).to_be_visible(timeout=WAIT)
    at = await page.evaluate("window.scrollY")
    count = int((await button.inner_text()).split()[1])
    await expect(button).not_to_have_text(f"↓ {count} new", timeout=WAIT)
    assert await page.evaluate("window.scrollY") == at
    await button.click()
    await expect(button).to_have_count(0)
    (shop.folder / "enough").touch()
    await until_status(page, "done")
    await expect(page.get_by_test_id("run-divider").last).to_be_in_viewport(timeout=WAIT)
    await expect(button).to_have_count(0)


async def test_a_question_that_is_taller_than_the_window_is_read_from_its_beginning(
    page: Page, shop: DemoServer
) -> None:
    await sign_in(page, shop)
    await resize(page, 390, 420)
    shop.run("tall", "refund", {"order": 8, "amount": 9})
    await open_thread(page, shop, "tall")
    await until_status(page, "interrupted")
    title = page.get_by_test_id("request-detail").get_by_role("heading").first
    await expect(title).to_be_in_viewport(ratio=1, timeout=WAIT)
    await expect(page.get_by_test_id("cancel-run")).not_to_be_in_viewport()
    await page.reload()
    await expect(title).to_be_in_viewport(ratio=1, timeout=WAIT)
    await page.wait_for_function("window.scrollY > 0")
    await expect(title).to_be_in_viewport(ratio=1)


@MAIN
async def test_an_error_says_what_to_do_and_another_try_goes_on_in_the_same_place(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop)
    shop.run("jammed", "printer", {"tray": "a"})
    await open_thread(page, shop, "jammed")
    await until_status(page, "error")
    await expect(page.get_by_test_id("run-error")).to_contain_text("no paper in tray a")
    (shop.folder / "paper-a").touch()
    await expect(page.get_by_test_id("retry-run")).to_be_visible()
    await page.keyboard.press("r")
    await until_status(page, "done")
    await expect(page.get_by_test_id("run-divider")).to_contain_text(
        ["Run started", "Retried", "Run finished"], timeout=WAIT
    )
    await expect(page.get_by_test_id("thread-values")).to_contain_text("printed")
    await assert_once_and_in_order(page)


async def test_who_may_not_retry_is_told_who_may(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop, "person")
    shop.run("jammed-for-all", "printer", {"tray": "z"})
    await open_thread(page, shop, "jammed-for-all")
    await until_status(page, "error")
    await expect(page.get_by_test_id("run-controls-refusal")).to_contain_text("Only an admin")
    await expect(page.get_by_test_id("retry-run")).to_have_count(0)


async def test_a_run_is_cancelled_in_place_with_a_reason(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop)
    shop.run("unwanted", "two_questions", {})
    await open_thread(page, shop, "unwanted")
    await until_status(page, "interrupted")
    asked = shop.thread("unwanted")["pending"]
    await page.get_by_test_id("cancel-run").click()
    await expect(page.get_by_test_id("cancel-reason")).to_be_focused()
    await expect(page.get_by_test_id("will-end").locator("li")).to_have_text([request["title"] for request in asked])
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("cancel-reason")).to_have_count(0)
    await page.keyboard.press("x")
    await page.keyboard.type("the poster is off")
    await page.get_by_test_id("confirm-cancel").click()
    await until_status(page, "idle")
    for request in asked:
        await expect(question(page, request["id"])).to_have_attribute("data-status", "cancelled", timeout=WAIT)
        await expect(question(page, request["id"])).to_contain_text("the poster is off")
    await expect(page.get_by_test_id("stop-reason")).to_contain_text("the poster is off")
    await expect(page.get_by_test_id("run-controls")).to_be_focused()


@WIDE
async def test_what_an_agent_writes_is_marked_up_and_never_loads_or_runs_anything(page: Page, shop: DemoServer) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await sign_in(page, shop)
    shop.run("words", "writer", {})
    await open_thread(page, shop, "words")
    await until_status(page, "done")
    words = page.get_by_test_id("message")
    await expect(words.get_by_text("What I found", exact=True)).to_be_visible()
    await expect(words.locator("strong")).to_have_text("late")
    await expect(words.locator("pre")).to_have_text("refund(order=1182)")
    await expect(words.get_by_text("<img src=")).to_be_visible()
    await expect(words.get_by_text("(https://carrier.example/p/1182)")).to_be_visible()
    assert await words.get_by_role("link").evaluate_all("links => links.map(link => [link.href, link.rel])") == [
        ["https://carrier.example/p/1182", "noopener noreferrer nofollow"],
        ["https://elsewhere.example/x.png", "noopener noreferrer nofollow"],
        ["https://elsewhere.example/cat.png", "noopener noreferrer nofollow"],
    ]
    assert await words.locator("img, iframe, script, style").count() == 0
    tool = page.get_by_test_id("tool-call")
    await expect(tool).to_contain_text('find_parcel({"order":1182')
    await tool.locator("summary").click()
    await expect(tool).to_contain_text('"days": 9')
    assert [url for url in asked if not url.startswith(shop.url)] == []
    assert await page.title() != "stolen"


async def test_the_list_of_threads_is_live_and_filtered(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop)
    shop.run("listed", "two_questions", {})
    shop.until("listed", "interrupted")
    await page.goto(f"{shop.url}/threads")
    row = page.locator("[data-testid=thread-row][data-id=listed]")
    await expect(row).to_contain_text("needs an answer", timeout=WAIT)
    await expect(row).to_contain_text("In which city should it hang?")
    await page.get_by_test_id("status-filter").get_by_text("done").click()
    await expect(row).to_have_count(0)
    assert page.url.endswith("?status=done")
    await page.mouse.move(0, 0)
    for request in shop.thread("listed")["pending"]:
        respond(shop, request, {"decision": "respond", "message": "blue"})
    await expect(row).to_have_attribute("data-status", "done", timeout=WAIT)
    await row.hover()
    shop.run("later", "writer", {})
    shop.until("later", "done")
    await expect(page.get_by_test_id("new-rows")).to_have_text("1 new thread", timeout=WAIT)
    await expect(page.locator("[data-testid=thread-row][data-id=later]")).to_have_count(0)
    await page.get_by_test_id("new-rows").click()
    await expect(page.locator("[data-testid=thread-row][data-id=later]")).to_be_visible()


async def test_a_wrong_input_is_told_at_its_field_and_keeps_what_was_typed(page: Page, shop: DemoServer) -> None:
    await sign_in(page, shop)
    shop.run("taken", "two_questions", {})
    shop.until("taken", "interrupted")
    await page.goto(f"{shop.url}/threads")
    await choose(page.get_by_test_id("agent"), "clock")
    count, name = page.get_by_label("count"), page.get_by_test_id("thread-name")
    for typed, hint in [("0", "at least 1"), ("30000", "at most 20000"), ("1.5", "whole number")]:
        await count.fill(typed)
        await page.get_by_test_id("start-run").click()
        await expect(page.get_by_test_id("field-count").get_by_test_id("field-error")).to_contain_text(hint)
        await expect(count).to_be_focused()
    await count.fill("3")
    await name.fill("taken")
    await page.get_by_test_id("start-run").click()
    await expect(page.get_by_test_id("field-thread-name").get_by_role("alert")).to_contain_text("another name")
    await expect(name).to_be_focused()
    await expect(count).to_have_value("3")
    await name.fill("-no-id-")
    await page.get_by_test_id("start-run").click()
    # The previous message fades out, and is visible for a while longer.
    refusal = page.get_by_test_id("field-thread-name").get_by_role("alert")
    await expect(refusal).to_contain_text("begin with a letter or a digit", timeout=WAIT)
    (shop.folder / "enough").touch()
    await name.fill("mended")
    await page.keyboard.press("Enter")
    await until_status(page, "done")
    assert page.url.endswith("/t/mended")


PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
DARK_JA: dict[str, Any] = {"locale": "ja-JP", "color_scheme": "dark", "reduced_motion": "reduce"}


@MAIN
async def test_on_a_phone_a_question_is_answered_and_nothing_sticks_out(browser: Browser, shop: DemoServer) -> None:
    context = await browser.new_context(**PHONE)
    page = await context.new_page()
    await sign_in(page, shop)
    await page.goto(f"{shop.url}/threads")
    await expect(page.get_by_test_id("start-run")).to_have_count(0)
    await page.get_by_test_id("open-start").tap()
    await expect(page.get_by_test_id("start-run")).to_be_visible(timeout=WAIT)
    await assert_fits(page)
    shop.run("phone-with-a-name-that-is-longer-than-the-phone-is-wide", "refund", {"order": 3, "amount": 4})
    await open_thread(page, shop, "phone-with-a-name-that-is-longer-than-the-phone-is-wide")
    await until_status(page, "interrupted")
    await page.get_by_test_id("decide-approve").tap()
    await until_status(page, "done")
    await assert_fits(page)
    await page.get_by_text("Details").tap()
    await expect(page.get_by_test_id("thread-values")).to_contain_text("refunded 4")
    await context.close()


async def test_in_japanese_in_the_dark_and_without_motion(browser: Browser, shop: DemoServer) -> None:
    (shop.folder / "enough").unlink(missing_ok=True)
    context = await browser.new_context(**DARK_JA)
    page = await context.new_page()
    await sign_in(page, shop)
    shop.run("calm", "clock", {"count": 2})
    await open_thread(page, shop, "calm")
    await expect(page.get_by_test_id("activity")).to_contain_text("エージェントが作業しています", timeout=WAIT)
    await expect(page.get_by_test_id("thread-status")).to_have_text("実行中")
    moving = "document.getAnimations().filter(one => one.playState === 'running').length"
    assert await page.evaluate(moving) == 0
    (shop.folder / "enough").touch()
    await until_status(page, "done")
    await expect(page.get_by_test_id("run-divider").last).to_contain_text("実行が完了")
    await context.close()
