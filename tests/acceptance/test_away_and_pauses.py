"""Deputies, absences, pauses and legal holds: what people see and do on the page, without a reload."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import REFUND, ask, decided, opened, press, sign_in, somebody, stored
from tests.acceptance.test_votes import PHONE, answered, picture, vote
from tests.acceptance.thread_steps import choose
from tests.tiers import WIDE

from ringi.base.clock import utc_now

pytestmark = pytest.mark.timeout(180)
STAGES = [{"groups": ["finance"], "count": 2}]


def client(house: DemoServer, name: str, *groups: str, role: str = "person") -> httpx.Client:
    """Return a caller of the API."""
    token = house.token(role, name, groups)
    return httpx.Client(base_url=house.url, headers={"authorization": f"Bearer {token}"}, timeout=30)


def leave(house: DemoServer, name: str, *groups: str, deputy: str) -> None:
    """Go away for a day."""
    sign_in(house, deputy)
    with client(house, name, *groups) as caller:
        until = (utc_now() + timedelta(days=1)).isoformat()
        caller.put("/v1/away", json={"deputy": deputy, "until": until}).raise_for_status()


def pause(house: DemoServer, reason: str, **more: Any) -> dict[str, Any]:
    """Pause agents as an administrator."""
    with client(house, "root", role="admin") as caller:
        made: dict[str, Any] = caller.post("/v1/pauses", json={"reason": reason, **more}).raise_for_status().json()
        return made


def local_time(**ahead: float) -> str:
    """Return a time as a person types it; the browser has the time zone of this machine."""
    return (utc_now().astimezone() + timedelta(**ahead)).strftime("%Y-%m-%dT%H:%M")


@pytest.fixture
def running(house: DemoServer) -> Iterator[DemoServer]:
    """The server without pauses, before and after."""
    yield house
    with client(house, "root", role="admin") as caller:
        for each in caller.get("/v1/pauses").json()["items"]:
            caller.delete(f"/v1/pauses/{each['id']}").raise_for_status()


async def row(page: Page, request: dict[str, Any]) -> Locator:
    """Return a request's row in the inbox."""
    return page.locator(f"[data-testid=request-row][data-id='{request['id']}']")


@WIDE
async def test_a_deputy_sees_for_whom_they_decide_and_the_record_has_both_names(
    browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "Pay ¥900,000?", action=REFUND, quorum=STAGES, groups=["finance"])
    dee = await somebody(browser, house, "dee")
    await dee.goto(f"{house.url}/")
    await expect(dee.get_by_test_id("session-name")).to_be_visible(timeout=WAIT)
    # After an event the stream resumes at its position, which is past the request.
    await expect(dee.get_by_test_id("empty")).to_be_visible(timeout=WAIT)
    await expect(await row(dee, ask(house, "For everybody"))).to_be_visible(timeout=WAIT)
    await expect(await row(dee, request)).to_have_count(0)
    leave(house, "ann", "finance", deputy="dee")
    # The request appears without a reload, among the new ones or at once.
    await expect(dee.get_by_test_id("show-new").or_(await row(dee, request)).first).to_be_visible(timeout=WAIT)
    detail = await opened(dee, house, request)
    await expect(detail.get_by_test_id("stands-in")).to_contain_text("You answer for ann, away until")
    await expect(detail.get_by_test_id("decide-approve")).to_be_enabled()
    await picture(dee, "deputy-desk")
    await press(dee, "a")
    await answered(house, request)
    (voted,) = stored(house, request)["votes"]
    assert (voted["responder"], voted["for"]) == ("dee", "ann")
    detail = await opened(dee, house, request)
    await expect(detail.get_by_test_id("vote")).to_contain_text("dee for ann · agreed")
    await detail.get_by_test_id("history").locator("summary").click()
    last = detail.get_by_test_id("history-event").last
    await expect(last).to_contain_text("dee · voted: agreed (for ann)", timeout=WAIT)
    vote(house, request, "bob", "finance")
    assert decided(house, request)["decision"] == "approve"
    await expect(detail.get_by_test_id("record")).to_contain_text("approved by dee for ann and bob", timeout=WAIT)
    await dee.context.close()


async def test_a_deputy_reads_why_the_vote_of_the_absent_person_counts_already(
    browser: Browser, house: DemoServer
) -> None:
    request = ask(house, "Pay?", action=REFUND, quorum=STAGES, groups=["finance"])
    vote(house, request, "amy", "finance")
    leave(house, "amy", "finance", deputy="dan")
    dan = await somebody(browser, house, "dan", locale="zh-CN", **PHONE)
    detail = await opened(dan, house, request)
    await expect(detail.get_by_test_id("blocked")).to_have_text("amy 的票已计入，须由他人投票。", timeout=WAIT)
    await expect(detail.get_by_test_id("decide-approve")).to_have_count(0)
    await picture(dan, "deputy-counted-phone")
    await dan.context.close()


