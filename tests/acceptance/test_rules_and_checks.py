"""Suggested rules and checks of attention in a real browser: read, switched on, ended by a refusal, answered."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import decided, opened, press, somebody
from tests.acceptance.rules_and_checks import (
    HASTY,
    LONG_RULE,
    LONG_TOOL,
    TOOL,
    answer_checks,
    ask_call,
    plant,
    refund,
    suggest,
)
from tests.acceptance.test_everyone import AXE, DESK, ENLARGED, HERE, LOCALES, PHONE, prefer
from tests.acceptance.test_votes import seen
from tests.acceptance.thread_steps import shop_server
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(240)
ORDERS = itertools.count(1_000)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server that suggests two rules, one to a group, and has answered checks."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RINGI_CHECKS", "1")
        with shop_server(tmp_path_factory.mktemp("rules")) as server:
            suggest(server)
            suggest(server, LONG_RULE, "fay", ("finance",))
            answer_checks(server)
            yield server


async def grants_page(browser: Browser, server: DemoServer, name: str, **who: Any) -> Page:
    page = await somebody(browser, server, name, **who)
    await page.goto(f"{server.url}/grants")
    await expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)
    return page


def suggestion(page: Page, tool: str) -> Locator:
    return page.get_by_test_id("suggestion").filter(has_text=tool)


def grant(page: Page, tool: str) -> Locator:
    return page.get_by_test_id("grant-row").filter(has_text=tool)


async def switch_on(page: Page, tool: str) -> None:
    await suggestion(page, tool).get_by_test_id("accept-suggestion").click(timeout=WAIT)
    confirmation = page.get_by_role("tooltip")
    await expect(confirmation).to_contain_text(f"Approve such calls of {tool} without asking?")
    await confirmation.get_by_role("button", name="Switch on").click()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja", "zh"])
async def test_everybody_can_read_suggestions_and_checks(
    browser: Browser, server: DemoServer, language: str, theme: str
) -> None:
    page = await grants_page(browser, server, "root", role="admin", locale=LOCALES[language], reduced_motion="reduce")
    for script in (AXE, HERE / "measure.js"):
        await page.evaluate(script.read_text())
    await prefer(page, language=language, theme=theme)
    await expect(page.get_by_test_id("suggestion").first).to_be_visible(timeout=WAIT)
    await expect(page.get_by_test_id("checks").get_by_role("table")).to_have_count(2, timeout=WAIT)
    found = []
    for width, height in (DESK, PHONE, ENLARGED):
        await resize(page, width, height)
        for what in ("clipped", "sideways", "moving", "barriers"):
            found += [f"{width}: {line}" for line in await page.evaluate(f"measure.{what}()")]
    # The confirmation lies within a phone, beside a long name too.
    await resize(page, *PHONE)
    await suggestion(page, LONG_RULE).get_by_test_id("accept-suggestion").click()
    await expect(page.get_by_role("tooltip")).to_be_in_viewport(ratio=1)
    for what in ("clipped", "sideways", "barriers"):
        found += [f"confirmation: {line}" for line in await page.evaluate(f"measure.{what}()")]
    await page.context.close()
    assert not found, "\n".join(found)


async def test_a_suggestion_shows_what_it_would_have_done_only_to_who_decides_such_calls(
    browser: Browser, server: DemoServer
) -> None:
    ann = await grants_page(browser, server, "ann")
    rule = suggestion(ann, TOOL)
    for text in ("208 of 210 decisions were approvals", "it would have approved 208, and none that people refused"):
        await expect(rule).to_contain_text(text, timeout=WAIT)
    await expect(rule).to_contain_text(re.compile(r"it would have approved \d+ of the \d+ later approvals"))
    await expect(rule.get_by_role("progressbar")).to_have_attribute("aria-label", re.compile("Tried on the last 210"))
    await expect(suggestion(ann, LONG_RULE)).to_have_count(0)
    await expect(ann.get_by_test_id("checks")).to_have_count(0)
    await rule.get_by_role("link").click()
    await expect(ann.get_by_test_id("request-detail")).to_contain_text(TOOL, timeout=WAIT)
    await ann.context.close()

    eve = await grants_page(browser, server, "eve", role="auditor")
    await expect(suggestion(eve, LONG_RULE)).to_be_visible(timeout=WAIT)
    await expect(eve.get_by_test_id("accept-suggestion")).to_have_count(0)
    await eve.context.close()


async def test_a_refusal_of_the_server_stays_on_the_card(browser: Browser, server: DemoServer) -> None:
    fay = await grants_page(browser, server, "fay", groups=("finance",))

    async def refuse(route: Route) -> None:
        problem = {"code": "forbidden", "detail": "a deputy decides each request alone"}
        await route.fulfill(status=403, json=problem)

    await fay.route("**/v1/suggestions/*/accept", refuse)
    await switch_on(fay, LONG_RULE)
    await expect(suggestion(fay, LONG_RULE).get_by_role("alert")).to_be_visible(timeout=WAIT)
    await expect(grant(fay, LONG_RULE)).to_have_count(0)
    # It can be tried again.
    await fay.unroute("**/v1/suggestions/*/accept")
    await switch_on(fay, LONG_RULE)
    await expect(grant(fay, LONG_RULE)).to_have_attribute("data-status", "active", timeout=WAIT)
    await fay.context.close()


@WIDE
async def test_a_suggestion_is_switched_on_and_the_first_refusal_ends_its_rule(
    browser: Browser, server: DemoServer
) -> None:
    ann = await grants_page(browser, server, "ann")
    await switch_on(ann, TOOL)
    rule = grant(ann, TOOL)
    await expect(rule).to_have_attribute("data-status", "active", timeout=WAIT)
    await expect(rule).to_contain_text("0 of 1000 calls")
    await expect(rule).to_contain_text("1 in 20 of these calls still asks")
    await expect(suggestion(ann, TOOL)).to_have_count(0)

    sample = next(
        asked for number in ORDERS if (asked := ask_call(server, TOOL, refund(number)))["status"] == "pending"
    )
    detail = await opened(ann, server, sample)
    await press(ann, "r", "Enter")
    assert decided(server, sample)["decision"] == "reject"
    detail = await seen(ann, server, sample)
    await expect(detail).to_contain_text("This answer has ended a rule", timeout=WAIT)
    await ann.goto(f"{server.url}/grants")
    await expect(rule).to_have_attribute("data-status", "revoked", timeout=WAIT)
    await rule.get_by_role("link", name="Ended: somebody refused a call that it covers.").click()
    await expect(ann.locator(f"[data-testid=request-detail][data-id='{sample['id']}']")).to_be_visible(timeout=WAIT)
    assert ask_call(server, TOOL, refund(next(ORDERS)))["status"] == "pending"
    await ann.context.close()


async def test_the_list_of_checks_names_who_noticed_too_few(browser: Browser, server: DemoServer) -> None:
    eve = await grants_page(browser, server, "eve", role="auditor", viewport={"width": 390, "height": 844})
    checks = eve.get_by_test_id("checks")
    alarm = checks.get_by_test_id("checks-alarm")
    await expect(alarm).to_have_text(f"Below 80 % of the last 20: {LONG_TOOL}, {HASTY}", timeout=WAIT)
    for name, share, is_low in (("ann", "5 of 5", False), (HASTY, "2 of 5", True), (LONG_TOOL, "7 of 10", True)):
        row = checks.get_by_role("row").filter(has_text=name)
        await expect(row.get_by_role("cell").first).to_have_text(share)
        await expect(row.get_by_text("below 80 %")).to_have_count(int(is_low))
    # The columns of both tables stand below each other.
    edges = await checks.locator("thead").evaluate_all(
        "heads => heads.map(head => [...head.querySelectorAll('th')].map(cell => cell.getBoundingClientRect().right))"
    )
    assert edges[0] == edges[1]
    await eve.context.close()


@pytest.mark.parametrize(("keys", "result"), [pytest.param(("r", "Enter"), "noticed", marks=WIDE), (("a",), "missed")])
async def test_a_check_looks_like_any_request_until_it_is_answered(
    browser: Browser, server: DemoServer, keys: tuple[str, ...], result: str
) -> None:
    check = plant(server, LONG_TOOL)
    dan = await somebody(browser, server, f"dan-{result}")
    detail = await opened(dan, server, check)
    await expect(detail.get_by_test_id("check-result")).to_have_count(0)
    await press(dan, *keys)
    decided(server, check)
    detail = await seen(dan, server, check)
    mark = detail.get_by_test_id("check-result")
    await expect(mark).to_contain_text(f"This was a check, and it was {result}.", timeout=WAIT)
    await expect(mark).to_contain_text("What was wrong: 900 copies to each subscriber")
    await dan.context.close()
