"""One server for all tests of a process that do not kill it, with a tenant for each file, and people who look at it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.acceptance import shop
from tests.acceptance.demo_server import DemoServer

WAIT = 20_000
"""Milliseconds after which the page is stuck."""

expect.set_options(timeout=WAIT)

LAID_OUT = """size => new Promise((done) => {
  const look = () => requestAnimationFrame(innerWidth === size[0] && innerHeight === size[1] ? () => done() : look);
  look();
})"""
"""Media queries report in the frame after a change, and the page follows them: done is a frame later."""


async def resize(page: Page, width: int, height: int) -> None:
    """Change the viewport, and wait until the page has followed: what is measured before is of neither width."""
    await page.set_viewport_size({"width": width, "height": height})
    await page.evaluate(LAID_OUT, [width, height])


@pytest.fixture(scope="session")
def running_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """The running server of this process, with all agents of the demo and of the shop; nobody kills it."""
    folder = tmp_path_factory.mktemp("house")
    shutil.copy(shop.__file__, folder / "shop.py")
    with DemoServer(folder, "serve", "--agents", "shop", "--max-fields", "10") as server:
        yield server


@pytest.fixture(scope="module")
def house(running_house: DemoServer) -> DemoServer:
    """The running server with a tenant for the tests of one file: each asks under names of its own."""
    return running_house.in_new_tenant()


@pytest_asyncio.fixture(loop_scope="session")
async def person(browser: Browser, house: DemoServer) -> AsyncIterator[Page]:
    """The page of somebody who has just opened the shared server's link."""
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    page = await context.new_page()
    await page.goto(house.link)
    await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
    yield page
    await context.close()
