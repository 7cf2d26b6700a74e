"""The list of a person with little time: what is urgent leads, a flood is one row, and many are decided knowingly."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.office import Office, link, opened, row, show, shown_rows, until_rows
from tests.tiers import WIDE

from ringi import Policy, Rule
from ringi.domain.ask import Ask
from ringi.policy import ToolCard
from ringi.policy.question import question_about_call

pytestmark = pytest.mark.timeout(180)
SECTIONS = "headings => headings.map(heading => [heading.dataset.section, heading.textContent])"
CARDS = Policy(
    rules=(Rule(tools=("refund", "wire"), effect="ask"),),
    cards={
        "refund": ToolCard(effect="pays money back", target="order", amount="amount", unit="JPY", limit=5_000),
        "wire": ToolCard(effect="wires money", target="to", amount="amount", unit="JPY", tier="high"),
    },
)


@pytest.fixture
def office(house: DemoServer) -> Office:
    return Office(house)


@pytest_asyncio.fixture(loop_scope="session")
async def desk(browser: Browser) -> AsyncIterator[Page]:
    context = await browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB")
    yield await context.new_page()
    await context.close()


def due_in(**time: float) -> str:
    return (datetime.now(UTC) + timedelta(**time)).isoformat()


def call(id: str, tool: str = "refund", args: dict[str, Any] | None = None, **more: Any) -> Ask:
    """Return a question about a call."""
    action = {"name": tool, "args": {"order": id} if args is None else args}
    return Ask.parse({"id": id, "title": f"Run {tool}?", "action": action, **more})


def declared(id: str, tool: str, **args: Any) -> Ask:
    """Return the question of a policy about a call, with the card of its tool."""
    rule = CARDS.decide(tool, args).rule
    return question_about_call(CARDS, rule, tool, args, facts={}).model_copy(update={"id": id})


async def enter(page: Page, office: Office, path: str = "/") -> None:
    """Open the inbox as it is for somebody who changed no setting."""
    await page.goto(office.link(path))
    await expect(page.get_by_test_id("request-row").first).to_be_visible(timeout=WAIT)


async def test_of_five_hundred_the_five_due_in_minutes_lead_and_then_what_cannot_be_undone(
    desk: Page, office: Office
) -> None:
    await office.put(*(call(f"plain{number}") for number in range(494)))
    await office.put(*(call(f"due{number}", due_at=due_in(minutes=5, seconds=number)) for number in range(5)))
    await office.put(call("grave", tier="irreversible"))
    await enter(desk, office)
    assert (await shown_rows(desk))[:6] == [*(f"due{number}" for number in range(5)), "grave"]
    await expect(row(desk, "grave").get_by_test_id("row-tier")).to_have_text("■ cannot be undone")
    # The first of its kind is no routine.
    await expect(desk.locator("[data-bundle=tool]")).to_have_attribute("data-count", "493", timeout=WAIT)
    headings = desk.get_by_test_id("section")
    assert await headings.evaluate_all(SECTIONS) == [["soon", "Due soon 5"], ["rest", "The rest 495"]]


async def test_sections_have_their_counts_and_the_top_one_is_named_while_one_scrolls(
    desk: Page, office: Office
) -> None:
    office.ask("late", due_at=due_in(minutes=-1))
    office.ask("soon", expires_in=600, due_at=due_in(days=2))
    await office.fill(20)
    await show(desk, office)
    headings = desk.get_by_test_id("section")
    assert await headings.evaluate_all(SECTIONS) == [
        ["overdue", "Overdue 1"],
        ["soon", "Due soon 1"],
        ["rest", "The rest 20"],
    ]
    await expect(row(desk, "late")).to_contain_text("overdue")
    await desk.get_by_test_id("inbox-scroll").evaluate("scroller => scroller.scrollTo(0, 700)")
    await expect(headings.first).to_have_text("The rest 20")


async def test_what_becomes_due_waits_behind_the_button_and_moves_nothing_before(desk: Page, office: Office) -> None:
    ids = await office.fill(3)
    office.ask("nearly", due_at=due_in(hours=1, seconds=8))
    await show(desk, office)
    await link(desk, ids[0]).click()
    await opened(desk, ids[0])
    assert await shown_rows(desk) == [*ids, "nearly"]
    before = await row(desk, "nearly").bounding_box()
    await expect(desk.get_by_test_id("show-new")).to_have_text("↑ 1 new", timeout=WAIT)
    assert await row(desk, "nearly").bounding_box() == before
    await desk.keyboard.press("n")
    assert await shown_rows(desk) == ["nearly", *ids]
    await expect(link(desk, "nearly")).to_be_focused()
    await expect(desk.get_by_test_id("section").first).to_have_text("Due soon 1")
    await expect(desk.get_by_test_id("show-new")).to_have_count(0)


async def test_rows_say_who_asks_for_whom_what_is_at_stake_and_the_declared_amount(desk: Page, office: Office) -> None:
    await office.put(declared("small", "refund", order=1, amount=40), declared("large", "refund", order=2, amount=9000))
    await office.put(declared("wired", "wire", to="c-77", amount=12))
    card = {"effect": "does nothing", "amount": 1, "unit": "JPY"}
    office.ask("liar", action={"name": "steal", "args": {"amount": 9_000_000}}, context={"card": card})
    office.ask("again", action={"name": "steal", "args": {"amount": 1}})
    await show(desk, office)
    await expect(row(desk, "large").get_by_test_id("row-object")).to_have_text("¥9,000")
    await expect(row(desk, "large")).to_contain_text("above the limit")
    await expect(row(desk, "small")).not_to_contain_text("above the limit")
    await expect(row(desk, "wired").get_by_test_id("row-tier")).to_have_text("▲ high stakes")
    await expect(row(desk, "wired").get_by_test_id("row-asker")).to_have_text("clerk")
    # What the asker itself calls a card is not one.
    await expect(row(desk, "liar").get_by_test_id("row-object")).to_have_count(0)
    await expect(row(desk, "liar").get_by_test_id("row-call")).to_have_text("steal(amount=9000000)")
    await expect(row(desk, "liar").get_by_test_id("row-first")).to_be_visible()
    await expect(row(desk, "again").get_by_test_id("row-first")).to_have_count(0)


async def test_the_list_narrows_by_tool_agent_stakes_and_group_and_remembers_its_order(
    desk: Page, office: Office
) -> None:
    await office.put(call("mail", "send_mail", tier="medium"), call("refund"), call("team", groups=["sales"]))
    await office.put(call("other", "send_mail"), by="agent:robot")
    await show(desk, office)
    await desk.locator("[data-testid=tool-chip][data-tool=send_mail]").click()
    await until_rows(desk, office.pending(tool="send_mail"))
    assert "tool=send_mail" in desk.url
    await desk.get_by_test_id("open-filters").click()
    await desk.get_by_test_id("filter-tier").click()
    await desk.locator(".ant-select-item-option", has_text="medium").click()
    await until_rows(desk, ["mail"])
    await desk.get_by_test_id("filter-form").get_by_role("button", name="Clear the filters").click()
    await until_rows(desk, office.pending())
    await desk.get_by_test_id("filter-agent").click()
    await desk.locator(".ant-select-item-option", has_text="robot").click()
    await until_rows(desk, ["other"])
    await desk.get_by_test_id("filter-form").get_by_role("button", name="Clear the filters").click()
    await desk.get_by_test_id("order").click()
    await desk.locator(".ant-select-item-option", has_text="Newest first").click()
    await until_rows(desk, office.listed(status="pending"))
    assert "order=newest" in desk.url
    await desk.goto(f"{office.demo.url}/")
    await until_rows(desk, office.listed(status="pending"))
    await expect(desk.get_by_test_id("section")).to_have_count(0)


@WIDE
async def test_a_flood_of_equal_requests_is_one_row_and_one_key_answers_all_of_them(desk: Page, office: Office) -> None:
    same: dict[str, Any] = {"args": {"order": 1}}
    await office.put(*(call(f"same{number:03}", **same) for number in range(250)))
    await office.put(call("grave1", tier="high", **same), call("grave2", tier="high", **same))
    await enter(desk, office)
    flood = desk.locator("[data-bundle=equal]")
    await expect(flood).to_have_attribute("data-count", "250", timeout=WAIT)
    await expect(flood.get_by_test_id("row-count")).to_have_text("250 equal")
    assert (await shown_rows(desk))[:2] == ["grave1", "grave2"]
    await expect(desk.get_by_test_id("request-row")).to_have_count(3)
    await flood.get_by_role("link").click()
    await expect(desk.get_by_test_id("equal-alert")).to_contain_text("all 250 equal requests")
    await expect(desk.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await desk.keyboard.press("a")
    async with asyncio.timeout(60):
        while office.pending() != ["grave1", "grave2"]:
            await desk.evaluate("new Promise(done => setTimeout(done, 200))")
    with office.client() as client:
        ended = client.get("/v1/requests", params={"status": "completed", "limit": 200}).json()["items"]
    assert {item["response"]["responder"] for item in ended} == {"ann"}
    assert {item["response"]["decision"] for item in ended} == {"approve"}


async def test_one_of_equal_requests_can_be_answered_alone(desk: Page, office: Office) -> None:
    await office.put(*(call(f"same{number}", args={"order": 1}) for number in range(3)))
    await enter(desk, office)
    await desk.keyboard.press("Enter")
    await desk.get_by_test_id("answers-all").click()
    await expect(desk.get_by_test_id("decide-reject")).to_be_enabled(timeout=WAIT)
    await desk.get_by_test_id("decide-approve").click()
    await expect(desk.locator("[data-bundle=equal]")).to_have_attribute("data-count", "2", timeout=WAIT)
    assert len(office.pending()) == 2


async def test_above_thirty_an_hour_the_routine_of_a_tool_is_one_row_that_opens_in_place(
    desk: Page, office: Office
) -> None:
    await office.put(*(call(f"r{number}", "read") for number in range(40)))
    await office.put(call("costly", "read", tier="irreversible"), call("mail", "send_mail"))
    await enter(desk, office)
    bundle = desk.locator("[data-bundle=tool]")
    await expect(bundle).to_contain_text("read: 39 requests in the last hour")
    assert (await shown_rows(desk))[0] == "costly"
    await expect(desk.get_by_test_id("request-row")).to_have_count(4)
    first = await bundle.get_attribute("data-id")
    assert first
    await bundle.get_by_role("link").press("Enter")
    await expect(bundle).to_have_count(0)
    await opened(desk, first)
    await expect(desk.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await desk.keyboard.press("a")
    await expect(desk.get_by_test_id("request-detail")).not_to_have_attribute("data-id", first, timeout=WAIT)
    await expect(row(desk, first)).to_have_count(0)


async def test_a_request_of_a_bundle_that_a_link_opened_is_followed_by_its_like(desk: Page, office: Office) -> None:
    await office.put(*(call(f"r{number}", "read") for number in range(40)))
    await office.put(call("costly", "wipe", tier="irreversible"))
    await enter(desk, office, "/r/r20")
    await opened(desk, "r20")
    await expect(desk.locator("[data-bundle=tool]")).to_have_count(0, timeout=WAIT)
    await expect(desk.get_by_test_id("decide-approve")).to_be_enabled(timeout=WAIT)
    await desk.keyboard.press("a")
    await expect(desk.get_by_test_id("request-detail")).not_to_have_attribute("data-id", "r20", timeout=WAIT)
    following = await desk.get_by_test_id("request-detail").get_attribute("data-id")
    assert following
    assert following.startswith("r")


async def test_all_of_a_filter_are_decided_with_totals_and_what_is_left_out_says_why(
    desk: Page, office: Office
) -> None:
    await office.put(*(declared(f"d{number}", "refund", order=number, amount=10 * number) for number in range(1, 131)))
    await office.put(*(declared(f"w{number}", "wire", to=f"c-{number}", amount=1) for number in range(3)))
    await show(desk, office)
    await link(desk, "d2").focus()
    await desk.keyboard.press("x")
    await expect(desk.get_by_test_id("select-all")).to_have_text("Select all 133 of this list", timeout=WAIT)
    bar = await desk.get_by_test_id("bulk-bar").bounding_box()
    assert bar
    assert bar["height"] < 100
    await desk.get_by_test_id("select-all").click()
    await expect(desk.get_by_test_id("bulk-count")).to_have_text("130 selected", timeout=WAIT)
    await desk.get_by_test_id("bulk-approve").click()
    summary = desk.get_by_test_id("bulk-summary")
    await expect(summary).to_contain_text("¥85,150")
    await expect(summary).to_contain_text("¥10 – ¥1,300")
    await expect(summary).to_contain_text("low stakes 130")
    await expect(summary).to_contain_text("3: High stakes: decide it individually.")
    await resize(desk, 640, 400)  # Twice as large.
    await expect(desk.get_by_test_id("bulk-confirm")).to_be_in_viewport(ratio=1)
    await resize(desk, 1280, 800)
    office.decide("d7", "reject")
    await expect(desk.get_by_test_id("bulk-confirm")).to_be_focused()
    await desk.keyboard.press("Enter")
    await expect(desk.get_by_test_id("bulk-outcome")).to_contain_text("1 request skipped", timeout=60_000)
    await expect(desk.get_by_test_id("bulk-line").first).to_have_attribute("data-id", "d7")
    await expect(desk.get_by_test_id("bulk-line").first).to_contain_text("rejected by bob")
    assert set(office.pending()) == {"w0", "w1", "w2"}


async def test_in_a_low_window_the_palette_lists_below_what_one_types(desk: Page, office: Office) -> None:
    await office.put(declared("one", "refund", order=1, amount=10))
    await show(desk, office)
    await resize(desk, 640, 400)
    await desk.keyboard.press("Control+k")
    await expect(desk.get_by_role("option").first).to_be_attached()
    box = await desk.get_by_test_id("palette").get_by_role("combobox").bounding_box()
    found = await desk.locator(".ant-select-dropdown").bounding_box()
    assert box
    assert found
    assert box["y"] + box["height"] <= found["y"]
    assert found["y"] + found["height"] <= 400
