"""What a value is drawn as, and how a value with parts is edited: by keyboard, without harm, nothing cut in silence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from playwright.async_api import Locator, Page, Route, expect
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, decided, opened, press
from tests.acceptance.hostile import FAMILIES
from tests.acceptance.pdfs import ACTIVE, BROKEN, GOOD, INCOMPLETE, JAPANESE, LOCKED, encoded
from tests.acceptance.test_votes import picture
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PUBLIC = json.loads((Path(__file__).parents[2] / "ui/src/testing/public-schemas.json").read_text())
"""Tool schemas of public MCP servers."""
MAIL = {"from": "shop@example.org", "to": ["ann@example.org"], "subject": "Late", "body": "Dear Ann\n\nBye"}
PATCH = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
VALUES: dict[str, tuple[Any, str]] = {
    "sql": ("UPDATE users SET plan = 'pro' WHERE id > 100", "code"),
    "patch": (PATCH, "diff"),
    "lines": ([{"sku": "A", "n": 1}, {"sku": "5", "n": None}], "table"),
    "config": ({"region": "eu", "limits": {"cpu": [1, 2]}}, "tree"),
    "note": ("\n".join(f"line {number}" for number in range(58)), "text"),
    "logo": (PIXEL, "image"),
    "bill": ("JVBERi0xLjQK" + "A" * 80, "pdf"),
    "site": ("https://bank.example@xn--bnk-6cd.example/login", "link"),
}


def action(args: dict[str, Any], schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an action with these arguments."""
    return {"name": "do", "args": args} | ({"schema": schema} if schema else {})


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_each_value_is_drawn_as_what_it_is(person: Page, house: DemoServer, width: int, scheme: Any) -> None:
    await resize(person, width, 900)
    await person.emulate_media(color_scheme=scheme)
    elsewhere: list[str] = []
    person.on("request", lambda sent: elsewhere.append(sent.url))
    request = ask(house, "All", action=action({**MAIL, **{name: value for name, (value, _) in VALUES.items()}}))
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("mail-body")).to_have_text(MAIL["body"])
    for name, (_, shape) in VALUES.items():
        await expect(detail.get_by_test_id(f"fact-{name}")).to_have_attribute("data-shape", shape)
    await expect(detail.get_by_test_id("link-host")).to_have_text("xn--bnk-6cd.example")
    await expect(detail.get_by_test_id("link-warning")).to_be_visible()
    await expect(detail.get_by_test_id("show-more")).to_contain_text("34 more lines")
    await picture(person, f"values-{width}")
    await press(person, "o")
    await expect(detail.get_by_test_id("fact-note")).to_contain_text("line 57")
    assert [url for url in elsewhere if not url.startswith((house.url, "data:image/"))] == []
    assert await person.evaluate("document.documentElement.scrollWidth <= innerWidth")


@WIDE
@pytest.mark.parametrize("family", list(FAMILIES))
async def test_hostile_values_stay_text_in_every_shape(person: Page, house: DemoServer, family: str) -> None:
    text = FAMILIES[family]
    args = {
        **{"to": [text], "subject": text, "html": text, "sql": f"SELECT 1 FROM t -- {text}"},
        **{"patch": f"{PATCH}+{text}", "rows": [{"a": text[:280].replace("\n", " "), "b": 1}]},
        **{"tree": {text: {"__proto__": [text]}}},
        **{"site": f"https://evil.example/{text[:40].split()[0]}", "note": text * 3},
    }  # fmt: skip
    request = ask(house, "Hostile", action=action(args))
    elsewhere: list[str] = []
    person.on("request", lambda sent: elsewhere.append(sent.url))
    detail = await opened(person, house, request)
    await press(person, "o", "o", "o")
    for open_json in await detail.get_by_test_id("as-json").all():
        await open_json.click()
    assert await person.evaluate("window.struck === undefined")
    facts = detail.get_by_test_id("facts")
    assert await facts.locator("script, iframe, object, embed, style, img").count() == 0
    for href in [await link.get_attribute("href") or "" for link in await facts.locator("a").all()]:
        assert href.startswith("https://evil.example/")
    assert [url for url in elsewhere if not url.startswith(house.url)] == []
    # Nothing that hides or reorders other characters is in the page.
    content = await facts.inner_text()
    assert not [letter for letter in content if letter in "\u202e\u202d\u2066\u200b\u2060\u00ad\x1b\x07\u2028"]