async def test_a_deputy_cannot_decide_what_the_absent_person_asked(browser: Browser, house: DemoServer) -> None:
    with client(house, "eva") as caller:
        body = {"title": "May I?", "action": REFUND, "exclude": ["asker"], "assignee": "eva"}
        request = caller.post("/v1/requests", json=body).raise_for_status().json()
    leave(house, "eva", deputy="fay")
    fay = await somebody(browser, house, "fay")
    detail = await opened(fay, house, request)
    await expect(detail.get_by_test_id("blocked")).to_contain_text("The person for whom you stand asked", timeout=WAIT)
    await expect(detail.get_by_test_id("decide-approve")).to_be_disabled()
    await fay.context.close()


@pytest.mark.parametrize("look", [pytest.param("desk", marks=WIDE), "phone"])
async def test_a_person_leaves_and_comes_back_on_the_page(browser: Browser, house: DemoServer, look: str) -> None:
    name, more = f"gil-{look}", ({**PHONE, "locale": "ja-JP"} if look == "phone" else {})
    sign_in(house, "dee")
    page = await somebody(browser, house, name, **more)
    await page.goto(f"{house.url}/threads")
    await page.get_by_test_id("open-menu").click()
    await page.get_by_test_id("open-away").click()
    await expect(page.get_by_test_id("away-deputy")).to_be_focused()
    await page.keyboard.type(name)
    await page.get_by_test_id("away-until").fill(local_time(days=2))
    await page.get_by_test_id("leave").click()
    refusal = {"desk": f"'{name}' is away: name another person", "phone": "別の人を指定してください。"}[look]
    await expect(page.get_by_test_id("error")).to_contain_text(refusal, timeout=WAIT)
    await page.get_by_test_id("away-deputy").fill("dee")
    await picture(page, f"away-form-{look}")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("open-away")).to_have_count(0, timeout=WAIT)
    await page.keyboard.press("Escape")
    banner = page.get_by_test_id("absence")
    deputy = {"desk": "Your deputy is dee.", "phone": "代理人は dee さんです。"}[look]
    await expect(banner).to_contain_text(deputy, timeout=WAIT)
    with client(house, name) as caller:
        assert caller.get("/v1/away").json()["absence"]["deputy"] == "dee"
    await page.goto(f"{house.url}/")
    await expect(banner).to_be_visible(timeout=WAIT)
    await picture(page, f"away-{look}")
    await banner.get_by_test_id("come-back").click()
    await expect(banner).to_have_count(0, timeout=WAIT)
    with client(house, name) as caller:
        assert caller.get("/v1/away").json()["absence"] is None
    await page.context.close()


async def test_the_banner_of_an_absence_goes_when_it_ends(browser: Browser, house: DemoServer) -> None:
    sign_in(house, "dee")
    with client(house, "hal") as caller:
        until = (utc_now() + timedelta(seconds=6)).isoformat()
        caller.put("/v1/away", json={"deputy": "dee", "until": until}).raise_for_status()
    hal = await somebody(browser, house, "hal")
    await hal.goto(f"{house.url}/")
    await expect(hal.get_by_test_id("absence")).to_be_visible(timeout=WAIT)
    await expect(hal.get_by_test_id("absence")).to_have_count(0, timeout=WAIT)
    await hal.context.close()


@WIDE
async def test_people_see_a_pause_and_its_end_without_a_reload(browser: Browser, running: DemoServer) -> None:
    running.run("paused-gates", "gates", {})
    request = running.until("paused-gates", "interrupted")["pending"][0]
    other = ask(running, "Pay?", action=REFUND)
    pages = {name: await somebody(browser, running, "ann") for name in ("inbox", "thread", "request", "other")}
    await pages["inbox"].goto(f"{running.url}/")
    await pages["thread"].goto(f"{running.url}/t/paused-gates")
    await opened(pages["request"], running, request)
    await opened(pages["other"], running, other)
    await expect(pages["inbox"].get_by_test_id("request-row").first).to_be_visible(timeout=WAIT)
    made = pause(running, "wrong paper", agent="gates")
    parts = {"inbox": ".inbox-list", "thread": ".thread-stream", "request": ".detail", "other": ".detail"}
    places = {name: pages[name].locator(part) for name, part in parts.items()}
    for name in ("inbox", "thread", "request"):
        alert = places[name].get_by_test_id("pauses")
        await expect(alert).to_contain_text("Agent gates is paused: wrong paper (by root since", timeout=WAIT)
        await expect(alert.get_by_role("link")).to_have_count(0)
        await picture(pages[name], f"paused-{name}")
    await expect(places["other"].get_by_test_id("pauses")).to_have_count(0)
    every = pause(running, "an incident", until=(utc_now() + timedelta(hours=1)).isoformat())
    text = "All agents are paused: an incident"
    await expect(places["other"].get_by_test_id("pauses")).to_contain_text(text, timeout=WAIT)
    with client(running, "root", role="admin") as caller:
        for each in (made, every):
            caller.delete(f"/v1/pauses/{each['id']}").raise_for_status()
    for name, place in places.items():
        await expect(place.get_by_test_id("pauses"), name).to_have_count(0, timeout=WAIT)
    for page in pages.values():
        await page.context.close()


