"""The finish gate as people meet it: buttons and words, in three languages, and a restart in between."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.thread_steps import WAIT, open_thread, sign_in, until_status
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(180)

TASK = "write a haiku about rain"


async def asked(page: Page, text: str) -> None:
    """Wait until the thread's page asks about a task."""
    await expect(page.get_by_test_id("facts").last).to_contain_text(text, timeout=WAIT)


@pytest.mark.parametrize(
    ("language", "complete", "change", "word"),
    [
        ("en-GB", "Complete", "Change the task", "update"),
        pytest.param("ja-JP", "完了する", "タスクを変更", "更新", marks=WIDE),
        ("zh-CN", "确认完成", "更改任务", "更新"),
    ],
)
async def test_a_task_is_changed_by_button_and_by_word_and_completed(
    browser: Browser, house: DemoServer, language: str, complete: str, change: str, word: str
) -> None:
    context = await browser.new_context(viewport={"width": 1280, "height": 900}, locale=language)
    page, thread = await context.new_page(), f"finish-{language}"
    await sign_in(page, house, "person")
    house.run(thread, "finisher", {"task": TASK})
    await open_thread(page, house, thread)
    await asked(page, TASK)
    await expect(page.get_by_test_id("summary")).to_contain_text(f"done it: {TASK}")

    await page.get_by_role("button", name=change).click()
    await page.get_by_label("task").fill("write two")
    await page.get_by_test_id("confirm-edit").click()
    await expect(page.get_by_test_id("summary").last).to_contain_text("done it: write two", timeout=WAIT)

    await page.get_by_test_id("decide-respond").last.click()
    await page.get_by_test_id("field-message").get_by_role("textbox").fill(f"{word}: write three")
    await page.get_by_test_id("confirm-respond").click()
    await expect(page.get_by_test_id("summary").last).to_contain_text("done it: write three", timeout=WAIT)

    await page.reload()
    await page.get_by_role("button", name=complete).click(timeout=WAIT)
    await until_status(page, "done")
    values = house.thread(thread)["values"]
    assert (values["task"], values["outcome"]) == ("write three", "completed")
    await context.close()


@WIDE
async def test_a_gate_on_the_page_outlives_a_restart_of_the_server(browser: Browser, tmp_path: Path) -> None:
    with DemoServer(tmp_path) as server:
        context = await browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
        page = await context.new_page()
        await sign_in(page, server, "person")
        server.run("restarted", "finisher", {"task": TASK})
        await open_thread(page, server, "restarted")
        await asked(page, TASK)
        server.kill()
        server.start()
        await page.get_by_test_id("decide-approve").click(timeout=WAIT)
        await until_status(page, "done")
        assert server.thread("restarted")["values"]["outcome"] == "completed"
        await context.close()
