"""The list of requests: it holds still, keeps its place, and many are decided with few keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, Route, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.office import Office, link, opened, row, show, shown_rows, until_rows
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(120)
MOST_ROWS = 60
"""More rows than fit on a screen and its margins; a list that draws all of them has a thousand."""
COUNT_KEYS = "window.keys = 0; addEventListener('keydown', () => { window.keys += 1; }, true);"
FIRST_ON_SCREEN = """scroller => {
  const top = scroller.getBoundingClientRect().top;
  const all = [...scroller.querySelectorAll('[data-testid=request-row]')];
  const seen = all.map(row => [row.dataset.id, row.getBoundingClientRect()]).filter(([, box]) => box.bottom > top + 1);
  const [id, box] = seen.sort((a, b) => a[1].top - b[1].top)[0];
  return [id, Math.round(box.top - top)];
}"""


@pytest.fixture
def office(house: DemoServer) -> Office:
    """An empty office in the demo that the tests of this file share."""
    return Office(house)


@pytest.fixture
def frail(tmp_path: Path) -> Iterator[Office]:
    """An office in a demo of its own, which can be killed."""
    with DemoServer(tmp_path) as demo:
        yield Office(demo)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser) -> AsyncIterator[Page]:
    """A page on a desk."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    yield await context.new_page()
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def phone(browser: Browser) -> AsyncIterator[Page]:
    """A page in a hand."""
    context = await browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="en-GB"
    )
    yield await context.new_page()
    await context.close()


async def place(page: Page) -> list[Any]:
    """Return the first row on screen and how far it is pushed up."""
    found: list[Any] = await page.get_by_test_id("inbox-scroll").evaluate(FIRST_ON_SCREEN)
    return found


async def test_a_thousand_requests_scroll_to_the_end_with_a_screenful_of_rows(desk: Page, office: Office) -> None:
    ids = await office.fill(1_000)
    await show(desk, office)
    scroller, most = desk.get_by_test_id("inbox-scroll"), 0
    async with asyncio.timeout(30):
        while not await row(desk, ids[-1]).count():
            await scroller.evaluate("scroller => scroller.scrollBy(0, 2000)")
            most = max(most, await desk.get_by_test_id("request-row").count())
    assert most < MOST_ROWS
    await expect(row(desk, ids[-1])).to_have_attribute("aria-posinset", "1000")
    await expect(row(desk, ids[-1])).to_have_attribute("aria-setsize", "1000")


async def test_a_held_key_runs_through_the_list_and_the_focus_stays_in_sight(desk: Page, office: Office) -> None:
    ids = await office.fill(150)
    await show(desk, office)
    async with asyncio.timeout(30):
        while not await desk.locator(f"[data-id='{ids[119]}'] a:focus").count():
            await desk.keyboard.down("j")
    await desk.keyboard.up("j")
    await expect(row(desk, ids[119])).to_be_in_viewport(ratio=0.95)
    assert await desk.get_by_test_id("request-row").count() < MOST_ROWS
    await desk.keyboard.press("Enter")
    await opened(desk, ids[119])
    for _ in range(10):
        await desk.keyboard.down("k")
    await desk.keyboard.up("k")
    await opened(desk, ids[109])
    await expect(link(desk, ids[109])).to_have_attribute("aria-current", "page")
    await desk.keyboard.press("Escape")
    await expect(link(desk, ids[109])).to_be_focused()


async def choose(page: Page, filter: str, name: str) -> None:
    """Choose in one of the menus of the filter."""
    if not await page.get_by_test_id("filter-form").is_visible():
        await page.get_by_test_id("open-filters").click()
    await page.get_by_test_id(filter).click()
    await page.locator(".ant-select-item-option", has_text=name).click()


@MAIN
async def test_filters_show_what_the_server_finds_and_stand_in_the_address(desk: Page, office: Office) -> None:
    ask = office.ask
    ask("plain")
    ask("urgent", priority="urgent")
    ask("form", action=None, form={"fields": [{"name": "note", "type": "text"}]}, priority="low")
    ask("given", assignee="ann", priority="low")
    ask("decided")
    office.decide("decided")
    await show(desk, office)
    await choose(desk, "filter-priority", "low")
    await until_rows(desk, office.pending(priority="low"))
    await choose(desk, "filter-kind", "form")
    await until_rows(desk, ["form"])
    assert desk.url.endswith("/?kind=form&priority=low")
    await desk.reload()
    await until_rows(desk, ["form"])
    await desk.go_back()
    await until_rows(desk, office.pending(priority="low"))
    await desk.get_by_test_id("tab-mine").click()
    await until_rows(desk, ["given"])
    await desk.get_by_test_id("tab-done").click()
    await expect(desk.get_by_test_id("empty")).to_contain_text("Nothing matches")
    await desk.get_by_role("button", name="Clear the filters").click()
    await until_rows(desk, ["decided"])
    await expect(row(desk, "decided")).to_contain_text("approved by bob")


