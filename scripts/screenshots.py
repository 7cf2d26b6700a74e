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

from ringi.server.auth.authenticator import Keys

IMAGES = Path(__file__).resolve().parent.parent / "docs/images"
LARGEST = 150 * 1024
WIDE = {"width": 1200, "height": 720}
PHONE = {"width": 390, "height": 780}


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
    """Fill the inbox with the requests of a usual day."""
    run(demo, "refund-1180", "refund", {"order": 1180, "amount": 15})
    answer(demo, "refund-1180")
    demo.until("refund-1180", "done")
    run(demo, "poster", "two_questions", {})
    run(demo, "preferences", "preferences", {})
    run(demo, "refund-1182", "refund", {"order": 1182, "amount": 40})


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
    (request,) = demo.thread("refund-1182")["pending"]
    (form,) = demo.thread("preferences")["pending"]
    pictures = {
        "inbox": (WIDE, "light", f"/r/{request['id']}"),
        "dark": (WIDE, "dark", f"/r/{form['id']}"),
        "phone": (PHONE, "light", f"/r/{request['id']}"),
        "thread": (WIDE, "light", "/t/refund-1180"),
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
    page.wait_for_timeout(500)


if __name__ == "__main__":
    sys.exit(main())
