"""Images of a thread's messages: how a run begins with them, and how its graph and its checkpoints see them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from ringi.backend import Backend
from ringi.errors import AgentError, ConflictError, FenceError, NotFoundError, ThreadBusyError, UnreadableError
from ringi.failpoint import failpoint
from ringi.images import IMAGES, Images, NewImage, messages_in, named_by, with_images
from ringi.record import Key
from ringi.thread import Run, Thread

TRIES = 10


async def begin_with(
    backend: Backend,
    key: Key,
    agent: str,
    run: Run,
    new: Sequence[NewImage],
    *,
    by: str,
    clock: Callable[[], datetime],
) -> Thread:
    """Store images and begin the run whose newest message they belong to, both or neither.

    The run begins only if the thread is as it was before the images were stored: an erasure may have come between.
    """
    images = Images(backend.stream)
    for _ in range(TRIES):
        known = await found(backend, key)
        if known and known.is_live:
            raise ThreadBusyError(known.id, known.status)
        fence = known.fence + 1 if known else 0
        with suppress(FenceError):
            files = await images.add(key, new, fence=fence)
            failpoint("images.stored")
            told = run.model_copy(update={"input": with_images(run.input, files)})
            now = clock()
            if known:
                thread, event = known.started(agent, told, by=by, now=now)
            else:
                thread, event = Thread.begun(key.id, agent, told, by=by, now=now, tenant=key.tenant)
            try:
                await backend.store.put(thread, event)
                return thread
            except ConflictError:
                await images.release(key, files, fence=fence)
    raise ConflictError.too_often(Thread.record, key.id)


async def found(backend: Backend, key: Key) -> Thread | None:
    """Return a thread, None if there is none yet."""
    try:
        return await backend.store.get(Thread, *key)
    except NotFoundError:
        return None


class RunImages:
    """The images of one thread in the hands of the worker that runs it."""

    def __init__(self, images: Images, key: Key) -> None:
        self._images, self._key = images, key
        self.texts: dict[str, str] = {}
        """In base64, by their digests."""

    async def load(self) -> None:
        """Read all images of the thread: the graph's history may hold any of them."""
        try:
            for file in await self._images.all(self._key):
                content = await self._images.content(self._key, file)
                self.texts[file["sha256"]] = base64.b64encode(content).decode()
        except UnreadableError as error:
            # Tried again it would be the same: the run fails, and says why.
            raise AgentError(error) from error

    def shown(self, input: dict[str, Any]) -> dict[str, Any]:
        """Return a run's input with its images as content blocks of their messages."""
        if not any(named_by(message) for message in messages_in(input)):
            return input
        return {**input, "messages": [self._shown(message) for message in messages_in(input)]}

    def _shown(self, message: dict[str, Any]) -> dict[str, Any]:
        files = named_by(message)
        if not files:
            return message
        words = [{"type": "text", "text": message["content"]}] if message["content"] else []
        blocks = [
            {"type": "image", "base64": self.texts[file["sha256"]], "mime_type": file["media_type"]} for file in files
        ]
        left = {name: value for name, value in message.items() if name != IMAGES}
        return {**left, "content": [*words, *blocks]}
