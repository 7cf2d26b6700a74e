"""What the page does for the attention of a person: order, reflexes, floods, keys and weight, in a real browser.

`python -m benchmarks.attention_page [NAME …]` measures some of it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, Page, Response, async_playwright, expect
from tests import browser as chromiums
from tests.acceptance.demo_server import DemoServer

import ringi
from benchmarks.measure import Row, folder, table
from ringi.domain.ask import Ask
from ringi.server.auth.authenticator import Keys

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
WAIT = 30_000
"""Milliseconds after which the page is stuck."""
PENDING, DUE, EQUAL, ROUTINE = 500, 5, 1_000, 50
LOADS = 7
ROW, DETAIL = "[data-testid=request-row]", "[data-testid=request-detail]"
DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done))))"
BEAT = 500
"""Milliseconds for which no key decides after another kind appears."""
SHIFTS = """new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.shift = (window.shift ?? 0) + each.value;
}).observe({ type: "layout-shift", buffered: true });"""
FIRST_ROW = f"""new MutationObserver((_, observer) => {{
  if (!document.querySelector("{ROW}")) return;
  observer.disconnect();
  window.firstRow = performance.now();
}}).observe(document, {{ childList: true, subtree: true }});"""

SENT_BEFORE = """["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
  .filter((each) => each.responseEnd <= window.firstRow).reduce((sum, each) => sum + each.transferSize, 0)"""


@asynccontextmanager
async def opened(*arguments: str) -> AsyncIterator[tuple[DemoServer, Browser]]:
    """Run a server of its own and a browser for the block."""
    with folder() as path, DemoServer(Path(path), *(arguments or ("serve",))) as house:
        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=chromiums.find(), args=chromiums.ARGUMENTS)
            yield house, browser
            await browser.close()


async def person(browser: Browser, house: DemoServer, **look: Any) -> BrowserContext:
    """Return the browser window of a person who has signed in."""
    token = Keys.load(house.folder).mint(role="person", name="ann", groups=("shop",))
    context = await browser.new_context(**{"viewport": DESK, "locale": "en-GB", "reduced_motion": "reduce", **look})
    await context.add_cookies([{"name": "ringi_session", "value": token, "url": house.url}])
    return context


def ask(house: DemoServer, requests: Sequence[dict[str, Any]]) -> None:
    """Ask as an agent does."""
    with house.client("agent") as client:
        for request in requests:
            reply = client.post("/v1/requests", json=request)
            assert reply.status_code == 201, reply.text


def call(id: str, tool: str, **more: Any) -> dict[str, Any]:
    """Return the request for approval of a call with arguments of its own."""
    number = int("".join(filter(str.isdigit, id)) or 0)
    return {"id": id, "title": f"Run {tool}?", "action": {"name": tool, "args": {"order": number}}, **more}


def undecided(house: DemoServer) -> int:
    """Return the number of pending requests."""
    with house.client("admin") as client:
        counts = client.get("/v1/requests/counts").raise_for_status().json()
    return int(counts["pending"]["count"])


async def press(page: Page, key: str) -> None:
    """Press a key, and let the page draw what it did."""
    await page.keyboard.press(key)
    await page.evaluate(DRAWN)


async def order() -> list[Row]:
    """G2: of 500 pending requests the five that are due soon come first, then the one that cannot be undone."""
    soon = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    harmless = [call(f"harmless-{n}", "rename", priority="normal") for n in range(PENDING - DUE - 1)]
    due = [call(f"due-{n}", "rename", due_at=soon) for n in range(DUE)]
    grave = call("grave-1", "rename", tier="irreversible")
    async with opened() as (house, browser):
        ask(house, [*harmless[:200], *due, *harmless[200:], grave])
        context = await person(browser, house)
        page = await context.new_page()
        await page.goto(f"{house.url}/")
        await expect(page.locator(ROW).nth(DUE)).to_be_visible(timeout=WAIT)
        ids = await page.locator(ROW).evaluate_all("rows => rows.map((row) => row.dataset.id)")
    first = sum(id.startswith("due-") for id in ids[:DUE])
    place = ids.index("grave-1") + 1 if "grave-1" in ids else PENDING
    return [
        Row("G2 due in 5 min among 500", "of rows 1–5", [first], at_least=DUE),
        Row("G2 irreversible after 494 harmless", "row", [place], at_most=DUE + 1),
    ]


async def reflex() -> list[Row]:
    """G3: held keys, repeated keys, and keys right after another kind appears decide nothing."""
    async with opened() as (house, browser):
        ask(house, [call(f"same-{n}", "rename") for n in range(10)])
        ask(house, [call("other-1", "delete"), call("other-2", "delete")])
        context = await person(browser, house)
        page = await context.new_page()
        await page.goto(f"{house.url}/r/same-0")
        await expect(page.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
        before = undecided(house)
        await page.keyboard.down("a")
        for _ in range(30):
            await page.keyboard.down("a")  # A held key repeats.
        await page.keyboard.up("a")
        await page.wait_for_timeout(1_000)
        held = before - undecided(house) - 1  # The first press was one.
        decided_by_reflex = await hurried(page, house)
    return [
        Row("G3 decided by a held key, beyond the press", "requests", [held], at_most=0),
        Row("G3 decided within 0.5 s of another kind", "requests", [decided_by_reflex], at_most=0),
    ]


async def hurried(page: Page, house: DemoServer) -> int:
    """Return how many requests of another kind were decided by keys in the moment in which it appears."""
    for n in range(3, 9):
        await page.goto(f"{house.url}/r/same-{n}")
        await expect(page.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
        await page.wait_for_timeout(BEAT + 100)
        await press(page, "a")
        await page.wait_for_timeout(300)
    await page.goto(f"{house.url}/r/same-9")
    await expect(page.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await page.wait_for_timeout(BEAT + 100)
    await page.keyboard.press("a")
    for _ in range(8):
        await page.keyboard.press("a")
        await page.wait_for_timeout(40)
    await page.wait_for_timeout(500)
    with house.client("admin") as client:
        others = [client.get(f"/v1/requests/other-{n}").json()["status"] for n in (1, 2)]
    return others.count("completed")


async def flood() -> list[Row]:
    """G5: a thousand equal asks are one item in the list."""
    same = {"title": "Restart the printer?", "action": {"name": "restart", "args": {"printer": "p-1"}}}
    async with opened() as (house, browser):
        # Not over HTTP, where an agent may ask 600 times a minute.
        async with ringi.open(f"sqlite:///{house.folder / 'ringi.db'}") as inbox:
            for n in range(EQUAL):
                await inbox.submit(Ask.parse({"id": f"flood-{n}", **same}))
        ask(house, [call("alone-1", "rename")])
        context = await person(browser, house)
        page = await context.new_page()
        began = time.monotonic()
        await page.goto(f"{house.url}/")
        await expect(page.locator(f"{ROW}[data-id=alone-1]")).to_be_visible(timeout=WAIT)
        seconds = time.monotonic() - began
        rows = await page.locator(ROW).count()
    return [
        Row("G5 1,000 equal asks and one other", "rows", [rows], at_most=2),
        Row("G5 until the other one is in sight", "s", [seconds]),
    ]


async def cost() -> list[Row]:
    """G7: the keys for fifty routine decisions, one after the other."""
    async with opened() as (house, browser):
        ask(house, [call(f"routine-{n}", "rename") for n in range(ROUTINE)])
        context = await person(browser, house)
        page = await context.new_page()
        await page.goto(f"{house.url}/")
        await expect(page.locator(ROW).first).to_be_visible(timeout=WAIT)
        keys, left = 0, ROUTINE
        await press(page, "j")
        await press(page, "Enter")
        keys += 2
        while left and keys < 3 * ROUTINE:
            await expect(page.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
            before = await page.locator(DETAIL).get_attribute("data-id")
            await press(page, "a")
            keys += 1
            await expect(page.locator(f"{DETAIL}[data-id='{before}'] [data-testid=decide-approve]")).to_have_count(0)
            left -= 1
        await page.wait_for_timeout(500)
        left = undecided(house)
    return [
        Row("G7 keys for 50 routine decisions", "keys", [keys], at_most=60, note=f"{left} left"),
        Row("G7 left undecided", "requests", [left], at_most=0),
    ]


async def weight() -> list[Row]:
    """The page: time to the first row, bytes before it, and how much the layout moves."""
    seconds, kilobytes, shifts, packed = [], [], [], []
    async with opened() as (house, browser):
        ask(house, [call(f"many-{n}", "rename") for n in range(200)])
        for _ in range(LOADS):
            context = await person(browser, house)
            page = await context.new_page()
            for script in (SHIFTS, FIRST_ROW):
                await page.add_init_script(script)
            lists = responses_of(page)
            await page.goto(f"{house.url}/")
            await expect(page.locator(ROW).first).to_be_visible(timeout=WAIT)
            await page.evaluate(DRAWN)
            seconds.append(await page.evaluate("window.firstRow") / 1_000)
            kilobytes.append(await page.evaluate(SENT_BEFORE) / 1_024)
            await page.wait_for_timeout(1_500)
            shifts.append(await page.evaluate("window.shift ?? 0"))
            packed.append(unpacked(lists))
            await context.close()
    return [
        Row("page: first row", "s", seconds, at_most=0.7),
        Row("page: bytes before it, as sent", "KB", kilobytes, at_most=250),
        Row("page: layout shift (CLS)", "", shifts, at_most=0),
        Row("page: large JSON sent without compression", "responses", packed, at_most=0),
    ]


def responses_of(page: Page) -> list[Response]:
    """Return the list to which each response of the page is added."""
    responses: list[Response] = []

    def add(response: Response) -> None:
        responses.append(response)

    page.on("response", add)
    return responses


def unpacked(responses: Sequence[Response]) -> int:
    """Return how many JSON responses of more than 2 KB were sent as they are."""
    large = [
        each
        for each in responses
        if "json" in each.headers.get("content-type", "") and int(each.headers.get("content-length", "9999")) > 2_000
    ]
    return sum(each.headers.get("content-encoding") not in ("gzip", "br", "zstd") for each in large)


async def fold() -> list[Row]:
    """G7: effect, deadline and button of a request stand above the fold, on a desk and on a phone."""
    rows = []
    async with opened("demo") as (house, browser):
        (request,) = house.until("sample-refund", "interrupted")["pending"]
        for name, size in (("desk", DESK), ("phone", PHONE)):
            context = await person(browser, house, viewport=size)
            page = await context.new_page()
            await page.goto(f"{house.url}/r/{request['id']}")
            await expect(page.locator("[data-testid=effect][data-declared=true]")).to_be_visible(timeout=WAIT)
            parts = [page.get_by_test_id(part).first for part in ("effect", "deadline", "decide-approve")]
            bottoms = [await part.evaluate("part => part.getBoundingClientRect().bottom") for part in parts]
            rows.append(
                Row(f"G7 {name}: lowest of effect, deadline, button", "px", [max(bottoms)], at_most=size["height"])
            )
            await context.close()
    return rows


GOALS = (order, reflex, flood, cost, fold, weight)
"""The goals that need a browser, in order; each has a server and people of its own."""


if __name__ == "__main__":
    chosen = [globals()[name] for name in sys.argv[1:]] or GOALS
    for goal in chosen:
        print(table(asyncio.run(goal())))