async def test_an_administrator_pauses_one_agent_and_resumes_it_by_the_keyboard(
    browser: Browser, running: DemoServer
) -> None:
    root = await somebody(browser, running, "root", role="admin")
    await root.goto(f"{running.url}/operations")
    await expect(root.get_by_test_id("open-pause")).to_be_visible(timeout=WAIT)
    await press(root, "p")
    form = root.get_by_test_id("pause-form")
    await expect(form.get_by_test_id("pause-reason")).to_be_focused()
    await expect(form.get_by_test_id("confirm-pause")).to_be_disabled()
    await root.keyboard.type("wrong paper")
    await choose(form.get_by_test_id("pause-agent"), "gates")
    await expect(form.get_by_test_id("confirm-pause")).to_have_text("Pause gates")
    await form.get_by_test_id("pause-until").fill(local_time(hours=-2))
    await form.get_by_test_id("confirm-pause").click()
    await expect(form.get_by_test_id("error")).to_be_visible(timeout=WAIT)
    await form.get_by_test_id("pause-until").fill(local_time(hours=2))
    await picture(root, "pause-form-desk")
    await form.get_by_test_id("pause-reason").focus()
    await press(root, "Control+Enter")
    item = root.get_by_test_id("pause")
    await expect(item).to_contain_text("Agent gates is paused: wrong paper (by root since", timeout=WAIT)
    with client(running, "ann") as caller:
        (made,) = caller.get("/v1/pauses").json()["items"]
    assert (made["agent"], made["reason"], made["by"], bool(made["until"])) == ("gates", "wrong paper", "root", True)
    await root.goto(f"{running.url}/")
    await root.get_by_test_id("pauses").get_by_role("link", name="Manage pauses").click()
    await item.get_by_test_id("end-pause").click()
    await expect(item.get_by_test_id("keep-pause")).to_be_focused()
    await picture(root, "pause-end-desk")
    await item.get_by_test_id("confirm-end-pause").click()
    await expect(item).to_have_count(0, timeout=WAIT)
    with client(running, "ann") as caller:
        assert caller.get("/v1/pauses").json()["items"] == []
    await root.context.close()


async def test_on_a_phone_in_chinese_an_administrator_pauses_all_and_others_cannot(
    browser: Browser, running: DemoServer
) -> None:
    root = await somebody(browser, running, "root", role="admin", locale="zh-CN", **PHONE)
    await root.goto(f"{running.url}/operations")
    await root.get_by_test_id("open-pause").tap()
    await root.get_by_test_id("pause-reason").fill("故障")
    await picture(root, "pause-form-phone")
    await root.get_by_test_id("confirm-pause").tap()
    await expect(root.get_by_test_id("pause")).to_contain_text("所有智能体已暂停：故障", timeout=WAIT)
    ann = await somebody(browser, running, "ann", locale="ja-JP", **PHONE)
    await ann.goto(f"{running.url}/operations")
    await expect(ann.get_by_test_id("pause")).to_contain_text("すべてのエージェントを一時停止中", timeout=WAIT)
    await expect(ann.get_by_test_id("open-pause")).to_have_count(0)
    await expect(ann.get_by_test_id("end-pause")).to_have_count(0)
    await ann.goto(f"{running.url}/")
    await expect(ann.get_by_test_id("pauses")).to_be_visible(timeout=WAIT)
    await picture(ann, "paused-phone")
    for page in (root, ann):
        await page.context.close()


async def test_a_request_on_legal_hold_has_a_badge(browser: Browser, house: DemoServer) -> None:
    request = ask(house, "Pay?", action=REFUND, assignee="ida")
    with client(house, "root", role="admin") as caller:
        caller.post(f"/v1/requests/{request['id']}/legal-hold", json={"reason": "Case 7"}).raise_for_status()
    ida = await somebody(browser, house, "ida")
    detail = await opened(ida, house, request)
    await expect(detail.get_by_test_id("legal-hold")).to_have_text("Legal hold")
    await picture(ida, "legal-hold-desk")
    with client(house, "root", role="admin") as caller:
        caller.delete(f"/v1/requests/{request['id']}/legal-hold").raise_for_status()
    detail = await opened(ida, house, request)
    await expect(detail.get_by_test_id("legal-hold")).to_have_count(0)
    await ida.context.close()
