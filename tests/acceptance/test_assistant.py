"""The assistant in a real browser: talk, gather, plan, criticise, plan again, approve, done, in two languages."""

from __future__ import annotations

import itertools
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.test_chat import until_ready, write
from tests.acceptance.test_everyone import prefer
from tests.tiers import WIDE

Open = Callable[..., Awaitable[Page]]
pytestmark = pytest.mark.timeout(180)
HERE = Path(__file__).parent
AXE = HERE.parents[1] / "ui/node_modules/axe-core/axe.min.js"
LOCALES = {"en": "en-GB", "ja": "ja-JP"}
GOAL = {"en": "Our goal is 20% more sales in the first quarter.", "ja": "目標は第1四半期で売上20%向上です。"}
OBJECTIVES = {"en": "20% more sales in the first quarter", "ja": "第1四半期で売上20%向上"}
OTHER = {"en": "Actually, our goal is 30% more sales.", "ja": "いや、目標は売上30%向上です。"}
CRITICISM = {"en": "The schedule is too tight", "ja": "スケジュールが厳しすぎる"}
WANTED = {"en": "waiting for: Business goals", "ja": "「ビジネス目標」を待っています"}
TAKEN_UP = {"en": "taken up in version 2", "ja": "第2版で反映"}
DONE = {"en": "version 2, 3 steps", "ja": "第2版、3ステップ"}
CLEARED = {"en": "I have cleared", "ja": "消去しました"}


@pytest.fixture(scope="module")
def office(house: DemoServer) -> DemoServer:
    """The running server, which the tests share that do not end it."""
    return house


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[Open]:
    """Open the page of a demo for somebody who speaks a language."""
    contexts = []

    async def open(server: DemoServer, language: str = "en", width: int = 1280) -> Page:
        context = await browser.new_context(
            viewport={"width": width, "height": 844}, locale=LOCALES[language], reduced_motion="reduce"
        )
        contexts.append(context)
        page = await context.new_page()
        await page.goto(server.link)
        await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
        return page

    yield open
    for context in contexts:
        await context.close()


async def begin(page: Page, server: DemoServer) -> None:
    """Open a new chat with the assistant for projects."""
    await page.goto(f"{server.url}/chat")
    await page.get_by_test_id("chat-agent").click(timeout=WAIT)
    await page.locator(".ant-select-item[title='Projects']").click()
    await expect(page.get_by_test_id("actions")).to_be_visible(timeout=WAIT)


async def tell(page: Page, words: str) -> None:
    """Say something once the assistant listens."""
    await until_ready(page)
    await write(page, words)


def action(page: Page, id: str) -> Locator:
    """Return an action below the chat."""
    return page.locator(f"[data-testid=action][data-id='{id}']")


async def can(page: Page, id: str, is_possible: bool = True) -> None:
    """Wait until an action is possible, or is not."""
    await expect(action(page, id)).to_have_attribute("data-enabled", str(is_possible).lower(), timeout=WAIT)


async def press(page: Page, id: str) -> None:
    """Press an action once it is possible."""
    await can(page, id)
    await action(page, id).get_by_test_id("do-action").click()


def plan(page: Page) -> Locator:
    """Return the card of the plan."""
    return page.get_by_test_id("plan-card")


async def planned(page: Page, version: int, status: str = "planned") -> None:
    """Wait until a version of the plan stands there."""
    await expect(plan(page)).to_have_attribute("data-version", str(version), timeout=WAIT)
    await expect(plan(page)).to_have_attribute("data-status", status, timeout=WAIT)


async def gathered(page: Page, server: DemoServer, language: str) -> None:
    """Begin a talk, and say what the plan is to be for."""
    await begin(page, server)
    await tell(page, GOAL[language])
    await can(page, "plan-001")


