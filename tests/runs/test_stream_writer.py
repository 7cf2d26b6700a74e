"""The emitter alone: what several tries of a step leave in the stream."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest
from tests.runs.world import checked

from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.contracts.backend import StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import FenceError
from ringi.errors import UnavailableError
from ringi.runs.stream_writer import RunStreamWriter

KEY = Key("default", "t1")
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


async def emitter(stream: MemoryStream, run: str = "r1", fence: int = 1) -> RunStreamWriter:
    """Return the emitter of a worker that has just taken the thread."""
    emitter = RunStreamWriter(stream, MemoryNotifier(1.0), KEY, run, fence, clock=lambda: NOON)
    await emitter.take_over()
    emitter.open()
    await emitter.flush()
    return emitter


def speak(emitter: RunStreamWriter, *words: str, end: bool = True) -> None:
    """Say a message, word by word, in a new try of its step."""
    emitter.begin()
    for word in words:
        emitter.text("m", word)
    if end:
        emitter.end_text("m")


async def finish_and_read(stream: MemoryStream, emitter: RunStreamWriter) -> list[str]:
    emitter.finish({})
    await emitter.flush()
    return list(checked(await stream.read(KEY, 0, 1000)).values())


@pytest.mark.parametrize(
    ("tries", "messages"),
    [
        (["One two.", "One two."], ["One two."]),
        (["One.", "Two.", "One.", "Two."], ["One.", "Two."]),
        (["One.", "One two.", "One."], ["One.", "One two."]),
        (["One two.", "One", "One two."], ["One two.", "One"]),
        (["", "One.", ""], ["One."]),
    ],
)
@pytest.mark.parametrize("is_new_worker", [False, True])
async def test_tries_that_differ_are_messages_and_tries_that_do_not_are_one(
    tries: Sequence[str], messages: list[str], is_new_worker: bool
) -> None:
    stream = MemoryStream()
    worker = await emitter(stream)
    for fence, text in enumerate(tries, 2):
        speak(worker, *text)
        await worker.flush()
        if is_new_worker:
            worker = await emitter(stream, fence=fence)
    assert await finish_and_read(stream, worker) == messages


@pytest.mark.parametrize("is_new_worker", [False, True])
async def test_a_message_that_was_cut_off_goes_on_where_it_stopped(is_new_worker: bool) -> None:
    stream = MemoryStream()
    worker = await emitter(stream)
    speak(worker, "One ", "two ", end=False)
    await worker.flush()
    if is_new_worker:
        worker = await emitter(stream, fence=2)
    speak(worker, "One tw", "o three")
    assert await finish_and_read(stream, worker) == ["One two three"]


async def test_an_older_worker_is_shut_out_from_the_moment_of_the_take_over() -> None:
    stream = MemoryStream()
    old = await emitter(stream)
    speak(old, "One ", end=False)
    await RunStreamWriter(stream, MemoryNotifier(1.0), KEY, "r1", 2, clock=lambda: NOON).take_over()
    with pytest.raises(FenceError):
        await old.flush()


async def test_a_run_that_another_left_open_is_ended_before_the_next_begins() -> None:
    stream = MemoryStream()
    left = await emitter(stream)
    left.text("old", "One ")
    await left.flush()
    worker = await emitter(stream, "r2", 2)
    speak(worker, "One ")
    assert await finish_and_read(stream, worker) == ["One ", "One "]
    types = [item.event["type"] for item in await stream.read(KEY)]
    assert types.index("RUN_FINISHED") < types.index("RUN_STARTED", 1)


async def test_every_event_says_when_it_was_said() -> None:
    stream = MemoryStream()
    worker = await emitter(stream)
    speak(worker, "One.")
    worker.finish({})
    await worker.flush()
    stamps = {item.event["timestamp"] for item in await stream.read(KEY, 0, 1000)}
    assert stamps == {int(NOON.timestamp() * 1000)}


class AwayStream(MemoryStream):
    """A stream that is away once, as late as the test likes."""

    def __init__(self) -> None:
        super().__init__()
        self.comes, self.goes = asyncio.Event(), asyncio.Event()

    async def append(self, key: Key, items: Sequence[StreamItem], *, fence: int) -> int:
        if items and not self.goes.is_set():
            self.comes.set()
            await self.goes.wait()
            raise UnavailableError("away")
        return await super().append(key, items, fence=fence)


async def test_no_output_follows_output_that_was_lost() -> None:
    stream = AwayStream()
    worker = RunStreamWriter(stream, MemoryNotifier(1.0), KEY, "r1", 1, clock=lambda: NOON)
    await worker.take_over()
    worker.open()  # Stored in the background.
    await stream.comes.wait()
    worker.finish({})
    waiting = asyncio.create_task(worker.flush())
    stream.goes.set()
    with pytest.raises(UnavailableError):
        await waiting
    with pytest.raises(UnavailableError):
        await worker.flush()
    assert await stream.read(KEY) == []
