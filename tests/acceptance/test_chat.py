"""Talking with an agent in a real browser: what it says is there once, what it asks is answered in place."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import QUIET
from tests.acceptance.thread_steps import question, respond, shop_server, sign_in
from tests.client.network import HoldingProxy, listening
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(120)


async def open_chat(page: Page, house: DemoServer, agent: str = "Echo", id: str = "") -> None:
    """Open a new chat with an agent, or one that there is."""
    await page.goto(f"{house.url}/chat/{id}" if id else f"{house.url}/chat")
    await expect(page.get_by_test_id("message-box")).to_be_visible(timeout=WAIT)
    if not id:
        await page.get_by_test_id("chat-agent").click()
        await page.locator(f".ant-select-item[title='{agent}']").click()
        await expect(page.get_by_test_id("chat-agent")).to_contain_text(agent)


async def write(page: Page, words: str) -> None:
    """Send a message by the keyboard."""
    await page.get_by_test_id("message-box").fill(words)
    await page.keyboard.press("Enter")


def messages(page: Page) -> Locator:
    """Return all messages, in the page's order."""
    return page.get_by_test_id("chat-message")


async def says(page: Page, *wanted: str) -> None:
    """Wait until the messages are these, and no others."""
    await expect(messages(page)).to_have_text(
        [re.compile(f"^\\s*{words}\\s*$", re.S) for words in wanted], timeout=WAIT
    )


async def until_ready(page: Page) -> None:
    """Wait until the agent has ended."""
    await expect(page.get_by_test_id("send")).to_be_visible(timeout=WAIT)


def word(house: DemoServer) -> Path:
    """Return a file that does not exist: once it does, the echo to its name goes on."""
    return house.folder / f"w{uuid.uuid4().hex[:8]}"


async def half_said(page: Page, house: DemoServer) -> Path:
    """Begin a chat, and return the file for whose name the other half of its answer waits."""
    go = word(house)
    await open_chat(page, house)
    await write(page, go.name)
    await says(page, go.name, HALF.strip())
    return go


def id_of(page: Page) -> str:
    """Return the thread that the page shows."""
    return page.url.rpartition("/")[2]


HALF = "You said this: "


@WIDE
async def test_behind_a_proxy_that_holds_streams_a_chat_is_read_on(browser: Browser, house: DemoServer) -> None:
    go = word(house)
    context = await browser.new_context(viewport={"width": 390, "height": 844}, locale="en-GB")
    async with listening(HoldingProxy(int(urlsplit(house.url).port or 0)).serve) as url:
        await context.add_cookies([{"name": "ringi_session", "value": house.token("person", "ann"), "url": url}])
        page = await context.new_page()
        await page.clock.install()
        await page.goto(f"{url}/chat")
        await page.get_by_test_id("chat-agent").click()
        await page.locator(".ant-select-item[title='Echo']").click()
        await write(page, go.name)
        await says(page, go.name)
        await page.clock.fast_forward(31_000)
        await says(page, go.name, HALF.strip())
        await expect(page.get_by_test_id("held-back")).to_be_visible(timeout=WAIT)
        go.touch()
        await until_ready(page)
        await says(page, go.name, f"{HALF}{go.name}. And that is all.")
        await context.close()


async def test_a_click_counts_while_the_list_of_agents_opens(person: Page, house: DemoServer) -> None:
    await person.goto(f"{house.url}/chat")
    box, option = person.get_by_test_id("chat-agent"), person.locator(".ant-select-item[title='Wavers']")
    client = await person.context.new_cdp_session(person)
    await client.send("Animation.enable")
    await client.send("Animation.setPlaybackRate", {"playbackRate": 0.0001})
    await box.click()
    await option.hover(force=True)
    await person.mouse.down()
    await client.send("Animation.setPlaybackRate", {"playbackRate": 1})
    await expect(person.locator(".ant-select-dropdown")).not_to_have_class(re.compile("ant-slide-up"))
    await person.mouse.up()
    await expect(box).to_contain_text("Wavers")


async def test_words_appear_as_they_are_said(person: Page, house: DemoServer) -> None:
    go = await half_said(person, house)
    await expect(person.get_by_test_id("activity")).to_be_visible()
    assert re.fullmatch(rf"{house.url}/chat/chat-\w+", person.url)
    go.touch()
    await says(person, go.name, f"{HALF}{go.name}. And that is all.")
    await until_ready(person)
    await expect(person.get_by_test_id("message-box")).to_be_focused()
    again = word(house)
    again.touch()
    await write(person, again.name)
    await says(person, go.name, f"{HALF}{go.name}. .*all.", again.name, f"{HALF}{again.name}. .*all.")
    named = person.locator(f"[data-testid=chat-list-item][data-id='{id_of(person)}']")
    await expect(named).to_contain_text(go.name, timeout=WAIT)


