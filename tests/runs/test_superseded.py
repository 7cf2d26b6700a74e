"""Messages that a worker left half-said: the stream keeps them, and names those that another took the place of."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.runs.test_stream import LONG, Log, faltering, graph_of, says
from tests.runs.test_stream_writer import KEY, NOON, emitter, speak
from tests.runs.world import World, checked, model, opened, until, working

from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.contracts.backend import StreamItem
from ringi.runs.stream_writer import SUPERSEDED, RunStreamWriter, superseded_message_id
from ringi.server.sse.run_output import ImageLocation, messages_of_runs, runs_within_items

ASKED = {"id": "q1", "reason": "confirmation", "metadata": {}}
HALF = ("One ", "two ", "three ")


async def items(stream: MemoryStream) -> list[StreamItem]:
    return await stream.read(KEY, 0, 1000)


def superseded(stream_items: Sequence[StreamItem]) -> list[str]:
    """Return the texts of the messages that are taken back, after a check of the whole stream."""
    texts = checked(stream_items)
    return [texts[id] for item in stream_items if (id := superseded_message_id(item.event)) is not None]


def visible_texts(stream_items: Sequence[StreamItem]) -> list[str]:
    """Return what a reader sees of the agent's words."""
    return [
        message["content"]
        for message in messages_of_runs(runs_within_items(stream_items), ImageLocation("", "t1"))
        if message["role"] == "assistant"
    ]


async def left_half_said(stream: MemoryStream, *words: str, fence: int = 1) -> RunStreamWriter:
    """Have a worker say some words and die; return the one that takes over."""
    dead = await emitter(stream, fence=fence)
    speak(dead, *(words or HALF), end=False)
    await dead.flush()
    dead.stop()
    return await emitter(stream, fence=fence + 1)


@pytest.mark.parametrize("second", ["Uno due tre.", "One zwei drei.", "One two", "One two "])
async def test_a_fragment_is_superseded_by_the_message_that_takes_its_place(second: str) -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    speak(worker, *second)
    worker.finish({})
    await worker.flush()
    stream_items = await items(stream)
    assert (superseded(stream_items), visible_texts(stream_items)) == (["One two three "], [second])
    kinds = [(item.event["type"], item.event.get("messageId")) for item in stream_items]
    assert kinds.index(("CUSTOM", None)) + 1 == kinds.index(("TEXT_MESSAGE_END", "m"))


async def test_live_readers_hear_of_it_before_the_new_message_begins() -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    speak(worker, "Uno ", end=False)
    await worker.flush()
    events = [item.event for item in await items(stream)]
    assert [event["type"] for event in events[-4:-1]] == ["CUSTOM", "TEXT_MESSAGE_END", "TEXT_MESSAGE_START"]
    assert visible_texts(await items(stream)) == ["Uno "]


@pytest.mark.parametrize("second", ["One two three four.", "One two three "])
async def test_a_message_that_goes_on_is_not_superseded(second: str) -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    speak(worker, *second)
    worker.finish({})
    await worker.flush()
    assert (superseded(await items(stream)), visible_texts(await items(stream))) == ([], [second])


async def test_a_whole_message_is_never_superseded() -> None:
    stream = MemoryStream()
    first = await emitter(stream)
    speak(first, "One.")
    await first.flush()
    worker = await emitter(stream, fence=2)
    speak(worker, "Two.")
    worker.finish({})
    await worker.flush()
    assert (superseded(await items(stream)), visible_texts(await items(stream))) == ([], ["One.", "Two."])


@pytest.mark.parametrize("how", ["pause", "finish"])
@pytest.mark.parametrize("calls", [False, True])
async def test_a_step_that_says_nothing_the_second_time_takes_its_fragment_back(how: str, calls: bool) -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    if calls:
        speak(worker, "")
        worker.tool_call("c1", "weather", "{}")
    worker.finish({}) if how == "finish" else worker.pause({}, [ASKED])
    await worker.flush()
    assert superseded(await items(stream)) == ["One two three "]
    assert [
        message
        for message in messages_of_runs(runs_within_items(await items(stream)), ImageLocation("", "t1"))
        if message.get("content")
    ] == []


async def test_fragments_of_several_dead_workers_are_all_superseded() -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    speak(worker, "One deux ", end=False)
    await worker.flush()
    worker = await left_half_said(stream, "One zwei ", fence=3)
    speak(worker, "Un.")
    worker.finish({})
    await worker.flush()
    assert superseded(await items(stream)) == ["One two three ", "One deux ", "One zwei "]
    assert visible_texts(await items(stream)) == ["Un."]


async def test_words_that_equal_a_superseded_fragment_are_said_again() -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    speak(worker, "Uno.")
    worker.pause({}, [ASKED])
    await worker.flush()
    worker = await emitter(stream, fence=3)
    speak(worker, *HALF)
    worker.finish({})
    await worker.flush()
    assert superseded(await items(stream)) == ["One two three "]
    assert visible_texts(await items(stream)) == ["Uno.", "One two three "]


