"""What stays around every page: languages, themes, help, the tab's own signs, and how one leaves."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(120)

HIDING = """
window.isAway = false;
Object.defineProperty(document, "hidden", { get: () => window.isAway });
window.setAway = (away) => { window.isAway = away; document.dispatchEvent(new Event("visibilitychange")); };
"""
"""A headless browser shows all its tabs: this lets a test say which one is in the background."""
NOTICES = """
window.notices = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() {
    window.asked = (window.asked ?? 0) + 1;
    return (this.permission = window.answer ?? "granted");
  }
  constructor(title, options) { super(); Object.assign(this, options, { title }); window.notices.push(this); }
  close() { this.closed = true; }
};
"""
"""The desktop, which a headless browser does not have."""
BEFORE_ANY_SCRIPT = "**/assets/*.js"


def ask(house: DemoServer, title: str, **more: Any) -> dict[str, Any]:
    """Ask a question and return the request."""
    with house.client("agent") as client:
        found: dict[str, Any] = client.post("/v1/requests", json={"title": title, **more}).raise_for_status().json()
        return found


def answer(house: DemoServer, request: dict[str, Any]) -> None:
    """Answer a question."""
    body = {"decision": "respond", "message": "yes", "digest": request["digest"]}
    with house.client() as client:
        client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()


async def choose(page: Page, what: str, sign: str) -> None:
    """Press one of the header's choices."""
    await page.get_by_test_id(what).locator("label", has_text=sign).click()


@MAIN
async def test_a_chosen_language_stays_and_the_whole_page_follows(person: Page) -> None:
    for sign, lang, word in (("日", "ja", "受信箱"), ("中", "zh", "收件箱")):
        await choose(person, "languages", sign)
        await expect(person.locator(".page-header nav")).to_contain_text(word)
        assert await person.evaluate("document.documentElement.lang") == lang
        await person.reload()
        await expect(person.locator(".page-header nav")).to_contain_text(word, timeout=WAIT)
        assert await person.evaluate("document.documentElement.lang") == lang


async def test_a_person_who_chose_nothing_gets_the_language_of_their_browser(page: Page, house: DemoServer) -> None:
    await page.add_init_script("Object.defineProperty(navigator, 'languages', { get: () => ['fr-FR', 'ja-JP'] })")
    await page.goto(house.link)
    await expect(page.locator(".page-header nav")).to_contain_text("受信箱", timeout=WAIT)


async def scheme(page: Page) -> str:
    """Return the theme in which the browser draws the canvas, scroll bars and its own controls."""
    found: str = await page.evaluate("getComputedStyle(document.documentElement).colorScheme")
    return found


async def test_a_chosen_theme_is_there_before_the_page_is(person: Page) -> None:
    await choose(person, "themes", "☾")
    assert await scheme(person) == "dark"
    await person.route(BEFORE_ANY_SCRIPT, lambda route: route.abort())
    await person.reload(wait_until="domcontentloaded")
    assert await scheme(person) == "dark"
    await person.unroute(BEFORE_ANY_SCRIPT)


async def test_the_page_follows_the_system_until_a_theme_is_chosen(person: Page) -> None:
    text = "getComputedStyle(document.querySelector('.app')).color"
    light = await person.evaluate(text)
    await person.emulate_media(color_scheme="dark")
    await person.wait_for_function(f"() => {text} !== '{light}'")
    await choose(person, "themes", "☼")
    await person.wait_for_function(f"() => {text} === '{light}'")
    assert await scheme(person) == "light"


async def test_the_help_lists_the_keys_and_has_them_for_itself(person: Page, house: DemoServer) -> None:
    await person.keyboard.press("?")
    help = person.get_by_role("dialog")
    await expect(help).to_contain_text("Keyboard shortcuts")
    await expect(help.locator("kbd")).not_to_have_count(0)
    box = await person.get_by_test_id("help").bounding_box()
    assert box
    assert box["y"] + box["height"] <= 800
    await person.keyboard.press("g")
    await person.keyboard.press("t")
    assert person.url.endswith("/")
    await person.keyboard.press("Escape")
    await expect(help).to_be_hidden()
    await person.keyboard.press("g")
    await person.keyboard.press("t")
    await person.wait_for_url("**/threads")
    await person.keyboard.press("g")
    await person.keyboard.press("i")
    await person.wait_for_url(f"{house.url}/")


