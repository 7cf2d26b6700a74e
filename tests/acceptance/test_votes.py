"""Several people decide, an answer can be undone, and rules exclude people: what each of them sees on the page."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import QUIET, REFUND, ask, choose, decided, opened, press, somebody, stored
from tests.tiers import MAIN, WIDE

pytestmark = pytest.mark.timeout(180)
AXE = Path(__file__).parents[2] / "ui/node_modules/axe-core/axe.min.js"
STAGES = [{"groups": ["finance"], "count": 2}, {"groups": ["legal"]}]
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
PICTURES = os.environ.get("RINGI_TEST_PICTURES")
"""A folder for pictures of what a person sees."""


async def picture(page: Page, name: str) -> None:
    """Check a view for accessibility and width; save a picture of it where somebody wants to look."""
    await page.evaluate(AXE.read_text())
    result = await page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa']})")
    assert [(each["id"], each["nodes"][0]["html"]) for each in result["violations"]] == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if PICTURES:
        await page.screenshot(path=f"{PICTURES}/{name}-light.png")
        await page.emulate_media(color_scheme="dark")
        await page.wait_for_function("new Promise((done) => setTimeout(() => done(true), 600))")
        await page.screenshot(path=f"{PICTURES}/{name}-dark.png")
        await page.emulate_media(color_scheme="light")


def vote(house: DemoServer, request: dict[str, Any], name: str, group: str, **answer: Any) -> None:
    """Vote by the API as somebody of a group."""
    token = house.token("person", name, (group,))
    headers = {"authorization": f"Bearer {token}"}
    body = {"decision": "approve", "digest": request["digest"], **answer}
    reply = httpx.post(f"{house.url}/v1/requests/{request['id']}/respond", json=body, headers=headers)
    assert reply.status_code in (200, 202), reply.text


async def answered(house: DemoServer, request: dict[str, Any], votes: int = 1) -> None:
    """Wait until the server has a vote or a held answer; the page then shows the next request."""
    for _ in range(100):
        found = stored(house, request)
        if found.get("held") or len(found.get("votes", ())) >= votes:
            return
    raise AssertionError(f"nobody answered: {found}")


async def seen(page: Page, house: DemoServer, request: dict[str, Any]) -> Locator:
    """Open a request that has ended."""
    await page.goto(f"{house.url}/r/{request['id']}")
    return page.locator(f"[data-testid=request-detail][data-id='{request['id']}']")


@MAIN
async def test_a_vote_is_seen_and_the_last_one_completes_with_all_names(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay ¥900,000?", action=REFUND, quorum=STAGES, tier="irreversible", escalation=[
        {"after": 3600, "to": ["boss", "group:board"]}
    ])  # fmt: skip
    vote(house, request, "bob", "finance", message="I called them.")
    ann = await somebody(browser, house, "ann", groups=("finance",))
    detail = await opened(ann, house, request)
    lines = (await detail.get_by_test_id("vote").inner_text()).splitlines()
    assert lines[1:] == ["I called them."]
    await expect(detail.get_by_test_id("tier")).to_have_text("Cannot be undone")
    await expect(detail.get_by_test_id("escalation")).to_contain_text("goes to boss and group board at")
    await expect(detail.get_by_test_id("vote")).to_contain_text("bob · agreed")
    needed = detail.get_by_test_id("votes-needed")
    await expect(needed).to_have_text("Still needed: 1 of finance, then 1 of legal")
    await expect(detail.get_by_test_id("claim")).to_have_count(0)
    await picture(ann, "votes-desk")
    await press(ann, "a")
    await choose(ann, request)
    await press(ann, "Enter")
    await answered(house, request, votes=2)
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("own-vote")).to_have_text("You agreed. 1 more vote is missing.", timeout=WAIT)
    await expect(needed).to_have_text("Still needed: 1 of legal")
    await picture(ann, "voted-desk")
    vote(house, request, "lea", "legal")
    await expect(detail.get_by_test_id("record")).to_contain_text("approved by bob, ann, and lea", timeout=WAIT)
    await picture(ann, "vote-record-desk")
    await ann.context.close()


async def test_who_votes_later_reads_who_comes_first_and_can_reject(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay?", action=REFUND, quorum=STAGES)
    lea = await somebody(browser, house, "lea", groups=("legal",), locale="ja-JP")
    detail = await opened(lea, house, request)
    await expect(detail.get_by_test_id("blocked")).to_contain_text("先にグループ finance の投票が必要です")
    await expect(detail.get_by_test_id("decide-approve")).to_have_count(0)
    await picture(lea, "stage-ja")
    await press(lea, "r", "Enter")
    assert decided(house, request)["decision"] == "reject"
    await lea.context.close()


async def test_one_key_agrees_with_the_edit_of_an_earlier_voter(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay?", action=REFUND, quorum=[{"count": 2}])
    vote(house, request, "bob", "finance", decision="edit", args={"order": 1182, "amount": 3500})
    ann = await somebody(browser, house, "ann", **PHONE)
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("vote")).to_contain_text("amount: 4000→3500")
    await picture(ann, "edit-phone")
    await press(ann, "v")
    response = decided(house, request)
    detail = await seen(ann, house, request)
    assert (response["decision"], response["args"]["amount"]) == ("edit", 3500)
    await expect(detail.get_by_test_id("record")).to_contain_text("by bob and ann", timeout=WAIT)
    await ann.context.close()


@pytest.mark.parametrize(
    ("locale", "labels"),
    [
        ("en-GB", ("Approve the original", "Approve the edit")),
        ("ja-JP", ("元の内容を承認", "修正を承認")),
        ("zh-CN", ("批准原内容", "批准修改")),
    ],
)
async def test_beside_an_edit_each_approval_says_which_values_it_approves(
    browser: Browser, house: DemoServer, locale: str, labels: tuple[str, str]
) -> None:
    # Only the arguments that the schema names may be left out.
    action = {
        "name": "refund",
        "args": {"order": 1182, "amount": 4000, "note": "late"},
        "schema": {"type": "object", "properties": {"note": {"type": "string"}}},
    }
    request = ask(house, "Pay?", action=action, quorum=[{"count": 2}])
    vote(house, request, "bob", "finance", decision="edit", args={"order": 1182, "amount": 3500})
    ann = await somebody(browser, house, "ann", locale=locale)
    detail = await opened(ann, house, request)
    approve, agree = detail.get_by_test_id("decide-approve"), detail.get_by_test_id("agree-edit")
    await expect(agree).to_have_accessible_description(re.compile("bob.*amount=3500.*amount=4000, note=.late", re.S))
    for button, label, is_primary in ((approve, labels[0], False), (agree, labels[1], True)):
        await expect(button).to_contain_text(label)
        assert ("ant-btn-primary" in str(await button.get_attribute("class"))) is is_primary
    await expect(detail.get_by_test_id("vote")).to_contain_text("note: ")
    await picture(ann, f"proposal-{locale}")
    await press(ann, "a")
    await answered(house, request, votes=2)
    assert stored(house, request)["status"] == "pending"
    await ann.context.close()


async def test_ones_own_vote_can_be_changed(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay?", action=REFUND, quorum=[{"count": 2}])
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, request)
    await press(ann, "a")
    await answered(house, request)
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("own-vote")).to_contain_text("You agreed. 1 more vote is missing.", timeout=WAIT)
    await detail.get_by_test_id("change-vote").click()
    await press(ann, "r", "Enter")
    assert decided(house, request)["decision"] == "reject"
    await ann.context.close()


@WIDE
async def test_a_held_answer_counts_down_by_the_servers_clock_and_is_undone(
    browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "Refund?", action=REFUND, hold=30)
    ann, bob = [await somebody(browser, house, name) for name in ("ann", "bob")]
    # A computer whose clock is ten minutes late.
    await ann.add_init_script("{ const now = Date.now.bind(Date); Date.now = () => now() - 600_000 }")
    mine, theirs = [await opened(page, house, request) for page in (ann, bob)]
    await press(ann, "a")
    await answered(house, request)
    mine = await opened(ann, house, request)
    held = mine.get_by_test_id("held-answer")
    await expect(held).to_contain_text("Approved by you. Takes effect in", timeout=WAIT)
    left = int("".join(filter(str.isdigit, await mine.get_by_test_id("held-countdown").inner_text())))
    assert 20 <= left <= 32
    await expect(theirs.get_by_test_id("blocked")).to_contain_text("ann has just approved this; it takes effect at")
    await expect(theirs.get_by_test_id("decide-approve")).to_be_disabled()
    await picture(ann, "held-desk")
    await press(ann, "u")
    await expect(mine.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await expect(theirs.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    assert "held" not in stored(house, request)
    await mine.get_by_test_id("history").locator("summary").click()
    await expect(mine.get_by_test_id("history-event").nth(1)).to_contain_text("approved, takes effect at", timeout=WAIT)
    for page in (ann, bob):
        await page.context.close()


async def test_a_held_answer_becomes_final_by_itself(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Refund?", action=REFUND, hold=4)
    ann = await somebody(browser, house, "ann")
    await opened(ann, house, request)
    await press(ann, "a")
    await answered(house, request)
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("held-answer")).to_be_visible(timeout=WAIT)
    await expect(detail.get_by_test_id("record")).to_contain_text("approved by ann", timeout=WAIT)
    assert stored(house, request)["response"]["released_at"]
    await ann.context.close()


async def test_in_the_inbox_the_next_opens_and_the_key_still_undoes_the_held_one(
    browser: Browser, house: DemoServer
) -> None:
    ask(house, "The older question", action=REFUND)
    request = ask(house, "The held question", action=REFUND, hold=30)
    pages = [await somebody(browser, house, "ann"), await somebody(browser, house, "dora", **PHONE)]
    for page, name in zip(pages, ("desk", "phone"), strict=True):
        await page.goto(f"{house.url}/")
        await page.locator(f"[data-testid=request-row][data-id='{request['id']}'] a").click()
        detail = page.locator(f"[data-testid=request-detail][data-id='{request['id']}']")
        await expect(detail.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
        await press(page, "a")
        notice = page.locator(f"[data-testid=held-answer][data-id='{request['id']}']")
        await expect(notice).to_contain_text("The held question", timeout=WAIT)
        await expect(detail).to_have_count(0)
        await picture(page, f"held-elsewhere-{name}")
        if name == "desk":
            boxes = [await each.bounding_box() for each in (page.locator(".inbox-scroll"), notice)]
            assert boxes[0]
            assert boxes[1]
            assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]  # No row lies below it.
        await press(page, "u")
        await expect(notice).to_have_count(0, timeout=WAIT)
        assert "held" not in stored(house, request)
        await page.context.close()


async def test_on_a_phone_an_answer_that_can_be_undone_covers_no_button(browser: Browser, house: DemoServer) -> None:
    held = ask(house, "The held question", action=REFUND, hold=30)
    other = ask(house, "Done?", kind="finish", context={"task": "write", "summary": "word " * 600})
    ann = await somebody(browser, house, "ann", **PHONE)
    await opened(ann, house, held)
    await press(ann, "a")
    await answered(house, held)
    detail = await opened(ann, house, other)
    notice = ann.locator(f"[data-testid=held-answer][data-id='{held['id']}']")
    await expect(notice).to_be_visible(timeout=WAIT)
    for key in ("", "r"):
        if key:
            await ann.evaluate(QUIET)
            await press(ann, key)
        one, bar = [await each.bounding_box() for each in (notice, detail.get_by_test_id("decide"))]
        assert one
        assert bar
        assert one["y"] + one["height"] <= bar["y"]
    await ann.context.close()


@WIDE
async def test_who_asked_reads_why_another_person_must_decide(browser: Browser, house: DemoServer) -> None:
    with house.client("person") as client:
        me = client.get("/v1/session").json()["name"]
        body = {"title": "May I?", "action": REFUND, "exclude": ["starter"]}
        request = client.post("/v1/requests", json=body).raise_for_status().json()
    page = await somebody(browser, house, me)
    detail = await opened(page, house, request)
    await expect(detail.get_by_test_id("blocked")).to_have_text("You asked for this; another person must decide.")
    await expect(detail.get_by_test_id("decide-approve")).to_have_count(0)
    await press(page, "a")
    assert stored(house, request)["status"] == "pending"
    await page.context.close()


@WIDE
async def test_an_administrator_decides_alone_with_a_reason(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay?", action=REFUND, quorum=STAGES)
    root = await somebody(browser, house, "root", role="admin")
    detail = await opened(root, house, request)
    await detail.get_by_test_id("override").click()
    await expect(detail.get_by_test_id("approve-anyway")).to_be_disabled()
    await root.keyboard.type("Both are ill")
    await picture(root, "override-desk")
    await detail.get_by_test_id("approve-anyway").click()
    response = decided(house, request)
    detail = await seen(root, house, request)
    await expect(detail.get_by_test_id("overridden")).to_be_visible(timeout=WAIT)
    await expect(detail.get_by_test_id("record")).to_contain_text("An administrator decided this alone: Both are ill")
    await picture(root, "overridden-desk")
    assert response["override"] == "Both are ill"
    await root.context.close()
