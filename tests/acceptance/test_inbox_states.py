"""The list of requests in each of its states: everybody can read and reach what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.office import Office, link, row, show, until_rows

pytestmark = pytest.mark.timeout(120)
MEASURES = [Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js", Path(__file__).parent / "measure.js"]


@pytest.fixture
def office(house: DemoServer) -> Office:
    """An empty office in the demo that the tests of this file share."""
    return Office(house)


async def problems(page: Page) -> list[str]:
    """Return what a person could not read or reach on the page as it stands."""
    await page.wait_for_function("() => measure.moving().length === 0")
    return [line for what in ("clipped", "sideways", "barriers") for line in await page.evaluate(f"measure.{what}()")]


@pytest.mark.parametrize(
    ("language", "theme", "width"), [("en", "dark", 390), ("ja", "light", 1280), ("zh", "dark", 640)]
)
async def test_each_state_of_the_list_can_be_read_and_reached(
    browser: Browser, office: Office, language: str, theme: Any, width: int
) -> None:
    one, two, three = [id for id in await office.fill(12) if id != "r3"][-3:]
    office.ask("costly", "Delete the mailboxes of everybody who left the company in the last year", tier="high")
    office.ask("form", form={"fields": [{"name": "note", "type": "text", "required": True}]}, expires_in=60)
    with office.client(name="bob") as client:
        client.post("/v1/requests/r3/claim").raise_for_status()
    context = await browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )
    await context.add_init_script(f"localStorage.setItem('ringi.language', '{language}')")
    page = await context.new_page()
    await show(page, office)
    for script in MEASURES:
        await page.evaluate(script.read_text())
    await expect(page.get_by_test_id("open-filters")).to_be_visible(timeout=WAIT)
    found = await problems(page)
    await page.get_by_test_id("open-filters").click()
    await expect(page.get_by_test_id("filter-form")).to_be_visible(timeout=WAIT)
    found += await problems(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("filter-form")).to_have_count(0)
    await page.keyboard.press("Control+k")
    await expect(page.get_by_role("option").first).to_be_attached(timeout=WAIT)
    found += await problems(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("palette")).to_have_count(0)
    await link(page, one).focus()
    await page.keyboard.press("x")
    await page.keyboard.press("Shift+ArrowDown")
    await page.keyboard.press("Shift+ArrowDown")
    office.ask("new")
    office.decide(two)
    await expect(page.get_by_test_id("show-new")).to_be_visible(timeout=WAIT)
    await expect(row(page, two)).to_have_attribute("data-left", "true", timeout=WAIT)
    found += await problems(page)
    await page.get_by_test_id("bulk-reject").click()
    await expect(page.get_by_test_id("bulk-line")).to_have_count(2)
    found += await problems(page)
    office.decide(three)
    await page.get_by_test_id("bulk-confirm").click()
    await expect(page.get_by_test_id("bulk-outcome")).to_be_visible(timeout=WAIT)
    found += await problems(page)
    await page.get_by_test_id("bulk-close").click()
    await page.get_by_test_id("tab-done").click()
    await until_rows(page, office.listed(order="ended"))
    found += await problems(page)
    await page.get_by_test_id("tab-mine").click()
    await expect(page.get_by_test_id("empty")).to_be_visible(timeout=WAIT)
    found += await problems(page)
    await context.close()
    assert not found, "\n".join(found)