async def test_the_first_tab_leads_past_the_header(person: Page, house: DemoServer) -> None:
    request = ask(house, "Who waits?")
    # With the first count the header scrolls to the current link.
    await expect(person.get_by_test_id("pending-count")).to_have_text(re.compile(r"\d"))
    await person.keyboard.press("Tab")
    skip = person.get_by_role("link", name="Skip to content")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport()
    await person.keyboard.press("Enter")
    await expect(person.get_by_role("main")).to_be_focused()
    answer(house, request)


@pytest_asyncio.fixture(loop_scope="session")
async def aside(browser: Browser, house: DemoServer) -> AsyncIterator[Page]:
    """The page of somebody who wants notices, in a browser with a desktop; their tab can go into the background."""
    context = await browser.new_context(locale="en-GB")
    await context.add_init_script(HIDING + NOTICES)
    page = await context.new_page()
    await page.goto(house.link)
    await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    yield page
    await context.close()


async def count(page: Page) -> int:
    """Return how many requests the tab says are waiting."""
    found = re.match(r"\((\d+)\)", await page.title())
    return int(found[1]) if found else 0


@MAIN
async def test_the_tab_counts_what_waits_also_in_the_background(aside: Page, house: DemoServer) -> None:
    first = ask(house, "Is it one?")
    await expect(aside).to_have_title(re.compile(r"^\(\d+\) Ringi$"), timeout=WAIT)
    before = await count(aside)
    await expect(aside.locator("link[rel=icon]")).to_have_attribute("href", "/stamp-dot.svg")
    await aside.evaluate("setAway(true)")
    second = ask(house, "Is it two?")
    await expect(aside).to_have_title(f"({before + 1}) Ringi", timeout=WAIT)
    answer(house, first)
    answer(house, second)
    await expect(aside).to_have_title("Ringi" if before == 1 else f"({before - 1}) Ringi", timeout=WAIT)


