"""The Engrammer in a real browser: asked, answered, looked back; learned only what was approved; taken back again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, Route, expect
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.test_everyone import DESK, PHONE, prefer
from tests.acceptance.test_votes import picture
from tests.tiers import WIDE

Open = Callable[..., Awaitable[Page]]
pytestmark = pytest.mark.timeout(240)
HERE = Path(__file__).parent
AXE = HERE.parents[1] / "ui/node_modules/axe-core/axe.min.js"
LOCALES = {"en": "en-GB", "ja": "ja-JP"}
QUESTION = {"en": "How long do I leave the clamps on?", "ja": "クランプはいつ外せますか?"}
NOTE = {"en": "30 to 60 minutes", "ja": "30〜60分"}
GREETING = {"en": "Hello", "ja": "こんにちは"}
POLITE = {"en": "Ask me about joints", "ja": "質問してください"}
OWN = {"en": "Glued today, planed tomorrow.", "ja": "今日接着したら、削るのは明日。"}
LEARNED = {"en": "Learned earlier", "ja": "以前学んだこと"}
REASON = {"en": "Source not trusted", "ja": "出典が信頼できない"}
ALONE = {"en": "judged only by the agent itself", "ja": "評価したのはエージェント自身のみ"}


@pytest.fixture(scope="module")
def workshop(house: DemoServer) -> DemoServer:
    """The running server, which the tests share that do not end it."""
    return house


@pytest.fixture
def fresh(running_house: DemoServer) -> DemoServer:
    """The running server for people whose agent has learned nothing."""
    return running_house.in_new_tenant()


@pytest_asyncio.fixture(loop_scope="session")
async def open_page(browser: Browser) -> AsyncIterator[Open]:
    """Open the page of learning for somebody who speaks a language."""
    contexts = []

    async def open(server: DemoServer, language: str = "en") -> Page:
        context = await browser.new_context(
            viewport={"width": 1280, "height": 844}, locale=LOCALES[language], reduced_motion="reduce"
        )
        contexts.append(context)
        page = await context.new_page()
        await page.goto(server.link)
        await expect(page.get_by_test_id("open-menu")).to_be_visible(timeout=WAIT)
        await page.goto(f"{server.url}/learning")
        await expect(page.get_by_test_id("begin")).to_be_visible(timeout=WAIT)
        return page

    yield open
    for context in contexts:
        await context.close()


async def ask(page: Page, words: str) -> Locator:
    """Ask something, and return its turn."""
    turns = await page.get_by_test_id("turn").count()
    await page.get_by_test_id("message-box").fill(words)
    await page.get_by_test_id("send").click(timeout=WAIT)
    turn = page.get_by_test_id("turn").nth(turns)
    await expect(turn.get_by_test_id("question")).to_have_text(words, timeout=WAIT)
    return turn


async def proposed(page: Page, language: str = "en") -> Locator:
    """Ask what teaches three things, and return the turn once they wait."""
    turn = await ask(page, QUESTION[language])
    await expect(turn.get_by_test_id("decide-approve")).to_have_count(3, timeout=WAIT)
    return turn


def insight(turn: Locator, number: int) -> Locator:
    """Return the card of one proposal."""
    return turn.get_by_test_id("insight").nth(number)


async def became(card: Locator, status: str) -> None:
    """Wait until a proposal has come to its end."""
    await expect(card).to_have_attribute("data-status", status, timeout=WAIT)


async def see_playbook(page: Page, lines: int) -> None:
    """Show the playbook, and wait until it has so many lines."""
    await page.get_by_test_id("playbook-link").get_by_role("link").first.click()
    await expect(lines_of(page)).to_have_count(lines, timeout=WAIT)


def lines_of(page: Page) -> Locator:
    """Return what the agent knows now."""
    return page.locator("[data-testid=bullet][data-active=true]")


async def tab(page: Page, number: int) -> None:
    """Show another side of the playbook."""
    await page.locator(".playbook-page .ant-segmented-item").nth(number).click()


@pytest.mark.parametrize(
    ("language", "end"),
    [("en", DemoServer.stop), pytest.param("ja", DemoServer.kill, marks=WIDE)],
    ids=["en", "ja"],
)
async def test_from_a_question_to_what_is_learned_and_back_also_when_the_server_ends_while_the_gate_waits(
    open_page: Open, tmp_path: Path, language: str, end: Callable[[DemoServer], object]
) -> None:
    with DemoServer(tmp_path) as server:
        page = await open_page(server, language)
        await page.get_by_test_id("example").first.click()
        turn = page.get_by_test_id("turn").first
        await expect(turn.get_by_test_id("question")).to_have_text(QUESTION[language], timeout=WAIT)
        await expect(turn.get_by_test_id("answer")).to_contain_text(NOTE[language], timeout=WAIT)
        await expect(turn.get_by_test_id("decide-approve")).to_have_count(3, timeout=WAIT)
        await expect(turn.get_by_test_id("judged").first).to_have_text(f"⚠︎ {ALONE[language]}")

        await turn.get_by_test_id("refs").get_by_test_id("ref").first.click()
        await expect(page.get_by_test_id("note-content")).to_contain_text(NOTE[language], timeout=WAIT)
        await page.keyboard.press("Escape")
        await expect(page.get_by_test_id("note-content")).to_be_hidden(timeout=WAIT)

        await insight(turn, 2).get_by_test_id("decide-reject").click()
        await insight(turn, 2).get_by_text(REASON[language]).click()
        await insight(turn, 2).get_by_test_id("confirm-reject").click()
        await became(insight(turn, 2), "rejected")
        await expect(insight(turn, 2).get_by_test_id("insight-reason")).to_contain_text(REASON[language])

        end(server)
        server.start()
        await page.reload()
        await expect(turn.get_by_test_id("decide-approve")).to_have_count(2, timeout=WAIT)
        await became(insight(turn, 2), "rejected")

        await insight(turn, 1).get_by_test_id("decide-edit").click()
        await insight(turn, 1).get_by_test_id("arg-text").get_by_role("textbox").fill(OWN[language])
        await insight(turn, 1).get_by_test_id("confirm-edit").click()
        await became(insight(turn, 1), "edited")

        between = await ask(page, GREETING[language])
        await expect(between.get_by_test_id("answer")).to_contain_text(POLITE[language], timeout=WAIT)
        await became(insight(turn, 0), "pending")
        await insight(turn, 0).get_by_test_id("decide-approve").click(timeout=WAIT)
        await became(insight(turn, 0), "learned")

        again = await ask(page, QUESTION[language])
        await expect(again.get_by_test_id("answer")).to_contain_text(LEARNED[language], timeout=WAIT)
        learned = again.locator("[data-testid=ref][data-source=playbook]")
        await learned.first.click()
        await expect(page.get_by_test_id("note-content")).to_contain_text(NOTE[language], timeout=WAIT)
        await page.keyboard.press("Escape")

        await see_playbook(page, 2)
        await expect(lines_of(page).filter(has_text=OWN[language])).to_have_count(1)
        await tab(page, 1)
        added = page.locator("[data-testid=entry][data-op=add]", has_text=NOTE[language])
        await expect(added.get_by_test_id("entry-by")).to_contain_text("root", timeout=WAIT)
        await added.get_by_test_id("undo").click()
        await page.get_by_test_id("confirm-undo").click()
        await expect(page.locator("[data-testid=entry][data-op=undo]")).to_be_visible(timeout=WAIT)
        await tab(page, 0)
        await expect(lines_of(page)).to_have_count(1, timeout=WAIT)
        await expect(lines_of(page)).to_contain_text(OWN[language])


async def test_a_reload_at_any_time_and_a_second_tab_show_where_it_stands(
    open_page: Open, workshop: DemoServer
) -> None:
    page = await open_page(workshop)
    await page.get_by_test_id("example").first.click()
    await page.wait_for_url("**/learning/learn-*")
    await page.reload()
    turn = page.get_by_test_id("turn").first
    await expect(turn.get_by_test_id("question")).to_have_text(QUESTION["en"], timeout=WAIT)
    await expect(turn.get_by_test_id("decide-approve")).to_have_count(3, timeout=WAIT)
    await insight(turn, 0).get_by_test_id("decide-reject").click()
    await insight(turn, 0).get_by_test_id("reject-reason").fill("half a rea")
    await page.reload()
    await expect(insight(turn, 0).get_by_test_id("reject-reason")).to_have_value("half a rea", timeout=WAIT)

    other = await page.context.new_page()
    await other.goto(page.url)
    there = other.get_by_test_id("turn").first
    await insight(there, 1).get_by_test_id("decide-approve").click(timeout=WAIT)
    for place in (turn, there):
        await became(insight(place, 1), "learned")
    await expect(insight(turn, 0).get_by_test_id("reject-reason")).to_have_value("half a rea")


async def test_the_keys_decide_the_proposal_that_has_the_focus_and_go_on_to_the_next(
    open_page: Open, fresh: DemoServer
) -> None:
    page = await open_page(fresh)
    turn = await proposed(page)
    await page.keyboard.press("Escape")
    await expect(insight(turn, 0).get_by_role("article")).to_be_focused(timeout=WAIT)
    await page.keyboard.press("r")
    await page.keyboard.press("2")
    await page.keyboard.press("Enter")
    await became(insight(turn, 0), "rejected")
    await expect(insight(turn, 1).get_by_role("article")).to_be_focused(timeout=WAIT)
    await page.keyboard.press("e")
    await expect(insight(turn, 1).get_by_test_id("arg-text").get_by_role("textbox")).to_be_focused(timeout=WAIT)
    await page.keyboard.press("Escape")
    await insight(turn, 1).get_by_role("article").focus()
    await page.keyboard.press("a")
    await became(insight(turn, 1), "learned")
    await expect(insight(turn, 2).get_by_role("article")).to_be_focused(timeout=WAIT)


async def test_a_persons_word_on_an_answer_is_feedback_and_what_comes_of_it_says_whose_word_it_was(
    open_page: Open, fresh: DemoServer
) -> None:
    page = await open_page(fresh)
    turn = await proposed(page)
    await page.get_by_test_id("reject-all").click()
    await page.get_by_test_id("reject-all-reason").fill("not now")
    await page.get_by_test_id("confirm-reject-all").click()
    for number in range(3):
        await became(insight(turn, number), "rejected")
    await turn.get_by_test_id("say-wrong").click()
    await turn.get_by_test_id("feedback-text").fill("Hide glue needs two hours")
    await turn.get_by_test_id("send-feedback").click()
    turns = page.locator("[data-testid=turn][data-parent]:not([data-parent=''])")
    await expect(turns.get_by_test_id("said-of-answer")).to_contain_text("Hide glue needs two hours", timeout=WAIT)
    card = turns.get_by_test_id("insight").filter(has_text="Hide glue needs two hours")
    await expect(card.get_by_test_id("judged")).to_have_attribute("data-source", "user", timeout=WAIT)
    await expect(card.get_by_test_id("evidence")).to_contain_text("the feedback")
    await expect(turn.get_by_test_id("say")).to_have_count(0)
    await card.get_by_test_id("decide-approve").click()
    await became(turns.get_by_test_id("insight").filter(has_text="Hide glue needs two hours"), "learned")


async def know_answer(page: Page) -> None:
    """Write the known answer by which the next answer is judged."""
    await page.get_by_test_id("known-answer").locator("summary").click()
    await page.get_by_test_id("expected").fill("forty minutes")


async def test_the_known_answer_is_what_the_answer_is_judged_by(open_page: Open, fresh: DemoServer) -> None:
    page = await open_page(fresh)
    await know_answer(page)
    turn = await ask(page, QUESTION["en"])
    await expect(turn.get_by_test_id("judged").first).to_have_attribute("data-source", "ground_truth", timeout=WAIT)
    await expect(page.get_by_test_id("expected")).to_have_value("")


async def test_all_are_approved_at_once_and_the_inbox_shows_the_same_card(open_page: Open, fresh: DemoServer) -> None:
    page = await open_page(fresh)
    # What only the agent itself judged is left out.
    await know_answer(page)
    turn = await proposed(page)
    text = await insight(turn, 0).get_by_test_id("learn-text").inner_text()
    id = await insight(turn, 0).get_by_role("article").get_attribute("data-id")
    inbox = await page.context.new_page()
    await inbox.goto(f"{fresh.url}/r/{id}")
    await expect(inbox.get_by_test_id("learn-text")).to_have_text(text, timeout=WAIT)
    await expect(inbox.get_by_test_id("evidence")).to_be_visible()
    covers = turn.get_by_test_id("approve-all-covers")
    await expect(covers).to_have_text("approves 3 insights")
    last = await insight(turn, 2).bounding_box()
    place = await covers.bounding_box()
    assert last
    assert place
    assert place["y"] > last["y"] + last["height"]
    await page.get_by_test_id("approve-all").click()
    for number in range(3):
        await became(insight(turn, number), "learned")
    await expect(inbox.get_by_test_id("ended")).to_be_visible(timeout=WAIT)
    await see_playbook(page, 3)
    await expect(page.get_by_test_id("version-chart").locator("canvas")).to_be_visible(timeout=WAIT)
    await page.get_by_test_id("version-figures").locator("summary").click()
    await expect(page.get_by_test_id("version-figures").locator("tbody tr").first).to_contain_text("3")
    await picture(page, "playbook")


async def test_a_line_is_edited_retired_and_restored_by_hand_and_its_history_says_by_whom(
    open_page: Open, fresh: DemoServer
) -> None:
    page = await open_page(fresh)
    turn = await proposed(page)
    await insight(turn, 0).get_by_test_id("decide-approve").click()
    await became(insight(turn, 0), "learned")
    await see_playbook(page, 1)
    line = page.get_by_test_id("bullet")
    await line.get_by_test_id("edit-bullet").click()
    await line.get_by_test_id("bullet-text-box").fill("Ask for the temperature first.")
    await line.get_by_test_id("save-bullet").click()
    await expect(line.get_by_test_id("bullet-text")).to_have_text("Ask for the temperature first.", timeout=WAIT)
    await line.get_by_test_id("retire-bullet").click()
    await line.get_by_test_id("change-reason").fill("too short")
    await line.get_by_test_id("confirm-retire").click()
    await expect(page.get_by_test_id("empty-playbook")).to_be_visible(timeout=WAIT)
    await page.get_by_test_id("retired").locator("summary").click()
    await line.get_by_test_id("restore-bullet").click()
    await expect(lines_of(page)).to_have_count(1, timeout=WAIT)
    await line.get_by_test_id("blame-bullet").click()
    steps = line.get_by_test_id("entry")
    await expect(steps).to_have_count(4, timeout=WAIT)
    assert [await each.get_attribute("data-op") for each in await steps.all()] == [
        "restore", "retire", "edit", "add"
    ]  # fmt: skip
    await expect(steps.nth(1).get_by_test_id("entry-reason")).to_contain_text("too short")
    await tab(page, 2)
    await expect(page.get_by_test_id("diff-added")).to_contain_text("Ask for the temperature first.", timeout=WAIT)


async def test_lines_that_may_contradict_each_other_are_found_when_somebody_asks_and_a_person_decides(
    open_page: Open, fresh: DemoServer
) -> None:
    page = await open_page(fresh)
    await see_playbook(page, 0)
    for text in ("Clamp a glued joint for 30 minutes.", "Clamp a glued joint for 60 minutes."):
        await page.get_by_test_id("add-bullet").click()
        await page.get_by_test_id("bullet-text-box").fill(text)
        await page.get_by_test_id("save-bullet").click()
        await expect(lines_of(page).filter(has_text=text)).to_be_visible(timeout=WAIT)
    await page.get_by_test_id("tidy").click()
    await expect(page.get_by_test_id("pending-count")).to_have_text("1", timeout=WAIT)
    playbook = page.url
    await page.goto(fresh.url)
    await page.get_by_test_id("request-row").first.click()
    await expect(page.get_by_test_id("contradicts")).to_contain_text("another number", timeout=WAIT)
    await page.get_by_test_id("decide-approve").click()
    await expect(page.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    await page.goto(playbook)
    await expect(lines_of(page)).to_have_count(1, timeout=WAIT)
    await tab(page, 1)
    await expect(page.locator("[data-testid=entry][data-op=retire]")).to_be_visible(timeout=WAIT)


async def test_without_its_stream_the_page_still_sees_all_of_it(open_page: Open, workshop: DemoServer) -> None:
    page = await open_page(workshop)
    await page.route("**/stream?*", lambda route: route.abort())
    turn = await ask(page, "How do I attach a solid wood table top?")
    await expect(turn.get_by_test_id("refs")).to_be_visible(timeout=WAIT)
    await expect(turn.get_by_test_id("decide-approve").first).to_be_visible(timeout=WAIT)


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_everybody_can_read_and_reach_what_is_learned(
    open_page: Open, fresh: DemoServer, theme: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pictures, found = tmp_path_factory.mktemp(f"learning-{theme}"), list[str]()

    async def look(name: str) -> None:
        await page.mouse.move(0, 0)
        for width, height in (DESK, PHONE):
            await resize(page, width, height)
            await page.screenshot(path=pictures / f"{name}-{width}.jpg", type="jpeg", quality=60, full_page=True)
            for what in ("clipped", "sideways", "moving", "barriers"):
                found.extend(f"{name} {width}: {line}" for line in await page.evaluate(f"measure.{what}()"))

    page = await open_page(fresh)
    turn = await proposed(page)
    talk = page.url
    await insight(turn, 0).get_by_test_id("decide-approve").click()
    await became(insight(turn, 0), "learned")
    for script in (AXE, HERE / "measure.js"):
        await page.evaluate(script.read_text())
    for language in ("en", "ja", "zh"):
        await prefer(page, language=language, theme=theme)
        await resize(page, *DESK)
        await insight(turn, 1).get_by_test_id("decide-reject").click()
        await look(f"{language}-talk")
        await turn.get_by_test_id("ref").first.click()
        await expect(page.get_by_test_id("note-content")).to_be_visible(timeout=WAIT)
        await look(f"{language}-note")
        await page.keyboard.press("Escape")
        await expect(page.get_by_test_id("note-content")).to_be_hidden(timeout=WAIT)
        await see_playbook(page, 1)
        await look(f"{language}-playbook")
        await tab(page, 1)
        await expect(page.get_by_test_id("entry").first).to_be_visible(timeout=WAIT)
        await look(f"{language}-history")
        await page.go_back()
        await page.wait_for_url(talk)
        await expect(insight(turn, 1).get_by_test_id("decide-reject")).to_be_visible(timeout=WAIT)
    assert not found, "\n".join([f"pictures in {pictures}", *found])


async def test_what_moves_while_the_agent_works_stands_still_for_who_asks_for_calm(
    open_page: Open, workshop: DemoServer
) -> None:
    page = await open_page(workshop)

    async def never(_: Route) -> None:
        """Leave the question on its way."""

    await page.route("**/questions", never)
    await page.evaluate((HERE / "measure.js").read_text())
    await ask(page, GREETING["en"])
    await expect(page.get_by_test_id("activity")).to_be_visible(timeout=WAIT)
    assert await page.evaluate("measure.moving()") == []
    await page.emulate_media(reduced_motion="no-preference")
    assert await page.evaluate("document.querySelector('.petal').getAnimations().length") == 1
