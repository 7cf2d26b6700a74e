"""Conformance tests of `ringi.contracts.store.Store` for searches: matches, order, and texts that must not match."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ringi.contracts.store import Store
from ringi.domain.ask import Action
from ringi.domain.record import MAX_SEARCH, Query, Viewer
from ringi.domain.request import Request
from ringi.errors import ConflictError, InvalidError
from ringi.testing.clock import NOON
from ringi.testing.conformance.lists import matching_request_ids, paged_request_ids
from ringi.testing.factories import answer_to, store_request

WORDS = "注文1182の返金 Refund 退款申请 稟議リンギ ﾒﾓ Straße 50% a_b Ελλάδα 환불요청 คืนเงิน C++ café ①"
ARGS = {"order": "A-2026/1182", "amount": 40.5, "lines": [{"sku": 77031, "gift": True}], "note": None}


FOUND = [
    *("返金", "ﾘﾝｷﾞ", "ﾒﾓ", "款申", "の返金", "文1182の", "返", "불요", "คืน", "稟議リンギ"),
    *("ＲＥＦＵＮＤ", "ref", "r", "strasse", "straß", "50%", "a_b", "b", "_b", "ΕΛΛ", "caf", "cafe\u0301", "c++", "%"),
    *("1182", "118", "①", "1", "request-1", "refund 返金", " 返金\u3000ref\tref ", "refund 1182 退款 50%"),
]
NOT_FOUND = [
    *("efund", "und", "金返", "文返", "返金 refunds", "refund nowhere", "5%", "a_c", "ab", "182", "ß", "d 返"),
    *('"', "' OR 1", "refund* OR", "NOT", "(", "terms:refund", "\x00", "\ud800", "--", "^r", "😀"),
]


async def search_matches(store: Store, texts: list[str], **query: object) -> dict[str, str]:
    """Return the matches of each search."""
    return {text: " ".join(await matching_request_ids(store, text=text, **query)) for text in texts}


class SearchesConformance:
    """Conformance tests of `find` and `count` with a text."""

    @pytest.mark.parametrize("tenant", ["tenant-1", None])
    async def test_a_search_finds_beginnings_of_words_and_parts_of_what_has_no_spaces(
        self, store: Store, tenant: str | None
    ) -> None:
        await store_request(store, title="Question", description=WORDS, action=None)
        await store_request(store, "another", title="Hello", description="500 axb 金の文 a c", action=None)

        assert await search_matches(store, FOUND, tenant=tenant) == dict.fromkeys(FOUND, "request-1")

    @pytest.mark.parametrize("tenant", ["tenant-1", None])
    async def test_a_search_finds_nothing_else_and_is_no_language(self, store: Store, tenant: str | None) -> None:
        await store_request(store, title="Question", description=WORDS, action=None)

        assert await search_matches(store, NOT_FOUND, tenant=tenant) == dict.fromkeys(NOT_FOUND, "")

    async def test_a_search_looks_at_the_id_and_the_action_and_at_no_names_of_keys(self, store: Store) -> None:
        unwritten = ["sku", "true", "none", "nowhere"]
        texts = ["refund", "REFU", "A-2026/1182", "2026", "1182", "40.5", "77031", "order-7 770"]
        await store_request(store, "order-7", title="Go on?", action=Action("refund", ARGS))
        await store_request(store, "another", title="Go on?", action=Action("cancel", {"order": "B-2025/118"}))

        assert await search_matches(store, texts, tenant="tenant-1") == dict.fromkeys(texts, "order-7")
        assert await search_matches(store, unwritten, tenant="tenant-1") == dict.fromkeys(unwritten, "")

    async def test_a_search_for_nothing_finds_all(self, store: Store) -> None:
        texts = ["", "  ", "\u3000\n"]
        await store_request(store)

        assert await search_matches(store, texts, tenant="tenant-1") == dict.fromkeys(texts, "request-1")

    async def test_a_long_word_is_found_by_all_of_it_only(self, store: Store) -> None:
        for n in range(3):
            await store_request(store, f"request-{n}", title=f"{'customer' * 8}{n}", action=None)

        assert await matching_request_ids(store, tenant="tenant-1", text=f"{'customer' * 8}1") == ["request-1"]
        assert len(await matching_request_ids(store, tenant="tenant-1", text="customer" * 8)) == 3

    async def test_many_words_must_all_be_there(self, store: Store) -> None:
        words = " ".join(f"w{n}" for n in range(100))
        await store_request(store, title=words, action=None)

        assert await matching_request_ids(store, tenant="tenant-1", text=words) == ["request-1"]
        assert await matching_request_ids(store, tenant="tenant-1", text=f"{words} w100") == []

    async def test_a_search_is_bounded(self, store: Store) -> None:
        with pytest.raises(InvalidError, match=str(MAX_SEARCH)):
            await store.find(Request, Query(tenant="tenant-1", text="x" * (MAX_SEARCH + 1)))
        assert await matching_request_ids(store, tenant="tenant-1", text="返" * MAX_SEARCH) == []

    async def test_a_search_stays_with_its_tenant(self, store: Store) -> None:
        await store_request(store, tenant="ours", title="返金 ours")
        await store_request(store, tenant="theirs", title="返金 theirs")

        assert await matching_request_ids(store, tenant="ours", text="返金") == ["request-1"]
        assert await matching_request_ids(store, tenant="ours", text="theirs") == []
        assert await matching_request_ids(store, tenant="nobody", text="返金") == []

    async def test_what_is_found_comes_in_the_order_of_lists(self, store: Store) -> None:
        for n in range(20):
            title = "返金 of the rare kind" if n % 7 == 3 else "返金"
            await store_request(store, f"request-{n:02}", title=title, at=NOON + timedelta(microseconds=n // 4))
        newest_first = [f"request-{n:02}" for n in range(19, -1, -1)]

        assert await paged_request_ids(store, 3, tenant="tenant-1", text="返金") == newest_first
        rare = await paged_request_ids(store, 1, tenant="tenant-1", text="rare")
        assert rare == ["request-17", "request-10", "request-03"]

    async def test_a_search_heeds_all_other_filters(self, store: Store) -> None:
        mine = await store_request(store, "mine", title="返金", assignee="ann")
        await store_request(store, "bobs", title="返金", assignee="bob", priority="high")
        await store_request(store, "all", title="返金", at=NOON + timedelta(seconds=1))
        await store.put(*mine.completed(answer_to(mine), by="ann", channel="test", now=NOON))
        sought: dict[str, Any] = {"tenant": "tenant-1", "text": "返金"}

        assert await matching_request_ids(store, **sought, viewer=Viewer(name="ann")) == ["all", "mine"]
        assert await matching_request_ids(store, **sought, statuses=("pending",)) == ["all", "bobs"]
        assert await matching_request_ids(store, **sought, statuses=("pending",), viewer=Viewer(name="ann")) == ["all"]
        assert await matching_request_ids(store, **sought, assigned_or_claimed_by="bob", priority="high") == ["bobs"]
        assert await matching_request_ids(store, **sought, ended_since=NOON) == ["mine"]

    async def test_a_refused_request_is_not_found(self, store: Store) -> None:
        await store_request(store, title="First")
        with pytest.raises(ConflictError):
            await store_request(store, title="Second")

        assert await matching_request_ids(store, tenant="tenant-1", text="second") == []
        assert await matching_request_ids(store, tenant="tenant-1", text="first") == ["request-1"]
