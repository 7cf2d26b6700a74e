"""Whatever a model writes, wherever it may write: nothing runs, loads, hides, or poses as a fact."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.acceptance import hostile
from tests.acceptance.conftest import WAIT, resize
from tests.acceptance.demo_server import DemoServer

pytestmark = pytest.mark.timeout(240)
HERE = Path(__file__).parent
KINDS = ("approval", "form", "question", "finish")
WORDS = ["title", "description", "summary", "context-key", "context-value", "asked", "explained", "message", "result"]
"""What is only said: none of it is checked by anybody."""
PAGES = ("/", "/threads", "/operations")


def furnish(server: DemoServer) -> None:
    """Let the hostile agent write everywhere, and end some of what it asked."""
    with server.client("agent") as agent, server.client("admin") as admin:
        for family in hostile.FAMILIES:
            for kind, asked in hostile.asks(family).items():
                agent.post("/v1/requests", json={"id": f"{family}-{kind}", **asked}).raise_for_status()
            gone = {"id": f"{family}-gone", **hostile.asks(family)["question"]}
            agent.post("/v1/requests", json=gone).raise_for_status()
            reason = {"reason": hostile.written(family, "reason")}
            agent.post(f"/v1/requests/{family}-gone/cancel", json=reason).raise_for_status()
            for thread in ("waits", "fails"):
                server.run(f"{family}.{thread}", "hostile", {"family": family})
        for family in hostile.FAMILIES:
            server.until(f"{family}.waits", "interrupted")
            (asked,) = server.until(f"{family}.fails", "interrupted")["pending"]
            answer = {"decision": "approve", "digest": asked["digest"]}
            admin.post(f"/v1/requests/{asked['id']}/respond", json=answer).raise_for_status()
        for family in hostile.FAMILIES:
            assert hostile.written(family, "error")[:50] in server.until(f"{family}.fails", "error")["error"]


@pytest.fixture(scope="module")
def den(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A server on which the hostile agent has been everywhere."""
    folder = tmp_path_factory.mktemp("den")
    shutil.copy(hostile.__file__, folder / "hostile_agents.py")
    arguments = ("serve", "--agents", "hostile_agents:agents", "--max-fields", "10")
    with DemoServer(folder, *arguments) as server:
        furnish(server)
        yield server


class Watch:
    """A page and all that it did."""

    def __init__(self, page: Page, origin: str) -> None:
        self.page, self.broken = page, list[str]()
        page.on("dialog", lambda dialog: self.broken.append(f"dialog: {dialog.message}"))
        page.on("popup", lambda opened: self.broken.append(f"opened: {opened.url}"))
        page.on("pageerror", lambda error: self.broken.append(f"error: {error}"))
        page.on("request", lambda request: self._heed(request.url, origin))

    def _heed(self, url: str, origin: str) -> None:
        if not url.startswith((f"{origin}/", "data:image/")):
            self.broken.append(f"asked for {url}")

    async def show(self, path: str, sign: str) -> None:
        """Show a page of the site."""
        await self.page.evaluate(
            "p => { history.pushState(null, '', p); dispatchEvent(new PopStateEvent('popstate')); }", path
        )
        await self.page.wait_for_function(
            "sign => document.querySelector(sign) && !document.querySelector('.ant-skeleton, .ant-spin-spinning')",
            arg=sign,
            timeout=WAIT,
        )

    async def look(self, where: str) -> list[str]:
        """Return what is wrong with the page as it stands."""
        found = [*self.broken]
        self.broken.clear()
        if await self.page.evaluate("window.struck"):
            found.append("the agent's code ran")
        for what in ("violations", "hidden", "unsaid", "foreign", "traps"):
            found += [f"{what}: {line}" for line in await self.page.evaluate(f"watched.{what}()")]
        found += [f"a fact: {line}" for line in await self.page.evaluate("words => watched.asFacts(words)", WORDS)]
        for what in ("sideways", "clipped"):
            cut = await self.page.evaluate(f"measure.{what}()")
            found += [f"{what}: {line}" for line in cut if not line.startswith("placeholder")]
        return [f"{where}: {line}" for line in found]


