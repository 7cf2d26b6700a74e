"""An agent ends when a person says so, and goes on with all it knows when they do not."""

from __future__ import annotations

import pytest
from tests.integrations.langchain.finishing import Heard, answered, gated, hearing
from tests.runs.world import at_work, of_type

from ringi.errors import InvalidError
from ringi.integrations.langchain import FinishGate

TASK = {"task": "write a haiku"}


async def test_the_end_of_an_agent_is_a_question_with_its_task_and_summary(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        thread = await world.run("worker", TASK)
        request = await world.one()
        assert (thread.status, thread.values["outcome"]) == ("interrupted", "")
        assert (request.kind, request.title) == ("finish", "Is this finished: write a haiku")
        assert request.context == {"task": "write a haiku", "summary": "Did: write a haiku"}
        assert request.allowed == ("approve", "edit", "reject", "respond")


async def test_half_a_character_in_the_last_words_of_an_agent_is_asked_about_all_the_same(file: str) -> None:
    model = hearing([], lambda _: "done \ud83d, with a \x00")
    async with at_work(file, [gated(model)]) as world:
        assert (await world.run("worker", TASK)).status == "interrupted"
        assert (await world.one()).context["summary"] == "done ?, with a "


async def test_an_approval_completes(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard))]) as world:
        await world.run("worker", TASK)
        thread = await world.answer(await world.one(), "approve")
        assert (thread.status, thread.values["outcome"], thread.values["history"]) == (
            "done",
            "completed",
            ["complete"],
        )
        assert len(heard) == 1
        await world.verified()


@pytest.mark.parametrize("words", ["yes", "Y", "はい。", "是", "ＹＥＳ！"])
async def test_a_word_of_consent_completes(file: str, words: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        assert (await answered(world, words)).values["outcome"] == "completed"


async def test_anything_else_is_asked_again_and_never_read_as_consent(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard))]) as world:
        await world.run("worker", TASK)
        for words in ["yes but first check it", "ok", "ok", "no", "yes?", "はいはい"]:
            before = await world.one()
            assert (await answered(world, words)).status == "interrupted"
            again = await world.one()
            assert again.id != before.id
            assert again.description
            assert f"“{words}” is no decision here" in again.description
        assert len(heard) == 1
        assert (await answered(world, "yes")).values["outcome"] == "completed"


async def test_an_edit_gives_another_task_and_the_agent_goes_on_with_all_it_knows(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard))]) as world:
        await world.run("worker", TASK)
        await world.answer(await world.one(), "edit", {"task": "write two"})
        request = await world.one()
        assert heard[-1][:2] == ["write a haiku", "Did: write a haiku"]
        assert "write two" in heard[-1][2]
        assert request.context["task"] == "write two"
        assert (await world.answer(request, "approve")).values["history"] == ["update", "complete"]


async def test_an_edit_without_a_task_is_refused_and_stays_open(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        request = await world.one()
        for data in [{}, {"task": "  "}, {"task": 3}, {"other": "x"}]:
            with pytest.raises(InvalidError):
                await world.respond(request, "edit", data)
        assert await world.one() == request


@pytest.mark.parametrize("words", ["update", "U", "更新", "更新。"])
async def test_a_word_for_another_task_asks_which(file: str, words: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        await answered(world, words)
        request = await world.one()
        assert (request.kind, request.title) == ("question", "What is the new task?")
        await answered(world, "yes")
        assert (await world.one()).context["task"] == "yes"


async def test_who_names_no_task_after_all_is_asked_again(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        await answered(world, "update")
        await world.answer(await world.one(), "reject")
        assert (await world.one()).kind == "finish"
        assert (await answered(world, "yes")).values["outcome"] == "completed"


async def test_a_task_may_be_named_in_one_go(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        await answered(world, "更新：俳句を二つ")
        assert (await world.one()).context["task"] == "俳句を二つ"


async def test_a_rejection_goes_to_the_agent_with_its_reason(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard))]) as world:
        await world.run("worker", TASK)
        await world.answer(await world.one(), "reject", message="it has no season")
        assert "it has no season" in heard[-1][-1]
        assert (await world.one()).context["task"] == "write a haiku"


async def test_a_withdrawn_question_is_no_consent_and_is_asked_again(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        for _ in range(2):
            await world.inbox.cancel((await world.one()).id, by="ann")
            assert (await world.rest()).status == "interrupted"
        assert (await world.one()).description == "Nobody decided: the question before this one was cancelled."
        assert (await answered(world, "yes")).values["outcome"] == "completed"


async def test_a_cancelled_thread_is_not_asked_again(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        await world.runner.cancel("default", "t1", by="ann")
        thread = await world.rest()
        assert (thread.status, thread.values.get("outcome"), await world.pending()) == ("idle", "", [])


async def test_many_updates_in_a_row_are_all_kept(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard))]) as world:
        await world.run("worker", TASK)
        for number in range(8):
            await answered(world, f"update: verse {number}")
        thread = await answered(world, "yes")
        assert thread.values["history"] == ["update"] * 8 + ["complete"]
        assert len(heard[-1]) == 17
        values = [event["value"] for event in of_type(await world.items(), "CUSTOM")]
        assert [one["next"] for one in values if one["name"] == "finish.update"] == [f"verse {n}" for n in range(8)]


async def test_after_the_last_round_it_is_completed_or_refused_and_nothing_else(file: str) -> None:
    async with at_work(file, [gated(hearing([]), gate=FinishGate(max_rounds=2))]) as world:
        for id in ("t1", "t2"):
            await world.run("worker", TASK, id)
            await answered(world, "update: one", "update: two", "update: three", id=id)
            request = await world.one(id)
            assert request.allowed == ("approve", "reject", "respond")
            assert request.context["task"] == "two"
            assert "sent on 2 times" in str(request.description)
        refused = await world.answer(await world.one("t1"), "reject", message="enough")
        assert refused.error
        assert (refused.status, refused.error.code) == ("error", "NotFinishedError")
        assert refused.values["outcome"] == ""
        assert (await answered(world, "yes", id="t2")).values["outcome"] == "completed"


async def test_a_second_run_on_the_thread_has_its_own_task_and_gate(file: str) -> None:
    async with at_work(file, [gated(hearing([]))]) as world:
        await world.run("worker", TASK)
        await answered(world, "update: one", "yes")
        thread = await world.run("worker", {"task": "another"})
        assert thread.values["outcome"] == ""
        assert (await world.one()).context == {"task": "another", "summary": "Did: another"}


async def test_the_conservative_way_completes_first_and_begins_anew_with_the_hand_over(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard), gate=FinishGate(anew=True))]) as world:
        await world.run("worker", TASK)
        await world.answer(await world.one(), "edit", {"task": "translate it"})
        confirm = await world.one()
        assert confirm.title == "Is the task before completed?"
        assert "translate it" in str(confirm.description)
        await answered(world, "maybe")
        assert (await world.one()).title.startswith("Is this finished")
        assert len(heard) == 1
        await answered(world, "update: translate it", "yes")
        assert len(heard[-1]) == 1
        assert heard[-1][0].startswith("translate it")
        assert "Did: write a haiku" in heard[-1][0]
        assert (await answered(world, "yes")).values["history"] == ["anew", "complete"]
