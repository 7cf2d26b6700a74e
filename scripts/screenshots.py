"""Take new pictures for the docs: `python -m scripts.screenshots` (needs the built page, `make demo`).

The script starts a demo, asks and answers some requests, and opens the page in a real browser.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Browser, FloatRect, Page, sync_playwright
from tests import browser as chromiums
from tests.acceptance.demo_server import DemoServer

from ringi.demo.samples import SAMPLES
from ringi.server.auth.authenticator import Keys

IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
LARGEST = 150 * 1024
WIDE = {"width": 1200, "height": 720}
PHONE = {"width": 390, "height": 780}
EARLIER, UNUSUAL = (800, 1_200, 1_500, 2_400, 2_600, 3_100, 9_000), 5_000
REFUND = next(sample.input for sample in SAMPLES if sample.thread_id == "sample-refund")


def main() -> int:
    """Write every picture, and return 1 if one is too large for a page."""
    os.environ["LOGNAME"] = "ann"  # Who sits at this machine is no part of the docs.
    with tempfile.TemporaryDirectory() as folder, DemoServer(Path(folder)) as demo, sync_playwright() as playwright:
        asked(demo)
        browser = playwright.chromium.launch(executable_path=chromiums.find(), args=chromiums.ARGUMENTS)
        take(browser, demo)
        browser.close()
    sizes = {path.name: path.stat().st_size for path in sorted(IMAGES.glob("*.png"))}
    for name, size in sizes.items():
        print(f"{name:14}{size / 1024:6.0f} KiB")
    return int(any(size > LARGEST for size in sizes.values()))


def asked(demo: DemoServer) -> None:
    """Fill the inbox with the requests of a usual day, after some days with refunds."""
    for number, amount in enumerate(EARLIER):
        paid(demo, f"refund-11{number}", amount)
    run(demo, "refund-1181", "desk", REFUND)
    answer(demo, "refund-1181")
    demo.until("refund-1181", "done")
    for sample in SAMPLES[1:]:  # The first is at work for a minute.
        run(demo, sample.thread_id, sample.agent, sample.input)


def paid(demo: DemoServer, id: str, amount: int) -> None:
    """Ask for a refund as the shop does, and approve it if it is usual."""
    args = {"order": 1100, "amount": amount, "reason": "the parcel came late"}
    token = Keys.load(demo.folder).mint(role="agent", name="shop")
    with httpx.Client(base_url=demo.url, headers={"authorization": f"Bearer {token}"}) as client:
        body = {"id": id, "title": "Pay this back?", "action": {"name": "pay_back", "args": args}}
        request = client.post("/v1/requests", json=body).raise_for_status().json()
    with demo.client() as client:
        answered = {"decision": "approve" if amount < UNUSUAL else "reject", "digest": request["digest"]}
        client.post(f"/v1/requests/{id}/respond", json=answered).raise_for_status()


def run(demo: DemoServer, thread: str, agent: str, input: dict[str, Any]) -> None:
    """Start an agent with an agent's token, and return when it asks."""
    token = Keys.load(demo.folder).mint(role="agent", name="shop")
    with httpx.Client(base_url=demo.url, headers={"authorization": f"Bearer {token}"}) as client:
        client.post(f"/v1/threads/{thread}/runs", json={"agent": agent, "input": input}).raise_for_status()
    demo.until(thread, "interrupted")


def answer(demo: DemoServer, thread: str) -> None:
    """Approve the open request of a thread."""
    (request,) = demo.thread(thread)["pending"]
    with demo.client() as client:
        body = {"decision": "approve", "digest": request["digest"]}
        client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()


def take(browser: Browser, demo: DemoServer) -> None:
    """Take every picture."""
    (request,) = demo.thread("sample-refund")["pending"]
    (form,) = demo.thread("sample-form")["pending"]
    pictures = {
        "inbox": (WIDE, "light", f"/r/{request['id']}"),
        "dark": (WIDE, "dark", f"/r/{form['id']}"),
        "phone": (PHONE, "light", f"/r/{request['id']}"),
        "thread": (WIDE, "light", "/t/refund-1181"),
    }
    for name, (size, scheme, path) in pictures.items():
        context = browser.new_context(viewport=size, color_scheme=scheme, reduced_motion="reduce", locale="en")  # type: ignore[arg-type]
        page = context.new_page()
        opened(page, demo, path)
        page.screenshot(path=IMAGES / f"{name}.png")
        if name == "inbox":
            page.screenshot(path=IMAGES / "request.png", clip=around(page))
        context.close()


def around(page: Page) -> FloatRect:
    """Return the place of the request on the page, with a margin."""
    box = page.get_by_test_id("request-detail").bounding_box()
    assert box
    air = 20.0
    return {
        "x": box["x"] - air,
        "y": box["y"] - air,
        "width": box["width"] + 2 * air,
        "height": box["height"] + 2 * air,
    }


def opened(page: Page, demo: DemoServer, path: str) -> None:
    """Sign in, open a path, and return when the page is idle."""
    page.goto(demo.link)
    page.get_by_test_id("session-name").or_(page.get_by_test_id("open-menu")).first.wait_for()
    page.goto(demo.url + path)
    page.get_by_test_id("request-detail").or_(page.get_by_test_id("thread-status")).first.wait_for()
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(2_000)  # The plot is a part of its own.


if __name__ == "__main__":
    sys.exit(main())
