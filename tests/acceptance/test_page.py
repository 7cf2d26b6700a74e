"""The main job, in a real browser: a person answers, and the same stream goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.acceptance.demo_server import DemoServer
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(120)
WAIT = 20_000
"""Milliseconds after which the page is stuck."""


@pytest.fixture
def demo(running_house: DemoServer) -> DemoServer:
    """The running server, with nothing in it."""
    return running_house.in_new_tenant()


async def numbers(page: Page) -> list[int]:
    """Return the numbers of the stream's events in the order in which the page has them."""
    found = await page.locator("[data-testid=events] > [data-number]").evaluate_all(
        "items => items.map(item => Number(item.dataset.number))"
    )
    return [int(number) for number in found]


async def assert_once_and_in_order(page: Page, least: int) -> None:
    """Fail unless the page shows every event of the stream once and in order."""
    visible = await numbers(page)
    assert visible == list(range(1, len(visible) + 1))
    assert len(visible) >= least


async def sign_in(page: Page, demo: DemoServer) -> None:
    """Open the link that the server printed."""
    await page.goto(demo.link)
    await expect(page.get_by_test_id("session-name")).to_be_visible(timeout=WAIT)


async def open_thread(page: Page, demo: DemoServer, thread: str) -> None:
    """Show a thread."""
    await page.goto(f"{demo.url}/t/{thread}")
    await expect(page.get_by_test_id("thread-status")).to_be_visible(timeout=WAIT)


async def until_status(page: Page, status: str) -> None:
    """Wait until the page says where the thread stands."""
    await expect(page.get_by_test_id("thread-status")).to_have_attribute("data-status", status, timeout=WAIT)


@MAIN
async def test_a_person_starts_an_agent_answers_and_sees_the_stream_go_on(page: Page, demo: DemoServer) -> None:
    await sign_in(page, demo)
    await page.goto(f"{demo.url}/threads")
    await page.get_by_test_id("thread-name").fill("first")
    await page.get_by_label("order").fill("1182")
    await page.get_by_label("amount").fill("40")
    await page.get_by_test_id("start-run").click()
    await until_status(page, "interrupted")
    await expect(page.get_by_test_id("signature")).to_have_text("refund")
    await page.get_by_test_id("decide-approve").click()
    await until_status(page, "done")
    await expect(page.get_by_test_id("thread-values")).to_contain_text("refunded 40", timeout=WAIT)
    await expect(page.get_by_test_id("message")).to_have_count(2)
    await assert_once_and_in_order(page, 8)


async def test_the_stream_goes_on_after_a_reload_in_the_middle(page: Page, demo: DemoServer) -> None:
    await sign_in(page, demo)
    demo.run("reloaded", "refund", {"order": 7, "amount": 5})
    await open_thread(page, demo, "reloaded")
    await expect(page.locator("[data-testid=events] > [data-number]").nth(3)).to_be_attached(timeout=WAIT)
    await page.reload()
    await until_status(page, "interrupted")
    await page.get_by_test_id("decide-approve").click()
    await page.reload()
    await until_status(page, "done")
    await assert_once_and_in_order(page, 8)


@WIDE
async def test_killing_the_server_changes_nothing_that_the_page_shows(page: Page, tmp_path: Path) -> None:
    with DemoServer(tmp_path) as demo:
        await sign_in(page, demo)
        demo.run("undisturbed", "refund", {"order": 9, "amount": 3})
        await open_thread(page, demo, "undisturbed")
        await until_status(page, "interrupted")
        words = await page.get_by_test_id("message").first.inner_text()

        demo.run("killed", "refund", {"order": 9, "amount": 3})
        await open_thread(page, demo, "killed")
        await expect(page.locator("[data-testid=events] > [data-number]").nth(4)).to_be_attached(timeout=WAIT)
        demo.kill()
        demo.start()
        await until_status(page, "interrupted")
        await expect(page.get_by_test_id("message").first).to_have_text(words, timeout=WAIT)
        await page.get_by_test_id("decide-approve").click()
        await expect(page.get_by_test_id("message")).to_have_count(2, timeout=WAIT)
        demo.kill()
        demo.start()
        await until_status(page, "done")
        await expect(page.get_by_test_id("thread-values")).to_contain_text("refunded 3", timeout=WAIT)
        await assert_once_and_in_order(page, 8)


@MAIN
async def test_a_question_answered_elsewhere_dies_in_place(page: Page, demo: DemoServer) -> None:
    await sign_in(page, demo)
    demo.run("elsewhere", "refund", {"order": 1, "amount": 2})
    (request,) = demo.until("elsewhere", "interrupted")["pending"]
    await page.goto(f"{demo.url}/r/{request['id']}")
    await expect(page.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    respond(demo, request, {"decision": "reject", "message": "not today"}, role="admin")
    await expect(page.get_by_test_id("request-detail")).to_have_attribute("data-status", "completed", timeout=WAIT)
    await expect(page.get_by_test_id("request-detail")).to_contain_text("admin")


async def test_edited_arguments_run_and_a_reason_reaches_the_agent(page: Page, demo: DemoServer) -> None:
    await sign_in(page, demo)
    demo.run("edited", "refund", {"order": 1, "amount": 40})
    await open_thread(page, demo, "edited")
    await until_status(page, "interrupted")
    await page.get_by_test_id("decide-edit").click()
    await page.get_by_test_id("arg-amount").get_by_role("spinbutton").fill("35")
    await page.get_by_test_id("confirm-edit").click()
    await until_status(page, "done")
    await expect(page.get_by_test_id("thread-values")).to_contain_text("refunded 35", timeout=WAIT)

    demo.run("refused", "refund", {"order": 1, "amount": 40})
    await open_thread(page, demo, "refused")
    await until_status(page, "interrupted")
    await page.get_by_test_id("decide-reject").click()
    await page.get_by_test_id("reject-reason").fill("the customer withdrew")
    await page.get_by_test_id("confirm-reject").click()
    await until_status(page, "done")
    await expect(page.get_by_test_id("thread-values")).to_contain_text("rejected: the customer withdrew", timeout=WAIT)


async def test_two_questions_at_once_are_answered_in_any_order(page: Page, demo: DemoServer) -> None:
    await sign_in(page, demo)
    demo.run("two", "two_questions", {})
    await open_thread(page, demo, "two")
    await until_status(page, "interrupted")
    await expect(page.get_by_test_id("pause")).to_have_count(2, timeout=WAIT)
    elsewhere, here = demo.thread("two")["pending"]
    respond(demo, elsewhere, {"decision": "respond", "message": "Kyoto"})
    card = page.locator(f"[data-testid=request-detail][data-id='{elsewhere['id']}']")
    await expect(card).to_have_attribute("data-status", "completed", timeout=WAIT)
    card = page.locator(f"[data-testid=request-detail][data-id='{here['id']}']")
    await expect(card).to_have_count(1)
    await card.get_by_test_id("field-message").get_by_role("textbox").fill("red")
    await card.get_by_test_id("decide-respond").click()
    await until_status(page, "done")
    assert set(demo.thread("two")["values"]["answers"].values()) == {"Kyoto", "red"}
    await assert_once_and_in_order(page, 5)


def respond(demo: DemoServer, request: dict[str, Any], answer: dict[str, Any], role: str = "person") -> None:
    """Answer by the API."""
    with demo.client(role) as client:
        body = {**answer, "digest": request["digest"]}
        client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()
