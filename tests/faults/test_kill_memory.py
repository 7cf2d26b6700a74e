"""An answer and its memory are one: whoever is killed when, there are both or neither, and what is deleted stays so."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.faults.processes import child

from ringi import Form, Text
from ringi.audit.verify import verify_store
from ringi.connect import store_inbox

KILLED = -signal.SIGKILL
POINTS = ["change.before_commit", "change.after_commit"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def ask(url: str) -> None:
    async with store_inbox(url) as inbox:
        await inbox.ask("What do you eat?", id="r1", form=Form([Text("note")]), context={"memory_category": "food"})


async def notes(url: str) -> list[str]:
    """Return what ann is remembered to have said, in a store that verifies."""
    async with store_inbox(url) as inbox:
        assert (await verify_store(inbox.store))[1] == []
        found = await inbox.memories.list("ann")
        answered = (await inbox.get("r1")).status == "completed"
        assert len(found) <= answered
        return [memory.answer["note"] for memory in found]


@pytest.mark.parametrize("point", POINTS)
async def test_an_answer_that_was_cut_off_is_given_and_remembered_or_neither(url: str, point: str) -> None:
    await ask(url)
    async with child(url, "answer_with", "r1", "no fish", failpoint=point) as answering:
        assert await answering.death() == KILLED
    assert await notes(url) == (["no fish"] if point == "change.after_commit" else [])

    async with child(url, "answer_with", "r1", "no fish") as again:
        await again.says("answered")
    assert await notes(url) == ["no fish"]


@pytest.mark.parametrize("point", POINTS)
async def test_an_edit_that_was_cut_off_is_made_or_not_and_outlives_the_answer_sent_again(url: str, point: str) -> None:
    await ask(url)
    async with child(url, "answer_with", "r1", "no fish") as answering:
        await answering.says("answered")
    async with child(url, "edit_memory", "r1", "fish at last", failpoint=point) as editing:
        assert await editing.death() == KILLED
    now = "fish at last" if point == "change.after_commit" else "no fish"
    assert await notes(url) == [now]

    async with child(url, "answer_with", "r1", "no fish") as again:
        await again.says("answered")
    assert await notes(url) == [now]


@pytest.mark.parametrize("point", POINTS)
async def test_what_was_deleted_never_comes_back(url: str, point: str) -> None:
    await ask(url)
    async with child(url, "answer_with", "r1", "no fish") as answering:
        await answering.says("answered")
    async with child(url, "delete_memory", "r1", failpoint=point) as deleting:
        assert await deleting.death() == KILLED
    assert await notes(url) == ([] if point == "change.after_commit" else ["no fish"])

    if point == "change.before_commit":
        async with child(url, "delete_memory", "r1") as again:
            await again.says("deleted")
    async with child(url, "answer_with", "r1", "no fish") as answered_again:
        await answered_again.says("answered")
    assert await notes(url) == []