async def with_plan(page: Page, server: DemoServer, language: str = "en") -> None:
    """Begin a talk, and have a plan made that waits for approval."""
    await gathered(page, server, language)
    await press(page, "plan-001")
    await planned(page, 1)
    await expect(plan(page).get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_plan_stands_there_once_with_its_buttons_in_sight(
    open_page: Open, office: DemoServer, width: int
) -> None:
    page = await open_page(office, "en", width)
    await with_plan(page, office)
    approve = plan(page).get_by_test_id("decide-approve")
    await expect(page.get_by_test_id("on-card")).to_have_count(1, timeout=WAIT)
    # Each step is in sight once: neither its message nor the arguments of the request repeat it.
    steps = await page.evaluate(
        "document.querySelector('[data-testid=chat-messages]').innerText.split('add_milestone').length"
    )
    assert steps == 1 + await plan(page).get_by_test_id("plan-step").count()
    for step in await plan(page).get_by_test_id("plan-step").all():
        await step.scroll_into_view_if_needed()
        await expect(approve).to_be_in_viewport(ratio=1)
        # A click on the middle of the button reaches it: the bar at the foot does not cover it.
        await approve.click(trial=True, timeout=WAIT)
    await plan(page).evaluate("card => card.scrollIntoView({ block: 'start' })")
    await expect(approve).to_be_in_viewport(ratio=1)
    await approve.click(trial=True, timeout=WAIT)


async def known(page: Page, key: str) -> Locator:
    """Open what the assistant knows, and return one info of it."""
    await page.get_by_test_id("open-memory").click()
    return page.locator(f"[data-testid=memory-item][data-key='{key}']")


@pytest.mark.parametrize(
    ("language", "end"),
    [("en", DemoServer.stop), pytest.param("ja", DemoServer.kill, marks=WIDE)],
    ids=["en", "ja"],
)
async def test_from_a_goal_to_the_last_step_also_when_the_server_ends_between_plan_and_approval(
    open_page: Open, tmp_path: Path, language: str, end: Callable[[DemoServer], object]
) -> None:
    with DemoServer(tmp_path) as server:
        page = await open_page(server, language)
        await begin(page, server)
        await can(page, "plan-001", is_possible=False)
        await expect(action(page, "plan-001").get_by_test_id("reason").first).to_contain_text(WANTED[language])
        await tell(page, GOAL[language])
        await press(page, "plan-001")
        await planned(page, 1)
        await expect(plan(page).get_by_test_id("plan-step")).to_have_count(3)

        await tell(page, CRITICISM[language])
        await planned(page, 2)
        await plan(page).get_by_test_id("plan-feedback").locator("summary").click()
        await expect(plan(page).get_by_test_id("feedback")).to_contain_text(CRITICISM[language])
        await expect(plan(page).get_by_test_id("feedback")).to_contain_text(TAKEN_UP[language])
        await plan(page).get_by_test_id("plan-diff").locator("summary").click()
        await expect(plan(page).locator("[data-testid=plan-change][data-kind=changed]").first).to_be_visible()

        end(server)
        server.start()
        await press(page, "apply-001")
        await expect(plan(page).get_by_test_id("decide-approve")).to_be_focused(timeout=WAIT)
        await page.keyboard.press("a")
        await expect(page.get_by_test_id("chat-message").last).to_contain_text(DONE[language], timeout=WAIT)
        await until_ready(page)

        goal = await known(page, "business_goals")
        await goal.get_by_test_id("item-why").click()
        changes = page.locator("[data-testid=memory-change][data-key=business_goals]")
        await expect(changes.first).to_have_attribute("data-op", "reset", timeout=WAIT)
        await expect(changes.last).to_contain_text(OBJECTIVES[language])
        await expect(changes.last.get_by_test_id("source")).to_contain_text(GOAL[language].rstrip("。."))


@WIDE
async def test_an_action_that_is_not_possible_says_why_and_asks_what_is_missing(
    open_page: Open, office: DemoServer
) -> None:
    page = await open_page(office)
    await begin(page, office)
    await can(page, "plan-001", is_possible=False)
    await expect(action(page, "plan-001").get_by_test_id("do-action")).to_be_disabled()
    reason = action(page, "plan-001").locator("[data-testid=reason]", has_text=WANTED["en"])
    await reason.get_by_test_id("fix").click()
    form = page.get_by_test_id("request-detail")
    await expect(form).to_be_focused(timeout=WAIT)
    assert re.fullmatch(rf"{office.url}/chat/chat-\w+", page.url)
    await form.get_by_role("textbox").fill("Two new shops")
    await form.get_by_test_id("decide-approve").click()
    await expect(form.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    await can(page, "plan-001")
    goal = await known(page, "business_goals")
    await expect(goal.get_by_test_id("item-value")).to_have_text("Two new shops", timeout=WAIT)


async def test_a_project_is_chosen_from_those_there_are(open_page: Open, office: DemoServer) -> None:
    page = await open_page(office)
    await gathered(page, office, "en")
    await press(page, "selector-001")
    form = page.get_by_test_id("request-detail")
    await expect(form).to_be_focused(timeout=WAIT)
    await form.get_by_role("combobox").click()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await form.get_by_test_id("decide-approve").click()
    await expect(form.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    project = await known(page, "target_project")
    await expect(project).to_have_attribute("data-status", "collected", timeout=WAIT)


async def test_a_plan_whose_inputs_changed_names_them_and_is_approved_unchanged_edited_or_made_anew(
    open_page: Open, office: DemoServer
) -> None:
    page = await open_page(office)
    await with_plan(page, office)
    await tell(page, OTHER["en"])
    await planned(page, 1, "obsolete")
    await expect(plan(page).get_by_test_id("changed-inputs")).to_contain_text("Business goals")
    await expect(plan(page).get_by_test_id("decide-approve")).to_have_count(0)
    await plan(page).get_by_test_id("approve-unchanged").click()
    await planned(page, 2)
    await expect(plan(page).get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)

    await tell(page, "No, our goal is 40% more sales.")
    await planned(page, 2, "obsolete")
    await plan(page).get_by_test_id("edit-plan").click()
    await expect(plan(page).get_by_test_id("confirm-edit")).to_be_visible(timeout=WAIT)
    await planned(page, 3)

    await tell(page, "No, our goal is 50% more sales.")
    await planned(page, 3, "obsolete")
    await plan(page).get_by_test_id("plan-again").click()
    await planned(page, 4)
    await expect(plan(page).get_by_test_id("plan-content")).to_contain_text("50%")


async def test_a_reload_and_a_second_tab_show_the_same_plan_and_one_approval_counts_in_both(
    open_page: Open, office: DemoServer
) -> None:
    page = await open_page(office)
    await with_plan(page, office)
    await page.reload()
    await planned(page, 1)
    other = await page.context.new_page()
    await other.goto(page.url)
    await planned(other, 1)
    await other.get_by_test_id("decide-approve").click(timeout=WAIT)
    for tab in (page, other):
        await expect(tab.get_by_test_id("chat-message").last).to_contain_text("Done", timeout=WAIT)


async def test_a_rejection_is_feedback_and_the_next_plan_takes_it_up(open_page: Open, office: DemoServer) -> None:
    page = await open_page(office)
    await with_plan(page, office)
    await plan(page).get_by_test_id("decide-reject").click()
    await plan(page).get_by_role("textbox").fill("too short")
    await plan(page).get_by_test_id("confirm-reject").click()
    await planned(page, 1, "cancelled")
    await press(page, "plan-001")
    await planned(page, 2)
    await plan(page).get_by_test_id("plan-feedback").locator("summary").click()
    await expect(plan(page).get_by_test_id("feedback")).to_contain_text(TAKEN_UP["en"])


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_starting_over_asks_first_and_clears_what_was_gathered(
    open_page: Open, office: DemoServer, language: str
) -> None:
    page = await open_page(office, language)
    await gathered(page, office, language)
    await press(page, "cancel")
    await page.get_by_test_id("keep-context").click()
    await can(page, "plan-001")
    await press(page, "cancel")
    await page.get_by_test_id("confirm-clear").click()
    await can(page, "plan-001", is_possible=False)
    await expect(page.get_by_test_id("chat-message").last).to_contain_text(CLEARED[language], timeout=WAIT)


async def test_a_question_is_answered_at_once_without_a_plan(open_page: Open, office: DemoServer) -> None:
    page = await open_page(office)
    await begin(page, office)
    await press(page, "project-status")
    await expect(page.get_by_test_id("chat-message").last.get_by_role("table")).to_contain_text("%", timeout=WAIT)
    await until_ready(page)
    await tell(page, "What is a milestone?")
    await expect(page.get_by_test_id("chat-message").last).to_contain_text("A milestone is", timeout=WAIT)


async def test_everybody_can_read_and_reach_the_plan_the_actions_and_the_memory(
    open_page: Open, office: DemoServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = await open_page(office)
    await with_plan(page, office)
    await tell(page, CRITICISM["en"])
    await planned(page, 2)
    await until_ready(page)
    for script in (AXE, HERE / "measure.js"):
        await page.evaluate(script.read_text())
    for fold in await plan(page).locator(".disclosure > summary").all():
        await fold.click()
    pictures, found = tmp_path_factory.mktemp("assistant"), list[str]()

    async def look(name: str) -> None:
        for width, height in ((1280, 800), (390, 844)):
            await resize(page, width, height)
            await page.screenshot(path=pictures / f"{name}-{width}.jpg", type="jpeg", quality=60)
            for what in ("clipped", "sideways", "moving", "barriers"):
                found.extend(f"{name} {width}: {line}" for line in await page.evaluate(f"measure.{what}()"))

    for language, theme in itertools.product(("en", "ja", "zh"), ("light", "dark")):
        await prefer(page, language=language, theme=theme)
        await expect(page.get_by_test_id("actions")).to_be_visible(timeout=WAIT)
        await look(f"{language}-{theme}-plan")
        await expect(await known(page, "project_list")).to_be_visible(timeout=WAIT)
        await look(f"{language}-{theme}-memory")
        await page.get_by_test_id("item-why").first.click()
        await page.get_by_test_id("all-changes").click()
        await expect(page.get_by_test_id("memory-change").first).to_be_visible(timeout=WAIT)
        await look(f"{language}-{theme}-history")
        await page.locator(".inspector .ant-segmented-item").first.click()
        await page.locator(".inspector .ant-drawer-close").click()
        await expect(page.get_by_test_id("memory-inspector")).to_be_hidden(timeout=WAIT)
    assert not found, "\n".join([f"pictures in {pictures}", *found])
