"""Somebody without a token signs in at a provider on another site, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from tests.acceptance.demo_server import DemoServer
from tests.server.provider import CLIENT, SECRET, Provider, serving
from tests.tiers import MAIN

WAIT = 20_000
"""Milliseconds after which the page is stuck."""


@MAIN
@pytest.mark.timeout(120)
async def test_a_person_signs_in_at_another_site_and_comes_back_to_where_they_were(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(Provider(), "localhost") as provider:
        for name, value in {"ISSUER": provider.issuer, "CLIENT_ID": CLIENT, "CLIENT_SECRET": SECRET}.items():
            monkeypatch.setenv(f"RINGI_OIDC_{name}", value)
        with DemoServer(tmp_path, "serve") as server:
            await page.goto(f"{server.url}/?status=completed")
            await page.get_by_test_id("provider").click(timeout=WAIT)

            await expect(page.get_by_test_id("session-name")).to_have_text("ann@example.com", timeout=WAIT)
            assert page.url == f"{server.url}/?status=completed"
            cookies = {cookie["name"]: cookie for cookie in await page.context.cookies()}
            assert set(cookies) == {"ringi_session"}
            assert (cookies["ringi_session"]["sameSite"], cookies["ringi_session"]["httpOnly"]) == ("Strict", True)
            assert await page.evaluate("document.cookie") == ""

            await page.reload()
            await expect(page.get_by_test_id("session-name")).to_have_text("ann@example.com", timeout=WAIT)
            assert provider.called.count("token") == 1
