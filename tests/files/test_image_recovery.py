"""Images in messages after failures: of runs that never began, of other versions of an agent, of retries and kills."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from tests.domain.test_display import IMAGES as SAMPLES
from tests.files.test_images import (
    KEY,
    PHOTO,
    erase,
    files_in,
    findings,
    looker,
    message,
    photo,
    short,
    talk,
)
from tests.raising import raises_code
from tests.server.world import until

from ringi.backends.fenced_saver import CompactSerializer
from ringi.connect import Backend, open_backend, open_inbox_on_backend
from ringi.contracts.store import change_record
from ringi.domain.record import START
from ringi.domain.thread import Thread
from ringi.errors import InvalidError, UnavailableError
from ringi.files.images import Images, image_key
from ringi.runs import announcements
from ringi.runs import messages as thread_images
from ringi.runs.agent import agents_by_name
from ringi.runs.messages import ImageMemory, RunImages
from ringi.runs.reconciler import run_start_job
from ringi.runs.run import graph_state
from ringi.runs.runner import Runner

GIF = SAMPLES["image/gif"][0]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def stored_numbers(backend: Backend) -> list[int]:
    return [n for n in range(1, 30) if await backend.stream.read(image_key(KEY, n))]


async def test_a_run_whose_image_was_erased_says_only_that(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    is_broken = [True]

    def prepare(input: dict[str, Any]) -> dict[str, Any]:
        assert not is_broken[0], "the model is away"
        return input

    async with talk("memory://", looker(input=prepare)) as here:
        await here.start("one", photo())
        assert (await here.ended()).status == "error"
        is_broken[0], put = False, here.backend.store.put

        async def killed(record: Any, event: Any) -> None:
            await put(record, event)
            if event and event.type == "thread.images_erased":
                raise asyncio.CancelledError

        with monkeypatch.context() as patch:
            patch.setattr(here.backend.store, "put", killed)
            with pytest.raises(asyncio.CancelledError):
                await erase(here.backend)
        now = here.runner.inbox.clock()
        await change_record(here.backend.store, Thread, KEY, lambda thread: thread.retried("ann", now, None))
        await here.backend.jobs.submit(run_start_job(await here.backend.store.get(Thread, *KEY)))
        ended = await here.ended()
        assert ended.error
        assert ended.error.message == "NotFoundError: image 1 was erased; send it again"
        assert f"run {ended.run_id} failed: image 1 was erased; send it again" in caplog.messages


async def test_a_run_that_was_saved_although_the_store_failed_keeps_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk("memory://") as here:
        put = here.backend.store.put

        async def saved_and_away(record: Any, event: Any) -> None:
            await put(record, event)
            if event.type == "thread.started":
                raise UnavailableError("the connection is lost")

        monkeypatch.setattr(here.backend.store, "put", saved_and_away)
        assert await here.say("one", photo()) == f"one: image/png {short(PHOTO)}"
        assert [file["number"] for file in await files_in(here.backend)] == await stored_numbers(here.backend) == [1]


@pytest.mark.parametrize("exists", [False, True])
async def test_what_a_killed_process_left_reaches_no_run_and_goes_with_the_next_images(*, exists: bool) -> None:
    async with talk("memory://") as here:
        seen = ""
        if exists:
            await here.say("one", photo(GIF))
            seen = f"image/gif {short(GIF)}"
        fence = (await here.backend.store.get(Thread, *KEY)).fence + 1 if exists else 0
        files = await Images(here.backend.stream).add(KEY, [photo()] * 4, fence=fence)
        assert await here.say("text") == f"text: {seen}"
        assert await here.say("two", photo()) == f"two: {seen}{', ' if seen else ''}image/png {short(PHOTO)}"
        assert not {file["number"] for file in files} & set(await stored_numbers(here.backend))


async def test_images_of_others_never_fill_a_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.files.images.MAX_TOTAL", 2 * len(PHOTO))
    async with talk("memory://") as here:
        for _ in range(9):
            await Images(here.backend.stream).add(KEY, [photo()], fence=0)
        assert await here.say("one", photo(), photo()) == f"one: {', '.join([f'image/png {short(PHOTO)}'] * 2)}"


async def test_a_conversation_goes_on_with_an_agent_that_takes_images_no_more(url: str) -> None:
    async with talk(url) as here:
        await here.say("one", photo())
    async with talk(url, looker(images=False)) as here:
        assert await here.say("two") == f"two: image/png {short(PHOTO)}"
        thread = await here.backend.store.get(Thread, *KEY)
        state = await graph_state(here.backend, thread)
        (_, block) = state["messages"][0].content
        assert base64.b64decode(block["base64"]) == PHOTO


async def test_a_run_with_images_is_done_by_a_worker_of_the_version_without(url: str) -> None:
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        runner = Runner(backend, inbox, agents_by_name([looker()]))
        await runner.start("default", "t1", "looker", message("see"), by="ann", images=[photo()])
    async with talk(url, looker(images=False)) as here:
        thread = await here.ended()
        assert thread.error is None, thread.error
        assert thread.values["messages"][-1]["content"] == f"see: image/png {short(PHOTO)}"


async def test_images_are_refused_while_another_worker_announces_a_version_without(url: str) -> None:
    async with talk(url) as here:
        await here.backend.jobs.announce(
            "another", announcements.serialize_announcement(agents_by_name([looker(images=False)])), 60
        )
        with pytest.raises(InvalidError, match="agent 'looker' does not accept images"):
            await here.start("one", photo())
        assert await stored_numbers(here.backend) == []
        assert await here.say("one") == "one: "


async def test_verify_misses_no_image_after_a_new_run_overtook_an_erasure(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        run = Runner(backend, inbox, agents_by_name([looker()]))
        await run.start("default", "t1", "looker", message("one"), by="ann", images=[photo()])
        await run.cancel("default", "t1", by="ann")
        emptied = backend.store.erase

        async def too_late(*args: Any) -> None:
            monkeypatch.setattr(backend.store, "erase", emptied)
            await run.start("default", "t1", "looker", message("two"), by="ann", images=[photo(GIF)])
            await emptied(*args)

        monkeypatch.setattr(backend.store, "erase", too_late)
        with raises_code("busy"):
            await erase(backend)
        assert [file["media_type"] for file in await files_in(backend)] == ["image/gif"]
    assert await findings(url) == []


KILLED = """
import asyncio, sys
from tests.files.test_images import erase, photo, talk