async def test_counts_are_those_of_the_server_and_follow_what_happens(desk: Page, office: Office) -> None:
    await office.fill(3)
    office.ask("given", assignee="ann")
    await show(desk, office)
    await expect(desk.get_by_test_id("tab-pending")).to_have_text("Pending 4")
    await expect(desk.get_by_test_id("tab-mine")).to_have_text("Mine 1")
    office.ask("also", assignee="ann")
    office.decide("r0")
    office.decide("r1")
    await expect(desk.get_by_test_id("tab-pending")).to_have_text("Pending 3", timeout=WAIT)
    await expect(desk.get_by_test_id("tab-mine")).to_have_text("Mine 2")
    await expect(desk.get_by_test_id("pending-count")).to_have_text("3")
    await desk.get_by_test_id("tab-mine").click()
    await until_rows(desk, ["given", "also"])
    for id in ("given", "also"):
        await link(desk, id).click()
        await opened(desk, id)
        await desk.get_by_test_id("decide-approve").click()
        await expect(desk.get_by_test_id("tab-mine")).not_to_contain_text("2", timeout=WAIT)
    await expect(desk.get_by_test_id("empty")).to_contain_text("4 done today", timeout=WAIT)


async def test_two_japanese_characters_are_found_and_a_word_that_is_being_composed_is_not_sent(
    desk: Page, office: Office
) -> None:
    await office.fill(5)
    office.ask("henkin", "注文1182の返金を承認しますか")
    sent: list[str] = []
    desk.on("request", lambda request: sent.append(request.url) if "q=" in request.url else None)
    await show(desk, office)
    (first, *_) = office.pending()
    await desk.keyboard.press("/")
    await expect(desk.get_by_test_id("search")).to_be_focused()
    await desk.keyboard.press("Escape")
    await expect(link(desk, first)).to_be_focused()
    await desk.keyboard.press("/")
    keyboard = await desk.context.new_cdp_session(desk)
    for text in ("へ", "へん", "へんき", "へんきん"):
        await keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1})
    await expect(desk.get_by_test_id("search")).to_have_value("へんきん")
    await keyboard.send("Input.insertText", {"text": "返金"})
    await until_rows(desk, ["henkin"])
    assert [httpx.URL(url).params["q"] for url in sent] == ["返金"]
    office.ask("again", "もう一度返金")
    await expect(desk.get_by_test_id("show-new").or_(row(desk, "again"))).to_be_visible(timeout=WAIT)
    await desk.reload()
    await until_rows(desk, ["henkin", "again"])
    await expect(desk.get_by_test_id("search")).to_have_value("返金")


async def test_back_and_a_reload_keep_the_filter_and_the_place(desk: Page, office: Office) -> None:
    ids = await office.fill(300)
    await show(desk, office, "/?kind=approval")
    async with asyncio.timeout(20):
        while not await row(desk, ids[250]).count():
            await desk.get_by_test_id("inbox-scroll").evaluate("scroller => scroller.scrollTo(0, 16010)")
    left = await place(desk)
    await link(desk, ids[253]).click()
    await opened(desk, ids[253])
    await desk.reload()
    await opened(desk, ids[253])
    await expect(row(desk, ids[253])).to_be_in_viewport(timeout=WAIT)
    assert await place(desk) == left
    await desk.go_back()
    await expect(desk.get_by_test_id("request-detail")).to_have_count(0)
    assert desk.url == f"{office.demo.url}/?kind=approval"
    assert await place(desk) == left


@MAIN
async def test_on_a_phone_the_list_is_a_page_that_keeps_its_place(phone: Page, office: Office) -> None:
    ids = await office.fill(60)
    await show(phone, office)
    await phone.get_by_test_id("inbox-scroll").evaluate("scroller => scroller.scrollTo(0, 1000)")
    await expect(row(phone, ids[15])).to_be_in_viewport()
    left = await place(phone)
    await link(phone, ids[15]).tap()
    await opened(phone, ids[15])
    await expect(phone.get_by_test_id("request-row")).to_have_count(0)
    await phone.get_by_test_id("back").tap()
    await expect(row(phone, ids[15])).to_be_in_viewport()
    assert await place(phone) == left