@WIDE
async def test_a_large_value_leaves_the_page_alive(person: Page, house: DemoServer) -> None:
    lines = "a line of text that is not long\n" * 4_500
    request = ask(house, "Large", action=action({"note": lines, "rows": [[number] for number in range(2_000)]}))
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("show-more").first).to_contain_text("more lines")
    await press(person, "o", "o", "o")
    await expect(detail.get_by_test_id("show-more")).to_have_count(0)
    longest = await person.evaluate(
        """() => new Promise(done => { const began = performance.now();
        requestAnimationFrame(() => setTimeout(() => done(performance.now() - began))); })"""
    )
    # A frame comes while a person watches: the page is not frozen.
    assert longest < 2_000
    text = await detail.get_by_test_id("fact-note").locator("pre").text_content()
    assert text == lines


INK = """(canvas, wanted) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  const isNear = (at) => wanted.every((value, band) => Math.abs(data[at + band] - value) < 40);
  for (let at = 0; at < data.length; at += 4) if (isNear(at)) count += 1;
  return count / (canvas.width * canvas.height);
}"""
RED, BLUE = [255, 0, 0], [0, 0, 255]


def complaints(page: Page) -> list[str]:
    """Return the list of errors of the page's console, among them violations of its policy, as it grows."""
    found: list[str] = []
    page.on("console", lambda message: found.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


async def drawn(detail: Locator, number: int, color: list[int]) -> float:
    """Return which share of a page is of a color, once it is drawn."""
    sheet = detail.get_by_test_id(f"pdf-page-{number}")
    await expect(sheet).to_have_attribute("data-state", "drawn", timeout=WAIT)
    share: float = await sheet.evaluate(INK, color)
    return share


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_pdf_is_drawn_page_by_page(person: Page, house: DemoServer, width: int) -> None:
    await resize(person, width, 900)
    errors, asked = complaints(person), list[str]()
    person.on("request", lambda sent: asked.append(sent.url))
    request = ask(house, "Pay", action=action({"bill": encoded(GOOD), "note": "a\n" * 40}))
    is_free = asyncio.Event()

    async def when_free(route: Route) -> None:
        await is_free.wait()
        await route.continue_()

    await person.route("**/pdf.worker.min.mjs", when_free)
    await person.goto(house.url)
    await expect(person.get_by_test_id("request-row").first).to_be_visible(timeout=WAIT)
    assert [url for url in asked if "pdf" in url] == []
    detail = await opened(person, house, request)
    paper = detail.get_by_test_id("pdf-paper")
    await expect(detail.get_by_text("Loading the PDF")).to_be_visible(timeout=WAIT)
    room = await paper.bounding_box()
    is_free.set()
    assert 0.1 > await drawn(detail, 1, RED) > 0.05
    assert await paper.bounding_box() == room
    await expect(detail.get_by_role("img", name="bill: Page 1 of 2")).to_be_visible()
    await expect(detail.get_by_role("region", name="PDF, 2 pages")).to_contain_text("Invoice 1182")
    more = detail.get_by_test_id("pdf-pages").get_by_test_id("show-more")
    await expect(more).to_contain_text("1 more page")
    await picture(person, f"pdf-{width}")
    await press(person, "o")
    await detail.get_by_test_id("pdf-page-2").scroll_into_view_if_needed()
    assert await drawn(detail, 2, BLUE) > 0.05
    await expect(more).to_have_count(0)
    await expect(detail.get_by_test_id("pdf-incomplete")).to_have_count(0)
    assert [url for url in asked if not url.startswith(house.url)] == []
    assert errors == []


@pytest.mark.parametrize(
    ("file", "reason"), [(BROKEN, "may be damaged"), (LOCKED, "password")], ids=["broken", "locked"]
)
async def test_a_pdf_that_cannot_be_drawn_says_why_and_is_saved(
    person: Page, house: DemoServer, file: bytes, reason: str
) -> None:
    errors = complaints(person)
    request = ask(house, "Pay", action=action({"bill": encoded(file)}))
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("pdf-problem")).to_contain_text(reason, timeout=WAIT)
    await expect(detail.locator("canvas")).to_have_count(0)
    await picture(person, f"pdf-{reason.replace(' ', '-')}")
    async with person.expect_download() as download:
        await detail.get_by_test_id("save-pdf").click()
    saved = await anyio.Path(await (await download.value).path()).read_bytes()
    assert saved == file
    assert errors == []


