"""Images in the messages of a thread: limits, the graph's view, checkpoints, erasure and verification."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.domain.test_display import IMAGES as SAMPLES
from tests.domain.test_display import png
from tests.server.world import until

from ringi import ask
from ringi.audit.verify import verify_store
from ringi.backends.fenced_saver import MARK, CompactSerializer
from ringi.base.clock import utc_now
from ringi.connect import Backend, open_backend, open_inbox_on_backend, open_to_verify
from ringi.domain.record import Erased, Key
from ringi.domain.request import Request
from ringi.domain.thread import Run as ThreadRun
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, InvalidError
from ringi.files import images as stored
from ringi.files.images import IMAGES, MAX_IMAGE, MAX_IMAGES, MAX_OF_THREAD, Images, NewImage
from ringi.forms.field_parts import AttachedFile
from ringi.privacy.erasure import Eraser
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.messages import begin_run_with_images
from ringi.runs.worker import Worker

MESSAGES = {
    "type": "object",
    "properties": {"messages": {"type": "array"}},
    "required": ["messages"],
}
PHOTO = png(40, 30) + hashlib.sha512(b"no picture repeats itself").digest() * 100
"""What follows an image's own end is ignored by who draws it; so long that a checkpoint cannot hide it."""
KEY = Key("default", "t1")


def look(state: MessagesState) -> dict[str, Any]:
    """Say of each image of the whole history what arrived."""
    seen: list[str] = []
    for message in state["messages"]:
        blocks = [block for block in message.content if isinstance(block, dict) and block["type"] == "image"]
        seen += [f"{block['mime_type']} {short(base64.b64decode(block['base64']))}" for block in blocks]
    return {"messages": [AIMessage(f"{state['messages'][-1].text}: {', '.join(seen)}")]}


def looker(**more: Any) -> Agent:
    graph = StateGraph(MessagesState).add_node(look).add_edge(START, "look").compile()
    return Agent(**{"name": "looker", "target": graph, "input_schema": MESSAGES, "images": True, **more})


def photo(content: bytes = PHOTO, name: str = "a.png") -> NewImage:
    return NewImage(name, content)


def message(text: str = "look", **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, **more}]}


def short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:8]


class Talk:
    """A thread to talk on."""

    def __init__(self, backend: Backend, runner: Worker) -> None:
        self.backend, self.runner = backend, runner

    async def start(self, text: str = "look", *images: NewImage) -> Thread:
        return await self.runner.start("default", "t1", "looker", message(text), by="ann", images=images)

    async def ended(self) -> Thread:
        async def is_over() -> bool:
            return not (await self.backend.store.get(Thread, *KEY)).is_live

        await until(is_over)
        return await self.backend.store.get(Thread, *KEY)

    async def say(self, text: str = "look", *images: NewImage) -> str:
        await self.start(text, *images)
        thread = await self.ended()
        assert thread.error is None, thread.error
        return str(thread.values["messages"][-1]["content"])


@asynccontextmanager
async def talk(url: str, agent: Agent | None = None) -> AsyncIterator[Talk]:
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        runner, stop = Worker(backend, inbox, agents_by_name([agent or looker()])), asyncio.Event()
        working = asyncio.create_task(runner.work(stop))
        try:
            yield Talk(backend, runner)
        finally:
            stop.set()
            await working


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def findings(url: str) -> list[str]:
    async with open_to_verify(url) as (store, stream):
        return [f"{found.key.id}: {found.what}" for found in (await verify_store(store, stream=stream))[1]]


async def test_a_graph_sees_the_images_of_this_message_and_of_those_before(url: str) -> None:
    other = SAMPLES["image/jpeg"][0]
    async with talk(url) as here:
        assert await here.say("one", photo()) == f"one: image/png {short(PHOTO)}"
        both = f"image/png {short(PHOTO)}, image/jpeg {short(other)}"
        assert await here.say("two", photo(other, "b.png")) == f"two: {both}"
        assert await here.say("three") == f"three: {both}"
    assert await findings(url) == []


