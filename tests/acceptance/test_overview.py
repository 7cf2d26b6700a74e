"""The overview in a real browser: charts with tables, the period, the report, and the picture of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.thread_steps import WAIT, assert_fits, open_thread, respond, sign_in
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(180)
AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
HOSTILE = "<img src=x onerror=\"document.title='stolen'\">"
SEGMENTS = ("[data-testid=period]", "[data-testid=period] .ant-segmented-item-selected")
PARTS = ("queue-chart", "tools-chart", "agents-chart", "times-chart")


@pytest.fixture(scope="module")
def server(house: DemoServer) -> DemoServer:
    """A server on which two of three calls were decided, and a run waits for a person."""
    for tool, decision in (("refund", "approve"), (HOSTILE, "reject"), ("mail", None)):
        with house.client("agent") as client:
            body = {"title": "Go?", "action": {"name": tool, "args": {}}}
            asked: dict[str, Any] = client.post("/v1/requests", json=body).raise_for_status().json()
        if decision:
            respond(house, asked, {"decision": decision})
    return house


async def open_overview(page: Page, server: DemoServer, role: str = "admin") -> None:
    await sign_in(page, server, role)
    await page.goto(f"{server.url}/overview")
    await expect(page.get_by_test_id("tools-chart").locator("canvas")).to_be_visible(timeout=WAIT)


async def table_of(page: Page, part: str) -> Locator:
    """Open the table of a chart."""
    section = page.get_by_test_id(part)
    await section.get_by_role("button").click()
    await expect(section.get_by_role("table")).to_be_visible()
    return section


async def axe(page: Page) -> list[str]:
    await page.evaluate(AXE.read_text())
    found = await page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
    return [
        f"{each['id']}: {json.dumps([node['html'] for node in each['nodes']])[:300]}" for each in found["violations"]
    ]


@WIDE
async def test_each_chart_has_a_table_with_the_figures(page: Page, server: DemoServer) -> None:
    await open_overview(page, server)
    tools = await table_of(page, "tools-chart")
    await expect(tools.get_by_role("row", name="refund")).to_contain_text("1")
    await expect(tools).to_contain_text(HOSTILE)
    queue = await table_of(page, "queue-chart")
    await expect(queue.get_by_role("row").last).to_contain_text("3")
    await expect(page.get_by_test_id("summary")).to_contain_text("1 of 1")
    assert await page.title() != "stolen"
    link = await page.get_by_test_id("download-csv").get_attribute("href")
    reply = await page.request.get(f"{server.url}{link}")
    assert (await reply.text()).startswith("part,name,figure,value")


async def test_the_report_says_what_it_covers(page: Page, server: DemoServer) -> None:
    await open_overview(page, server)
    await page.get_by_role("tab", name="Report").click()
    await expect(page.get_by_test_id("report-tools").get_by_role("row", name="refund")).to_be_visible(timeout=WAIT)
    await expect(page.get_by_text("sha256:")).to_be_visible()
    assert await axe(page) == []
    # On a desk every column is in sight, beside a long name too; on a phone the name leaves room for figures.
    await resize(page, 1280, 800)
    hidden = "tables => tables.map(table => table.scrollWidth - table.clientWidth)"
    assert await page.locator(".figures-table").evaluate_all(hidden) == [0, 0, 0]
    await resize(page, 390, 844)
    heads = await page.locator("thead th").evaluate_all("cells => cells.map(cell => cell.offsetWidth)")
    assert min(heads) >= 60, heads
    names = await page.locator("tbody .figure-name").evaluate_all("cells => cells.map(cell => cell.offsetWidth)")
    assert max(names) <= 160, names


async def test_a_person_sees_no_report_and_reads_why_figures_are_fewer(page: Page, server: DemoServer) -> None:
    await open_overview(page, server, "person")
    await expect(page.get_by_role("tab")).to_have_count(0)
    await expect(page.get_by_text("You see the figures of your groups")).to_be_visible()


async def test_the_choice_of_the_period_stands_out_from_the_page(page: Page, server: DemoServer) -> None:
    await open_overview(page, server)
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme=theme)
        color = "element => getComputedStyle(element).backgroundColor"
        colors = {await page.locator(each).evaluate(color) for each in (".app", *SEGMENTS)}
        assert len(colors) == 3, (theme, colors)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja", "zh"])
async def test_everybody_can_read_the_overview(browser: Browser, server: DemoServer, language: str, theme: Any) -> None:
    viewport: Any = {"width": 390, "height": 844}
    context = await browser.new_context(viewport=viewport, locale=language, color_scheme=theme)
    page = await context.new_page()
    await open_overview(page, server)
    for part in PARTS:
        await expect(page.get_by_test_id(part).locator("canvas")).to_be_visible(timeout=WAIT)
    await assert_fits(page)
    assert await axe(page) == []
    await context.close()


async def test_a_period_without_anything_is_empty_and_an_error_can_be_retried(page: Page, server: DemoServer) -> None:
    await open_overview(page, server)
    empty = {"queue": [], "pending": 0, "oldest": None, "agents": [], "tools": [], "times": [], "fast": []}

    async def respond_empty(route: Any) -> None:
        found = await (await route.fetch()).json()
        await route.fulfill(json={**found, **empty, "decisions": dict.fromkeys(found["decisions"], 0)})

    await page.route("**/v1/statistics?*", respond_empty)
    await page.reload()
    await expect(page.get_by_test_id("no-figures")).to_be_visible(timeout=WAIT)
    await expect(page.get_by_test_id("download-csv")).to_have_count(0)
    await page.unroute("**/v1/statistics?*")
    await page.route("**/v1/statistics?*", lambda route: route.fulfill(status=403, json={"code": "forbidden"}))
    await page.reload()
    await expect(page.get_by_role("alert")).to_be_visible(timeout=WAIT)


async def test_the_page_shows_progress_until_all_is_counted(page: Page, server: DemoServer) -> None:
    calls = 0

    async def respond_part(route: Any) -> None:
        nonlocal calls
        calls += 1
        found = await (await route.fetch()).json()
        part = {"complete": False, "share": 0.42} if calls == 1 else {}
        await route.fulfill(json={**found, **part})

    await page.route("**/v1/statistics?*", respond_part)
    await sign_in(page, server)
    await page.goto(f"{server.url}/overview")
    await expect(page.get_by_test_id("counting")).to_contain_text("42 %", timeout=WAIT)
    await expect(page.get_by_test_id("counting")).to_have_attribute("data-complete", "true", timeout=WAIT)
    assert calls > 1


async def test_a_run_is_a_picture_with_the_wait_of_a_person(page: Page, server: DemoServer) -> None:
    server.run("picture", "two_questions", {})
    server.until("picture", "interrupted")
    await sign_in(page, server)
    await open_thread(page, server, "picture")
    await page.get_by_test_id("open-picture").get_by_role("button").click()
    picture = page.get_by_test_id("run-picture")
    await expect(picture.locator("canvas")).to_be_visible(timeout=WAIT)
    await expect(picture.get_by_role("row", name="A person decides")).to_have_count(1)
    (request,) = server.thread("picture")["pending"][:1]
    respond(server, request, {"decision": "respond", "message": "Kyoto"})
    await expect(picture.get_by_role("row", name="A person decides")).to_have_count(2, timeout=WAIT)