@pytest.mark.parametrize("name", list(INCOMPLETE))
async def test_a_pdf_that_is_not_drawn_completely_says_so(person: Page, house: DemoServer, name: str) -> None:
    errors = complaints(person)
    request = ask(house, "Pay", action=action({"bill": encoded(INCOMPLETE[name])}))
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("pdf-incomplete")).to_contain_text("Save the file", timeout=WAIT)
    share = await drawn(detail, 1, RED)
    assert share > 0.05 or name == "unknown encoding"
    assert errors == []


async def test_a_pdf_in_an_encoding_of_japan_is_drawn(person: Page, house: DemoServer) -> None:
    errors = complaints(person)
    request = ask(house, "Pay", action=action({"bill": encoded(JAPANESE)}))
    detail = await opened(person, house, request)
    assert await drawn(detail, 1, RED) > 0.005
    await expect(detail.get_by_test_id("pdf-incomplete")).to_have_count(0)
    assert errors == []


@WIDE
async def test_nothing_in_a_pdf_runs_or_can_be_pressed(person: Page, house: DemoServer) -> None:
    errors, elsewhere = complaints(person), list[str]()
    person.context.on(
        "request", lambda sent: elsewhere.append(sent.url) if not sent.url.startswith(house.url) else None
    )
    person.context.on("page", lambda page: elsewhere.append(page.url))
    person.on("dialog", lambda dialog: elsewhere.append(dialog.message))
    request = ask(house, "Pay", action=action({"bill": encoded(ACTIVE)}))
    detail = await opened(person, house, request)
    assert await drawn(detail, 1, RED) > 0.05
    await expect(detail.get_by_test_id("pdf-incomplete")).to_have_count(0)
    box = await detail.get_by_test_id("pdf-page-1").bounding_box()
    assert box is not None
    # The middle of the link that lies over the square.
    await person.mouse.click(box["x"] + box["width"] * 160 / 595, box["y"] + box["height"] * 242 / 842)
    pressable = "a, button, input, iframe, object, embed, [tabindex], [href]"
    await expect(detail.get_by_test_id("pdf-pages").locator(pressable)).to_have_count(0)
    await expect(person).to_have_url(f"{house.url}/r/{request['id']}")
    assert (errors, elsewhere) == ([], [])


SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["to", "lines", "pay"],
    "properties": {
        "to": {
            "type": "object",
            "title": "Recipient",
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "phone": {"type": ["string", "null"]}},
        },
        "lines": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Line"}},
        "pay": {
            "oneOf": [
                {"title": "Card", "properties": {"card": {"type": "string"}}, "required": ["card"]},
                {"title": "Cash", "properties": {"paid": {"type": "boolean"}}, "required": ["paid"]},
            ]
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "more": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "$defs": {
        "Line": {
            "type": "object",
            "required": ["sku", "count"],
            "properties": {"sku": {"type": "string"}, "count": {"type": "integer", "minimum": 1, "default": 1}},
        }
    },
}


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_nested_schema_is_a_form_by_keyboard_and_its_answer_is_typed(
    person: Page, house: DemoServer, width: int
) -> None:
    await resize(person, width, 900)
    request = ask(house, "Order", kind="form", schema=SCHEMA)
    detail = await opened(person, house, request)
    await detail.get_by_test_id("field-data.to.name").get_by_role("textbox").fill("Ann")
    add = detail.get_by_test_id("add-row-data.lines")
    await add.focus()
    await press(person, "Enter")
    await person.keyboard.type("A-1")
    await add.focus()
    await press(person, "Enter")
    await person.keyboard.type("B-2")
    await press(person, "Alt+ArrowUp")
    await expect(detail.get_by_test_id("field-data.lines[0].sku").get_by_role("textbox")).to_have_value("B-2")
    await expect(detail.get_by_test_id("field-data.lines[0].sku").get_by_role("textbox")).to_be_focused()
    await detail.get_by_text("Cash").click()
    await detail.get_by_test_id("add-row-data.tags").focus()
    await press(person, "Enter")
    await person.keyboard.type("5")
    await picture(person, f"nested-{width}")
    await press(person, "Control+Enter")
    # What is still missing is named at its own field, and nothing was sent.
    paid = detail.get_by_test_id("field-data.pay.paid")
    await expect(detail.get_by_test_id("problems")).to_be_visible(timeout=WAIT)
    await expect(detail.get_by_test_id("field-error").locator("visible=true")).to_have_count(1)
    # The name of the chosen alternative stands once, and names the group for readers.
    group = detail.get_by_role("group", name="Cash", exact=True)
    await expect(group).to_have_count(1)
    assert await group.locator("legend").evaluate("legend => legend.offsetWidth") == 1
    await paid.get_by_text("Yes").click()
    await press(person, "Control+Enter")
    assert decided(house, request)["data"] == {
        "to": {"name": "Ann"},
        "lines": [{"sku": "B-2", "count": 1}, {"sku": "A-1", "count": 1}],
        "pay": {"paid": True},
        "tags": ["5"],
    }


