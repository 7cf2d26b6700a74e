"""What there is to see: every page in every state that a person meets, and how to get there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from playwright.async_api import Page
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.acceptance.detail import QUIET

OPTIONS = [{"value": "late", "label": "It came late"}, {"value": "broken", "label": "It came broken"}]
FIELDS = [
    {"name": "text", "type": "text", "label": "What to call it", "help": "As on the invoice", "required": True},
    {"name": "textarea", "type": "textarea", "label": "What happened", "placeholder": "In a few words"},
    {"name": "select", "type": "select", "label": "Reason", "options": OPTIONS},
    {"name": "multiselect", "type": "multiselect", "label": "All reasons", "options": OPTIONS, "default": ["late"]},
    {"name": "radio", "type": "radio", "label": "The main reason", "options": OPTIONS},
    {"name": "checkbox", "type": "checkbox", "label": "What else", "options": OPTIONS},
    {"name": "number", "type": "number", "label": "Parcels", "min": 1, "max": 10},
    {"name": "slider", "type": "slider", "label": "Patience", "min": 0, "max": 10, "default": 5},
    {"name": "date", "type": "date", "label": "Since"},
    {"name": "boolean", "type": "boolean", "label": "Tell the customer"},
]
REFUND: dict[str, Any] = {
    "name": "refund",
    "args": {"order": 1182, "amount": 4000, "note": "the parcel was late", "lines": [{"sku": "A-1", "count": 2}]},
}
ASKED: dict[str, dict[str, Any]] = {
    "approval": {
        "title": "Refund ¥4,000 to order 1182",
        "action": REFUND,
        "description": "The parcel was *late*.\n\nThe customer asked twice; see https://example.org/orders/1182.",
        "context": {"customer": "c-77", "orders": 12},
        "priority": "high",
        "allowed": ["approve", "edit", "reject", "respond"],
        "actions": {"reject": {"label": "Yes, go on without it"}, "approve": {"label": "Confirm"}},
        "due_at": (datetime.now(UTC) + timedelta(hours=3)).isoformat(),
    },
    "grave": {"title": "Refund ¥4,000 to order 1183", "action": REFUND, "tier": "irreversible"},
    "form": {"title": "Tell us about the parcel", "form": {"fields": FIELDS}, "expires_in": 86_400},
    "question": {"title": "Which city shall I write about?", "description": "One word is enough."},
    "finish": {
        "title": "Finish “write a haiku”?",
        "kind": "finish",
        "context": {"task": "write a haiku about autumn", "summary": "Three lines are written."},
    },
    "decided": {"title": "Refund ¥10 to order 7", "action": REFUND},
    "withdrawn": {"title": "Refund ¥20 to order 8", "action": REFUND},
    "told": {
        "title": "What shall we know of your parcels?",
        "form": {"fields": FIELDS},
        "context": {"memory_category": "parcels"},
    },
    "telling": {"title": "How late?", "form": {"fields": FIELDS[:3]}, "context": {"memory_category": "parcels"}},
}
STEPS = ("editing", "rejecting", "naming", "asking", "passing")
VIEWS = {
    "inbox": ("/", "[data-testid=request-row]"),
    **{name: (f"/r/{name}", f"[data-testid=request-detail][data-id='{name}']") for name in ASKED},
    "threads": ("/threads", "[data-testid=thread-row]"),
    "thread-waiting": ("/t/waiting", "[data-testid=thread-status][data-status=interrupted]"),
    "thread-done": ("/t/finished", "[data-testid=thread-status][data-status=done]"),
    "thread-failed": ("/t/failed", "[data-testid=thread-status][data-status=error]"),
    "thread-written": ("/t/written", "[data-testid=thread-status][data-status=done]"),
    "chat-new": ("/chat", "[data-testid=chat-agent]"),
    "chat-asks": ("/chat/asking", "[data-testid=pause]:nth-of-type(1) [data-testid=decide]"),
    "chat-said": ("/chat/said", "[data-testid=chat-message][data-role=assistant]"),
    **dict.fromkeys(("memory", "memory-edited", "memory-deleted"), ("/memory", "[data-testid=memory]")),
    "operations": ("/operations", "[data-testid=failure-reason]"),
    "nowhere": ("/nowhere", "[data-testid=no-page]"),
    "chat-streams": ("/chat/streams", "[data-testid=activity]"),
    **{
        f"chat-{name}": (f"/chat/{name}", f"[data-testid=pause] [data-status={status}]")
        for name, status in {
            "answered": "completed",
            "rejected": "completed",
            "expired": "expired",
            "finish": "pending",
        }.items()
    },
    "chat-failed": ("/chat/failing", "[data-testid=error]"),
    "chat-stopped": ("/chat/stopped", "[data-testid=stopped]"),
    **dict.fromkeys(STEPS, ("/r/approval", "[data-testid=request-detail][data-id=approval] [data-testid=decide]")),
    "naming": ("/r/grave", "[data-testid=request-detail][data-id=grave] [data-testid=decide]"),
    "overview": ("/overview", "[data-testid=summary]"),
    "help": ("/threads", "[data-testid=thread-row]"),
    "menu": ("/threads", "[data-testid=thread-row]"),
}
DIALOG, STEP = "[role=dialog]", "[data-testid=back-to-decision]"
OPENED = {
    "help": ("?", DIALOG),
    "menu": ("[data-testid=open-menu]", DIALOG),
    "memory-edited": ("[data-testid=edit-memory]", "[data-testid=back-memory]"),
    "memory-deleted": ("[data-testid=delete-memory]", "[data-testid=keep-memory]"),
    "editing": ("e", STEP),
    "rejecting": ("r", STEP),
    "naming": ("a", STEP),
    "asking": ("d", STEP),
    "passing": ("[data-testid=reassign], [data-testid=more-actions]", STEP),
}
"""What a view is opened by, a key or a button, and the sign that it is open."""
CLOSED = """() => !document.querySelector(
    '.ant-drawer-open, .ant-modal-wrap:not([style*="display: none"]), [data-testid=back-to-decision]'
    + ', [data-testid=back-memory], [data-testid=keep-memory]'
)"""


TALKS = {
    "asking": ("chat", "refund 40 for order 1182, and ask me"),
    "answered": ("chat", "refund 41 for order 1182, and ask me"),
    "rejected": ("chat", "refund 42 for order 1182"),
    "said": ("chat", "What can you do for me?"),
    "streams": ("echo", "never"),
    "stopped": ("echo", "never more"),
    "failing": ("moods", "fail"),
    "expired": ("moods", "expire"),
    "finish": ("moods", "finish"),
}
"""What chats are begun with, and which agent they are with."""


FILLED = {"sport": "running", "notes": "at dawn, by the river"}


def answer(house: DemoServer, thread: str) -> None:
    """Answer all that a thread asks as the admin: yes, and no where that is what the thread is called."""
    with house.client("admin") as admin:
        for asked in house.until(thread, "interrupted")["pending"]:
            yes = {"decision": "approve"} | ({"data": FILLED} if asked["form"] else {})
            answer = {"decision": "reject", "message": "The parcel is there."} if thread == "rejected" else yes
            url = f"/v1/requests/{asked['id']}/respond"
            admin.post(url, json={**answer, "digest": asked["digest"]}).raise_for_status()


ENDS = {
    **dict.fromkeys(("waiting", "asking", "finish"), "interrupted"),
    **dict.fromkeys(("finished", "written", "said", "answered", "rejected", "expired"), "done"),
    **dict.fromkeys(("failed", "failing"), "error"),
    "streams": "running",
    "stopped": "idle",
}


def remember(house: DemoServer) -> None:
    """Let the person who looks at the page have told something."""
    answers = {"text": "Order 7", "select": "late", "multiselect": ["late", "broken"], "number": 3, "boolean": True}
    with house.client("person") as person:
        digest = person.get("/v1/requests/told").json()["digest"]
        answer = {"decision": "approve", "digest": digest, "data": {**answers, "date": "2026-11-22"}}
        person.post("/v1/requests/told/respond", json=answer).raise_for_status()


def furnish(house: DemoServer) -> None:
    """Fill the house with one request of each kind, and with threads."""
    house.run("waiting", "refund", {"order": 5, "amount": 7})
    house.run("finished", "refund", {"order": 6, "amount": 8})
    house.run("failed", "printer", {"tray": "a4"})
    house.run("written", "writer", {})
    for thread, (agent_name, words) in TALKS.items():
        house.run(thread, agent_name, {"messages": [{"role": "user", "content": words, "id": f"{thread}-1"}]})
    with house.client("agent") as agent, house.client("admin") as admin:
        for id, asked in ASKED.items():
            agent.post("/v1/requests", json={"id": id, **asked}).raise_for_status()
        decided = admin.get("/v1/requests/decided").json()
        approve = {"decision": "edit", "args": REFUND["args"] | {"amount": 3500}, "digest": decided["digest"]}
        admin.post("/v1/requests/decided/respond", json=approve).raise_for_status()
        agent.post("/v1/requests/withdrawn/cancel", json={"reason": "the order was a test"}).raise_for_status()
        remember(house)
        (asked,) = house.until("finished", "interrupted")["pending"]
        body = {"decision": "approve", "digest": asked["digest"]}
        admin.post(f"/v1/requests/{asked['id']}/respond", json=body).raise_for_status()
        house.until("stopped", "running")
        admin.post("/v1/threads/stopped/cancel", json={}).raise_for_status()
    answer(house, "answered")
    answer(house, "rejected")
    for thread, status in ENDS.items():
        house.until(thread, status)


async def visit(page: Page, name: str) -> None:
    """Show one of the views."""
    path, sign = VIEWS[name]
    await page.evaluate("p => { history.pushState(null, '', p); dispatchEvent(new PopStateEvent('popstate')); }", path)
    await page.wait_for_function(
        "sign => document.querySelector(sign) && !document.querySelector('.ant-skeleton, .ant-spin-spinning')",
        arg=sign,
        timeout=WAIT,
    )
    opener, opened = OPENED.get(name, ("", ""))
    if opener:
        if path.startswith("/r/"):
            await page.evaluate(QUIET)  # The request may be of another kind than the one before.
        await (page.keyboard.press(opener) if len(opener) == 1 else page.locator(opener).first.click())
        if await page.locator("[data-testid=more-actions]").count() and name == "passing":
            await page.locator("[role=menu] [data-testid=reassign]").click()
        await page.wait_for_selector(opened, timeout=WAIT)
        # What comes to lie under the pointer in the views that follow would look as it does under a hand.
        await page.mouse.move(0, 0)


async def leave(page: Page, name: str) -> None:
    """Close what `visit` opened."""
    if name not in OPENED:
        return
    await page.keyboard.press("Escape")
    await page.wait_for_function(CLOSED, timeout=WAIT)
