"""One request in a real browser: a person decides by keys, and the agent gets exactly that."""

from __future__ import annotations

import asyncio
import json

import pytest
from playwright.async_api import Browser, Page, Route, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import REFUND, ask, decided, opened, press, respond, somebody, stored
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(120)


@MAIN
async def test_a_routine_approval_takes_one_key_and_a_held_key_decides_once(person: Page, house: DemoServer) -> None:
    first, second = (ask(house, f"Refund {order}?", action=REFUND) for order in (1, 2))
    await opened(person, house, second)
    await person.keyboard.down("a")
    assert decided(house, second)["decision"] == "approve"
    await expect(person.get_by_test_id("request-detail")).not_to_have_attribute("data-id", second["id"], timeout=WAIT)
    await person.keyboard.down("a")
    await person.keyboard.up("a")
    await opened(person, house, first)
    await expect(person.get_by_test_id("decide-approve")).to_be_enabled()


async def test_a_reason_chosen_by_number_reaches_the_agent_word_for_word(person: Page, house: DemoServer) -> None:
    house.run("refused", "refund", {"order": 7, "amount": 40})
    (request,) = house.until("refused", "interrupted")["pending"]
    await opened(person, house, request)
    await press(person, "r", "4", "2", "4", "3")
    box = person.get_by_test_id("reject-reason")
    await expect(box).to_have_value("Not needed\nNeeds more information")
    await expect(person.get_by_test_id("reason-2")).to_have_attribute("aria-checked", "true")
    await expect(person.get_by_test_id("reason-4")).to_have_attribute("aria-checked", "false")
    await press(person, "0", "End")
    await person.keyboard.type(": which parcel?")
    value = await box.input_value()
    await press(person, "Control+Enter")
    assert decided(house, request)["message"] == value == "Not needed\nNeeds more information: which parcel?"
    assert house.until("refused", "done")["values"]["outcome"] == f"rejected: {value}"


async def test_words_typed_on_the_reasons_are_written_and_send_nothing(person: Page, house: DemoServer) -> None:
    ask(house, "Refund another?", action=REFUND)
    request = ask(house, "Refund?", action=REFUND)
    detail = await opened(person, house, request)
    box, first = detail.get_by_test_id("reject-reason"), detail.get_by_test_id("reason-1")
    await person.keyboard.down("r")
    await expect(first).to_be_focused()
    await person.keyboard.down("r")
    await person.keyboard.up("r")
    await press(person, "Control+b", "Alt+m", "ArrowDown", "2")
    await expect(first).to_be_focused()
    await expect(box).to_have_value("Not needed")
    await press(person, *"don't: just 2 left")
    await expect(box).to_have_value("Not needed\ndon't: just 2 left")
    assert stored(house, request)["status"] == "pending"
    await press(person, "Control+Enter")
    assert decided(house, request)["message"] == "Not needed\ndon't: just 2 left"


async def test_a_word_of_an_input_method_on_the_reasons_is_composed_in_the_text(
    person: Page, house: DemoServer
) -> None:
    detail = await opened(person, house, ask(house, "Refund?", action=REFUND))
    await press(person, "r")
    keyboard, box = await person.context.new_cdp_session(person), detail.get_by_test_id("reject-reason")
    of_input_method = {"key": "Process", "windowsVirtualKeyCode": 229}
    await keyboard.send("Input.dispatchKeyEvent", {"type": "rawKeyDown", **of_input_method})
    for text in ("き", "きん", "きんが", "きんがく"):
        await keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": 1, "selectionEnd": 1})
    await keyboard.send("Input.insertText", {"text": "金額"})
    await expect(box).to_have_value("金額")


async def test_an_edit_shows_what_changes_and_the_agent_runs_just_that(person: Page, house: DemoServer) -> None:
    house.run("edited", "refund", {"order": 7, "amount": 4000})
    (request,) = house.until("edited", "interrupted")["pending"]
    await opened(person, house, request)
    await press(person, "e")
    await expect(person.get_by_test_id("confirm-edit")).to_be_disabled()
    order, amount = (person.get_by_test_id(f"arg-{name}").get_by_role("spinbutton") for name in ("order", "amount"))
    await expect(order).to_be_focused()
    await person.keyboard.type("8")
    await expect(person.get_by_test_id("signature")).to_contain_text("order=7 → 8")
    await person.get_by_test_id("change-order").get_by_role("button").click()
    await expect(order).to_have_value("7")
    await amount.fill("3500")
    await expect(person.get_by_test_id("signature")).to_have_text("refund(amount=4000 → 3500, …)")
    await expect(person.get_by_test_id("change-amount")).to_contain_text("4000→3500")
    await press(person, "Enter")
    assert decided(house, request)["args"] == {"order": 7, "amount": 3500}
    assert house.until("edited", "done")["values"]["outcome"] == "refunded 3500"


