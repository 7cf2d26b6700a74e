"""A full-text search uses the index of terms only where a scan of the newest requests has not ended it."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from ringi.backends.orders import ordered_listing
from ringi.backends.postgres.pages import FIRST, search_postgres_text
from ringi.domain.record import Query
from ringi.domain.request import Request


class Requests:
    """A database with some requests, none of which matches; it counts the searches in two ways."""

    def __init__(self, count: int) -> None:
        self.left, self.in_two_ways = count, 0

    async def fetch(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        found, self.left = min(self.left, FIRST), max(self.left - FIRST, 0)
        return [(None, found, "2026-01-01T00:00:00Z", "id")] if found else []

    async def first_result(self, *ways: Coroutine[Any, Any, list[str]]) -> list[str]:
        self.in_two_ways += 1
        for way in ways:
            way.close()
        return []


@pytest.mark.parametrize(("count", "in_two_ways"), [(0, 0), (FIRST - 1, 0), (100 * FIRST, 1)])
async def test_the_index_is_asked_only_if_many_requests_are_left(
    monkeypatch: pytest.MonkeyPatch, count: int, in_two_ways: int
) -> None:
    monkeypatch.setattr("ringi.backends.postgres.pages.NEAR", 0)
    requests = Requests(count)
    database: Any = requests
    assert await search_postgres_text(database, ordered_listing(Request, Query(tenant="t", text="refund"))) == []
    assert requests.in_two_ways == in_two_ways
