"""Keys that are pressed out of habit decide nothing: a beat between kinds of requests."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import QUIET, ask, decided, opened, press, stored
from tests.acceptance.test_votes import picture

pytestmark = pytest.mark.timeout(120)
AT_ONCE = """(id) => {
  const press = (key, more) => document.body.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, ...more}));
  new MutationObserver((_, observer) => {
    if (!document.querySelector(`[data-testid=request-detail][data-id='${id}']`)) return;
    observer.disconnect();
    for (const pause of [0, 100, 200]) setTimeout(() => {
      for (const key of ["a", "r", "Enter", "a"]) press(key);
      press("a", {repeat: true});
      document.body.dataset.pressed = pause;
    }, pause);
  }).observe(document.body, {subtree: true, childList: true, attributes: true});
}"""
"""Presses keys as soon as a request is in sight: at no load of this machine is that later than half a second."""


async def test_after_five_equal_answers_another_kind_asks_for_a_second_key(person: Page, house: DemoServer) -> None:
    # It is the oldest and the least urgent, so that it comes last.
    other = ask(house, "Drop it?", action={"name": "drop", "args": {"table": "orders"}}, priority="low")
    alike = [ask(house, f"Pay {n}?", action={"name": "pay", "args": {"n": n}}) for n in range(5)]
    await opened(person, house, alike[0])
    detail = person.get_by_test_id("request-detail")
    await person.evaluate(AT_ONCE, other["id"])
    for _ in alike:
        id = await detail.get_attribute("data-id")
        await press(person, "a")
        await expect(detail).not_to_have_attribute("data-id", str(id), timeout=WAIT)
    assert [decided(house, each)["decision"] for each in alike] == ["approve"] * 5
    await expect(detail).to_have_attribute("data-id", other["id"])
    await expect(person.locator("body")).to_have_attribute("data-pressed", "200")
    await expect(detail.get_by_test_id("confirm-reject")).to_have_count(0)
    await person.evaluate(QUIET)
    await person.keyboard.down("a")
    await person.keyboard.down("a")
    await person.keyboard.up("a")
    assert stored(house, other)["status"] == "pending"
    await expect(detail.get_by_test_id("beat")).to_be_visible()
    await person.evaluate(QUIET)
    await expect(detail.get_by_test_id("beat")).to_contain_text("press “a” again")
    await expect(detail.get_by_test_id("decide-approve")).to_have_attribute("data-armed", "true")
    # The light around the button has its room in the bar, which cuts what does not fit.
    bar, button = [await detail.get_by_test_id(f"decide{end}").bounding_box() for end in ("", "-approve")]
    assert bar
    assert button
    assert button["x"] - bar["x"] >= 5
    await picture(person, "beat")
    await person.evaluate(QUIET)
    await press(person, "a")
    assert decided(house, other)["decision"] == "approve"


async def test_a_key_right_after_another_kind_appears_decides_nothing(person: Page, house: DemoServer) -> None:
    other = ask(house, "Drop it?", action={"name": "drop", "args": {}}, priority="low")
    first = ask(house, "Pay?", action={"name": "pay", "args": {}})
    await opened(person, house, first)
    detail = person.get_by_test_id("request-detail")
    await person.evaluate(AT_ONCE, other["id"])
    await press(person, "a")
    await expect(detail).to_have_attribute("data-id", other["id"], timeout=WAIT)
    await expect(person.locator("body")).to_have_attribute("data-pressed", "200")
    await expect(detail.get_by_test_id("confirm-reject")).to_have_count(0)
    assert stored(house, other)["status"] == "pending"
    await person.evaluate(QUIET)
    await press(person, "r", "Enter")
    assert decided(house, other)["decision"] == "reject"
