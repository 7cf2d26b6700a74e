"""What `ringi watch` counts as new."""

from __future__ import annotations

import ringi
from ringi.cli.terminal.live import PAGE, Live


async def test_what_changes_further_down_than_the_list_was_read_is_no_news() -> None:
    async with ringi.open("memory://") as inbox:
        asked = [await inbox.ask(f"Question {number}?") for number in range(PAGE + 5)]
        live = Live(inbox)
        await live.reload()

        live.take(await inbox.claim(asked[0].id, "ann"))
        assert live.news == {}
        new = await inbox.ask("New?")
        live.take(new)
        assert list(live.news) == [new.id]

        await live.more()
        assert live.shown[asked[0].id].claimed_by == "ann"
        live.take(await inbox.release(asked[0].id, "ann"))
        assert live.shown[asked[0].id].claimed_by is None
        assert list(live.news) == [new.id]
