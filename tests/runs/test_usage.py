"""The calls of models that a run's thread records."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from tests.runs.world import World, at_work, model, opened, until, working

from ringi.base.clock import utc_now
from ringi.domain.record import Key
from ringi.domain.thread import Thread
from ringi.runs.agent import Agent
from ringi.runs.context import set_context_variable
from ringi.runs.lease import PendingReleases, hold_thread_lease
from ringi.runs.operations import retry_failed_run
from ringi.runs.run import MAX_MODELS, OTHERS, UsageSums
from ringi.runtimes.langgraph.usage_meter import METER, UsageMeter
from ringi.testing import ScriptedModel
from ringi_apps.assistant.reply_stream import ReplyModel


class State(TypedDict, total=False):
    """The state of an agent that remembers nothing."""

    nothing: str


def tokens(read: int, written: int, cached: int | None = None) -> UsageMetadata:
    """Return the tokens of one call, as a provider reports them."""
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return usage if cached is None else {**usage, "input_token_details": InputTokenDetails(cache_read=cached)}


def answering(name: str | None = "m-1", usage: UsageMetadata | None = None) -> BaseChatModel:
    """Return a model that reports its name and these tokens with each answer."""
    about = {"model_name": name} if name else {}
    return model(lambda _: AIMessage("Fine.", response_metadata=about, usage_metadata=usage))


def graph(*steps: Any) -> Agent:
    """Return an agent that takes these steps in order."""
    builder = StateGraph(State)
    names = [START]
    for number, step in enumerate(steps):
        builder.add_node(f"step-{number}", step)
        names.append(f"step-{number}")
    for before, after in zip(names, [*names[1:], END], strict=True):
        builder.add_edge(before, after)
    return Agent("steps", builder.compile())


def calling(chat: BaseChatModel, times: int = 1) -> Any:
    """Return a step that calls a model."""

    async def call(_: State) -> State:
        for _turn in range(times):
            await chat.ainvoke("Hello")
        return {}

    return call


def pause(_: State) -> State:
    """Ask a person."""
    interrupt("Go on?")
    return {}


def counted(thread: Thread) -> dict[str, tuple[int, int, int | None, int | None, int | None]]:
    """Return the calls, the unreported calls and the tokens of each model."""
    return {
        each.model: (each.calls, each.unreported_calls, each.input_tokens, each.cached_tokens, each.output_tokens)
        for each in thread.usage or ()
    }


async def test_a_run_adds_up_its_calls_before_and_after_a_pause(url: str) -> None:
    first, second = answering(usage=tokens(100, 10, 40)), answering("m-2", tokens(7, 3))
    async with at_work(url, [graph(calling(first, 2), pause, calling(first), calling(second))]) as world:
        waiting = await world.run("steps", {})
        assert counted(waiting) == {"m-1": (2, 0, 200, 80, 20)}
        done = await world.answer(await world.one(), "respond", message="yes")

        assert counted(done) == {"m-1": (3, 0, 300, 120, 30), "m-2": (1, 0, 7, None, 3)}
        assert all(each.seconds >= 0 for each in done.usage or ())
        await world.verified()


async def test_a_new_run_counts_its_own_calls(file: str) -> None:
    async with at_work(file, [graph(calling(answering(usage=tokens(1, 1))))]) as world:
        await world.run("steps", {})

        assert counted(await world.run("steps", {})) == {"m-1": (1, 0, 1, None, 1)}


async def test_a_retry_counts_what_the_failed_attempt_spent(file: str) -> None:
    fails = [True]

    async def fail(_: State) -> State:
        await chat.ainvoke("Hello")
        if fails:
            raise ValueError("no")
        return {}

    chat = answering(usage=tokens(10, 2))
    async with at_work(file, [graph(calling(chat), fail)]) as world:
        failed = await world.run("steps", {})
        assert (failed.status, counted(failed)) == ("error", {"m-1": (2, 0, 20, None, 4)})
        fails.clear()
        await retry_failed_run(world.backend, world.inbox, "t1", by="ann")

        done = await world.rest()
        assert (done.status, counted(done)) == ("done", {"m-1": (3, 0, 30, None, 6)})


async def test_a_worker_that_stops_passes_its_count_to_the_next(file: str) -> None:
    started, goes_on = asyncio.Event(), [False]

    async def wait(_: State) -> State:
        started.set()
        if not goes_on[0]:
            await asyncio.Event().wait()
        return {}

    agents = [graph(calling(answering(usage=tokens(10, 2))), wait)]
    async with opened(file, agents) as world:
        work = asyncio.create_task(world.runner.work(asyncio.Event()))
        await world.start("steps", {})
        await started.wait()
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        released = await world.thread()
        assert (released.status, counted(released)) == ("running", {"m-1": (1, 0, 10, None, 2)})
        goes_on[0] = True
        async with working(world):
            assert counted(await world.rest()) == {"m-1": (1, 0, 10, None, 2)}


async def test_a_renewed_lease_saves_the_count_of_a_worker_that_dies(url: str) -> None:
    async with opened(url, [graph(pause)]) as world:
        await world.start_and_lose("steps", {})
        sums = UsageSums(None)
        meter = UsageMeter(sums.count, "t1")
        store, pending = world.backend.store, PendingReleases(world.backend.store, utc_now)
        async with hold_thread_lease(store, utc_now, Key("default", "t1"), "worker", pending) as lease:
            lease.usage = sums.total
            with set_context_variable(METER, meter):
                await answering(usage=tokens(10, 2)).ainvoke("Hello")
            await lease.renew()

        assert counted(await world.thread()) == {"m-1": (1, 0, 10, None, 2)}
        await world.verified()


async def test_calls_without_tokens_and_failed_calls_are_counted_as_unreported(file: str) -> None:
    def broken(_: Sequence[BaseMessage]) -> str:
        raise ConnectionError("no model")

    async def try_model(_: State) -> State:
        with pytest.raises(ConnectionError):
            await model(broken).ainvoke("Hello")
        return {}

    async with at_work(file, [graph(calling(answering("mute")), try_model)]) as world:
        done = await world.run("steps", {})

        assert counted(done) == {"mute": (1, 1, None, None, None), "scriptedmodel": (1, 1, None, None, None)}


async def test_calls_in_threads_and_with_their_own_callbacks_are_counted_once(file: str) -> None:
    chat = answering(usage=tokens(10, 2))

    def in_thread(_: State) -> State:
        chat.invoke("Hello")
        return {}

    async def with_callbacks(_: State) -> State:
        await asyncio.create_task(chat.ainvoke("Hello", {"callbacks": [BaseCallbackHandler()]}))
        async for _chunk in chat.astream("Hello"):
            pass
        return {}

    async with at_work(file, [graph(in_thread, with_callbacks)]) as world:
        assert counted(await world.run("steps", {})) == {"m-1": (3, 0, 30, None, 6)}


async def test_two_threads_of_one_worker_count_apart(file: str) -> None:
    async with at_work(file, [graph(calling(answering(usage=tokens(10, 2)), 3))]) as world:
        await asyncio.gather(*(world.start("steps", {}, id) for id in ("t1", "t2")))

        assert [counted(await world.rest(id)) for id in ("t1", "t2")] == [{"m-1": (3, 0, 30, None, 6)}] * 2


async def test_a_model_that_forwards_to_another_is_not_counted() -> None:
    sums = UsageSums(None)
    meter = UsageMeter(sums.count, "t1")
    with set_context_variable(METER, meter):
        wrapper = ReplyModel(caller=answering(usage=tokens(10, 2)))
        await wrapper.ainvoke([HumanMessage("Hello")])
        async for _chunk in wrapper.astream([HumanMessage("Hello")]):
            pass

    assert [(each.model, each.calls) for each in sums.total()] == [("m-1", 2)]


@pytest.mark.parametrize("wrong", [-1, 10**18])
async def test_impossible_numbers_count_as_unreported(wrong: int, file: str) -> None:
    async with at_work(file, [graph(calling(answering(usage=tokens(wrong, 2))))]) as world:
        done = await world.run("steps", {})

        assert (done.status, counted(done)) == ("done", {"m-1": (1, 1, None, None, None)})


async def test_cached_tokens_are_a_part_of_the_tokens_read() -> None:
    sums = UsageSums(None)
    meter = UsageMeter(sums.count, "t1")
    with set_context_variable(METER, meter):
        await answering(usage=tokens(10, 2, cached=99)).ainvoke("Hello")

    assert [each.cached_tokens for each in sums.total()] == [10]


async def test_a_model_has_the_requested_name_even_if_the_answer_names_a_file() -> None:
    class Named(ScriptedModel):
        model: str = "local"

    sums = UsageSums(None)
    meter = UsageMeter(sums.count, "t1")
    with set_context_variable(METER, meter):
        await Named(script=lambda _: AIMessage("Fine.", response_metadata={"model_name": "/m.gguf"})).ainvoke("Hello")

    assert [each.model for each in sums.total()] == ["local"]


async def test_names_of_models_are_cleaned_and_limited() -> None:
    sums = UsageSums(None)
    meter = UsageMeter(sums.count, "t1")
    with set_context_variable(METER, meter):
        for number in range(MAX_MODELS + 5):
            await answering(f"{number}\x00\ud800" + "m" * 300).ainvoke("Hello")

    names = [each.model for each in sums.total()]
    assert (len(names), names[-1], max(map(len, names))) == (MAX_MODELS + 1, OTHERS, 200)
    assert names[0].startswith("0?mmm")


async def test_a_canceled_run_shows_what_its_lease_has_saved(file: str) -> None:
    started = asyncio.Event()

    async def wait(_: State) -> State:
        started.set()
        await asyncio.Event().wait()
        return {}

    async with at_work(file, [graph(calling(answering(usage=tokens(10, 2))), wait)]) as world:
        await world.start("steps", {})
        await started.wait()
        await until(lambda: has_usage(world), "a renewal of the lease")
        await world.runner.cancel("default", "t1", by="ann")

        idle = await world.thread()
        assert (idle.status, counted(idle)) == ("idle", {"m-1": (1, 0, 10, None, 2)})


async def has_usage(world: World) -> bool:
    return bool((await world.thread()).usage)
