"""The page of memories in a real browser: what was approved appears, is used, is changed, is gone once deleted."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import somebody
from tests.acceptance.thread_steps import assert_fits
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)
OPTIONS = [{"value": "v", "label": "Vegan"}, {"value": "o", "label": "Everything"}]
FORM = {
    "fields": [
        {"name": "diet", "type": "select", "label": "What you eat", "options": OPTIONS, "required": True},
        {"name": "note", "type": "text", "label": "Anything else", "max_length": 20},
    ]
}


class Guest:
    """Somebody who is new here, with a browser of their own."""

    def __init__(self, house: DemoServer, name: str, page: Page) -> None:
        self.house, self.name, self.page = house, name, page

    def client(self) -> httpx.Client:
        """Call the API as they do."""
        token = self.house.token("person", self.name)
        return httpx.Client(base_url=self.house.url, headers={"authorization": f"Bearer {token}"}, timeout=30)

    def ask(self, title: str, **more: Any) -> str:
        """Let an agent ask them, and return the request's id."""
        body = {"title": title, "form": FORM, "context": {"memory_category": "food"}, "assignee": self.name, **more}
        with self.house.client("agent") as client:
            return str(client.post("/v1/requests", json=body).raise_for_status().json()["id"])

    def tell(self, title: str, **data: Any) -> str:
        """Have a question answered by the API."""
        id = self.ask(title)
        with self.client() as client:
            digest = client.get(f"/v1/requests/{id}").json()["digest"]
            answer = {"decision": "approve", "digest": digest, "data": data}
            client.post(f"/v1/requests/{id}/respond", json=answer).raise_for_status()
        return id

    def says(self, words: str, ends: str = "done") -> str:
        """Begin a chat, and return its thread once it stands still."""
        thread = f"chat-{uuid.uuid4().hex[:8]}"
        message = {"role": "user", "content": words, "id": f"{thread}-1"}
        with self.client() as client:
            run = {"agent": "chat", "input": {"messages": [message]}}
            client.post(f"/v1/threads/{thread}/runs", json=run).raise_for_status()
        self.house.until(thread, ends)
        return thread

    async def hears(self, words: str) -> None:
        """Ask the chat what it remembers, and wait for these words of it on the page."""
        await self.page.goto(f"{self.house.url}/chat/{self.says('What do you remember?')}")
        answer = self.page.locator("[data-testid=chat-message][data-role=assistant]").last
        await expect(answer).to_contain_text(words, timeout=WAIT)

    async def look(self) -> None:
        """Show the page of memories."""
        await self.page.goto(f"{self.house.url}/memory")
        await expect(self.page.get_by_role("heading", level=1)).to_be_visible(timeout=WAIT)

    def memory(self, id: str) -> Locator:
        """Return one row of it."""
        return self.page.locator(f"[data-testid=memory][data-id='{id}']")


@pytest_asyncio.fixture(loop_scope="session")
async def guest(browser: Browser, house: DemoServer) -> AsyncIterator[Guest]:
    """Somebody whom nobody knows yet."""
    name = f"guest-{uuid.uuid4().hex[:6]}"
    page = await somebody(browser, house, name)
    yield Guest(house, name, page)
    await page.context.close()


async def choose(place: Locator, page: Page, title: str) -> None:
    """Choose an option of the form's list."""
    await place.get_by_role("combobox").first.click()
    await page.locator(f".ant-select-item[title='{title}']").last.click()


