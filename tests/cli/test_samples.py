from __future__ import annotations

from ringi import open as open_inbox
from ringi.cli.samples import ask_samples


async def test_a_demo_without_agents_asks_a_question_of_each_kind_and_only_once() -> None:
    async with open_inbox("memory://") as inbox:
        await ask_samples(inbox)
        await ask_samples(inbox)

        assert [request.kind for request in await inbox.find()] == ["approval", "form", "question"]
