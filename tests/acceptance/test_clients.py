"""The calls of coding agents on the page: what they do, all of one session, and an approval for its rest."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import QUIET, ask, decided, opened, press, respond, somebody, stored
from tests.acceptance.test_votes import PHONE, picture, seen
from tests.tiers import WIDE

from ringi.gateways.call_views import call_view

pytestmark = pytest.mark.timeout(240)
FOLDER = "/home/ann/projects/warehouse/services/refund-service"
DARK: dict[str, Any] = {"color_scheme": "dark"}


def session_id() -> str:
    return f"claude-code:{uuid.uuid4().hex[:12]}"


def ask_call(house: DemoServer, thread: str, name: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Ask as the gate of a client does."""
    view = call_view(name, args, FOLDER)
    display = [block.model_dump(mode="json", exclude_none=True) for block in view.display]
    return ask(
        house,
        view.title,
        action={"name": name, "args": args},
        **({"display": display} if display else {}),
        wording=view.wording.model_dump(mode="json", exclude_defaults=True),
        thread_id=thread,
        **{"context": {"client": thread.partition(":")[0], "folder": FOLDER}, **more},
    )


def card(page: Page, request: dict[str, Any]) -> Locator:
    return page.locator(f"[data-testid=session-card][data-id='{request['id']}']")


BASH: dict[str, Any] = {
    "command": "git push --force origin main && rm -rf build/",
    "description": "Publish",
    "timeout": 120000,
}
EDIT = {
    "file_path": f"{FOLDER}/src/refunds/limits.py",
    "old_string": "LIMIT = 4_000\nCURRENCY = 'JPY'\n",
    "new_string": "LIMIT = 40_000\nCURRENCY = 'JPY'\n",
}
MAIL = {
    "to": ["ann@example.com", "bob@example.com"],
    "subject": "Refund of order 1182",
    "body": "Dear Ann,\n\nyour refund of ¥4,000 is on its way.\n\nRegards\nThe shop",
}
SQL = {"query": "UPDATE orders\nSET status = 'refunded'\nWHERE id = 1182;"}
PATCH = {
    "command": "*** Begin Patch\n*** Update File: src/limits.py\n@@\n-LIMIT = 4_000\n+LIMIT = 40_000\n*** End Patch\n"
}


async def test_a_command_is_shown_with_its_client_and_its_folder(browser: Browser, house: DemoServer) -> None:
    request = ask_call(house, session_id(), "Bash", BASH)
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, request)
    call = detail.get_by_test_id("call")
    await expect(call.get_by_test_id("display-code")).to_contain_text(BASH["command"])
    await expect(detail.get_by_test_id("client")).to_contain_text("Claude Code")
    await expect(detail.get_by_test_id("client-folder")).to_have_text(FOLDER)
    await expect(detail.get_by_test_id("context")).to_have_count(0)
    await expect(detail.get_by_test_id("display")).to_have_count(0)
    # What the block does not show is in sight; the command is there once more, folded.
    await expect(detail.get_by_test_id("fact-timeout")).to_be_visible()
    await expect(detail.get_by_test_id("fact-command")).to_be_hidden()
    await detail.get_by_test_id("call-arguments").locator("summary").click()
    await expect(detail.get_by_test_id("fact-command")).to_contain_text(BASH["command"])
    await picture(ann, "client-command-desk")
    await press(ann, "e")
    await detail.get_by_label("command").fill("git push origin main")
    await detail.get_by_test_id("confirm-edit").click()
    response = decided(house, request)
    assert response["args"] == {**BASH, "command": "git push origin main"}
    await ann.context.close()


@pytest.mark.parametrize(
    ("name", "args", "block", "text"),
    [
        ("Edit", EDIT, "display-diff", "LIMIT = 40_000"),
        ("mcp__mail__send_mail", MAIL, "display-table", "bob@example.com"),
        ("mcp__db__query", SQL, "display-code", "SET status = 'refunded'"),
        ("apply_patch", PATCH, "display-code", "+LIMIT = 40_000"),
    ],
)
async def test_a_call_is_shown_as_what_it_is(
    browser: Browser, house: DemoServer, name: str, args: dict[str, Any], block: str, text: str
) -> None:
    request = ask_call(house, session_id(), name, args)
    ann = await somebody(browser, house, "ann", locale="zh-CN", **PHONE)
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("call").get_by_test_id(block)).to_contain_text(text)
    await expect(detail.get_by_test_id("call-arguments")).to_be_visible()
    await expect(detail.get_by_role("heading")).to_contain_text("吗？")
    await picture(ann, f"client-{name}-phone-zh")
    await press(ann, "a")
    assert decided(house, request)["decision"] == "approve"
    await ann.context.close()