@WIDE
async def test_an_answer_in_the_inbox_is_used_later_changed_and_deleted(guest: Guest) -> None:
    page = guest.page
    await guest.look()
    await expect(page.get_by_test_id("no-memories")).to_be_visible(timeout=WAIT)
    await guest.hears("nothing yet")

    (asked,) = guest.house.thread(guest.says("Ask me", "interrupted"))["pending"]
    await page.goto(f"{guest.house.url}/r/{asked['id']}")
    detail = page.get_by_test_id("request-detail")
    await expect(detail.get_by_test_id("remembers")).to_contain_text("preference", timeout=WAIT)
    await choose(detail, page, "Swimming")
    await detail.get_by_test_id("decide-approve").click()
    await expect(detail.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    await page.get_by_role("navigation").get_by_role("link", name="Memory").click()
    memory = guest.memory(asked["id"])
    await expect(memory.get_by_test_id("memory-answer")).to_contain_text("Swimming", timeout=WAIT)
    await expect(memory.get_by_test_id("memory-category")).to_have_text("preference")
    await guest.hears("Swimming")

    await guest.look()
    await memory.get_by_test_id("edit-memory").click()
    await choose(memory, page, "Running")
    await memory.get_by_test_id("save-memory").click()
    await expect(memory.get_by_test_id("memory-answer")).to_contain_text("Running", timeout=WAIT)
    await expect(memory.get_by_test_id("memory-edited")).to_be_visible()
    await guest.hears("Running")

    await guest.look()
    await memory.get_by_test_id("delete-memory").click()
    await memory.get_by_test_id("keep-memory").click()
    await expect(memory.get_by_role("link")).to_be_focused()
    await memory.get_by_test_id("delete-memory").click()
    await memory.get_by_test_id("confirm-delete").click()
    await expect(page.get_by_test_id("no-memories")).to_be_visible(timeout=WAIT)
    await guest.hears("nothing yet")


async def test_a_rejected_question_leaves_nothing(guest: Guest) -> None:
    id = guest.ask("What do you eat?")
    page = guest.page
    await page.goto(f"{guest.house.url}/r/{id}")
    detail = page.get_by_test_id("request-detail")
    await detail.get_by_test_id("decide-reject").click(timeout=WAIT)
    await page.get_by_test_id("confirm-reject").click()
    await expect(detail.get_by_test_id("record")).to_be_visible(timeout=WAIT)
    await guest.look()
    await expect(page.get_by_test_id("no-memories")).to_be_visible(timeout=WAIT)


async def test_memories_stand_by_category_and_lead_to_their_request(guest: Guest) -> None:
    travel = guest.ask("Where to?", context={"memory_category": "travel"})
    with guest.client() as client:
        digest = client.get(f"/v1/requests/{travel}").json()["digest"]
        answer = {"decision": "approve", "digest": digest, "data": {"diet": "o", "note": "by train"}}
        client.post(f"/v1/requests/{travel}/respond", json=answer).raise_for_status()
    food = [guest.tell(f"What do you eat on day {n}?", diet="v") for n in (1, 2)]
    await guest.look()
    page = guest.page
    await expect(page.get_by_test_id("memory-category")).to_have_text(["food", "travel"], timeout=WAIT)
    rows = await page.get_by_test_id("memory").evaluate_all("rows => rows.map(row => row.dataset.id)")
    assert rows == [*food[::-1], travel]
    await guest.memory(travel).get_by_role("link").click()
    await expect(page.get_by_test_id("request-detail")).to_have_attribute("data-id", travel, timeout=WAIT)


async def test_a_wrong_change_is_told_at_its_field_and_what_was_typed_stays(guest: Guest) -> None:
    id = guest.tell("What do you eat?", diet="v", note="no nuts")
    with guest.client() as client:
        client.patch(f"/v1/memories/{id}", json={"data": {"diet": "v", "note": "no fish"}}).raise_for_status()
    await guest.look()
    memory, page = guest.memory(id), guest.page
    await memory.get_by_test_id("edit-memory").click(timeout=WAIT)
    note = memory.get_by_test_id("field-note").get_by_role("textbox")
    await expect(note).to_have_value("no fish")
    await page.route("**/v1/memories/*", lambda route: route.abort())
    await note.fill("no milk")
    await page.keyboard.press("Control+Enter")
    await expect(memory.get_by_test_id("error")).to_be_visible(timeout=WAIT)
    await page.unroute("**/v1/memories/*")
    await expect(note).to_have_value("no milk")
    await page.keyboard.press("Control+Enter")
    await expect(memory.get_by_test_id("memory-answer")).to_contain_text("no milk", timeout=WAIT)


@WIDE
async def test_a_change_from_another_tab_is_not_overwritten(guest: Guest) -> None:
    id = guest.tell("What do you eat?", diet="v", note="no nuts")
    await guest.look()
    memory, page = guest.memory(id), guest.page
    await memory.get_by_test_id("edit-memory").click(timeout=WAIT)
    note = memory.get_by_test_id("field-note").get_by_role("textbox")
    await note.fill("no milk")
    with guest.client() as client:
        client.patch(f"/v1/memories/{id}", json={"data": {"diet": "v", "note": "no fish"}}).raise_for_status()
    async with page.expect_response(lambda reply: reply.request.method == "GET" and "/v1/memories" in reply.url):
        pass
    await page.keyboard.press("Control+Enter")
    await expect(memory.get_by_test_id("error")).to_be_visible(timeout=WAIT)
    await expect(note).to_have_value("no milk")
    with guest.client() as client:
        assert client.get(f"/v1/memories/{id}").json()["answer"]["note"] == "no fish"


async def test_everything_is_done_by_keys_alone(guest: Guest) -> None:
    ids = [guest.tell(f"What do you eat on day {n}?", diet="v", note="no nuts") for n in (1, 2)]
    page = guest.page
    await guest.look()
    await expect(guest.memory(ids[0])).to_be_visible(timeout=WAIT)
    await page.keyboard.press("j")
    await expect(guest.memory(ids[1]).get_by_role("link")).to_be_focused()
    await page.keyboard.press("j")
    await page.keyboard.press("e")
    await expect(guest.memory(ids[0]).get_by_test_id("save-memory")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(guest.memory(ids[0]).get_by_role("link")).to_be_focused()
    await page.keyboard.press("d")
    await expect(guest.memory(ids[0]).get_by_test_id("keep-memory")).to_be_focused()
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(guest.memory(ids[0])).to_have_count(0, timeout=WAIT)
    await expect(guest.memory(ids[1])).to_be_visible()


@pytest.mark.parametrize(("locale", "title"), [("en-GB", "Memory"), ("ja-JP", "記憶"), ("zh-CN", "记忆")])
async def test_it_fits_a_dark_phone_in_three_languages(
    browser: Browser, house: DemoServer, locale: str, title: str
) -> None:
    name = f"guest-{uuid.uuid4().hex[:6]}"
    look: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "locale": locale}
    guest = Guest(house, name, await somebody(browser, house, name, **look))
    id = guest.tell("What do you eat, and what not, on a long journey?", diet="v", note="no nuts, no fish")
    await guest.look()
    await expect(guest.page.get_by_role("heading", level=1)).to_have_text(title)
    await expect(guest.memory(id).get_by_test_id("memory-answer")).to_contain_text("Vegan", timeout=WAIT)
    await assert_fits(guest.page)
    await guest.memory(id).get_by_test_id("edit-memory").click()
    await expect(guest.memory(id).get_by_test_id("save-memory")).to_be_visible()
    await assert_fits(guest.page)
    await guest.page.context.close()
