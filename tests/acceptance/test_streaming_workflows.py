"""What the workflows of an assistant say streams into the talk, stands there once, and in one order after a reload."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect
from tests.acceptance import stocktaker
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.test_chat import until_ready, write
from tests.acceptance.thread_steps import sign_in
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)
HALVES = {name: text.partition(stocktaker.STOP) for name, text in stocktaker.ANSWERS.items()}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server of the assistant."""
    folder = tmp_path_factory.mktemp("stock")
    shutil.copy(stocktaker.__file__, folder / "stocktaker.py")
    with DemoServer(folder, "serve", "--agents", "stocktaker") as server:
        yield server


@pytest.fixture
def server(stock: DemoServer) -> Iterator[DemoServer]:
    """The server, with each answer stopped in its middle."""
    yield stock
    for name in HALVES:
        (stock.folder / f"go-{name}").unlink(missing_ok=True)


def go_on(server: DemoServer, name: str) -> None:
    (server.folder / f"go-{name}").touch()


def half(name: str) -> str:
    return "".join(HALVES[name][:2]).strip()


def workflow(page: Page, kind: str) -> Locator:
    return page.locator(f"[data-testid=workflow][data-kind={kind}]")


async def press(page: Page, id: str) -> None:
    button = page.locator(f"[data-testid=action][data-id='{id}'][data-enabled=true]").get_by_test_id("do-action")
    await button.click(timeout=WAIT)


async def begin(page: Page, server: DemoServer) -> None:
    """Begin a talk with the assistant."""
    await sign_in(page, server, "person")
    await page.goto(f"{server.url}/chat")
    await write(page, "hello")
    await expect(visible_fields(page).get_by_text("You said: hello")).to_be_visible(timeout=WAIT)
    await until_ready(page)


async def is_half_said(page: Page, kind: str, name: str) -> None:
    """Wait until a workflow's block has the first half of its answer, and nothing else."""
    message = workflow(page, kind).get_by_test_id("message")
    await expect(message).to_have_text(re.compile(f"^\\s*{half(name)}\\s*$"), timeout=WAIT)
    await expect(workflow(page, kind)).to_have_attribute("data-runs", "true")


def visible_fields(page: Page) -> Locator:
    return page.get_by_test_id("chat-messages")


async def talk(page: Page) -> str:
    """Return all that the talk shows, without times."""
    text = await visible_fields(page).inner_text()
    return re.sub(r"\d\d?:\d\d(:\d\d)?( [AP]M)?", "", text)


@WIDE
async def test_a_plan_is_streamed_where_it_was_begun_and_stands_there_once(page: Page, server: DemoServer) -> None:
    await begin(page, server)
    await press(page, "plan")
    await is_half_said(page, "plan", "plan")
    await until_ready(page)
    await write(page, "and then?")
    await expect(visible_fields(page).get_by_text("You said: and then?")).to_be_visible(timeout=WAIT)
    words = await talk(page)
    assert words.index(half("plan")) < words.index("You said: and then?")

    await page.reload()
    await is_half_said(page, "plan", "plan")
    await expect(visible_fields(page).get_by_text("You said: and then?")).to_be_visible()
    words = await talk(page)
    assert words.count(half("plan")) == 1
    assert words.index(half("plan")) < words.index("You said: and then?")

    go_on(server, "plan")
    await expect(page.get_by_test_id("plan-card")).to_have_attribute("data-status", "planned", timeout=WAIT)
    await expect(workflow(page, "plan").get_by_test_id("workflow-over")).to_be_visible(timeout=WAIT)
    await workflow(page, "plan").locator("summary").click()
    message = workflow(page, "plan").get_by_test_id("message")
    await expect(message).to_have_text(re.compile(f"^\\s*{stocktaker.ANSWERS['plan']}\\s*$"))


async def test_the_steps_of_a_plan_are_streamed_and_stay_in_the_talk(page: Page, server: DemoServer) -> None:
    await begin(page, server)
    go_on(server, "plan")
    await press(page, "plan")
    await page.get_by_test_id("plan-card").get_by_test_id("decide-approve").click(timeout=WAIT)
    await is_half_said(page, "apply", "order")
    await page.reload()
    await is_half_said(page, "apply", "order")
    go_on(server, "order")
    await expect(page.get_by_test_id("plan-card")).to_have_attribute("data-status", "completed", timeout=WAIT)
    for _ in range(2):
        message = workflow(page, "apply").get_by_test_id("message")
        await expect(message).to_have_text(re.compile(f"^\\s*{stocktaker.ANSWERS['order']}\\s*$"), timeout=WAIT)
        await expect(workflow(page, "apply")).to_have_attribute("data-runs", "false")
        await page.reload()
    await expect(workflow(page, "apply")).to_be_visible(timeout=WAIT)
    assert (await talk(page)).count(stocktaker.ANSWERS["order"]) == 1


async def test_an_immediate_answer_is_streamed_and_said_once(page: Page, server: DemoServer) -> None:
    await begin(page, server)
    await press(page, "count")
    await expect(visible_fields(page).get_by_text(half("count"))).to_be_visible(timeout=WAIT)
    await page.reload()
    await expect(visible_fields(page).get_by_text(half("count"))).to_be_visible(timeout=WAIT)
    go_on(server, "count")
    await expect(visible_fields(page).get_by_text(stocktaker.ANSWERS["count"])).to_be_visible(timeout=WAIT)
    await until_ready(page)
    for _ in range(2):
        assert (await talk(page)).count(half("count")) == 1
        await page.reload()
        await expect(visible_fields(page).get_by_text(stocktaker.ANSWERS["count"])).to_be_visible(timeout=WAIT)


async def test_what_a_planning_asks_is_asked_in_the_talk(page: Page, server: DemoServer) -> None:
    await begin(page, server)
    go_on(server, "plan")
    await press(page, "plan")
    await expect(page.get_by_test_id("plan-card")).to_have_attribute("data-status", "planned", timeout=WAIT)
    await expect(page.get_by_test_id("send")).to_be_visible(timeout=WAIT)
    await write(page, "please ask me")
    question = workflow(page, "plan").get_by_test_id("request-detail")
    await expect(question).to_contain_text("How many lamps?", timeout=WAIT)
    await page.reload()
    await expect(question).to_contain_text("How many lamps?", timeout=WAIT)


@WIDE
async def test_steps_go_on_in_their_place_when_the_server_was_killed(page: Page, tmp_path: Path) -> None:
    shutil.copy(stocktaker.__file__, tmp_path / "stocktaker.py")
    with DemoServer(tmp_path, "serve", "--agents", "stocktaker") as server:
        await begin(page, server)
        go_on(server, "plan")
        await press(page, "plan")
        await page.get_by_test_id("plan-card").get_by_test_id("decide-approve").click(timeout=WAIT)
        await is_half_said(page, "apply", "order")
        server.kill()
        server.start()
        await is_half_said(page, "apply", "order")
        go_on(server, "order")
        message = workflow(page, "apply").get_by_test_id("message")
        await expect(message).to_have_text(re.compile(f"^\\s*{stocktaker.ANSWERS['order']}\\s*$"), timeout=60_000)
        await expect(page.get_by_test_id("plan-card")).to_have_attribute("data-status", "completed", timeout=60_000)
        await page.reload()
        await expect(message).to_have_text(re.compile(f"^\\s*{stocktaker.ANSWERS['order']}\\s*$"), timeout=WAIT)
