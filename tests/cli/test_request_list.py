"""What `ringi watch` counts as new."""

from __future__ import annotations

import ringi
from ringi.cli.terminal.request_list import PAGE, RequestList


async def test_what_changes_further_down_than_the_list_was_read_is_no_news() -> None:
    async with ringi.open("memory://") as inbox:
        asked = [await inbox.ask(f"Question {number}?") for number in range(PAGE + 5)]
        listing = RequestList(inbox, "ann")
        await listing.reload()

        listing.take(await inbox.claim(asked[-1].id, "ann"))
        assert listing.news == {}
        plain = await inbox.ask("New?")
        listing.take(plain)
        assert listing.news == {}
        new = await inbox.ask("New and urgent?", priority="urgent")
        listing.take(new)
        assert list(listing.news) == [new.id]

        await listing.more()
        assert listing.listed[asked[-1].id].claimed_by == "ann"
        listing.take(await inbox.release(asked[-1].id, "ann"))
        assert listing.listed[asked[-1].id].claimed_by is None
        assert list(listing.news) == [new.id]