@WIDE
async def test_a_block_that_does_not_show_the_arguments_is_the_agents_own(browser: Browser, house: DemoServer) -> None:
    harmless = [{"type": "code", "text": "ls", "language": "bash"}]
    request = ask(
        house, "List files?", action={"name": "Bash", "args": {"command": "rm -rf /"}}, display=harmless,
        context={"client": "claude-code"}, thread_id=session_id(),
    )  # fmt: skip
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, request)
    await expect(detail.get_by_test_id("call")).to_have_count(0)
    await expect(detail.get_by_test_id("display")).to_contain_text("not checked")
    await expect(detail.get_by_test_id("fact-command")).to_be_visible()
    await expect(detail.get_by_test_id("fact-command")).to_contain_text("rm -rf /")
    await ann.context.close()


async def test_a_question_of_a_client_names_its_session_too(browser: Browser, house: DemoServer) -> None:
    thread = session_id()
    ask_call(house, thread, "Bash", BASH)
    context = {"client": "claude-code", "folder": FOLDER, "summary": "All is written."}
    finish = ask(house, "Is this finished?", kind="finish", context={**context, "task": "write"}, thread_id=thread)
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, finish)
    await expect(detail.get_by_test_id("client")).to_contain_text("Claude Code")
    await expect(detail.get_by_test_id("session-link")).to_have_text("session, 2 open")
    await expect(detail.get_by_test_id("summary")).to_contain_text("All is written.")
    await expect(detail.get_by_test_id("context")).to_have_count(0)
    await expect(detail.get_by_test_id("open-session-grant")).to_have_count(0)
    await ann.context.close()


async def test_all_requests_of_a_session_are_answered_side_by_side(browser: Browser, house: DemoServer) -> None:
    thread = session_id()
    command, edit, mail = (
        ask_call(house, thread, name, args) for name, args in (("Bash", BASH), ("Edit", EDIT), ("send_mail", MAIL))
    )
    ask_call(house, session_id(), "Bash", BASH)
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, command)
    await expect(detail.get_by_test_id("session-link")).to_have_text("session, 3 open")
    await detail.get_by_test_id("session-link").click()
    cards = ann.get_by_test_id("session-card")
    await expect(cards).to_have_count(3, timeout=WAIT)
    await expect(ann.get_by_test_id("session-open")).to_have_text("3 open")
    await expect(ann.get_by_role("heading", level=1)).to_have_text("Session of Claude Code")
    left, right = [await card(ann, each).bounding_box() for each in (command, edit)]
    assert left
    assert right
    assert left["y"] == right["y"]
    assert left["x"] < right["x"]
    await picture(ann, "session-desk")

    await press(ann, "j", "a")
    assert decided(house, command)["decision"] == "approve"
    # The next one has the focus.
    await expect(card(ann, edit).get_by_role("heading")).to_be_focused(timeout=WAIT)
    # It is another kind of request: keys wait for half a second.
    await ann.evaluate(QUIET)
    await press(ann, "r", "Enter")
    assert decided(house, edit)["decision"] == "reject"
    late = ask_call(house, thread, "mcp__db__query", SQL)
    await expect(cards).to_have_count(4, timeout=WAIT)
    await expect(cards.last).to_have_attribute("data-id", late["id"])
    await expect(ann.get_by_test_id("session-open")).to_have_text("2 open", timeout=WAIT)
    # Another person answers; the card says so in its place.
    respond(house, late, decision="approve")
    await expect(card(ann, late)).to_contain_text("approved", timeout=WAIT)
    await card(ann, mail).get_by_test_id("decide-approve").click()
    assert decided(house, mail)["decision"] == "approve"
    await expect(ann.get_by_test_id("session-open")).to_have_text("0 open", timeout=WAIT)
    await picture(ann, "session-answered-desk")
    await ann.context.close()


async def test_a_session_on_a_phone_is_one_below_the_other(browser: Browser, house: DemoServer) -> None:
    thread = session_id()
    requests = [ask_call(house, thread, name, args) for name, args in (("Bash", BASH), ("Edit", EDIT))]
    ann = await somebody(browser, house, "ann", locale="ja-JP", **PHONE)
    await ann.goto(f"{house.url}/sessions/{thread}")
    await expect(ann.get_by_test_id("session-card")).to_have_count(2, timeout=WAIT)
    await expect(ann.get_by_role("heading", level=1)).to_have_text("Claude Code のセッション")
    # Both places at one moment: the calls are drawn after the cards.
    end, begin = await ann.get_by_test_id("session-card").evaluate_all(
        "([first, second]) => [first.getBoundingClientRect().bottom, second.getBoundingClientRect().top]"
    )
    assert end <= begin
    await picture(ann, "session-phone-ja")
    await card(ann, requests[1]).get_by_test_id("decide-approve").click()
    assert decided(house, requests[1])["decision"] == "approve"
    await ann.goto(f"{house.url}/sessions/claude-code:none")
    await expect(ann.get_by_test_id("session-empty")).to_be_visible(timeout=WAIT)
    await ann.context.close()


