"""What is at stake: the effect that the tool's author declares, and the work that only the tier asks for."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import ask, choose, decided, opened, press, respond, right_answer, somebody, stored
from tests.acceptance.test_votes import picture
from tests.tiers import WIDE

from ringi import Policy
from ringi.connect import store_inbox
from ringi.policy.question import question_about_call
from ringi.server.serialize import public_request

pytestmark = pytest.mark.timeout(120)
CARD = {
    "effect": "pays money back",
    "target": "customer",
    "amount": "amount",
    "unit": "JPY",
    "limit": 3000,
    "reversible": False,
}
ARGS = {"customer": "c-77", "amount": 4000, "order": 1182}
NUMBER = itertools.count(1)


async def asked(
    house: DemoServer, tier: str | None = "irreversible", more: dict[str, Any] | None = None, **args: Any
) -> dict[str, Any]:
    """Ask as a run of the server does, with a policy that has a card."""
    policy = Policy.parse({"rules": [{"tools": ["refund"]}], "cards": {"refund": CARD | {"tier": tier}}})
    rule = policy.rule_of("refund", ARGS | args)
    ask = question_about_call(policy, rule, "refund", ARGS | args, facts={}).model_copy(
        update={**(more or {}), "id": f"declared-{next(NUMBER)}"}
    )
    async with store_inbox(f"sqlite:///{house.folder}/ringi.db") as inbox:
        return public_request(await inbox.for_tenant(house.tenant).submit(ask)).model_dump(mode="json")


WEIGHT = "part => [getComputedStyle(part).fontSize, getComputedStyle(part).fontWeight].map(parseFloat)"
"""The size and the weight of a text."""


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_call_weighs_more_than_the_title_that_its_agent_gave_it(
    browser: Browser, house: DemoServer, width: int
) -> None:
    args = {"amount": 4000, "to": "c-77", "why": "long " * 20}
    call = {"name": "payments.pay", "args": args, "schema": None}
    request = ask(house, "Pay ¥900,000?", action=call)
    ann = await somebody(browser, house, "ann", viewport={"width": width, "height": 844})
    detail = await opened(ann, house, request)
    title = detail.locator("h2")
    await expect(title).to_have_text("The agent says: Pay ¥900,000?")
    line = detail.get_by_test_id("effect-call")
    await expect(line).to_have_text("payments.pay · amount 4000 · to c-77 · …")
    assert (await title.evaluate(WEIGHT))[0] < (await line.evaluate(WEIGHT))[0]
    assert (await title.evaluate(WEIGHT))[1] < (await line.locator("code").first.evaluate(WEIGHT))[1]
    await press(ann, "e")
    await detail.get_by_test_id("arg-amount").get_by_role("spinbutton").fill("2500")
    await expect(line).to_contain_text("amount 4000 → 2500")
    detail = await opened(ann, house, await asked(house))
    # The rule gave this title.
    await expect(detail.locator("h2")).to_have_text("Run refund?")
    sizes = [(await detail.locator(each).evaluate(WEIGHT))[0] for each in ("h2", "[data-testid=effect]")]
    assert sizes[0] < sizes[1]
    await ann.context.close()


@WIDE
async def test_a_call_that_cannot_be_undone_is_confirmed_by_a_fact(person: Page, house: DemoServer) -> None:
    request = await asked(house)
    detail = await opened(person, house, request)
    effect = "pays money back · ¥4,000 · customer c-77 · cannot be undone · above the usual limit of ¥3,000"
    await expect(detail.get_by_test_id("effect")).to_have_text(effect)
    await press(person, "a")
    question = detail.get_by_test_id("fact-question")
    await expect(question.get_by_role("radio").first).to_be_focused()
    await expect(detail.get_by_test_id("confirm-stakes")).to_be_disabled()
    before = await question.locator("code").all_inner_texts()
    assert len(set(before)) == 4
    assert right_answer(request) in before
    await choose(person, request, right=False)
    await press(person, "Enter")
    await expect(detail.get_by_test_id("fact-wrong")).to_contain_text("Nothing was sent")
    assert await question.locator("code").all_inner_texts() != before
    await expect(detail.get_by_test_id("confirm-stakes")).to_be_disabled()
    assert stored(house, request)["status"] == "pending"
    await picture(person, "fact-wrong")
    await choose(person, request)
    await expect(question.get_by_role("radio", checked=True)).to_be_focused()
    await press(person, "Enter")
    assert decided(house, request)["decision"] == "approve"


@WIDE
async def test_an_edit_changes_the_effect_and_asks_about_the_edited_call(person: Page, house: DemoServer) -> None:
    request = await asked(house)
    detail = await opened(person, house, request)
    await press(person, "e")
    await detail.get_by_test_id("arg-amount").get_by_role("spinbutton").fill("2500")
    await expect(detail.get_by_test_id("effect")).to_contain_text("¥4,000 → ¥2,500")
    await expect(detail.get_by_test_id("effect").locator("del").last).to_have_text("above the usual limit of ¥3,000")
    await expect(detail.get_by_test_id("confirm-edit")).to_be_disabled()
    args = ARGS | {"amount": 2500}
    await detail.locator("h2").focus()
    await choose(person, {**request, "action": {**request["action"], "args": args}})
    await detail.get_by_test_id("confirm-edit").click()
    assert decided(house, request)["args"] == args


async def test_a_high_tier_takes_a_second_key_and_the_priority_takes_none(person: Page, house: DemoServer) -> None:
    for tier, keys in (("high", "a"), ("high", "aEnter"), ("medium", "a")):
        request = ask(house, f"Pay, {tier}?", action={"name": "pay", "args": {"n": 4}}, tier=tier, priority="urgent")
        detail = await opened(person, house, request)
        await press(person, "a")
        if keys == "aEnter":
            await press(person, "Enter")
        if tier == "high" and keys == "a":
            await expect(detail.get_by_test_id("look-again")).to_be_visible()
            assert stored(house, request)["status"] == "pending"
        else:
            assert decided(house, request)["decision"] == "approve"


async def test_a_rejection_never_asks_for_more(person: Page, house: DemoServer) -> None:
    request = await asked(house)
    await opened(person, house, request)
    await press(person, "r", "Enter")
    assert decided(house, request)["decision"] == "reject"


async def test_twice_as_large_the_buttons_of_a_decision_stay_in_sight(browser: Browser, house: DemoServer) -> None:
    request = await asked(house, None)
    ann = await somebody(browser, house, "ann", viewport={"width": 640, "height": 400})
    detail = await opened(ann, house, request)
    for part in ("effect", "decide-approve", "decide-edit", "decide-reject"):
        await expect(detail.get_by_test_id(part)).to_be_in_viewport(ratio=1)
    links = await ann.get_by_role("navigation").first.bounding_box()
    end = await ann.locator(".page-header-end").bounding_box()
    assert links
    assert end
    assert links["x"] + links["width"] <= end["x"]
    await ann.context.close()


@WIDE
async def test_what_an_agent_says_about_the_effect_is_not_declared(person: Page, house: DemoServer) -> None:
    card = {"effect": "reads one order", "reversible": True, "tier": "low", "amount": 1, "arguments": {"amount": "n"}}
    request = ask(house, "Read?", action={"name": "pay", "args": {"n": 4}}, context={"card": card})
    detail = await opened(person, house, request)
    await expect(detail.get_by_test_id("effect")).to_have_text("Effect not declared")
    await expect(detail.get_by_test_id("context")).to_contain_text("reads one order")
    await expect(detail.get_by_test_id("facts")).not_to_contain_text("reads one order")


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
async def test_effect_change_and_deadline_are_above_the_fold(
    browser: Browser, house: DemoServer, width: int, height: int
) -> None:
    before = await asked(house, "low", amount=2000)
    respond(house, before, decision="approve")
    prose = "The parcel was late and the customer asks for the money. " * 20
    rest = {f"detail_{number}": f"value {number}" for number in range(9)}
    request = await asked(house, "low", {"description": prose, "expires_in": 600.0}, **rest)
    ann = await somebody(browser, house, "root", role="admin", viewport={"width": width, "height": height})
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("precedent-last")).to_contain_text("2000", timeout=WAIT)
    for part in ("effect", "precedent-last", "deadline", "decide-approve"):
        await expect(detail.get_by_test_id(part)).to_be_in_viewport(ratio=1)
    assert len((await detail.get_by_test_id("agent-words").locator("p").inner_text()).split()) == 60
    await picture(ann, f"fold-{width}")
    await detail.locator("h2").focus()
    await press(ann, "o")
    assert len((await detail.get_by_test_id("agent-words").locator("p").inner_text()).split()) == len(prose.split())
    await press(ann, "a")
    assert decided(house, request)["decision"] == "approve"
    await ann.context.close()


@pytest.mark.parametrize(("locale", "width"), [("en-GB", 390), ("ja-JP", 1280), ("zh-CN", 390)])
async def test_the_question_can_be_read_and_reached(
    browser: Browser, house: DemoServer, locale: str, width: int
) -> None:
    request = await asked(house)
    ann = await somebody(browser, house, "ann", locale=locale, viewport={"width": width, "height": 844})
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("effect")).to_be_in_viewport(ratio=1, timeout=WAIT)
    await picture(ann, f"stakes-{locale}-{width}")
    await press(ann, "a")
    await expect(detail.get_by_role("radio").first).to_be_focused()
    await picture(ann, f"fact-{locale}-{width}")
    await ann.context.close()
