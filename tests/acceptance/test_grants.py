"""A person approves later calls too, sees what is approved in advance, and revokes it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, decided, opened, press, somebody, stored
from tests.acceptance.test_votes import PHONE, picture, seen
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(180)


def refund(order: int, amount: int, **more: Any) -> dict[str, Any]:
    return {"action": {"name": "pay_back", "args": {"order": order, "amount": amount}}, **more}


@WIDE
async def test_later_calls_are_approved_within_the_limits_until_somebody_revokes_them(
    browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "Pay back ¥4,000?", **refund(1182, 4000), context={"folder": "/srv/shop"})
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, request)
    await detail.get_by_test_id("open-grant").click()
    step = detail.get_by_test_id("grant")
    await expect(step).to_contain_text("Approve this, and later calls of pay_back with:")
    await step.get_by_test_id("grant-order").get_by_role("combobox").click()
    await ann.get_by_title("any", exact=True).click()
    await step.get_by_test_id("grant-amount").get_by_role("combobox").click()
    await ann.get_by_title("at most", exact=True).last.click()
    await step.get_by_label("amount: at most").fill("5000")
    await step.get_by_test_id("grant-folder").click()
    await expect(ann.locator(".ant-select-dropdown:visible")).to_have_count(0)
    await picture(ann, "grant-desk")
    await detail.get_by_test_id("confirm-grant").click()

    grant = decided(house, request)["grant"]
    assert (grant["where"], grant["folder"], grant["max_uses"]) == (
        {"amount": {"at_least": 0, "at_most": 5000.0}},
        None,
        20,
    )
    covered = ask(house, "Pay back ¥5,000?", **refund(7, 5000))
    assert covered["status"] == "completed"
    assert ask(house, "Pay back ¥5,001?", **refund(7, 5001))["status"] == "pending"
    detail = await seen(ann, house, covered)
    await expect(detail.get_by_test_id("grant-used")).to_contain_text("approved in advance, call 1", timeout=WAIT)
    await picture(ann, "grant-used-desk")
    detail = await seen(ann, house, request)
    await expect(detail.get_by_test_id("grant-made")).to_contain_text("at most 20", timeout=WAIT)

    await ann.get_by_test_id("open-menu").click()
    await ann.get_by_test_id("open-grants").click()
    row = ann.locator(f"[data-testid=grant-row][data-id='{request['id']}']")
    await expect(row).to_contain_text("1 of 20 calls", timeout=WAIT)
    await expect(row).to_contain_text("amount ≥ 0, ≤ 5000")
    await picture(ann, "grants-desk")
    await row.get_by_test_id("revoke-grant").click()
    await expect(row).to_have_attribute("data-status", "revoked", timeout=WAIT)
    assert ask(house, "Pay back ¥4,500?", **refund(7, 4500))["status"] == "pending"
    await ann.context.close()


async def test_a_phone_offers_it_in_the_menu_and_only_the_same_call_by_default(
    browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "返金しますか", **refund(31, 900))
    ann = await somebody(browser, house, "ann", locale="ja-JP", **PHONE)
    detail = await opened(ann, house, request)
    await detail.get_by_test_id("more-actions").click()
    await ann.get_by_test_id("open-grant").click()
    await expect(detail.get_by_test_id("grant")).to_contain_text("今後の pay_back の呼び出し")
    await picture(ann, "grant-phone-ja")
    await press(ann, "Escape")
    await expect(detail.get_by_test_id("grant")).to_have_count(0)
    await detail.get_by_test_id("more-actions").click()
    await ann.get_by_test_id("open-grant").click()
    await detail.get_by_test_id("confirm-grant").click()
    assert "where" not in decided(house, request)["grant"]
    assert ask(house, "返金しますか", **refund(31, 900))["status"] == "completed"
    assert ask(house, "返金しますか", **refund(31, 901))["status"] == "pending"
    await ann.goto(f"{house.url}/grants")
    await expect(ann.locator(f"[data-id='{request['id']}']")).to_contain_text("まったく同じ引数", timeout=WAIT)
    await picture(ann, "grants-phone-ja")
    await ann.context.close()


async def test_what_must_be_asked_each_time_offers_no_grant(browser: Browser, house: DemoServer) -> None:
    ann = await somebody(browser, house, "ann")
    for more in ({"tier": "high"}, {"tier": "irreversible"}, {"quorum": [{"count": 2}]}):
        request = ask(house, "Pay back?", **refund(5, 5, **more))
        detail = await opened(ann, house, request)
        await expect(detail.get_by_test_id("decide-approve")).to_be_visible()
        await expect(detail.get_by_test_id("open-grant")).to_have_count(0)
        assert stored(house, request)["status"] == "pending"
    await ann.context.close()
