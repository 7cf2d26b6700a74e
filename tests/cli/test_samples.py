from __future__ import annotations

from ringi.cli.commands.serve import ask_demo_samples
from ringi.connect import store_inbox
from ringi.domain.record import Query


async def test_a_demo_without_agents_asks_a_question_of_each_kind_and_only_once() -> None:
    async with store_inbox("memory://") as inbox:
        await ask_demo_samples(inbox)
        await ask_demo_samples(inbox)

        assert [request.kind for request in await inbox.find()] == ["approval"] * 3 + ["form", "question"]


async def test_an_answered_sample_is_not_asked_again() -> None:
    async with store_inbox("memory://") as inbox:
        await ask_demo_samples(inbox)
        question = await inbox.get("sample-question")
        await inbox.respond(question, "respond", message="blue", by="ann")
        await ask_demo_samples(inbox)

        assert len(await inbox.search(Query(statuses=("pending",)))) == 4