@MAIN
async def test_an_argument_is_edited_by_its_schema_and_a_nested_one_place_by_place(
    person: Page, house: DemoServer
) -> None:
    args = {"way": "card", "amount": 40, "lines": [{"sku": "A", "n": 1}, {"sku": "B", "n": 2}], "note": None}
    properties = {"way": {"enum": ["card", "cash"]}, "amount": {"type": "integer", "minimum": 1, "maximum": 50}}
    schema = {"type": "object", "properties": properties}
    request = ask(house, "Pay?", action={"name": "pay", "args": args, "schema": schema})
    await opened(person, house, request)
    await press(person, "e")
    await person.get_by_test_id("arg-way").get_by_role("combobox").press("ArrowDown")
    await press(person, "ArrowDown", "Enter")
    await person.get_by_test_id("arg-lines").get_by_test_id("edit-json").click()
    lines = person.get_by_test_id("arg-lines").get_by_role("textbox")
    await lines.fill(json.dumps(args["lines"])[:-1])
    await expect(person.get_by_test_id("arg-lines").get_by_test_id("json-error")).not_to_be_empty()
    await lines.fill(json.dumps([{"sku": "A", "n": 1}, {"sku": "B", "n": 3}]))
    await expect(person.get_by_test_id("change-lines")).to_contain_text("[1].n 2→3")
    amount = person.get_by_test_id("arg-amount")
    await amount.get_by_role("spinbutton").fill("99")
    await press(person, "Enter")
    await expect(amount.get_by_test_id("field-error")).to_be_visible(timeout=WAIT)
    await expect(amount.get_by_role("spinbutton")).to_be_focused()
    await amount.get_by_role("spinbutton").fill("45")
    await press(person, "Enter")
    changed = {**args, "way": "cash", "amount": 45, "lines": [{"sku": "A", "n": 1}, {"sku": "B", "n": 3}]}
    assert decided(house, request)["args"] == changed


async def test_words_may_ask_back_where_that_is_allowed(person: Page, house: DemoServer) -> None:
    request = ask(house, "Refund?", action=REFUND, allowed=["approve", "reject", "respond"])
    await opened(person, house, request)
    await press(person, "d")
    await person.keyboard.type("Which order?")
    await press(person, "Enter")
    await person.keyboard.type("And why?")
    await press(person, "Control+Enter")
    response = decided(house, request)
    assert (response["decision"], response["message"]) == ("respond", "Which order?\nAnd why?")


async def test_escape_leaves_a_step_and_gives_the_focus_back(person: Page, house: DemoServer) -> None:
    request = ask(house, "Refund?", action=REFUND, description="late")
    detail = await opened(person, house, request)
    for key, opener in (("e", "decide-edit"), ("r", "decide-reject")):
        await press(person, key, "Escape")
        await expect(detail.get_by_test_id(opener)).to_be_focused()
    await press(person, "Enter")
    await expect(detail.get_by_test_id("confirm-reject")).to_be_visible()
    assert stored(house, request)["status"] == "pending"


async def test_a_question_begins_in_its_text_and_is_sent_from_inside_it(person: Page, house: DemoServer) -> None:
    request = ask(house, "Which city?")
    detail = await opened(person, house, request)
    await expect(detail.get_by_role("textbox")).to_be_focused()
    await person.keyboard.type("car")
    await press(person, "Escape", "Enter", "End")
    await person.keyboard.type(" park")
    await press(person, "Control+Enter")
    assert decided(house, request)["message"] == "car park"


@WIDE
async def test_a_decision_without_a_server_is_given_back_and_can_be_sent_again(person: Page, house: DemoServer) -> None:
    request = ask(house, "Refund?", action=REFUND)
    detail = await opened(person, house, request)
    await person.context.set_offline(True)
    await press(person, "r", "1", "Enter")
    await expect(detail.get_by_test_id("error")).to_contain_text("cannot be reached", timeout=WAIT)
    await expect(detail.get_by_test_id("reject-reason")).to_have_value("Wrong amount or data")
    await person.context.set_offline(False)
    await detail.get_by_test_id("retry").click()
    assert decided(house, request)["message"] == "Wrong amount or data"


@pytest.mark.parametrize(("status", "words"), [(503, "too busy"), (429, "Too many")])
async def test_a_refusal_of_the_moment_says_so_and_loses_nothing(
    person: Page, house: DemoServer, status: int, words: str
) -> None:
    request = ask(house, "Which city?")
    detail = await opened(person, house, request)

    async def refuse(route: Route) -> None:
        await expect(detail.get_by_test_id("decide-respond")).to_contain_text("Sending")
        await route.fulfill(status=status, json={"title": "no", "status": status, "detail": "later"})

    await person.route("**/respond", refuse, times=1)
    await expect(detail.get_by_role("textbox")).to_be_focused()
    await person.keyboard.type("Kyoto")
    await press(person, "Control+Enter")
    await expect(detail.get_by_test_id("error")).to_contain_text(words, timeout=WAIT)
    await expect(detail.get_by_role("textbox")).to_have_value("Kyoto")
    await detail.get_by_test_id("retry").click()
    assert decided(house, request)["message"] == "Kyoto"


