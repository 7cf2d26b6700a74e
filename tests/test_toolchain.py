from __future__ import annotations

import asyncpg
import redis.asyncio
from playwright.async_api import Page


async def test_the_browser_opens_a_page(page: Page) -> None:
    await page.goto("data:text/html;charset=utf-8,<title>稟議</title>")

    assert await page.title() == "稟議"


async def test_the_browser_serves_a_second_test_too(page: Page) -> None:
    await page.set_content("<button onclick='this.textContent=2'>1</button>")
    await page.get_by_role("button").click()

    assert await page.get_by_role("button").inner_text() == "2"


async def test_postgres_answers(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)

    assert int(await connection.fetchval("show server_version_num")) >= 160000
    await connection.close()


async def test_redis_answers(redis_url: str) -> None:
    async with redis.asyncio.from_url(redis_url) as client:
        await client.set("stamp", "approved")

        assert await client.get("stamp") == b"approved"


async def test_valkey_answers(valkey_url: str) -> None:
    async with redis.asyncio.from_url(valkey_url) as client:
        assert (await client.info("server"))["server_name"] == "valkey"