async def test_no_checkpoint_holds_the_bytes_of_an_image(url: str, tmp_path: Path) -> None:
    async with talk(url, looker(history=True)) as here:
        await here.say("one", photo())
        await here.say("two", photo(PHOTO + b"other"))
        thread = await here.ended()
    written = base64.b64encode(PHOTO)[: len(PHOTO) // 2]
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        checkpoints = database.execute("SELECT checkpoint FROM checkpoints").fetchall()
        writes = database.execute("SELECT value FROM writes").fetchall()
    assert checkpoints
    assert any(MARK in value for (value,) in checkpoints)
    assert not any(written in value for (value,) in [*checkpoints, *writes])
    assert written.decode() not in thread.model_dump_json()


def test_what_is_left_out_of_a_checkpoint_comes_back_and_nothing_else() -> None:
    serializer, text = CompactSerializer(), base64.b64encode(PHOTO).decode()
    serializer.know({"d" * 64: text.encode()})
    marks = [f"\0ringi.image:{'d' * 64}\0", f"\0ringi.image:{'e' * 64}\0", MARK.decode(), f"{MARK.decode()}="]
    hostile = [*marks, text[:-4], f"A{text}A", f"{text}{text}", {"a": [text, "ü", None], marks[0]: marks}]
    for value in (*hostile, [f"\0ringi.image:{'d' * 64}\0", text], None, b"x" + text.encode()):
        kind, data = serializer.dumps_typed(value)
        assert serializer.loads_typed((kind, data)) == value
    assert len(serializer.dumps_typed([text, text])[1]) < 400
    # Who writes a mark makes no checkpoint larger.
    assert len(serializer.dumps_typed([text, marks])[1]) < 800


@pytest.mark.parametrize("agent", [{"images": False}, {}])
async def test_who_names_images_in_a_message_is_refused(agent: dict[str, Any]) -> None:
    named: dict[str, Any] = {IMAGES: [stored.image_reference(1, photo())]}
    async with talk("memory://", looker(**agent)) as here:
        with pytest.raises(InvalidError, match=r"input.messages\[0\].ringi_images: is reserved"):
            await here.runner.start("default", "t1", "looker", message("look", **named), by="ann")
        assert await here.backend.store.get_many(Thread, [KEY]) == []


async def test_an_agent_that_takes_no_images_refuses_them_and_begins_nothing() -> None:
    async with talk("memory://", looker(images=False)) as here:
        with pytest.raises(
            InvalidError, match="messages: agent 'looker' does not accept images; send the message without"
        ):
            await here.start("look", photo())
        assert await here.backend.store.get_many(Thread, [KEY]) == []
        assert await here.backend.stream.read(stored.image_index_key(KEY)) == []


UNFIT: dict[str, tuple[Sequence[NewImage], str]] = {
    "svg": (
        [photo(b"<svg onload='x()'/>")],
        "'a.png' is text/plain by its content: send a PNG, JPEG, GIF or WebP image",
    ),
    "html": ([photo(b"<!doctype html><script>x()</script>")], "'a.png' is text/plain by its content"),
    "pdf": ([photo(b"%PDF-1.7\n")], "'a.png' is application/pdf by its content"),
    "empty": ([photo(b"")], f"'a.png' has 0 bytes: send an image of 1 to {MAX_IMAGE} bytes"),
    "large": ([photo(png() + b"x" * MAX_IMAGE)], f"send an image of 1 to {MAX_IMAGE} bytes"),
    "bomb": ([photo(png(40_000, 40_000))], "'a.png' is 40000 × 40000 pixels: send a smaller image"),
    "many": ([photo()] * (MAX_IMAGES + 1), f"a message accepts at most {MAX_IMAGES} images"),
}


@pytest.mark.parametrize("kind", UNFIT)
async def test_what_is_no_image_or_too_large_is_refused_and_begins_nothing(kind: str) -> None:
    images, says = UNFIT[kind]
    async with talk("memory://") as here:
        with pytest.raises(InvalidError) as refused:
            await here.start("look", *images)
        assert says in str(refused.value)
        assert await here.backend.store.get_many(Thread, [KEY]) == []
        assert await here.backend.stream.read(stored.image_index_key(KEY)) == []


async def test_a_thread_has_a_limit_and_refused_images_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_backend("memory://") as backend:
        images = Images(backend.stream)
        listed: list[int] = []
        for _ in range(MAX_OF_THREAD // MAX_IMAGES):
            files = await images.add(KEY, [photo(SAMPLES["image/gif"][0])] * MAX_IMAGES, fence=1, listed=listed)
            listed += [file["number"] for file in files]
        remedy = "send the message without images, or begin another conversation"
        with pytest.raises(InvalidError, match=f"a conversation accepts at most {MAX_OF_THREAD} images: {remedy}"):
            await images.add(KEY, [photo()], fence=1, listed=listed)
        monkeypatch.setattr(stored, "MAX_TOTAL", 3 * len(PHOTO))
        other = Key("default", "t2")
        for _ in range(9):
            await images.add(other, [photo()], fence=1)
        with pytest.raises(InvalidError, match=f"would exceed {3 * len(PHOTO)} bytes: {remedy}"):
            await images.add(other, [photo()], fence=1, listed=[7, 8, 9])
        assert await images.add(other, [photo()], fence=1, listed=[8, 9])


async def files_in(backend: Backend, key: Key = KEY) -> list[AttachedFile]:
    thread = await backend.store.get(Thread, *key)
    return [await Images(backend.stream).find(key, number) for number in thread.images or ()]


async def bytes_left(backend: Backend, key: Key = KEY) -> list[int]:
    found = [n for n in range(1, 12) if await backend.stream.read(stored.image_key(key, n))]
    return found + [item.number for item in await backend.stream.read(stored.image_index_key(key))]


async def erase(backend: Backend) -> None:
    await Eraser(backend.store, backend.stream, backend.savers).thread(KEY, Erased(by="root", at=utc_now(), rule="age"))


async def test_an_erasure_leaves_no_byte_of_an_image(url: str, tmp_path: Path) -> None:
    async with talk(url) as here:
        await here.say("one", photo())
        await erase(here.backend)
        assert await bytes_left(here.backend) == []
        # A new talk on the same thread begins with none.
        assert await here.say("again", photo(SAMPLES["image/gif"][0])) == (
            f"again: image/gif {short(SAMPLES['image/gif'][0])}"
        )
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # noqa: ASYNC240
    assert base64.b64encode(PHOTO[:3_000])[:-8] not in left
    assert await findings(url) == []


async def test_a_persons_erasure_takes_the_images_of_their_threads(url: str) -> None:
    async with talk(url) as here:
        await here.say("one", photo())
        done = await here.runner.inbox.trail.erase(person="ann", by="root")
        assert done.threads == ("t1",)
        assert await bytes_left(here.backend) == []
    assert await findings(url) == []


async def test_an_erasure_while_images_arrive_loses_none_of_a_run_that_began(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk("memory://") as here:
        await here.say("one", photo())
        begun: list[Thread] = []
        put = here.backend.store.put

        async def overtaken(record: Any, event: Any) -> None:
            if event.type == "thread.started" and not begun:
                begun.append(record)
                await erase(here.backend)
            await put(record, event)

        monkeypatch.setattr(here.backend.store, "put", overtaken)
        other = SAMPLES["image/gif"][0]
        assert await here.say("two", photo(other)) == f"two: image/gif {short(other)}"
        assert [file["sha256"] for file in await files_in(here.backend)] == [hashlib.sha256(other).hexdigest()]


async def test_an_erasure_takes_what_a_killed_process_stored_for_a_run_that_never_began() -> None:
    async with talk("memory://") as here:
        await here.say("one", photo())
        thread = await here.backend.store.get(Thread, *KEY)
        await Images(here.backend.stream).add(KEY, [photo()], fence=thread.fence + 1)
        await erase(here.backend)
        assert await bytes_left(here.backend) == []


async def test_an_erasure_that_a_new_run_overtakes_takes_none_of_its_images(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        run, other = Worker(backend, inbox, agents_by_name([looker()])), SAMPLES["image/gif"][0]
        await run.start("default", "t1", "looker", message("one"), by="ann", images=[photo()])
        await run.cancel("default", "t1", by="ann")
        put, emptied = backend.store.put, backend.store.erase

        async def overtaken(record: Any, event: Any) -> None:
            # The images are stored, the run is not begun; it begins right before the erasure would be saved.
            async def too_late(*args: Any) -> None:
                await put(record, event)
                await emptied(*args)

            monkeypatch.setattr(backend.store, "put", put)
            monkeypatch.setattr(backend.store, "erase", too_late)
            await erase(backend)  # It meets a change at each try, and raises: the start is then repeated.

        monkeypatch.setattr(backend.store, "put", overtaken)
        thread = await run.start("default", "t1", "looker", message("two"), by="ann", images=[photo(other)])
        assert thread == await backend.store.get(Thread, *KEY)
        (left,) = await files_in(backend)
        assert await Images(backend.stream).content(KEY, left) == other


async def test_of_many_who_begin_at_once_one_does_and_the_images_of_the_others_are_gone(url: str) -> None:
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        run = Worker(backend, inbox, agents_by_name([looker()]))
        starts = [
            begin_run_with_images(
                backend, KEY, "looker", ThreadRun(id=f"r{n}", input=message()), [photo(PHOTO + bytes([n]))] * 2,
                by="ann", clock=run.inbox.clock,
            )
            for n in range(20)
        ]  # fmt: skip
        ended = await asyncio.gather(*starts, return_exceptions=True)
        (begun,) = [each for each in ended if isinstance(each, Thread)]
        assert {type(each) for each in ended if not isinstance(each, Thread)} <= {ConflictError}
        named = begun.run.input["messages"][0][IMAGES] if begun.run else []
        assert await files_in(backend) == named
        assert len(named) == 2
        held = [n for n in range(1, 50) if await backend.stream.read(stored.image_key(KEY, n))]
        assert held == [file["number"] for file in named]


TAMPERED = {
    "t1: the image 1 was changed": (
        "UPDATE stream_items SET event = replace(event, 'iVBORw0KGgo', 'iVBORw0KGgp') WHERE id = 'images/t1/1'"
    ),
    "t1: the image 1 is missing": "DELETE FROM stream_items WHERE id = 'images/t1/1'",
}


@pytest.mark.parametrize("says", TAMPERED)
async def test_verify_names_an_image_that_is_not_what_was_sent(url: str, tmp_path: Path, says: str) -> None:
    async with talk(url) as here:
        await here.say("one", photo())
        await here.say("two", photo(PHOTO + b"other"))
    assert await findings(url) == []
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        assert database.execute(TAMPERED[says]).rowcount
    assert await findings(url) == [says]


async def test_a_run_whose_image_was_changed_fails_and_says_so(url: str, tmp_path: Path) -> None:
    async with talk(url) as here:
        await here.say("one", photo())
        with sqlite3.connect(tmp_path / "ringi.db") as database:
            assert database.execute(TAMPERED["t1: the image 1 was changed"]).rowcount
        await here.start("two")
        thread = await here.ended()
    assert thread.status == "error"
    assert thread.error
    assert "image 't1/1' cannot be read (its bytes are not those that were sent)" in thread.error.message


def asks(state: MessagesState) -> dict[str, Any]:
    """Ask between two looks at the image."""
    request = ask(f"{look(state)['messages'][0].text}?")
    return {"messages": [AIMessage(f"{request.status} {look(state)['messages'][0].text}")]}


async def test_an_image_is_there_after_a_question_and_another_worker(url: str) -> None:
    graph = StateGraph(MessagesState).add_node(asks).add_edge(START, "asks").compile()
    agent = looker(target=graph)
    async with talk(url, agent) as here:
        await here.start("one", photo())
        request = await waiting(here)
        assert request.title == f"one: image/png {short(PHOTO)}?"
    async with talk(url, agent) as here:
        await here.runner.inbox.respond(request, "respond", message="yes", by="ann")
        thread = await here.ended()
        assert thread.values["messages"][-1]["content"] == f"completed one: image/png {short(PHOTO)}"


async def waiting(here: Talk) -> Request:
    async def is_asked() -> bool:
        return (await here.backend.store.get(Thread, *KEY)).status == "interrupted"

    await until(is_asked)
    (request,) = await here.runner.pending(await here.backend.store.get(Thread, *KEY))
    return request


KILLED = """
import asyncio, sys
from tests.files.test_images import photo, talk

async def main():
    async with talk(sys.argv[1]) as here:
        await here.start("one", photo())

asyncio.run(main())
"""


@pytest.mark.parametrize("then", ["sends", "is erased"])
async def test_what_is_stored_for_a_run_before_its_process_is_killed_goes(url: str, tmp_path: Path, then: str) -> None:
    command, environment = [sys.executable, "-c", KILLED, url], {**os.environ, "RINGI_FAILPOINT": "images.stored:kill9"}
    run = partial(subprocess.run, command, env=environment, capture_output=True, text=True, timeout=50, check=False)
    done = await asyncio.to_thread(run)
    assert done.returncode == -signal.SIGKILL, done.stderr
    async with talk(url) as here:
        assert [thread.run for thread in await here.backend.store.get_many(Thread, [KEY])] == [None]
        if then == "sends":
            assert await here.say("one", photo()) == f"one: image/png {short(PHOTO)}"
            assert await bytes_left(here.backend) == [3, *range(1, 4)]  # Its own image, and the index.
        assert (await here.runner.inbox.trail.erase(person="ann", by="root")).threads == ("t1",)
        assert await bytes_left(here.backend) == []
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())  # noqa: ASYNC240
    assert base64.b64encode(PHOTO[:3_000])[:-8] not in left
    assert await findings(url) == []


DAMAGED = {"images/t1": [], "images/t1/1": ["t1: the image 1 cannot be read"]}


@pytest.mark.parametrize("stream", DAMAGED)
@pytest.mark.parametrize("event", ["{", "{}", "[]", '{"file": {}, "data": 7, "size": "x"}'])
async def test_damage_is_named_and_does_not_stop_an_erasure(url: str, tmp_path: Path, stream: str, event: str) -> None:
    async with talk(url) as here:
        await here.say("one", photo(), photo(SAMPLES["image/gif"][0]))
    with sqlite3.connect(tmp_path / "ringi.db") as database:
        assert database.execute("UPDATE stream_items SET event = ? WHERE id = ?", (event, stream)).rowcount
    assert await findings(url) == DAMAGED[stream]
    async with talk(url) as here:
        await here.start("two")
        assert (await here.ended()).status == ("error" if DAMAGED[stream] else "done")
        done = await here.runner.inbox.trail.erase(person="ann", by="root")
        assert done.threads == ("t1",)
        assert await bytes_left(here.backend) == []
    assert await findings(url) == []