@MAIN
async def test_what_was_typed_survives_a_reload_and_a_lost_race(person: Page, house: DemoServer) -> None:
    request = ask(house, "Refund?", action=REFUND)
    await opened(person, house, request)
    await press(person, "e")
    await person.get_by_test_id("arg-amount").get_by_role("spinbutton").fill("3500")
    await press(person, "Escape", "r", "5")
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("reject-reason")).to_have_value("Too risky", timeout=WAIT)
    await press(person, "Escape")
    await expect(detail.get_by_test_id("unsent-edits")).to_be_visible()
    await press(person, "e")
    await expect(detail.get_by_test_id("change-amount")).to_contain_text("4000→3500")
    respond(house, request, decision="approve")
    await expect(detail.get_by_test_id("ended")).to_contain_text("approved by")
    await expect(detail.get_by_test_id("arg-amount").get_by_role("spinbutton")).to_have_value("3500")
    await person.reload()
    await expect(person.get_by_test_id("record")).to_contain_text("approved by", timeout=WAIT)
    await expect(person.get_by_test_id("unsent-draft")).to_contain_text("Too risky")
    await expect(person.get_by_test_id("unsent-draft")).to_contain_text("amount: 3500")
    await person.get_by_test_id("discard-draft").click()
    await expect(person.get_by_test_id("unsent-draft")).to_have_count(0)


async def test_a_draft_is_dropped_with_its_decision_and_only_fifty_are_kept(person: Page, house: DemoServer) -> None:
    drafts = "Object.keys(localStorage).filter(key => key.startsWith('ringi.draft/')).length"
    old = 'for (let i = 0; i < 60; i++) localStorage.setItem(`ringi.draft/t/n/${i}/d`, `{"at": ${i}, "draft": {}}`)'
    request = ask(house, "Which city?")
    detail = await opened(person, house, request)
    await person.evaluate(old)
    await expect(detail.get_by_role("textbox")).to_be_focused()
    await person.keyboard.type("Kyoto")
    assert await person.evaluate(drafts) == 50
    assert await person.evaluate("localStorage.getItem('ringi.draft/t/n/10/d')") is None
    await press(person, "Control+Enter")
    assert decided(house, request)["message"] == "Kyoto"
    await expect(detail.get_by_test_id("decide")).to_have_count(0, timeout=WAIT)
    assert await person.evaluate(drafts) == 49


@MAIN
async def test_of_two_people_at_once_one_decides_and_the_other_learns_who_did(
    person: Page, browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "Refund?", action=REFUND)
    bob = await somebody(browser, house, "bob")
    pages = [person, bob]
    details = [await opened(page, house, request) for page in pages]
    await asyncio.gather(press(person, "a"), press(bob, "r", "1", "Enter"))
    winner = decided(house, request)
    lost = details[0] if winner["responder"] == "bob" else details[1]
    words = {"approve": "approved", "reject": "rejected"}[winner["decision"]]
    await expect(lost.get_by_test_id("ended")).to_contain_text(f"{words} by {winner['responder']}", timeout=WAIT)
    for button in await lost.locator("[data-testid^=decide-], [data-testid^=confirm-]").all():
        await expect(button).to_be_disabled()
    await bob.context.close()


@WIDE
async def test_a_request_that_expires_while_it_is_open_says_what_came_of_it(person: Page, house: DemoServer) -> None:
    request = ask(house, "Which city?", expires_in=8, fallback={"city": "Kyoto"})
    detail = await opened(person, house, request)
    await expect(detail.get_by_role("textbox")).to_be_focused()
    await person.keyboard.type("Osa")
    ended = detail.get_by_test_id("ended")
    await expect(ended).to_contain_text("expired at")
    await expect(ended.get_by_test_id("fallback")).to_contain_text("Kyoto")
    await expect(detail.get_by_test_id("decide-respond")).to_be_disabled()
    box = detail.get_by_role("textbox")
    await expect(box).not_to_be_editable()
    await box.select_text()
    assert await person.evaluate("document.getSelection().toString()") == "Osa"


async def test_a_deadline_turns_amber_in_its_last_fifth(person: Page, house: DemoServer) -> None:
    await person.clock.install()
    request = ask(house, "Which city?", expires_in=1000)
    detail = await opened(person, house, request)
    ring = detail.get_by_test_id("deadline-ring")
    await expect(ring).to_have_attribute("data-late", "false")
    await person.clock.fast_forward(780_000)
    await expect(detail.get_by_test_id("deadline")).to_contain_text("3:3")
    await expect(ring).to_have_attribute("data-late", "false")
    await person.clock.fast_forward(60_000)
    await expect(ring).to_have_attribute("data-late", "true")
    await expect(detail.get_by_test_id("age")).to_have_text("14 minutes ago")


@WIDE
async def test_nothing_ran_when_an_approval_was_withdrawn_and_the_page_says_why(
    person: Page, house: DemoServer
) -> None:
    request = ask(house, "Refund?", action=REFUND)
    detail = await opened(person, house, request)
    with house.client("agent") as client:
        client.post(f"/v1/requests/{request['id']}/cancel", json={"reason": "paid"}).raise_for_status()
    ended = detail.get_by_test_id("ended")
    await expect(ended).to_contain_text("cancelled by agent")
    await expect(ended).to_contain_text("paid")
    await expect(ended).to_contain_text("Nothing ran.")