@WIDE
async def test_the_same_call_is_allowed_for_the_rest_of_the_session(browser: Browser, house: DemoServer) -> None:
    thread = session_id()
    args = {"command": "npm test"}
    request = ask_call(house, thread, "Bash", args)
    ann = await somebody(browser, house, "ann")
    detail = await opened(ann, house, request)
    await press(ann, "s")
    step = detail.get_by_test_id("grant")
    await expect(step).to_contain_text("for the rest of this Claude Code session calls of Bash")
    words = detail.get_by_test_id("grant-words")
    await expect(words).to_contain_text("For 12 hours, at most 100 later calls are approved without asking:")
    for text in ("exactly the same arguments", "only in this session", f"only in {FOLDER}", "agent"):
        await expect(words).to_contain_text(text)
    await picture(ann, "session-grant-desk")
    await press(ann, "Enter")
    grant = decided(house, request)["grant"]
    assert (grant["thread_id"], grant["folder"], grant["max_uses"]) == (thread, FOLDER, 100)
    assert "where" not in grant

    second = ask_call(house, thread, "Bash", args)
    assert (second["status"], second["response"]["grant_use"]["id"]) == ("completed", request["id"])
    for other in (
        ask_call(house, session_id(), "Bash", args),
        ask_call(house, thread, "Bash", {"command": "npm publish"}),
        ask_call(house, thread, "Bash", args, context={"client": "claude-code", "folder": "/home/ann"}),
        ask_call(house, thread, "Bash", args, tier="high"),
    ):
        assert other["status"] == "pending"
    detail = await seen(ann, house, second)
    await expect(detail.get_by_test_id("grant-used")).to_contain_text("approved in advance, call 1", timeout=WAIT)

    await ann.goto(f"{house.url}/grants")
    row = ann.locator(f"[data-testid=grant-row][data-id='{request['id']}']")
    await expect(row).to_contain_text(f"only in the session Claude Code {thread.partition(':')[2]}", timeout=WAIT)
    await expect(row).to_contain_text(f"only in {FOLDER}")
    await picture(ann, "session-grants-desk")
    await row.get_by_test_id("revoke-grant").click()
    await expect(row).to_have_attribute("data-status", "revoked", timeout=WAIT)
    assert ask_call(house, thread, "Bash", args)["status"] == "pending"
    await ann.context.close()


async def test_a_phone_allows_any_command_only_after_it_says_so(browser: Browser, house: DemoServer) -> None:
    thread = session_id()
    request = ask_call(house, thread, "Bash", {"command": "npm test", "timeout": 1000})
    ann = await somebody(browser, house, "ann", **PHONE)
    detail = await opened(ann, house, request)
    await detail.get_by_test_id("open-session-grant").click()
    await detail.get_by_test_id("grant-command").get_by_role("combobox").click()
    await ann.get_by_title("any", exact=True).click()
    await expect(ann.locator(".ant-select-dropdown:visible")).to_have_count(0)
    words = detail.get_by_test_id("grant-words")
    await expect(words).to_contain_text("command: any")
    await expect(words).to_contain_text("timeout = 1000")
    await picture(ann, "session-grant-phone")
    await detail.get_by_test_id("confirm-grant").click()
    assert decided(house, request)["grant"]["where"] == {"timeout": {"equals": 1000}}
    assert ask_call(house, thread, "Bash", {"command": "make", "timeout": 1000})["status"] == "completed"
    assert ask_call(house, thread, "Bash", {"command": "make", "timeout": 2000})["status"] == "pending"
    await ann.context.close()


async def test_what_is_at_stake_or_has_no_session_offers_no_approval_for_it(
    browser: Browser, house: DemoServer
) -> None:
    ann = await somebody(browser, house, "ann")
    requests = [
        ask_call(house, session_id(), "Bash", BASH, tier="high"),
        ask_call(house, session_id(), "Bash", BASH, tier="irreversible"),
        ask_call(house, session_id(), "Bash", BASH, quorum=[{"count": 2}]),
        ask(house, "Refund?", action={"name": "refund", "args": {}}, thread_id=session_id()),
    ]
    for request in requests:
        detail = await opened(ann, house, request)
        await expect(detail.get_by_test_id("decide-approve")).to_be_visible()
        await expect(detail.get_by_test_id("open-session-grant")).to_have_count(0)
        await press(ann, "s")
        await expect(detail.get_by_test_id("grant")).to_have_count(0)
        assert stored(house, request)["status"] == "pending"
    await ann.context.close()
