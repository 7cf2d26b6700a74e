"""An inbox of a test's own in a demo that many tests share, and its list as a page shows it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
from playwright.async_api import Locator, Page, expect
from tests.acceptance.conftest import WAIT
from tests.acceptance.demo_server import DemoServer
from tests.server.world import until

from ringi import Action
from ringi.connect import store_inbox
from ringi.domain.ask import Ask
from ringi.server.auth.authenticator import Keys


@dataclass
class Office:
    """A tenant of its own in a demo: nobody else's requests, and the people of the test."""

    demo: DemoServer
    tenant: str = field(default_factory=lambda: f"office-{uuid.uuid4().hex[:8]}")

    def token(self, role: str, name: str) -> str:
        """Return a token of somebody of this office."""
        return Keys.load(self.demo.folder).mint(tenant=self.tenant, role=role, name=name)

    def link(self, path: str = "/") -> str:
        """Return the link with which ann begins at a page."""
        return f"{self.demo.url}{path}#token={self.token('person', 'ann')}"

    @contextmanager
    def client(self, role: str = "person", name: str = "ann") -> Iterator[httpx.Client]:
        """Call the API as somebody."""
        headers = {"authorization": f"Bearer {self.token(role, name)}"}
        with httpx.Client(base_url=self.demo.url, headers=headers, timeout=30) as client:
            yield client

    async def fill(self, count: int) -> list[str]:
        """Ask for so many refunds, all at once, and return their ids as the list has them."""
        async with store_inbox(f"sqlite:///{self.demo.folder / 'ringi.db'}") as inbox:
            mine = inbox.for_tenant(self.tenant)
            refunds = ((f"r{number}", {"order": number}) for number in range(count))
            await asyncio.gather(
                *(
                    mine.ask(f"Refund order {args['order']}", id=id, action=Action("refund", args))
                    for id, args in refunds
                )
            )
        return self.pending()

    async def put(self, *asks: Ask, by: str = "agent:clerk") -> None:
        """Ask many questions as an agent, all at once."""
        async with store_inbox(f"sqlite:///{self.demo.folder / 'ringi.db'}") as inbox:
            mine = inbox.for_tenant(self.tenant)
            await asyncio.gather(*(mine.submit(ask, by=by) for ask in asks))

    def pending(self, **query: Any) -> list[str]:
        """Return the ids of the pending requests as the page has them: the most urgent first."""
        return self.listed(status="pending", order="urgent", **query)

    def ask(self, id: str, title: str = "Refund?", **more: Any) -> dict[str, Any]:
        """Ask one question."""
        body = {"id": id, "title": title, "action": {"name": "refund", "args": {"order": id}}, **more}
        with self.client("agent", "clerk") as client:
            asked: dict[str, Any] = client.post("/v1/requests", json=body).raise_for_status().json()
            return asked

    def decide(self, id: str, decision: str = "approve") -> None:
        """Decide as bob."""
        with self.client(name="bob") as client:
            digest = client.get(f"/v1/requests/{id}").json()["digest"]
            answer = {"decision": decision, "digest": digest}
            client.post(f"/v1/requests/{id}/respond", json=answer).raise_for_status()

    def listed(self, **query: Any) -> list[str]:
        """Return the ids of a whole list, as the server has it."""
        ids: list[str] = []
        cursor = ""
        with self.client() as client:
            while True:
                found = client.get("/v1/requests", params={**query, "limit": 200, "cursor": cursor}).raise_for_status()
                ids += [item["id"] for item in found.json()["items"]]
                cursor = found.json()["next"]
                if not cursor:
                    return ids


def row(page: Page, id: str) -> Locator:
    """Return the row of a request."""
    return page.locator(f"[data-testid=request-row][data-id='{id}']")


def link(page: Page, id: str) -> Locator:
    """Return what a row is opened by."""
    return row(page, id).get_by_role("link")


async def show(page: Page, office: Office, path: str = "/") -> None:
    """Open the inbox with a row for each request, and wait for its rows."""
    await page.add_init_script("localStorage.setItem('ringi.bundles', 'off')")
    await page.goto(office.link(path))
    await expect(page.get_by_test_id("request-row").first).to_be_visible(timeout=WAIT)


async def opened(page: Page, id: str) -> None:
    """Wait until a request is shown in full."""
    await expect(page.get_by_test_id("request-detail")).to_have_attribute("data-id", id, timeout=WAIT)


async def shown_rows(page: Page) -> list[str]:
    """Return the ids of the rows in their order."""
    ids: list[str] = await page.get_by_test_id("request-row").evaluate_all("rows => rows.map(row => row.dataset.id)")
    return ids


async def until_rows(page: Page, ids: list[str]) -> None:
    """Wait until the list has exactly these rows."""

    async def are_there() -> bool:
        return await shown_rows(page) == ids

    with suppress(TimeoutError):
        await until(are_there)
    assert await shown_rows(page) == ids
