"""The page of one request, as the tests use it: ask by the API, decide with the hands, look at both."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer

from ringi.cli.terminal.confirmation import confirmation_fact
from ringi.domain.request import Request

COUNTER = itertools.count(1)
REFUND = {"name": "refund", "args": {"order": 1182, "amount": 4000}}


def ask(house: DemoServer, title: str, **more: Any) -> dict[str, Any]:
    """Ask as the agent does, and return the request."""
    body = {"id": f"ask-{next(COUNTER)}", "title": title, **more}
    with house.client("agent") as client:
        request: dict[str, Any] = client.post("/v1/requests", json=body).raise_for_status().json()
        return request


def stored(house: DemoServer, request: dict[str, Any]) -> dict[str, Any]:
    """Return the request as it is now."""
    with house.client("admin") as client:
        found: dict[str, Any] = client.get(f"/v1/requests/{request['id']}").raise_for_status().json()
        return found


def decided(house: DemoServer, request: dict[str, Any]) -> dict[str, Any]:
    """Return the response, as soon as there is one."""
    with house.client("admin") as client:
        found = client.get(f"/v1/requests/{request['id']}", params={"wait": 10}).raise_for_status().json()
    assert found["response"], f"nobody answered: {found['status']}"
    response: dict[str, Any] = found["response"]
    return response


def respond(house: DemoServer, request: dict[str, Any], **answer: Any) -> None:
    """Answer by the API, as the admin."""
    with house.client("admin") as client:
        body = {"digest": request["digest"], **answer}
        client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()


def sign_in(house: DemoServer, name: str, *groups: str) -> None:
    """Use a token of this person once, so that the name and the groups are known."""
    headers = {"authorization": f"Bearer {house.token('person', name, groups)}"}
    httpx.get(f"{house.url}/v1/session", headers=headers, timeout=30).raise_for_status()


async def opened(page: Page, house: DemoServer, request: dict[str, Any]) -> Locator:
    """Open the request's page, and return it."""
    await page.goto(f"{house.url}/r/{request['id']}")
    detail = page.locator(f"[data-testid=request-detail][data-id='{request['id']}']")
    await expect(detail.get_by_test_id("decide")).to_be_visible(timeout=WAIT)
    return detail


async def somebody(
    browser: Browser, house: DemoServer, name: str, *, role: str = "person", groups: tuple[str, ...] = (), **look: Any
) -> Page:
    """Return the page of another person, with a browser of their own; close its context."""
    token = house.token(role, name, groups)
    context = await browser.new_context(**{"viewport": {"width": 1280, "height": 800}, "locale": "en-GB", **look})
    await context.add_cookies([{"name": "ringi_session", "value": token, "url": house.url}])
    return await context.new_page()


def right_answer(request: dict[str, Any]) -> str:
    """Return the answer to the question of fact, as a person reads it in the call."""
    fact = confirmation_fact(Request.model_validate(request), request["action"]["args"])
    assert fact
    return fact.right


async def choose(page: Page, request: dict[str, Any], *, right: bool = True) -> None:
    """Choose an answer to the question of fact by its key."""
    question = page.get_by_test_id("fact-question")
    await expect(question).to_be_visible(timeout=WAIT)
    texts = await question.locator("code").all_inner_texts()
    answer = right_answer(request)
    await press(page, str(1 + next(n for n, text in enumerate(texts) if (text == answer) is right)))


QUIET = "new Promise((done) => setTimeout(() => done(true), 550))"
"""The time in which keys decide nothing after another kind of request appears."""
DRAWN = "new Promise((done) => requestAnimationFrame(() => setTimeout(() => requestAnimationFrame(done))))"


async def press(page: Page, *keys: str) -> None:
    """Press keys one after the other, each once the page has drawn what the one before did: no person is quicker."""
    for key in keys:
        await page.keyboard.press(key)
        await page.evaluate(DRAWN)