async def test_a_row_that_is_opened_in_the_moment_of_a_scroll_is_found_where_it_was(
    phone: Page, office: Office
) -> None:
    ids = await office.fill(60)
    await show(phone, office)
    await link(phone, ids[4]).evaluate("""link => {
      link.closest('[data-testid=inbox-scroll]').scrollTo(0, 100);
      link.click();
    }""")
    await opened(phone, ids[4])
    await phone.get_by_test_id("back").tap()
    await expect(row(phone, ids[4])).to_be_in_viewport()
    assert await place(phone) == [ids[1], 84 - 100]


async def test_a_finger_that_rests_selects_and_then_each_tap_does(phone: Page, office: Office) -> None:
    ids = await office.fill(5)
    await show(phone, office)
    box = await link(phone, ids[1]).bounding_box()
    assert box
    fingers = await phone.context.new_cdp_session(phone)
    at = [{"x": box["x"] + 50, "y": box["y"] + 20}]
    await fingers.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": at})
    await expect(phone.get_by_test_id("bulk-count")).to_have_text("1 selected")
    await fingers.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    await link(phone, ids[3]).tap()
    await expect(phone.get_by_test_id("bulk-count")).to_have_text("2 selected")
    await expect(row(phone, ids[1])).to_have_attribute("data-selected", "true")
    await expect(phone.get_by_test_id("request-detail")).to_have_count(0)
    await phone.get_by_role("button", name="Clear the selection").tap()
    await link(phone, ids[3]).tap()
    await opened(phone, ids[3])


