"""The page of a Ringi that is a part of another application."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from playwright.async_api import Page, expect
from tests.acceptance.conftest import WAIT
from tests.server.test_embedded import bearer, mounted, served
from tests.tiers import MAIN

from ringi.server import Keys, Principal, create_app
from ringi.server.auth.links import mint_link


@MAIN
async def test_a_person_works_under_the_path_of_another_application(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import httpx

    monkeypatch.setenv("RINGI_HOME", str(tmp_path))
    elsewhere: list[str] = []
    async with served(mounted(create_app())) as address:
        page.on("request", lambda request: elsewhere.append(request.url))
        await page.goto(mint_link(Keys.load(tmp_path), f"{address}/ringi", Principal("default", "person", "ann")))
        await expect(page.get_by_test_id("empty")).to_be_visible(timeout=WAIT)

        async with httpx.AsyncClient(base_url=f"{address}/ringi", headers=bearer(tmp_path, "agent", "bot")) as agent:
            call = {"name": "refund", "args": {"amount": 40}}
            await agent.post("/v1/requests", json={"id": "r1", "title": "Refund 40?", "action": call})
            row = page.get_by_test_id("request-row")
            await expect(row).to_contain_text("Refund 40?", timeout=WAIT)
            await expect(page.locator("link[rel=icon]")).to_have_attribute("href", "/ringi/stamp-dot.svg")
            await row.get_by_role("link").click()
            await expect(page).to_have_url(f"{address}/ringi/r/r1")
            await page.reload()
            await expect(page.get_by_test_id("request-detail")).to_have_attribute("data-id", "r1", timeout=WAIT)
            await page.get_by_test_id("decide-approve").click()
            async with asyncio.timeout(WAIT / 1000):
                while (await agent.get("/v1/requests/r1", params={"wait": 5})).json()["status"] != "completed":
                    pass

        await page.get_by_role("link", name="Threads").click()
        await expect(page).to_have_url(f"{address}/ringi/threads")
        await page.go_back()
        await expect(page.get_by_test_id("request-detail")).to_be_visible(timeout=WAIT)
    strays = [url for url in elsewhere if url.startswith("http") and not url.startswith(f"{address}/ringi/")]
    assert strays == []
