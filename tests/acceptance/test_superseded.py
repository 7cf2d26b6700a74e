"""A worker is killed in the middle of a message while people watch: the page shows the message once, and whole."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from tests.acceptance import shop
from tests.acceptance.demo_server import CODE, DemoServer
from tests.acceptance.test_chat import id_of, open_chat, says, word, write
from tests.acceptance.thread_steps import WAIT, open_thread, raw, sign_in, until_status
from tests.warm import Command

pytestmark = pytest.mark.timeout(120)


def worker(server: DemoServer, name: str) -> Command:
    """Start a worker of the shop's agents beside a server that has none."""
    environment = os.environ | {"RINGI_HOME": str(server.folder), "PYTHONPATH": CODE}
    environment.pop("RINGI_URL", None)
    files = server.folder / f"{name}-output", server.folder / f"{name}-log"
    return Command(["worker", "--agents", "shop"], server.folder, environment, *files)


async def test_the_half_message_of_a_killed_worker_goes_from_the_page(page: Page, tmp_path: Path) -> None:
    shutil.copy(shop.__file__, tmp_path / "shop.py")
    with DemoServer(tmp_path, "serve") as server:
        first = worker(server, "first")
        try:
            await sign_in(page, server)
            go = word(server)
            await open_chat(page, server, "Wavers")
            await write(page, go.name)
            await says(page, go.name, "In try 1")
            other = await page.context.new_page()
            await open_thread(other, server, id_of(page))
            messages = other.get_by_test_id("message")
            await expect(messages).to_have_text(["In try 1"], timeout=WAIT)
        finally:
            first.kill()
        go.touch()
        second = worker(server, "second")
        try:
            whole = f"In try 2 I heard {go.name}. And that is all."
            await says(page, go.name, whole)
            await expect(messages).to_have_text([whole], timeout=WAIT)
            await until_status(other, "done")
            events = [text for _, text in await raw(other)]
            await page.reload()
            await other.reload()
            await says(page, go.name, whole)
            await expect(messages).to_have_text([whole], timeout=WAIT)
        finally:
            second.kill()
        assert sum("ringi.superseded" in text for text in events) == 1
        assert any("In try 1" in text for text in events)