async def test_fifty_routine_requests_take_fifty_one_keys(desk: Page, office: Office) -> None:
    ids = await office.fill(50)
    await desk.add_init_script(COUNT_KEYS)
    await show(desk, office)
    await desk.keyboard.press("Enter")
    for id, following in zip(ids, [*ids[1:], None], strict=True):
        await opened(desk, id)
        await expect(desk.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
        await desk.keyboard.press("a")
        if following:
            await expect(desk.get_by_test_id("request-detail")).not_to_have_attribute("data-id", id, timeout=WAIT)
    await expect(desk.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    assert await desk.evaluate("window.keys") <= 51
    assert office.listed(status="pending") == []
    await expect(desk.get_by_test_id("empty")).to_be_visible()


@MAIN
async def test_new_ones_wait_while_something_is_open_and_what_ended_dies_in_place(desk: Page, office: Office) -> None:
    ids = await office.fill(10)
    await show(desk, office)
    await link(desk, ids[2]).click()
    await opened(desk, ids[2])
    before = await row(desk, ids[2]).bounding_box()
    for id in ("new1", "new2", "new3"):
        office.ask(id)
    office.decide(ids[1], "reject")
    await expect(desk.get_by_test_id("show-new")).to_have_text("↑ 3 new", timeout=WAIT)
    await expect(row(desk, ids[1])).to_have_attribute("data-status", "completed", timeout=WAIT)
    await expect(row(desk, ids[1])).to_contain_text("rejected by bob")
    assert await shown_rows(desk) == ids
    assert await row(desk, ids[2]).bounding_box() == before
    await desk.keyboard.press("n")
    assert await shown_rows(desk) == office.pending()
    await expect(link(desk, ids[0])).to_be_focused()
    await expect(desk.get_by_test_id("show-new")).to_have_count(0)
    await opened(desk, ids[2])


async def test_what_comes_while_nobody_is_at_the_list_joins_it(desk: Page, office: Office) -> None:
    ids = await office.fill(3)
    await show(desk, office)
    await desk.mouse.move(900, 400)
    office.ask("new")
    await expect(row(desk, "new")).to_be_visible(timeout=WAIT)
    assert await shown_rows(desk) == office.pending() == [*ids, "new"]


async def drop_feed(route: Route) -> None:
    """Let a page hear no news."""
    await route.abort()


@MAIN
async def test_thirty_are_decided_at_once_and_the_one_that_ended_elsewhere_is_skipped(
    desk: Page, office: Office
) -> None:
    ids = await office.fill(30)
    await desk.route("**/v1/events*", drop_feed)
    await show(desk, office)
    await desk.keyboard.press("j")
    await desk.keyboard.press("x")
    for _ in range(29):
        await desk.keyboard.press("Shift+ArrowDown")
    await expect(desk.get_by_test_id("bulk-count")).to_have_text("30 selected")
    await desk.get_by_test_id("bulk-reject").click()
    await expect(desk.get_by_test_id("bulk-line")).to_have_count(30)
    await expect(desk.get_by_test_id("bulk-line").first).to_contain_text("refund(order=")
    await expect(desk.get_by_test_id("bulk-reason")).to_be_focused()
    await desk.get_by_test_id("bulk-reason").fill("the budget is spent")
    office.decide(ids[7])
    await desk.get_by_test_id("bulk-confirm").click()
    await expect(desk.get_by_text("29 decided")).to_be_visible(timeout=WAIT)
    await expect(desk.get_by_test_id("bulk-outcome")).to_contain_text("1 request skipped")
    skipped = desk.locator("[data-testid=bulk-line][data-state=skipped]")
    await expect(skipped).to_have_count(1)
    await expect(skipped).to_have_attribute("data-id", ids[7])
    await expect(skipped).to_contain_text("approved by bob")
    await desk.get_by_test_id("bulk-close").click()
    await expect(desk.get_by_test_id("bulk-count")).to_have_text("1 selected")
    await expect(row(desk, ids[7])).to_have_attribute("data-selected", "true")
    await expect(row(desk, ids[7])).to_contain_text("approved by bob")
    with office.client() as client:
        ended = {item["id"]: item["response"] for item in client.get("/v1/requests?status=completed").json()["items"]}
    assert ended.pop(ids[7])["decision"] == "approve"
    assert {(one["decision"], one["message"]) for one in ended.values()} == {("reject", "the budget is spent")}
    assert len(ended) == 29


@WIDE
async def test_what_needs_a_look_of_its_own_cannot_be_selected_and_says_why(desk: Page, office: Office) -> None:
    office.ask("costly", tier="high")
    field = {"name": "why", "type": "text", "label": "Why", "required": True}
    office.ask("form", form={"fields": [field]})
    office.ask("question", action=None)
    office.ask("routine")
    await show(desk, office)
    for id, why in (("costly", "High stakes: decide"), ("form", "its own answer"), ("question", "in bulk")):
        await link(desk, id).focus()
        await desk.keyboard.press("x")
        await expect(desk.get_by_text(why)).to_be_visible()
        await expect(row(desk, id).get_by_test_id("row-select")).to_be_disabled()
    await desk.keyboard.press("Home")
    for _ in range(3):
        await desk.keyboard.press("Shift+ArrowDown")
    await expect(desk.get_by_test_id("bulk-count")).to_have_text("1 selected")
    await expect(row(desk, "routine")).to_have_attribute("data-selected", "true")


async def test_two_tabs_show_the_same(desk: Page, office: Office) -> None:
    ids = await office.fill(8)
    await show(desk, office)
    other = await desk.context.new_page()
    await show(other, office, "/")
    await link(desk, ids[0]).click()
    await opened(desk, ids[0])
    await expect(desk.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await desk.keyboard.press("a")
    await opened(desk, ids[1])
    await expect(row(other, ids[0])).to_have_attribute("data-status", "completed", timeout=WAIT)
    await expect(other.get_by_test_id("pending-count")).to_have_text("7")
    await other.reload()
    await expect(other.get_by_test_id("request-row")).to_have_count(7)
    assert await shown_rows(other) == await shown_rows(desk) == office.pending()


@WIDE
async def test_a_killed_server_takes_nothing_off_the_screen_and_is_caught_up_with(desk: Page, frail: Office) -> None:
    ids = await frail.fill(5)
    await show(desk, frail)
    await desk.mouse.move(200, 400)
    frail.demo.kill()
    await expect(desk.get_by_test_id("reconnecting")).to_be_visible(timeout=WAIT)
    assert await shown_rows(desk) == ids
    frail.demo.start()
    frail.decide(ids[0])
    frail.ask("later")
    await expect(row(desk, ids[0])).to_have_attribute("data-status", "completed", timeout=WAIT)
    await expect(desk.get_by_test_id("show-new")).to_be_visible(timeout=WAIT)
    await expect(desk.get_by_test_id("reconnecting")).to_have_count(0)
    assert await shown_rows(desk) == ids


async def test_a_link_opens_a_request_that_the_list_does_not_have(desk: Page, office: Office) -> None:
    ids = await office.fill(3)
    office.decide(ids[1])
    await show(desk, office, f"/r/{ids[1]}")
    await opened(desk, ids[1])
    await expect(desk.locator("[aria-current=page][href*='/r/']")).to_have_count(0)
    await desk.keyboard.press("j")
    await opened(desk, ids[0])
    await expect(link(desk, ids[0])).to_have_attribute("aria-current", "page")
