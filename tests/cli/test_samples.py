from __future__ import annotations

from ringi import open as open_inbox
from ringi.cli.agents import ask_samples
from ringi.domain.record import Query


async def test_a_demo_without_agents_asks_a_question_of_each_kind_and_only_once() -> None:
    async with open_inbox("memory://") as inbox:
        await ask_samples(inbox)
        await ask_samples(inbox)

        assert [request.kind for request in await inbox.find()] == ["approval"] * 3 + ["form", "question"]


async def test_an_answered_sample_is_not_asked_again() -> None:
    async with open_inbox("memory://") as inbox:
        await ask_samples(inbox)
        question = await inbox.get("sample-question")
        await inbox.respond(question.id, "respond", message="blue", digest=question.digest, responder="ann")
        await ask_samples(inbox)

        assert len(await inbox.find(Query(statuses=("pending",)))) == 4