@pytest_asyncio.fixture(loop_scope="session")
async def watch(browser: Browser, den: DemoServer) -> AsyncIterator[Watch]:
    """The page of the administrator, who sees everything."""
    context = await browser.new_context(
        locale="en-GB", reduced_motion="reduce", viewport={"width": 1280, "height": 800}
    )
    for script in ("watch.js", "measure.js"):
        await context.add_init_script((HERE / script).read_text())
    page = await context.new_page()
    watch = Watch(page, den.url)
    await page.goto(f"{den.url}/#token={den.tokens['admin']}")
    await expect(page.get_by_test_id("request-row").first).to_be_visible(timeout=WAIT)
    yield watch
    await context.close()


@pytest.mark.parametrize("family", list(hostile.FAMILIES))
async def test_what_an_agent_wrote_stays_words_in_its_own_box(watch: Watch, family: str) -> None:
    found = []
    for width in (1280, 390):
        await resize(watch.page, width, 800)
        for kind in (*KINDS, "gone"):
            await watch.show(f"/r/{family}-{kind}", f"[data-testid=request-detail][data-id='{family}-{kind}']")
            await unfold(watch.page)
            found += await watch.look(f"{kind} {width}")
        for thread in ("waits", "fails"):
            status = {"waits": "interrupted", "fails": "error"}[thread]
            await watch.show(f"/t/{family}.{thread}", f"[data-testid=thread-status][data-status={status}]")
            await unfold(watch.page)
            found += await watch.look(f"{thread} {width}")
    assert not found, "\n".join(found)


async def unfold(page: Page) -> None:
    """Open all that is folded, and the editor of the arguments."""
    await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    # In one step: a draft that is kept may open the editor between a look at the button and a click.
    await page.evaluate("document.querySelector('[data-testid=decide-edit]:enabled')?.click()")


async def test_lists_of_what_an_agent_wrote_stay_lists(watch: Watch) -> None:
    found = []
    for width in (1280, 390):
        await resize(watch.page, width, 800)
        for path in PAGES:
            await watch.show(path, "main h1, [data-testid=request-row]")
            found += await watch.look(f"{path} {width}")
    assert not found, "\n".join(found)
    assert re.fullmatch(r"\(\d+\+?\) Ringi", await watch.page.title())


@pytest.mark.parametrize("family", ["bidi", "unseen", "controls"])
async def test_what_cannot_be_seen_is_written_out(watch: Watch, family: str) -> None:
    await watch.show(f"/r/{family}-approval", f"[data-testid=request-detail][data-id='{family}-approval']")
    for place in ("agent-words", "context", "facts", "signature", "decide-approve"):
        assert "\\u{" in await watch.page.get_by_test_id(place).first.inner_text(), place
    assert "\\u{" in await watch.page.locator("[data-testid=request-detail] h2").first.inner_text()
    await watch.show(f"/r/{family}-form", f"[data-testid=request-detail][data-id='{family}-form']")
    assert "\\u{" in await watch.page.get_by_test_id("field-select").first.inner_text()
    assert await watch.page.get_by_test_id("hidden-characters").count() >= 2


async def test_the_watch_sees_what_it_watches_for(watch: Watch) -> None:
    bad = """
      <a href="javascript:1">a</a><img src="https://evil.example/x.png" onerror="1"><p>pay \u202e me</p>
      <div data-testid="facts">«title»</div><a href="https://evil.example/">bank</a>
    """
    await watch.page.evaluate("bad => document.body.insertAdjacentHTML('beforeend', bad)", bad)
    await watch.page.wait_for_function("() => watched.violations().length > 0")
    seen = "\n".join(await watch.look("here"))
    for sign in (
        "violations: img-src",
        "hidden:",
        "foreign: <img",
        'traps: <a href="javascript',
        "bank</a>",
        "a fact: title",
    ):
        assert sign in seen, seen