@MAIN
async def test_a_form_and_an_approval_are_answered_in_the_message_and_it_goes_on(
    person: Page, house: DemoServer
) -> None:
    await open_chat(person, house, "Chat")
    await write(person, "refund 40 for order 1182, and ask me")
    cards = person.get_by_test_id("pause")
    await expect(cards).to_have_count(2, timeout=WAIT)
    refund = cards.filter(has_text="Refund 40")
    form = cards.filter(has_text="Which sport")
    await expect(person.get_by_test_id("composer-status")).to_contain_text("The run resumes")
    await form.get_by_role("combobox").first.click()
    await person.get_by_title("Swimming").click()
    await form.get_by_test_id("decide-approve").click()
    await expect(form.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    # By the keys of the inbox, once the card has the focus: Escape leaves the message for it.
    await person.get_by_test_id("message-box").focus()
    await person.keyboard.press("Escape")
    await expect(refund.get_by_test_id("request-detail")).to_be_focused()
    await person.evaluate(QUIET)  # It is another kind of request than the form.
    await person.keyboard.press("a")
    await expect(refund.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    await until_ready(person)
    await expect(messages(person)).to_have_count(2)
    answer = messages(person).last
    await expect(answer).to_contain_text(re.compile("One moment.*Which sport.*All right: .*refunded 40", re.S))
    assert (await answer.inner_text()).count("All right") == 1


async def test_the_inbox_and_the_chat_agree(person: Page, house: DemoServer) -> None:
    await open_chat(person, house, "Chat")
    await write(person, "refund 7 for order 12")
    await expect(person.get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)
    (asked,) = house.until(id_of(person), "interrupted")["pending"]
    inbox = await person.context.new_page()
    await inbox.goto(f"{house.url}/r/{asked['id']}")
    await inbox.get_by_test_id("decide-approve").click()
    await expect(question(person, asked["id"])).to_have_attribute("data-status", "completed", timeout=WAIT)
    await expect(messages(person).last).to_contain_text("refunded 7", timeout=WAIT)
    await until_ready(person)


@MAIN
async def test_a_reload_in_the_middle_of_a_stream_and_of_a_pause_loses_and_repeats_nothing(
    person: Page, house: DemoServer
) -> None:
    go = await half_said(person, house)
    await person.get_by_test_id("message-box").fill("for later")
    await person.reload()
    await says(person, go.name, HALF.strip())
    await expect(person.get_by_test_id("message-box")).to_have_value("for later")
    go.touch()
    await says(person, go.name, f"{HALF}{go.name}. And that is all.")
    await until_ready(person)

    await open_chat(person, house, "Chat")
    await write(person, "refund 8 for order 12")
    await expect(person.get_by_test_id("decide-reject")).to_be_visible(timeout=WAIT)
    await person.get_by_test_id("decide-reject").click()
    await person.get_by_test_id("pause").get_by_role("textbox").fill("too much")
    await person.reload()
    await expect(person.get_by_test_id("pause").get_by_role("textbox")).to_have_value("too much", timeout=WAIT)
    await person.get_by_test_id("confirm-reject").click()
    await expect(messages(person).last).to_contain_text("not refunded: too much", timeout=WAIT)
    await person.reload()
    await expect(messages(person)).to_have_count(2, timeout=WAIT)
    await expect(messages(person).last).to_contain_text("not refunded: too much", timeout=WAIT)


async def test_a_second_tab_shows_the_same_while_it_happens(person: Page, house: DemoServer) -> None:
    go = await half_said(person, house)
    other = await person.context.new_page()
    await open_chat(other, house, id=id_of(person))
    await says(other, go.name, HALF.strip())
    go.touch()
    for tab in (person, other):
        await says(tab, go.name, f"{HALF}{go.name}. And that is all.")
        await until_ready(tab)
    more = word(house)
    more.touch()
    await write(other, more.name)
    for tab in (person, other):
        await says(tab, go.name, f"{HALF}{go.name}.*", more.name, f"{HALF}{more.name}.*all.")


async def test_stop_ends_the_run_and_what_was_said_stays(person: Page, house: DemoServer) -> None:
    never = await half_said(person, house)
    await person.get_by_test_id("stop").click()
    await until_ready(person)
    assert house.thread(id_of(person))["status"] == "idle"
    await says(person, never.name, HALF.strip())
    await expect(person.get_by_test_id("stopped")).to_be_visible()
    next = word(house)
    next.touch()
    await write(person, next.name)
    await says(person, never.name, HALF.strip(), next.name, f"{HALF}{next.name}.*all.")


async def test_stopping_a_run_that_asks_says_what_ends_with_it(person: Page, house: DemoServer) -> None:
    await open_chat(person, house, "Chat")
    await write(person, "refund 9 for order 12")
    await expect(person.get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)
    await person.get_by_test_id("stop").click()
    await expect(person.get_by_test_id("will-end")).to_contain_text("Refund 9")
    await person.get_by_test_id("confirm-cancel").click()
    await until_ready(person)
    await expect(person.get_by_test_id("request-detail")).to_have_attribute("data-status", "cancelled", timeout=WAIT)


@WIDE
async def test_a_server_that_is_killed_takes_nothing_of_a_chat_with_it(page: Page, tmp_path: Path) -> None:
    with shop_server(tmp_path) as server:
        await sign_in(page, server)
        go = await half_said(page, server)
        server.kill()
        await expect(page.get_by_test_id("stream-lost")).to_be_visible(timeout=WAIT)
        await says(page, go.name, HALF.strip())
        await page.get_by_test_id("message-box").fill("typed meanwhile")
        go.touch()
        server.start()
        await says(page, go.name, f"{HALF}{go.name}. And that is all.")
        await expect(page.get_by_test_id("stream-lost")).to_have_count(0)
        await expect(page.get_by_test_id("message-box")).to_have_value("typed meanwhile")
        await until_ready(page)

        await open_chat(page, server, "Chat")
        await write(page, "refund 40 for order 1182")
        await expect(page.get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)
        server.kill()
        server.start()
        (asked,) = server.until(id_of(page), "interrupted")["pending"]
        respond(server, asked, {"decision": "approve"})
        await expect(messages(page).last).to_contain_text("refunded 40", timeout=WAIT)
        await expect(messages(page)).to_have_count(2)


@WIDE
async def test_a_server_that_is_told_to_stop_is_gone_back_to_by_itself(page: Page, tmp_path: Path) -> None:
    with shop_server(tmp_path) as server:
        await sign_in(page, server)
        go = await half_said(page, server)
        server.stop()
        await expect(page.get_by_test_id("stream-lost")).to_be_visible(timeout=WAIT)
        await says(page, go.name, HALF.strip())
        server.start()
        await expect(page.get_by_test_id("stream-lost")).to_have_count(0, timeout=WAIT)
        go.touch()
        await says(page, go.name, f"{HALF}{go.name}. And that is all.")
        await until_ready(page)

        await open_chat(page, server, "Chat")
        await write(page, "refund 40 for order 1182")
        await expect(page.get_by_test_id("decide-approve")).to_be_visible(timeout=WAIT)
        server.stop()
        await expect(page.get_by_test_id("stream-lost")).to_be_visible(timeout=WAIT)
        server.start()
        await expect(page.get_by_test_id("stream-lost")).to_have_count(0, timeout=WAIT)
        await page.get_by_test_id("decide-approve").click()
        await expect(messages(page).last).to_contain_text("refunded 40", timeout=WAIT)
        await expect(messages(page)).to_have_count(2)


def long_talk(id: str, count: int) -> dict[str, object]:
    """Return what the server says of a chat of so many runs."""
    runs = []
    for n in range(count):
        asked = {"id": f"m{n}", "role": "user", "parts": [{"type": "text", "text": f"question {n}"}]}
        words = {"type": "text-delta", "id": "1", "delta": f"answer {n}: " + "some words\n\n" * (n % 9)}
        parts = [{"type": "start", "messageId": f"run{n}"}, {"type": "text-start", "id": "1"}, words]
        runs.append({"id": f"run{n}", "messages": [asked], "parts": [*parts, {"type": "text-end", "id": "1"}]})
    return {"id": id, "agent": "chat", "runs": runs, "next": None}


IN_VIEW = """messages => messages.filter(message => message.checkVisibility({ contentVisibilityAuto: true })).length"""


async def test_of_a_thousand_messages_only_those_near_the_view_are_laid_out(person: Page, house: DemoServer) -> None:
    house.run("long", "chat", {"messages": [{"role": "user", "content": "hello"}]})
    house.until("long", "done")
    await person.route("**/v1/chat/long", lambda route: route.fulfill(json=long_talk("long", 500)))
    await open_chat(person, house, id="long")
    await expect(messages(person)).to_have_count(1000, timeout=WAIT)
    await expect(messages(person).last).to_be_in_viewport(timeout=WAIT)
    assert 0 < await messages(person).evaluate_all(IN_VIEW) < 100
    await person.mouse.move(600, 400)
    await person.mouse.wheel(0, -20_000)
    await expect(messages(person).last).not_to_be_in_viewport(timeout=WAIT)
    assert 0 < await messages(person).evaluate_all(IN_VIEW) < 100
