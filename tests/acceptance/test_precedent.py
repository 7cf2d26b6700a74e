"""The past beside a request: how calls like this one were decided, and where this one lies among them."""

from __future__ import annotations

import re
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, opened, press, respond, somebody
from tests.acceptance.test_stakes import ARGS, asked
from tests.acceptance.test_votes import picture
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(180)
SHIFTS = """new Promise((done) => {
  const found = [];
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) for (const {node, previousRect, currentRect} of each.sources)
      if (node?.parentElement?.closest(".detail"))
      found.push(`${node?.outerHTML?.slice(0, 80) ?? node?.data} ${JSON.stringify([previousRect, currentRect])}`);
  }).observe({type: "layout-shift", buffered: true});
  setTimeout(() => done(found), 300);
})"""


async def decided(house: DemoServer, decision: str, amount: int, **more: Any) -> dict[str, Any]:
    """Return a request that the admin has decided."""
    request = await asked(house, "low", amount=amount)
    respond(house, request, decision=decision, **more)
    return request


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def precedents(running_house: DemoServer) -> DemoServer:
    """A server on which some calls were decided, the last with an edit."""
    house = running_house.in_new_tenant()
    await history(house)
    return house


async def history(house: DemoServer) -> None:
    """Decide some calls, the last with an edit."""
    for amount in (200, 500, 900, 1200, 1500, 2600):
        await decided(house, "approve", amount)
    await decided(house, "reject", 5200)
    await decided(house, "edit", 2800, args=ARGS | {"amount": 2500, "customer": "c-9"})


@pytest.mark.parametrize(
    ("locale", "width", "text"),
    [
        ("en-GB", 1280, "6 approved · 1 edited · 1 rejected"),
        ("ja-JP", 390, "承認 6 件 · 修正 1 件 · 却下 1 件"),
        ("zh-CN", 390, "批准 6 · 修改 1 · 拒绝 1"),
    ],
)
async def test_a_person_sees_how_calls_like_this_one_were_decided(
    browser: Browser, precedents: DemoServer, locale: str, width: int, text: str
) -> None:
    request = await asked(precedents, "low")
    ann = await somebody(
        browser, precedents, "root", role="admin", locale=locale, viewport={"width": width, "height": 900}
    )
    detail = await opened(ann, precedents, request)
    await expect(detail.get_by_test_id("precedent-counts")).to_contain_text(text, timeout=WAIT)
    figure = detail.get_by_test_id("precedent").locator("figure")
    await expect(figure).to_have_attribute("aria-label", re.compile("8.*4,000.*7|8.*7"), timeout=WAIT)
    last = detail.get_by_test_id("precedent-last")
    assert [await last.locator("del, ins").all_inner_texts()] == [["c-9", "c-77", "2500", "4000"]]
    assert await ann.evaluate(SHIFTS) == []
    await picture(ann, f"precedent-{locale}-{width}")
    await detail.locator("h2").focus()
    await press(ann, "t")
    await expect(detail.get_by_test_id("precedent-amounts").get_by_role("row")).to_have_count(9, timeout=WAIT)
    await expect(detail.get_by_test_id("precedent-changes")).to_contain_text("c-9")
    await picture(ann, f"precedent-table-{locale}-{width}")
    await ann.context.close()


@WIDE
async def test_a_first_call_and_one_without_a_card_say_so(person: Page, house: DemoServer) -> None:
    request = ask(house, "Drop it?", action={"name": "drop", "args": {"table": "orders"}})
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("precedent")).to_have_text("First call of this tool in 30 days", timeout=WAIT)
    row = person.locator(f"[data-testid=request-row][data-id='{request['id']}']")
    color = "part => getComputedStyle(part).backgroundColor"
    assert await row.evaluate(color) != await row.get_by_test_id("row-first").evaluate(color)
    again = ask(house, "Drop it again?", action={"name": "drop", "args": {"table": "orders"}})
    detail = await opened(person, house, again)
    none = "Nobody decided a call of this tool in the last 30 days."
    await expect(detail.get_by_test_id("precedent-last")).to_have_text(none, timeout=WAIT)
    await expect(detail.get_by_test_id("precedent")).to_have_count(0)
    await picture(person, "precedent-none")
    await press(person, "t")
    await expect(detail.get_by_test_id("precedent-amounts")).to_have_count(0)


@pytest.mark.parametrize("locale", ["en-GB", "ja-JP", "zh-CN"])
async def test_on_a_phone_each_new_value_is_in_sight(browser: Browser, house: DemoServer, locale: str) -> None:
    customer = "the customers of the shop in the old town since 2019, number {}"
    respond(house, await asked(house, "medium", customer=customer.format(9), amount=1000), decision="approve")
    request = await asked(house, "medium", customer=customer.format(77), amount=2000, reason="x" * 400, other="y" * 400)
    ann = await somebody(browser, house, "root", role="admin", locale=locale, viewport={"width": 390, "height": 844})
    detail = await opened(ann, house, request)
    last = detail.get_by_test_id("precedent-last")
    await expect(last.locator("ins").first).to_contain_text("number 77", timeout=WAIT)
    await expect(last.locator("del").first).to_contain_text("number 9")
    await expect(last).to_contain_text("2000")
    box = await last.bounding_box()
    assert box
    for value in await last.locator("ins").all():
        inner = await value.bounding_box()
        assert inner
        assert inner["y"] + inner["height"] <= box["y"] + box["height"] + 2
    await picture(ann, f"precedent-long-{locale}")
    await ann.context.close()