async def main():
    async with talk(sys.argv[1]) as here:
        await here.say("one", photo())
        await here.runner.inbox.trail.erase(person="ann", by="root")

asyncio.run(main())
"""


@pytest.mark.parametrize("failpoint", ["erase.before_images", "erase.before_saved"])
async def test_a_second_erasure_finishes_what_a_killed_one_began(url: str, tmp_path: Path, failpoint: str) -> None:
    command = [sys.executable, "-c", KILLED, url]
    environment = {**os.environ, "RINGI_FAILPOINT": f"{failpoint}:kill9"}
    run = partial(subprocess.run, command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    done = await asyncio.to_thread(run)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert await findings(url) == []
    async with talk(url) as here:
        erased = await here.runner.inbox.trail.erase(person="ann", by="root")
        assert erased.threads == ("t1",)
        assert await stored_numbers(here.backend) == []
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # noqa: ASYNC240
    assert base64.b64encode(PHOTO[:3_000])[:-8] not in left
    assert await findings(url) == []


def waiting_for(room: ImageMemory) -> int:
    return len(room._freed._waiters)


async def test_runs_share_room_for_images_and_none_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    room, order = ImageMemory(10), list[str]()

    async def hold(name: str, size: int, end: asyncio.Event) -> None:
        async with room.reserve(size):
            order.append(name)
            await end.wait()

    first, second = asyncio.Event(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(hold("all", 99, first))
        group.create_task(hold("one", 1, second))
        await until(lambda: waiting_for(room) == 1)
        assert order == ["all"]
        first.set()
        await until(lambda: len(order) == 2)
        assert order == ["all", "one"]
        # Who holds the room may wait for the one that waits for it.
        monkeypatch.setattr(thread_images, "WAIT_SECONDS", 0.0)
        async with room.reserve(10):
            second.set()
    async with room.reserve(10):
        assert room._free == 0  # All came back.


async def test_a_run_waits_until_there_is_room_for_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk("memory://") as here:
        room = ImageMemory(len(PHOTO))
        monkeypatch.setattr(here.runner, "_image_memory", room)
        async with room.reserve(1):
            await here.start("one", photo())
            await until(lambda: waiting_for(room) == 1)
            assert (await here.backend.store.get(Thread, *KEY)).status == "running"
        assert (await here.ended()).values["messages"][-1]["content"] == f"one: image/png {short(PHOTO)}"


def spent(serializer: JsonPlusSerializer, state: Any) -> float:
    began = time.process_time()
    assert serializer.loads_typed(serializer.dumps_typed(state))
    return time.process_time() - began


def test_many_images_cost_a_checkpoint_little_more_than_none() -> None:
    raw = [hashlib.sha512(bytes([n])).digest() * 2_000 for n in range(100)]
    texts = {hashlib.sha256(each).hexdigest(): base64.b64encode(each) for each in raw}
    serializer, state = (
        CompactSerializer(),
        {"messages": [HumanMessage([{"base64": x.decode()}]) for x in texts.values()]},
    )
    serializer.know(texts)
    plain = min(spent(JsonPlusSerializer(), state) for _ in range(3))
    assert min(spent(serializer, state) for _ in range(3)) < 6 * plain


@pytest.mark.parametrize("images", [(), (photo(),)])
@pytest.mark.parametrize("overtaken_at", ["first", "second"])
async def test_a_message_that_is_sent_twice_begins_one_run(
    images: tuple[Any, ...], overtaken_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with talk("memory://") as here:
        if overtaken_at == "second":
            await here.say("before", *images)
        put, input = here.backend.store.put, message("look", id="m1")
        send = partial(here.runner.start, "default", "t1", "looker", input, by="ann", images=images, once=True)

        async def overtaken(record: Any, event: Any) -> None:
            monkeypatch.setattr(here.backend.store, "put", put)
            first.append(await send())
            await here.ended()
            await put(record, event)

        first: list[Thread] = []
        monkeypatch.setattr(here.backend.store, "put", overtaken)
        second = await send()
        assert (second.run_id, second.status) == (first[0].run_id, "done")
        events = await here.backend.store.events(START, 500, tenant="default", record_id="t1")
        begun = [event for event in events if event.type == "thread.started"]
        assert len(begun) == (2 if overtaken_at == "second" else 1)
        assert await stored_numbers(here.backend) == [file["number"] for file in await files_in(here.backend)]


async def test_the_images_of_a_run_are_in_memory_once() -> None:
    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        large, runner = PHOTO + bytes(2_000_000), Runner(backend, inbox, agents_by_name([looker()]))
        thread = await runner.start("default", "t1", "looker", message(), by="ann", images=[photo(large)])
        assert thread.run
        saver = backend.savers(thread)
        images = RunImages(backend.stream, saver, ImageMemory())
        tracemalloc.start()
        try:
            async with images.loaded(thread):
                held = tracemalloc.get_traced_memory()[0]
                assert images.resolve_input(thread.run.input) is images.resolve_input(thread.run.input)
        finally:
            tracemalloc.stop()
        assert len(large) < held < 1.5 * len(base64.b64encode(large))
