"""A gate that outlives its process, and a conversation that outgrows its window."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager

from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from tests.integrations.langchain import finish_worker
from tests.integrations.langchain.finishing import Heard, answered, gated, hearing
from tests.runs.world import World, at_work, opened, until
from tests.warm import FORKS

from ringi.domain.request import Request
from ringi.testing.model import ScriptedModel, tool_call


@contextmanager
def worker(url: str) -> Iterator[None]:
    """Have a process that runs threads, and kill it like a power cut."""
    process = FORKS.Process(target=finish_worker.work, args=(url,))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


async def asked(world: World, after: Request | None = None) -> Request:
    """Return the question that a worker's process asks next."""

    async def is_open() -> Request | None:
        if (await world.thread()).status != "interrupted":
            return None
        return next((r for r in await world.pending() if after is None or r.id != after.id), None)

    return await until(is_open, "the agent asks", 30)


@asynccontextmanager
async def begun(file: str, agent: str) -> AsyncIterator[World]:
    """Have a store whose workers are other processes, and a run that was begun on it."""
    async with opened(file, finish_worker.agents()) as world:
        await world.start(agent, {"task": "write a haiku"})
        yield world


async def test_a_gate_waits_through_the_death_of_every_process_that_knew_of_it(file: str) -> None:
    async with begun(file, "worker") as world:
        with worker(file):
            first = await asked(world)
        await world.respond(first, "respond", message="update")
        with worker(file):
            which = await asked(world, first)
        assert which.title == "What is the new task?"
        await world.respond(which, "respond", message="write two")
        with worker(file):
            second = await asked(world, which)
        assert second.context["task"] == "write two"
        assert "Did: write a haiku" in (await world.thread()).values["messages"]
        await world.respond(second, "respond", message="maybe")
        with worker(file):
            third = await asked(world, second)
            assert "“maybe” is no decision here" in str(third.description)
            thread = await world.answer(third, "approve")
        assert (thread.status, thread.values["history"]) == ("done", ["update", "complete"])
        await world.verified()


async def test_the_conservative_way_waits_through_a_death_between_its_two_questions(file: str) -> None:
    async with begun(file, "careful") as world:
        with worker(file):
            first = await asked(world)
        await world.respond(first, "edit", {"task": "translate it"})
        with worker(file):
            confirm = await asked(world, first)
        await world.respond(confirm, "approve")
        with worker(file):
            second = await asked(world, confirm)
            assert second.context["task"] == "translate it"
            assert (await world.answer(second, "approve")).values["history"] == ["anew", "complete"]


def summing_up() -> SummarizationMiddleware:
    """Return LangChain's own summaries, on a model that says little."""
    model = ScriptedModel(script=lambda _: "Verses were written.")
    return SummarizationMiddleware(model, trigger=("messages", 8), keep=("messages", 3))


async def test_a_task_that_is_updated_for_long_does_not_outgrow_the_window(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard), summing_up())]) as world:
        await world.run("worker", {"task": "write verse 0"})
        for number in range(1, 16):
            await answered(world, f"update: write verse {number}")
        assert max(len(texts) for texts in heard) <= 8
        for number, texts in enumerate(heard):
            assert f"write verse {number}" in texts[-1]
        assert (await answered(world, "yes")).values["task"] == "write verse 15"


@tool
def look(place: str) -> str:
    """Look somewhere."""
    return f"nothing in {place}"


async def test_the_task_is_told_again_when_a_summary_swallowed_it(file: str) -> None:
    heard: Heard = []
    steps = 0

    def walk(messages: Sequence[BaseMessage]) -> AIMessage:
        nonlocal steps
        steps += 1
        return AIMessage("Found.") if steps in (1, 12) else tool_call("look", place=f"place {steps}")

    async with at_work(file, [gated(hearing(heard, walk), summing_up(), tools=[look])]) as world:
        await world.run("worker", {"task": "find the key"})
        await answered(world, "update: find the ring")
        assert any("Verses were written." in text for text in heard[-1])
        for texts in heard[1:]:
            assert any("find the ring" in text for text in texts)
            assert len(texts) <= 9
        assert (await world.one()).context["task"] == "find the ring"
