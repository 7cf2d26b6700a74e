"""Images in a chat on the page: chosen, pasted, dropped, left out, sent, and shown after a reload on every page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.domain.test_display import png
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)

PHOTO = png(40, 30)


def file(name: str, content: bytes = PHOTO, kind: str = "image/png") -> Any:
    return {"name": name, "mimeType": kind, "buffer": content}


async def opened(person: Page, house: DemoServer, agent: str = "Chat") -> Locator:
    await person.goto(f"{house.url}/chat")
    await person.get_by_test_id("chat-agent").click(timeout=WAIT)
    await person.locator(".ant-select-item-option").get_by_text(agent, exact=True).click()
    return person.locator(".chat-composer")


async def is_drawn(image: Locator) -> None:
    await expect(image).to_be_visible(timeout=WAIT)
    assert await image.evaluate("async (image) => { await image.decode(); return image.naturalWidth }") == 40


@WIDE
async def test_a_photo_is_chosen_by_keyboard_sent_and_there_after_a_reload(person: Page, house: DemoServer) -> None:
    # Playwright begins to catch choosers with the first listener, which may be after the key has opened one.
    person.on("filechooser", lambda _: None)
    composer = await opened(person, house)
    button = composer.get_by_role("button", name="Attach images")
    await button.focus()
    async with person.expect_file_chooser() as chooser:
        await person.keyboard.press("Enter")
    await (await chooser.value).set_files([file("parcel.png"), file("other.png")])
    await is_drawn(composer.get_by_role("img", name="parcel.png"))
    await composer.get_by_role("button", name="Remove other.png").press("Enter")
    await expect(composer.locator(".chosen-images img")).to_have_count(1)
    await person.keyboard.type("look at this")
    await person.keyboard.press("Enter")
    messages = person.get_by_test_id("chat-message")
    await expect(messages.nth(1)).to_contain_text(f"I see image/png ({len(PHOTO)} bytes)", timeout=WAIT)
    await expect(composer.locator(".chosen-images img")).to_have_count(0)
    await person.reload()
    image = messages.first.get_by_role("img", name="parcel.png")
    await is_drawn(image)
    assert "/v1/threads/chat-" in str(await image.get_attribute("src"))
    await person.goto(person.url.replace("/chat/", "/t/"))
    image = person.get_by_role("img", name="parcel.png")
    await is_drawn(image)
    words, picture = await person.get_by_test_id("message").first.bounding_box(), await image.bounding_box()
    assert words
    assert picture
    assert words["y"] + words["height"] <= picture["y"]


PASTE = """async (box, bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "pasted.png", { type: "image/png" }));
  box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
}"""
DROP = """async (box, bytes) => {
  const data = new DataTransfer();
  data.items.add(new File([new Uint8Array(bytes)], "dropped.png", { type: "image/png" }));
  const drag = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const type of ["dragover", "drop"]) box.dispatchEvent(new DragEvent(type, drag));
}"""


async def test_images_are_pasted_and_dropped_and_sent_without_words(person: Page, house: DemoServer) -> None:
    composer = await opened(person, house)
    box = composer.get_by_test_id("message-box")
    await box.evaluate(PASTE, list(PHOTO))
    await is_drawn(composer.get_by_role("img", name="pasted.png"))
    await box.evaluate(DROP, list(PHOTO))
    await is_drawn(composer.get_by_role("img", name="dropped.png"))
    await composer.get_by_test_id("send").click()
    messages = person.get_by_test_id("chat-message")
    await expect(messages.nth(1)).to_contain_text("What should I do with it?", timeout=WAIT)
    await is_drawn(messages.first.get_by_role("img", name="dropped.png"))


async def test_what_is_no_image_is_refused_and_the_message_is_not_lost(person: Page, house: DemoServer) -> None:
    composer = await opened(person, house)
    await composer.get_by_test_id("image-input").set_input_files(file("a.svg", b"<svg/>", "image/svg+xml"))
    await expect(composer.get_by_role("alert")).to_contain_text("Only PNG, JPEG, GIF and WebP", timeout=WAIT)
    await composer.get_by_test_id("image-input").set_input_files(file("a.png", b"<svg onload='x()'/>"))
    await expect(composer.get_by_role("img", name="a.png")).to_have_count(1, timeout=WAIT)
    await composer.get_by_test_id("message-box").fill("look")
    await person.keyboard.press("Enter")
    refused = person.get_by_text("Only PNG, JPEG, GIF and WebP images are accepted")
    await expect(refused).to_be_visible(timeout=WAIT)
    await person.get_by_test_id("withdraw-message").click()
    await expect(composer.get_by_test_id("message-box")).to_have_value("look")
    await composer.get_by_role("button", name="Remove a.png").click()
    await person.keyboard.press("Enter")
    await expect(person.get_by_test_id("chat-message").nth(1)).to_contain_text("You said: look", timeout=WAIT)


async def test_an_assistant_that_takes_no_images_says_so(person: Page, house: DemoServer) -> None:
    composer = await opened(person, house, "Projects")
    await expect(composer.get_by_test_id("message-box")).to_be_visible(timeout=WAIT)
    await expect(composer.get_by_test_id("attach-images")).to_have_count(0)
    await composer.get_by_test_id("message-box").fill("words")
    await composer.get_by_test_id("message-box").evaluate(PASTE, list(PHOTO))
    await expect(composer.get_by_role("alert")).to_have_text("This agent doesn't accept images.", timeout=WAIT)
    await expect(composer.get_by_test_id("message-box")).to_have_value("words")