async def test_a_list_of_an_argument_is_edited_as_a_list(person: Page, house: DemoServer) -> None:
    args = {"to": ["ann", "bob"], "lines": [{"sku": "A", "n": 1}], "env": {"A": "1"}, "x": None, "sql": "DELETE FROM t"}
    request = ask(house, "Send?", action=action(args))
    detail = await opened(person, house, request)
    await press(person, "e")
    to = detail.get_by_test_id("list-args.to")
    await to.get_by_role("button", name="Remove row 1").focus()
    await press(person, "Enter")
    await to.get_by_test_id("add-row-args.to").focus()
    await press(person, "Enter")
    await person.keyboard.type("eve")
    await detail.get_by_test_id("field-args.lines[0].n").get_by_role("spinbutton").fill("3")
    font = (
        await detail.get_by_test_id("arg-sql").locator("textarea").evaluate("area => getComputedStyle(area).fontFamily")
    )
    assert "monospace" in font
    await detail.get_by_test_id("field-args.env.A").get_by_role("textbox").fill("2")
    await picture(person, "list-argument")
    await expect(detail.get_by_test_id("change-lines")).to_contain_text("[0].n 1→3")
    await detail.get_by_test_id("confirm-edit").click()
    changed = {
        "to": ["bob", "eve"],
        "lines": [{"sku": "A", "n": 3}],
        "env": {"A": "2"},
        "x": None,
        "sql": "DELETE FROM t",
    }
    assert decided(house, request)["args"] == changed


async def test_a_schema_that_is_no_form_is_json_and_says_so(person: Page, house: DemoServer) -> None:
    schema = {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1}
    request = ask(house, "Scores?", kind="form", schema=schema)
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("no-form")).to_contain_text("edited as JSON")
    box = detail.get_by_role("textbox", name="Answer (JSON)")
    await box.fill('{\n  "ann": 1,\n  "bob": x\n}')
    await expect(detail.get_by_test_id("json-error")).to_contain_text("Line 3, column 10, in bob")
    await box.fill('{"ann": "1"}')
    await box.press("Control+Enter")
    await expect(detail.get_by_test_id("field-data")).to_contain_text("ann", timeout=WAIT)
    await expect(detail.locator(".json-answer > .error-text:not(:empty)")).to_be_visible()
    await box.fill('{"ann": 1}')
    await box.press("Control+Enter")
    assert decided(house, request)["data"] == {"ann": 1}


@pytest.mark.parametrize("tool", PUBLIC, ids=[f"{tool['server']}-{tool['name']}" for tool in PUBLIC])
async def test_the_schema_of_a_public_tool_is_a_form(person: Page, house: DemoServer, tool: dict[str, Any]) -> None:
    request = ask(house, tool["name"], kind="form", schema=tool["schema"])
    detail = await opened(person, house, request)
    names = list(tool["schema"]["properties"])
    place = detail.locator(", ".join(f"[data-testid$='{name}']" for name in names))
    await expect(place.first).to_be_visible(timeout=WAIT)
    await expect(detail.get_by_test_id("no-form")).to_have_count(0)
    await picture(person, f"public-{tool['name']}")