async def test_one_of_many_tabs_in_the_background_stays_in_touch(aside: Page, house: DemoServer) -> None:
    streams: list[str] = []
    other = await aside.context.new_page()
    for page in (aside, other):
        page.on("request", lambda request: streams.append(request.url) if "/v1/events" in request.url else None)
    await other.goto(house.url)
    await expect(other.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    await aside.evaluate("setAway(true)")
    await other.evaluate("setAway(true)")
    await other.wait_for_function("() => navigator.locks.query().then(found => found.pending.length === 1)")
    before = await count(aside)
    request = ask(house, "Who hears it?")
    await expect(aside).to_have_title(f"({before + 1}) Ringi", timeout=WAIT)
    assert await count(other) == before
    await aside.close()
    await expect(other).to_have_title(f"({before + 1}) Ringi", timeout=WAIT)
    answer(house, request)


async def test_a_notice_tells_of_a_request_only_when_wanted_and_nobody_looks(aside: Page, house: DemoServer) -> None:
    assert await aside.evaluate("window.asked") is None
    await aside.get_by_test_id("open-menu").click()
    await aside.get_by_test_id("notifications").click()
    await expect(aside.get_by_test_id("notifications")).to_be_checked()
    assert await aside.evaluate("window.asked") == 1
    await aside.keyboard.press("Escape")
    seen = ask(house, "Do you look?")
    await expect(aside.locator(f"[data-testid=request-row][data-id='{seen['id']}']")).to_be_visible(timeout=WAIT)
    await aside.evaluate("setAway(true)")
    hidden = ask(house, "Pay \u202etxt.exe?", description="the agent says more")
    await aside.wait_for_function("() => window.notices.length === 1")
    notice = await aside.evaluate("(({ title, body }) => ({ title, body }))(window.notices[0])")
    assert notice == {"title": "New request", "body": "Pay \\u{202e}txt.exe?"}
    await aside.evaluate("window.notices[0].dispatchEvent(new Event('click'))")
    await aside.wait_for_url(f"**/r/{hidden['id']}")
    answer(house, hidden)
    answer(house, seen)


async def test_a_notice_goes_when_its_request_has_ended(aside: Page, house: DemoServer) -> None:
    await aside.get_by_test_id("open-menu").click()
    await aside.get_by_test_id("notifications").click()
    await aside.keyboard.press("Escape")
    await aside.evaluate("setAway(true)")
    request = ask(house, "Still there?")
    await aside.wait_for_function("() => window.notices.length === 1")
    answer(house, request)
    await aside.wait_for_function("() => window.notices[0].closed")


async def test_a_browser_that_refuses_notices_is_explained(aside: Page, house: DemoServer) -> None:
    await aside.evaluate("window.answer = 'denied'")
    await aside.get_by_test_id("open-menu").click()
    await aside.get_by_test_id("notifications").click()
    await expect(aside.get_by_test_id("menu")).to_contain_text("does not allow notifications")
    await expect(aside.get_by_test_id("notifications")).not_to_be_checked()


async def test_on_a_phone_the_menu_has_what_the_header_has_no_room_for(person: Page) -> None:
    await resize(person, 390, 844)
    await expect(person.locator(".page-header").get_by_test_id("languages")).to_have_count(0)
    await person.get_by_test_id("open-menu").click()
    menu = person.get_by_role("dialog")
    await menu.get_by_test_id("languages").locator("label", has_text="日").click()
    await expect(menu).to_contain_text("テーマ")
    await menu.get_by_test_id("open-help").click()
    await expect(person.get_by_role("dialog", name="キーボード操作")).to_be_visible()


WHOLE = """name => {
  const nav = document.querySelector(".page-header nav");
  const link = [...nav.querySelectorAll("a")].find(({ textContent }) => textContent.trim() === name);
  return link && link.getBoundingClientRect().right <= nav.getBoundingClientRect().right - 12;
}"""
"""Whether a link ends before the edge of the header's links, where what continues fades."""


@WIDE
async def test_on_a_phone_no_link_of_a_person_is_cut_and_the_current_one_is_whole(
    person: Page, house: DemoServer
) -> None:
    await resize(person, 390, 844)
    waiting = [ask(house, f"Is it {hour} o'clock?") for hour in range(10)]
    for path, name in (("/threads", "Memory"), ("/overview", "Overview")):
        await person.goto(house.url + path)
        await expect(person.get_by_test_id("pending-count")).to_have_text(re.compile(r"\d\d"), timeout=WAIT)
        await person.wait_for_function(WHOLE, arg=name, timeout=WAIT)
    # The system's font may be wider than any here.
    await person.add_style_tag(content=".page-header nav { letter-spacing: 0.15em }")
    for name in ("Threads", "Memory", "Overview"):
        await person.wait_for_function(WHOLE, arg=name, timeout=WAIT)
    for request in waiting:
        answer(house, request)


async def test_the_header_leads_to_operations_once_a_run_needs_somebody(person: Page, house: DemoServer) -> None:
    link = person.get_by_role("link", name="Operations")
    await expect(link).to_have_count(0)
    house.run("no-paper", "printer", {"tray": "a4"})
    house.until("no-paper", "error")
    await person.reload()
    await expect(link).to_have_text("Operations 1", timeout=WAIT)
    await link.click()
    await expect(person.get_by_test_id("failure-reason")).to_contain_text("no paper")


async def test_who_signs_out_is_asked_for_the_link_again(person: Page) -> None:
    await person.get_by_test_id("open-menu").click()
    await person.get_by_test_id("sign-out").click()
    await expect(person.get_by_test_id("sign-in")).to_be_visible()
    await person.reload()
    await expect(person.get_by_test_id("sign-in")).to_be_visible(timeout=WAIT)
