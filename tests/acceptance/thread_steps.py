"""What people do on the pages of threads and of operations, and the server that they do it on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from playwright.async_api import Locator, Page, expect
from tests.acceptance import shop
from tests.acceptance.demo_server import DemoServer

WAIT = 20_000
"""Milliseconds after which the page is stuck."""


def shop_server(folder: Path) -> DemoServer:
    """Return a server of the shop's agents, not yet started."""
    shutil.copy(shop.__file__, folder / "shop.py")
    return DemoServer(folder, "serve", "--agents", "shop")


async def sign_in(page: Page, server: DemoServer, role: str = "admin") -> None:
    """Open the page as somebody."""
    await page.goto(f"{server.url}/#token={server.tokens[role]}")
    await expect(page.get_by_test_id("session-name")).to_be_attached(timeout=WAIT)


async def open_thread(page: Page, server: DemoServer, thread: str) -> None:
    """Show a thread."""
    await page.goto(f"{server.url}/t/{thread}")
    await expect(status(page)).to_be_visible(timeout=WAIT)


async def choose(box: Locator, wanted: str) -> None:
    """Choose from a list by its keys."""
    await box.click()
    await box.page.keyboard.type(wanted)
    await box.page.keyboard.press("Enter")
    await expect(box).to_contain_text(wanted)
    await expect(box.page.locator(".ant-select-dropdown:visible")).to_have_count(0)


def status(page: Page) -> Locator:
    """Return where the page says the thread stands."""
    return page.get_by_test_id("thread-status")


async def until_status(page: Page, wanted: str) -> None:
    """Wait until the page says that the thread stands there."""
    await expect(status(page)).to_have_attribute("data-status", wanted, timeout=WAIT)


def question(page: Page, id: str) -> Locator:
    """Return a request where it stands in its thread."""
    return page.locator(f"[data-testid=request-detail][data-id='{id}']")


async def raw(page: Page) -> list[list[str]]:
    """Return the number and the text of each raw event, in the page's order."""
    found: list[list[str]] = await page.locator("[data-testid=events] > [data-number]").evaluate_all(
        "events => events.map(event => [event.dataset.number, event.textContent])"
    )
    return found


async def assert_once_and_in_order(page: Page) -> None:
    """Fail unless the page has every event once and in order, none missing."""
    numbers = [int(number) for number, _ in await raw(page)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers


async def assert_fits(page: Page) -> None:
    """Fail when something is wider than the window."""
    wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{wide} px stick out"


def respond(server: DemoServer, request: dict[str, Any], answer: dict[str, Any], role: str = "person") -> None:
    """Answer by the API."""
    with server.client(role) as client:
        body = {**answer, "digest": request["digest"]}
        client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()
