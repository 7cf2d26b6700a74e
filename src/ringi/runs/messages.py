"""The user messages of a thread: their ids, and the storage of their images."""

from __future__ import annotations

import asyncio
import base64
import re
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime
from typing import Any

from ringi.base.failpoints import failpoint
from ringi.contracts.backend import Backend, Stream
from ringi.contracts.runtime import AgentServiceError
from ringi.contracts.store import find_record
from ringi.domain.record import Key, UnreadableError
from ringi.domain.thread import FenceError, Run, Thread, user_texts_in_input
from ringi.errors import ConflictError, NotFoundError, UnavailableError
from ringi.files.images import (
    IMAGES,
    Images,
    NewImage,
    images_named_by_message,
    input_with_images,
    messages_in_run_input,
)
from ringi.forms.field_parts import AttachedFile
from ringi.runs.agui_events import AguiEvent, message_of_person

OURS = re.compile(r"~[0-9a-f]{32}\Z")
MAX_ATTEMPTS = 10
IMAGE_BYTES = 128 * 1024 * 1024
"""Maximum bytes of images that the runs of one worker hold in memory together."""
WAIT_SECONDS = 30.0
"""Seconds for which a run waits for image memory."""


def stored_message_id(id: str) -> str:
    """Return a unique message id for the id that a client sends."""
    # LangGraph replaces a message that has the same id: a client's id could overwrite any earlier message.
    return f"{id}~{uuid.uuid4().hex}"


def client_message_id(id: object) -> str:
    """Return the client's original id of a message."""
    return OURS.sub("", str(id))


def run_began_with_message(thread: Thread, input: dict[str, Any]) -> bool:
    """Return True if this message, identified by its id, began the newest run of a thread."""
    before, now = (newest_client_message_id(each) for each in (thread.run.input if thread.run else {}, input))
    return bool(now and before == now)


def newest_client_message_id(input: dict[str, Any]) -> str | None:
    """Return the id under which a client sent the newest message of a run's input; None if it sent none."""
    messages = messages_in_run_input(input)
    last = messages[-1] if messages else None
    id = last.get("id") if isinstance(last, dict) else None
    return client_message_id(id) if id else None


def allow_anyone(thread: Thread) -> None:
    """Allow any caller to begin a run on an existing thread."""


async def begin_run_with_images(
    backend: Backend,
    key: Key,
    agent: str,
    run: Run,
    new: Sequence[NewImage],
    *,
    by: str,
    clock: Callable[[], datetime],
    once: bool = False,
    check: Callable[[Thread], object] = allow_anyone,
) -> Thread:
    """Store images and begin the run whose newest message they belong to, both or neither.

    The run begins only if the thread has not changed since the images were stored: it may have been erased meanwhile.
    With `once`, a message that began the newest run does not begin another one.
    """
    images, has_reserved = Images(backend.stream), False
    for _ in range(MAX_ATTEMPTS):
        known = await find_record(backend.store, Thread, key)
        if known:
            check(known)
        if known and once and run_began_with_message(known, run.input):
            return known
        if known and known.is_live:
            raise ConflictError.busy(known.id, known.status)
        with suppress(ConflictError, FenceError):
            others = await images.unlisted(key, new, (known.images if known else None) or ())
            # Images of others may belong to a run that is about to begin. Reserve only once, or no run would ever
            # begin.
            if known is None or known.erased or (others and not has_reserved):
                # Without a run, so that none can begin with images stored earlier. An erasure finds the thread by this
                # event: images are stored only in threads that an erasure can find.
                if known:
                    known, event = known.reserved(by, clock())
                else:
                    known, event = Thread.without_run(key.id, agent, by=by, now=clock(), tenant=key.tenant)
                await backend.store.put(known, event)
                has_reserved = True
                await images.release(key, others, fence=known.fence + 1)
            return await store_images_and_begin_run(backend, known, agent, run, new, by=by, now=clock())
    raise ConflictError.too_often(Thread.record, key.id)


async def store_images_and_begin_run(
    backend: Backend, known: Thread, agent: str, run: Run, new: Sequence[NewImage], *, by: str, now: datetime
) -> Thread:
    """Store images and begin their run on the known thread, or raise `ConflictError` or `FenceError`."""
    images, key, fence = Images(backend.stream), known.key, known.fence + 1
    files = await images.add(key, new, fence=fence, listed=known.images or ())
    failpoint("images.stored")
    numbers = tuple(file["number"] for file in files)
    complete = run.model_copy(update={"input": input_with_images(run.input, files)})
    try:
        thread, event = known.started(agent, complete, by=by, now=now, images=numbers)
        await backend.store.put(thread, event)
    except UnavailableError as error:
        if error.is_unwritten:
            with suppress(UnavailableError):
                await images.release(key, numbers, fence=fence)
            raise
        # The store may have saved the run, or may still save it: its images stay until the next images are stored.
        saved = await find_record(backend.store, Thread, key)
        if saved and set(numbers) <= set(saved.images or ()):
            return saved
        raise
    except Exception:
        await images.release(key, numbers, fence=fence)
        raise
    return thread


