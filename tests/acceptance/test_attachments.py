"""A file in a form: chosen, dropped, sent with its progress, removed, cut off by a reload, shown after the answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Locator, Page, Route, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, decided, opened
from tests.acceptance.pdfs import GOOD
from tests.domain.test_display import png
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)

PHOTO: dict[str, Any] = {"name": "photo", "type": "attachment", "label": "Photo", "media_types": ["image/*"]}
ANY: dict[str, Any] = {"name": "any", "type": "attachment", "label": "Any file", "max_size": 1000}
NOTE: dict[str, Any] = {"name": "note", "type": "text", "label": "Note"}


def of(field: str, detail: Locator) -> Locator:
    return detail.get_by_test_id(f"field-{field}")


def file(name: str, content: bytes) -> Any:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


async def attach(detail: Locator, field: str, name: str, content: bytes) -> Locator:
    box = of(field, detail)
    await box.get_by_test_id("file-input").set_input_files(file(name, content))
    return box


@WIDE
async def test_a_photo_is_chosen_by_keyboard_sent_and_shown(person: Page, house: DemoServer) -> None:
    # Playwright begins to catch choosers with the first listener, which may be after the key has opened one.
    person.on("filechooser", lambda _: None)
    request = ask(house, "Send a photo", form={"fields": [{**PHOTO, "required": True}, NOTE]})
    detail = await opened(person, house, request)
    button = of("photo", detail).get_by_role("button", name="Photo Choose a file")
    await expect(button).to_be_visible(timeout=WAIT)
    assert await of("photo", detail).get_by_test_id("file-input").get_attribute("accept") == "image/*"
    await detail.get_by_test_id("decide-approve").click()
    await expect(of("photo", detail).get_by_test_id("field-error")).to_be_visible(timeout=WAIT)
    await expect(button).to_be_focused(timeout=WAIT)
    async with person.expect_file_chooser() as chooser:
        await person.keyboard.press("Enter")
    await (await chooser.value).set_files(file("parcel.png", png(40, 30)))
    link = of("photo", detail).get_by_role("link", name="parcel.png")
    await expect(link).to_be_visible(timeout=WAIT)
    await person.reload()
    await expect(link).to_be_visible(timeout=WAIT)
    await detail.get_by_test_id("decide-approve").click()
    record = person.get_by_test_id("record")
    image = record.get_by_role("img", name="parcel.png")
    await expect(image).to_be_visible(timeout=WAIT)
    assert await image.evaluate("async (image) => { await image.decode(); return image.naturalWidth }") == 40
    assert decided(house, request)["data"]["photo"]["name"] == "parcel.png"
    async with person.expect_download() as download:
        await record.get_by_role("link", name="parcel.png").click()
    assert (await download.value).suggested_filename == "parcel.png"


async def test_an_attached_pdf_is_drawn_before_and_after_the_answer(person: Page, house: DemoServer) -> None:
    receipt = {**PHOTO, "media_types": ["application/pdf"]}
    request = ask(house, "Send the receipt", form={"fields": [receipt]})
    detail = await opened(person, house, request)
    box = await attach(detail, "photo", "taxi.pdf", GOOD)
    await expect(box.get_by_test_id("pdf-page-1")).to_have_attribute("data-state", "drawn", timeout=WAIT)
    await detail.get_by_test_id("decide-approve").click()
    record = person.get_by_test_id("record")
    sheet = record.get_by_role("img", name="taxi.pdf: Page 1 of 2")
    await expect(sheet).to_have_attribute("data-state", "drawn", timeout=WAIT)
    await record.get_by_test_id("show-more").click()
    await record.get_by_test_id("pdf-page-2").scroll_into_view_if_needed()
    await expect(record.get_by_test_id("pdf-page-2")).to_have_attribute("data-state", "drawn", timeout=WAIT)
    await expect(record.get_by_role("link", name="taxi.pdf")).to_be_visible()


DROP = """(box) => {
  const data = new DataTransfer();
  data.items.add(new File(["dropped"], "dropped.txt"));
  const drag = { dataTransfer: data, bubbles: true, cancelable: true };
  for (const type of ["dragover", "drop"]) box.dispatchEvent(new DragEvent(type, drag));
}"""


async def test_a_file_is_dropped_and_removed(person: Page, house: DemoServer) -> None:
    request = ask(house, "Drop a file", form={"fields": [ANY]})
    detail = await opened(person, house, request)
    box = of("any", detail)
    await expect(box.get_by_test_id("choose-file")).to_be_visible(timeout=WAIT)
    await box.locator(".attachment").evaluate(DROP)
    await expect(box.get_by_role("link", name="dropped.txt")).to_be_visible(timeout=WAIT)
    await box.get_by_role("button", name="Remove dropped.txt").click()
    await expect(box.get_by_role("link")).to_have_count(0)
    await detail.get_by_test_id("decide-approve").click()
    assert decided(house, request)["data"] == {}


async def test_what_is_refused_says_why_in_words(person: Page, house: DemoServer) -> None:
    detail = await opened(person, house, ask(house, "Refused", form={"fields": [PHOTO, ANY]}))
    box = await attach(detail, "photo", "photo.png", b"<svg onload='x()'/>")
    await expect(box.get_by_role("alert")).to_have_text("This kind of file is not accepted here.", timeout=WAIT)
    box = await attach(detail, "any", "large.bin", b"x" * 1001)
    await expect(box.get_by_role("alert")).to_contain_text("not over 1,000 byte", timeout=WAIT)


async def test_a_file_on_its_way_is_not_left_out_of_the_answer(person: Page, house: DemoServer) -> None:
    request = ask(house, "Slow", form={"fields": [ANY, NOTE]})
    detail = await opened(person, house, request)
    may_go = asyncio.Event()

    async def held(route: Route) -> None:
        await may_go.wait()
        await route.continue_()

    await person.route("**/attachments", held)
    box = await attach(detail, "any", "slow.txt", b"slow")
    await expect(box.get_by_test_id("stop-file")).to_be_visible(timeout=WAIT)
    await detail.get_by_test_id("decide-approve").click()
    await expect(box.get_by_test_id("field-error")).to_have_text("This cannot be sent yet.", timeout=WAIT)
    # What is typed meanwhile stays.
    await of("note", detail).get_by_role("textbox").fill("typed meanwhile")
    may_go.set()
    await expect(box.get_by_role("link", name="slow.txt")).to_be_visible(timeout=WAIT)
    await expect(of("note", detail).get_by_role("textbox")).to_have_value("typed meanwhile")
    await detail.get_by_test_id("decide-approve").click()
    assert set(decided(house, request)["data"]) == {"any", "note"}


async def test_a_reload_that_cuts_a_file_off_says_so(person: Page, house: DemoServer) -> None:
    detail = await opened(person, house, ask(house, "Cut off", form={"fields": [ANY]}))
    # Held until the page closes: without its route the upload would go on, and be whole before the reload.
    await person.route("**/attachments", lambda _: None)
    box = await attach(detail, "any", "cut.txt", b"cut")
    await expect(box.get_by_test_id("stop-file")).to_be_visible(timeout=WAIT)
    await person.reload()
    await expect(box.get_by_role("alert")).to_contain_text("Attach it again", timeout=WAIT)
    await expect(box.get_by_test_id("choose-file")).to_be_visible(timeout=WAIT)
