"""A link that would sign a person in as somebody else, opened on a page with a living session."""

from __future__ import annotations

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.tiers import WIDE

from ringi.server import Keys, Principal
from ringi.server.auth.links import mint_link

ASKS = {"en": "Sign in as somebody else?", "ja": "別のユーザーとして", "zh": "要以其他人的身份登录吗"}
LOCALES = {"en": "en-GB", "ja": "ja-JP", "zh": "zh-CN"}


def link(house: DemoServer, name: str) -> str:
    return mint_link(Keys.load(house.folder), house.url, Principal(house.tenant, "admin", name))


async def signed_in(page: Page) -> str:
    return str(await page.evaluate("fetch('/v1/session').then(reply => reply.json()).then(({name}) => name)"))


@pytest.mark.parametrize("language", ["en", pytest.param("ja", marks=WIDE), "zh"])
async def test_the_page_asks_before_a_link_replaces_a_session(
    browser: Browser, house: DemoServer, language: str
) -> None:
    context = await browser.new_context(locale=LOCALES[language], viewport={"width": 390, "height": 800})
    page = await context.new_page()
    await page.goto(link(house, "ann"))
    await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)

    # By a press of a link on another site, and with the page open.
    theirs = link(house, "mallory")
    await page.goto(theirs)
    asks = page.get_by_test_id("replace-session")
    await expect(asks).to_contain_text(ASKS[language], timeout=WAIT)
    await expect(asks).to_contain_text("mallory")
    assert "token" not in page.url
    assert await signed_in(page) == "ann"

    await expect(page.get_by_test_id("stay")).to_be_focused(timeout=WAIT)
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    assert await signed_in(page) == "ann"

    await page.goto("about:blank")
    await page.goto(theirs)
    await expect(asks).to_be_visible(timeout=WAIT)
    await page.keyboard.press("Escape")
    await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    assert await signed_in(page) == "ann"

    await page.goto("about:blank")
    await page.goto(theirs)
    await expect(page.get_by_test_id("stay")).to_be_focused(timeout=WAIT)
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    assert await signed_in(page) == "mallory"
    await context.close()


@WIDE
async def test_an_agents_token_is_refused_in_words(browser: Browser, house: DemoServer) -> None:
    context = await browser.new_context(locale="zh-CN")
    page = await context.new_page()
    await page.goto(f"{house.url}/#token={house.tokens['agent']}")
    await expect(page.get_by_test_id("error")).to_contain_text("智能体的令牌不能在此登录", timeout=WAIT)
    assert await page.context.cookies() == []
    await context.close()
