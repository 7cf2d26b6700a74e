"""Whose a request is: who holds it, who gave it to whom, what happened; on a phone and in Japanese."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import REFUND, ask, decided, opened, press, respond, sign_in, somebody, stored
from tests.tiers import WIDE

pytestmark = pytest.mark.timeout(120)
ABOVE_THE_BUTTONS = """() => {
  window.scrollTo(0, document.body.scrollHeight);
  const placed = (id) => document.querySelector(`[data-testid=${id}]`).getBoundingClientRect();
  const [history, buttons] = ["history", "decide"].map(placed);
  return history.top >= 0 && history.bottom <= buttons.top + 1;
}"""
"""Whether the history ends above the buttons after scrolling to the end, which moves as long as parts come."""


@WIDE
async def test_a_claim_keeps_others_from_deciding_and_says_who_holds_it(
    person: Page, browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "Refund?", action=REFUND)
    bob = await somebody(browser, house, "bob")
    mine, theirs = [await opened(page, house, request) for page in (person, bob)]
    await press(person, "c")
    await expect(mine.get_by_test_id("claimed-by-you")).to_be_visible(timeout=WAIT)
    await expect(theirs.get_by_test_id("blocked")).to_contain_text("has claimed this until", timeout=WAIT)
    await expect(theirs.get_by_test_id("decide-approve")).to_be_disabled()
    await press(bob, "a", "r")
    await expect(theirs.get_by_test_id("confirm-reject")).to_have_count(0)
    assert stored(house, request)["status"] == "pending"
    await press(person, "u")
    await expect(theirs.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await press(bob, "a")
    assert decided(house, request)["responder"] == "bob"
    await bob.context.close()


@WIDE
async def test_who_passes_a_request_on_does_not_see_it_any_more_and_the_other_does(
    person: Page, browser: Browser, house: DemoServer
) -> None:
    sign_in(house, "carol", "finance")
    sign_in(house, "dave")
    request = ask(house, "Refund?", action=REFUND)
    await opened(person, house, request)
    await person.get_by_test_id("reassign").click()
    await press(person, "Tab")
    await person.keyboard.type("finance,")
    await person.get_by_test_id("confirm-reassign").click()
    await expect(person.get_by_test_id("unavailable")).to_contain_text("Reassigned to group finance", timeout=WAIT)
    carol = await somebody(browser, house, "carol", groups=("finance",))
    detail = await opened(carol, house, request)
    await expect(detail.get_by_test_id("assigned-to")).to_contain_text("finance")
    await carol.get_by_test_id("reassign").click()
    await carol.keyboard.type("dave")
    await press(carol, "Enter")
    await expect(carol.get_by_test_id("unavailable")).to_contain_text("Reassigned to dave", timeout=WAIT)
    assert stored(house, request)["assignee"] == "dave"
    await carol.context.close()


async def test_who_asked_may_read_what_is_given_to_others_but_not_decide_it(
    browser: Browser, house: DemoServer
) -> None:
    with house.client("person") as client:
        me = client.get("/v1/session").json()["name"]
        body = {"title": "May I?", "action": REFUND, "assignee": "somebody else"}
        request = client.post("/v1/requests", json=body).raise_for_status().json()
    page = await somebody(browser, house, me)
    detail = await opened(page, house, request)
    await expect(detail.get_by_test_id("blocked")).to_contain_text("for somebody else", timeout=WAIT)
    await expect(detail.get_by_test_id("decide-approve")).to_be_disabled()
    await page.context.close()


@WIDE
async def test_the_history_says_who_did_what_and_names_both_digests(person: Page, house: DemoServer) -> None:
    request = ask(house, "Refund?", action=REFUND)
    detail = await opened(person, house, request)
    await press(person, "c")
    await expect(detail.get_by_test_id("release")).to_be_visible(timeout=WAIT)
    await press(person, "u")
    await expect(detail.get_by_test_id("claim")).to_be_visible(timeout=WAIT)
    respond(house, request, decision="edit", args={"order": 1182, "amount": 1})
    await expect(detail.get_by_test_id("ended")).to_be_visible(timeout=WAIT)
    await expect(detail.get_by_test_id("history-event")).to_have_count(0)
    await detail.get_by_test_id("history").locator("summary").click()
    events = detail.get_by_test_id("history-event")
    await expect(events).to_have_count(4, timeout=WAIT)
    types = [await event.get_attribute("data-type") for event in await events.all()]
    assert types == [f"request.{what}" for what in ("created", "claimed", "released", "completed")]
    await expect(events.first).to_contain_text("agent · created")
    await expect(events.first.locator("code")).to_have_attribute("title", request["digest"])
    await expect(events.last).to_contain_text("admin · approved with changes")
    authorised = stored(house, request)["response"]["authorised_digest"]
    await expect(events.last.locator("code")).to_have_attribute("title", authorised)
    assert authorised != request["digest"]
    hover = await events.last.locator("time").get_attribute("title")
    assert hover
    assert request["created_at"][:4] in hover


@WIDE
async def test_with_two_questions_open_the_keys_belong_to_the_one_with_the_focus(
    person: Page, house: DemoServer
) -> None:
    house.run("pair", "two_questions", {})
    first, second = house.until("pair", "interrupted")["pending"]
    await person.goto(f"{house.url}/t/pair")
    cards = [person.locator(f"[data-testid=request-detail][data-id='{one['id']}']") for one in (first, second)]
    await expect(cards[1]).to_be_visible(timeout=WAIT)
    await press(person, "r")
    await expect(person.get_by_test_id("confirm-reject")).to_have_count(0)
    await cards[0].locator("h2").click()
    await press(person, "r")
    await expect(cards[0].get_by_test_id("confirm-reject")).to_be_visible()
    await expect(cards[1].get_by_test_id("confirm-reject")).to_have_count(0)
    await press(person, "Enter")
    assert decided(house, first)["decision"] == "reject"
    assert stored(house, second)["status"] == "pending"


async def test_on_a_phone_the_buttons_stay_at_the_thumb_and_hide_nothing(browser: Browser, house: DemoServer) -> None:
    page = await somebody(browser, house, "ann", viewport={"width": 390, "height": 844}, has_touch=True)
    long = ask(house, "Refund?", action=REFUND, description="\n".join(f"line {n}" for n in range(90)))
    short = ask(house, "Which city?")
    for request in (long, short):
        detail = await opened(page, house, request)
        bar = detail.get_by_test_id("decide")
        box = await bar.bounding_box()
        assert box
        assert abs(box["y"] + box["height"] - 844) < 2
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        for button in await bar.locator(".button-bar button").all():
            size = await button.bounding_box()
            assert size
            assert size["height"] >= 44
        await expect(detail.get_by_test_id("history")).to_have_count(1)
        await page.keyboard.press("End")
        await page.wait_for_function(ABOVE_THE_BUTTONS, timeout=WAIT)
    await page.get_by_role("textbox").tap()
    await page.keyboard.type("Kyoto")
    await page.get_by_test_id("decide-respond").tap()
    assert decided(house, short)["message"] == "Kyoto"
    await page.context.close()


async def test_on_a_phone_to_claim_and_to_pass_on_take_one_button_beside_the_decisions(
    browser: Browser, house: DemoServer
) -> None:
    page = await somebody(browser, house, "ann", viewport={"width": 390, "height": 844}, has_touch=True)
    request = ask(house, "Refund?", action=REFUND, actions={"reject": {"label": "Yes, go on"}})
    detail = await opened(page, house, request)
    await expect(detail.get_by_test_id("decide-reject")).to_have_text("Reject “Yes, go on”r")
    more = detail.get_by_test_id("more-actions")
    assert await detail.locator(".claim-controls").count() == 0
    reject, beside = await detail.get_by_test_id("decide-reject").bounding_box(), await more.bounding_box()
    assert reject
    assert beside
    assert reject["y"] == beside["y"]
    await more.tap()
    await page.get_by_test_id("claim").tap()
    await expect(detail.get_by_test_id("claimed-by")).to_contain_text("ann", timeout=WAIT)
    await more.tap()
    await expect(page.get_by_role("menuitem").first).to_contain_text("Claimed by you until")
    await page.get_by_test_id("reassign").tap()
    await expect(detail.get_by_test_id("reassign-person").get_by_role("combobox")).to_be_focused()
    await detail.get_by_test_id("back-to-decision").tap()
    await expect(more).to_be_focused()
    await page.context.close()


async def test_a_request_is_passed_to_somebody_from_the_list_of_known_people_by_keys(
    browser: Browser, house: DemoServer
) -> None:
    page = await somebody(browser, house, "ann")
    decided_by_admin = ask(house, "Known?", action=REFUND)
    with house.client("admin") as admin:
        name = admin.get("/v1/session").json()["name"]
        answer = {"decision": "approve", "digest": decided_by_admin["digest"]}
        admin.post(f"/v1/requests/{decided_by_admin['id']}/respond", json=answer).raise_for_status()
    request = ask(house, "Refund?", action=REFUND)
    detail = await opened(page, house, request)
    await detail.get_by_test_id("reassign").click()
    await page.keyboard.type(name[:3])
    option = page.locator(".ant-select-item-option", has_text=name)
    await expect(option).to_be_visible(timeout=WAIT)
    await press(page, "ArrowDown")
    await expect(option).to_have_class(re.compile("option-active"))
    await press(page, "Enter")
    await expect(detail.get_by_test_id("reassign-person").get_by_role("combobox")).to_have_value(name)
    await press(page, "Enter")
    await expect(page.get_by_text(f"assigned to {name}")).to_be_visible(timeout=WAIT)
    assert stored(house, request)["assignee"] == name
    await page.context.close()


async def test_in_japanese_the_page_and_the_reason_are_japanese(browser: Browser, house: DemoServer) -> None:
    page = await somebody(browser, house, "hanako", locale="ja-JP")
    request = ask(house, "注文 1182 を返金しますか？", action=REFUND, expires_in=600)
    detail = await opened(page, house, request)
    await expect(detail.get_by_test_id("facts")).to_contain_text("実行される内容")
    for decision, words in {"approve": "承認", "edit": "修正", "reject": "却下"}.items():
        await expect(detail.get_by_test_id(f"decide-{decision}")).to_contain_text(words)
    await press(page, "r", "3", "Enter")
    assert decided(house, request)["message"] == "情報が足りない"
    await page.goto(f"{house.url}/r/{request['id']}")
    await expect(page.get_by_test_id("record")).to_contain_text("却下（hanako", timeout=WAIT)
    await page.context.close()