async def encode_thread_images(images: Images, key: Key, files: Sequence[AttachedFile]) -> dict[str, bytes]:
    """Return the images of a thread in base64, by their digests."""
    return {file["sha256"]: base64.b64encode(await images.content(key, file)) for file in files}


async def saver_with_images(backend: Backend, thread: Thread) -> Any:
    """Return a saver that reads the checkpoints of a thread with their images."""
    saver = backend.savers(thread)
    if thread.images:
        images = Images(backend.stream)
        saver.serializer.know(await encode_thread_images(images, thread.key, await thread_image_files(images, thread)))
    return saver


async def thread_image_files(images: Images, thread: Thread) -> list[AttachedFile]:
    """Return the metadata of the images that a thread lists; raise `UnreadableError` if one is missing."""
    try:
        return [await images.find(thread.key, number) for number in thread.images or ()]
    except NotFoundError as error:
        raise UnreadableError("image", error.id, "it is missing") from error


class ImageMemory:
    """Bounds the bytes of images that the runs of one worker hold in memory together."""

    def __init__(self, size: int = IMAGE_BYTES) -> None:
        self._size = self._free = size
        self._freed = asyncio.Condition()

    @asynccontextmanager
    async def reserve(self, size: int) -> AsyncIterator[None]:
        """Reserve `size` bytes for the duration of the block, waiting until they are available."""
        size = min(size, self._size)
        async with self._freed:
            with suppress(TimeoutError):
                # The wait is bounded: agent code may wait for a person, or for the run that waits here.
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._freed.wait_for(lambda: self._free >= size)
            self._free -= size
        try:
            yield
        finally:
            async with self._freed:
                self._free += size
                self._freed.notify_all()


class RunImages:
    """The images of one thread, for the worker that runs it."""

    def __init__(self, stream: Stream, saver: Any, memory: ImageMemory) -> None:
        self._images, self._saver, self._memory = Images(stream), saver, memory
        self._texts: dict[str, bytes] = {}
        self._resolved: tuple[object, dict[str, Any]] = None, {}
        """The last input, and its resolved form, so that its images are in memory once."""

    @asynccontextmanager
    async def loaded(self, thread: Thread) -> AsyncIterator[None]:
        """Load all images of the thread for the duration of the block: the graph's history may contain any of them."""
        if not thread.images:
            yield
            return
        with damage_as_agent_error():
            files = await thread_image_files(self._images, thread)
        async with self._memory.reserve(sum(file["size"] for file in files)):
            with damage_as_agent_error():
                self._texts = await encode_thread_images(self._images, thread.key, files)
            if self._saver:
                self._saver.serializer.know(self._texts)
            yield

    def resolve_input(self, input: dict[str, Any]) -> dict[str, Any]:
        """Return a run's input with its images as content blocks of their messages."""
        if not any(images_named_by_message(message) for message in messages_in_run_input(input)):
            return input
        if self._resolved[0] is not input:
            messages = [self._with_images(message) for message in messages_in_run_input(input)]
            self._resolved = input, {**input, "messages": messages}
        return self._resolved[1]

    def _with_images(self, message: dict[str, Any]) -> dict[str, Any]:
        files = images_named_by_message(message)
        if not files:
            return message
        erased = next((file["number"] for file in files if file["sha256"] not in self._texts), None)
        if erased:
            raise NotFoundError("image", str(erased), f"image {erased} was erased; send it again")
        text = [{"type": "text", "text": message["content"]}] if message["content"] else []
        blocks = [
            {"type": "image", "base64": self._texts[file["sha256"]].decode(), "mime_type": file["media_type"]}
            for file in files
        ]
        rest = {name: value for name, value in message.items() if name != IMAGES}
        return {**rest, "content": [*text, *blocks]}


@contextmanager
def damage_as_agent_error() -> Iterator[None]:
    """Raise a damaged image as `AgentServiceError`: a retry would fail in the same way, so the run fails."""
    try:
        yield
    except UnreadableError as error:
        raise AgentServiceError(error) from error


def run_user_messages(run: Run) -> list[AguiEvent]:
    """Return the user messages that began a run; empty if the input is not a conversation."""
    own = [
        (client_message_id(m.get("id") or f"{run.id}-{n}"), m, images_named_by_message(m))
        for n, m in enumerate(user_texts_in_input(run.input))
    ]
    return [message_of_person(id, m["content"], {IMAGES: f} if f else None) for id, m, f in own]