@pytest.mark.parametrize("how", ["cancel", "fail"])
async def test_what_a_run_said_last_stays_when_it_ends_without_another_word(how: str) -> None:
    stream = MemoryStream()
    worker = RunStreamWriter(stream, MemoryNotifier(1.0), KEY, "r1", 3, clock=lambda: NOON)
    (await left_half_said(stream)).stop()
    await worker.take_over()
    if how == "cancel":
        await worker.cancel()
    else:
        worker.fail("its worker died 5 times", "attention")
        await worker.flush()
    assert (superseded(await items(stream)), visible_texts(await items(stream))) == ([], ["One two three "])


async def test_a_retry_takes_back_what_the_failure_cut_off() -> None:
    stream = MemoryStream()
    worker = await left_half_said(stream)
    worker.fail("its worker died 5 times", "attention")
    await worker.flush()
    again = RunStreamWriter(stream, MemoryNotifier(1.0), KEY, "r1", 3, clock=lambda: NOON)
    await again.take_over()
    again.fail("no agent is deployed", "attention")
    await again.flush()
    assert superseded(await items(stream)) == [], "nothing ran again"
    again = await emitter(stream, fence=4)
    started, taken_back = (item.event for item in (await items(stream))[-2:])
    assert (started["type"], superseded_message_id(taken_back)) == ("RUN_STARTED", "m")
    speak(again, *HALF)
    again.finish({})
    await again.flush()
    assert superseded(await items(stream)) == ["One two three "]
    assert visible_texts(await items(stream)) == ["One two three "]
    worker = await emitter(stream, fence=5)
    worker.finish({})
    await worker.flush()
    assert len(superseded(await items(stream))) == 1, "it is named once"


async def test_a_new_run_does_not_take_back_what_the_run_before_it_said_last() -> None:
    stream = MemoryStream()
    await left_half_said(stream)
    worker = await emitter(stream, "r2", 3)
    worker.text("n", "Uno.")
    worker.end_text("n")
    worker.finish({})
    await worker.flush()
    assert (superseded(await items(stream)), visible_texts(await items(stream))) == ([], ["One two three ", "Uno."])


async def test_an_agent_cannot_take_messages_back() -> None:
    stream = MemoryStream()
    worker = await emitter(stream)
    speak(worker, "One.")
    worker.custom("forged", SUPERSEDED, {"name": SUPERSEDED, "messageId": "m"})
    worker.finish({})
    await worker.flush()
    assert (superseded(await items(stream)), visible_texts(await items(stream))) == ([], ["One."])
    (forged,) = [item.event for item in await items(stream) if item.event["type"] == "CUSTOM"]
    assert (forged["name"], forged["value"]["messageId"]) == ("custom", "m")


@pytest.mark.parametrize("second", [LONG, "One zwei drei."])
async def test_a_run_that_its_worker_gave_back_half_way_shows_each_message_once(second: str) -> None:
    agent, silence = faltering(LONG, second, 3)
    async with opened("memory://", [agent]) as world:
        await world.start("falters", {})
        await stopped_once(world, "three")
        silence.is_over = True
        async with working(world):
            assert (await world.rest()).status == "done"
        stream_items = await world.items()
        assert (visible_texts(stream_items), superseded(stream_items)) == (
            [second],
            [] if second == LONG else ["One two three "],
        )


async def stopped_once(world: World, word: str) -> None:
    """Have a worker stop once it has said a word."""
    stopping = asyncio.create_task(world.runner.work(asyncio.Event()))
    await until(lambda: says(world, word), "the worker has said it")
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)


async def spoken(text: str) -> str:
    return str((await model(lambda _: text).ainvoke("?")).text)


@pytest.mark.parametrize("subgraphs", [False, True])
async def test_all_that_was_said_in_a_step_that_did_not_end_is_superseded(subgraphs: bool) -> None:
    tries: list[str] = []

    async def speak(state: Log) -> Log:
        tries.append("again" if tries else "first")
        texts = [await spoken(f"{tries[-1]} {n}") for n in ("one", "two")]
        if len(tries) == 1:
            await asyncio.Event().wait()
        return {"log": texts}

    inner: Any = graph_of("inner", speak=speak).target
    outer = graph_of("speaks", speak=inner if subgraphs else speak)
    async with opened("memory://", [replace(outer, subgraphs=subgraphs)]) as world:
        await world.start("speaks", {})
        await stopped_once(world, "two")
        assert visible_texts(await world.items()) == ["first one", "first two"]
        async with working(world):
            assert (await world.rest()).status == "done"
        assert visible_texts(await world.items()) == ["again one", "again two"]
        assert superseded(await world.items()) == ["first one", "first two"]
