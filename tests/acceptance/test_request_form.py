"""The ten types of fields, by keyboard alone, named and with errors that belong to them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, decided, opened, press, somebody
from tests.tiers import MAIN

pytestmark = pytest.mark.timeout(120)

OPTIONS = [{"value": "a", "label": "Alpha"}, {"value": "b", "label": "Beta"}, {"value": "c", "label": "Gamma"}]
WRITTEN: list[dict[str, Any]] = [
    {"name": "text", "type": "text", "label": "One line"},
    {"name": "textarea", "type": "textarea", "label": "Many lines"},
    {"name": "select", "type": "select", "label": "One of", "options": OPTIONS},
    {"name": "multiselect", "type": "multiselect", "label": "Several of", "options": OPTIONS},
    {
        "name": "radio",
        "type": "radio",
        "label": "Either",
        "options": [{"value": 1, "label": "I"}, {"value": 2, "label": "II"}],
    },
]
CHOSEN: list[dict[str, Any]] = [
    {"name": "checkbox", "type": "checkbox", "label": "Boxes", "options": OPTIONS},
    {"name": "number", "type": "number", "label": "How many"},
    {"name": "slider", "type": "slider", "label": "How sure", "min": 0, "max": 10},
    {"name": "date", "type": "date", "label": "Which day"},
    {"name": "boolean", "type": "boolean", "label": "Really"},
]


@MAIN
async def test_the_written_fields_are_filled_in_by_keyboard_alone(person: Page, house: DemoServer) -> None:
    request = ask(house, "Written", form={"fields": WRITTEN})
    await opened(person, house, request)
    await person.keyboard.type("5")
    await press(person, "Tab")
    await person.keyboard.type("two")
    await press(person, "Enter")
    await person.keyboard.type("lines")
    await press(person, "Tab", "ArrowDown", "ArrowDown", "Enter", "Tab", "Tab")
    await press(person, "ArrowDown", "Enter", "ArrowDown", "ArrowDown", "Enter", "Tab", "Tab")
    await press(person, "Space", "ArrowDown", "Control+Enter")
    assert decided(house, request)["data"] == {
        "text": "5", "textarea": "two\nlines", "select": "b", "multiselect": ["a", "c"], "radio": 2,
    }  # fmt: skip


async def test_the_chosen_fields_are_filled_in_by_keyboard_alone(person: Page, house: DemoServer) -> None:
    request = ask(house, "Chosen", form={"fields": CHOSEN})
    detail = await opened(person, house, request)
    await expect(detail.get_by_role("textbox", name="Which day")).to_be_visible(timeout=WAIT)
    await press(person, "Space", "Tab", "Tab", "Space", "Tab")
    await person.keyboard.type("12.5")
    await press(person, "Tab", "ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft", "Tab")
    await person.keyboard.type("2026-02-03")
    await press(person, "Enter", "Tab", "Tab", "Space", "ArrowRight", "Control+Enter")
    assert decided(house, request)["data"] == {
        "checkbox": ["a", "c"], "number": 12.5, "slider": 2, "date": "2026-02-03", "boolean": False,
    }  # fmt: skip


async def test_the_least_value_of_a_slider_can_be_chosen_and_is_not_chosen_by_passing_by(
    person: Page, house: DemoServer
) -> None:
    fields = [CHOSEN[2], {**CHOSEN[2], "name": "other", "label": "Other"}]
    request = ask(house, "Sliders", form={"fields": fields})
    await opened(person, house, request)
    await press(person, "Tab", "Home", "Control+Enter")
    assert decided(house, request)["data"] == {"other": 0}


@pytest.mark.parametrize("fields", [WRITTEN, CHOSEN], ids=["written", "chosen"])
async def test_every_field_has_its_name_and_its_error_for_a_screen_reader(
    person: Page, house: DemoServer, fields: list[dict[str, Any]]
) -> None:
    request = ask(house, "Named", form={"fields": [{**field, "required": True, "help": "Why"} for field in fields]})
    detail = await opened(person, house, request)
    roles: dict[str, Any] = {
        "text": "textbox",
        "textarea": "textbox",
        "select": "combobox",
        "multiselect": "combobox",
        "radio": "radiogroup",
    }
    roles |= {
        "checkbox": "group",
        "number": "spinbutton",
        "slider": "slider",
        "date": "textbox",
        "boolean": "radiogroup",
    }
    for field in fields:
        place = detail.get_by_test_id(f"field-{field['name']}")
        control = place.get_by_role(roles[field["type"]], name=field["label"], exact=True)
        await expect(control).to_be_visible(timeout=WAIT)
    await press(person, "Control+Enter")
    await expect(detail.get_by_test_id("field-error")).to_have_count(5, timeout=WAIT)
    for field in fields:
        place = detail.get_by_test_id(f"field-{field['name']}")
        described = place.locator("[aria-describedby]").first
        await expect(described).to_have_accessible_description(re.compile(r"Please fill this in\. Why"))
    await expect(detail.get_by_test_id("problems")).to_be_visible()


async def test_a_prefilled_form_shows_what_changes_and_takes_it_back(person: Page, house: DemoServer) -> None:
    fields = [{**WRITTEN[2], "default": "a"}, {**CHOSEN[1], "default": 3}, {**CHOSEN[4], "default": True}]
    request = ask(house, "Prefilled", form={"fields": fields})
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("decide-edit")).to_be_disabled()
    await press(person, "ArrowDown", "ArrowDown", "Enter")
    await detail.get_by_role("spinbutton", name="How many").press("End")
    await person.keyboard.type("7")
    await press(person, "Tab")
    await expect(detail.get_by_test_id("change-select")).to_contain_text("Alpha→Beta")
    await expect(detail.get_by_test_id("change-number")).to_contain_text("3→37")
    await detail.get_by_role("button", name="reset number").click()
    await expect(detail.get_by_test_id("change-number")).to_have_count(0)
    await detail.get_by_role("switch", name="Really").press("Space")
    await expect(detail.get_by_test_id("change-boolean")).to_contain_text("Yes→No")
    await press(person, "e")
    response = decided(house, request)
    assert (response["decision"], response["data"]) == ("edit", {"select": "b", "number": 3, "boolean": False})


async def test_the_counter_of_a_text_stands_clear_of_its_reset(person: Page, house: DemoServer) -> None:
    fields = [{**WRITTEN[1], "default": "Dear Ann", "max_length": 200}]
    detail = await opened(person, house, ask(house, "Counted", form={"fields": fields}))
    await detail.get_by_role("textbox", name="Many lines").press("End")
    await person.keyboard.type(" and Ben")
    reset = detail.get_by_test_id("change-textarea").get_by_role("button")
    counter = detail.locator(".ant-input-data-count")
    await expect(counter).to_contain_text("16 / 200")
    one, other = await counter.bounding_box(), await reset.bounding_box()
    assert one is not None
    assert other is not None
    assert one["y"] + one["height"] <= other["y"] or one["x"] + one["width"] <= other["x"]


async def test_the_browsers_first_language_says_how_a_number_is_read(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Amount", form={"fields": [CHOSEN[1]]})
    page = await somebody(browser, house, "lea", locale="de-DE")
    detail = await opened(page, house, request)
    await expect(detail.get_by_test_id("number-note")).to_contain_text("1.234,56")
    await detail.get_by_role("spinbutton", name="How many").press_sequentially("1.219,99")
    await expect(detail.get_by_test_id("stored-number")).to_contain_text("1219.99")
    await press(page, "Control+Enter")
    assert decided(house, request)["data"] == {"number": 1219.99}
    await page.context.close()
